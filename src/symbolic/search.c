/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of searchers, a searcher at work, and the answers to what it may ask. */
#include <stdlib.h>
#include <string.h>

#include "symbolic/internal.h"

/* A row NAME is the struct symbolic_searcher_NAME of one file search_*.c. The default is the first. */
#define SEARCHERS(X)                                                                               \
	X(pm)                                                                                      \
	X(coverage)                                                                                \
	X(dfs)                                                                                     \
	X(bfs)                                                                                     \
	X(random)                                                                                  \
	X(random_path)                                                                             \
	X(new_code)

#define X(name) extern const struct symbolic_searcher symbolic_searcher_##name;
SEARCHERS(X)
#undef X
extern const struct symbolic_searcher symbolic_searcher_turns; /* "a+b" */

static const struct symbolic_searcher *const table[] = {
#define X(name) &symbolic_searcher_##name,
	SEARCHERS(X)
#undef X
};
#define COUNT (sizeof table / sizeof *table)

const char *symbolic_search_at(size_t i, const char **about)
{
	*about = i < COUNT ? table[i]->about : NULL;
	return i < COUNT ? table[i]->name : NULL;
}

static const struct symbolic_searcher *find(const char *name)
{
	size_t i = name ? name_find(symbolic_search_at, name, strlen(name)) : 0;
	if (i < COUNT)
		return table[i];
	return names_known(symbolic_search_at, name, "+") ? &symbolic_searcher_turns : NULL;
}

/* ---- at work ---- */

struct symbolic_search {
	struct symbolic *s;
	const struct symbolic_searcher *searcher;
	char *name;
	void *own;
};

struct symbolic_search *symbolic_search_new(struct symbolic *s, const char *name)
{
	const struct symbolic_searcher *searcher = find(name);
	struct symbolic_search *q;
	if (!searcher)
		return NULL;
	q = xcalloc(1, sizeof *q);
	q->s = s;
	q->searcher = searcher;
	q->name = xstrdup(name ? name : searcher->name);
	q->own = searcher->start(q);
	return q;
}

struct symbolic_search *symbolic_search_part(struct symbolic_search *q, const char *name)
{
	return symbolic_search_new(q->s, name);
}

void symbolic_search_free(struct symbolic_search *q)
{
	if (!q)
		return;
	q->searcher->stop(q->own);
	free(q->name);
	free(q);
}

void symbolic_search_add(struct symbolic_search *q, uint32_t candidate)
{
	q->searcher->add(q->own, candidate);
}

bool symbolic_search_take(struct symbolic_search *q, uint32_t *candidate)
{
	return q->searcher->take(q->own, candidate);
}

void symbolic_search_drop(struct symbolic_search *q, uint32_t candidate)
{
	q->searcher->drop(q->own, candidate);
}

double symbolic_search_rank(struct symbolic_search *q, uint32_t candidate)
{
	return q->searcher->rank(q->own, candidate);
}

/* Candidates come in the order in which they were found. */
void symbolic_search_restart(struct symbolic_search *q)
{
	struct symbolic_heap order = { 0 };
	struct symbolic_heap_item item;
	const struct candidates *all = &q->s->candidates;
	q->searcher->stop(q->own);
	q->own = q->searcher->start(q);
	for (uint32_t i = 0; i < all->v.n; i++) {
		const struct candidate *c = &all->v.p[i];
		item = (struct symbolic_heap_item){ .order = c->serial, .candidate = i };
		if (c->why != SYMBOLIC_SEED && c->why != SYMBOLIC_MISS)
			symbolic_heap_push(&order, item);
	}
	while (symbolic_heap_pop(&order, &item))
		symbolic_search_add(q, item.candidate);
	VEC_FREE(&order.v);
}

/* ---- answers ---- */

const char *symbolic_search_name(const struct symbolic_search *q)
{
	return q->name;
}

struct symbolic_candidate symbolic_search_candidate(const struct symbolic_search *q, uint32_t id)
{
	const struct candidate *c = &q->s->candidates.v.p[id];
	return (struct symbolic_candidate){
		.serial = c->serial,
		.run = q->s->candidates.base.p[c->base].run,
		.age = c->age,
		.depth = c->depth,
		.step = c->step,
		.source = c->why == SYMBOLIC_LONGER ? c->source + 1 : 0,
		.way = c->way,
		.was = c->was,
		.round = c->round,
		.line = c->line,
		.open = c->open,
		.open_line = c->open_line,
		.branch = c->why == SYMBOLIC_BRANCH,
		.pin = c->why == SYMBOLIC_TARGET && c->kind != SYM_JUMP,
		.fresh = c->fresh,
		.dry = c->dry,
	};
}

uint32_t symbolic_search_priority(const struct symbolic_search *q, uint32_t id)
{
	struct symbolic *s = q->s;
	struct candidate *c = &s->candidates.v.p[id];
	if (c->version != s->priority_version) {
		uint64_t ip = c->why != SYMBOLIC_TARGET ? s->cover.ways.p[c->way].target : c->ip;
		c->priority = s->priority(s, ip, c->stack);
		c->version = s->priority_version;
	}
	return c->priority;
}

uint64_t symbolic_search_priorities(const struct symbolic_search *q)
{
	symbolic_update(q->s);
	return q->s->priority_version;
}

const struct symbolic_way *symbolic_search_way(const struct symbolic_search *q, uint32_t way)
{
	return &q->s->cover.ways.p[way];
}

size_t symbolic_search_ways(const struct symbolic_search *q)
{
	return q->s->cover.ways.n;
}

bool symbolic_search_is_new(const struct symbolic_search *q, uint32_t way)
{
	const struct symbolic_way *w = symbolic_search_way(q, way);
	return w->kind == SYM_COND && !symbolic_cover_known(q->s, w);
}

bool symbolic_search_is_jump(const struct symbolic_search *q, uint32_t way)
{
	const struct symbolic_way *w = symbolic_search_way(q, way);
	return w->kind == SYM_COND || w->kind == SYM_JUMP;
}

bool symbolic_search_follow(const struct symbolic_search *q, size_t i, uint32_t *way, uint64_t *ip)
{
	const struct cover *c = &q->s->cover;
	if (i >= c->follow.n)
		return false;
	*way = c->follow.p[i].way;
	*ip = c->follow.p[i].ip;
	return true;
}

uint64_t symbolic_search_coverage(const struct symbolic_search *q)
{
	const struct cover *c = &q->s->cover;
	return c->version + c->ways.n + c->follow.n; /* none of them ever falls */
}

size_t symbolic_search_steps(const struct symbolic_search *q)
{
	return q->s->tree.step.n;
}

uint32_t symbolic_search_parent(const struct symbolic_search *q, uint32_t step)
{
	return q->s->tree.step.p[step].parent;
}

uint32_t symbolic_search_child(const struct symbolic_search *q, uint32_t step)
{
	return q->s->tree.step.p[step].child;
}

uint32_t symbolic_search_sibling(const struct symbolic_search *q, uint32_t step)
{
	return q->s->tree.step.p[step].next;
}

size_t symbolic_search_sources(const struct symbolic_search *q)
{
	return q->s->opts.nsource;
}

uint64_t symbolic_search_random(const struct symbolic_search *q)
{
	return symbolic_random(q->s);
}

uint64_t symbolic_search_seed(const struct symbolic_search *q)
{
	return q->s->opts.random;
}
