/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Comparisons. Against a constant there is one form of each: EQ(x, k), ULT(x, k), ULT(k, x) and the
 * signed two; the rest follow. x loses whatever can be undone on the constant.
 */
#include "solve/internal.h"

static expr truth(struct pool *p, bool v)
{
	return solve_pool_const(p, 1, v);
}

static expr both(struct pool *p, expr a, expr b)
{
	return solve_pool_mk_binary(p, EXPR_AND, a, b);
}

static expr eq_k(struct pool *p, expr a, uint64_t k)
{
	return solve_pool_mk_binary(p, EXPR_EQ, a, solve_pool_const(p, width(p, a), k));
}

static uint64_t odd_inverse(uint64_t m)
{
	uint64_t x = m; /* right in 3 bits, twice as many each time */

	for (unsigned i = 0; i < 5; i++)
		x *= 2 - m * x;
	return x;
}

/* ---- equality ---- */

static expr eq_arithmetic(struct pool *p, const struct node *n, uint64_t k)
{
	uint64_t k2;
	bool right = is_const(p, n->b, &k2);

	switch (EXPR_OP(n->word)) {
	case EXPR_ADD: return right ? eq_k(p, n->a, k - k2) : 0;
	case EXPR_XOR:
		if (right)
			return eq_k(p, n->a, k ^ k2);
		return k ? 0 : solve_pool_mk_binary(p, EXPR_EQ, n->a, n->b);
	case EXPR_SUB:
		if (is_const(p, n->a, &k2))
			return eq_k(p, n->b, k2 - k);
		return k ? 0 : solve_pool_mk_binary(p, EXPR_EQ, n->a, n->b);
	case EXPR_MUL: return right && (k2 & 1) ? eq_k(p, n->a, k * odd_inverse(k2)) : 0;
	case EXPR_AND: return right && (k & ~k2) ? truth(p, false) : 0;
	case EXPR_OR:
		if (!k)
			return both(p, eq_k(p, n->a, 0), eq_k(p, n->b, 0));
		if (!right)
			return 0;
		if (k2 & ~k)
			return truth(p, false);
		return eq_k(p,
			    solve_pool_mk_binary(p, EXPR_AND, n->a,
						 solve_pool_const(p, EXPR_W(n->word), ~k2)),
			    k & ~k2);
	default: return 0;
	}
}

/* CTZ(x) == k: bit k is the lowest; CLZ likewise. */
static expr eq_count(struct pool *p, const struct node *n, uint64_t k)
{
	unsigned w = EXPR_W(n->word), bits = (unsigned)k + 1;

	if (k > w)
		return truth(p, false);
	if (k == w)
		return eq_k(p, n->a, 0);
	if (EXPR_OP(n->word) == EXPR_CTZ)
		return eq_k(p, solve_pool_mk_extract(p, n->a, 0, bits), (uint64_t)1 << k);
	return eq_k(p, solve_pool_mk_extract(p, n->a, w - bits, bits), 1);
}

static expr eq_ite(struct pool *p, const struct node *n, uint64_t k)
{
	uint64_t k2;
	expr c = n->a;

	if (is_const(p, n->b, &k2))
		return k == k2 ? solve_pool_mk_binary(p, EXPR_OR, c, eq_k(p, n->c, k))
			       : both(p, solve_pool_mk_unary(p, EXPR_NOT, c), eq_k(p, n->c, k));
	if (is_const(p, n->c, &k2))
		return k == k2 ? solve_pool_mk_binary(p, EXPR_OR,
						      solve_pool_mk_unary(p, EXPR_NOT, c),
						      eq_k(p, n->b, k))
			       : both(p, c, eq_k(p, n->b, k));
	return 0;
}

static expr eq_const(struct pool *p, expr a, uint64_t k)
{
	const struct node n = *pool_at(p, a);
	unsigned w = EXPR_W(n.word), aw = EXPR_AW(n.word);
	uint64_t low = k & expr_mask(aw);

	if (w == 1)
		return k ? a : solve_pool_mk_unary(p, EXPR_NOT, a);
	switch (EXPR_OP(n.word)) {
	case EXPR_NOT: return eq_k(p, n.a, ~k);
	case EXPR_NEG: return eq_k(p, n.a, 0 - k);
	case EXPR_ZEXT: return k == low ? eq_k(p, n.a, low) : truth(p, false);
	case EXPR_SEXT:
		if (((uint64_t)expr_signed(low, aw) & expr_mask(w)) != k)
			return truth(p, false);
		return eq_k(p, n.a, low);
	case EXPR_CONCAT:
		return both(p, eq_k(p, n.a, k >> (w - aw)), eq_k(p, n.b, k & expr_mask(w - aw)));
	case EXPR_ITE: return eq_ite(p, &n, k);
	case EXPR_CTZ:
	case EXPR_CLZ: return eq_count(p, &n, k);
	case EXPR_ADD:
	case EXPR_SUB:
	case EXPR_MUL:
	case EXPR_XOR:
	case EXPR_AND:
	case EXPR_OR: return eq_arithmetic(p, &n, k);
	default: return 0;
	}
}

