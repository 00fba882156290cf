/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules for AND, OR, XOR, NOT and ITE. */
#include "term/internal.h"

struct term term_rule_not(struct term_space *s, const struct term_request *t)
{
	const struct term_parts *p = &t->p;
	unsigned w = t->a.w;
	if (p->op == EXPR_NOT)
		return p->a;
	if (p->op == EXPR_XOR && !p->b.node)
		return term_bin(s, EXPR_XOR, p->a, term_const(w, ~p->b.v));
	if (p->op == EXPR_SEXT)
		return term_sext(s, term_not(s, p->a), w);
	return term_none();
}

static bool opposite(const struct term_request *t)
{
	return (t->p.op == EXPR_NOT && term_same(t->p.a, t->b)) ||
	       (t->q.op == EXPR_NOT && term_same(t->q.a, t->a));
}

/* x == k and not x == j: what the first says is enough. */
static bool implies(struct term_space *s, const struct term_parts *p, const struct term_parts *q)
{
	struct term_parts n;
	if (p->op != EXPR_EQ || q->op != EXPR_NOT)
		return false;
	n = term_look(s, q->a);
	return n.op == EXPR_EQ && term_same(p->a, n.a) && !p->b.node && !n.b.node &&
	       p->b.v != n.b.v;
}

/* The second operand is a constant. */
static struct term and_or_const(struct term_space *s, const struct term_request *t)
{
	enum expr_op op = EXPR_OP(t->word);
	uint64_t k = t->b.v, j = t->p.b.v;
	bool and = op == EXPR_AND;
	if (term_is(t->b, and? ~(uint64_t)0 : 0))
		return t->a;
	if (term_is(t->b, and? 0 : ~(uint64_t)0))
		return t->b;
	if (t->p.op == op && !t->p.b.node)
		return term_bin(s, op, t->p.a, term_const(t->a.w, and? k & j : k | j));
	return term_none();
}

struct term term_rule_and_or(struct term_space *s, const struct term_request *t)
{
	bool and = EXPR_OP(t->word) == EXPR_AND;
	if (term_same(t->a, t->b))
		return t->a;
	if (!t->b.node)
		return and_or_const(s, t);
	if (opposite(t))
		return term_const(t->a.w, and? 0 : ~(uint64_t)0);
	if (and&&t->a.w == 1 && implies(s, &t->p, &t->q))
		return t->a;
	if (and&&t->a.w == 1 && implies(s, &t->q, &t->p))
		return t->b;
	return term_none();
}

/* The second operand is a constant. */
static struct term xor_const(struct term_space *s, const struct term_request *t)
{
	unsigned w = t->a.w;
	uint64_t k = t->b.v;
	if (!k)
		return t->a;
	if (k == expr_mask(w))
		return term_not(s, t->a);
	if (t->p.op == EXPR_XOR && !t->p.b.node)
		return term_bin(s, EXPR_XOR, t->p.a, term_const(w, k ^ t->p.b.v));
	return t->p.op == EXPR_NOT ? term_bin(s, EXPR_XOR, t->p.a, term_const(w, ~k)) : term_none();
}

struct term term_rule_xor(struct term_space *s, const struct term_request *t)
{
	const struct term_parts *p = &t->p, *q = &t->q;
	struct term a = t->a, b = t->b;
	if (term_same(a, b))
		return term_const(a.w, 0);
	if (!b.node)
		return xor_const(s, t);
	if (opposite(t))
		return term_const(a.w, ~(uint64_t)0);
	if (p->op == EXPR_XOR && (term_same(p->a, b) || term_same(p->b, b)))
		return term_same(p->a, b) ? p->b : p->a;
	if (q->op == EXPR_XOR && (term_same(q->a, a) || term_same(q->b, a)))
		return term_same(q->a, a) ? q->b : q->a;
	return term_none();
}

/* Of extended operands: the same on what was extended. */
struct term term_rule_pairs(struct term_space *s, const struct term_request *t)
{
	enum expr_op op = EXPR_OP(t->word);
	const struct term_parts *p = &t->p, *q = &t->q;
	struct term a = t->a, b = t->b;
	if (op == EXPR_AND && !(term_possible(s, a) & term_possible(s, b)))
		return term_const(a.w, 0);
	if (p->op == EXPR_SEXT && q->op == EXPR_SEXT && p->a.w == q->a.w)
		return term_sext(s, term_bin(s, op, p->a, q->a), a.w);
	if (op == EXPR_AND && q->op == EXPR_ZEXT)
		return term_zext(s, term_bin(s, op, term_extract(s, a, 0, q->a.w), q->a), a.w);
	if (p->op != EXPR_ZEXT)
		return term_none();
	if (op == EXPR_AND || (q->op == EXPR_ZEXT && p->a.w == q->a.w) ||
	    (!b.node && b.v <= expr_mask(p->a.w)))
		return term_zext(s, term_bin(s, op, p->a, term_extract(s, b, 0, p->a.w)), a.w);
	return term_none();
}

/* ---- if, then, else ---- */

static struct term ite_of_bits(struct term_space *s, struct term c, struct term a, struct term b)
{
	if (!a.node)
		return a.v ? term_bin(s, EXPR_OR, c, b) : term_bin(s, EXPR_AND, term_not(s, c), b);
	if (!b.node)
		return b.v ? term_bin(s, EXPR_OR, term_not(s, c), a) : term_bin(s, EXPR_AND, c, a);
	return term_none();
}

/* 0 and 1, 0 and -1 */
static struct term ite_of_constants(struct term_space *s, struct term c, struct term a,
				    struct term b)
{
	if (term_is(b, 0) && term_is(a, 1))
		return term_zext(s, c, a.w);
	if (term_is(b, 0) && term_is(a, ~(uint64_t)0))
		return term_sext(s, c, a.w);
	if (term_is(a, 0) && term_is(b, 1))
		return term_zext(s, term_not(s, c), a.w);
	if (term_is(a, 0) && term_is(b, ~(uint64_t)0))
		return term_sext(s, term_not(s, c), a.w);
	return term_none();
}

/* Is a the same as x, but for zeros above it? */
static bool is_extended(struct term a, const struct term_parts *p, struct term x)
{
	return term_same(a, x) || (p->op == EXPR_ZEXT && term_same(p->a, x));
}

struct term term_rule_ite(struct term_space *s, const struct term_request *t)
{
	struct term c = t->a, a = t->b, b = t->c;
	struct term_parts r;
	if (!c.node)
		return c.v ? a : b;
	if (term_same(a, b))
		return a;
	if (t->p.op == EXPR_NOT)
		return term_ite(s, t->p.a, b, a);
	/* x == k ? x : …, as BSF has it with the same register twice */
	if (a.node && t->p.op == EXPR_EQ && !t->p.b.node && is_extended(a, &t->q, t->p.a))
		return term_ite(s, c, term_const(a.w, t->p.b.v), b);
	if (a.w == 1)
		return ite_of_bits(s, c, a, b);
	if (!a.node && !b.node)
		return ite_of_constants(s, c, a, b);
	if (t->q.op == EXPR_ITE && term_same(t->q.a, c))
		return term_ite(s, c, t->q.b, b);
	r = term_look(s, b);
	if (r.op == EXPR_ITE && term_same(r.a, c))
		return term_ite(s, c, a, r.c);
	return term_none();
}
