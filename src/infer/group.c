/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Epochs that are alike (Neal, 4.4.4). Those with the same fields in the same order are of one shape, and are kept as
 * a number and an example or two for each set of statements that makes them. Shapes go into groups from the largest
 * to the smallest: into every group whose representative has all of its fields and orders them no more, or else into one
 * of its own, which it represents.
 *
 * A field that an epoch stores to several times is one: it is before another if all of its updates are before all of
 * the other's.
 */
#include <stdlib.h>
#include <string.h>

#include "infer/behaviour.h"

static int by_field(const void *a, const void *b)
{
	const struct infer_span *x = a, *y = b;
	return (x->field > y->field) - (x->field < y->field);
}

/* ---- shapes ---- */

static bool same_shape(const struct infer_shape *a, const struct infer_shape *b)
{
	return a->type == b->type && a->fields == b->fields &&
	       !memcmp(a->field, b->field, a->fields * sizeof *a->field) &&
	       !memcmp(a->after, b->after, a->fields * sizeof *a->after);
}

static void *copy(const void *p, size_t n, size_t size)
{
	return memcpy(xmalloc(n * size + 1), p, n * size);
}

static uint32_t shape_of(struct infer_behaviours *b, const struct infer_shape *s)
{
	uint64_t key = hash_seeded(s->field, s->fields * sizeof *s->field,
				   hash_seeded(s->after, s->fields * sizeof *s->after, s->type));
	uint64_t at;
	for (; hmap_get(&b->shape_at, key, &at); key++)
		if (same_shape(&b->shape.p[at].v, s))
			return (uint32_t)at;
	struct infer_shape_own new = { .v = *s };
	new.v.field = copy(s->field, s->fields, sizeof *s->field);
	new.v.after = copy(s->after, s->fields, sizeof *s->after);
	hmap_put(&b->shape_at, key, b->shape.n);
	VEC_PUSH(&b->shape, new);
	return (uint32_t)b->shape.n - 1;
}

/* ---- behaviours ---- */

static struct infer_behaviour *behaviour_of(struct infer_behaviours *b, uint32_t shape,
					    const struct infer_epoch *e)
{
	size_t n = e->statement.n, size = n * sizeof *e->statement.p;
	uint64_t key = hash_seeded(e->statement.p, size, shape), at;
	for (; hmap_get(&b->behaviour_at, key, &at); key++) {
		struct infer_behaviour *v = &b->behaviour.p[at];
		if (v->shape == shape && v->statements == n &&
		    !memcmp(v->statement, e->statement.p, size))
			return v;
	}
	hmap_put(&b->behaviour_at, key, b->behaviour.n);
	VEC_PUSH(&b->shape.p[shape].behaviour, (uint32_t)b->behaviour.n);
	VEC_PUSH(&b->behaviour,
		 ((struct infer_behaviour){ .shape = shape,
					    .statement = copy(e->statement.p, n, sizeof(uint32_t)),
					    .statements = n }));
	return &b->behaviour.p[b->behaviour.n - 1];
}

static void set_example(struct infer_example *x, const struct infer_epoch *e)
{
	free(x->update);
	x->n = e->update.n < INFER_MOST_UPDATES ? e->update.n : INFER_MOST_UPDATES;
	x->update = copy(e->update.p, x->n, sizeof *x->update);
}

void infer_groups_add(struct infer_behaviours *b, const struct infer_epoch *e)
{
	struct infer_span span[INFER_MOST_FIELDS];
	uint32_t field[INFER_MOST_FIELDS];
	uint64_t after[INFER_MOST_FIELDS] = { 0 };
	struct infer_shape s = { e->type, field, after, e->span.n, 0, NULL, 0 };
	memcpy(span, e->span.p, e->span.n * sizeof *span);
	qsort(span, s.fields, sizeof *span, by_field);
	for (size_t i = 0; i < s.fields; i++) {
		field[i] = span[i].field;
		for (size_t k = 0; k < s.fields; k++)
			if (i != k && infer_span_before(&span[k], &span[i])) {
				after[i] |= 1ull << k;
				s.edges++;
			}
	}
	struct infer_behaviour *v = behaviour_of(b, shape_of(b, &s), e);
	v->count++;
	if (v->count == 1)
		set_example(&v->first, e);
	else if (!(v->count & (v->count - 1)))
		set_example(&v->late, e);
	b->named.type.p[e->type].behaviours++;
}

