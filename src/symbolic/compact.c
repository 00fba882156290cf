/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What to give up when memory runs out.
 *
 * Expressions and steps are only needed along the paths to candidates. So half of the
 * candidates goes, mostly lower ones (the searcher ranks them), and then
 *
 *   - a step that no candidate lies below is closed: what is under it is forgotten, and a run that comes
 *     there later adds nothing; the step itself stays, as it says that this was tried;
 *   - the conditions that are left are copied into a new pool, and the solver starts afresh.
 *
 *   before   root ─ a ─ b ─ c              after   root ─ a ─ b ─ (c, closed)
 *                    \     \─ d ← candidate             \     \─ d ← candidate
 *                     \─ e ─ f ─ g                        \─ (e, closed)
 *
 * What stays for good are fingerprints of paths and inputs, some bytes each.
 */
#include <stdlib.h>

#include "symbolic/internal.h"

#define ENOUGH 256u /* candidates: fewer are not given up */

size_t symbolic_memory(const struct symbolic *s)
{
	size_t slots = s->leaf.cap + s->behaviour.cap + s->made.cap + s->cover.vex.cap +
		       s->cover.block.cap + s->cover.way.cap + s->cover.follows.cap;
	return solve_pool_memory(s->pool) + symbolic_tree_memory(&s->tree) +
	       symbolic_candidates_memory(&s->candidates) + slots * 17 +
	       s->cover.ways.cap * sizeof(struct symbolic_way);
}

/* ---- candidates ---- */

struct ranked {
	double rank;
	uint32_t id;
};

static int lowest_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* A few of the lower ones stay, so that no part of the program is given up altogether. */
static void drop_half(struct symbolic *s)
{
	VEC(struct ranked) v = { 0 };
	for (uint32_t i = 0; i < s->candidates.v.n; i++) {
		const struct candidate *c = &s->candidates.v.p[i];
		struct ranked r = { 0, i };
		if (c->why == SYMBOLIC_SEED || c->why == SYMBOLIC_MISS)
			continue;
		r.rank = symbolic_search_rank(s->search, i);
		VEC_PUSH(&v, r);
	}
	if (v.n > ENOUGH)
		qsort(v.p, v.n, sizeof *v.p, lowest_first);
	for (size_t i = 0; v.n > ENOUGH && i < v.n / 3 * 2; i++)
		if (i % 4) {
			symbolic_candidate_drop(s, v.p[i].id);
			s->stats.dropped++;
		}
	VEC_FREE(&v);
}

/* ---- steps ---- */

enum keep { KEEP_NOT, KEEP_CLOSED, KEEP_OPEN };

static void keep_path(const struct symbolic *s, uint8_t *keep, uint32_t at)
{
	for (; keep[at] != KEEP_OPEN; at = s->tree.step.p[at].parent)
		keep[at] = KEEP_OPEN;
}

static uint8_t *what_to_keep(const struct symbolic *s)
{
	uint8_t *keep = xcalloc(s->tree.step.n, 1);
	keep[0] = KEEP_OPEN;
	for (size_t i = 0; i < s->candidates.v.n; i++)
		if (s->candidates.v.p[i].why != SYMBOLIC_SEED)
			keep_path(s, keep, s->candidates.v.p[i].step);
	for (size_t i = 0; i < s->active.n; i++) {
		uint32_t at = symbolic_tree_find(&s->tree, s->active.p[i]->in.before);
		if (at != SYMBOLIC_NONE)
			keep_path(s, keep, at);
	}
	for (size_t i = 1; i < s->tree.step.n; i++)
		if (!keep[i] && keep[s->tree.step.p[i].parent] == KEEP_OPEN)
			keep[i] = KEEP_CLOSED;
	return keep;
}

