/* SPDX-License-Identifier: BSD-3-Clause */
/* A strategy at work, and the answers to what it may ask (strategy.h). */
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"

/* ---- from start to stop ---- */

struct crash_gen *crash_gen_new(struct crash_world *w, const char *name)
{
	const struct crash_strategy *strategy = crash_strategy_find(name);
	struct crash_gen *gen;
	if (!strategy)
		return NULL;
	gen = xcalloc(1, sizeof *gen);
	gen->w = w;
	gen->strategy = strategy;
	gen->name = xstrdup(name ? name : strategy->name);
	gen->rng = w->seed;
	gen->own = strategy->start ? strategy->start(gen) : NULL;
	return gen;
}

struct crash_gen *crash_gen_part(struct crash_gen *gen, const char *name)
{
	return crash_gen_new(gen->w, name);
}

struct crash_gen *crash_gen_part_at(struct crash_gen *gen, const char *name, size_t point,
				    enum crash_reach base)
{
	struct crash_gen *part = crash_gen_new(gen->w, name);
	if (!part)
		return NULL;
	part->point = point;
	part->only = point + 1;
	part->rng = hash_mix(gen->w->seed, point * 2 + base);
	part->recent = base == CRASH_NEAR ? gen->w->points->v.p[point].recent : 0;
	return part;
}

bool crash_gen_next(struct crash_gen *gen, struct crash_state *out)
{
	gen->w->maker = NULL;
	if (!gen->strategy->next(gen, gen->own, out))
		return false;
	if (!gen->w->maker) { /* no part of it made the state */
		gen->w->maker = gen;
		gen->w->number = gen->made++;
	}
	return true;
}

void crash_gen_progress(const struct crash_gen *gen, struct crash_progress *out)
{
	*out = (struct crash_progress){ gen->strategy->name, gen->point, 0, 1, 0 };
	if (gen->strategy->progress)
		gen->strategy->progress(gen->own, out);
}

void crash_gen_free(struct crash_gen *gen)
{
	if (!gen)
		return;
	if (gen->strategy->stop)
		gen->strategy->stop(gen->own);
	VEC_FREE(&gen->some);
	VEC_FREE(&gen->near);
	free(gen->name);
	free(gen);
}

bool crash_gen_settle(struct crash_gen *gen)
{
	return !gen->w->settle || gen->w->settle(gen->w->settle_arg);
}

void crash_gen_learn(struct crash_gen *gen, size_t ticket, const struct crash_news *news)
{
	if (gen->strategy->learn)
		gen->strategy->learn(gen->own, ticket, news);
}

const char *crash_gen_name(const struct crash_gen *gen)
{
	return gen->name;
}

const struct crash_wishes *crash_gen_wishes(const struct crash_gen *gen)
{
	return &gen->w->wishes;
}

/* ---- from point to point ---- */

void crash_gen_go(struct crash_gen *gen, uint64_t event, struct crash_state *out)
{
	crash_cursor_move(&gen->w->cursor, event);
	out->event = event;
}

uint64_t crash_gen_event(const struct crash_gen *gen)
{
	return gen->w->cursor.at;
}

/* The cursor is moved each time: the parts of a strategy share it. */
bool crash_gen_points(struct crash_gen *gen, struct crash_state *out,
		      bool (*at_point)(struct crash_gen *, void *own, uint64_t step,
				       struct crash_state *out))
{
	const struct crash_points *points = gen->w->points;
	size_t end = gen->only ? gen->only : points->v.n;
	for (; gen->point < end; gen->point++, gen->step = 0) {
		crash_gen_go(gen, points->v.p[gen->point].event, out);
		if (at_point(gen, gen->own, gen->step, out)) {
			gen->step++;
			return true;
		}
		out->at.n = 0;
	}
	return false;
}

void crash_gen_again(struct crash_gen *gen)
{
	gen->point = gen->only ? gen->only - 1 : 0;
	gen->step = 0;
}

size_t crash_gen_spots(const struct crash_gen *gen)
{
	return gen->w->points->v.n;
}

struct crash_spot crash_gen_spot(const struct crash_gen *gen, size_t point)
{
	const struct crash_point *p = &gen->w->points->v.p[point];
	return (struct crash_spot){ p->event, p->place, p->rank, p->extra };
}

uint64_t crash_gen_length(const struct crash_gen *gen)
{
	return gen->w->h->pieces;
}

/*
 * Between two points at which nothing becomes guaranteed, lo stays and hi can only grow: every
 * state of the first is one of the second. (A file that changes as a whole is another matter.)
 */