/* ---- groups ---- */

bool infer_represents(const struct infer_shape *r, const struct infer_shape *a)
{
	size_t of[INFER_MOST_FIELDS], at = 0;
	if (r->type != a->type || r->fields < a->fields)
		return false;
	for (size_t i = 0; i < a->fields; i++) {
		while (at < r->fields && r->field[at] < a->field[i])
			at++;
		if (at == r->fields || r->field[at] != a->field[i])
			return false;
		of[i] = at;
	}
	for (size_t i = 0; i < a->fields; i++)
		for (size_t k = 0; k < a->fields; k++)
			if (r->after[of[i]] >> of[k] & 1 && !(a->after[i] >> k & 1))
				return false;
	return true;
}

struct turn {
	uint32_t shape;
	size_t fields, edges;
};

static int by_size(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;
	if (x->fields != y->fields)
		return x->fields > y->fields ? -1 : 1;
	if (x->edges != y->edges)
		return x->edges < y->edges ? -1 : 1;
	return (x->shape > y->shape) - (x->shape < y->shape);
}

/* Into all groups that represent it; first[type] leads to those of its type. */
static void join(struct infer_behaviours *b, uint32_t shape, uint32_t *first)
{
	const struct infer_shape *s = &b->shape.p[shape].v;
	bool joined = false;
	for (uint32_t at = first[s->type]; at; at = b->group.p[at - 1].next) {
		struct infer_group_own *g = &b->group.p[at - 1];
		if (!infer_represents(&b->shape.p[g->v.shape].v, s))
			continue;
		VEC_PUSH(&g->member, shape);
		joined = true;
	}
	if (joined)
		return;
	VEC_PUSH(&b->group,
		 ((struct infer_group_own){ { .shape = shape }, .next = first[s->type] }));
	first[s->type] = (uint32_t)b->group.n;
	VEC_PUSH(&b->group.p[b->group.n - 1].member, shape);
}

/* What is public points to what is behind it, which stays as it is from now on. */
static void publish(struct infer_behaviours *b)
{
	for (size_t i = 0; i < b->shape.n; i++) {
		struct infer_shape_own *s = &b->shape.p[i];
		s->v.behaviour = s->behaviour.p;
		s->v.behaviours = s->behaviour.n;
	}
	for (size_t i = 0; i < b->group.n; i++) {
		struct infer_group_own *g = &b->group.p[i];
		g->v.member = g->member.p;
		g->v.members = g->member.n;
	}
}

void infer_groups_end(struct infer_behaviours *b)
{
	struct turn *turn = xcalloc(b->shape.n + 1, sizeof *turn);
	uint32_t *first = xcalloc(b->named.type.n + 1, sizeof *first);
	for (size_t i = 0; i < b->shape.n; i++)
		turn[i] =
			(struct turn){ (uint32_t)i, b->shape.p[i].v.fields, b->shape.p[i].v.edges };
	qsort(turn, b->shape.n, sizeof *turn, by_size);
	for (size_t i = 0; i < b->shape.n; i++)
		join(b, turn[i].shape, first);
	publish(b);
	free(first);
	free(turn);
}

void infer_groups_free(struct infer_behaviours *b)
{
	for (size_t i = 0; i < b->shape.n; i++) {
		free((uint32_t *)b->shape.p[i].v.field);
		free((uint64_t *)b->shape.p[i].v.after);
		VEC_FREE(&b->shape.p[i].behaviour);
	}
	for (size_t i = 0; i < b->behaviour.n; i++) {
		free(b->behaviour.p[i].first.update);
		free(b->behaviour.p[i].late.update);
		free(b->behaviour.p[i].statement);
	}
	for (size_t i = 0; i < b->group.n; i++)
		VEC_FREE(&b->group.p[i].member);
	VEC_FREE(&b->shape);
	VEC_FREE(&b->behaviour);
	VEC_FREE(&b->group);
	hmap_free(&b->shape_at);
	hmap_free(&b->behaviour_at);
}
