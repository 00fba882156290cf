/* SPDX-License-Identifier: BSD-3-Clause */
/* Any candidate, all with the same chance. */
#include <stdlib.h>

#include "symbolic/search.h"

struct any {
	struct symbolic_search *q;
	VEC(uint32_t) v;
};

static void *start(struct symbolic_search *q)
{
	struct any *own = xcalloc(1, sizeof *own);
	own->q = q;
	return own;
}

static void add(void *arg, uint32_t id)
{
	struct any *own = arg;
	VEC_PUSH(&own->v, id);
}

static void remove_at(struct any *own, size_t i)
{
	own->v.p[i] = own->v.p[--own->v.n];
}

static bool take(void *arg, uint32_t *id)
{
	struct any *own = arg;
	size_t i;
	if (!own->v.n)
		return false;
	i = symbolic_search_random(own->q) % own->v.n;
	*id = own->v.p[i];
	remove_at(own, i);
	return true;
}

static void drop(void *arg, uint32_t id)
{
	struct any *own = arg;
	for (size_t i = 0; i < own->v.n; i++)
		if (own->v.p[i] == id) {
			remove_at(own, i);
			return;
		}
}

/* As good as any other, but the same whenever it is asked for. */
static double rank(void *arg, uint32_t id)
{
	struct any *own = arg;
	return (double)hash_mix(symbolic_search_candidate(own->q, id).serial,
				symbolic_search_seed(own->q));
}

static void stop(void *arg)
{
	struct any *own = arg;
	VEC_FREE(&own->v);
	free(own);
}

const struct symbolic_searcher symbolic_searcher_random = {
	.name = "random",
	.about = "any branch, all with the same chance",
	.start = start,
	.add = add,
	.take = take,
	.drop = drop,
	.rank = rank,
	.stop = stop,
};