bool crash_gen_covered(const struct crash_gen *gen)
{
	const struct crash_history *h = gen->w->h;
	const struct crash_cursor *c = &gen->w->cursor;
	uint64_t until;
	if (gen->point + 1 == gen->w->points->v.n)
		return false;
	until = gen->w->points->v.p[gen->point + 1].event;
	return (c->raise == h->raise.n || crash_raise_at(h, c->raise).event >= until) &&
	       (c->change == h->change.n || h->change.p[c->change].event >= until) &&
	       (c->renamed == h->renamed.n || h->renamed.p[c->renamed] >= until);
}

uint64_t crash_gen_random(struct crash_gen *gen)
{
	return splitmix64(&gen->rng);
}

bool crash_gen_planned(struct crash_gen *gen, size_t k, struct crash_state *out)
{
	const struct crash_suspects *all = gen->w->suspects;
	if (!all || k >= all->plan.n)
		return false;
	crash_state_copy(out, &all->plan.p[k].state);
	crash_gen_go(gen, out->event, out);
	return true;
}

bool crash_gen_breaches(const struct crash_gen *gen)
{
	return gen->w->breaches && gen->w->breaches->v.n > 0;
}

bool crash_gen_breach(struct crash_gen *gen, size_t k, struct crash_state *out)
{
	const struct crash_breach *b;
	if (!gen->w->breaches || k >= gen->w->breaches->v.n)
		return false;
	b = &gen->w->breaches->v.p[k];
	crash_gen_go(gen, b->event, out);
	crash_gen_lost(gen, out);
	if (b->line != UINT32_MAX)
		crash_gen_set(gen, out, b->line, b->version);
	return true;
}

/* ---- lines ---- */

uint32_t crash_gen_lo(const struct crash_gen *gen, uint32_t line)
{
	uint32_t lo = gen->w->cursor.lo[line], old;
	if (!gen->recent || lo == gen->w->cursor.hi[line])
		return lo;
	old = crash_version_at(gen->w->h, line, gen->recent);
	return old > lo ? old : lo;
}

uint32_t crash_gen_hi(const struct crash_gen *gen, uint32_t line)
{
	return gen->w->cursor.hi[line];
}

uint64_t crash_gen_stored(const struct crash_gen *gen, uint32_t line, uint32_t k)
{
	return crash_piece_of(gen->w->h, line, k).event;
}

uint32_t crash_gen_version_at(const struct crash_gen *gen, uint32_t line, uint64_t event)
{
	return crash_version_at(gen->w->h, line, event);
}

