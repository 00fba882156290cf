/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a run does to PM, as one number: two runs with the same number need not both be checked.
 *
 * The sequence of its PM events becomes a sequence of tokens: kind, instruction, and the state that
 * the line was in (so a flush that hits the stored line and one that misses it differ, though
 * addresses themselves do not count). Repetitions are folded: as soon as the last p tokens have come three
 * times in a row, one of the three is dropped, for p up to MAX_PERIOD:
 *
 *   A B A B      stays (once and twice are different: the second round meets what the first left)
 *   A B A B A B  becomes A B A B, and so does any number of rounds more
 *
 * A sync's token has the stores that it makes persistent, and at the end come those whose lines
 * are not persistent yet, as sets. What is persistent when is the machine's to say
 * (model/machine.h), under the model that was chosen.
 */
#include <stdlib.h>

#include "symbolic/internal.h"

#define MAX_PERIOD 32u

void symbolic_behave_init(struct behave *b, const struct model_ops *model,
			  const struct behave *before)
{
	*b = (struct behave){ .before = before,
			      .unit = model->unit < TRACE_LINE ? model->unit : TRACE_LINE };
	for (size_t i = 0; before && i < before->maps.n; i++) {
		const struct imap_item *it = &before->maps.p[i];
		imap_set(&b->maps, it->lo, it->hi, it->val);
	}
}

void symbolic_behave_free(struct behave *b)
{
	for (size_t i = 0; i < b->thread.n; i++)
		VEC_FREE(&b->thread.p[i].waits);
	VEC_FREE(&b->thread);
	VEC_FREE(&b->line);
	VEC_FREE(&b->open);
	VEC_FREE(&b->seq);
	VEC_FREE(&b->covered);
	hmap_free(&b->by_line);
	imap_free(&b->maps);
}

/* ---- lines and threads; those of before are taken over when they are met ---- */

static bool is_open(const struct line *l)
{
	return l->unit.lo < l->unit.hi;
}

static void list_if_open(struct behave *b, struct line *l)
{
	if (l->listed || !is_open(l))
		return;
	l->listed = true;
	VEC_PUSH(&b->open, (uint32_t)(l - b->line.p));
}

struct line *symbolic_behave_line(struct behave *b, uint64_t at)
{
	struct line l = { .at = at };
	uint64_t i;
	if (hmap_get(&b->by_line, at, &i))
		return &b->line.p[i];
	if (b->before && hmap_get(&b->before->by_line, at, &i)) {
		l = b->before->line.p[i];
		l.store = 0; /* not this run's */
		l.listed = false;
	}
	hmap_put(&b->by_line, at, b->line.n);
	VEC_PUSH(&b->line, l);
	list_if_open(b, &b->line.p[b->line.n - 1]);
	return &b->line.p[b->line.n - 1];
}

static struct behave_thread *find_thread(const struct behave *b, uint64_t who)
{
	for (size_t i = 0; i < b->thread.n; i++)
		if (b->thread.p[i].who == who)
			return &b->thread.p[i];
	return NULL;
}

static struct model_waits *waits_of(struct behave *b, const struct trace_event *e)
{
	struct behave_thread new = { .who = (uint64_t)e->process << 32 | e->thread };
	const struct behave_thread *t = find_thread(b, new.who);
	if (!t) {
		t = b->before ? find_thread(b->before, new.who) : NULL;
		for (size_t i = 0; t && i < t->waits.n; i++) {
			struct model_wait w = t->waits.p[i];
			const struct line *l = &b->before->line.p[w.unit];
			if (l->unit.lo >= w.upto)
				continue;
			w.unit = (uint32_t)(symbolic_behave_line(b, l->at) - b->line.p);
			VEC_PUSH(&new.waits, w);
		}
		VEC_PUSH(&b->thread, new);
		t = &b->thread.p[b->thread.n - 1];
	}
	return (struct model_waits *)&t->waits;
}

/* ---- what events cover ---- */

