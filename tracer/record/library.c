/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a program does through libpmemobj, learnt from the calls of its exported functions.
 *
 * The library would tell pmemcheck about its transactions, but a library that is told of pmemcheck copies
 * memory in another way than in production. So it is not told (instrument.c), and its functions are
 * watched. Dynamic symbols are enough, which a stripped library has too.
 */
#include "record.h"

static const struct {
	const HChar *name;
	enum library_act act;
} functions[] = {
	{ "pmemobj_tx_begin", LIBRARY_TX_BEGIN },
	{ "pmemobj_tx_end", LIBRARY_TX_END },
	{ "pmemobj_tx_add_range_direct", LIBRARY_TX_ADD },
	{ "pmemobj_tx_xadd_range_direct", LIBRARY_TX_ADD },
	{ "pmemobj_volatile", LIBRARY_VOLATILE },
};
#define FUNCTIONS (sizeof functions / sizeof *functions)

static enum library_act library_act(const HChar *name)
{
	if (opt.pmemcheck) /* the library tells us itself */
		return LIBRARY_NOTHING;
	for (UInt i = 0; i < FUNCTIONS; i++)
		if (VG_(strcmp)(functions[i].name, name) == 0)
			return functions[i].act;
	return LIBRARY_NOTHING;
}

/* What a function's call means, and whether it is an event. 0: nothing, and it is none. */
ULong library_watched(const HChar *function)
{
	enum library_act act = library_act(function);
	Bool recorded = glob_any(opt.watch, function);
	return act || recorded ? WATCHED(0, act, recorded) : 0;
}

static Bool has_watched(const DebugInfo *di)
{
	for (Int i = VG_(DebugInfo_syms_howmany)(di); i > 0; i--) {
		const HChar *name, **others;
		Addr at[4]; /* a SymAVMAs */
		Bool text, indirect, global;
		UInt size;
		VG_(DebugInfo_syms_getidx)
		(di, i - 1, at, &size, &name, &others, &text, &indirect, &global);
		if (text && library_watched(name))
			return True;
	}
	return False;
}

/*
 * Where an object has a watched function, calls must end their blocks for the callee's first
 * instruction to begin one. New objects come at the front of the core's list.
 */
void library_scan(void)
{
	static UInt epoch;
	static const DebugInfo *newest;
	const DebugInfo *first = VG_(next_DebugInfo)(NULL);
	if (LIKELY(VG_(current_DiEpoch)().n == epoch))
		return;
	epoch = VG_(current_DiEpoch)().n;
	for (const DebugInfo *di = first; di && di != newest; di = VG_(next_DebugInfo)(di))
		if (vex_control.guest_chase && has_watched(di))
			VG_(clo_vex_control).guest_chase = vex_control.guest_chase = False;
	newest = first;
}

/* The call of tx_begin is paired with one of tx_end even if it fails. */
void library_called(enum library_act act, UInt site, const ULong arg[6])
{
	ULong args[3] = { TRANSACTION_OF(VG_(get_running_tid)()), arg[0], arg[1] };
	if (act == LIBRARY_TX_BEGIN)
		emit(TRACE_TX_BEGIN, 0, site, ctx_node(), 1, args, NULL, 0);
	else if (act == LIBRARY_TX_ADD)
		emit(TRACE_TX_ADD, 0, site, ctx_node(), 3, args, NULL, 0);
	else if (act == LIBRARY_VOLATILE && arg[3])
		emit(TRACE_HINT_UNMAP, 0, site, ctx_node(), 2, arg + 2, NULL, 0);
}

/* … or is left by longjmp. */
void library_returned(enum library_act act, UInt site, UInt ctx)
{
	ULong tx = TRANSACTION_OF(VG_(get_running_tid)());
	if (act == LIBRARY_TX_END)
		emit(TRACE_TX_END, 0, site, ctx, 1, &tx, NULL, 0);
}
