/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs of places: which flush persists which store, which flush comes before which. */
#include <stdlib.h>

#include "check/internal.h"

struct pair *check_pair_hit(struct pairs *p, model_where a, model_where b, uint64_t count)
{
	unsigned slot = (a * 31 ^ b) % PAIRS_RECENT;
	uint64_t key = (uint64_t)a << 32 | b, i;
	if (p->recent[slot]) {
		struct pair *same = &p->v.p[p->recent[slot] - 1];
		if (same->a == a && same->b == b) {
			same->count += count;
			return same;
		}
	}
	if (!hmap_get(&p->at, key, &i)) {
		struct pair new = { .a = a, .b = b };
		hmap_put(&p->at, key, i = p->v.n);
		VEC_PUSH(&p->v, new);
	}
	p->v.p[i].count += count;
	p->recent[slot] = (uint32_t)i + 1;
	return &p->v.p[i];
}

void check_pairs_free(struct pairs *p)
{
	VEC_FREE(&p->v);
	hmap_free(&p->at);
}

bool check_same_function(const struct srcloc_frame *a, const struct srcloc_frame *b)
{
	return a->function && a->function == b->function && a->file == b->file;
}

/* The function of frame f is on the path of the place, above its main frame and below the root. */
static bool among_callers(const struct srcloc_frame *f, const struct finding_place *place)
{
	const struct srcloc_frame *at = finding_main_frame(place);
	for (size_t i = (size_t)(at - place->frame); i + 1 < place->n; i++)
		if (check_same_function(f, &place->frame[i]))
			return true;
	return false;
}

bool check_related(struct check *c, model_where a, model_where b)
{
	const struct finding_place *x = check_place(c, a), *y = check_place(c, b);
	const struct srcloc_frame *f = finding_main_frame(x), *g = finding_main_frame(y);
	if (!f || !g)
		return a == b;
	return check_same_function(f, g) || among_callers(f, y) || among_callers(g, x);
}

bool check_inside(struct oracle_state *o, model_where store, model_where other)
{
	struct pair *p = check_pair_hit(&o->inside, store, other, 1);
	if (!p->near) {
		const struct srcloc_frame *f = finding_main_frame(check_place(o->check, store));
		const struct finding_place *at = check_place(o->check, other);
		p->near = f ? 1 : 2;
		for (size_t i = 0; f && i < at->n; i++)
			if (check_same_function(f, &at->frame[i]))
				p->near = 2;
	}
	return p->near == 2;
}

#define NEAR 2u /* the function that stores, and its caller */

/* The first functions of a path that are neither a library's nor, but for the first, the root. */
static size_t nearest(const struct finding_place *p, const struct srcloc_frame *out[NEAR])
{
	size_t n = 0;
	for (size_t i = 0; i < p->n && n < NEAR; i++)
		if (!finding_is_library(&p->frame[i]) && (!n || i + 1 < p->n))
			out[n++] = &p->frame[i];
	return n;
}

/* Functions that store to PM, themselves or by one that copies to where it is told: their flushes are for
 * what they store. */
static void learn_stores(struct oracle_state *o)
{
	for (; o->places < model_places(o->check->model); o->places++) {
		const struct model_place *p = model_place(o->check->model, o->places);
		const struct srcloc_frame *f[NEAR];
		enum finding_act act;
		if (!p->ip || !finding_act_of(p->class, p->stores, &act) || act != FINDING_STORES)
			continue;
		size_t n = nearest(check_place(o->check, o->places), f);
		for (size_t i = 0; i < n && (!i || f[i - 1]->takes & SRCLOC_TAKES_COPY); i++)
			hmap_put(&o->storing, check_function_key(f[i]), 1);
	}
}

/*
 * From the flush upwards: functions that do not store may be helpers. If the function that stored, or
 * its caller, comes before another one that stores, the flush is made for it.
 */
static bool is_near(struct oracle_state *o, model_where store, model_where flush)
{
	const struct finding_place *s = check_place(o->check, store);
	const struct finding_place *f = check_place(o->check, flush);
	const struct srcloc_frame *around[NEAR];
	size_t n = nearest(s, around);
	bool others = false;
	uint64_t old;
	if (!n) /* nothing is known of the code */
		return true;
	learn_stores(o);
	for (size_t k = 0; k < f->n; k++) {
		if (finding_is_library(&f->frame[k]))
			continue;
		if (check_same_function(around[0], &f->frame[k]) ||
		    (n > 1 && !others && check_same_function(around[1], &f->frame[k])))
			return true;
		if (k + 1 < f->n)
			others |= hmap_get(&o->storing, check_function_key(&f->frame[k]), &old);
	}
	return s->n <= 2 && !others; /* a setter and a helper, both called by main */
}

/* The function that stores comes to the flush, or to the call that leads there, first. */
static bool is_after(struct check *c, model_where store, model_where flush)
{
	const struct finding_place *at = check_place(c, flush);
	const struct srcloc_frame *f = finding_main_frame(check_place(c, store));
	for (size_t i = 0; f && i < at->n; i++)
		if (check_same_function(f, &at->frame[i]))
			return f->line > at->frame[i].line && at->frame[i].line;
	return false;
}

bool check_near(struct oracle_state *o, model_where store, model_where flush)
{
	struct pair *p = check_pair_hit(&o->pairs, store, flush, 1);
	if (!p->near)
		p->near = !is_near(o, store, flush)          ? CHECK_NOT_NEAR
			  : is_after(o->check, store, flush) ? CHECK_NEAR_AFTER
							     : CHECK_NEAR;
	return p->near >= CHECK_NEAR;
}

bool check_near_after(struct oracle_state *o, model_where store, model_where flush)
{
	return check_pair_hit(&o->pairs, store, flush, 0)->near == CHECK_NEAR_AFTER;
}

bool check_shares_path(struct check *c, model_where store, model_where flush)
{
	const struct finding_place *f = check_place(c, flush);
	const struct srcloc_frame *around[NEAR];
	size_t n = nearest(check_place(c, store), around);
	size_t first = c->user.p[store] && n > 1; /* everybody uses setters */
	for (size_t i = first; i < n; i++)
		for (size_t k = 0; k < f->n; k++)
			if (check_same_function(around[i], &f->frame[k]))
				return true;
	return !n;
}
