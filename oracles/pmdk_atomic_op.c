/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmdk-atomic-op: an object in a libpmemobj pool is changed by a plain store that no
 * transaction covers. Inside a transaction the range must have been added before, or the
 * object allocated in it; outside, the program must persist the store itself.
 *
 * Stores that the library makes are its own business: nothing is looked at while one of its
 * functions runs. What the program persists by hand, by a call (pmemobj_persist, msync) or by flush
 * instructions of its own or of libpmem, follows the low-level protocol and is left alone.
 *
 * Pools also hold what is only good for one run: counters that atomic instructions change, the sizes
 * and masks of libpmemobj++'s concurrent containers. So a store is reported only with evidence that it is
 * meant to last:
 *
 *   error     the program logs or persists these very bytes at other times
 *             … or other bytes that the same instruction stores
 *             what is stored leads to an object in a pool
 *   warning   the program logs or persists bytes in the same cache line, or next to it
 *             what is stored may be the offset of an object
 *
 * and never if atomic instructions change the same word, or if it is declared volatile.
 */
#include <stdlib.h>
#include <string.h>

#include "pmdk.h"

enum { UNLOGGED, OUTSIDE, PERHAPS }; /* PERHAPS is added to one of the others */

#define KIND_UNLOGGED(level)                                                                           \
	{                                                                                              \
		"unlogged-store", level, "store in a transaction that is not in its undo log",         \
			"If the transaction aborts or the program crashes, this store is not undone, " \
			"and a commit does not flush it. Add the range to the transaction (TX_ADD, "   \
			"pmemobj_tx_add_range) before the store."                                      \
	}
#define KIND_OUTSIDE(level)                                                                          \
	{                                                                                            \
		"store-outside-tx", level, "object changed outside a transaction",                   \
			"The store is neither part of a transaction nor persisted by hand. Move it " \
			"into the transaction, or persist it (pmemobj_persist)."                     \
	}
static const struct holdfast_kind kinds[] = {
	KIND_UNLOGGED(HOLDFAST_ERROR),
	KIND_OUTSIDE(HOLDFAST_ERROR),
	KIND_UNLOGGED(HOLDFAST_WARNING),
	KIND_OUTSIDE(HOLDFAST_WARNING),
	{ NULL },
};

/* A store that is not covered, until the program persists it by hand. */
struct store {
	uint64_t addr, size, where, ip;
	uint32_t process, thread;
	int in_tx, pointer; /* what pmdk_is_pointer says */
	char *name;
};
struct stores {
	struct store *p;
	size_t n, cap;
};

#define BUCKETS 1024u /* of open stores, by line */
#define LINE 64u

struct state {
	struct pmdk *pmdk; /* the first: pmdk.c does not know us */
	struct stores open[BUCKETS];
	size_t nopen;
	struct stores left;           /* what was left open; judged at the end */
	struct pmdk_words meant;      /* logged or persisted by hand */
	struct pmdk_words atomic;     /* changed by atomic instructions */
	struct pmdk_words meant_code; /* instructions that store logged bytes; by address */
	struct pmdk_words seen;       /* places and addresses of what is left, hashed */
};

static void keep(struct stores *l, struct store s)
{
	if (l->n == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 8;
		l->p = realloc(l->p, l->cap * sizeof *l->p);
		if (!l->p)
			abort();
	}
	l->p[l->n++] = s;
}

static struct stores *bucket(struct state *s, uint64_t line)
{
	return &s->open[line % BUCKETS];
}

/* ---- what happens to open stores ---- */

/* One for each place and address is enough. */
static void leave(struct state *s, struct store x)
{
	uint64_t key = (x.where * 2 + (uint64_t)x.in_tx) * 0x9e3779b97f4a7c15ull ^ x.addr << 3;
	if (x.pointer < 2 && pmdk_words_meet(&s->seen, key & ~7ull, 8)) {
		free(x.name);
		return;
	}
	pmdk_words_add(&s->seen, key & ~7ull, 8);
	keep(&s->left, x);
}

