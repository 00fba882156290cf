/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of strategies, and the heap that some of them use. */
#include <stdlib.h>
#include <string.h>

#include "symbolic/strategy.h"

static const struct strategy *const table[] = {
	&symbolic_strategy_pm,  &symbolic_strategy_coverage, &symbolic_strategy_dfs,
	&symbolic_strategy_bfs, &symbolic_strategy_random,
};
#define COUNT (sizeof table / sizeof *table)

const struct strategy *symbolic_strategy_find(const char *name)
{
	for (size_t i = 0; name && i < COUNT; i++)
		if (strcmp(table[i]->name, name) == 0)
			return table[i];
	return name ? NULL : table[0];
}

const char *symbolic_search_at(size_t i, const char **about)
{
	*about = i < COUNT ? table[i]->help : NULL;
	return i < COUNT ? table[i]->name : NULL;
}

/* Candidates come in the order in which they were found. */
void symbolic_strategy_restart(struct symbolic *s)
{
	struct heap order = { 0 };
	struct heap_item item;

	s->strategy->stop(s->strategy_own);
	s->strategy_own = s->strategy->start(s);
	for (uint32_t i = 0; i < s->candidates.v.n; i++) {
		const struct candidate *c = strategy_candidate(s, i);

		if (c->why != SYMBOLIC_SEED && c->why != SYMBOLIC_MISS)
			symbolic_heap_push(
				&order, (struct heap_item){ .order = c->serial, .candidate = i });
	}
	while (symbolic_heap_pop(&order, &item))
		s->strategy->add(s->strategy_own, item.candidate);
	VEC_FREE(&order.v);
}

/* ---- heap ---- */

bool symbolic_heap_above(const struct heap_item *a, const struct heap_item *b)
{
	if (a->key[0] != b->key[0])
		return a->key[0] > b->key[0];
	if (a->key[1] != b->key[1])
		return a->key[1] > b->key[1];
	return a->order < b->order;
}

static void swap(struct heap *h, size_t a, size_t b)
{
	struct heap_item t = h->v.p[a];

	h->v.p[a] = h->v.p[b];
	h->v.p[b] = t;
}

static void sink(struct heap *h, size_t i)
{
	for (size_t top = i, k;; i = top) {
		for (k = 2 * i + 1; k <= 2 * i + 2 && k < h->v.n; k++)
			if (symbolic_heap_above(&h->v.p[k], &h->v.p[top]))
				top = k;
		if (top == i)
			return;
		swap(h, i, top);
	}
}

void symbolic_heap_push(struct heap *h, struct heap_item item)
{
	size_t i = h->v.n;

	VEC_PUSH(&h->v, item);
	for (; i && symbolic_heap_above(&h->v.p[i], &h->v.p[(i - 1) / 2]); i = (i - 1) / 2)
		swap(h, i, (i - 1) / 2);
}

bool symbolic_heap_pop(struct heap *h, struct heap_item *out)
{
	if (!h->v.n)
		return false;
	*out = h->v.p[0];
	h->v.p[0] = h->v.p[--h->v.n];
	sink(h, 0);
	return true;
}

void symbolic_heap_fix(struct heap *h)
{
	for (size_t i = h->v.n / 2; i-- > 0;)
		sink(h, i);
}
