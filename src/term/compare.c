/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules for comparisons: what is known of a side, or common to both, is taken off. Most conditions
 * of a program end as a comparison of a few input bytes with a constant. There is one form of each:
 * EQ(x, k), ULT(x, k), SLT(x, k), and their negations.
 */
#include "term/internal.h"

static struct term equal(struct term_space *s, struct term a, uint64_t k)
{
	return term_cmp(s, EXPR_EQ, a, term_const(a.w, k));
}

static struct term both(struct term_space *s, struct term a, struct term b)
{
	return term_bin(s, EXPR_AND, a, b);
}

static struct term either(struct term_space *s, struct term a, struct term b)
{
	return term_bin(s, EXPR_OR, a, b);
}

/* ---- equality with a constant ---- */

static uint64_t odd_inverse(uint64_t m)
{
	uint64_t x = m; /* right in 3 bits, twice as many each time */
	for (unsigned i = 0; i < 5; i++)
		x *= 2 - m * x;
	return x;
}

/* x | m == k */
static struct term equal_or(struct term_space *s, const struct term_parts *p, uint64_t k)
{
	uint64_t m = p->b.v;
	if (!k)
		return both(s, equal(s, p->a, 0), equal(s, p->b, 0));
	if (p->b.node)
		return term_none();
	if (m & ~k)
		return term_bool(false);
	return equal(s, term_bin(s, EXPR_AND, p->a, term_const(p->a.w, ~m)), k & ~m);
}

static struct term equal_arithmetic(struct term_space *s, const struct term_parts *p, uint64_t k)
{
	bool right = !p->b.node;
	switch (p->op) {
	case EXPR_ADD: return right ? equal(s, p->a, k - p->b.v) : term_none();
	case EXPR_XOR:
		if (right)
			return equal(s, p->a, k ^ p->b.v);
		return k ? term_none() : term_cmp(s, EXPR_EQ, p->a, p->b);
	case EXPR_SUB:
		if (!p->a.node)
			return equal(s, p->b, p->a.v - k);
		return k ? term_none() : term_cmp(s, EXPR_EQ, p->a, p->b);
	case EXPR_MUL:
		return right && (p->b.v & 1) ? equal(s, p->a, k * odd_inverse(p->b.v))
					     : term_none();
	case EXPR_AND: return right && (k & ~p->b.v) ? term_bool(false) : term_none();
	default: return equal_or(s, p, k);
	}
}

/* CTZ(x) == k: bit k is the lowest; CLZ likewise. */
static struct term equal_count(struct term_space *s, const struct term_parts *p, uint64_t k)
{
	unsigned w = p->a.w, bits = (unsigned)k + 1;
	if (k > w)
		return term_bool(false);
	if (k == w)
		return equal(s, p->a, 0);
	if (p->op == EXPR_CTZ)
		return equal(s, term_extract(s, p->a, 0, bits), (uint64_t)1 << k);
	return equal(s, term_extract(s, p->a, w - bits, bits), 1);
}

/* x < y ? x : y, as PMINUB does it */
static bool is_minimum(struct term_space *s, const struct term_parts *p)
{
	struct term_parts q = term_look(s, p->a);
	return q.op == EXPR_ULT && term_same(q.a, p->b) && term_same(q.b, p->c);
}

static struct term equal_ite(struct term_space *s, const struct term_parts *p, uint64_t k)
{
	struct term c = p->a, other;
	if (p->b.node && p->c.node) {
		if (k || !is_minimum(s, p))
			return term_none();
		return either(s, equal(s, p->b, 0), equal(s, p->c, 0));
	}
	other = equal(s, p->b.node ? p->b : p->c, k);
	if (p->b.node) /* then it is the other one that counts if c is set */
		return p->c.v == k ? either(s, term_not(s, c), other) : both(s, c, other);
	return p->b.v == k ? either(s, c, other) : both(s, term_not(s, c), other);
}

static struct term equal_const(struct term_space *s, struct term a, const struct term_parts *p,
			       uint64_t k)
{
	uint64_t low = k & expr_mask(p->a.w), is = low;
	if (a.w == 1)
		return k ? a : term_not(s, a);
	switch (p->op) {
	case EXPR_NOT: return equal(s, p->a, ~k);
	case EXPR_NEG: return equal(s, p->a, 0 - k);
	case EXPR_SEXT: is = (uint64_t)expr_signed(low, p->a.w) & expr_mask(a.w); /* fall through */
	case EXPR_ZEXT: return is == k ? equal(s, p->a, low) : term_bool(false);
	case EXPR_CONCAT:
		return both(s, equal(s, p->a, k >> p->b.w), equal(s, p->b, k & expr_mask(p->b.w)));
	case EXPR_ITE: return equal_ite(s, p, k);
	case EXPR_CTZ:
	case EXPR_CLZ: return equal_count(s, p, k);
	case EXPR_ADD:
	case EXPR_SUB:
	case EXPR_MUL:
	case EXPR_XOR:
	case EXPR_AND:
	case EXPR_OR: return equal_arithmetic(s, p, k);
	default: return term_none();
	}
}