uint64_t crash_gen_contents(const struct crash_gen *gen, uint32_t line, uint32_t version)
{
	const struct crash_history *h = gen->w->h;
	struct crash_state one = { .event = gen->w->cursor.at };
	uint64_t hash;
	if (!crash_is_meta(h, line))
		return crash_contents_hash(h, line, version);
	/* It has no bytes; its versions differ in the size or the names that there are with them. */
	crash_state_set(&one, &gen->w->cursor, line, version);
	hash = crash_state_hash(&one, &gen->w->cursor);
	crash_state_free(&one);
	return hash;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static bool is_sorted(const uint32_t *p, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (p[i - 1] > p[i])
			return false;
	return true;
}

/* Any order is as good as another to the cursor, so its own list is sorted. */
static void sort_open(struct crash_cursor *c)
{
	if (is_sorted(c->open.p, c->open.n))
		return;
	qsort(c->open.p, c->open.n, sizeof *c->open.p, by_number);
	for (size_t i = 0; i < c->open.n; i++)
		c->slot[c->open.p[i]] = (uint32_t)i + 1;
}

static void find_near(struct crash_gen *gen)
{
	const struct crash_cursor *c = &gen->w->cursor;
	gen->near_at = c->at + 1;
	gen->near.n = 0;
	for (size_t i = 0; i < c->open.n; i++)
		if (crash_gen_lo(gen, c->open.p[i]) < c->hi[c->open.p[i]])
			VEC_PUSH(&gen->near, c->open.p[i]);
}

const uint32_t *crash_gen_open(struct crash_gen *gen, size_t *n)
{
	struct crash_cursor *c = &gen->w->cursor;
	sort_open(c);
	if (gen->recent && gen->near_at != c->at + 1)
		find_near(gen);
	*n = gen->recent ? gen->near.n : c->open.n;
	return gen->recent ? gen->near.p : c->open.p;
}

/* The first store that the line would lack is one that its program has forgotten. */
static bool is_forgotten(const struct crash_gen *gen, uint32_t line)
{
	const struct crash_history *h = gen->w->h;
	const uint8_t *forgotten = gen->w->points->forgotten;
	size_t record;
	if (!forgotten)
		return false;
	record = crash_record_with(&h->store,
				   crash_piece_index(h, line, crash_gen_lo(gen, line) + 1));
	return forgotten[record / 8] >> record % 8 & 1;
}

bool crash_gen_all_near(struct crash_gen *gen, size_t point)
{
	const struct crash_point *p = &gen->w->points->v.p[point];
	struct crash_cursor *c = &gen->w->cursor;
	struct crash_gen near = { .w = gen->w, .recent = p->recent };
	crash_cursor_move(c, p->event);
	if (!p->recent)
		return true;
	for (size_t i = 0; i < c->open.n; i++)
		if (crash_gen_lo(&near, c->open.p[i]) > c->lo[c->open.p[i]] ||
		    is_forgotten(&near, c->open.p[i]))
			return false;
	return true;
}

/* ---- picking versions ---- */

static bool same_event(const struct crash_history *h, uint32_t line, uint32_t a, uint32_t b)
{
	return crash_piece_of(h, line, a).event == crash_piece_of(h, line, b).event;
}

unsigned crash_gen_pick(const struct crash_gen *gen, uint32_t line, uint32_t out[CRASH_PICK])
{
	uint32_t lo = crash_gen_lo(gen, line), hi = gen->w->cursor.hi[line];
	bool every = hi - lo < CRASH_PICK;
	uint64_t last = crash_gen_contents(gen, line, lo);
	VEC(uint32_t) v = { 0 };
	unsigned n;
	VEC_PUSH(&v, lo);
	for (uint32_t i = lo + 1; i <= hi; i++) {
		uint64_t hash;
		if (!every && i < hi && same_event(gen->w->h, line, i, i + 1))
			continue;
		hash = crash_gen_contents(gen, line, i);
		if (hash != last)
			VEC_PUSH(&v, i);
		else if (i == hi && v.n > 1)
			v.p[v.n - 1] = hi;
		last = hash;
	}
	n = v.n < CRASH_PICK ? (unsigned)v.n : CRASH_PICK;
	for (unsigned i = 0; i < n; i++)
		out[i] = n == 1 ? lo : v.p[i * (v.n - 1) / (n - 1)];
	VEC_FREE(&v);
	return n;
}

/* Begins with a line: version[k .. end) is what is wanted of it now. */
static void walk_line(struct crash_gen *gen, struct crash_walk *w, enum crash_walk_kind kind,
		      uint32_t line)
{
	unsigned n = crash_gen_pick(gen, line, w->version), last = n ? n - 1 : 0;
	w->k = kind == CRASH_WALK_NOT_LO && !w->between ? last : w->between;
	w->end = w->between ? last : w->k + 1;
	if (n < 2)
		w->k = w->end;
}

bool crash_gen_walk(struct crash_gen *gen, struct crash_walk *w, enum crash_walk_kind kind,
		    uint32_t *line, uint32_t *version)
{
	size_t n;
	const uint32_t *open = crash_gen_some(gen, &n);
	while (w->k >= w->end) {
		if (w->line >= n && w->between)
			return false;
		if (w->line >= n) {
			w->between = true;
			w->line = 0;
			continue;
		}
		walk_line(gen, w, kind, open[w->line++]);
	}
	*line = open[w->line - 1];
	*version = w->version[w->k++];
	return true;
}

/* ---- states ---- */

void crash_gen_set(struct crash_gen *gen, struct crash_state *state, uint32_t line,
		   uint32_t version)
{
	crash_state_set(state, &gen->w->cursor, line, version);
}

void crash_gen_lost(struct crash_gen *gen, struct crash_state *out)
{
	size_t n;
	const uint32_t *open = crash_gen_open(gen, &n);
	out->at.n = 0;
	for (size_t i = 0; i < n; i++)
		if (!gen->recent || !is_forgotten(gen, open[i]))
			VEC_PUSH(&out->at,
				 ((struct crash_at){ open[i], crash_gen_lo(gen, open[i]) }));
}

void crash_gen_lose_since(struct crash_gen *gen, struct crash_state *out, uint64_t event)
{
	size_t n;
	const uint32_t *open = crash_gen_open(gen, &n);
	for (size_t i = 0; i < n; i++) {
		uint32_t lo = crash_gen_lo(gen, open[i]);
		uint32_t then = crash_version_at(gen->w->h, open[i], event);
		crash_gen_set(gen, out, open[i], then > lo ? then : lo);
	}
}

uint64_t crash_gen_image(const struct crash_gen *gen, const struct crash_state *state)
{
	return crash_state_hash(state, &gen->w->cursor);
}

bool crash_gen_reads(struct crash_gen *gen, const struct crash_state *state, uint32_t **line,
		     size_t *n)
{
	return gen->w->reads && gen->w->reads(gen->w->reads_arg, state, line, n);
}
