/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Towards new code, as KLEE does by default: two ways to choose, in turn.
 *
 *   random path   from the root of the tree, at each fork any side behind which something waits;
 *                 favours short paths, and is not drawn into loops that fork at each round
 *   new code      at random, weighted by how near the way is to code that has not run (1/d²), and
 *                 by whether the run that it came from had reached new code
 *
 * KLEE's distance is counted in instructions of the static graph. Here it is counted in branches, over
 * what has been seen running: way → the branch met next → its two ways; a way whose target has not run
 * has distance 1; one that was never taken, but leads to known code, UNSEEN. Distances are
 * worked out again when coverage has grown.
 */
#include <stdlib.h>
#include <string.h>

#include "symbolic/strategy.h"

#define FAR 64u
#define UNSEEN 3u
#define PIN_WEIGHT 0.25

struct group { /* the candidates of one way */
	VEC(uint32_t) id;
};
struct coverage {
	struct symbolic *s;
	VEC(struct group) group; /* by way */
	VEC(uint32_t) place;     /* by candidate: where it is in its group */
	VEC(uint8_t) waits;      /* by step: something may wait at or below it */
	struct hmap at;          /* step (LONGER: with the source) → candidate + 1 */
	VEC(uint32_t) distance;  /* by way */
	uint64_t version;
	size_t follows, n;
	bool turn;
};

static void *start(struct symbolic *s)
{
	struct coverage *own = xcalloc(1, sizeof *own);

	own->s = s;
	own->version = UINT64_MAX;
	return own;
}

/* ---- what there is ---- */

static uint64_t place_key(const struct candidate *c)
{
	uint64_t source = c->why == SYMBOLIC_LONGER ? c->source + 1 : 0;

	return source << 32 | c->step;
}

/* Where in the tree the path to it leaves the known ones. */
static uint32_t fork_of(const struct symbolic *s, const struct candidate *c)
{
	return c->why == SYMBOLIC_LONGER ? c->step : s->tree.step.p[c->step].parent;
}

static void *grown(void *p, size_t *n, size_t *cap, size_t need, size_t elem)
{
	if (need > *cap)
		vec_grow(&p, cap, need, elem);
	if (need > *n) {
		memset((char *)p + *n * elem, 0, (need - *n) * elem);
		*n = need;
	}
	return p;
}
#define GROW(v, need) ((v)->p = grown((v)->p, &(v)->n, &(v)->cap, (need), sizeof *(v)->p))

static void add(void *arg, uint32_t id)
{
	struct coverage *own = arg;
	const struct candidate *c = strategy_candidate(own->s, id);
	struct group *g;
	uint32_t at = fork_of(own->s, c);

	GROW(&own->group, (size_t)c->way + 1);
	GROW(&own->place, (size_t)id + 1);
	GROW(&own->waits, own->s->tree.step.n);
	g = &own->group.p[c->way];
	own->place.p[id] = (uint32_t)g->id.n;
	VEC_PUSH(&g->id, id);
	hmap_put(&own->at, place_key(c), (uint64_t)id + 1);
	own->n++;
	while (!own->waits.p[at]) {
		own->waits.p[at] = 1;
		at = own->s->tree.step.p[at].parent;
	}
}

static void remove_it(struct coverage *own, uint32_t id)
{
	const struct candidate *c = strategy_candidate(own->s, id);
	struct group *g = &own->group.p[c->way];
	uint32_t last = g->id.p[--g->id.n];

	g->id.p[own->place.p[id]] = last;
	own->place.p[last] = own->place.p[id];
	hmap_del(&own->at, place_key(c));
	own->n--;
}

/* ---- random path ---- */

struct fork {
	uint32_t sides;
	uint32_t step, candidate; /* the side that was drawn; candidate: plus 1 */
};

/* Each side replaces those before it with a chance of one in so many: all are equal. */
static bool draw(struct coverage *own, struct fork *f)
{
	return symbolic_random(own->s) % ++f->sides == 0;
}

static struct fork look(struct coverage *own, uint32_t at)
{
	const struct step *step = own->s->tree.step.p;
	struct fork f = { 0 };
	uint64_t id;

	for (uint64_t i = 1; i <= own->s->opts.nsource; i++)
		if (hmap_get(&own->at, i << 32 | at, &id) && draw(own, &f))
			f.candidate = (uint32_t)id;
	for (uint32_t k = step[at].child; k; k = step[k].next) {
		if (hmap_get(&own->at, k, &id) && draw(own, &f)) {
			f.candidate = (uint32_t)id;
			f.step = 0;
		}
		if (k < own->waits.n && own->waits.p[k] && draw(own, &f)) {
			f.candidate = 0;
			f.step = k;
		}
	}
	return f;
}

