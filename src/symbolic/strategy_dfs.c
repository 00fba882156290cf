/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Depth first: the last branch of the newest path. A run adds its branches in the order in which it met
 * them, so a stack does it.
 */
#include <stdlib.h>

#include "symbolic/strategy.h"

struct dfs {
	struct symbolic *s;
	VEC(uint32_t) stack;
};

static void *start(struct symbolic *s)
{
	struct dfs *own = xcalloc(1, sizeof *own);

	own->s = s;
	return own;
}

static void add(void *arg, uint32_t id)
{
	struct dfs *own = arg;

	VEC_PUSH(&own->stack, id);
}

static bool take(void *arg, uint32_t *id)
{
	struct dfs *own = arg;

	if (!own->stack.n)
		return false;
	*id = own->stack.p[--own->stack.n];
	return true;
}

static double rank(void *arg, uint32_t id)
{
	struct dfs *own = arg;

	return (double)strategy_candidate(own->s, id)->serial;
}

static void stop(void *arg)
{
	struct dfs *own = arg;

	VEC_FREE(&own->stack);
	free(own);
}

const struct strategy symbolic_strategy_dfs = {
	.name = "dfs",
	.help = "the last branch of the newest path",
	.start = start,
	.add = add,
	.take = take,
	.rank = rank,
	.stop = stop,
};
