/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that do the work of several threads, where nobody has marked them.
 *
 *	thread 1   submit ── asks ──────── waits ─────────────────── end
 *	thread 2   submit ── takes all that is asked ── ■ ■ ── fence ── end       ■ an entry
 *
 * A leader writes what others have asked for beside its own, and waits once for all. That thread 1 has an operation is not seen, for it
 * stores nothing; of both any may be there after a crash. What must all be so:
 *
 *	evidence                                              so that
 *	a statement of the operation stores again             it may be several
 *	another one of its kind (name) stores with the same   … and one alone is an operation
 *	statements, each once
 *	several threads have operations of this kind          … of others, who wait
 *
 * Then entries (lines) may be there in part; none of them may be one that is there neither before nor after, and what is there before and
 * after must be.
 */
#include "crash/leader.h"

#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"

struct sum {
	uint64_t kind, set; /* the name; which statements store */
	bool once;          /* each of them once */
};

struct crash_leaders {
	struct sum *op;
	struct hmap single;  /* kind and set -> 1: each once */
	struct hmap threads; /* kind -> a thread, and 1; 0: several */
	struct hmap said;
};

static struct sum sum_up(struct crash *c, const struct crash_op *op)
{
	const struct crash_records *all = &c->h->store;
	struct sum s = { .kind = hash_bytes(op->name, strlen(op->name)), .once = true };
	struct hmap last = { 0 }; /* statement -> its last event */
	for (size_t i = BISECT(k, all->n, crash_record_at(all, k)->event < op->begin); i < all->n;
	     i++) {
		const struct crash_record *r = crash_record_at(all, i);
		uint64_t event, statement;
		if (r->event > op->end)
			break;
		if (r->thread != op->thread)
			continue;
		statement = crash_statement_of(c, r->place);
		if (!hmap_get(&last, statement, &event))
			s.set += statement;
		else if (event != r->event)
			s.once = false;
		hmap_put(&last, statement, r->event);
	}
	hmap_free(&last);
	return s;
}

static struct crash_leaders *read_all(struct crash *c)
{
	struct crash_leaders *l = xcalloc(1, sizeof *l);
	l->op = xcalloc(c->h->op.n, sizeof *l->op);
	for (size_t i = 0; i < c->h->op.n; i++) {
		const struct crash_op *op = &c->h->op.p[i];
		uint64_t thread = op->thread + 1ul, known = thread;
		struct sum *s = &l->op[i];
		*s = sum_up(c, op);
		if (s->once)
			hmap_put(&l->single, hash_mix(s->kind, s->set), 1);
		(void)hmap_get(&l->threads, s->kind, &known);
		hmap_put(&l->threads, s->kind, known == thread ? thread : 0);
	}
	return l;
}

bool crash_leads(struct crash *c, size_t op)
{
	const struct crash_op *o = op ? &c->h->op.p[op - 1] : NULL;
	uint64_t thread = 1;
	if (!o || o->sure || o->end == UINT64_MAX)
		return false;
	if (!c->leaders)
		c->leaders = read_all(c);
	const struct sum *s = &c->leaders->op[op - 1];
	return !s->once && hmap_get(&c->leaders->threads, s->kind, &thread) && !thread &&
	       hmap_get(&c->leaders->single, hash_mix(s->kind, s->set), NULL);
}

struct hmap *crash_leaders_said(struct crash *c)
{
	return &c->leaders->said;
}

void crash_leaders_free(struct crash_leaders *l)
{
	if (!l)
		return;
	free(l->op);
	hmap_free(&l->single);
	hmap_free(&l->threads);
	hmap_free(&l->said);
	free(l);
}