/* Values tried below prefixes that are closed are not asked for again. */
static void drop_targets(struct symbolic *s)
{
	struct candidates *c = &s->candidates;
	size_t n = 0;
	hmap_free(&c->by_prefix);
	for (size_t i = 0; i < c->targets.n; i++) {
		struct targets *t = &c->targets.p[i];
		uint32_t at = symbolic_tree_find(&s->tree, t->prefix);
		if (at == SYMBOLIC_NONE || s->tree.step.p[at].closed) {
			VEC_FREE(&t->value);
			continue;
		}
		hmap_put(&c->by_prefix, t->key, n);
		c->targets.p[n++] = *t;
	}
	c->targets.n = n;
}

static void prune(struct symbolic *s)
{
	uint8_t *keep = what_to_keep(s);
	uint32_t *now = xcalloc(s->tree.step.n, sizeof *now);
	struct tree old = s->tree;
	s->tree = (struct tree){ 0 };
	symbolic_tree_init(&s->tree);
	for (size_t i = 1; i < old.step.n; i++) {
		struct step step = old.step.p[i];
		if (!keep[i])
			continue;
		step.parent = now[step.parent];
		step.closed = keep[i] == KEEP_CLOSED;
		if (step.closed)
			step.cond = step.node = 0;
		now[i] = symbolic_tree_add(&s->tree, &step);
	}
	for (size_t i = 0; i < s->candidates.v.n; i++)
		if (s->candidates.v.p[i].why != SYMBOLIC_SEED)
			s->candidates.v.p[i].step = now[s->candidates.v.p[i].step];
	symbolic_tree_free(&old);
	drop_targets(s);
	free(keep);
	free(now);
}

/* ---- expressions ---- */

/* Runs that are under way have nodes of their own. */
static void copy_run(struct symbolic_run *run, struct copy *c)
{
	for (size_t i = 0; i < run->node.n; i++)
		run->node.p[i].e = symbolic_copy(c, run->node.p[i].e);
	hmap_free(&run->on_path);
	for (size_t i = 0; i < run->path.n; i++) {
		struct decision *d = &run->path.p[i];
		d->node = symbolic_copy(c, d->node);
		d->cond = symbolic_copy(c, d->cond);
		hmap_put(&run->on_path, d->cond, 1);
	}
	for (size_t i = 0; i < run->miss.store.n; i++)
		run->miss.store.p[i].node = symbolic_copy(c, run->miss.store.p[i].node);
	for (size_t i = 0; i < run->miss.flush.n; i++)
		run->miss.flush.p[i].node = symbolic_copy(c, run->miss.flush.p[i].node);
	for (size_t i = 0; i < run->accesses.n; i++)
		run->accesses.p[i].what.node = symbolic_copy(c, run->accesses.p[i].what.node);
	run->store.node = symbolic_copy(c, run->store.node);
	run->flush.node = symbolic_copy(c, run->flush.node);
}

static void new_pool(struct symbolic *s)
{
	struct copy c;
	symbolic_copy_init(&c, s->pool);
	for (size_t i = 0; i < s->candidates.v.n; i++)
		if (s->candidates.v.p[i].why != SYMBOLIC_SEED)
			s->candidates.v.p[i].goal = symbolic_copy(&c, s->candidates.v.p[i].goal);
	for (size_t i = 0; i < s->tree.step.n; i++) {
		struct step *step = &s->tree.step.p[i];
		step->cond = symbolic_copy(&c, step->cond);
		step->node = symbolic_copy(&c, step->node);
	}
	for (size_t i = 0; i < s->active.n; i++)
		copy_run(s->active.p[i], &c);
	symbolic_retire_solver(s);
	solve_pool_free(s->pool);
	s->pool = c.to;
	s->solver = symbolic_solver(s);
	symbolic_copy_free(&c);
}

/* Room for a quarter more before the next time: if little can be done, it is not tried at each run. */
void symbolic_compact_if_needed(struct symbolic *s)
{
	size_t most = s->opts.max_memory, memory = symbolic_memory(s);
	if (!most || memory <= most || memory <= s->compact_at)
		return;
	do {
		drop_half(s);
		prune(s);
		symbolic_search_restart(s->search);
		new_pool(s);
		memory = symbolic_memory(s);
	} while (memory > most && s->candidates.n > ENOUGH);
	s->compact_at = memory / 4 * 5;
}
