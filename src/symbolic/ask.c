/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a candidate to an input.
 *
 *   BRANCH   all decisions before it, and the condition turned round
 *   TARGET   all decisions before it, and a value that was not tried below this prefix
 *   MISS     the conditional jumps up to there, addresses left open, and the question
 *   LINE     all decisions up to there, and a line that the access was not tried with
 *   LONGER   nothing to solve
 */
#include <stdlib.h>
#include <string.h>

#include "symbolic/internal.h"

/* What a question without an answer costs: most are answered at once, Z3 takes its time. */
#define NO_COSTS 1u
#define Z3_COSTS 8u
#define TIMEOUT_COSTS 64u

struct question {
	VEC(expr) must;
	VEC(uint32_t) step; /* from the first to the last */
	uint64_t hash;      /* of the path up to there */
};

static void question_free(struct question *q)
{
	VEC_FREE(&q->must);
	VEC_FREE(&q->step);
}

static bool keep_all(unsigned kind)
{
	(void)kind;
	return true;
}

static bool no_address(unsigned kind)
{
	return kind != SYM_LOAD && kind != SYM_STORE;
}

/* The path from the root to a step; its hash is that of a run, which has no steps of its own. */
static void collect(const struct symbolic *s, uint32_t last, bool (*keep)(unsigned),
		    struct question *q)
{
	q->must.n = q->step.n = 0;
	q->hash = s->tree.step.p[0].hash;
	for (uint32_t at = last; at; at = s->tree.step.p[at].parent)
		VEC_PUSH(&q->step, at);
	for (size_t i = q->step.n; i-- > 0;) {
		const struct step *step = &s->tree.step.p[q->step.p[i]];
		q->hash = symbolic_tree_hash(q->hash, step->ip, step->kind, step->value);
		if (step->cond && keep(step->kind))
			VEC_PUSH(&q->must, step->cond);
	}
}

static bool solve(struct symbolic *s, const struct question *q, expr goal,
		  struct symbolic_input *in)
{
	struct solve_query query = { .must = q->must.p,
				     .nmust = q->must.n,
				     .goal = goal,
				     .input = in->byte,
				     .ninput = in->n };
	uint8_t *out = xmalloc(in->n + 1);
	enum solve_answer answer = solve_solver_ask(s->solver, &query, out);
	if (answer == SOLVE_SAT)
		memcpy(in->byte, out, in->n);
	free(out);
	s->stats.infeasible += answer == SOLVE_UNSAT;
	s->stats.undecided += answer == SOLVE_TIMEOUT;
	return answer == SOLVE_SAT;
}

static bool ask_branch(struct symbolic *s, const struct candidate *c, struct symbolic_input *in)
{
	const struct step *step = &s->tree.step.p[c->step];
	uint64_t before = s->tree.step.p[step->parent].hash;
	struct question q = { 0 };
	bool found = false;

	/* Some run came by here on its own? */
	if (symbolic_tree_find(&s->tree, symbolic_tree_hash(before, step->ip, step->kind,
							    !step->value)) == SYMBOLIC_NONE) {
		collect(s, step->parent, keep_all, &q);
		found = solve(s, &q, solve_pool_not(s->pool, step->cond), in);
		in->expects = symbolic_tree_hash(q.hash, step->ip, step->kind, !step->value);
		in->before = q.hash;
		in->depth = step->depth;
	}
	question_free(&q);
	return found;
}

static expr other_than(struct symbolic *s, expr node, uint64_t value)
{
	unsigned w = EXPR_W(solve_pool_word(s->pool, node));
	return solve_pool_not(s->pool,
			      solve_pool_eq(s->pool, node, solve_pool_const(s->pool, w, value)));
}

static bool ask_target(struct symbolic *s, const struct candidate *c, struct symbolic_input *in)
{
	struct step step = s->tree.step.p[c->step];
	uint64_t before = s->tree.step.p[step.parent].hash, value;
	struct targets *t = symbolic_candidates_targets(s, before, step.ip, step.kind);
	struct question q = { 0 };
	bool found;
	collect(s, step.parent, keep_all, &q);
	for (size_t i = 0; i < t->value.n; i++)
		if (t->value.p[i] != step.value)
			VEC_PUSH(&q.must, other_than(s, step.node, t->value.p[i]));
	found = solve(s, &q, other_than(s, step.node, step.value), in);
	if (found) {
		value = solve_pool_eval(s->pool, step.node, in->byte, in->n);
		symbolic_targets_add(t, value);
		in->expects = symbolic_tree_hash(q.hash, step.ip, step.kind, value);
		in->before = q.hash;
		in->depth = step.depth;
	}
	question_free(&q);
	return found;
}

/* If other accesses at the same index hold the address, they are let go in the second try. */
static bool ask_miss(struct symbolic *s, const struct candidate *c, struct symbolic_input *in)
{
	struct question q = { 0 };
	size_t strict;
	bool found;
	collect(s, c->step, keep_all, &q);
	strict = q.must.n;
	found = solve(s, &q, c->goal, in);
	if (!found) {
		collect(s, c->step, no_address, &q);
		found = q.must.n < strict && solve(s, &q, c->goal, in);
	}
	if (found)
		symbolic_miss_found(s, c);
	question_free(&q);
	return found;
}

static bool ask_line(struct symbolic *s, const struct candidate *c, struct symbolic_input *in)
{
	struct question q = { 0 };
	bool found;
	collect(s, c->step, keep_all, &q);
	found = solve(s, &q, symbolic_lines_goal(s, c), in);
	symbolic_lines_asked(s, c, found ? in : NULL);
	question_free(&q);
	return found;
}

static bool make_longer(struct symbolic *s, const struct candidate *c, struct symbolic_input *in)
{
	const struct sym_source *src = &s->source[c->source];
	for (uint32_t i = in->now[c->source]; i < c->now; i++)
		if (!s->fixed || !s->fixed[src->first + i])
			in->byte[src->first + i] = s->lo ? s->lo[src->first + i] : 0;
	in->now[c->source] = c->now;
	return true;
}

bool symbolic_ask(struct symbolic *s, const struct candidate *c, struct symbolic_input *out)
{
	struct symbolic_way *way = &s->cover.ways.p[c->way], *round = &s->cover.ways.p[c->round];
	struct symbolic_way *line = &s->cover.ways.p[c->line];
	uint64_t undecided = s->stats.undecided, z3 = solve_solver_stats(s->solver)->z3;
	bool found = false;
	symbolic_base_unpack(s, c->base, out);
	out->why = c->why;
	out->ip = c->ip;
	switch (c->why) {
	case SYMBOLIC_BRANCH: found = ask_branch(s, c, out); break;
	case SYMBOLIC_TARGET: found = ask_target(s, c, out); break;
	case SYMBOLIC_MISS: found = ask_miss(s, c, out); break;
	case SYMBOLIC_LINE: found = ask_line(s, c, out); break;
	case SYMBOLIC_LONGER: found = make_longer(s, c, out); break;
	default: break;
	}
	if (c->why == SYMBOLIC_LONGER)
		way->taken = round->taken = true;
	way->tried += found;
	round->tried += found && way != round;
	line->tried += found && line != round;
	if (!found) {
		uint32_t cost = s->stats.undecided > undecided           ? TIMEOUT_COSTS
				: solve_solver_stats(s->solver)->z3 > z3 ? Z3_COSTS
									 : NO_COSTS;
		round->failed += cost;
		way->failed += way == round ? 0 : cost;
		symbolic_input_free(out);
	}
	return found;
}