/* Does a sync of that range reach the line? */
static bool reaches(const struct behave *b, const struct trace_event *e,
		    const struct model_range *r, uint64_t at)
{
	uint64_t addr = at * b->unit, off;
	const struct imap_item *map;
	if (e->kind == TRACE_SYNC)
		return addr + b->unit > r->lo && addr < r->hi;
	map = imap_find(&b->maps, addr);
	if (!map || (addr + map->val) >> MODEL_FILE_SHIFT != e->arg[0] + 1)
		return false;
	off = addr + map->val - model_file_byte(e->arg[0], 0);
	return off + b->unit > r->lo && off < r->hi;
}

static void sync_covers(struct behave *b, const struct trace_event *e, const struct model_range *r)
{
	size_t kept = 0;
	for (size_t i = 0; b->before && i < b->before->open.n; i++) {
		const struct line *l = &b->before->line.p[b->before->open.p[i]];
		if (is_open(l) && reaches(b, e, r, l->at))
			symbolic_behave_line(b, l->at);
	}
	for (size_t i = 0; i < b->open.n; i++) {
		struct line *l = &b->line.p[b->open.p[i]];
		l->listed = is_open(l);
		if (!l->listed)
			continue;
		b->open.p[kept++] = b->open.p[i];
		if (reaches(b, e, r, l->at))
			VEC_PUSH(&b->covered, b->open.p[i]);
	}
	b->open.n = kept;
}

void symbolic_behave_covered(struct behave *b, const struct trace_event *e)
{
	struct model_range r = model_covers(e);
	b->covered.n = 0;
	if (e->kind != TRACE_FLUSH) {
		sync_covers(b, e, &r);
		return;
	}
	for (uint64_t at = r.lo / b->unit; at * b->unit < r.hi; at++) {
		struct line *l = symbolic_behave_line(b, at);
		VEC_PUSH(&b->covered, (uint32_t)(l - b->line.p));
	}
}

static void cover(struct behave *b, enum model_effect effect, struct model_waits *waits)
{
	for (size_t i = 0; i < b->covered.n; i++)
		model_unit_cover(&b->line.p[b->covered.p[i]].unit, effect, b->covered.p[i], waits);
}

/* ---- tokens ---- */

/* The last p tokens are the same as the p before them, and as the p before those. */
static bool thrice(const uint64_t *seq, size_t n, size_t p)
{
	for (size_t i = 1; i <= p; i++)
		if (seq[n - i] != seq[n - i - p] || seq[n - i] != seq[n - i - 2 * p])
			return false;
	return true;
}

static void add(struct behave *b, uint64_t token)
{
	VEC_PUSH(&b->seq, token);
	for (size_t p = 1; p <= MAX_PERIOD && 3 * p <= b->seq.n; p++)
		if (thrice(b->seq.p, b->seq.n, p)) {
			b->seq.n -= p;
			return;
		}
}

