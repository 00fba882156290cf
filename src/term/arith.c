/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules for arithmetic. Constants come last: (x + k) + y is (x + y) + k. */
#include "term/internal.h"

static bool power_of_two(uint64_t k)
{
	return k && !(k & (k - 1));
}

static struct term log_of(unsigned w, uint64_t k)
{
	return term_const(w, (uint64_t)__builtin_ctzll(k));
}

static struct term add(struct term_space *s, struct term a, struct term b)
{
	return term_bin(s, EXPR_ADD, a, b);
}

static struct term sub(struct term_space *s, struct term a, struct term b)
{
	return term_bin(s, EXPR_SUB, a, b);
}

struct term term_rule_neg(struct term_space *s, const struct term_request *t)
{
	if (t->a.w == 1)
		return t->a;
	if (t->p.op == EXPR_SUB)
		return sub(s, t->p.b, t->p.a);
	return t->p.op == EXPR_NEG ? t->p.a : term_none();
}

/* ---- sums ---- */

/* a + k */
static struct term add_const(struct term_space *s, const struct term_parts *p, struct term a,
			     uint64_t k)
{
	if (!k)
		return a;
	if (p->op == EXPR_ADD && !p->b.node)
		return add(s, p->a, term_const(a.w, k + p->b.v));
	if (p->op == EXPR_SUB && !p->a.node)
		return sub(s, term_const(a.w, k + p->a.v), p->b);
	return term_none();
}

struct term term_rule_add(struct term_space *s, const struct term_request *t)
{
	const struct term_parts *p = &t->p, *q = &t->q;
	struct term a = t->a, b = t->b;
	if (a.w == 1)
		return term_bin(s, EXPR_XOR, a, b);
	if (!b.node)
		return add_const(s, p, a, b.v);
	if (p->op == EXPR_NEG)
		return sub(s, b, p->a);
	if (q->op == EXPR_NEG)
		return sub(s, a, q->a);
	if (p->op == EXPR_ADD && !p->b.node)
		return add(s, add(s, p->a, b), p->b);
	if (q->op == EXPR_ADD && !q->b.node)
		return add(s, add(s, a, q->a), q->b);
	if (p->op == EXPR_SUB && term_same(p->b, b))
		return p->a;
	if (q->op == EXPR_SUB && term_same(q->b, a))
		return q->a;
	return term_none();
}

struct term term_rule_sub(struct term_space *s, const struct term_request *t)
{
	const struct term_parts *p = &t->p;
	struct term a = t->a, b = t->b;
	if (term_same(a, b))
		return term_const(a.w, 0);
	if (a.w == 1)
		return term_bin(s, EXPR_XOR, a, b);
	if (!b.node)
		return add(s, a, term_const(a.w, 0 - b.v));
	if (term_is(a, 0))
		return term_neg(s, b);
	if (t->q.op == EXPR_NEG)
		return add(s, a, t->q.a);
	if (p->op != EXPR_ADD)
		return term_none();
	if (term_same(p->a, b) || term_same(p->b, b))
		return term_same(p->a, b) ? p->b : p->a;
	return p->b.node ? term_none() : add(s, sub(s, p->a, b), p->b);
}

/* ---- products and quotients ---- */

struct term term_rule_mul(struct term_space *s, const struct term_request *t)
{
	enum expr_op op = EXPR_OP(t->word);
	struct term a = t->a, b = t->b;
	if (a.w == 1 && op == EXPR_MUL)
		return term_bin(s, EXPR_AND, a, b);
	if (b.node)
		return term_none();
	if (!b.v)
		return b;
	if (op == EXPR_UMULH && b.v == 1)
		return term_const(a.w, 0);
	if (op != EXPR_MUL)
		return term_none();
	if (b.v == 1)
		return a;
	return power_of_two(b.v) ? term_bin(s, EXPR_SHL, a, log_of(a.w, b.v)) : term_none();
}

/* UDIV and UREM by a constant. */
static struct term divide_by(struct term_space *s, const struct term_request *t)
{
	enum expr_op op = EXPR_OP(t->word);
	const struct term_parts *p = &t->p;
	struct term a = t->a;
	uint64_t k = t->b.v;
	if (power_of_two(k))
		return op == EXPR_UREM ? term_bin(s, EXPR_AND, a, term_const(a.w, k - 1))
				       : term_bin(s, EXPR_LSHR, a, log_of(a.w, k));
	if (!k || p->op != EXPR_ZEXT)
		return term_none();
	if (k > expr_mask(p->a.w))
		return op == EXPR_UREM ? a : term_const(a.w, 0);
	return term_zext(s, term_bin(s, op, p->a, term_const(p->a.w, k)), a.w);
}

struct term term_rule_divide(struct term_space *s, const struct term_request *t)
{
	enum expr_op op = EXPR_OP(t->word);
	if (op == EXPR_UDIV || op == EXPR_UREM)
		return t->b.node ? term_none() : divide_by(s, t);
	if ((term_possible(s, t->a) | term_possible(s, t->b)) & term_sign_bit(t->a.w))
		return term_none();
	return term_bin(s, op == EXPR_SDIV ? EXPR_UDIV : EXPR_UREM, t->a, t->b);
}

/* Nearly always the dividend is 64 bits, made twice as wide. */
struct term term_rule_divide_wide(struct term_space *s, const struct term_request *t)
{
	enum expr_op op = EXPR_OP(t->word);
	if (op == EXPR_UDIV128 || op == EXPR_UREM128) {
		if (!term_is(t->a, 0))
			return term_none();
		return term_bin(s, op == EXPR_UDIV128 ? EXPR_UDIV : EXPR_UREM, t->b, t->c);
	}
	if (!term_same(term_bin(s, EXPR_ASHR, t->b, term_const(64, 63)), t->a))
		return term_none();
	return term_bin(s, op == EXPR_SDIV128 ? EXPR_SDIV : EXPR_SREM, t->b, t->c);
}
