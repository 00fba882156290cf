/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores in transactions of libpmemobj, from the calls of its functions that a recording has. What one of them lacks is not a flush
 * but its place in the undo log: the commit flushes what is in it, and an abort puts it back.
 */
#include <string.h>

#include "fix/internal.h"

static uint64_t thread_of(const struct trace_event *e)
{
	return (uint64_t)e->process << 32 | e->thread;
}

static struct fix_transaction *of_thread(const struct fix_transactions *t, uint64_t thread)
{
	for (size_t i = 0; i < t->thread.n; i++)
		if (t->thread.p[i].thread == thread)
			return &t->thread.p[i];
	return NULL;
}

void fix_see_call(struct fix_transactions *t, const struct trace_defs *defs,
		  const struct trace_event *e)
{
	if (e->kind != TRACE_CALL)
		return;
	const char *name = trace_string(defs, e->process, (uint32_t)e->arg[0]);
	if (!name || strncmp(name, "pmemobj_tx_", 11) != 0)
		return;
	struct fix_transaction *now = of_thread(t, thread_of(e));
	name += 11;
	if (!now) {
		VEC_PUSH(&t->thread, ((struct fix_transaction){ .thread = thread_of(e) }));
		now = &t->thread.p[t->thread.n - 1];
	}
	if (!strcmp(name, "begin"))
		now->depth++, now->over = false;
	else if (!strcmp(name, "end") && now->depth)
		now->depth--, now->over = false;
	else if (!strcmp(name, "commit") || !strcmp(name, "abort") || !strcmp(name, "process"))
		now->over = true;
}

bool fix_in_transaction(const struct fix_transactions *t, const struct trace_event *e)
{
	const struct fix_transaction *now = of_thread(t, thread_of(e));
	return now && now->depth && !now->over;
}

void fix_log_rather(struct fix *x)
{
	for (size_t i = 0; i < x->bug.n; i++)
		if (x->with.p[i].logs && x->bug.p[i].lacks & REPAIR_FLUSH &&
		    !fix_no_log(x, &x->with.p[i]))
			x->bug.p[i].lacks = REPAIR_LOG;
}
