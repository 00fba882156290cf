/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmdk-redundant-log: a range is added to a transaction's undo log although all of it is
 * there already, or was allocated in the same transaction. It costs a copy and a flush.
 *
 * Works on any libpmemobj program, from its calls alone; pmdk.h follows them.
 */
#include "pmdk.h"

static const struct holdfast_kind kinds[] = {
	{ "redundant-log", HOLDFAST_PERFORMANCE, "range is already in the undo log",
	  "The transaction has saved this range, or has just allocated it: adding it again costs time. "
	  "Remove the call, or add the smaller range that is new." },
	{ NULL },
};

static void call(void *state, const struct holdfast_event *e)
{
	struct pmdk *p = state;
	struct pmdk_thread *t = pmdk_thread(p, e);
	struct pmdk_range r;
	if (t->calls == 0 && t->depth && pmdk_added_range(p, e, &r) && !r.no_snapshot && r.size) {
		const struct pmdk_why *old = pmdk_covering(t, r.addr, r.size);
		if (old)
			p->host->report(0, p->host->where(e), old->where, "%llu bytes at %s are %s",
					(unsigned long long)r.size,
					p->host->describe(e->process, r.addr),
					old->fresh ? "freshly allocated in this transaction"
						   : "in its undo log already");
	}
	pmdk_call(p, e);
}

static void ret(void *state, const struct holdfast_event *e)
{
	pmdk_ret(state, e);
}

const struct holdfast_oracle holdfast_oracle = {
	.api = HOLDFAST_ORACLE_API,
	.name = "pmdk-redundant-log",
	.about = "ranges added twice to a libpmemobj transaction's undo log",
	.kinds = kinds,
	.watch = pmdk_functions,
	.start = pmdk_start,
	.call = call,
	.ret = ret,
	.end = pmdk_end,
	.automatic = pmdk_automatic,
	.no_values = 1,
};