/* Where a node made of parts is cut: bits below its top part; 0: it is not. */
static unsigned seam(const struct node *n)
{
	if (EXPR_OP(n->word) == EXPR_CONCAT)
		return EXPR_W(n->word) - EXPR_AW(n->word);
	return EXPR_OP(n->word) == EXPR_ZEXT ? EXPR_AW(n->word) : 0;
}

static expr simplify_eq(struct pool *p, expr a, expr b)
{
	const struct node na = *pool_at(p, a), nb = *pool_at(p, b);
	unsigned cut, w = EXPR_W(na.word);
	uint64_t k;

	if (a == b)
		return truth(p, true);
	if (is_const(p, b, &k))
		return eq_const(p, a, k);
	if (EXPR_OP(na.word) == EXPR_OP(nb.word) && EXPR_AW(na.word) == EXPR_AW(nb.word)) {
		enum expr_op op = EXPR_OP(na.word);

		if (op == EXPR_NOT || op == EXPR_NEG || op == EXPR_ZEXT || op == EXPR_SEXT)
			return solve_pool_mk_binary(p, EXPR_EQ, na.a, nb.a);
		if ((op == EXPR_ADD || op == EXPR_XOR) && na.b == nb.b)
			return solve_pool_mk_binary(p, EXPR_EQ, na.a, nb.a);
	}
	cut = seam(&na);
	if (!cut || !seam(&nb) || w == 1)
		return 0;
	cut = cut > seam(&nb) ? cut : seam(&nb);
	return both(p,
		    solve_pool_mk_binary(p, EXPR_EQ, solve_pool_mk_extract(p, a, cut, w - cut),
					 solve_pool_mk_extract(p, b, cut, w - cut)),
		    solve_pool_mk_binary(p, EXPR_EQ, solve_pool_mk_extract(p, a, 0, cut),
					 solve_pool_mk_extract(p, b, 0, cut)));
}

/* ---- order ---- */

/* ULE and SLE against a constant as ULT and SLT. */
static expr strict(struct pool *p, enum expr_op op, expr a, expr b)
{
	enum expr_op less = op == EXPR_ULE ? EXPR_ULT : EXPR_SLT;
	unsigned w = width(p, a);
	uint64_t k, max = op == EXPR_ULE ? expr_mask(w) : expr_mask(w - 1);
	uint64_t min = op == EXPR_ULE ? 0 : (uint64_t)1 << (w - 1);

	if (a == b)
		return truth(p, true);
	if (is_const(p, b, &k))
		return k == max ? truth(p, true)
				: solve_pool_mk_binary(p, less, a, solve_pool_const(p, w, k + 1));
	if (is_const(p, a, &k))
		return k == min ? truth(p, true)
				: solve_pool_mk_binary(p, less, solve_pool_const(p, w, k - 1), b);
	return 0;
}

/* a < k, for a made of parts. */
static expr below_parts(struct pool *p, enum expr_op op, const struct node *n, uint64_t k)
{
	unsigned w = EXPR_W(n->word), aw = EXPR_AW(n->word), lw = w - aw;
	uint64_t low = k & expr_mask(lw), top, k2;

	if (EXPR_OP(n->word) != EXPR_CONCAT)
		return 0;
	top = k >> lw;
	if (!low)
		return solve_pool_mk_binary(p, op, n->a, solve_pool_const(p, aw, top));
	if (!is_const(p, n->a, &k2))
		return 0;
	if (k2 != top)
		return truth(p, op == EXPR_ULT ? k2 < top
					       : expr_signed(k2, aw) < expr_signed(top, aw));
	return solve_pool_mk_binary(p, EXPR_ULT, n->b, solve_pool_const(p, lw, low));
}

/* k < b, likewise. */
static expr above_parts(struct pool *p, enum expr_op op, const struct node *n, uint64_t k)
{
	unsigned w = EXPR_W(n->word), aw = EXPR_AW(n->word), lw = w - aw;
	uint64_t low = k & expr_mask(lw), top, k2;

	if (EXPR_OP(n->word) != EXPR_CONCAT)
		return 0;
	top = k >> lw;
	if (low == expr_mask(lw))
		return solve_pool_mk_binary(p, op, solve_pool_const(p, aw, top), n->a);
	if (!is_const(p, n->a, &k2))
		return 0;
	if (k2 != top)
		return truth(p, op == EXPR_ULT ? top < k2
					       : expr_signed(top, aw) < expr_signed(k2, aw));
	return solve_pool_mk_binary(p, EXPR_ULT, solve_pool_const(p, lw, low), n->b);
}

static expr unsigned_below(struct pool *p, expr a, uint64_t k)
{
	const struct node n = *pool_at(p, a);

	if (!k)
		return truth(p, false);
	if (k == 1)
		return eq_k(p, a, 0);
	if (k == expr_mask(EXPR_W(n.word)))
		return solve_pool_mk_unary(p, EXPR_NOT, eq_k(p, a, k));
	if (EXPR_OP(n.word) == EXPR_ZEXT) {
		if (k > expr_mask(EXPR_AW(n.word)))
			return truth(p, true);
		return solve_pool_mk_binary(p, EXPR_ULT, n.a,
					    solve_pool_const(p, EXPR_AW(n.word), k));
	}
	return below_parts(p, EXPR_ULT, &n, k);
}

