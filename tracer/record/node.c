/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the program changes besides PM: files, folders, links, and their names (format.h: nodes).
 *
 * A file is announced before it is first changed, so that holdfast can keep what was in it. Opening
 * is no change, or a database of many gigabytes would be kept because somebody looked into it.
 */
#include "record.h"

#define O_PATH_ 010000000
#define O_NOFOLLOW_ 0400000
#define O_DIRECTORY_ 0200000
#define O_CLOEXEC_ 02000000
#define DEEPEST 64u /* folders in folders */
#define MOST 65536u /* nodes */

static struct {
	ULong written; /* bytes of NODE_WRITE */
	UInt n;        /* nodes announced */
} nodes;

Int node_peek(Int dirfd, const HChar *path, Bool follow)
{
	SysRes r =
		VG_(do_syscall)(__NR_openat, (UWord)dirfd, (UWord)path,
				O_PATH_ | O_CLOEXEC_ | (follow ? 0 : O_NOFOLLOW_), 0, 0, 0, 0, 0);
	return sr_isError(r) ? -1 : (Int)sr_Res(r);
}

static Bool kind_of(const struct vg_stat *st, UInt *kind)
{
	switch (st->mode & VKI_S_IFMT) {
	case VKI_S_IFREG: *kind = TRACE_IS_FILE; return True;
	case VKI_S_IFDIR: *kind = TRACE_IS_FOLDER; return True;
	case VKI_S_IFLNK: *kind = TRACE_IS_LINK; return True;
	default: return False;
	}
}

static Bool is_below(const HChar *path, const HChar *dir)
{
	SizeT n = VG_(strlen)(dir);
	return VG_(strncmp)(path, dir, n) == 0 && (path[n] == '/' || !path[n]);
}

/* The kernel's own files, those that are not asked for, and what holdfast itself writes: the program's
 * output where it was redirected by whoever started holdfast. Folders are only what files lie in. */
static Bool is_left_out(const struct vg_stat *st, const HChar *path)
{
	if (is_below(path, "/proc") || is_below(path, "/sys") || path[0] != '/' ||
	    (is_below(path, "/dev") && !is_below(path, "/dev/shm")))
		return True;
	if ((st->mode & VKI_S_IFMT) != VKI_S_IFDIR && !options_persist(path))
		return True;
	return emit_is_output(st->dev, st->ino);
}

void node_event(ThreadId tid, UInt kind, UInt id, const HChar *path)
{
	ULong arg = id;
	event_at_syscall(tid, kind, 0, 1, &arg, path, path ? (UInt)VG_(strlen)(path) : 0);
}

void node_lose(ThreadId tid, UInt id)
{
	struct file *f = file_at(id);
	if (!f->lost)
		node_event(tid, TRACE_NODE_LOST, id, NULL);
	f->lost = True;
}

/* Tells holdfast of a node by that path. */
static enum ring_answer tell(UInt id, Int fd, UInt kind, const HChar *path)
{
	HChar text[2 * VKI_PATH_MAX];
	struct file *f = file_at(id);
	UInt n = (UInt)VG_(strlen)(path);
	Bool fits = n < VKI_PATH_MAX;
	if (!fits)
		n = VKI_PATH_MAX - 1;
	VG_(memcpy)(text, path, n);
	text[n++] = 0;
	if ((kind & 15) == TRACE_IS_LINK) {
		SysRes r = VG_(do_syscall)(__NR_readlinkat, (UWord)fd, (UWord) "",
					   (UWord)(text + n), VKI_PATH_MAX - 1, 0, 0, 0, 0);
		n += sr_isError(r) ? 0 : (UInt)sr_Res(r);
	}
	ULong args[5] = { id, kind, f->dev, f->ino, (ULong)(Long)fd };
	enum ring_answer answer = emit_and_wait(TRACE_DEF_NODE, 5, args, text, n);
	return fits ? answer : RING_ANSWER_FAILED;
}

/* True: it is PM for some process. */
static Bool announce(ThreadId tid, UInt id, Int fd, UInt kind, const HChar *path)
{
	enum ring_answer answer = tell(id, fd, kind, path);
	file_at(id)->node = True;
	if (answer == RING_ANSWER_FAILED || ++nodes.n > MOST)
		node_lose(tid, id);
	return answer == RING_ANSWER_PM;
}

/* As holdfast should call it; until the next call. NULL: it has no name. */
static const HChar *name_of(Int fd)
{
	const HChar *path;
	return VG_(resolve_filename)(fd, &path) ? outside_name(path) : NULL;
}

UInt node_created(ThreadId tid, Int fd)
{
	struct vg_stat st;
	const HChar *path;
	UInt kind;
	if (!opt.files || VG_(fstat)(fd, &st) != 0 || !kind_of(&st, &kind) ||
	    (kind != TRACE_IS_FOLDER && st.nlink == 0) || !(path = name_of(fd)) ||
	    is_left_out(&st, path))
		return NO_FILE;
	UInt pm = file_find(&st, fd);
	if (pm != NO_FILE && file_at(pm)->pm && !file_at(pm)->node) { /* it had no name before */
		ULong bind[2] = { pm, pm };
		announce(tid, pm, fd, kind | TRACE_IS_NEW | TRACE_IS_BARE, path);
		node_event(tid, TRACE_NODE_NEW, pm, path);
		event_at_syscall(tid, TRACE_NODE_PM, 0, 2, bind, NULL, 0);
		return pm;
	}
	UInt id = file_add(&st, fd);
	file_at(id)->listed = True;
	announce(tid, id, fd, kind | TRACE_IS_NEW, path);
	node_event(tid, TRACE_NODE_NEW, id, path);
	return id;
}