/* ---- equality ---- */

/* x, if it is x + k, and k. */
static struct term without_constant(struct term t, const struct term_parts *p, uint64_t *k)
{
	bool sum = p->op == EXPR_ADD && !p->b.node;
	*k = sum ? p->b.v : 0;
	return sum ? p->a : t;
}

/* The same operation on both sides, taken off. */
static struct term equal_under(struct term_space *s, const struct term_parts *p,
			       const struct term_parts *q)
{
	if (p->op != q->op || p->a.w != q->a.w)
		return term_none();
	switch (p->op) {
	case EXPR_NOT:
	case EXPR_NEG:
	case EXPR_ZEXT:
	case EXPR_SEXT: return term_cmp(s, EXPR_EQ, p->a, q->a);
	case EXPR_ADD:
	case EXPR_XOR:
		if (term_same(p->b, q->b))
			return term_cmp(s, EXPR_EQ, p->a, q->a);
		return term_same(p->a, q->a) ? term_cmp(s, EXPR_EQ, p->b, q->b) : term_none();
	default: return term_none();
	}
}

/* Where a node made of parts is cut: bits below its top part; 0: it is not. */
static unsigned seam(const struct term_parts *p)
{
	return p->op == EXPR_CONCAT ? p->b.w : p->op == EXPR_ZEXT ? p->a.w : 0;
}

struct term term_rule_eq(struct term_space *s, const struct term_request *t)
{
	unsigned cut = seam(&t->p) > seam(&t->q) ? seam(&t->p) : seam(&t->q);
	struct term a = t->a, b = t->b, r, top;
	uint64_t k, j;
	if (term_same(a, b))
		return term_bool(true);
	if (!b.node)
		return equal_const(s, a, &t->p, b.v);
	if (term_same(without_constant(a, &t->p, &k), without_constant(b, &t->q, &j)))
		return term_bool(k == j);
	r = equal_under(s, &t->p, &t->q);
	if (term_found(r) || !seam(&t->p) || !seam(&t->q))
		return r;
	top = term_cmp(s, EXPR_EQ, term_extract(s, a, cut, a.w - cut),
		       term_extract(s, b, cut, a.w - cut));
	return both(s, top,
		    term_cmp(s, EXPR_EQ, term_extract(s, a, 0, cut), term_extract(s, b, 0, cut)));
}

/* ---- ranges ---- */

struct range {
	int64_t lo, hi;
};

/* Is x + k, of w bits, the sum of the numbers, signed? */
static bool add_range(struct range *r, int64_t k, unsigned w)
{
	return !__builtin_add_overflow(r->lo, k, &r->lo) &&
	       !__builtin_add_overflow(r->hi, k, &r->hi) &&
	       expr_signed((uint64_t)r->lo, w) == r->lo && expr_signed((uint64_t)r->hi, w) == r->hi;
}

/* Of the number as a signed one. */
static struct range signed_range(struct term_space *s, struct term t, unsigned depth)
{
	uint64_t set = term_possible(s, t), sign = term_sign_bit(t.w);
	struct range all = { expr_signed(sign, t.w), expr_signed(sign - 1, t.w) }, r;
	struct term_parts p;
	if (!t.node)
		return (struct range){ expr_signed(t.v, t.w), expr_signed(t.v, t.w) };
	if (!(set & sign))
		return (struct range){ 0, (int64_t)set };
	if (!depth)
		return all;
	p = term_look(s, t);
	if (p.op == EXPR_SEXT)
		return signed_range(s, p.a, depth - 1);
	if (p.op == EXPR_ADD && !p.b.node) {
		r = signed_range(s, p.a, depth - 1);
		if (add_range(&r, expr_signed(p.b.v, t.w), t.w))
			return r;
	}
	return all;
}

/* ---- order ---- */

/* a < k, for a made of two parts. */
static struct term parts_below(struct term_space *s, enum expr_op op, const struct term_parts *p,
			       uint64_t k)
{
	uint64_t low = k & expr_mask(p->b.w);
	struct term top = term_const(p->a.w, k >> p->b.w);
	if (!p->b.node && p->b.v < low)
		return term_not(s, term_cmp(s, op, top, p->a));
	if (!p->b.node || !low)
		return term_cmp(s, op, p->a, top);
	if (p->a.node)
		return term_none();
	if (p->a.v == top.v)
		return term_cmp(s, EXPR_ULT, p->b, term_const(p->b.w, low));
	return term_cmp(s, op, p->a, top);
}