static expr unsigned_above(struct pool *p, expr b, uint64_t k)
{
	const struct node n = *pool_at(p, b);
	uint64_t max = expr_mask(EXPR_W(n.word));

	if (k == max)
		return truth(p, false);
	if (k == max - 1)
		return eq_k(p, b, max);
	if (!k)
		return solve_pool_mk_unary(p, EXPR_NOT, eq_k(p, b, 0));
	if (EXPR_OP(n.word) == EXPR_ZEXT) {
		if (k >= expr_mask(EXPR_AW(n.word)))
			return truth(p, false);
		return solve_pool_mk_binary(p, EXPR_ULT, solve_pool_const(p, EXPR_AW(n.word), k),
					    n.a);
	}
	return above_parts(p, EXPR_ULT, &n, k);
}

/* x < k or k < x, signed, where x is a narrower number with its sign. */
static expr signed_narrow(struct pool *p, const struct node *n, uint64_t k, bool below)
{
	unsigned aw = EXPR_AW(n->word);
	int64_t v = expr_signed(k, EXPR_W(n->word)), max = (int64_t)expr_mask(aw - 1);
	int64_t min = -max - 1;
	expr small = solve_pool_const(p, aw, k);

	if (below)
		return v > max || v <= min ? truth(p, v > max)
					   : solve_pool_mk_binary(p, EXPR_SLT, n->a, small);
	return v >= max || v < min ? truth(p, v < min)
				   : solve_pool_mk_binary(p, EXPR_SLT, small, n->a);
}

static expr signed_const(struct pool *p, expr x, uint64_t k, bool below)
{
	const struct node n = *pool_at(p, x);
	unsigned w = EXPR_W(n.word);
	uint64_t sign = (uint64_t)1 << (w - 1);
	expr kk = solve_pool_const(p, w, k);

	if (k == (below ? sign : sign - 1))
		return truth(p, false);
	if (solve_pool_zeros(p, x, 0) & sign) {
		if (k & sign)
			return truth(p, !below);
		return below ? solve_pool_mk_binary(p, EXPR_ULT, x, kk)
			     : solve_pool_mk_binary(p, EXPR_ULT, kk, x);
	}
	if (below && !k)
		return solve_pool_mk_extract(p, x, w - 1, 1);
	if (!below && k == expr_mask(w))
		return solve_pool_mk_unary(p, EXPR_NOT, solve_pool_mk_extract(p, x, w - 1, 1));
	if (EXPR_OP(n.word) == EXPR_SEXT)
		return signed_narrow(p, &n, k, below);
	return below ? below_parts(p, EXPR_SLT, &n, k) : above_parts(p, EXPR_SLT, &n, k);
}

static expr less_than(struct pool *p, enum expr_op op, expr a, expr b)
{
	const struct node na = *pool_at(p, a), nb = *pool_at(p, b);
	unsigned w = EXPR_W(na.word);
	uint64_t k, sign = (uint64_t)1 << (w - 1);

	if (a == b)
		return truth(p, false);
	if (is_const(p, b, &k))
		return op == EXPR_ULT ? unsigned_below(p, a, k) : signed_const(p, a, k, true);
	if (is_const(p, a, &k))
		return op == EXPR_ULT ? unsigned_above(p, b, k) : signed_const(p, b, k, false);
	if (EXPR_OP(na.word) == EXPR_OP(nb.word) && EXPR_AW(na.word) == EXPR_AW(nb.word)) {
		if (EXPR_OP(na.word) == EXPR_ZEXT)
			return solve_pool_mk_binary(p, EXPR_ULT, na.a, nb.a);
		if (EXPR_OP(na.word) == EXPR_SEXT)
			return solve_pool_mk_binary(p, op, na.a, nb.a);
	}
	if (op == EXPR_SLT && (solve_pool_zeros(p, a, 0) & solve_pool_zeros(p, b, 0) & sign))
		return solve_pool_mk_binary(p, EXPR_ULT, a, b);
	return 0;
}

/* On conditions: a < b means !a and b; signed, where true is -1, a and !b. */
static expr compare_bits(struct pool *p, enum expr_op op, expr a, expr b)
{
	bool flip = op == EXPR_ULT || op == EXPR_ULE;
	expr x = flip ? solve_pool_mk_unary(p, EXPR_NOT, a) : a,
	     y = flip ? b : solve_pool_mk_unary(p, EXPR_NOT, b);

	return solve_pool_mk_binary(p, op == EXPR_ULT || op == EXPR_SLT ? EXPR_AND : EXPR_OR, x, y);
}

expr solve_pool_simplify_compare(struct pool *p, enum expr_op op, expr a, expr b)
{
	if (op == EXPR_EQ)
		return simplify_eq(p, a, b);
	if (width(p, a) == 1)
		return compare_bits(p, op, a, b);
	if (op == EXPR_ULE || op == EXPR_SLE)
		return strict(p, op, a, b);
	return less_than(p, op, a, b);
}
