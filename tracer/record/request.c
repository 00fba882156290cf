/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Client requests: our own markers (include/holdfast.h), and those of pmemcheck, with which programs
 * annotate their code. PMDK makes them, too, but only if RUNNING_ON_VALGRIND is true, which it is not
 * without --hf-pmemcheck. The numbers are those tools' published interface.
 */
#include "record.h"

enum {
	PMC_REGISTER_MAPPING = VG_USERREQ_TOOL_BASE('P', 'C'),
	PMC_REGISTER_FILE,
	PMC_REMOVE_MAPPING,
	PMC_CHECK_MAPPING,
	PMC_PRINT_MAPPINGS,
	PMC_DO_FLUSH,
	PMC_DO_FENCE,
	PMC_WRITE_STATS = PMC_REGISTER_MAPPING + 8,
	PMC_SET_CLEAN = PMC_REGISTER_MAPPING + 17,
	PMC_START_TX,
	PMC_START_TX_N,
	PMC_END_TX,
	PMC_END_TX_N,
	PMC_ADD_TO_TX,
	PMC_ADD_TO_TX_N,
	PMC_REMOVE_FROM_TX,
	PMC_REMOVE_FROM_TX_N,
	PMC_ADD_THREAD_TO_TX_N,
	PMC_REMOVE_THREAD_FROM_TX_N,
	PMC_ADD_TO_GLOBAL_TX_IGNORE,
	PMC_EMIT_LOG = PMC_REGISTER_MAPPING + 30,
	PMC_DEEP_SYNC,
	PMC_END,
};

static void say(ThreadId tid, UInt kind, UInt nargs, ULong a, ULong b, ULong c)
{
	ULong args[3] = { a, b, c };
	ctx_switch(tid);
	/* the IP is behind the request; one less is still in the statement that made it */
	emit(kind, 0, emit_site(VG_(get_IP)(tid) - 1, TRACE_SITE_OTHER, 0), ctx_node(), nargs, args,
	     NULL, 0);
}

static Bool handle_own(ThreadId tid, UWord *args, UWord *ret)
{
	*ret = 0;
	switch (args[0]) {
	case HOLDFAST_REQUEST_OP_BEGIN: say(tid, TRACE_OP_BEGIN, 1, args[1], 0, 0); return True;
	case HOLDFAST_REQUEST_OP_END: say(tid, TRACE_OP_END, 1, args[1], 0, 0); return True;
	case HOLDFAST_REQUEST_PM:
		region_register(args[1], args[2]);
		say(tid, TRACE_MARK_PM, 2, args[1], args[2], 0);
		return True;
	case HOLDFAST_REQUEST_VOLATILE:
		say(tid, TRACE_MARK_VOLATILE, 2, args[1], args[2], 0);
		return True;
	case HOLDFAST_REQUEST_RECORDING: *ret = record.on; return True;
	case HOLDFAST_REQUEST_SYMBOLIC: return True; /* not possible while only recording */
	case PRELOAD_REQUEST_VIEW: outside_learn(args[1]); return True;
	default: return False;
	}
}

/* 0: not in registered PM, 1: all of it, 2: a part of it */
static UWord check_mapping(Addr a, SizeT len)
{
	if (region_covers(a, len))
		return 1;
	return region_next(a) < a + len ? 2 : 0;
}

static void handle_tx(ThreadId tid, UWord *a)
{
	ULong own = TRANSACTION_OF(tid);
	switch (a[0]) {
	case PMC_START_TX: say(tid, TRACE_TX_BEGIN, 1, own, 0, 0); break;
	case PMC_START_TX_N: say(tid, TRACE_TX_BEGIN, 1, a[1], 0, 0); break;
	case PMC_END_TX: say(tid, TRACE_TX_END, 1, own, 0, 0); break;
	case PMC_END_TX_N: say(tid, TRACE_TX_END, 1, a[1], 0, 0); break;
	case PMC_ADD_TO_TX: say(tid, TRACE_TX_ADD, 3, own, a[1], a[2]); break;
	case PMC_ADD_TO_TX_N: say(tid, TRACE_TX_ADD, 3, a[1], a[2], a[3]); break;
	case PMC_REMOVE_FROM_TX: say(tid, TRACE_TX_REMOVE, 3, own, a[1], a[2]); break;
	case PMC_REMOVE_FROM_TX_N: say(tid, TRACE_TX_REMOVE, 3, a[1], a[2], a[3]); break;
	case PMC_ADD_TO_GLOBAL_TX_IGNORE: say(tid, TRACE_TX_IGNORE, 2, a[1], a[2], 0); break;
	default: break; /* threads joining a transaction: nothing that a trace needs */
	}
}

static Bool handle_pmemcheck(ThreadId tid, UWord *a, UWord *ret)
{
	*ret = 0;
	switch (a[0]) {
	case PMC_REGISTER_MAPPING:
		region_register(a[1], a[2]);
		say(tid, TRACE_HINT_MAP, 2, a[1], a[2], 0);
		break;
	case PMC_REGISTER_FILE:
		region_register(a[2], a[3]);
		say(tid, TRACE_HINT_MAP, 2, a[2], a[3], 0);
		break;
	case PMC_REMOVE_MAPPING:
		region_unregister(a[1], a[2]);
		say(tid, TRACE_HINT_UNMAP, 2, a[1], a[2], 0);
		break;
	case PMC_CHECK_MAPPING: *ret = check_mapping(a[1], a[2]); break;
	case PMC_DO_FLUSH: say(tid, TRACE_HINT_FLUSH, 2, a[1], a[2], 0); break;
	case PMC_DO_FENCE: say(tid, TRACE_HINT_FENCE, 0, 0, 0, 0); break;
	case PMC_SET_CLEAN: say(tid, TRACE_HINT_CLEAN, 2, a[1], a[2], 0); break;
	default:
		if (a[0] < PMC_REGISTER_MAPPING || a[0] >= PMC_END)
			return False;
		handle_tx(tid, a);
	}
	return True;
}

Bool request_handle(ThreadId tid, UWord *args, UWord *ret)
{
	if (VG_IS_TOOL_USERREQ('H', 'F', args[0]))
		return handle_own(tid, args, ret);
	if (VG_IS_TOOL_USERREQ('P', 'C', args[0]))
		return handle_pmemcheck(tid, args, ret);
	return False;
}
