/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Depth first: the last branch of the newest path. A run adds its branches in the order in which it met
 * them, so a stack does it.
 */
#include <stdlib.h>
#include <string.h>

#include "symbolic/search.h"

struct dfs {
	struct symbolic_search *q;
	VEC(uint32_t) stack;
};

static void *start(struct symbolic_search *q)
{
	struct dfs *own = xcalloc(1, sizeof *own);
	own->q = q;
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

static void drop(void *arg, uint32_t id)
{
	struct dfs *own = arg;
	size_t i = own->stack.n;
	while (i && own->stack.p[i - 1] != id)
		i--;
	if (!i)
		return;
	memmove(own->stack.p + i - 1, own->stack.p + i, (own->stack.n - i) * sizeof id);
	own->stack.n--;
}

static double rank(void *arg, uint32_t id)
{
	struct dfs *own = arg;
	return (double)symbolic_search_candidate(own->q, id).serial;
}

static void stop(void *arg)
{
	struct dfs *own = arg;
	VEC_FREE(&own->stack);
	free(own);
}

const struct symbolic_searcher symbolic_searcher_dfs = {
	.name = "dfs",
	.about = "the last branch of the newest path",
	.start = start,
	.add = add,
	.take = take,
	.drop = drop,
	.rank = rank,
	.stop = stop,
};
