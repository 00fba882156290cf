/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the root of the tree, at each fork any side behind which something waits: favours short paths, and is
 * not drawn into loops that fork at each round.
 */
#include <stdlib.h>
#include <string.h>

#include "symbolic/search.h"

struct random_path {
	struct symbolic_search *q;
	VEC(uint8_t) waits; /* by step: something may wait at or below it */
	struct hmap at;     /* place_key → candidate + 1 */
	size_t n;
};

static void *start(struct symbolic_search *q)
{
	struct random_path *own = xcalloc(1, sizeof *own);
	own->q = q;
	return own;
}

static uint64_t place_key(const struct symbolic_candidate *c)
{
	return (uint64_t)c->source << 32 | c->step;
}

/* Where in the tree the path to it leaves the known ones. */
static uint32_t fork_of(const struct random_path *own, const struct symbolic_candidate *c)
{
	return c->source ? c->step : symbolic_search_parent(own->q, c->step);
}

static void grow(struct random_path *own, size_t need)
{
	VEC_RESERVE(&own->waits, need);
	if (need > own->waits.n) {
		memset(own->waits.p + own->waits.n, 0, need - own->waits.n);
		own->waits.n = need;
	}
}

static void add(void *arg, uint32_t id)
{
	struct random_path *own = arg;
	struct symbolic_candidate c = symbolic_search_candidate(own->q, id);
	uint32_t at = fork_of(own, &c);
	grow(own, symbolic_search_steps(own->q));
	hmap_put(&own->at, place_key(&c), (uint64_t)id + 1);
	own->n++;
	while (!own->waits.p[at]) {
		own->waits.p[at] = 1;
		at = symbolic_search_parent(own->q, at);
	}
}

static void drop(void *arg, uint32_t id)
{
	struct random_path *own = arg;
	struct symbolic_candidate c = symbolic_search_candidate(own->q, id);
	hmap_del(&own->at, place_key(&c));
	own->n--;
}

/* ---- from the root ---- */

struct fork {
	uint32_t sides;
	uint32_t step, candidate; /* the side that was drawn; candidate: plus 1 */
};

/* Each side replaces those before it with a chance of one in so many: all are equal. */
static bool draw(struct random_path *own, struct fork *f)
{
	return symbolic_search_random(own->q) % ++f->sides == 0;
}

static struct fork look(struct random_path *own, uint32_t at)
{
	size_t sources = symbolic_search_sources(own->q);
	struct fork f = { 0 };
	uint64_t id;
	for (uint64_t i = 1; i <= sources; i++)
		if (hmap_get(&own->at, i << 32 | at, &id) && draw(own, &f))
			f.candidate = (uint32_t)id;
	for (uint32_t k = symbolic_search_child(own->q, at); k;
	     k = symbolic_search_sibling(own->q, k)) {
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

static bool take(void *arg, uint32_t *id)
{
	struct random_path *own = arg;
	struct fork f;
	if (!own->n)
		return false;
	for (uint32_t at = 0; f = look(own, at), !f.candidate;) {
		if (!f.step)
			own->waits.p[at] = 0; /* nothing is left below: go back */
		at = f.step ? f.step : symbolic_search_parent(own->q, at);
	}
	*id = f.candidate - 1;
	drop(own, *id);
	return true;
}

static double rank(void *arg, uint32_t id)
{
	struct random_path *own = arg;
	return -(double)symbolic_search_candidate(own->q, id).depth;
}

static void stop(void *arg)
{
	struct random_path *own = arg;
	VEC_FREE(&own->waits);
	hmap_free(&own->at);
	free(own);
}

const struct symbolic_searcher symbolic_searcher_random_path = {
	.name = "random-path",
	.about = "a random way through the tree of known paths, to a branch at its edge",
	.start = start,
	.add = add,
	.take = take,
	.drop = drop,
	.rank = rank,
	.stop = stop,
};
