/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of threads overlap longer than what they do to PM.
 *
 *	thread 1    begin ──lock── ■ ── ■ ── fence ── unlock ── end       ■ a store
 *	                           ├──────────────┤
 *	thread 2       begin ──── waits ─────────────────── ■ ── fence ── end
 *	                                                    ├─────────┤
 *
 * Before its first store no crash leaves anything of an operation; and where all that it stores is guaranteed, every crash leaves
 * all of it, whether it has been acknowledged or not. So its span is cut to this, where it overlaps with others, and what
 * is left apart from others is judged like operations that come one after the other. What is still in one another stays so.
 *
 * This holds where it is known whose stores are whose, of a chain of operations that overlap:
 *
 *	evidence                                       if not
 *	each store is by a thread that has one         the chain stays as it is: a worker does it for others
 *	no thread has two at a time                    the chain stays as it is
 *	one that stores nothing is of a kind           it stays as long as it is, if another stores meanwhile:
 *	(name) of which none ever stores, a reader     that one may have done it on its behalf
 *	one that waited while another of its kind      it stays as it is: the other may have done the
 *	stored all that it does, and more, is not      rest of it, too (a leader that commits for all)
 *	the only one that stores just that: one
 *	that did not wait does, too
 *
 * One that was cut may do what another has asked for, by the way (a leader that commits for all): that it may be several is believed
 * of it as of those that nobody has marked (coarse.c).
 */
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"
#include "crash/order.h"
#include "crash/span.h"

struct own {
	uint64_t first, last, cover; /* stores, and what guarantees all of them; first 0: none */
	uint64_t set;                /* which statements they are */
	size_t statements;           /* … and how many */
	bool known;                  /* of the first of a chain: whose stores are whose */
};
#define NEAR 64u /* operations before and behind that may have done another one's work */

/* Operations [from, to) overlap, one with the next; the last of them ends with event `end`. */
struct chain {
	size_t from, to;
	uint64_t end;
};

struct narrow {
	struct crash_history *h;
	struct crash_order order;
	struct own *own;    /* by operation */
	struct hmap at;     /* thread -> its operation, and 1 */
	struct hmap stores; /* name -> 1: some of that name store */
	struct hmap did;    /* operation and statement -> 1 */
	struct hmap
		whole; /* name and set of statements -> 1: one that did not wait stores just that */
	size_t record; /* read so far */
};

/* ---- whose stores are whose ---- */

static uint64_t statement_of(const struct narrow *n, const struct crash_record *r)
{
	const struct crash_place *p = &n->h->place.p[r->place];
	return hash_mix(p->ip, p->process);
}

static void take_record(struct narrow *n, const struct crash_record *r, size_t op)
{
	struct own *own = &n->own[op];
	uint64_t statement = statement_of(n, r), key = hash_mix(statement, op);
	if (!hmap_get(&n->did, key, NULL)) {
		hmap_put(&n->did, key, 1);
		own->set += statement;
		own->statements++;
	}
	own->first = own->first ? own->first : r->event;
	own->last = r->event;
	for (uint32_t k = 0; k < r->pieces; k++) {
		uint64_t cover = crash_persisted_at(&n->order, r->piece + k);
		own->cover = cover > own->cover ? cover : own->cover;
	}
}

/* The operation of a thread that is in flight at an event; SIZE_MAX: none. */
static size_t op_of(const struct narrow *n, uint32_t thread, uint64_t event)
{
	uint64_t i;
	if (!hmap_get(&n->at, thread, &i) || n->h->op.p[i - 1].end < event)
		return SIZE_MAX;
	return i - 1;
}

/* All that is stored before an event; false: by somebody who has no operation. */
static bool take_until(struct narrow *n, uint64_t event)
{
	bool known = true;
	for (; n->record < n->h->store.n; n->record++) {
		const struct crash_record *r = crash_record_at(&n->h->store, n->record);
		if (r->event >= event)
			break;
		if (!crash_line_counts(n->h, r->line))
			continue;
		size_t i = op_of(n, r->thread, r->event);
		known = known && i != SIZE_MAX;
		if (i != SIZE_MAX)
			take_record(n, r, i);
	}
	return known;
}

/* False: it is not known whose stores are whose. */
static bool take_ops(struct narrow *n, const struct chain *c)
{
	const struct crash_op *op = n->h->op.p;
	const struct crash_records *r = &n->h->store;
	bool known = true;
	n->record = BISECT(k, r->n, crash_record_at(r, k)->event < op[c->from].begin);
	for (size_t i = c->from; i < c->to; i++) {
		known = take_until(n, op[i].begin) && known;
		known = known && op_of(n, op[i].thread, op[i].begin) == SIZE_MAX;
		hmap_put(&n->at, op[i].thread, i + 1);
	}
	return take_until(n, c->end == UINT64_MAX ? c->end : c->end + 1) && known;
}

static uint64_t kind_of(const struct crash_op *op)
{
	return hash_bytes(op->name, strlen(op->name));
}

static uint64_t whole_key(const struct narrow *n, size_t i)
{
	return hash_mix(kind_of(&n->h->op.p[i]), n->own[i].set);
}