static uint64_t token(const struct trace_event *e, uint64_t more)
{
	return hash_mix(e->ip, hash_mix(e->kind, more));
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Of those of n lines that are open, as a set: who stored to them, and their state. */
static uint64_t hash_open(const struct behave *b, const uint32_t *line, size_t n, uint64_t hash)
{
	VEC(uint64_t) v = { 0 };
	for (size_t i = 0; i < n; i++) {
		const struct line *l = &b->line.p[line ? line[i] : i];
		if (is_open(l))
			VEC_PUSH(&v, hash_mix(l->store_ip, model_unit_state(&l->unit)));
	}
	if (v.n)
		qsort(v.p, v.n, sizeof *v.p, by_value);
	for (size_t i = 0; i < v.n; i++)
		if (!i || v.p[i] != v.p[i - 1])
			hash = hash_mix(hash, v.p[i]);
	VEC_FREE(&v);
	return hash;
}

/* ---- events ---- */

/* Stores to addresses lo … hi - 1. The states that it meets: of several lines, the first and last. */
static uint64_t store_to(struct behave *b, const struct trace_event *e, enum model_effect effect,
			 struct model_range r)
{
	uint64_t first = r.lo / b->unit, last = (r.hi > r.lo ? r.hi - 1 : r.lo) / b->unit;
	struct model_waits *waits = waits_of(b, e);
	uint64_t states = 0;
	for (uint64_t at = first; at <= last; at++) {
		struct line *l = symbolic_behave_line(b, at);
		if (at == first || at == last)
			states = states << 2 | model_unit_state(&l->unit);
		l->unit.hi++;
		model_unit_cover(&l->unit, effect, (uint32_t)(l - b->line.p), waits);
		l->store_ip = e->ip;
		list_if_open(b, l);
	}
	return states;
}

static void store(struct behave *b, const struct trace_event *e, enum model_effect effect)
{
	add(b, token(e, store_to(b, e, effect, model_covers(e)) << 8 | e->flags));
}

/* To wherever that part of the file is mapped. */
static void write_file(struct behave *b, const struct trace_event *e, enum model_effect effect)
{
	struct model_range r = model_covers(e);
	uint64_t lo = model_file_byte(e->arg[0], r.lo), hi = model_file_byte(e->arg[0], r.hi);
	for (size_t i = 0; i < b->maps.n; i++) {
		const struct imap_item *map = &b->maps.p[i];
		uint64_t from = map->lo + map->val > lo ? map->lo : lo - map->val;
		uint64_t to = map->hi + map->val < hi ? map->hi : hi - map->val;
		if (map->hi + map->val > lo && map->lo + map->val < hi)
			store_to(b, e, effect, (struct model_range){ from, to });
	}
	add(b, token(e, 0));
}

static void flush(struct behave *b, const struct trace_event *e, enum model_effect effect)
{
	struct model_waits *waits = waits_of(b, e);
	uint64_t met = 0;
	symbolic_behave_covered(b, e);
	for (size_t i = 0; i < b->covered.n; i++) {
		const struct line *l = &b->line.p[b->covered.p[i]];
		uint64_t one = hash_mix(l->store_ip, model_unit_state(&l->unit));
		met = i ? hash_mix(met, one) : one;
	}
	add(b, token(e, met));
	cover(b, effect, waits);
}

static void fence(struct behave *b, const struct trace_event *e, enum model_effect effect)
{
	struct model_waits *waits = waits_of(b, e);
	add(b, token(e, 0));
	if (effect != MODEL_COMPLETES)
		return;
	for (size_t i = 0; i < waits->n; i++)
		model_unit_raise(&b->line.p[waits->p[i].unit].unit, waits->p[i].upto);
	waits->n = 0;
}

static void sync_range(struct behave *b, const struct trace_event *e, enum model_effect effect)
{
	b->covered.n = 0;
	if (effect != MODEL_NOTHING)
		symbolic_behave_covered(b, e);
	add(b, token(e, hash_open(b, b->covered.p, b->covered.n, 0)));
	cover(b, effect, waits_of(b, e));
}

static void map(struct behave *b, const struct trace_event *e)
{
	uint64_t lo = e->arg[0], hi = lo + e->arg[1];
	add(b, token(e, 0));
	if (e->flags & TRACE_F_PM)
		imap_set(&b->maps, lo, hi, model_file_byte(e->arg[2], e->arg[3]) - lo);
}

void symbolic_behave_event(struct behave *b, const struct trace_event *e, enum model_effect effect)
{
	switch (e->kind) {
	case TRACE_STORE: store(b, e, effect); break;
	case TRACE_FLUSH: flush(b, e, effect); break;
	case TRACE_FENCE: fence(b, e, effect); break;
	case TRACE_SYNC:
	case TRACE_FILE_SYNC: sync_range(b, e, effect); break;
	case TRACE_FILE_WRITE: write_file(b, e, effect); break;
	case TRACE_MAP: map(b, e); break;
	case TRACE_UNMAP:
	case TRACE_FILE_TRUNCATE:
	case TRACE_FILE_RENAME:
	case TRACE_FILE_UNLINK:
	case TRACE_TX_BEGIN:
	case TRACE_TX_END:
	case TRACE_TX_ADD: add(b, token(e, 0)); break;
	default: break;
	}
}

uint64_t symbolic_behave_hash(struct behave *b)
{
	uint64_t hash = hash_bytes(b->seq.p, b->seq.n * sizeof *b->seq.p);
	return hash_open(b, NULL, b->line.n, hash);
}
