/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of input bytes: each one once, as sorted runs that do not touch. Most joins have been made
 * before (a loop joins the same sets again and again), so pairs are remembered.
 */
#include <stdlib.h>
#include <string.h>

#include "solve/internal.h"

static bool same(const struct pool *p, uint32_t id, const struct run *r, size_t n)
{
	const struct set *s = &p->set.p[id];
	return s->n == n && !memcmp(p->run.p + s->at, r, n * sizeof *r);
}

static uint32_t intern(struct pool *p, const struct run *r, size_t n)
{
	uint64_t key = hash_bytes(r, n * sizeof *r), id;
	struct set s = { .at = (uint32_t)p->run.n, .n = (uint32_t)n };
	for (; hmap_get(&p->set_of, key, &id); key++)
		if (same(p, (uint32_t)id, r, n))
			return (uint32_t)id;
	for (size_t i = 0; i < n; i++) {
		s.size += r[i].to - r[i].from + 1;
		VEC_PUSH(&p->run, r[i]);
	}
	VEC_PUSH(&p->set, s);
	hmap_put(&p->set_of, key, p->set.n - 1);
	return (uint32_t)p->set.n - 1;
}

uint32_t solve_pool_set_single(struct pool *p, uint32_t byte)
{
	struct run r = { byte, byte };
	return intern(p, &r, 1);
}

static uint32_t join(struct pool *p, const struct set *a, const struct set *b)
{
	uint32_t i = 0, j = 0;
	p->scratch.n = 0;
	while (i < a->n || j < b->n) {
		const struct run *x = p->run.p + a->at + i, *y = p->run.p + b->at + j;
		struct run r, *last;
		if (j == b->n || (i < a->n && x->from <= y->from)) {
			r = *x;
			i++;
		} else {
			r = *y;
			j++;
		}
		last = p->scratch.n ? &p->scratch.p[p->scratch.n - 1] : NULL;
		if (last && r.from <= last->to + 1)
			last->to = r.to > last->to ? r.to : last->to;
		else
			VEC_PUSH(&p->scratch, r);
	}
	return intern(p, p->scratch.p, p->scratch.n);
}

uint32_t solve_pool_set_join(struct pool *p, uint32_t a, uint32_t b)
{
	uint64_t key, id;
	struct set sa, sb;
	if (a == b || !b)
		return a;
	if (!a)
		return b;
	key = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
	if (hmap_get(&p->set_union, key, &id))
		return (uint32_t)id;
	sa = p->set.p[a]; /* copies: interning moves the sets */
	sb = p->set.p[b];
	id = join(p, &sa, &sb);
	hmap_put(&p->set_union, key, id);
	return (uint32_t)id;
}

bool solve_pool_set_has(const struct pool *p, const struct set *s, uint32_t byte)
{
	const struct run *run = p->run.p + s->at;
	size_t at = BISECT(i, s->n, run[i].to < byte);
	return at < s->n && run[at].from <= byte;
}

const uint32_t *solve_pool_set_bytes(const struct pool *p, uint32_t id)
{
	struct set *s = &p->set.p[id];
	size_t n = 0;
	if (s->byte || !s->size)
		return s->byte;
	s->byte = xmalloc(s->size * sizeof *s->byte);
	for (uint32_t i = 0; i < s->n; i++)
		for (uint32_t b = p->run.p[s->at + i].from; b <= p->run.p[s->at + i].to; b++)
			s->byte[n++] = b;
	((struct pool *)p)->table_bytes += s->size * sizeof *s->byte;
	return s->byte;
}

static size_t map_memory(const struct hmap *m)
{
	return m->cap * (sizeof *m->key + sizeof *m->val + sizeof *m->used);
}

size_t solve_pool_sets_memory(const struct pool *p)
{
	return p->set.cap * sizeof *p->set.p + p->run.cap * sizeof *p->run.p +
	       map_memory(&p->set_of) + map_memory(&p->set_union) + map_memory(&p->table_of);
}

void solve_pool_sets_free(struct pool *p)
{
	for (size_t i = 0; i < p->set.n; i++)
		free(p->set.p[i].byte);
	VEC_FREE(&p->set);
	VEC_FREE(&p->run);
	VEC_FREE(&p->scratch);
	hmap_free(&p->set_of);
	hmap_free(&p->set_union);
}
