/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Towards new code: at random, weighted by how near the way is to code that has not run (1/d²), and by
 * whether the run that it came from had reached new code.
 *
 * KLEE's distance is counted in instructions of the static graph. Here it is counted in branches, over
 * what has been seen running: way → the branch met next → its two ways; a way whose target has not run
 * has distance 1; one that was never taken, but leads to known code, UNSEEN. Distances are
 * worked out again when coverage has grown.
 */
#include <stdlib.h>
#include <string.h>

#include "symbolic/search.h"

#define FAR 64u
#define UNSEEN 3u
#define PIN_WEIGHT 0.25

struct group { /* the candidates of one way */
	VEC(uint32_t) id;
};
struct new_code {
	struct symbolic_search *q;
	VEC(struct group) group; /* by way */
	VEC(uint32_t) place;     /* by candidate: where it is in its group */
	VEC(uint32_t) distance;  /* by way */
	uint64_t coverage;       /* that they are of */
	size_t n;
};

static void *start(struct symbolic_search *q)
{
	struct new_code *own = xcalloc(1, sizeof *own);
	own->q = q;
	own->coverage = UINT64_MAX;
	return own;
}

/* ---- what there is ---- */

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
	struct new_code *own = arg;
	uint32_t way = symbolic_search_candidate(own->q, id).way;
	struct group *g;
	GROW(&own->group, (size_t)way + 1);
	GROW(&own->place, (size_t)id + 1);
	g = &own->group.p[way];
	own->place.p[id] = (uint32_t)g->id.n;
	VEC_PUSH(&g->id, id);
	own->n++;
}

static void drop(void *arg, uint32_t id)
{
	struct new_code *own = arg;
	struct group *g = &own->group.p[symbolic_search_candidate(own->q, id).way];
	uint32_t last = g->id.p[--g->id.n];
	g->id.p[own->place.p[id]] = last;
	own->place.p[last] = own->place.p[id];
	own->n--;
}

/* ---- distances ---- */

static bool lower(uint32_t *to, uint32_t value)
{
	bool less = value < *to;
	if (less)
		*to = value;
	return less;
}

/* The nearest of the ways out of the branch at ip. */
static uint32_t nearest(const struct hmap *best, uint64_t ip)
{
	uint64_t d;
	return hmap_get(best, ip, &d) ? (uint32_t)d : FAR;
}

static void note_nearest(struct hmap *best, uint64_t ip, uint32_t d)
{
	uint64_t old;
	if (!hmap_get(best, ip, &old) || d < old)
		hmap_put(best, ip, d);
}

static void first_distances(struct new_code *own, struct hmap *best)
{
	size_t n = symbolic_search_ways(own->q);
	uint8_t *leads = xcalloc(n + 1, 1);
	uint32_t way;
	uint64_t ip;
	for (size_t i = 0; symbolic_search_follow(own->q, i, &way, &ip); i++)
		leads[way] = 1;
	own->distance.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct symbolic_way *w = symbolic_search_way(own->q, i);
		uint32_t d = leads[i] || w->tried ? FAR : UNSEEN;
		if (symbolic_search_is_new(own->q, i))
			d = 1;
		VEC_PUSH(&own->distance, d);
		if (!w->is_round)
			note_nearest(best, w->ip, d);
	}
	free(leads);
}

/* Rounds until nothing gets nearer: graphs of branches are small, and few rounds do. */
static void distances(struct new_code *own)
{
	uint64_t coverage = symbolic_search_coverage(own->q), ip;
	struct hmap best = { 0 };
	bool changed = true;
	uint32_t way;
	if (own->coverage == coverage)
		return;
	own->coverage = coverage;
	first_distances(own, &best);
	for (unsigned round = 0; changed && round < FAR; round++) {
		changed = false;
		for (size_t i = 0; symbolic_search_follow(own->q, i, &way, &ip); i++) {
			uint32_t d = nearest(&best, ip) + 1;
			if (d < FAR && lower(&own->distance.p[way], d)) {
				note_nearest(&best, symbolic_search_way(own->q, way)->ip, d);
				changed = true;
			}
		}
	}
	hmap_free(&best);
}

/* ---- choosing ---- */

static double weight(const struct new_code *own, size_t way)
{
	double d = own->distance.p[way];
	return (symbolic_search_is_jump(own->q, (uint32_t)way) ? 1 : PIN_WEIGHT) / (d * d);
}

/* A way by weight and number of its candidates. */
static struct group *draw_group(struct new_code *own)
{
	double sum = 0, at;
	size_t way = 0;
	for (size_t i = 0; i < own->group.n; i++)
		sum += weight(own, i) * (double)own->group.p[i].id.n;
	at = sum * ((double)(symbolic_search_random(own->q) >> 11) * 0x1p-53);
	for (size_t i = 0; i < own->group.n; i++)
		if (own->group.p[i].id.n) {
			way = i;
			at -= weight(own, i) * (double)own->group.p[i].id.n;
			if (at < 0)
				break;
		}
	return &own->group.p[way];
}

/* … then one of those; a fresh one twice as likely. */
static bool take(void *arg, uint32_t *id)
{
	struct new_code *own = arg;
	struct group *g;
	if (!own->n)
		return false;
	distances(own);
	g = draw_group(own);
	*id = g->id.p[symbolic_search_random(own->q) % g->id.n];
	if (!symbolic_search_candidate(own->q, *id).fresh)
		*id = g->id.p[symbolic_search_random(own->q) % g->id.n];
	drop(own, *id);
	return true;
}

static double rank(void *arg, uint32_t id)
{
	struct new_code *own = arg;
	struct symbolic_candidate c = symbolic_search_candidate(own->q, id);
	distances(own);
	return weight(own, c.way) - 1e-9 * (double)c.depth;
}

static void stop(void *arg)
{
	struct new_code *own = arg;
	for (size_t i = 0; i < own->group.n; i++)
		VEC_FREE(&own->group.p[i].id);
	VEC_FREE(&own->group);
	VEC_FREE(&own->place);
	VEC_FREE(&own->distance);
	free(own);
}

const struct symbolic_searcher symbolic_searcher_new_code = {
	.name = "new-code",
	.about = "branches near code that has not run, with some chance",
	.start = start,
	.add = add,
	.take = take,
	.drop = drop,
	.rank = rank,
	.stop = stop,
};