/* Takes the stores that `is` says out of a bucket; they are persisted, or left open for good. */
static void take(struct state *s, struct stores *l,
		 int (*is)(const struct store *, const struct store *), const struct store *what,
		 int persisted)
{
	size_t kept = 0;
	for (size_t i = 0; i < l->n; i++) {
		struct store *x = &l->p[i];
		if (!is(x, what)) {
			l->p[kept++] = *x;
			continue;
		}
		s->nopen--;
		if (persisted)
			free(x->name);
		else
			leave(s, *x);
	}
	l->n = kept;
}

static int inside(const struct store *x, const struct store *range)
{
	return x->process == range->process && x->addr >= range->addr &&
	       x->addr + x->size <= range->addr + range->size;
}

static int begins_in(const struct store *x, const struct store *line)
{
	return x->process == line->process && x->addr >= line->addr &&
	       x->addr < line->addr + line->size;
}

static int of_thread(const struct store *x, const struct store *who)
{
	return x->thread == who->thread && x->process == who->process && x->in_tx == who->in_tx;
}

/* The program persists a range by hand. */
static void persisted(struct state *s, const struct holdfast_event *e, uint64_t addr, uint64_t size)
{
	struct store range = { .addr = addr, .size = size, .process = e->process };
	pmdk_words_add(&s->meant, addr, size);
	for (uint64_t l = addr / LINE; s->nopen && size && l <= (addr + size - 1) / LINE; l++)
		take(s, bucket(s, l), inside, &range, 1);
}

/* The thread's transaction is over, or one begins: what is open stays open. */
static void settle(struct state *s, const struct holdfast_event *e, int in_tx)
{
	struct store who = { .process = e->process, .thread = e->thread, .in_tx = in_tx };
	for (size_t i = 0; s->nopen && i < BUCKETS; i++)
		take(s, &s->open[i], of_thread, &who, 0);
}

/* ---- events ---- */

static int holds_pointer(const struct pmdk *p, const struct holdfast_event *e)
{
	int best = 0;
	for (uint64_t i = 0; i + 8 <= e->size; i += 8) {
		uint64_t value;
		memcpy(&value, e->bytes + i, sizeof value);
		int is = pmdk_is_pointer(p, e->process, value);
		best = is > best ? is : best;
	}
	return best;
}

static void store(void *state, const struct holdfast_event *e)
{
	struct state *s = state;
	struct pmdk_thread *t = pmdk_thread(s->pmdk, e);
	const struct pmdk_why *by;
	struct holdfast_line line;
	if (e->by_kernel || !pmdk_in_pool(s->pmdk, e))
		return;
	if (e->atomic) {
		pmdk_words_add(&s->atomic, e->addr, e->size);
		return;
	}
	if ((by = pmdk_covering(t, e->addr, e->size))) {
		if (!by->fresh)
			pmdk_words_add(&s->meant_code, e->ip * 8, 8);
		return;
	}
	s->pmdk->host->line(e->process, e->addr, &line);
	if (e->nontemporal || !(line.dirty | line.pending))
		return; /* it needs no flush */
	struct store x = { e->addr,      e->size,    s->pmdk->host->where(e),
			   e->ip,        e->process, e->thread,
			   t->depth > 0, 0,          NULL };
	x.pointer = holds_pointer(s->pmdk, e);
	x.name = strdup(s->pmdk->host->describe(e->process, e->addr));
	keep(bucket(s, e->addr / LINE), x);
	s->nopen++;
}

