/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the code that instrument.c generates calls, at each store, flush and fence that matters. */
#include "record.h"

static void say_store(Addr a, UInt size, UInt flags, UInt site)
{
	if (UNLIKELY(record.access != NULL))
		record.access(site);
	emit_store(a, size, flags, site, ctx_node());
}

/* A store that begins before PM, ends after it or crosses from one mapping into the next. */
static void store_across(Addr a, UInt size, UInt flags, UInt site)
{
	for (Addr end = a + size, stop; (a = region_next(a)) < end; a = stop) {
		stop = region_find(a)->hi;
		if (stop > end)
			stop = end;
		say_store(a, (UInt)(stop - a), flags, site);
	}
}

VG_REGPARM(2) void on_store(Addr a, ULong pack)
{
	UInt flags = (UInt)(pack >> 56), size = (UInt)(pack >> 32) & 0xffffff;
	const struct region *r = region_find(a);
	if (UNLIKELY(r == NULL && region_next(a) >= a + size)) {
		if (opt.profile)
			on_volatile((UInt)pack);
		return;
	}
	if (flags & TRACE_F_NT)
		record.fence_needed = True;
	if (LIKELY(r && a + size <= r->hi))
		say_store(a, size, flags, (UInt)pack);
	else
		store_across(a, size, flags, (UInt)pack);
}

/* Only the bytes whose mask has the top bit set were stored: one record per run of them. */
VG_REGPARM(3) void on_masked_store(Addr a, ULong lo, ULong hi, ULong pack)
{
	UInt size = (UInt)(pack >> 32) & 0xffffff;
	for (UInt i = 0; i < size;) {
		UInt n = 0;
		while (i + n < size && (((i + n < 8 ? lo : hi) >> ((i + n) % 8 * 8)) & 0x80))
			n++;
		if (n)
			on_store(a + i, (pack & ~(0xffffffull << 32)) | (ULong)n << 32);
		i += n ? n : 1;
	}
}

VG_REGPARM(2) void on_flush(Addr a, ULong pack)
{
	ULong arg = a;
	UInt flags = 0;
	if (!region_ever())
		return;
	if (!region_find(a))
		flags = TRACE_F_VOLATILE;
	else if (pack >> 32)
		record.fence_needed = True;
	emit(TRACE_FLUSH, flags, (UInt)pack, ctx_node(), 1, &arg, NULL, 0);
}

VG_REGPARM(1) void on_fence(ULong pack)
{
	if (region_ever())
		emit(TRACE_FENCE, (UInt)(pack >> 32), (UInt)pack, ctx_node(), 0, NULL, NULL, 0);
	record.fence_needed = False;
}

/* The stack pointer was moved, not by a constant. */
VG_REGPARM(1) void on_new_stack(Addr sp)
{
	if (region_find(sp) || region_find(sp - 1))
		record.stacks = True; /* the block is left at once */
}

VG_REGPARM(2) void on_watched(ULong what, ULong site)
{
	ThreadId tid = VG_(get_running_tid)();
	ULong args[7] = { WATCHED_NAME(what) };
	static const Int reg[6] = {
		offsetof(VexGuestAMD64State, guest_RDI), offsetof(VexGuestAMD64State, guest_RSI),
		offsetof(VexGuestAMD64State, guest_RDX), offsetof(VexGuestAMD64State, guest_RCX),
		offsetof(VexGuestAMD64State, guest_R8),  offsetof(VexGuestAMD64State, guest_R9),
	};
	for (UInt i = 0; i < 6; i++)
		VG_(get_shadow_regs_area)(tid, (UChar *)&args[1 + i], 0, reg[i], 8);
	if (WATCHED_RECORDED(what))
		emit(TRACE_CALL, 0, (UInt)site, ctx_node(), 7, args, NULL, 0);
	library_called(WATCHED_ACT(what), (UInt)site, args + 1);
	ctx_watch(what);
}

/* Valgrind hides clwb and clflushopt; show the ones that were asked for. */

/*
 * Hides what is beyond SSE2, so that libraries choose functions that symbolic execution can follow,
 * and the instructions for random numbers, which would differ from run to run.
 */
static void hide_features(VexGuestAMD64State *st, UInt leaf)
{
	const ULong ecx1 = 1u << 0 | 1u << 1 | 1u << 9 | 1u << 12 | 1u << 19 | 1u << 20 | 1u << 22 |
			   1u << 25 | 1u << 26 | 1u << 27 | 1u << 28 | 1u << 29 | 1u << 30;
	if (leaf == 1)
		st->guest_RCX &= ~ecx1; /* SSE3, PCLMUL, SSSE3, FMA, SSE4, MOVBE, AES, AVX, … */
	else if (leaf == 7)
		st->guest_RBX = st->guest_RCX = st->guest_RDX = 0; /* AVX2, BMI, ERMS, TSX, … */
	else if (leaf == 0x80000001)
		st->guest_RCX &= 1; /* all but LAHF */
}

void on_cpuid(VexGuestAMD64State *st)
{
	UInt leaf = (UInt)st->guest_RAX;
	const ULong clflushopt = 1u << 23, clwb = 1u << 24;
	Bool leaf7 = leaf == 7 && (UInt)st->guest_RCX == 0;
	record.cpuid(st);
	if (opt.baseline)
		hide_features(st, leaf);
	if (!leaf7)
		return;
	st->guest_RBX &= ~(clflushopt | clwb);
	if (opt.cpu <= TRACE_CPU_CLFLUSHOPT)
		st->guest_RBX |= clflushopt;
	if (opt.cpu <= TRACE_CPU_CLWB)
		st->guest_RBX |= clwb;
}
