/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An answer that changes nothing else.
 *
 * A checksum, a length, a second copy of a key: "these bytes = what the rest comes to". The rest of
 * the chain may as well change the rest, and often does; then the path that was to be repaired is
 * another one behind it. So such an equation is first solved for the side that is plain bytes, with
 * all others as they are:
 *
 *   in[7] in[8] in[9] in[10] = sum(in[0] … in[6])       in[7 … 10] := what the sum is now
 *
 * If the other conditions do not hold then, it is a question like any other.
 */
#include <string.h>

#include "solve/internal.h"

#define MAX_DEPTH 16

/* Sets the bytes that `e` consists of, so that it has this value. */
static bool set(const struct solver *s, struct problem *p, expr e, uint64_t value, unsigned depth)
{
	const struct node *n = pool_at(s->pool, e);
	struct domain d;
	unsigned low;
	if (depth == MAX_DEPTH)
		return false;
	switch (EXPR_OP(n->word)) {
	case EXPR_INPUT:
		d = solve_solver_range(s, n->a, p->ninput);
		if (n->a >= p->ninput || !domain_has(&d, (unsigned)value))
			return false;
		p->out[n->a] = (uint8_t)value;
		return true;
	case EXPR_ZEXT:
		return value <= expr_mask(EXPR_AW(n->word)) && set(s, p, n->a, value, depth + 1);
	case EXPR_CONCAT:
		low = EXPR_W(n->word) - EXPR_AW(n->word);
		return set(s, p, n->a, value >> low, depth + 1) &&
		       set(s, p, n->b, value & expr_mask(low), depth + 1);
	default: return false;
	}
}

static bool solve_for(const struct solver *s, struct problem *p, expr side, expr other)
{
	uint64_t known;
	memcpy(p->out, p->input, p->ninput);
	return !is_const(s->pool, other, &known) &&
	       set(s, p, side, solve_pool_eval(s->pool, other, p->input, p->ninput), 0) &&
	       solve_problem_holds(s->pool, p);
}

static enum solve_answer assign_ask(struct stage *stage, struct problem *p)
{
	struct solver *s = stage->solver;
	const struct node goal = *pool_at(s->pool, p->cond.p[0]);
	if (EXPR_OP(goal.word) == EXPR_EQ) {
		if (solve_for(s, p, goal.a, goal.b) || solve_for(s, p, goal.b, goal.a)) {
			s->stats.trivial++;
			return SOLVE_SAT;
		}
		memcpy(p->out, p->input, p->ninput);
	}
	return solve_stage_next(stage, p);
}

const struct stage_ops solve_stage_assign = {
	.name = "assign",
	.size = sizeof(struct stage),
	.ask = assign_ask,
};