static struct term unsigned_below(struct term_space *s, const struct term_request *t)
{
	const struct term_parts *p = &t->p;
	uint64_t k = t->b.v, max = expr_mask(t->a.w);
	if (k <= 1)
		return k ? equal(s, t->a, 0) : term_bool(false);
	if (term_possible(s, t->a) < k)
		return term_bool(true);
	if (k == max)
		return term_not(s, equal(s, t->a, max));
	if (p->op == EXPR_ZEXT)
		return term_cmp(s, EXPR_ULT, p->a, term_const(p->a.w, k));
	if (p->op == EXPR_CONCAT)
		return parts_below(s, EXPR_ULT, p, k);
	/* An offset from the start of a string: if it does not wrap, the constant can be moved. */
	if (p->op != EXPR_ADD || p->b.node || term_possible(s, p->a) > max - p->b.v)
		return term_none();
	return term_cmp(s, EXPR_ULT, p->a, term_const(t->a.w, k > p->b.v ? k - p->b.v : 0));
}

/* x + j < k, where neither sum wraps: the constant goes to the other side. */
static struct term move_constant(struct term_space *s, const struct term_parts *p, int64_t k)
{
	unsigned w = p->a.w;
	int64_t j = expr_signed(p->b.v, w), moved;
	struct range r = signed_range(s, p->a, 2);
	if (!add_range(&r, j, w) || __builtin_sub_overflow(k, j, &moved) ||
	    expr_signed((uint64_t)moved, w) != moved)
		return term_none();
	return term_cmp(s, EXPR_SLT, p->a, term_const(w, (uint64_t)moved));
}

static struct term signed_below(struct term_space *s, const struct term_request *t)
{
	const struct term_parts *p = &t->p;
	struct term a = t->a, b = t->b;
	struct range r = signed_range(s, a, 3);
	int64_t k = expr_signed(b.v, a.w);
	if (r.hi < k || r.lo >= k)
		return term_bool(r.hi < k);
	if (r.lo >= 0)
		return term_cmp(s, EXPR_ULT, a, b);
	if (!k) /* one form, whether SF was asked for or a mask */
		return term_extract(s, a, a.w - 1, 1);
	if (p->op == EXPR_SEXT)
		return term_cmp(s, EXPR_SLT, p->a, term_const(p->a.w, b.v));
	if (p->op == EXPR_CONCAT)
		return parts_below(s, EXPR_SLT, p, b.v);
	if (p->op == EXPR_ADD && !p->b.node)
		return move_constant(s, p, k);
	return term_none();
}

/* Neither is a constant. */
static struct term below_node(struct term_space *s, const struct term_request *t)
{
	enum expr_op op = EXPR_OP(t->word);
	const struct term_parts *p = &t->p, *q = &t->q;
	struct range x, y;
	if (p->op == q->op && p->a.w == q->a.w) {
		if (p->op == EXPR_ZEXT || p->op == EXPR_SEXT)
			return term_cmp(s, p->op == EXPR_ZEXT ? EXPR_ULT : op, p->a, q->a);
		if (p->op == EXPR_CONCAT && term_same(p->b, q->b))
			return term_cmp(s, op, p->a, q->a);
		if (p->op == EXPR_CONCAT && term_same(p->a, q->a))
			return term_cmp(s, EXPR_ULT, p->b, q->b);
	}
	if (op == EXPR_ULT)
		return term_none();
	x = signed_range(s, t->a, 3);
	y = signed_range(s, t->b, 3);
	if (x.hi < y.lo || x.lo >= y.hi)
		return term_bool(x.hi < y.lo);
	return x.lo >= 0 && y.lo >= 0 ? term_cmp(s, EXPR_ULT, t->a, t->b) : term_none();
}

struct term term_rule_less(struct term_space *s, const struct term_request *t)
{
	enum expr_op op = EXPR_OP(t->word);
	struct term a = t->a, b = t->b;
	if (term_same(a, b))
		return term_bool(false);
	if (a.w == 1) /* !a and b; signed, where true is -1, a and !b */
		return op == EXPR_ULT ? both(s, term_not(s, a), b) : both(s, a, term_not(s, b));
	if (!a.node) {
		if (a.v == (op == EXPR_ULT ? expr_mask(a.w) : expr_mask(a.w - 1)))
			return term_bool(false);
		return term_not(s, term_cmp(s, op, b, term_const(a.w, a.v + 1)));
	}
	if (b.node)
		return below_node(s, t);
	return op == EXPR_ULT ? unsigned_below(s, t) : signed_below(s, t);
}

struct term term_rule_less_equal(struct term_space *s, const struct term_request *t)
{
	enum expr_op less = EXPR_OP(t->word) == EXPR_ULE ? EXPR_ULT : EXPR_SLT;
	return term_not(s, term_cmp(s, less, t->b, t->a));
}
