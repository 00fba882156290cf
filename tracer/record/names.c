/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls that make, rename, link and remove files, folders and links.
 *
 * What is there before a call, and the absolute names, are found out before it; whether it happened,
 * after it. Other threads may run in between, so each has its own notes.
 */
#include "record.h"

#define AT_REMOVEDIR_ 0x200
#define AT_SYMLINK_FOLLOW_ 0x400
#define AT_EMPTY_PATH_ 0x1000
#define RENAME_EXCHANGE_ 2u

enum act { ACT_NONE, ACT_OPEN, ACT_UNLINK, ACT_RENAME, ACT_LINK, ACT_MAKE, ACT_TRUNCATE };
/* What a call is about; which of these it has depends on the act. */
struct call {
	enum act act;
	Int dirfd, to_dirfd;
	UWord path, to;
	UInt flags;
};
/* What is known of it before it is done. */
struct notes {
	enum act act;
	UInt id, replaced; /* NO_FILE: none */
	Bool last, replaced_last;
	Bool exists;
	HChar *from, *to; /* absolute */
};
static struct notes *notes; /* per thread */

static void open_call(struct call *c, Int dirfd, UWord path, UInt flags)
{
	*c = (struct call){ .act = ACT_OPEN, .dirfd = dirfd, .path = path, .flags = flags };
}

static void make_call(struct call *c, Int dirfd, UWord path)
{
	*c = (struct call){ .act = ACT_MAKE, .to_dirfd = dirfd, .to = path };
}

static void pair_call(struct call *c, enum act act, Int dirfd, UWord path, Int to_dirfd, UWord to,
		      UInt flags)
{
	*c = (struct call){ act, dirfd, to_dirfd, path, to, flags };
}

static void parse(UInt no, const UWord *a, struct call *c)
{
	enum { CWD = VKI_AT_FDCWD };
	c->act = ACT_NONE;
	switch (no) {
	case __NR_open: open_call(c, CWD, a[0], (UInt)a[1]); break;
	case __NR_openat: open_call(c, (Int)a[0], a[1], (UInt)a[2]); break;
	case __NR_creat: open_call(c, CWD, a[0], VKI_O_CREAT | VKI_O_TRUNC | VKI_O_WRONLY); break;
	case __NR_truncate: pair_call(c, ACT_TRUNCATE, CWD, a[0], 0, 0, 0); break;
	case __NR_rmdir:
	case __NR_unlink: pair_call(c, ACT_UNLINK, CWD, a[0], 0, 0, 0); break;
	case __NR_unlinkat: pair_call(c, ACT_UNLINK, (Int)a[0], a[1], 0, 0, 0); break;
	case __NR_rename: pair_call(c, ACT_RENAME, CWD, a[0], CWD, a[1], 0); break;
	case __NR_renameat: pair_call(c, ACT_RENAME, (Int)a[0], a[1], (Int)a[2], a[3], 0); break;
	case __NR_renameat2:
		pair_call(c, ACT_RENAME, (Int)a[0], a[1], (Int)a[2], a[3], (UInt)a[4]);
		break;
	case __NR_link: pair_call(c, ACT_LINK, CWD, a[0], CWD, a[1], 0); break;
	case __NR_linkat:
		pair_call(c, ACT_LINK, (Int)a[0], a[1], (Int)a[2], a[3], (UInt)a[4]);
		break;
	case __NR_symlink: make_call(c, CWD, a[1]); break;
	case __NR_symlinkat: make_call(c, (Int)a[1], a[2]); break;
	case __NR_mknod:
	case __NR_mkdir: make_call(c, CWD, a[0]); break;
	case __NR_mknodat:
	case __NR_mkdirat: make_call(c, (Int)a[0], a[1]); break;
	default: break;
	}
}

/* ---- names ---- */

/* The program's string; False: it is none, or too long. */
static Bool take_string(UWord s, HChar buf[VKI_PATH_MAX])
{
	for (SizeT i = 0; i < VKI_PATH_MAX; i++) {
		if ((i == 0 || (s + i) % VKI_PAGE_SIZE == 0) &&
		    !VG_(am_is_valid_for_client)(s + i, 1, VKI_PROT_READ))
			return False;
		buf[i] = ((const HChar *)s)[i];
		if (!buf[i])
			return i > 0;
	}
	return False;
}

