/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which addresses are persistent memory, and what is behind them.
 *
 * PM is every writable MAP_SHARED mapping of a regular file or a DAX device whose path fits
 * --hf-pm, and every range that the program registers itself. Mappings that are shared but
 * not writable are kept too: mprotect may make them PM later. With --hf-loads these are recorded as
 * mappings that are not PM, and so are private mappings, since loads from them read the file.
 */
#include "record.h"

UChar region_granule[GRANULES];

static struct {
	struct region *all; /* sorted, disjoint */
	UInt n, cap;
	const struct region *last_hit;
	Addr gap_lo, gap_hi; /* no PM here: what region_next() found last */
	Bool ever;           /* was there PM at any time? */
} regions;

/* ---- the sorted array ---- */

static UInt lower(Addr a) /* first region that ends after a */
{
	UInt lo = 0, hi = regions.n;
	while (lo < hi) {
		UInt mid = (lo + hi) / 2;
		if (regions.all[mid].hi <= a)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Is anything recorded there: stores, or only loads? */
static Bool is_watched(const struct region *r)
{
	return r->kind == REGION_PM || opt.loads;
}

static void granules_rebuild(void)
{
	VG_(memset)(region_granule, 0, sizeof region_granule);
	for (UInt i = 0; i < regions.n; i++) {
		if (!is_watched(&regions.all[i]))
			continue;
		/* The page before it counts: a store may begin there. */
		Addr g = (regions.all[i].lo - VKI_PAGE_SIZE) >> GRANULE_BITS;
		Addr last = (regions.all[i].hi - 1) >> GRANULE_BITS;
		if (last - g >= GRANULES)
			last = g + GRANULES - 1;
		for (; g <= last; g++)
			region_granule[g % GRANULES] = 1;
	}
	regions.last_hit = NULL;
	regions.gap_lo = regions.gap_hi = 0;
	if (opt.loads)
		loads_forget();
}

static void insert_at(UInt i, struct region r)
{
	if (regions.n == regions.cap) {
		regions.cap = regions.cap ? regions.cap * 2 : 64;
		regions.all =
			VG_(realloc)("hf.regions", regions.all, regions.cap * sizeof *regions.all);
	}
	VG_(memmove)(regions.all + i + 1, regions.all + i, (regions.n - i) * sizeof *regions.all);
	regions.all[i] = r;
	regions.n++;
}

/* Cuts [lo, hi) out of all regions; calls `cut` for each piece. */
static Bool cut_out(Addr lo, Addr hi, void (*cut)(const struct region *piece, void *), void *arg)
{
	Bool any = False;
	for (UInt i = lower(lo); i < regions.n && regions.all[i].lo < hi;) {
		struct region r = regions.all[i], piece = r;
		piece.lo = r.lo > lo ? r.lo : lo;
		piece.hi = r.hi < hi ? r.hi : hi;
		piece.off = r.off + (piece.lo - r.lo);
		VG_(memmove)
		(regions.all + i, regions.all + i + 1, (regions.n - i - 1) * sizeof *regions.all);
		regions.n--;
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
	if (r.kind == REGION_PM)
		regions.ever = True;
	granules_rebuild();
}

const struct region *region_find(Addr a)
{
	if (LIKELY(regions.last_hit && a >= regions.last_hit->lo && a < regions.last_hit->hi))
		return regions.last_hit;
	if (a >= regions.gap_lo && a < regions.gap_hi)
		return NULL;
	UInt i = lower(a);
	if (i == regions.n || a < regions.all[i].lo || regions.all[i].kind != REGION_PM)
		return NULL;
	return regions.last_hit = &regions.all[i];
}

Addr region_next(Addr a)
{
	if (LIKELY(a >= regions.gap_lo && a < regions.gap_hi))
		return regions.gap_hi;
	UInt i = lower(a), before = i;
	while (i < regions.n && regions.all[i].kind != REGION_PM)
		i++;
	if (i < regions.n && regions.all[i].lo <= a)
		return a;
	regions.gap_lo = before ? regions.all[before - 1].hi : 0;
	return regions.gap_hi = i < regions.n ? regions.all[i].lo : ~(Addr)0;
}

const struct region *region_loaded(Addr a)
{
	UInt i = lower(a);
	return i < regions.n ? &regions.all[i] : NULL;
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
	return regions.ever;
}

Bool region_of_file(UInt file)
{
	for (UInt i = 0; i < regions.n; i++)
		if (regions.all[i].file == file)
			return True;
	return False;
}

Addr region_mapped(UInt file, ULong off)
{
	for (UInt i = 0; i < regions.n; i++) {
		const struct region *r = &regions.all[i];
		if (r->file == file && r->kind == REGION_PM && off >= r->off &&
		    off - r->off < r->hi - r->lo)
			return r->lo + (off - r->off);
	}
	return 0;
}

void region_forget_all(void)
{
	regions.n = 0;
	granules_rebuild();
}

/* ---- mappings ---- */

static void send_map(ThreadId tid, const struct region *r, UInt prot, UInt flags, Bool fixed)
{
	ULong args[6] = { r->lo, r->hi - r->lo, r->file, r->off, prot, flags };
	UInt how = (r->kind == REGION_PM ? TRACE_F_PM : 0) | (fixed ? TRACE_F_FIXED : 0);
	if (is_watched(r))
		event_at_syscall(tid, TRACE_MAP, how, 6, args, NULL, 0);
}

static void send_unmap(const struct region *piece, void *tid)
{
	ULong args[2] = { piece->lo, piece->hi - piece->lo };
	if (is_watched(piece))
		event_at_syscall(*(ThreadId *)tid, TRACE_UNMAP, 0, 2, args, NULL, 0);
}

void region_munmap(ThreadId tid, Addr a, SizeT len)
{
	Addr end = a + VG_PGROUNDUP(len);
	module_unmapped(tid, a, end);
	if (cut_out(a, end, send_unmap, &tid))
		granules_rebuild();
}

static enum region_kind kind_of(UInt prot, UInt flags)
{
	/* MAP_SHARED is 1, MAP_SHARED_VALIDATE 3, MAP_PRIVATE 2 */
	if ((flags & 3) == VKI_MAP_PRIVATE)
		return REGION_PRIVATE;
	return prot & VKI_PROT_WRITE ? REGION_PM : REGION_SHARED;
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
	struct region r = { a, a + len, NO_FILE, off, kind_of(prot, flags) };
	if (r.kind == REGION_PRIVATE ? !file_is_loaded(fd, &st, path) : !file_is_pm(&st, path))
		return;
	if (is_watched(&r))
		r.file = file_announce(fd, &st, path);
	add(r);
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
	r->kind = REGION_PM;
	regions.ever = True;
	granules_rebuild();
	send_map(tid, r, prot, VKI_MAP_SHARED, False);
}

void region_mprotect(ThreadId tid, Addr a, SizeT len, UInt prot)
{
	Addr end = a + VG_PGROUNDUP(len);
	ULong args[3] = { a, len, prot };
	Bool pm = False;
	for (UInt i = lower(a); i < regions.n && regions.all[i].lo < end; i++) {
		if (regions.all[i].kind == REGION_PM)
			pm = True;
		else if (regions.all[i].kind == REGION_SHARED && prot & VKI_PROT_WRITE)
			become_pm(tid, &regions.all[i], prot);
	}
	if (pm)
		event_at_syscall(tid, TRACE_PROTECT, 0, 3, args, NULL, 0);
}

void region_removed(ThreadId tid, Addr a, SizeT len)
{
	enum { KEEP_SIZE_AND_PUNCH_HOLE = 3 }; /* as fallocate calls it */
	Addr end = a + VG_PGROUNDUP(len);
	for (UInt i = lower(a); i < regions.n && regions.all[i].lo < end; i++) {
		const struct region *r = &regions.all[i];
		Addr lo = r->lo > a ? r->lo : a, hi = r->hi < end ? r->hi : end;
		ULong args[4] = { r->file, KEEP_SIZE_AND_PUNCH_HOLE, r->off + (lo - r->lo),
				  hi - lo };
		if (r->file != NO_FILE && r->kind != REGION_PRIVATE)
			event_at_syscall(tid, TRACE_FILE_ALLOCATE, 0, 4, args, NULL, 0);
	}
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
		send_map(tid, &r, VKI_PROT_READ | (r.kind == REGION_PM ? VKI_PROT_WRITE : 0),
			 r.kind == REGION_PRIVATE ? VKI_MAP_PRIVATE : VKI_MAP_SHARED, False);
	}
	VG_(deleteXA)(m.pieces);
	granules_rebuild();
}

/* ---- ranges that the program names ---- */

void region_register(Addr a, SizeT len)
{
	struct region r = { a, a + len, NO_FILE, 0, REGION_PM };
	if (len == 0 || region_covers(a, len))
		return;
	cut_out(a, a + len, NULL, NULL);
	add(r);
}

/* Only ranges without a file: a range inside a pool stays recorded. */
void region_unregister(Addr a, SizeT len)
{
	const struct region *r = region_find(a);
	if (r && r->file == NO_FILE) {
		cut_out(a, a + len, NULL, NULL);
		granules_rebuild();
	}
}

UInt region_peek(Addr a, UChar *to, UInt len)
{
	struct vki_iovec here = { to, len }, there = { (void *)a, len };
	SysRes r = VG_(do_syscall)(__NR_process_vm_readv, (UWord)VG_(getpid)(), (UWord)&here, 1,
				   (UWord)&there, 1, 0, 0, 0);
	return sr_isError(r) ? 0 : (UInt)sr_Res(r);
}
