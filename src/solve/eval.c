/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What expressions are for an input. Two ways: node by node with the values kept per pool and
 * told apart by epoch, for one input; and compiled into straight-line code, for many inputs.
 * Neither recurses: chains may be long.
 */
#include <stdlib.h>
#include <string.h>

#include "solve/internal.h"

void solve_pool_eval_begin(struct pool *p)
{
	if (++p->now)
		return;
	if (p->epoch.n)
		memset(p->epoch.p, 0, p->epoch.n * sizeof *p->epoch.p);
	p->now = 1;
}

/* Room for every node there is. */
static void epochs_grow(struct pool *p)
{
	size_t had = p->epoch.n, want = p->node.n;
	if (had >= want)
		return;
	VEC_RESERVE(&p->epoch, want);
	VEC_RESERVE(&p->value, want);
	memset(p->epoch.p + had, 0, (want - had) * sizeof *p->epoch.p);
	p->epoch.n = p->value.n = want;
	p->value.p[0] = 0; /* of operands that are none */
}

/* Puts operands without a value on the stack; are there any? */
static bool push_operands(struct pool *p, const struct node *n)
{
	const expr x[3] = { n->a, n->b, n->c };
	bool any = false;
	for (unsigned i = 0; i < solve_pool_operands(n->word); i++)
		if (p->epoch.p[x[i]] != p->now) {
			VEC_PUSH(&p->stack, x[i]);
			any = true;
		}
	return any;
}

static uint64_t node_value(const struct pool *p, const struct node *n, const uint8_t *input,
			   size_t ninput)
{
	const uint64_t *v = p->value.p;
	switch (EXPR_OP(n->word)) {
	case EXPR_CONST: return (uint64_t)n->b << 32 | n->a;
	case EXPR_INPUT: return n->a < ninput ? input[n->a] : 0;
	case EXPR_TABLE:
		return solve_pool_table_entry(p->table.p[n->b], EXPR_W(n->word), (unsigned)v[n->a]);
	default: return expr_apply(n->word, v[n->a], v[n->b], v[n->c]);
	}
}

uint64_t solve_pool_eval_more(struct pool *p, expr e, const uint8_t *input, size_t ninput)
{
	epochs_grow(p);
	p->stack.n = 0;
	VEC_PUSH(&p->stack, e);
	while (p->stack.n) {
		expr at = p->stack.p[p->stack.n - 1];
		const struct node *n = &p->node.p[at];
		if (p->epoch.p[at] != p->now) {
			if (push_operands(p, n))
				continue;
			p->value.p[at] = node_value(p, n, input, ninput);
			p->epoch.p[at] = p->now;
		}
		p->stack.n--;
	}
	return p->value.p[e];
}

uint64_t solve_pool_eval(struct pool *p, expr e, const uint8_t *input, size_t n)
{
	solve_pool_eval_begin(p);
	return solve_pool_eval_more(p, e, input, n);
}

/* ---- programs ---- */

static uint64_t vars_of(const struct pool *p, const struct node *n)
{
	const struct set *s = &p->set.p[n->set];
	uint64_t vars = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct run *r = &p->run.p[s->at + i];
		if (r->to - r->from >= 63)
			return ~(uint64_t)0;
		for (uint32_t b = r->from; b <= r->to; b++)
			vars |= (uint64_t)1 << (b & 63);
	}
	return vars;
}

/* During compilation a node's "value" is its slot. */
static void compile_node(struct program *g, struct pool *p, expr at)
{
	const struct node *n = &p->node.p[at];
	const uint64_t *slot = p->value.p;
	struct step s = { .word = n->word };
	uint64_t k = 0;
	switch (EXPR_OP(n->word)) {
	case EXPR_CONST: is_const(p, at, &k); break;
	case EXPR_INPUT: s.a = n->a; break;
	case EXPR_TABLE: s.table = p->table.p[n->b]; /* fall through */
	default:
		s.a = n->a ? (uint32_t)slot[n->a] : 0;
		s.b = s.table || !n->b ? 0 : (uint32_t)slot[n->b];
		s.c = n->c ? (uint32_t)slot[n->c] : 0;
	}
	s.vars = vars_of(p, n);
	VEC_PUSH(&g->step, s);
	VEC_PUSH(&g->val, k);
	p->value.p[at] = g->step.n;
	p->epoch.p[at] = p->now;
}

void solve_program_compile(struct program *g, struct pool *p, expr e)
{
	g->step.n = g->val.n = 0;
	VEC_PUSH(&g->val, 0);
	solve_pool_eval_begin(p);
	epochs_grow(p);
	p->stack.n = 0;
	VEC_PUSH(&p->stack, e);
	while (p->stack.n) {
		expr at = p->stack.p[p->stack.n - 1];
		if (p->epoch.p[at] != p->now) {
			if (push_operands(p, &p->node.p[at]))
				continue;
			compile_node(g, p, at);
		}
		p->stack.n--;
	}
	solve_pool_eval_begin(p); /* slots are no values */
}

void solve_program_free(struct program *g)
{
	VEC_FREE(&g->step);
	VEC_FREE(&g->val);
	VEC_FREE(&g->redo);
}

static inline uint64_t step_run(const struct step *s, const uint64_t *val)
{
	if (s->table)
		return solve_pool_table_entry(s->table, EXPR_W(s->word), (unsigned)val[s->a]);
	return expr_apply(s->word, val[s->a], val[s->b], val[s->c]);
}

uint64_t solve_program_run(struct program *g, const uint8_t *input, size_t n)
{
	uint64_t *val = g->val.p;
	for (size_t i = 0; i < g->step.n; i++) {
		const struct step *s = &g->step.p[i];
		if (EXPR_OP(s->word) == EXPR_INPUT)
			val[i + 1] = s->a < n ? input[s->a] : 0;
		else if (EXPR_OP(s->word) != EXPR_CONST)
			val[i + 1] = step_run(s, val);
	}
	return val[g->step.n];
}

void solve_program_vary(struct program *g, uint32_t byte)
{
	g->redo.n = 0;
	for (size_t i = 0; i < g->step.n; i++) {
		const struct step *s = &g->step.p[i];
		if (!(s->vars >> (byte & 63) & 1) || EXPR_OP(s->word) == EXPR_CONST)
			continue;
		if (EXPR_OP(s->word) != EXPR_INPUT || s->a == byte)
			VEC_PUSH(&g->redo, (uint32_t)i);
	}
}

uint64_t solve_program_rerun(struct program *g, uint8_t value)
{
	uint64_t *val = g->val.p;
	for (size_t i = 0; i < g->redo.n; i++) {
		uint32_t at = g->redo.p[i];
		const struct step *s = &g->step.p[at];
		val[at + 1] = EXPR_OP(s->word) == EXPR_INPUT ? value : step_run(s, val);
	}
	return val[g->step.n];
}