/* Its absolute path: the folder as it is really called, and the last part as it is; NULL: none. */
static HChar *absolute(Int dirfd, UWord path)
{
	HChar buf[VKI_PATH_MAX + 1];
	const HChar *dir;
	if (!take_string(path, buf))
		return NULL;
	SizeT n = VG_(strlen)(buf);
	while (n > 1 && buf[n - 1] == '/')
		buf[--n] = 0;
	HChar *name = VG_(strrchr)(buf, '/');
	Int fd;
	if (name) {
		*name++ = 0;
		fd = node_peek(dirfd, name == buf + 1 ? "/" : buf, True);
	} else {
		name = buf;
		fd = node_peek(dirfd, ".", True);
	}
	HChar *all = NULL;
	if (fd >= 0 && VG_(resolve_filename)(fd, &dir)) {
		dir = outside_name(dir);
		SizeT len = VG_(strlen)(dir);
		all = VG_(malloc)("hf.name", len + VG_(strlen)(name) + 2);
		VG_(sprintf)(all, "%s/%s", len == 1 ? "" : dir, name);
	}
	if (fd >= 0)
		VG_(close)(fd);
	return all;
}

/* ---- before ---- */

/* What is there; NO_FILE: nothing that is recorded. */
static UInt look(ThreadId tid, Int dirfd, UWord path, Bool follow, Bool list, Bool *last,
		 Bool *exists)
{
	HChar buf[VKI_PATH_MAX];
	struct vg_stat st;
	Int fd = take_string(path, buf) ? node_peek(dirfd, buf, follow) : -1;
	*last = *exists = False;
	if (fd < 0)
		return NO_FILE;
	UInt id = node_there(tid, fd, list);
	*exists = True;
	*last = VG_(fstat)(fd, &st) == 0 &&
		(st.nlink <= 1 || (st.mode & VKI_S_IFMT) == VKI_S_IFDIR);
	VG_(close)(fd);
	return id;
}

static Bool changes(UInt flags)
{
	return (flags & VKI_O_CREAT) ||
	       ((flags & VKI_O_TRUNC) && (flags & VKI_O_ACCMODE) != VKI_O_RDONLY);
}

/* Opening for writing is a change only if it makes the file, or cuts it. */
static void before_open(ThreadId tid, const struct call *c, struct notes *n)
{
	HChar buf[VKI_PATH_MAX];
	if (!opt.files || !changes(c->flags) || !take_string(c->path, buf))
		return;
	Int fd = node_peek(c->dirfd, buf, !(c->flags & VKI_O_EXCL));
	n->exists = fd >= 0;
	if (fd >= 0 && (c->flags & VKI_O_TRUNC) && !(c->flags & VKI_O_EXCL))
		node_touched(tid, fd);
	if (fd >= 0)
		VG_(close)(fd);
}

static void before_link(ThreadId tid, const struct call *c, struct notes *n)
{
	if (c->flags & AT_EMPTY_PATH_)
		n->id = node_there(tid, c->dirfd, False);
	else
		n->id = look(tid, c->dirfd, c->path, !!(c->flags & AT_SYMLINK_FOLLOW_), False,
			     &n->last, &n->exists);
}

static void forget(struct notes *n)
{
	if (n->from)
		VG_(free)(n->from);
	if (n->to)
		VG_(free)(n->to);
	*n = (struct notes){ .act = ACT_NONE, .id = NO_FILE, .replaced = NO_FILE };
}

void names_pre(ThreadId tid, UInt no, const UWord *a)
{
	struct call c;
	Bool exists;
	parse(no, a, &c);
	if (c.act == ACT_NONE || (!opt.files && c.act != ACT_UNLINK && c.act != ACT_RENAME))
		return;
	if (notes == NULL)
		notes = VG_(calloc)("hf.notes", VG_N_THREADS, sizeof *notes);
	struct notes *n = &notes[tid];
	forget(n);
	n->act = c.act;
	switch (c.act) {
	case ACT_OPEN: before_open(tid, &c, n); break;
	case ACT_TRUNCATE:
		n->id = look(tid, c.dirfd, c.path, True, False, &n->last, &exists);
		break;
	case ACT_UNLINK:
		n->from = absolute(c.dirfd, c.path);
		n->id = look(tid, c.dirfd, c.path, False, False, &n->last, &exists);
		break;
	case ACT_RENAME:
		n->from = absolute(c.dirfd, c.path);
		n->to = absolute(c.to_dirfd, c.to);
		n->id = look(tid, c.dirfd, c.path, False, True, &n->last, &exists);
		n->replaced = look(tid, c.to_dirfd, c.to, False, True, &n->replaced_last, &exists);
		break;
	case ACT_LINK:
		n->to = absolute(c.to_dirfd, c.to);
		before_link(tid, &c, n);
		break;
	case ACT_MAKE: n->to = absolute(c.to_dirfd, c.to); break;
	default: break;
	}
}

/* ---- after ---- */

static Bool is_pm(UInt id)
{
	return id != NO_FILE && file_at(id)->pm;
}

