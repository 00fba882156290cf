/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A store that is flushed nowhere, with a fence somewhere behind it: that fence is in time if it comes before the operation ends, which
 * is the point from where on people rely on what it has done.
 *
 *	put ──store──────end   put ──────fence──end      too late: flush and fence are missing
 *	put ──store──fence──end                          the flush alone is
 *
 * A program that leaves it to later operations, as one that commits groups does, has no fence in most of them.
 */
#include "fix/internal.h"
#include "infer/infer.h"

/* An operation begins or ends between the two, in this thread. */
static bool is_between(const struct infer_op *op, size_t n, const struct fix_bug *b)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t thread = (uint64_t)op[i].process << 32 | op[i].thread;
		if (thread != b->thread)
			continue;
		if ((op[i].begin > b->stored && op[i].begin < b->fenced) ||
		    (op[i].end >= b->stored && op[i].end < b->fenced))
			return true;
	}
	return false;
}

/* Whether most operations that flush wait for it before they end. */
static int waits(struct trace_reader *r, const struct infer_op *op, size_t n, bool *wait,
		 struct err *err)
{
	size_t flushing = 0, waiting = 0, i = 0;
	bool flushed = false, fenced = false;
	struct trace_event e;
	int more;
	if (trace_seek(r, 0, err))
		return -1;
	while (i < n && (more = trace_next(r, &e, err)) == 1) {
		for (; i < n && e.num > op[i].end; i++, flushed = fenced = false) {
			flushing += flushed;
			waiting += fenced;
		}
		if (i == n || e.num < op[i].begin || e.process != op[i].process ||
		    e.thread != op[i].thread)
			continue;
		unsigned acts = fix_acts_of(&e);
		flushed |= (acts & REPAIR_FLUSH) != 0;
		fenced |= flushed && acts & REPAIR_FENCE;
	}
	if (i < n && more < 0)
		return -1;
	*wait = waiting && waiting * 2 >= flushing;
	return 0;
}

static bool is_open(const struct fix *x, size_t i)
{
	return x->bug.p[i].lacks == REPAIR_FLUSH && x->with.p[i].stored &&
	       x->with.p[i].fenced != UINT64_MAX;
}

int fix_find_late(struct fix *x, struct trace_reader *r, struct err *err)
{
	struct infer_ops_opts any = { 0 };
	size_t open = 0, n;
	bool wait = false;
	for (size_t i = 0; i < x->bug.n; i++)
		open += is_open(x, i);
	if (!open)
		return 0;
	struct infer_ops *ops = infer_ops_read(r, &any, err);
	if (!ops)
		return -1;
	const struct infer_op *op = infer_ops_all(ops, &n);
	int bad = n ? waits(r, op, n, &wait, err) : 0;
	for (size_t i = 0; !bad && wait && i < x->bug.n; i++)
		if (is_open(x, i) && is_between(op, n, &x->with.p[i])) {
			x->bug.p[i].lacks = FIX_BOTH;
			x->bug.p[i].late = true;
		}
	infer_ops_free(ops);
	return bad;
}