/* Before its first store another thread stores. */
static bool waited(const struct narrow *n, size_t i)
{
	const struct crash_records *r = &n->h->store;
	size_t k = BISECT(j, r->n, crash_record_at(r, j)->event < n->h->op.p[i].begin);
	return k < r->n && crash_record_at(r, k)->event < n->own[i].first;
}

static void take_chain(struct narrow *n, const struct chain *c)
{
	n->own[c->from].known = take_ops(n, c);
	for (size_t i = c->from; i < c->to; i++) {
		if (n->own[i].first || !n->own[c->from].known)
			hmap_put(&n->stores, kind_of(&n->h->op.p[i]), 1);
		if (n->own[i].first && !waited(n, i))
			hmap_put(&n->whole, whole_key(n, i), 1);
	}
}

/* ---- cutting ---- */

/* Somebody stores while this one is in flight, which stores nothing. */
static bool others_store(const struct narrow *n, const struct crash_op *op)
{
	const struct crash_records *r = &n->h->store;
	size_t i = BISECT(k, r->n, crash_record_at(r, k)->event < op->begin);
	return i < r->n && crash_record_at(r, i)->event <= op->end;
}

/* All statements of i are y's, too. */
static bool is_part(const struct narrow *n, size_t i, size_t y)
{
	const struct crash_records *all = &n->h->store;
	size_t k = BISECT(j, all->n, crash_record_at(all, j)->event < n->own[i].first);
	for (; k < all->n && crash_record_at(all, k)->event <= n->own[i].last; k++) {
		const struct crash_record *r = crash_record_at(all, k);
		uint64_t statement = statement_of(n, r);
		if (r->thread == n->h->op.p[i].thread &&
		    hmap_get(&n->did, hash_mix(statement, i), NULL) &&
		    !hmap_get(&n->did, hash_mix(statement, y), NULL))
			return false;
	}
	return true;
}

/* While it waited, one of its kind may have done most of its work. */
static bool is_served(const struct narrow *n, size_t i, size_t from, size_t to)
{
	const struct own *own = n->own;
	if (!own[i].first || !waited(n, i) || hmap_get(&n->whole, whole_key(n, i), NULL))
		return false;
	size_t y = i - from > NEAR ? i - NEAR : from;
	for (; y < to && y <= i + NEAR; y++)
		if (own[y].statements > own[i].statements && own[y].first < own[i].first &&
		    own[y].last >= n->h->op.p[i].begin &&
		    kind_of(&n->h->op.p[y]) == kind_of(&n->h->op.p[i]) && is_part(n, i, y))
			return true;
	return false;
}

/* False: it takes no part. */
static bool cut(const struct narrow *n, struct crash_op *op, const struct own *own)
{
	if (!own->first) {
		bool reads = *op->name && !hmap_get(&n->stores, kind_of(op), NULL);
		return !reads && others_store(n, op);
	}
	op->begin = own->first;
	op->stored = own->last;
	op->end = own->cover < op->end ? own->cover : op->end;
	op->sure = false;
	return true;
}

static void cut_chain(struct narrow *n, const struct chain *c)
{
	struct crash_op *op = n->h->op.p;
	for (size_t i = c->from; c->to - c->from > 1 && n->own[c->from].known && i < c->to; i++)
		op[i].idle = !is_served(n, i, c->from, c->to) && !cut(n, &op[i], &n->own[i]);
}

/* Calls it for every chain of operations that overlap, one with the next. */
static void chains(struct narrow *n, void (*each)(struct narrow *, const struct chain *))
{
	const struct crash_op *op = n->h->op.p;
	for (struct chain c = { 0 }; c.from < n->h->op.n; c.from = c.to) {
		c.end = op[c.from].end;
		for (c.to = c.from + 1; c.to < n->h->op.n && op[c.to].begin <= c.end; c.to++)
			c.end = op[c.to].end > c.end ? op[c.to].end : c.end;
		each(n, &c);
	}
}

static int by_begin(const void *a, const void *b)
{
	const struct crash_op *x = a, *y = b;
	if (x->idle != y->idle)
		return x->idle - y->idle;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Those that take no part are left out, and the others put in order. */
static void sort(struct crash_history *h)
{
	qsort(h->op.p, h->op.n, sizeof *h->op.p, by_begin);
	while (h->op.n && h->op.p[h->op.n - 1].idle)
		crash_op_free(&h->op.p[--h->op.n]);
	crash_ops_chain(h);
}

void crash_ops_narrow(struct crash_history *h)
{
	struct narrow n = { .h = h };
	bool overlap = false;
	for (size_t i = 0; i < h->op.n; i++)
		overlap = overlap || (i && h->op.p[i].latest >= h->op.p[i].begin);
	if (!overlap)
		return;
	crash_order_init(&n.order, h);
	n.own = xcalloc(h->op.n, sizeof *n.own);
	chains(&n, take_chain);
	chains(&n, cut_chain);
	sort(h);
	crash_order_free(&n.order);
	hmap_free(&n.at);
	hmap_free(&n.stores);
	hmap_free(&n.did);
	hmap_free(&n.whole);
	free(n.own);
}
