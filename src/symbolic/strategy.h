/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Search strategies: which candidate is next. One file each, one row of strategy.c's table each.
 *
 * A strategy holds numbers of candidates (struct candidate in symbolic.candidates.v); each is added
 * once and taken once. Coverage and priorities change as runs come in: symbolic.cover.version and
 * symbolic.priority_version say so.
 */
#ifndef HOLDFAST_SYMBOLIC_STRATEGY_H
#define HOLDFAST_SYMBOLIC_STRATEGY_H

#include "symbolic/internal.h"

struct strategy {
	const char *name, *help;
	void *(*start)(struct symbolic *);
	void (*add)(void *own, uint32_t candidate);
	bool (*take)(void *own, uint32_t *candidate); /* false: there is none */
	/* When memory runs out, the lowest go first. */
	double (*rank)(void *own, uint32_t candidate);
	void (*stop)(void *own);
};
const struct strategy *symbolic_strategy_find(const char *name); /* NULL: the default */
void symbolic_strategy_restart(struct symbolic *); /* forgets all, then takes in what there is */

extern const struct strategy symbolic_strategy_pm;
extern const struct strategy symbolic_strategy_coverage;
extern const struct strategy symbolic_strategy_dfs;
extern const struct strategy symbolic_strategy_bfs;
extern const struct strategy symbolic_strategy_random;

/* A heap: the item with the greatest key is on top; equal keys: the smaller `order`. */
struct heap_item {
	uint64_t key[2];
	uint64_t order;
	uint32_t candidate;
};
struct heap {
	VEC(struct heap_item) v;
};
void symbolic_heap_push(struct heap *, struct heap_item);
bool symbolic_heap_pop(struct heap *, struct heap_item *out);
bool symbolic_heap_above(const struct heap_item *,
			 const struct heap_item *); /* a is taken before b */
void symbolic_heap_fix(struct heap *);              /* after keys were changed in place */

static inline struct candidate *strategy_candidate(struct symbolic *s, uint32_t id)
{
	return &s->candidates.v.p[id];
}

#endif
