/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines at rest.
 *
 * A run may touch millions of lines, and few of them at a time. The others are kept small: who
 * stored to them, what is open, what was ever persistent and so on is the same for lines that hold objects of one type, so
 * they share that, and have for themselves only what they hold, as hashes, and when that came about.
 *
 *     lines        awake, whole                    at rest, slim
 *     17 ────────▶ struct model_line ──┐
 *     23 ──────────────────────────────┼─────────▶ rest 5: ever, store[8], flush …     2 lines share it
 *     99 ──────────────────────────────┼─────────▶
 *                                      └─▶ tired: a queue of those that may
 *
 * A line that is looked at wakes up. It is tired at once, and goes to rest after some thousand others have
 * become so, for many are used again soon; unless several threads have flushed it: then it waits for their fences.
 */
#include <stdlib.h>
#include <string.h>

#include "model/internal.h"

#define GARBAGE 16384u
#define SOON 4u /* lines */

void model_rest_after(struct model *m, uint32_t lines)
{
	m->rest_after = lines;
}

/* ---- what lines share ---- */

static uint32_t *chain_of(struct rests *r, uint32_t hash)
{
	return &r->head[hash & (r->heads - 1)];
}

static void grow(struct rests *r)
{
	r->heads = r->heads ? r->heads * 2 : 256;
	free(r->head);
	r->head = xcalloc(r->heads, sizeof *r->head);
	for (uint32_t i = 0; i < r->v.n; i++) {
		struct rest *x = &r->v.p[i];
		if (!x->lines)
			continue;
		uint32_t *chain = chain_of(r, x->hash);
		x->next = *chain;
		*chain = i + 1;
	}
}

static uint32_t new_rest(struct rests *r)
{
	uint32_t i = r->free;
	r->used++;
	if (i) {
		r->free = r->v.p[i - 1].next;
		return i - 1;
	}
	VEC_PUSH(&r->v, (struct rest){ 0 });
	return (uint32_t)r->v.n - 1;
}

/* One that is like this, with a line more. */
static uint32_t share(struct rests *r, const struct at_rest *is)
{
	if (r->used >= r->heads)
		grow(r);
	uint32_t hash = (uint32_t)hash_bytes(is, sizeof *is), *chain = chain_of(r, hash), i;
	for (i = *chain; i; i = r->v.p[i - 1].next) {
		struct rest *x = &r->v.p[i - 1];
		if (x->hash == hash && !memcmp(&x->is, is, sizeof *is)) {
			x->lines++;
			return i - 1;
		}
	}
	i = new_rest(r);
	r->v.p[i] = (struct rest){ .lines = 1, .hash = hash, .next = *chain };
	memcpy(&r->v.p[i].is, is, sizeof *is);
	*chain = i + 1;
	return i;
}

static void leave(struct rests *r, uint32_t i)
{
	struct rest *x = &r->v.p[i];
	if (--x->lines)
		return;
	uint32_t *link = chain_of(r, x->hash);
	while (*link != i + 1)
		link = &r->v.p[*link - 1].next;
	*link = x->next;
	x->next = r->free;
	r->free = i + 1;
	r->used--;
}

/* ---- lines ---- */

/* Room for a line that is awake, in which nothing is set but what this needs. */
struct model_line *model_line_new(struct model *m, uint32_t index)
{
	uint32_t at = m->awake_free;
	if (at) {
		m->awake_free = model_awake(m, at - 1)->index;
		at--;
	} else {
		at = m->nawake++;
		if (at / AWAKE_BLOCK == m->awake.n)
			VEC_PUSH(&m->awake, xmalloc(AWAKE_BLOCK * sizeof(struct model_line)));
	}
	struct model_line *l = model_awake(m, at);
	*l = (struct model_line){ .index = index & INT32_MAX };
	model_slim(m, index)->at = at | AWAKE;
	model_tire(m, l);
	return l;
}

