/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What children of the fork server must not share with it and each other.
 *
 * Memory: every shared mapping of a file becomes a private one of the same file in the child.
 * Where the file cannot be had any more (it has no name, it is nobody's), the child gets a copy.
 *
 * Files: the server runs over overlays already (src/launch), so nothing that it does lasts.
 * A child that is about to change something gets a mount namespace and overlays of its own, over
 * what the server sees. Most runs of most programs change no file, and mounts are not cheap.
 *
 * Descriptors are shared for good: their positions are put back before each child, and files
 * that a child has made longer are cut. What else it does through them is told to holdfast.
 */
#include "internal.h"

#define MAX_COPY (1ull << 30)
#define CLONE_NEWNS 0x20000
#define MS_BIND 4096
#define MS_REC 16384

extern Int VG_(fd_hard_limit);

struct shared {
	Addr lo, hi;
	ULong off, ino;
	UInt prot;
	Int fd; /* -1: a copy is made */
};
static XArray *shared_maps;

struct old {
	Int fd;
	ULong dev, ino;
	UInt mode;
	Long pos, size;
};
static XArray *olds;
static ULong listening; /* how many sockets listen */

static Int folder = -1;              /* of the mount plan: see struct mount_row */
static Bool changed[SYM_MAX_MOUNTS]; /* by the server, before the snapshot */

static SysRes sys(UWord no, UWord a, UWord b, UWord c, UWord d, UWord e)
{
	return VG_(do_syscall)(no, a, b, c, d, e, 0, 0, 0);
}

/* A copy where the program cannot close it; what it was given as stays, for an exec. */
static Int keep_fd(Int fd)
{
	SysRes r = sys(__NR_dup, (UWord)fd, 0, 0, 0, 0);
	return sr_isError(r) ? -1 : VG_(safe_fd)((Int)sr_Res(r));
}

/*
 * In a user namespace the tool has rights that the program would not have: they are only in
 * effect while mounts are made.
 */
void sym_view_rights(Bool use)
{
	UInt head[2] = { 0x20080522, 0 }; /* version 3; this process */
	struct {
		UInt effective, permitted, inheritable;
	} c[2];
	if (!sym_control->nmounts || !sym_control->mount[0].user ||
	    sr_isError(sys(__NR_capget, (UWord)head, (UWord)c, 0, 0, 0)))
		return;
	for (UInt i = 0; i < 2; i++)
		c[i].effective = use ? c[i].permitted : 0;
	sys(__NR_capset, (UWord)head, (UWord)c, 0, 0, 0);
}

Int sym_view_fd(void)
{
	return folder;
}

void sym_view_init(void)
{
	shared_maps = VG_(newXA)(VG_(malloc), "hf.view", VG_(free), sizeof(struct shared));
	olds = VG_(newXA)(VG_(malloc), "hf.view", VG_(free), sizeof(struct old));
	if (sym_control->mounts_fd >= 0)
		folder = keep_fd(sym_control->mounts_fd);
	sym_view_rights(False);
}

/* ---- the snapshot: mappings ---- */

static Bool is_ours(Addr a)
{
	const NSegment *seg = VG_(am_find_nsegment)(a);
	return !seg || seg->kind == SkFileV || seg->kind == SkAnonV;
}

/* The file that is mapped there, by its path if that still leads to it. */
static Int open_mapped(const HChar *path, ULong dev, ULong ino, Addr lo, Addr hi)
{
	struct vg_stat st;
	HChar name[80];
	SysRes r = VG_(open)(path, VKI_O_RDONLY, 0);
	if (!sr_isError(r)) {
		if (VG_(fstat)((Int)sr_Res(r), &st) == 0 && st.ino == ino && st.dev == dev)
			return VG_(safe_fd)((Int)sr_Res(r));
		VG_(close)((Int)sr_Res(r));
	}
	VG_(sprintf)(name, "/proc/self/map_files/%lx-%lx", lo, hi);
	r = VG_(open)(name, VKI_O_RDONLY, 0);
	return sr_isError(r) ? -1 : VG_(safe_fd)((Int)sr_Res(r));
}

static ULong hex(const HChar **p)
{
	HChar *end;
	ULong v = (ULong)VG_(strtoull16)(*p, &end);
	*p = end;
	return v;
}

/* "lo-hi rw-s offset major:minor inode   path" */
static Bool take_line(const HChar *p, const HChar **why)
{
	struct shared s;
	s.lo = hex(&p), p++;
	s.hi = hex(&p), p++;
	s.prot = (p[0] == 'r' ? VKI_PROT_READ : 0) | (p[1] == 'w' ? VKI_PROT_WRITE : 0) |
		 (p[2] == 'x' ? VKI_PROT_EXEC : 0);
	if (p[3] != 's' || is_ours(s.lo))
		return True;
	p += 5;
	s.off = hex(&p), p++;
	ULong major = hex(&p);
	p++;
	ULong minor = hex(&p), ino = (ULong)VG_(strtoull10)(p, (HChar **)&p);
	ULong dev = (minor & 0xff) | major << 8 | (minor & ~0xffull) << 12;
	while (*p == ' ')
		p++;
	if (VG_(strncmp)(p, "/dev/dri", 8) == 0) {
		*why = "it maps a device";
		return False;
	}
	s.ino = ino;
	s.fd = open_mapped(p, dev, ino, s.lo, s.hi);
	if (s.fd < 0 && s.hi - s.lo > MAX_COPY) {
		*why = "it shares too much memory that has no file";
		return False;
	}
	VG_(addToXA)(shared_maps, &s);
	return True;
}

static Bool take_mappings(const HChar **why)
{
	HChar buf[VKI_PATH_MAX + 256];
	SysRes r = VG_(open)("/proc/self/maps", VKI_O_RDONLY, 0);
	Int have = 0, n;
	Bool ok = True;
	if (sr_isError(r)) {
		*why = "/proc/self/maps cannot be read";
		return False;
	}
	while (ok && (n = VG_(read)((Int)sr_Res(r), buf + have, (Int)sizeof buf - 1 - have)) > 0) {
		HChar *line = buf, *nl;
		have += n;
		buf[have] = 0;
		for (; ok && (nl = VG_(strchr)(line, '\n')); line = nl + 1) {
			*nl = 0;
			ok = take_line(line, why);
		}
		have -= (Int)(line - buf);
		VG_(memmove)(buf, line, (SizeT)have);
	}
	VG_(close)((Int)sr_Res(r));
	return ok;
}

/* ---- the snapshot: descriptors ---- */

static void take_descriptors(void)
{
	for (Int fd = 0; fd < VG_(fd_hard_limit); fd++) {
		struct vg_stat st;
		if (VG_(fcntl)(fd, VKI_F_GETFD, 0) < 0 || VG_(fstat)(fd, &st) != 0)
			continue;
		struct old o = { fd, st.dev, st.ino, st.mode, -1, st.size };
		if ((st.mode & VKI_S_IFMT) == VKI_S_IFREG)
			o.pos = VG_(lseek)(fd, 0, VKI_SEEK_CUR);
		VG_(addToXA)(olds, &o);
	}
}

static Bool is_empty(const HChar *dir)
{
	HChar buf[1024];
	SysRes r = sys(__NR_openat, (UWord)folder, (UWord)dir, VKI_O_RDONLY, 0, 0);
	if (sr_isError(r))
		return True;
	Bool empty = True;
	SysRes n = sys(__NR_getdents64, sr_Res(r), (UWord)buf, sizeof buf, 0, 0);
	for (UWord at = 0; !sr_isError(n) && at < sr_Res(n);) {
		const HChar *name = buf + at + 19; /* inode, offset, length, type */
		empty = empty && name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
		at += *(UShort *)(buf + at + 16);
	}
	VG_(close)((Int)sr_Res(r));
	return empty;
}

Bool sym_view_snapshot(const HChar **why)
{
	if (!take_mappings(why))
		return False;
	take_descriptors();
	for (UInt i = 0; i < sym_control->nmounts; i++) {
		HChar upper[16];
		VG_(sprintf)(upper, "u%u", i);
		changed[i] = sym_control->mount[i].kind == MOUNT_OVERLAY && !is_empty(upper);
	}
	return True;
}

static const struct old *find_old(Int fd)
{
	struct vg_stat st;
	if (VG_(fstat)(fd, &st) != 0)
		return NULL;
	for (Word i = 0; i < VG_(sizeXA)(olds); i++) {
		const struct old *o = VG_(indexXA)(olds, i);
		if (o->ino == st.ino && o->dev == st.dev)
			return o;
	}
	return NULL;
}

Bool sym_view_old_fd(Int fd)
{
	return sym_process.role == SYM_CHILD && find_old(fd) != NULL;
}

/* The output, what is not kept anywhere, and what is beyond the end of an old file. */
Bool sym_view_write_ok(Int fd, ULong off)
{
	const struct old *o = find_old(fd);
	if (sym_process.role != SYM_CHILD || !o)
		return True;
	for (Word i = 0; i < VG_(sizeXA)(olds); i++) {
		const struct old *out = VG_(indexXA)(olds, i);
		if ((out->fd == 1 || out->fd == 2) && out->ino == o->ino && out->dev == o->dev)
			return True;
	}
	switch (o->mode & VKI_S_IFMT) {
	case VKI_S_IFREG: return (Long)off >= o->size;
	case VKI_S_IFCHR: return True;
	default: return False;
	}
}

/* A connection that the last child did not accept is not for the next one. */
static void drop_waiting(Int fd)
{
	struct vki_pollfd p = { fd, VKI_POLLIN, 0 };
	while (1) {
		SysRes r = sys(__NR_poll, (UWord)&p, 1, 0, 0, 0);
		if (sr_isError(r) || sr_Res(r) == 0 || !(p.revents & VKI_POLLIN))
			return;
		r = sys(__NR_accept, (UWord)fd, 0, 0, 0, 0);
		if (sr_isError(r))
			return;
		VG_(close)((Int)sr_Res(r));
	}
}

void sym_view_listens(void)
{
	listening++;
}

Bool sym_view_has_listener(void)
{
	return listening > 0;
}

static Bool is_listener(Int fd)
{
	Int on = 0, len = sizeof on;
	SysRes r = sys(__NR_getsockopt, (UWord)fd, 1 /* SOL_SOCKET */, 30 /* SO_ACCEPTCONN */,
		       (UWord)&on, (UWord)&len);
	return !sr_isError(r) && on;
}

void sym_view_restore(void)
{
	for (Word i = 0; i < VG_(sizeXA)(olds); i++) {
		const struct old *o = VG_(indexXA)(olds, i);
		struct vg_stat st;
		if (o->pos >= 0) {
			VG_(lseek)(o->fd, o->pos, VKI_SEEK_SET);
			if (o->fd > 2 && sym_source_of(o->dev, o->ino) < 0 &&
			    VG_(fstat)(o->fd, &st) == 0 && st.size > o->size)
				sys(__NR_ftruncate, (UWord)o->fd, (UWord)o->size, 0, 0, 0);
		} else if (listening && (o->mode & VKI_S_IFMT) == VKI_S_IFSOCK &&
			   is_listener(o->fd)) {
			drop_waiting(o->fd);
		}
	}
}

/* ---- in a child ---- */

static Bool map_copy(const struct shared *s)
{
	SizeT len = s->hi - s->lo;
	SysRes r = VG_(do_syscall)(__NR_mmap, 0, len, VKI_PROT_READ | VKI_PROT_WRITE,
				   VKI_MAP_PRIVATE | VKI_MAP_ANONYMOUS, (UWord)-1, 0, 0, 0);
	if (sr_isError(r))
		return False;
	if (s->prot & VKI_PROT_READ)
		VG_(memcpy)((void *)sr_Res(r), (const void *)s->lo, len);
	sys(__NR_mprotect, sr_Res(r), len, s->prot, 0, 0);
	return !sr_isError(sys(__NR_mremap, sr_Res(r), len, len, 3 /* MAYMOVE, FIXED */, s->lo));
}

static Bool map_file(const struct shared *s)
{
	return !sr_isError(VG_(do_syscall)(__NR_mmap, s->lo, s->hi - s->lo, s->prot,
					   VKI_MAP_PRIVATE | VKI_MAP_FIXED, (UWord)s->fd, s->off, 0,
					   0));
}

void sym_view_memory(void)
{
	for (Word i = 0; i < VG_(sizeXA)(shared_maps); i++) {
		const struct shared *s = VG_(indexXA)(shared_maps, i);
		if (!(s->fd >= 0 ? map_file(s) : map_copy(s)))
			sym_dirtied("it changes memory that is shared");
	}
}

/* Is it still all there, as it was? */
static Bool is_mapped(const struct shared *s)
{
	const NSegment *seg = VG_(am_find_nsegment)(s->lo);
	return seg && seg->start <= s->lo && seg->end + 1 >= s->hi && seg->hasR && seg->hasW &&
	       (seg->kind != SkFileC || seg->ino == s->ino);
}

static Bool map_shared(const struct shared *s)
{
	SizeT len = s->hi - s->lo;
	SysRes fd = sys(319 /* memfd_create */, (UWord) "shared", 1, 0, 0, 0);
	if (sr_isError(fd))
		return False;
	Bool ok = !sr_isError(sys(__NR_ftruncate, sr_Res(fd), len, 0, 0, 0));
	for (SizeT at = 0; ok && at < len;) {
		SysRes n = sys(__NR_write, sr_Res(fd), s->lo + at, len - at, 0, 0);
		ok = !sr_isError(n) && sr_Res(n) > 0;
		at += ok ? sr_Res(n) : 0;
	}
	ok = ok &&
	     !sr_isError(VG_(do_syscall)(__NR_mmap, s->lo, len, s->prot,
					 VKI_MAP_SHARED | VKI_MAP_FIXED, sr_Res(fd), 0, 0, 0));
	VG_(close)((Int)sr_Res(fd));
	return ok;
}

/* What the program shares with processes that it starts, it shares with them. */
void sym_view_share(void)
{
	static Bool done = False;
	if (sym_process.role != SYM_CHILD || done)
		return;
	done = True;
	for (Word i = 0; i < VG_(sizeXA)(shared_maps); i++) {
		const struct shared *s = VG_(indexXA)(shared_maps, i);
		if (s->prot & VKI_PROT_WRITE && s->hi - s->lo <= MAX_COPY && is_mapped(s))
			map_shared(s);
	}
}

static Bool mount_overlay(UInt i)
{
	const struct mount_row *m = &sym_control->mount[i];
	HChar upper[16], work[16], servers[16], opts[160];
	struct vki_stat st;
	VG_(sprintf)(upper, "c/u%u", i);
	VG_(sprintf)(work, "c/w%u", i);
	VG_(sprintf)(servers, "u%u", i);
	sys(__NR_mkdir, (UWord)upper, 0755, 0, 0, 0);
	sys(__NR_mkdir, (UWord)work, 0755, 0, 0, 0);
	if (!sr_isError(sys(__NR_stat, (UWord)servers, (UWord)&st, 0, 0, 0))) {
		sys(__NR_chown, (UWord)upper, st.st_uid, st.st_gid, 0, 0);
		sys(__NR_chmod, (UWord)upper, st.st_mode & 07777, 0, 0, 0);
	}
	if (changed[i])
		VG_(sprintf)(opts, "lowerdir=u%u:l%u,upperdir=%s,workdir=%s", i, i, upper, work);
	else
		VG_(sprintf)(opts, "lowerdir=l%u,upperdir=%s,workdir=%s", i, upper, work);
	if (m->user)
		VG_(strcat)(opts, ",userxattr");
	return !sr_isError(sys(__NR_mount, (UWord) "holdfast", (UWord)m->path, (UWord) "overlay", 0,
			       (UWord)opts));
}

static Bool mount_one(UInt i)
{
	const struct mount_row *m = &sym_control->mount[i];
	HChar from[16];
	if (m->kind == MOUNT_OVERLAY)
		return mount_overlay(i);
	if (sym_is_gone(i))
		return True;
	VG_(sprintf)(from, "s%u", i);
	return !sr_isError(sys(__NR_mount, (UWord)from, (UWord)m->path, 0, MS_BIND | MS_REC, 0));
}

/*
 * The new namespace is a copy; a process takes its working directory along into it, but not
 * its descriptors. That is why all is reached from there.
 */
static Bool make_private(void)
{
	HChar cwd[VKI_PATH_MAX];
	if (folder < 0 || sr_isError(sys(__NR_getcwd, (UWord)cwd, sizeof cwd, 0, 0, 0)))
		return False;
	UInt mask = (UInt)sr_Res(sys(__NR_umask, 0, 0, 0, 0, 0));
	Bool ok = !sr_isError(sys(__NR_fchdir, (UWord)folder, 0, 0, 0, 0)) &&
		  !sr_isError(sys(__NR_unshare, CLONE_NEWNS, 0, 0, 0, 0)) &&
		  !sr_isError(
			  sys(__NR_mount, (UWord) "holdfast", (UWord) "c", (UWord) "tmpfs", 0, 0));
	for (UInt i = 0; ok && i < sym_control->nmounts; i++)
		ok = mount_one(i);
	sys(__NR_umask, mask, 0, 0, 0, 0);
	return !sr_isError(sys(__NR_chdir, (UWord)cwd, 0, 0, 0, 0)) && ok;
}

void sym_view_files(void)
{
	static Bool done = False;
	if (sym_process.role != SYM_CHILD || done || sym_control->mounts_fd < 0)
		return;
	done = True;
	sym_view_rights(True);
	Bool ok = make_private();
	sym_view_rights(False);
	if (!ok)
		sym_dirtied("no folders of its own could be made for the run");
}
