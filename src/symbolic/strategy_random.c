/* SPDX-License-Identifier: BSD-3-Clause */
/* Any candidate, all with the same chance. */
#include <stdlib.h>

#include "symbolic/strategy.h"

struct any {
	struct symbolic *s;
	VEC(uint32_t) v;
};

static void *start(struct symbolic *s)
{
	struct any *own = xcalloc(1, sizeof *own);

	own->s = s;
	return own;
}

static void add(void *arg, uint32_t id)
{
	struct any *own = arg;

	VEC_PUSH(&own->v, id);
}

static bool take(void *arg, uint32_t *id)
{
	struct any *own = arg;
	size_t i;

	if (!own->v.n)
		return false;
	i = symbolic_random(own->s) % own->v.n;
	*id = own->v.p[i];
	own->v.p[i] = own->v.p[--own->v.n];
	return true;
}

/* As good as any other, but the same whenever it is asked for. */
static double rank(void *arg, uint32_t id)
{
	struct any *own = arg;

	return (double)hash_mix(strategy_candidate(own->s, id)->serial, own->s->opts.random);
}

static void stop(void *arg)
{
	struct any *own = arg;

	VEC_FREE(&own->v);
	free(own);
}

const struct strategy symbolic_strategy_random = {
	.name = "random",
	.help = "any branch, all with the same chance",
	.start = start,
	.add = add,
	.take = take,
	.rank = rank,
	.stop = stop,
};
