/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmdk-atomic-op: an object in a libpmemobj pool is changed by a plain store that no
 * transaction covers. Inside a transaction the range must have been added before, or the
 * object allocated in it; outside, the program must persist the store itself.
 *
 * Stores that the library makes are its own business: nothing is looked at while one of its
 * functions runs. What the program persists by hand (pmemobj_persist, pmem_flush, …) follows
 * the low-level protocol and is left alone.
 */
#include <stdlib.h>
#include <string.h>

#include "pmdk.h"

enum { UNLOGGED, OUTSIDE };

static const struct holdfast_kind kinds[] = {
	{ "unlogged-store", HOLDFAST_ERROR, "store in a transaction that is not in its undo log",
	  "If the transaction aborts or the program crashes, this store is not undone, and a commit does not "
	  "flush it. Add the range to the transaction (TX_ADD, pmemobj_tx_add_range) before the store." },
	{ "store-outside-tx", HOLDFAST_ERROR, "object changed outside a transaction",
	  "The store is neither part of a transaction nor persisted by hand. Move it into the transaction, or "
	  "persist it (pmemobj_persist)." },
	{ NULL },
};

/* A store that is not covered, until the program persists it by hand. */
struct open_store {
	uint64_t addr, size, where;
	uint32_t process, thread;
	int in_tx;
	char *name;
};

static struct open_store *list;
static size_t n, cap;

static void keep(struct open_store s)
{
	if (n == cap) {
		cap = cap ? cap * 2 : 64;
		list = realloc(list, cap * sizeof *list);
		if (!list)
			abort();
	}
	list[n++] = s;
}

static void report(const struct pmdk *p, struct open_store *s)
{
	p->host->report(s->in_tx ? UNLOGGED : OUTSIDE, s->where, 0,
			"%llu bytes at %s are changed %s", (unsigned long long)s->size, s->name,
			s->in_tx ? "in a transaction, but not in its undo log"
				 : "outside a transaction, and not persisted");
	free(s->name);
}

/* The thread's transaction is over: what it left open stays open. */
static void settle(struct pmdk *p, const struct holdfast_event *e, int in_tx)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++)
		if (list[i].thread == e->thread && list[i].process == e->process &&
		    list[i].in_tx == in_tx)
			report(p, &list[i]);
		else
			list[kept++] = list[i];
	n = kept;
}

static void store(void *state, const struct holdfast_event *e)
{
	struct pmdk *p = state;
	struct pmdk_thread *t = pmdk_thread(p, e);
	struct open_store s = { e->addr, e->size, 0, e->process, e->thread, t->depth > 0, NULL };
	if (t->calls || !pmdk_in_pool(p, e) || pmdk_covering(t, e->addr, e->size))
		return;
	s.where = p->host->where(e);
	s.name = strdup(p->host->describe(e->process, e->addr));
	keep(s);
}

static void call(void *state, const struct holdfast_event *e)
{
	struct pmdk *p = state;
	struct pmdk_thread *t = pmdk_thread(p, e);
	struct pmdk_range r;
	size_t kept = 0;
	if (t->calls == 0 && pmdk_persisted_range(e, &r)) {
		for (size_t i = 0; i < n; i++)
			if (list[i].addr < r.addr || list[i].addr + list[i].size > r.addr + r.size)
				list[kept++] = list[i];
			else
				free(list[i].name);
		n = kept;
	}
	if (t->calls == 0 && pmdk_is(e, "pmemobj_tx_begin") && t->depth == 0)
		settle(p, e, 0);
	pmdk_call(p, e);
}

static void ret(void *state, const struct holdfast_event *e)
{
	struct pmdk *p = state;
	int was_in = pmdk_thread(p, e)->depth > 0;
	pmdk_ret(p, e);
	if (was_in && pmdk_thread(p, e)->depth == 0)
		settle(p, e, 1);
}

static void end(void *state)
{
	for (size_t i = 0; i < n; i++)
		report(state, &list[i]);
	free(list);
	pmdk_end(state);
}

const struct holdfast_oracle holdfast_oracle = {
	.api = HOLDFAST_ORACLE_API,
	.name = "pmdk-atomic-op",
	.about = "objects in libpmemobj pools changed without the protection of a transaction",
	.kinds = kinds,
	.watch = pmdk_functions,
	.start = pmdk_start,
	.store = store,
	.call = call,
	.ret = ret,
	.end = end,
};