static void flush(void *state, const struct holdfast_event *e)
{
	struct state *s = state;
	uint64_t addr = e->addr / LINE * LINE;
	struct store line = { .addr = addr, .size = LINE, .process = e->process };
	if (!s->nopen || !bucket(s, addr / LINE)->n)
		return;
	struct stores *l = bucket(s, addr / LINE);
	for (size_t i = 0; i < l->n; i++)
		if (begins_in(&l->p[i], &line))
			pmdk_words_add(&s->meant, l->p[i].addr, l->p[i].size);
	take(s, l, begins_in, &line, 1);
}

static void call(void *state, const struct holdfast_event *e)
{
	struct state *s = state;
	struct pmdk_thread *t = pmdk_thread(s->pmdk, e);
	struct pmdk_range r;
	if (t->calls == 0 && pmdk_persisted_range(s->pmdk, e, &r))
		persisted(s, e, r.addr, r.size);
	if (t->calls == 0 && t->depth && pmdk_added_range(s->pmdk, e, &r))
		pmdk_words_add(&s->meant, r.addr, r.size);
	if (t->calls == 0 && t->depth == 0 && pmdk_act(s->pmdk, e) == PMDK_TX_BEGIN)
		settle(s, e, 0);
	pmdk_call(s->pmdk, e);
}

static void ret(void *state, const struct holdfast_event *e)
{
	struct state *s = state;
	int was_in = pmdk_thread(s->pmdk, e)->depth > 0;
	pmdk_ret(s->pmdk, e);
	if (was_in && pmdk_thread(s->pmdk, e)->depth == 0)
		settle(s, e, 1);
}

/* ---- start and end ---- */

static void *start(const struct holdfast_host *host)
{
	struct state *s = calloc(1, sizeof *s);
	if (s && !(s->pmdk = pmdk_start(host))) {
		free(s);
		s = NULL;
	}
	return s;
}

static void judge(struct state *s, const struct store *x)
{
	uint64_t lo = (x->addr - 8) / LINE * LINE, hi = ((x->addr + x->size + 7) / LINE + 1) * LINE;
	int evident = x->pointer == 2 || pmdk_words_meet(&s->meant, x->addr, x->size) ||
		      pmdk_words_meet(&s->meant_code, x->ip * 8, 8);
	int neighbour = pmdk_words_meet(&s->meant, lo, hi - lo);
	if (pmdk_words_meet(&s->atomic, x->addr, x->size) ||
	    (!evident && !neighbour && !x->pointer))
		return;
	s->pmdk->host->report((x->in_tx ? UNLOGGED : OUTSIDE) + (evident ? 0 : PERHAPS), x->where,
			      0, "%llu bytes at %s are changed %s%s", (unsigned long long)x->size,
			      x->name,
			      x->in_tx ? "in a transaction, but not in its undo log"
				       : "outside a transaction, and not persisted",
			      evident     ? ""
			      : neighbour ? "; bytes next to them are logged or persisted"
					  : "; what is stored may be an object's offset");
}

static void end(void *state)
{
	struct state *s = state;
	for (size_t i = 0; i < BUCKETS; i++) {
		for (size_t k = 0; k < s->open[i].n; k++)
			leave(s, s->open[i].p[k]);
		free(s->open[i].p);
	}
	for (size_t i = 0; i < s->left.n; i++) {
		judge(s, &s->left.p[i]);
		free(s->left.p[i].name);
	}
	free(s->left.p);
	pmdk_words_free(&s->meant);
	pmdk_words_free(&s->atomic);
	pmdk_words_free(&s->meant_code);
	pmdk_words_free(&s->seen);
	pmdk_end(s->pmdk);
	free(s);
}

const struct holdfast_oracle holdfast_oracle = {
	.api = HOLDFAST_ORACLE_API,
	.name = "pmdk-atomic-op",
	.about = "objects in libpmemobj pools changed without the protection of a transaction",
	.kinds = kinds,
	.watch = pmdk_functions,
	.start = start,
	.store = store,
	.flush = flush,
	.call = call,
	.ret = ret,
	.end = end,
	.automatic = pmdk_automatic,
	.no_values = 1,
	.outside_calls = 1,
};
