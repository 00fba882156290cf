/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which addresses are persistent memory, and which files back them.
 *
 * PM is every writable MAP_SHARED mapping of a regular file or a DAX device whose path fits
 * --hf-pm, and every range that the program registers itself. Mappings that are shared but
 * not writable are remembered too: mprotect may make them PM later.
 *
 * A file is told to holdfast the first time that it backs PM; holdfast keeps its contents
 * before the program goes on, so that any later image can be rebuilt.
 */
#include "tracer.h"

#define AT_EMPTY_PATH 0x1000

UChar region_granule[GRANULES];

static struct region *regions; /* sorted, disjoint */
static UInt nregions, regions_cap;
static const struct region *last_hit;
static Addr gap_lo, gap_hi; /* no PM here: what region_next() found last */
static Bool ever;

struct file {
	ULong dev, ino, born; /* inode numbers are used again; born: 0 if nobody knows */
	Bool unlinked;
};
static XArray *files; /* struct file, the id is the index */

struct module {
	Addr lo, hi;
};
static XArray *module_paths; /* HChar *, the id is the index */
static XArray *modules;      /* struct module: executable file mappings */

/* ---- the sorted array ---- */

static UInt lower(Addr a) /* first region that ends after a */
{
	UInt lo = 0, hi = nregions;
	while (lo < hi) {
		UInt mid = (lo + hi) / 2;
		if (regions[mid].hi <= a)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void granules_rebuild(void)
{
	VG_(memset)(region_granule, 0, sizeof region_granule);
	for (UInt i = 0; i < nregions; i++) {
		if (regions[i].shared)
			continue;
		/* The page before it counts: a store may begin there. */
		Addr g = (regions[i].lo - VKI_PAGE_SIZE) >> GRANULE_BITS;
		Addr last = (regions[i].hi - 1) >> GRANULE_BITS;
		if (last - g >= GRANULES)
			last = g + GRANULES - 1;
		for (; g <= last; g++)
			region_granule[g % GRANULES] = 1;
	}
	last_hit = NULL;
	gap_lo = gap_hi = 0;
}

static void insert_at(UInt i, struct region r)
{
	if (nregions == regions_cap) {
		regions_cap = regions_cap ? regions_cap * 2 : 64;
		regions = VG_(realloc)("hf.regions", regions, regions_cap * sizeof *regions);
	}
	VG_(memmove)(regions + i + 1, regions + i, (nregions - i) * sizeof *regions);
	regions[i] = r;
	nregions++;
}

/* Cuts [lo, hi) out of all regions; calls `cut` for each piece. */
static Bool cut_out(Addr lo, Addr hi, void (*cut)(const struct region *piece, void *), void *arg)
{
	Bool any = False;
	for (UInt i = lower(lo); i < nregions && regions[i].lo < hi;) {
		struct region r = regions[i], piece = r;
		piece.lo = r.lo > lo ? r.lo : lo;
		piece.hi = r.hi < hi ? r.hi : hi;
		piece.off = r.off + (piece.lo - r.lo);
		VG_(memmove)(regions + i, regions + i + 1, (nregions - i - 1) * sizeof *regions);
		nregions--;
		if (piece.hi < r.hi) {
			struct region after = r;
			after.lo = piece.hi;
			after.off = r.off + (after.lo - r.lo);
			insert_at(i, after);
		}
		if (r.lo < piece.lo) {
			struct region before = r;
			before.hi = piece.lo;
			insert_at(i, before);
			i++;
		}
		if (cut)
			cut(&piece, arg);
		any = True;
	}
	return any;
}

static void add(struct region r)
{
	insert_at(lower(r.lo), r);
	if (!r.shared)
		ever = True;
	granules_rebuild();
}

const struct region *region_find(Addr a)
{
	if (LIKELY(last_hit && a >= last_hit->lo && a < last_hit->hi))
		return last_hit;
	if (a >= gap_lo && a < gap_hi)
		return NULL;
	UInt i = lower(a);
	if (i == nregions || a < regions[i].lo || regions[i].shared)
		return NULL;
	return last_hit = &regions[i];
}

Addr region_next(Addr a)
{
	if (LIKELY(a >= gap_lo && a < gap_hi))
		return gap_hi;
	UInt i = lower(a), before = i;
	while (i < nregions && regions[i].shared)
		i++;
	if (i < nregions && regions[i].lo <= a)
		return a;
	gap_lo = before ? regions[before - 1].hi : 0;
	return gap_hi = i < nregions ? regions[i].lo : ~(Addr)0;
}

Bool region_covers(Addr a, SizeT len)
{
	Addr end = a + len;
	while (a < end) {
		const struct region *r = region_find(a);
		if (r == NULL)
			return False;
		a = r->hi;
	}
	return True;
}

Bool region_ever(void)
{
	return ever;
}

void region_forget_all(void)
{
	nregions = 0;
	granules_rebuild();
}

/* ---- files ---- */

/* When the file was made, so that a new one with an old inode number is known as such. */
static ULong birth(Int dirfd, const HChar *path, UInt flags)
{
	enum { STATX_BTIME = 0x800 };
	struct vki_statx x;
	SysRes r = VG_(do_syscall)(__NR_statx, (UWord)dirfd, (UWord)path, flags, STATX_BTIME,
				   (UWord)&x, 0, 0, 0);
	if (sr_isError(r) || !(x.stx_mask & STATX_BTIME))
		return 0;
	return (ULong)x.stx_btime.tv_sec * 1000000000 + x.stx_btime.tv_nsec;
}

static ULong birth_of(Int fd, const HChar *path)
{
	return fd >= 0 ? birth(fd, "", AT_EMPTY_PATH) : birth(VKI_AT_FDCWD, path, 0);
}

static Bool file_known(ULong dev, ULong ino, UInt *id)
{
	for (Word i = files ? VG_(sizeXA)(files) - 1 : -1; i >= 0; i--) {
		struct file *f = VG_(indexXA)(files, i);
		*id = (UInt)i;
		if (f->dev == dev && f->ino == ino && !f->unlinked)
			return True;
	}
	return False;
}

static UInt file_lookup(ULong dev, ULong ino, Int fd, const HChar *path)
{
	UInt id;
	if (!file_known(dev, ino, &id))
		return NO_FILE;
	ULong born = birth_of(fd, path), old = ((struct file *)VG_(indexXA)(files, id))->born;
	return born && old && born != old ? NO_FILE : id;
}

UInt file_by_fd(Int fd)
{
	struct vg_stat st;
	if (files == NULL || VG_(fstat)(fd, &st) != 0)
		return NO_FILE;
	return file_lookup(st.dev, st.ino, fd, NULL);
}

UInt file_by_path(const HChar *path)
{
	struct vg_stat st;
	if (files == NULL || sr_isError(VG_(stat)(path, &st)))
		return NO_FILE;
	return file_lookup(st.dev, st.ino, -1, path);
}

/* The same, but a symbolic link is not what it points to. */
UInt file_by_name(const HChar *path)
{
	struct vki_stat st;
	SysRes r = VG_(do_syscall)(__NR_lstat, (UWord)path, (UWord)&st, 0, 0, 0, 0, 0, 0);
	if (files == NULL || sr_isError(r) || (st.st_mode & VKI_S_IFMT) == VKI_S_IFLNK)
		return NO_FILE;
	return file_lookup(st.st_dev, st.st_ino, -1, path);
}

/* The name is gone. The inode's number may be reused once nothing maps or opens it. */
void file_unlinked(UInt file)
{
	struct file *f = VG_(indexXA)(files, file);
	for (UInt i = 0; i < nregions; i++)
		if (regions[i].file == file)
			return;
	f->unlinked = True;
}

static UInt file_announce(Int fd, const struct vg_stat *st, const HChar *path)
{
	UInt id = file_lookup(st->dev, st->ino, fd, path);
	if (id != NO_FILE)
		return id;
	if (files == NULL)
		files = VG_(newXA)(VG_(malloc), "hf.files", VG_(free), sizeof(struct file));
	struct file f = { st->dev, st->ino, birth_of(fd, path), False };
	id = (UInt)VG_(addToXA)(files, &f);
	ULong args[4] = { id, st->dev, st->ino, (ULong)(Long)fd };
	emit_and_wait(TRACE_DEF_FILE, 4, args, path, (UInt)VG_(strlen)(path));
	return id;
}

/* Is this a file whose shared mappings are persistent memory? */
static Bool file_is_pm(const struct vg_stat *st, const HChar *path)
{
	Bool regular = (st->mode & VKI_S_IFMT) == VKI_S_IFREG;
	Bool dax = (st->mode & VKI_S_IFMT) == VKI_S_IFCHR && VG_(strncmp)(path, "/dev/dax", 8) == 0;
	if (!regular && !dax)
		return False;
	/* what has no name, and the C library's semaphores, are not meant to survive */
	if (st->nlink == 0 || VG_(strncmp)(path, "/memfd:", 7) == 0 ||
	    VG_(strncmp)(path, "/dev/shm/sem.", 13) == 0)
		return False;
	return VG_(sizeXA)(opt.pm) == 0 || glob_any(opt.pm, path);
}

/* ---- mappings ---- */

static void send_map(ThreadId tid, const struct region *r, UInt prot, UInt flags, Bool fixed)
{
	ULong args[6] = { r->lo, r->hi - r->lo, r->file, r->off, prot, flags };
	event_at_syscall(tid, TRACE_MAP, TRACE_F_PM | (fixed ? TRACE_F_FIXED : 0), 6, args, NULL,
			 0);
}

static void send_unmap(const struct region *piece, void *tid)
{
	ULong args[2] = { piece->lo, piece->hi - piece->lo };
	if (!piece->shared)
		event_at_syscall(*(ThreadId *)tid, TRACE_UNMAP, 0, 2, args, NULL, 0);
}

static void module_mapped(ThreadId tid, Addr a, SizeT len, ULong off, const HChar *path)
{
	ULong id, args[4];
	for (id = 0; id < (ULong)VG_(sizeXA)(module_paths); id++)
		if (VG_(strcmp)(*(HChar **)VG_(indexXA)(module_paths, (Word)id), path) == 0)
			break;
	if (id == (ULong)VG_(sizeXA)(module_paths)) {
		HChar *copy = VG_(strdup)("hf.module", path);
		ULong def[2] = { id, 0 };
		VG_(addToXA)(module_paths, &copy);
		emit(TRACE_DEF_MODULE, 0, 0, 0, 2, def, path, (UInt)VG_(strlen)(path));
	}
	struct module m = { a, a + len };
	VG_(addToXA)(modules, &m);
	args[0] = a, args[1] = len, args[2] = off, args[3] = id;
	event_at_syscall(tid, TRACE_MODULE_LOAD, 0, 4, args, NULL, 0);
}

/* What is mapped before the program runs: the program itself and the dynamic linker. */
void module_scan(void)
{
	Addr starts[1024];
	Int n = VG_(am_get_segment_starts)(SkFileC, starts, 1024);
	module_paths = VG_(newXA)(VG_(malloc), "hf.modules", VG_(free), sizeof(HChar *));
	modules = VG_(newXA)(VG_(malloc), "hf.modules", VG_(free), sizeof(struct module));
	for (Int i = 0; i < n; i++) {
		NSegment const *seg = VG_(am_find_nsegment)(starts[i]);
		const HChar *path = seg && seg->hasX ? VG_(am_get_filename)(seg) : NULL;
		/* the tool's own page of trampolines is no part of the program */
		if (path && VG_(strstr)(path, "/holdfast-amd64-linux") == NULL)
			module_mapped(VG_INVALID_THREADID, seg->start, seg->end - seg->start + 1,
				      (ULong)seg->offset, path);
	}
}

/* Code at [lo, hi) goes away: addresses there may mean something else from now on. */
static void module_unmapped(ThreadId tid, Addr lo, Addr hi)
{
	for (Word i = VG_(sizeXA)(modules) - 1; i >= 0; i--) {
		struct module *m = VG_(indexXA)(modules, i);
		if (m->hi <= lo || m->lo >= hi)
			continue;
		ULong args[2] = { m->lo, m->hi - m->lo };
		event_at_syscall(tid, TRACE_MODULE_UNLOAD, 0, 2, args, NULL, 0);
		VG_(removeIndexXA)(modules, i);
		emit_sites_stale();
	}
}

void region_munmap(ThreadId tid, Addr a, SizeT len)
{
	Addr end = a + VG_PGROUNDUP(len);
	module_unmapped(tid, a, end);
	if (cut_out(a, end, send_unmap, &tid))
		granules_rebuild();
}

void region_mmap(ThreadId tid, Addr a, SizeT len, UInt prot, UInt flags, Int fd, ULong off,
		 Addr hint)
{
	struct vg_stat st;
	const HChar *path;
	len = VG_PGROUNDUP(len);
	region_munmap(tid, a, len);
	if (flags & VKI_MAP_ANONYMOUS || fd < 0 || VG_(fstat)(fd, &st) != 0 ||
	    !VG_(resolve_filename)(fd, &path))
		return;
	if (prot & VKI_PROT_EXEC)
		module_mapped(tid, a, len, off, path);
	/* MAP_SHARED is 1, MAP_SHARED_VALIDATE 3, MAP_PRIVATE 2 */
	if ((flags & 3) == VKI_MAP_PRIVATE || !file_is_pm(&st, path))
		return;
	struct region r = { a, a + len, NO_FILE, off, !(prot & VKI_PROT_WRITE) };
	if (!r.shared)
		r.file = file_announce(fd, &st, path);
	add(r);
	if (!r.shared)
		send_map(tid, &r, prot, flags, hint == a);
}

/* A shared file mapping gets write permission: from now on it is PM. */
static void become_pm(ThreadId tid, struct region *r, UInt prot)
{
	NSegment const *seg = VG_(am_find_nsegment)(r->lo);
	const HChar *path = seg ? VG_(am_get_filename)(seg) : NULL;
	struct vg_stat st;
	if (path == NULL || sr_isError(VG_(stat)(path, &st)))
		return;
	r->file = file_announce(-1, &st, path);
	r->shared = False;
	ever = True;
	granules_rebuild();
	send_map(tid, r, prot, VKI_MAP_SHARED, False);
}

void region_mprotect(ThreadId tid, Addr a, SizeT len, UInt prot)
{
	Addr end = a + VG_PGROUNDUP(len);
	ULong args[3] = { a, len, prot };
	Bool pm = False;
	for (UInt i = lower(a); i < nregions && regions[i].lo < end; i++) {
		if (!regions[i].shared)
			pm = True;
		else if (prot & VKI_PROT_WRITE)
			become_pm(tid, &regions[i], prot);
	}
	if (pm)
		event_at_syscall(tid, TRACE_PROTECT, 0, 3, args, NULL, 0);
}

struct move {
	ThreadId tid;
	Addr from, to;
	XArray *pieces;
};

static void take_piece(const struct region *piece, void *arg)
{
	struct move *m = arg;
	send_unmap(piece, &m->tid);
	VG_(addToXA)(m->pieces, piece);
}

/* The last piece of the moved mapping grows or shrinks with it. */
void region_mremap(ThreadId tid, Addr from, SizeT old_len, Addr to, SizeT new_len)
{
	struct move m = { tid, from, to, NULL };
	old_len = VG_PGROUNDUP(old_len);
	new_len = VG_PGROUNDUP(new_len);
	m.pieces = VG_(newXA)(VG_(malloc), "hf.move", VG_(free), sizeof(struct region));
	if (!cut_out(from, from + old_len, take_piece, &m)) {
		VG_(deleteXA)(m.pieces);
		return;
	}
	region_munmap(tid, to, new_len);
	for (Word i = 0; i < VG_(sizeXA)(m.pieces); i++) {
		struct region r = *(struct region *)VG_(indexXA)(m.pieces, i);
		Bool last = r.hi == from + old_len;
		r.lo = r.lo - from + to;
		r.hi = last ? to + new_len : r.hi - from + to;
		if (r.lo >= r.hi || r.lo >= to + new_len)
			continue;
		add(r);
		if (!r.shared)
			send_map(tid, &r, VKI_PROT_READ | VKI_PROT_WRITE, VKI_MAP_SHARED, False);
	}
	VG_(deleteXA)(m.pieces);
	granules_rebuild();
}

/* ---- ranges that the program names ---- */

void region_register(Addr a, SizeT len)
{
	struct region r = { a, a + len, NO_FILE, 0, False };
	if (len == 0 || region_covers(a, len))
		return;
	cut_out(a, a + len, NULL, NULL);
	add(r);
}

/* Only what has no file behind it: a range inside a pool stays recorded. */
void region_unregister(Addr a, SizeT len)
{
	const struct region *r = region_find(a);
	if (r && r->file == NO_FILE) {
		cut_out(a, a + len, NULL, NULL);
		granules_rebuild();
	}
}
