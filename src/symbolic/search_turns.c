/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Searchers in turn: all know all candidates, and each takes one.
 *
 *   coverage   random paths and new code, as KLEE does by default
 *   a+b        whatever people ask for
 */
#include <stdlib.h>
#include <string.h>

#include "symbolic/search.h"

struct turns {
	VEC(struct symbolic_search *) part;
	size_t next;
};

static void add(void *arg, uint32_t id)
{
	struct turns *own = arg;
	for (size_t i = 0; i < own->part.n; i++)
		symbolic_search_add(own->part.p[i], id);
}

static void drop(void *arg, uint32_t id)
{
	struct turns *own = arg;
	for (size_t i = 0; i < own->part.n; i++)
		symbolic_search_drop(own->part.p[i], id);
}

static bool take(void *arg, uint32_t *id)
{
	struct turns *own = arg;
	size_t at = own->next;
	own->next = (at + 1) % own->part.n;
	if (!symbolic_search_take(own->part.p[at], id))
		return false;
	for (size_t i = 0; i < own->part.n; i++)
		if (i != at)
			symbolic_search_drop(own->part.p[i], *id);
	return true;
}

/* Ranks of different searchers cannot be compared: the last one's count. */
static double rank(void *arg, uint32_t id)
{
	struct turns *own = arg;
	return symbolic_search_rank(own->part.p[own->part.n - 1], id);
}

static void stop(void *arg)
{
	struct turns *own = arg;
	for (size_t i = 0; i < own->part.n; i++)
		symbolic_search_free(own->part.p[i]);
	VEC_FREE(&own->part);
	free(own);
}

static void *start_parts(struct symbolic_search *q, const char *list)
{
	struct turns *own = xcalloc(1, sizeof *own);
	char *names = xstrdup(list), *rest = names;
	for (char *name; (name = strsep(&rest, "+"));)
		VEC_PUSH(&own->part, symbolic_search_part(q, name));
	free(names);
	return own;
}

static void *start_turns(struct symbolic_search *q)
{
	return start_parts(q, symbolic_search_name(q));
}

static void *start_coverage(struct symbolic_search *q)
{
	return start_parts(q, "random-path+new-code");
}

const struct symbolic_searcher symbolic_searcher_turns = {
	.name = "a+b",
	.about = "several in turn",
	.start = start_turns,
	.add = add,
	.take = take,
	.drop = drop,
	.rank = rank,
	.stop = stop,
};

const struct symbolic_searcher symbolic_searcher_coverage = {
	.name = "coverage",
	.about = "random-path and new-code in turn, as KLEE does by default",
	.start = start_coverage,
	.add = add,
	.take = take,
	.drop = drop,
	.rank = rank,
	.stop = stop,
};