static uint32_t random_path(struct coverage *own)
{
	uint32_t at = 0;

	for (;;) {
		struct fork f = look(own, at);

		if (f.candidate)
			return f.candidate - 1;
		if (f.step) {
			at = f.step;
			continue;
		}
		own->waits.p[at] = 0; /* nothing is left below: go back */
		at = own->s->tree.step.p[at].parent;
	}
}

/* ---- new code ---- */

static bool lower(uint32_t *to, uint32_t value)
{
	bool less = value < *to;

	if (less)
		*to = value;
	return less;
}

/* The nearest of the ways out of the branch at ip. */
static uint32_t nearest(const struct coverage *own, struct hmap *best, uint64_t ip)
{
	uint64_t d;

	(void)own;
	return hmap_get(best, ip, &d) ? (uint32_t)d : FAR;
}

static void note_nearest(struct hmap *best, uint64_t ip, uint32_t d)
{
	uint64_t old;

	if (!hmap_get(best, ip, &old) || d < old)
		hmap_put(best, ip, d);
}

static void first_distances(struct coverage *own, struct hmap *best)
{
	const struct cover *c = &own->s->cover;
	uint8_t *leads = xcalloc(c->ways.n + 1, 1);

	for (size_t i = 0; i < c->follow.n; i++)
		leads[c->follow.p[i].way] = 1;
	own->distance.n = 0;
	for (size_t i = 0; i < c->ways.n; i++) {
		const struct way *w = &c->ways.p[i];
		uint32_t d = leads[i] || w->tried ? FAR : UNSEEN;

		if (w->kind == SYM_COND && !symbolic_cover_known(own->s, w))
			d = 1;
		VEC_PUSH(&own->distance, d);
		if (!w->is_round)
			note_nearest(best, w->ip, d);
	}
	free(leads);
}

/* Rounds until nothing gets nearer: graphs of branches are small, and few rounds do. */
static void distances(struct coverage *own)
{
	const struct cover *c = &own->s->cover;
	struct hmap best = { 0 };
	bool changed = true;

	if (own->version == c->version && own->follows == c->follow.n &&
	    own->distance.n == c->ways.n)
		return;
	own->version = c->version;
	own->follows = c->follow.n;
	first_distances(own, &best);
	for (unsigned round = 0; changed && round < FAR; round++) {
		changed = false;
		for (size_t i = 0; i < c->follow.n; i++) {
			uint32_t way = c->follow.p[i].way;
			uint32_t d = nearest(own, &best, c->follow.p[i].ip) + 1;

			if (d < FAR && lower(&own->distance.p[way], d)) {
				note_nearest(&best, c->ways.p[way].ip, d);
				changed = true;
			}
		}
	}
	hmap_free(&best);
}

static double weight(const struct coverage *own, size_t way)
{
	double d = own->distance.p[way];
	const struct way *w = &own->s->cover.ways.p[way];

	return (w->kind == SYM_COND || w->kind == SYM_JUMP ? 1 : PIN_WEIGHT) / (d * d);
}

/* A way by weight and number of its candidates, then one of those; a fresh one twice as likely. */
static uint32_t near_new_code(struct coverage *own)
{
	double sum = 0, at;
	size_t way = 0;
	struct group *g;
	uint32_t id;

	distances(own);
	for (size_t i = 0; i < own->group.n; i++)
		sum += weight(own, i) * (double)own->group.p[i].id.n;
	at = sum * ((double)(symbolic_random(own->s) >> 11) * 0x1p-53);
	for (size_t i = 0; i < own->group.n; i++)
		if (own->group.p[i].id.n) {
			way = i;
			at -= weight(own, i) * (double)own->group.p[i].id.n;
			if (at < 0)
				break;
		}
	g = &own->group.p[way];
	id = g->id.p[symbolic_random(own->s) % g->id.n];
	if (!strategy_candidate(own->s, id)->fresh)
		id = g->id.p[symbolic_random(own->s) % g->id.n];
	return id;
}

static bool take(void *arg, uint32_t *id)
{
	struct coverage *own = arg;

	if (!own->n)
		return false;
	own->turn = !own->turn;
	*id = own->turn ? random_path(own) : near_new_code(own);
	remove_it(own, *id);
	return true;
}

static double rank(void *arg, uint32_t id)
{
	struct coverage *own = arg;
	const struct candidate *c = strategy_candidate(own->s, id);

	distances(own);
	return weight(own, c->way) - 1e-9 * (double)c->depth;
}

static void stop(void *arg)
{
	struct coverage *own = arg;

	for (size_t i = 0; i < own->group.n; i++)
		VEC_FREE(&own->group.p[i].id);
	VEC_FREE(&own->group);
	VEC_FREE(&own->place);
	VEC_FREE(&own->waits);
	VEC_FREE(&own->distance);
	hmap_free(&own->at);
	free(own);
}

const struct strategy symbolic_strategy_coverage = {
	.name = "coverage",
	.help = "new code and random paths in turn, as KLEE does by default",
	.start = start,
	.add = add,
	.take = take,
	.rank = rank,
	.stop = stop,
};