static Bool is_node(UInt id)
{
	return id != NO_FILE && file_at(id)->node;
}

/* A name of it is gone; `last`: it has no other. */
static void gone(ThreadId tid, UInt id, Bool last)
{
	ULong arg = id;
	if (is_pm(id))
		event_at_syscall(tid, TRACE_FILE_UNLINK, 0, 1, &arg, NULL, 0);
	if (id != NO_FILE && last)
		file_unlinked(id);
}

/* A file with several names is announced by each of them that is opened. */
static void after_open(ThreadId tid, const struct notes *n, UInt flags, Int fd)
{
	struct vg_stat st;
	if (!opt.files)
		return;
	if ((flags & VKI_O_CREAT) && !n->exists)
		node_created(tid, fd);
	else if ((flags & VKI_O_ACCMODE) != VKI_O_RDONLY && VG_(fstat)(fd, &st) == 0 &&
		 (st.mode & VKI_S_IFMT) == VKI_S_IFREG && st.nlink > 1)
		node_there(tid, fd, False);
}

static void after_unlink(ThreadId tid, const struct notes *n)
{
	if (is_node(n->id) && n->from)
		node_event(tid, TRACE_NODE_UNLINK, n->id, n->from);
	gone(tid, n->id, n->last);
}

static void renamed_pm(ThreadId tid, UInt id, const HChar *to)
{
	ULong arg = id;
	if (is_pm(id))
		event_at_syscall(tid, TRACE_FILE_RENAME, 0, 1, &arg, to, (UInt)VG_(strlen)(to));
}

/* Something new at a path. */
static UInt made(ThreadId tid, const HChar *path)
{
	Int fd = path ? node_peek(VKI_AT_FDCWD, path, False) : -1;
	UInt id = fd < 0 ? NO_FILE : node_created(tid, fd);
	if (fd >= 0)
		VG_(close)(fd);
	return id;
}

/*
 * What --hf-persist left out has got a name that it does not: from here on it is a file like others, which
 * is there with all that it holds.
 */
static void late(ThreadId tid, const HChar *to)
{
	static Bool said;
	if (made(tid, to) == NO_FILE || VG_(sizeXA)(opt.persist) == 0)
		return;
	if (!said)
		VG_(umsg)
	("holdfast: --persist matches %s, but not its name before: what was written "
	 "to it then is taken to be on disk\n",
	 to);
	said = True;
}

static void after_rename(ThreadId tid, const struct notes *n, UInt flags)
{
	Bool exchange = !!(flags & RENAME_EXCHANGE_);
	if (!n->from || !n->to || (n->id == n->replaced && n->id != NO_FILE))
		return; /* two names of one file stay as they are */
	if (is_node(n->id)) {
		SizeT k = VG_(strlen)(n->from) + 1, len = k + VG_(strlen)(n->to);
		HChar *both = VG_(malloc)("hf.name", len + 1);
		ULong args[3] = { n->id, n->replaced == NO_FILE ? ~(ULong)0 : n->replaced,
				  exchange ? TRACE_MOVE_EXCHANGE : 0 };
		VG_(strcpy)(both, n->from);
		VG_(strcpy)(both + k, n->to);
		event_at_syscall(tid, TRACE_NODE_MOVE, 0, 3, args, both, (UInt)len);
		VG_(free)(both);
	} else if (opt.files && VG_(sizeXA)(opt.persist) > 0 && options_persist(n->to)) {
		late(tid, n->to);
	}
	if (!exchange)
		gone(tid, n->replaced, n->replaced_last);
	renamed_pm(tid, n->id, n->to);
	if (exchange)
		renamed_pm(tid, n->replaced, n->from);
}

static void after_link(ThreadId tid, const struct notes *n)
{
	if (!n->to || !opt.files)
		return;
	if (is_node(n->id))
		node_event(tid, TRACE_NODE_LINK, n->id, n->to);
	else
		late(tid, n->to); /* it had no name (O_TMPFILE), or another one */
}

void names_post(ThreadId tid, UInt no, const UWord *a, UWord r)
{
	struct call c;
	parse(no, a, &c);
	if (c.act == ACT_NONE || notes == NULL || notes[tid].act != c.act)
		return;
	struct notes *n = &notes[tid];
	switch (c.act) {
	case ACT_OPEN: after_open(tid, n, c.flags, (Int)r); break;
	case ACT_UNLINK: after_unlink(tid, n); break;
	case ACT_RENAME: after_rename(tid, n, c.flags); break;
	case ACT_LINK: after_link(tid, n); break;
	case ACT_MAKE: made(tid, n->to); break;
	default: break;
	}
	forget(n);
}
