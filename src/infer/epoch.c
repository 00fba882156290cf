/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Epochs: the updates of an object, cut where the program has finished one change and begins another (Neal, 4.4.3).
 * Before update i of an object its epoch ends if
 *
 * (a) everything that was stored to the object before is persistent, and i stores to a field of the epoch again; or
 * (b) somebody else's update lies between: the one before i is persistent before v is stored, and v before i.
 *
 *	X.A  X.B  X.C  persist    X.A  X.B  X.C  persist    Y.Q persist    X.D persist
 *	└──── epoch 1 ───────┘ (a) └──── epoch 2 ──────┘        (b)       └ epoch 3 ─┘
 *
 * For (b) there is no need to look for v: of all updates from the first on that is stored after the object's last one was
 * persistent, is the one that is persisted first persistent before i? That minimum over the rest of the run is a
 * column, made from its end. A v that it finds is stored after the update before i and persistent before i, and thus of
 * no update of the object.
 *
 * An epoch also ends where it would have more than INFER_MOST_FIELDS fields.
 */
#include <stdlib.h>
#include <string.h>

#include "infer/behaviour.h"

#define SWEEP 1024u

void infer_epochs_init(struct infer_epochs *e, const struct infer_updates *u)
{
	size_t at = 0;
	e->u = u;
	e->sweep = SWEEP;
	e->least = xmalloc((u->n + 1) * sizeof *e->least);
	e->from = xmalloc((u->moments + 2) * sizeof *e->from);
	e->least[u->n] = INFER_NEVER;
	for (size_t i = u->n; i-- > 0;)
		e->least[i] = u->persisted[i] < e->least[i + 1] ? u->persisted[i] : e->least[i + 1];
	for (size_t m = 0; m <= u->moments; m++) {
		while (at < u->n && u->stored[at] < m)
			at++;
		e->from[m] = (uint32_t)at;
	}
}

/* Rule (b), for an update that is stored at a moment. */
static bool others_between(const struct infer_epochs *e, uint32_t last, uint32_t stored)
{
	uint32_t persisted = e->u->persisted[last];
	return persisted <= stored && e->least[e->from[persisted]] <= stored;
}

/* ---- objects ---- */

static struct infer_epoch *epoch_of(struct infer_epochs *e, const struct infer_part *p)
{
	uint64_t key = hash_mix(p->base, p->type), at;
	uint32_t new;
	for (; hmap_get(&e->at, key, &at); key++) {
		struct infer_epoch *o = &e->open.p[at];
		if (o->type == p->type && o->base == p->base)
			return o;
	}
	if (e->unused.n) {
		new = e->unused.p[--e->unused.n];
	} else {
		new = (uint32_t)e->open.n;
		VEC_PUSH(&e->open, ((struct infer_epoch){ 0 }));
	}
	hmap_put(&e->at, key, new);
	e->open.p[new].type = p->type;
	e->open.p[new].base = p->base;
	e->open.p[new].persisted = 0;
	return &e->open.p[new];
}

static void end_epoch(struct infer_epochs *e, struct infer_epoch *o)
{
	if (o->span.n)
		e->ended(e->arg, o);
	o->span.n = o->update.n = o->statement.n = 0;
}

/* Ends all epochs to which no update can be added any more: there may be millions of objects. */
static void sweep(struct infer_epochs *e, uint32_t stored)
{
	struct hmap left = { 0 };
	size_t kept = 0;
	for (uint32_t i = 0; i < e->open.n; i++) {
		struct infer_epoch *o = &e->open.p[i];
		uint64_t key = hash_mix(o->base, o->type);
		if (!o->span.n)
			continue;
		if (o->persisted <= stored && others_between(e, o->last, stored)) {
			end_epoch(e, o);
			VEC_PUSH(&e->unused, i);
			continue;
		}
		while (hmap_get(&left, key, NULL))
			key++;
		hmap_put(&left, key, i);
		kept++;
	}
	hmap_free(&e->at);
	e->at = left;
	e->sweep = kept * 2 > SWEEP ? kept * 2 : SWEEP;
}

/* ---- updates ---- */

static struct infer_span *span_of(const struct infer_epoch *o, uint32_t field)
{
	for (size_t i = 0; i < o->span.n; i++)
		if (o->span.p[i].field == field)
			return &o->span.p[i];
	return NULL;
}

static bool ends(const struct infer_epochs *e, const struct infer_epoch *o, uint32_t i, bool again)
{
	uint32_t stored = e->u->stored[i];
	if (!o->span.n)
		return false;
	if (!again && o->span.n == INFER_MOST_FIELDS)
		return true;
	return (again && o->persisted <= stored) || others_between(e, o->last, stored);
}

static void add_to_span(const struct infer_epochs *e, struct infer_span *s, uint32_t i,
			uint32_t line)
{
	if (s->line != line)
		s->line = INFER_NEVER;
	s->last = i;
	if (e->u->persisted[i] > s->persisted)
		s->persisted = e->u->persisted[i];
}

static void add_statement(struct infer_epoch *o, uint32_t statement)
{
	size_t at = BISECT(k, o->statement.n, o->statement.p[k] < statement);
	if ((at < o->statement.n && o->statement.p[at] == statement) ||
	    o->statement.n == INFER_MOST_FIELDS)
		return;
	VEC_PUSH(&o->statement, statement);
	memmove(o->statement.p + at + 1, o->statement.p + at,
		(o->statement.n - 1 - at) * sizeof *o->statement.p);
	o->statement.p[at] = statement;
}

void infer_epochs_add(struct infer_epochs *e, uint32_t i, uint32_t line, uint32_t statement,
		      const struct infer_part *p)
{
	uint32_t stored = e->u->stored[i], persisted = e->u->persisted[i];
	if (e->open.n - e->unused.n >= e->sweep)
		sweep(e, stored);
	struct infer_epoch *o = epoch_of(e, p);
	struct infer_span *s = span_of(o, p->field);
	if (ends(e, o, i, s != NULL)) {
		end_epoch(e, o);
		s = NULL;
	}
	if (s)
		add_to_span(e, s, i, line);
	else
		VEC_PUSH(&o->span,
			 ((struct infer_span){ p->field, line, i, i, stored, persisted }));
	VEC_PUSH(&o->update, i);
	add_statement(o, statement);
	o->last = i;
	if (persisted > o->persisted)
		o->persisted = persisted;
}

void infer_epochs_end(struct infer_epochs *e)
{
	for (size_t i = 0; i < e->open.n; i++)
		end_epoch(e, &e->open.p[i]);
	for (size_t i = 0; i < e->open.n; i++) {
		VEC_FREE(&e->open.p[i].span);
		VEC_FREE(&e->open.p[i].update);
		VEC_FREE(&e->open.p[i].statement);
	}
	VEC_FREE(&e->open);
	VEC_FREE(&e->unused);
	hmap_free(&e->at);
	free(e->least);
	free(e->from);
}

bool infer_span_before(const struct infer_span *x, const struct infer_span *y)
{
	return x->persisted <= y->stored ||
	       (x->line == y->line && x->line != INFER_NEVER && x->last < y->first);
}
