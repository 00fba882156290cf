/* SPDX-License-Identifier: BSD-3-Clause */
/* The heap of searchers. */
#include "symbolic/search.h"

bool symbolic_heap_above(const struct symbolic_heap_item *a, const struct symbolic_heap_item *b)
{
	if (a->key[0] != b->key[0])
		return a->key[0] > b->key[0];
	if (a->key[1] != b->key[1])
		return a->key[1] > b->key[1];
	return a->order < b->order;
}

static void swap(struct symbolic_heap *h, size_t a, size_t b)
{
	struct symbolic_heap_item t = h->v.p[a];
	h->v.p[a] = h->v.p[b];
	h->v.p[b] = t;
}

static void sink(struct symbolic_heap *h, size_t i)
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

static void rise(struct symbolic_heap *h, size_t i)
{
	for (; i && symbolic_heap_above(&h->v.p[i], &h->v.p[(i - 1) / 2]); i = (i - 1) / 2)
		swap(h, i, (i - 1) / 2);
}

void symbolic_heap_push(struct symbolic_heap *h, struct symbolic_heap_item item)
{
	VEC_PUSH(&h->v, item);
	rise(h, h->v.n - 1);
}

bool symbolic_heap_pop(struct symbolic_heap *h, struct symbolic_heap_item *out)
{
	if (!h->v.n)
		return false;
	*out = h->v.p[0];
	h->v.p[0] = h->v.p[--h->v.n];
	sink(h, 0);
	return true;
}

/* In no hurry: only searchers that are joined need it. */
void symbolic_heap_drop(struct symbolic_heap *h, uint32_t candidate)
{
	size_t i = 0;
	while (i < h->v.n && h->v.p[i].candidate != candidate)
		i++;
	if (i == h->v.n)
		return;
	h->v.p[i] = h->v.p[--h->v.n];
	rise(h, i);
	sink(h, i);
}

void symbolic_heap_fix(struct symbolic_heap *h)
{
	for (size_t i = h->v.n / 2; i-- > 0;)
		sink(h, i);
}
