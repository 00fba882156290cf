/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Other lines for stores and flushes at an address that depends on the input.
 *
 * Where such an access goes decides no branch, and so is no path of its own. But what check finds
 * can depend on the line: whether it was stored to before, or flushed already. So each of these
 * instructions, by call stack, is run on a few other lines, once in the whole exploration and not
 * on every path:
 *
 *   put(key): table[key % 16] = v      path 1 had line 0; an input for the same path with another
 *                                      line than 0 is asked for, then with none of these two, …
 *
 * That ends after max_targets lines, or when the solver has said for MAX_FAILED paths that there is
 * no other.
 */
#include <stdlib.h>

#include "symbolic/internal.h"

#define MAX_FAILED 4u
#define MAX_ACCESSES 4096u /* kept of one run */

void symbolic_lines_free(struct lines *l)
{
	for (size_t i = 0; i < l->access.n; i++)
		VEC_FREE(&l->access.p[i].line);
	VEC_FREE(&l->access);
	hmap_free(&l->by_key);
}

void symbolic_lines_access(struct symbolic_run *run, const struct decision *d)
{
	if (run->accesses.n < MAX_ACCESSES)
		VEC_PUSH(&run->accesses, ((struct access){ *d, (uint32_t)run->path.n }));
}

static struct line_access *find(struct lines *l, uint64_t key)
{
	uint64_t i;
	if (!hmap_get(&l->by_key, key, &i)) {
		i = l->access.n;
		hmap_put(&l->by_key, key, i);
		VEC_PUSH(&l->access, ((struct line_access){ 0 }));
	}
	return &l->access.p[i];
}

/* True: it was not there. */
static bool add(struct line_access *a, uint64_t line)
{
	for (size_t i = 0; i < a->line.n; i++)
		if (a->line.p[i] == line)
			return false;
	VEC_PUSH(&a->line, line);
	return true;
}

static void add_candidate(struct symbolic_run *run, const struct access *at, uint32_t leaf,
			  uint32_t base)
{
	struct symbolic *s = run->s;
	const struct decision *d = &at->what;
	uint32_t stack = symbolic_cover_stack(s, run->defs, d->process, d->ctx, &run->contexts);
	struct candidate c = { .why = SYMBOLIC_LINE,
			       .kind = d->kind,
			       .ip = d->ip,
			       .base = base,
			       .stack = stack,
			       .goal = d->node,
			       .open = SYMBOLIC_NONE,
			       .open_line = SYMBOLIC_NONE,
			       .pair = hash_mix(hash_mix(d->ip, d->kind), stack) };
	struct line_access *a = find(&s->candidates.lines, c.pair);
	add(a, d->value / TRACE_LINE);
	if (a->waiting || a->line.n > s->opts.max_targets || a->failed == MAX_FAILED)
		return;
	a->waiting = true;
	c.step = symbolic_tree_above(&s->tree, leaf, at->decisions);
	c.depth = s->tree.step.p[c.step].depth;
	c.way = symbolic_cover_way(s, d->ip, d->kind, WAY_OTHER, d->ip);
	c.round = c.line = symbolic_cover_round(s, c.way, stack, 0, 0);
	symbolic_candidate_add(s, &c);
}

void symbolic_lines_candidates(struct symbolic_run *run, uint32_t leaf, uint32_t base)
{
	for (size_t i = 0; i < run->accesses.n; i++)
		add_candidate(run, &run->accesses.p[i], leaf, base);
}

expr symbolic_lines_goal(struct symbolic *s, const struct candidate *c)
{
	const struct line_access *a = find(&s->candidates.lines, c->pair);
	struct pool *p = s->pool;
	expr line = symbolic_line_of(p, c->goal), all = 0;
	for (size_t i = 0; i < a->line.n; i++) {
		expr is = solve_pool_eq(p, line, solve_pool_const(p, 64, a->line.p[i])), not ;
		not = solve_pool_not(p, is);
		all = all ? solve_pool_node(p, EXPR_WORD(EXPR_AND, 1, 1, 0), all, not, 0) : not ;
	}
	return all;
}

void symbolic_lines_asked(struct symbolic *s, const struct candidate *c,
			  const struct symbolic_input *found)
{
	struct line_access *a = find(&s->candidates.lines, c->pair);
	if (found)
		add(a, solve_pool_eval(s->pool, c->goal, found->byte, found->n) / TRACE_LINE);
	else
		a->failed++;
}

void symbolic_lines_left(struct symbolic *s, const struct candidate *c)
{
	find(&s->candidates.lines, c->pair)->waiting = false;
}