struct model_line *model_wake(struct model *m, uint32_t index)
{
	struct slim_line *slim = model_slim(m, index);
	uint32_t from = slim->at;
	struct model_line *l = model_line_new(m, index);
	const struct at_rest *is = &m->rests.v.p[from].is;
	l->key = model_key_of(m, index);
	l->ever = is->ever;
	l->meant = is->meant;
	l->asked = is->asked;
	l->chance = is->chance;
	l->storer = is->storer;
	l->atomic = is->atomic;
	l->op = is->op;
	memcpy(l->store, is->store, sizeof l->store);
	memcpy(l->newest, slim->value, sizeof l->newest);
	for (int w = 0; w < MODEL_WORDS; w++)
		l->when[w] = slim->when - is->before[w];
	l->open = is->open;
	if (is->in_flight) {
		struct model_flight *f = model_flight_begin(m, l);
		f->flushed = is->flushed;
		f->flusher = is->flusher;
		f->same = is->same;
		f->late = is->late;
		f->writers = is->writers;
		f->again = is->again;
	}
	l->copy = slim->copy;
	l->marked = is->marked;
	l->flush = is->flush;
	l->flush_when = slim->flush_when;
	l->in_op = is->in_op;
	l->last = is->newest;
	leave(&m->rests, from);
	return l;
}

/* What there is only while something is open. */
static void flight_to_rest(struct model *m, struct model_line *l, struct at_rest *is)
{
	struct model_flight *f = model_flight_of(m, l);
	is->in_flight = true;
	is->open = l->open;
	is->flushed = f->flushed;
	is->flusher = f->flusher;
	is->same = f->same;
	is->late = f->late;
	is->writers = f->writers;
	is->again = f->again;
	MODEL_EACH_WORD (w, l->open)
		is->before[w] = l->when[l->last] - l->when[w];
	model_flight_free(m, l);
}

/* Which operation listed a line matters to that operation only. */
static bool under_way(const struct model *m, uint32_t op)
{
	for (size_t i = 0; op && i < m->thread.n; i++)
		if (m->thread.p[i]->op == op)
			return true;
	return false;
}

static void to_rest(struct model *m, struct model_line *l)
{
	struct slim_line *slim = model_slim(m, l->index);
	uint32_t at = slim->at % AWAKE;
	struct at_rest is;
	memset(&is, 0, sizeof is);
	for (int w = 0; w < MODEL_WORDS; w++)
		is.before[w] = w != l->last;
	if (l->flight)
		flight_to_rest(m, l, &is);
	is.ever = l->ever;
	is.meant = l->meant;
	is.asked = l->asked;
	is.chance = l->chance;
	memcpy(is.store, l->store, sizeof is.store);
	is.flush = l->flush;
	is.storer = l->storer;
	is.atomic = l->atomic;
	is.newest = l->last;
	is.op = under_way(m, l->op) ? l->op : 0;
	is.in_op = is.op ? l->in_op : 0;
	is.marked = l->marked != 0;
	slim->at = share(&m->rests, &is);
	slim->flush_when = l->flush_when;
	slim->when = l->when[l->last];
	slim->copy = l->copy & COPY_MAX;
	memcpy(slim->value, l->newest, sizeof slim->value);
	l->index = m->awake_free & INT32_MAX;
	m->awake_free = at + 1;
}

/* Neither lines nor where they rest were touched of late: memory is asked for what comes soon, before it is waited for. */
static void expect_next(const struct model *m)
{
	const uint32_t *next = m->tired.p + m->tired_first;
	if (m->tired.n - m->tired_first <= 2 * SOON)
		return;
	const char *line = (const char *)model_awake(m, next[2 * SOON]);
	for (size_t i = 0; i < sizeof(struct model_line); i += TRACE_LINE)
		__builtin_prefetch(line + i, 1);
	__builtin_prefetch(line + sizeof(struct model_line) - 1, 1);
	const struct slim_line *slim = model_slim(m, model_awake(m, next[SOON])->index);
	__builtin_prefetch(slim, 1);
}

void model_lines_rest(struct model *m)
{
	while (m->tired.n - m->tired_first > m->rest_after) {
		expect_next(m);
		struct model_line *l = model_awake(m, m->tired.p[m->tired_first++]);
		l->tired = false;
		if (!model_flight_of(m, l)->more)
			to_rest(m, l);
	}
	if (m->tired_first < GARBAGE)
		return;
	m->tired.n -= m->tired_first;
	memmove(m->tired.p, m->tired.p + m->tired_first, m->tired.n * sizeof *m->tired.p);
	m->tired_first = 0;
}

void model_rests_free(struct model *m)
{
	for (size_t i = 0; i < m->awake.n; i++)
		free(m->awake.p[i]);
	VEC_FREE(&m->awake);
	VEC_FREE(&m->tired);
	VEC_FREE(&m->rests.v);
	free(m->rests.head);
}

size_t model_rests_memory(const struct model *m)
{
	return m->rests.v.n * sizeof *m->rests.v.p + m->rests.heads * sizeof *m->rests.head +
	       m->nawake * sizeof(struct model_line);
}
