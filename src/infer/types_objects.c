/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects that typed stores show. "n->next = x" of a struct node shows that there is one, at the address that
 * was stored to less the offset of next: other stores within its bounds are to it, too, whoever makes them. Where objects
 * lie in others, or memory is used again for something else, the largest wins.
 */
#include <stdlib.h>

#include "infer/behaviour.h"

#define RECENT 65536u /* that are remembered, so as not to note them again */

static int by_base(const void *a, const void *b)
{
	const struct infer_object *x = a, *y = b;
	if (x->base != y->base)
		return x->base < y->base ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return (x->type > y->type) - (x->type < y->type);
}

/* Each once, in order. */
static void tidy(struct infer_objects *o)
{
	size_t kept = 0;
	hmap_free(&o->recent);
	if (!o->v.n)
		return;
	qsort(o->v.p, o->v.n, sizeof *o->v.p, by_base);
	for (size_t i = 0; i < o->v.n; i++)
		if (kept && !by_base(&o->v.p[kept - 1], &o->v.p[i]))
			o->v.p[kept - 1].updates += o->v.p[i].updates;
		else
			o->v.p[kept++] = o->v.p[i];
	o->v.n = o->sorted = kept;
}

void infer_objects_add(struct infer_objects *o, struct infer_object new)
{
	uint64_t key = hash_mix(new.base, new.type), at;
	if (hmap_get(&o->recent, key, &at)) {
		o->v.p[at].updates++;
		return;
	}
	if (o->recent.n == RECENT)
		hmap_free(&o->recent);
	if (o->v.n > 2 * o->sorted + RECENT)
		tidy(o);
	hmap_put(&o->recent, key, o->v.n);
	new.updates = 1;
	VEC_PUSH(&o->v, new);
}

/* Of two that overlap. Two of one type cannot: what more updates say is right. */
static bool wins(const struct infer_object *x, const struct infer_object *over)
{
	if (x->type == over->type)
		return x->updates > over->updates;
	return x->end - x->base > over->end - over->base;
}

void infer_objects_sort(struct infer_objects *o, struct infer_named *named)
{
	size_t kept = 0;
	tidy(o);
	for (size_t i = 0; i < o->v.n; i++) {
		const struct infer_object *x = &o->v.p[i];
		struct infer_object *last = kept ? &o->v.p[kept - 1] : NULL;
		bool over = last && x->base < last->end;
		named->type.p[x->type].objects += !over || x->type != last->type;
		if (!over)
			o->v.p[kept++] = *x;
		else if (wins(x, last))
			*last = *x;
	}
	o->v.n = kept;
}

const struct infer_object *infer_objects_around(struct infer_objects *o, uint64_t byte)
{
	const struct infer_object *last = o->last < o->v.n ? &o->v.p[o->last] : NULL;
	if (last && last->base <= byte && byte < last->end)
		return last;
	size_t at = BISECT(i, o->v.n, o->v.p[i].base <= byte);
	if (!at || o->v.p[at - 1].end <= byte)
		return NULL;
	o->last = at - 1;
	return &o->v.p[o->last];
}

void infer_objects_free(struct infer_objects *o)
{
	VEC_FREE(&o->v);
	hmap_free(&o->recent);
}