static void list_folder(ThreadId tid, Int fd, UInt depth);

/* What is there, by any descriptor. */
static UInt there(ThreadId tid, Int fd, Bool list, UInt depth)
{
	struct vg_stat st;
	const HChar *path;
	UInt kind;
	if (fd < 0 || VG_(fstat)(fd, &st) != 0)
		return NO_FILE;
	UInt id = file_find(&st, fd);
	if (!opt.files || !kind_of(&st, &kind) || (kind != TRACE_IS_FOLDER && st.nlink == 0) ||
	    !(path = name_of(fd)) || is_left_out(&st, path))
		return id;
	Bool known = id != NO_FILE && file_at(id)->node;
	if (id == NO_FILE)
		id = file_add(&st, fd);
	Bool pm = !known && announce(tid, id, fd, kind, path);
	if (!known || (kind == TRACE_IS_FILE && st.nlink > 1)) /* perhaps by another name */
		node_event(tid, TRACE_NODE_THERE, id, name_of(fd));
	if (pm && VG_(resolve_filename)(fd, &path))
		file_announce(fd, &st, path);
	if (list && kind == TRACE_IS_FOLDER && !file_at(id)->listed) {
		file_at(id)->listed = True;
		list_folder(tid, fd, depth + 1);
	}
	return id;
}

static void list_entry(ThreadId tid, Int dir, const HChar *name, UInt depth)
{
	if (VG_(strcmp)(name, ".") == 0 || VG_(strcmp)(name, "..") == 0)
		return;
	Int fd = node_peek(dir, name, False);
	there(tid, fd, True, depth);
	if (fd >= 0)
		VG_(close)(fd);
}

/* A folder that is about to be renamed: all that is in it gets another path. */
static void list_folder(ThreadId tid, Int fd, UInt depth)
{
	SysRes r = VG_(do_syscall)(__NR_openat, (UWord)fd, (UWord) ".", O_DIRECTORY_ | O_CLOEXEC_,
				   0, 0, 0, 0, 0);
	if (sr_isError(r) || depth > DEEPEST)
		return;
	Int dir = (Int)sr_Res(r);
	UChar *buf = VG_(malloc)("hf.list", 8192);
	for (;;) {
		SysRes got = VG_(do_syscall)(__NR_getdents64, (UWord)dir, (UWord)buf, 8192, 0, 0, 0,
					     0, 0);
		UWord n = sr_isError(got) ? 0 : sr_Res(got);
		if (n == 0)
			break;
		for (UWord at = 0; at < n;) {
			struct vki_dirent64 *e = (struct vki_dirent64 *)(buf + at);
			list_entry(tid, dir, e->d_name, depth);
			at += e->d_reclen;
		}
	}
	VG_(free)(buf);
	VG_(close)(dir);
}

UInt node_there(ThreadId tid, Int fd, Bool list)
{
	return there(tid, fd, list, 0);
}

/* A file that this process has not changed, but another one may have; NO_FILE: none has. */
UInt node_of_others(Int fd)
{
	struct vg_stat st;
	const HChar *path;
	if (!opt.files || VG_(fstat)(fd, &st) != 0 || (st.mode & VKI_S_IFMT) != VKI_S_IFREG ||
	    st.nlink == 0 || !(path = name_of(fd)) || is_left_out(&st, path))
		return NO_FILE;
	UInt id = file_find(&st, fd);
	if (id == NO_FILE)
		id = file_add(&st, fd);
	if (tell(id, fd, TRACE_IS_FILE | TRACE_IS_ASKED, path) == RING_ANSWER_FAILED)
		return NO_FILE;
	file_at(id)->node = True;
	nodes.n++;
	return id;
}

Bool node_is_data(Int fd)
{
	struct vg_stat st;
	const HChar *path;
	UInt kind;
	return VG_(fstat)(fd, &st) == 0 && kind_of(&st, &kind) && st.nlink > 0 &&
	       (path = name_of(fd)) && !is_left_out(&st, path);
}

void node_touched(ThreadId tid, Int fd)
{
	struct vg_stat st;
	if (!opt.files || VG_(fstat)(fd, &st) != 0 || (st.mode & VKI_S_IFMT) != VKI_S_IFREG)
		return;
	UInt id = file_find(&st, fd);
	if (id == NO_FILE || (!file_at(id)->node && !file_at(id)->pm))
		there(tid, fd, False, 0);
}

/* Its name is known as soon as it is PM, if not before. */
void node_is_pm(UInt id, Int fd, const HChar *path)
{
	ULong args[2] = { id, id };
	if (!opt.files)
		return;
	if (!file_at(id)->node) {
		announce(VG_INVALID_THREADID, id, fd, TRACE_IS_FILE | TRACE_IS_BARE, path);
		node_event(VG_INVALID_THREADID, TRACE_NODE_THERE, id, path);
	}
	event_at_syscall(VG_INVALID_THREADID, TRACE_NODE_PM, 0, 2, args, NULL, 0);
}

Bool node_room(ThreadId tid, UInt id, ULong bytes)
{
	if (file_at(id)->lost)
		return False;
	if (bytes > TRACE_NODE_BYTES - nodes.written) {
		node_lose(tid, id);
		return False;
	}
	nodes.written += bytes;
	return True;
}
