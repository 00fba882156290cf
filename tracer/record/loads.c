/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads from PM, with --hf-loads.
 *
 * Programs read far more often than they write, so repeated loads are not recorded again: a byte's
 * load is recorded if it was not recorded before, or the byte was stored to since. A direct-mapped
 * table, indexed by the low bits of the line's number, keeps this for recently used lines; a line
 * that was evicted is recorded again, which is redundant but correct.
 *
 * The first load from a line without stores is recorded as a load of the whole line: one event
 * instead of eight, and an analysis of the lines that a program reads before it writes them
 * loses nothing (--hf-load-bytes is for others). Later loads, and loads after a store, are
 * recorded byte by byte:
 *
 *   load  8 at 0x1000    load 64 at 0x1000
 *   load  8 at 0x1010    -
 *   store 8 at 0x1010    store
 *   load 16 at 0x1008    load 16 at 0x1008
 *   store 8 at 0x2000    store
 *   load  8 at 0x2000    load 8 at 0x2000
 *   load  8 at 0x2008    load 8 at 0x2008
 *
 * Lines that are not PM, but in the same granule, are in the table as loaded.
 */
#include "record.h"

#define LINES 32768u
#define LINE_OF(a) ((a) / TRACE_LINE)

static struct line {
	Addr number;
	ULong loaded, stored; /* bits: bytes of the line */
} lines[LINES];

static inline ULong bits(Addr from, Addr to) /* of [from, to), which lies in one line */
{
	ULong all = to - from == TRACE_LINE ? ~0ull : ((ULong)1 << (to - from)) - 1;
	return all << (from % TRACE_LINE);
}

static struct line *line_for(Addr number)
{
	struct line *l = &lines[number % LINES];
	if (l->number != number)
		*l = (struct line){ number, 0, 0 };
	return l;
}

/* [from, to) in one line and one region was loaded; the region has the line, or a part of it. */
static void load_in(struct line *l, const struct region *r, Addr from, Addr to, UInt site)
{
	Addr lo = l->number * TRACE_LINE, hi = lo + TRACE_LINE;
	ULong args[2];
	if (!(bits(from, to) & ~l->loaded))
		return;
	if (!opt.load_bytes && !l->stored && r->lo <= lo && r->hi >= hi)
		from = lo, to = hi;
	l->loaded |= bits(from, to);
	args[0] = from, args[1] = to - from;
	emit(TRACE_LOAD, 0, site, ctx_node(), 2, args, NULL, 0);
}

/* *site is 0 until the instruction's id is needed. */
static void load_line(Addr from, Addr to, Addr ip, UInt *site)
{
	Addr lo = LINE_OF(from) * TRACE_LINE, hi = lo + TRACE_LINE;
	struct line *l = line_for(LINE_OF(from));
	const struct region *r = region_loaded(lo);
	if (!r || r->lo >= hi) {
		l->loaded = ~0ull;
		return;
	}
	for (Addr stop; from < to && (r = region_loaded(from)) && r->lo < to; from = stop) {
		if (from < r->lo)
			from = r->lo;
		stop = r->hi < to ? r->hi : to;
		if (!*site)
			*site = emit_site(ip, TRACE_SITE_OTHER, 0);
		load_in(l, r, from, stop, *site);
	}
}

static void load_range(Addr a, SizeT size, Addr ip, UInt site)
{
	for (Addr end = a + size, stop; a < end; a = stop) {
		stop = (LINE_OF(a) + 1) * TRACE_LINE;
		if (stop > end)
			stop = end;
		load_line(a, stop, ip, &site);
	}
}

VG_REGPARM(3) void on_load(Addr a, ULong ip, ULong size)
{
	const struct line *l = &lines[LINE_OF(a) % LINES];
	if (LIKELY(l->number == LINE_OF(a) && a % TRACE_LINE + size <= TRACE_LINE &&
		   !(bits(a, a + size) & ~l->loaded)))
		return;
	if (record.on)
		load_range(a, size, ip, 0);
}

/* The kernel is about to read this, if the call does not fail first. */
void kernel_reads(CorePart part, ThreadId tid, const HChar *what, Addr a, SizeT len)
{
	const struct region *r = len ? region_loaded(a) : NULL;
	if ((part != Vg_CoreSysCall && part != Vg_CoreSysCallArgInMem) || !record.on || !r ||
	    a + len < a || r->lo >= a + len)
		return;
	ctx_switch(tid);
	UInt site = syscall_site(tid);
	for (Addr end = a + len, stop; r && r->lo < end; a = stop) {
		a = a > r->lo ? a : r->lo;
		stop = r->hi < end ? r->hi : end;
		load_range(a, stop - a, 0, site);
		r = stop < end ? region_loaded(stop) : NULL;
	}
}

void kernel_reads_string(CorePart part, ThreadId tid, const HChar *what, Addr a)
{
	const struct region *r = region_loaded(a);
	if (r && r->lo <= a && VG_(am_is_valid_for_client)(a, 1, VKI_PROT_READ))
		kernel_reads(part, tid, what, a, VG_(strnlen)((const HChar *)a, r->hi - a) + 1);
}

void loads_stored(Addr a, SizeT size)
{
	for (Addr end = a + size, stop; a < end; a = stop) {
		struct line *l = line_for(LINE_OF(a));
		stop = (LINE_OF(a) + 1) * TRACE_LINE;
		if (stop > end)
			stop = end;
		l->loaded &= ~bits(a, stop);
		l->stored |= bits(a, stop);
	}
}

void loads_forget(void)
{
	VG_(memset)(lines, 0, sizeof lines);
}
