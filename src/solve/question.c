/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all decorators use to look at a question, and the first of them: it takes conjunctions
 * apart, drops what is said twice, and answers what can be seen without looking for values.
 */
#include <stdlib.h>
#include <string.h>

#include "solve/internal.h"

bool solve_problem_holds(struct pool *pool, const struct problem *p)
{
	for (size_t i = 0; i < p->var.n; i++)
		if (!domain_has(&p->var.p[i].dom, solve_problem_byte(p, p->var.p[i].byte)))
			return false;
	solve_pool_eval_begin(pool);
	for (size_t i = 0; i < p->cond.n; i++)
		if (!solve_pool_eval_more(pool, p->cond.p[i], p->out, p->ninput))
			return false;
	return true;
}

#define MAX_RESTORED 64

void solve_problem_restore(struct pool *pool, struct problem *p)
{
	unsigned n = 0;
	for (size_t i = 0; i < p->var.n && n < MAX_RESTORED; i++) {
		uint32_t byte = p->var.p[i].byte;
		uint8_t now = solve_problem_byte(p, byte);
		if (byte >= p->ninput || now == p->input[byte])
			continue;
		p->out[byte] = p->input[byte];
		if (!solve_problem_holds(pool, p))
			p->out[byte] = now;
		n++;
	}
}

struct var *solve_problem_var(struct problem *p, uint32_t byte)
{
	size_t at = BISECT(i, p->var.n, p->var.p[i].byte < byte);
	return at < p->var.n && p->var.p[at].byte == byte ? &p->var.p[at] : NULL;
}

void solve_problem_free(struct problem *p)
{
	VEC_FREE(&p->cond);
	VEC_FREE(&p->var);
	VEC_FREE(&p->fixed);
}

struct domain solve_solver_range(const struct solver *s, uint32_t byte, size_t ninput)
{
	struct domain d = { { 0 } };
	unsigned lo = 0, hi = 255;
	if (byte >= ninput) {
		d.w[0] = 1; /* behind the end: 0 */
		return d;
	}
	if (byte < s->nrange) {
		lo = s->lo ? s->lo[byte] : 0;
		hi = s->hi ? s->hi[byte] : 255;
	}
	for (unsigned i = 0; i < 4; i++) {
		if (hi >= i * 64)
			d.w[i] = expr_mask(hi - i * 64 + 1);
		if (lo > i * 64)
			d.w[i] &= ~expr_mask(lo - i * 64);
	}
	return d;
}

/* ---- the decorator ---- */

struct simplify {
	struct stage stage;
	VEC(uint32_t) seen; /* per node: the question that had it */
	uint32_t now;
	VEC(expr) list, stack;
};

static void new_question(struct simplify *t)
{
	size_t had = t->seen.n, want = t->stage.solver->pool->node.n;
	if (had < want) {
		VEC_RESERVE(&t->seen, want);
		memset(t->seen.p + had, 0, (want - had) * sizeof *t->seen.p);
		t->seen.n = want;
	}
	if (++t->now)
		return;
	memset(t->seen.p, 0, t->seen.n * sizeof *t->seen.p);
	t->now = 1;
}

static bool was_seen(const struct simplify *t, expr e)
{
	return e < t->seen.n && t->seen.p[e] == t->now;
}

/* De Morgan makes new nodes now and then. */
static void mark(struct simplify *t, expr e)
{
	while (t->seen.n <= e)
		VEC_PUSH(&t->seen, 0);
	t->seen.p[e] = t->now;
}

/* Appends the conjuncts of e that are new; false: one of them cannot be true. */
static bool take_apart(struct simplify *t, struct pool *p, expr e)
{
	uint64_t k;
	VEC_PUSH(&t->stack, e);
	while (t->stack.n) {
		expr at = t->stack.p[--t->stack.n];
		struct node n = *pool_at(p, at);
		if (is_const(p, at, &k)) {
			if (!k)
				return false;
			continue;
		}
		if (was_seen(t, at))
			continue;
		mark(t, at);
		if (EXPR_OP(n.word) == EXPR_AND) {
			VEC_PUSH(&t->stack, n.b);
			VEC_PUSH(&t->stack, n.a);
		} else if (EXPR_OP(n.word) == EXPR_NOT && op_of(p, n.a) == EXPR_OR) {
			n = *pool_at(p, n.a);
			VEC_PUSH(&t->stack, solve_pool_not(p, n.b));
			VEC_PUSH(&t->stack, solve_pool_not(p, n.a));
		} else {
			VEC_PUSH(&t->list, at);
		}
	}
	return true;
}

static enum solve_answer trivial(struct simplify *t, enum solve_answer a)
{
	t->stage.solver->stats.trivial++;
	return a;
}

static enum solve_answer simplify_ask(struct stage *stage, struct problem *p)
{
	struct simplify *t = (struct simplify *)stage;
	struct pool *pool = stage->solver->pool;
	expr goal = p->cond.p[0];
	if (solve_pool_eval(pool, goal, p->input, p->ninput))
		return trivial(t, SOLVE_SAT);
	new_question(t);
	t->list.n = t->stack.n = 0;
	if (!take_apart(t, pool, goal))
		return trivial(t, SOLVE_UNSAT);
	p->ngoal = t->list.n;
	for (size_t i = 1; i < p->cond.n; i++)
		if (!take_apart(t, pool, p->cond.p[i]))
			return trivial(t, SOLVE_UNSAT);
	for (size_t i = 0; i < p->ngoal; i++)
		if (was_seen(t, solve_pool_not(pool, t->list.p[i])))
			return trivial(t, SOLVE_UNSAT);
	p->cond.n = 0;
	for (size_t i = 0; i < t->list.n; i++)
		VEC_PUSH(&p->cond, t->list.p[i]);
	return solve_stage_next(stage, p);
}

static void simplify_stop(struct stage *stage)
{
	struct simplify *t = (struct simplify *)stage;
	VEC_FREE(&t->seen);
	VEC_FREE(&t->list);
	VEC_FREE(&t->stack);
}

const struct stage_ops solve_stage_simplify = {
	.name = "simplify",
	.size = sizeof(struct simplify),
	.ask = simplify_ask,
	.stop = simplify_stop,
};
