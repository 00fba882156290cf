/* SPDX-License-Identifier: BSD-3-Clause */
/* Breadth first: the branch nearest to the start of its path. */
#include <stdlib.h>

#include "symbolic/strategy.h"

struct bfs {
	struct symbolic *s;
	struct heap heap;
};

static void *start(struct symbolic *s)
{
	struct bfs *own = xcalloc(1, sizeof *own);

	own->s = s;
	return own;
}

static void add(void *arg, uint32_t id)
{
	struct bfs *own = arg;
	const struct candidate *c = strategy_candidate(own->s, id);

	symbolic_heap_push(&own->heap, (struct heap_item){ .key = { UINT32_MAX - c->depth },
							   .order = c->serial,
							   .candidate = id });
}

static bool take(void *arg, uint32_t *id)
{
	struct bfs *own = arg;
	struct heap_item top;

	if (!symbolic_heap_pop(&own->heap, &top))
		return false;
	*id = top.candidate;
	return true;
}

static double rank(void *arg, uint32_t id)
{
	struct bfs *own = arg;

	return -(double)strategy_candidate(own->s, id)->depth;
}

static void stop(void *arg)
{
	struct bfs *own = arg;

	VEC_FREE(&own->heap.v);
	free(own);
}

const struct strategy symbolic_strategy_bfs = {
	.name = "bfs",
	.help = "the branch nearest to the start",
	.start = start,
	.add = add,
	.take = take,
	.rank = rank,
	.stop = stop,
};
