/* SPDX-License-Identifier: BSD-3-Clause */
/* Breadth first: the branch nearest to the start of its path. */
#include <stdlib.h>

#include "symbolic/search.h"

struct bfs {
	struct symbolic_search *q;
	struct symbolic_heap heap;
};

static void *start(struct symbolic_search *q)
{
	struct bfs *own = xcalloc(1, sizeof *own);
	own->q = q;
	return own;
}

static void add(void *arg, uint32_t id)
{
	struct bfs *own = arg;
	struct symbolic_candidate c = symbolic_search_candidate(own->q, id);
	symbolic_heap_push(&own->heap, (struct symbolic_heap_item){ .key = { UINT32_MAX - c.depth },
								    .order = c.serial,
								    .candidate = id });
}

static bool take(void *arg, uint32_t *id)
{
	struct bfs *own = arg;
	struct symbolic_heap_item top;
	if (!symbolic_heap_pop(&own->heap, &top))
		return false;
	*id = top.candidate;
	return true;
}

static void drop(void *arg, uint32_t id)
{
	struct bfs *own = arg;
	symbolic_heap_drop(&own->heap, id);
}

static double rank(void *arg, uint32_t id)
{
	struct bfs *own = arg;
	return -(double)symbolic_search_candidate(own->q, id).depth;
}

static void stop(void *arg)
{
	struct bfs *own = arg;
	VEC_FREE(&own->heap.v);
	free(own);
}

const struct symbolic_searcher symbolic_searcher_bfs = {
	.name = "bfs",
	.about = "the branch nearest to the start",
	.start = start,
	.add = add,
	.take = take,
	.drop = drop,
	.rank = rank,
	.stop = stop,
};
