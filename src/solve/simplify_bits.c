/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The algebra of EXTRACT, CONCAT and extensions, and what becomes one of them: shifts by constants,
 * masks, and sums of parts that do not overlap. A concatenation leans to the right, its top part
 * is no concatenation and no extension:
 *
 *   (b0 << 8 | b1) & 0x0fff   ─▶   zext(concat(extract 0..3 b0, b1))
 */
#include "solve/internal.h"

#define ZEROS_DEPTH 8
#define MAX_PIECES 9

uint64_t solve_pool_zeros(const struct pool *p, expr e, unsigned depth)
{
	const struct node *n = pool_at(p, e);
	unsigned w = EXPR_W(n->word), aw = EXPR_AW(n->word);
	uint64_t mask = expr_mask(w), k;

	if (is_const(p, e, &k))
		return ~k & mask;
	if (depth++ == ZEROS_DEPTH)
		return 0;
	switch (EXPR_OP(n->word)) {
	case EXPR_ZEXT: return (mask & ~expr_mask(aw)) | solve_pool_zeros(p, n->a, depth);
	case EXPR_CONCAT:
		return solve_pool_zeros(p, n->a, depth) << (w - aw) |
		       solve_pool_zeros(p, n->b, depth);
	case EXPR_AND: return solve_pool_zeros(p, n->a, depth) | solve_pool_zeros(p, n->b, depth);
	case EXPR_OR:
	case EXPR_XOR: return solve_pool_zeros(p, n->a, depth) & solve_pool_zeros(p, n->b, depth);
	case EXPR_ITE: return solve_pool_zeros(p, n->b, depth) & solve_pool_zeros(p, n->c, depth);
	default: return 0;
	}
}

/* ---- parts ---- */

static expr extract_concat(struct pool *p, const struct node *n, unsigned lo, unsigned w)
{
	unsigned below = EXPR_W(n->word) - EXPR_AW(n->word);

	if (lo >= below)
		return solve_pool_mk_extract(p, n->a, lo - below, w);
	if (lo + w <= below)
		return solve_pool_mk_extract(p, n->b, lo, w);
	return solve_pool_mk_concat(p, solve_pool_mk_extract(p, n->a, 0, lo + w - below),
				    solve_pool_mk_extract(p, n->b, lo, below - lo));
}

static expr extract_extend(struct pool *p, const struct node *n, unsigned lo, unsigned w)
{
	unsigned aw = EXPR_AW(n->word);
	enum expr_op op = EXPR_OP(n->word);

	if (lo + w <= aw)
		return solve_pool_mk_extract(p, n->a, lo, w);
	if (lo < aw)
		return solve_pool_mk_extend(p, op, solve_pool_mk_extract(p, n->a, lo, aw - lo), w);
	if (op == EXPR_ZEXT)
		return solve_pool_const(p, w, 0);
	return solve_pool_mk_extend(p, EXPR_SEXT, solve_pool_mk_extract(p, n->a, aw - 1, 1), w);
}

static expr simplify_extract(struct pool *p, expr a, unsigned lo, unsigned w)
{
	const struct node n = *pool_at(p, a);
	enum expr_op op = EXPR_OP(n.word);
	uint64_t k;

	if (w == EXPR_W(n.word))
		return a;
	switch (op) {
	case EXPR_EXTRACT: return solve_pool_mk_extract(p, n.a, lo + EXPR_LO(n.word), w);
	case EXPR_CONCAT: return extract_concat(p, &n, lo, w);
	case EXPR_ZEXT:
	case EXPR_SEXT: return extract_extend(p, &n, lo, w);
	case EXPR_NOT: return solve_pool_mk_unary(p, op, solve_pool_mk_extract(p, n.a, lo, w));
	case EXPR_NEG:
		return lo ? 0 : solve_pool_mk_unary(p, op, solve_pool_mk_extract(p, n.a, 0, w));
	case EXPR_ADD:
	case EXPR_SUB:
	case EXPR_MUL:
		if (lo)
			return 0; /* fall through */
	case EXPR_AND:
	case EXPR_OR:
	case EXPR_XOR:
		return solve_pool_mk_binary(p, op, solve_pool_mk_extract(p, n.a, lo, w),
					    solve_pool_mk_extract(p, n.b, lo, w));
	case EXPR_ITE:
		if (!is_const(p, n.b, &k) && !is_const(p, n.c, &k))
			return 0;
		return solve_pool_mk_ite(p, n.a, solve_pool_mk_extract(p, n.b, lo, w),
					 solve_pool_mk_extract(p, n.c, lo, w));
	default: return 0;
	}
}

/* ---- putting together ---- */

/* Two parts of one node that lie side by side. */
static expr rejoin(struct pool *p, const struct node *a, const struct node *b)
{
	if (EXPR_OP(a->word) != EXPR_EXTRACT || EXPR_OP(b->word) != EXPR_EXTRACT || a->a != b->a ||
	    EXPR_LO(a->word) != EXPR_LO(b->word) + EXPR_W(b->word))
		return 0;
	return solve_pool_mk_extract(p, a->a, EXPR_LO(b->word), EXPR_W(a->word) + EXPR_W(b->word));
}

static expr simplify_concat(struct pool *p, unsigned w, expr a, expr b)
{
	const struct node na = *pool_at(p, a), nb = *pool_at(p, b);
	struct node top;
	uint64_t k, k2;
	expr r;

	if (is_const(p, a, &k)) {
		if (!k)
			return solve_pool_mk_extend(p, EXPR_ZEXT, b, w);
		if (EXPR_OP(nb.word) == EXPR_ZEXT) /* its zeros join the constant */
			return solve_pool_mk_concat(
				p,
				solve_pool_const(p, w - EXPR_AW(nb.word),
						 k << (EXPR_W(nb.word) - EXPR_AW(nb.word))),
				nb.a);
		if (EXPR_OP(nb.word) == EXPR_CONCAT && is_const(p, nb.a, &k2))
			return solve_pool_mk_concat(p, solve_pool_mk_concat(p, a, nb.a), nb.b);
		return 0;
	}
	if (EXPR_OP(na.word) == EXPR_ZEXT)
		return solve_pool_mk_extend(p, EXPR_ZEXT, solve_pool_mk_concat(p, na.a, b), w);
	if (EXPR_OP(na.word) == EXPR_CONCAT)
		return solve_pool_mk_concat(p, na.a, solve_pool_mk_concat(p, na.b, b));
	r = rejoin(p, &na, &nb);
	if (r || EXPR_OP(nb.word) != EXPR_CONCAT)
		return r;
	top = *pool_at(p, nb.a);
	r = rejoin(p, &na, &top);
	return r ? solve_pool_mk_concat(p, r, nb.b) : 0;
}

static expr simplify_extend(struct pool *p, enum expr_op op, unsigned w, expr a)
{
	const struct node n = *pool_at(p, a);

	if (EXPR_OP(n.word) == EXPR_ZEXT)
		return solve_pool_mk_extend(p, EXPR_ZEXT, n.a, w);
	if (op == EXPR_ZEXT)
		return 0;
	if (EXPR_OP(n.word) == EXPR_SEXT)
		return solve_pool_mk_extend(p, EXPR_SEXT, n.a, w);
	if (solve_pool_zeros(p, a, 0) >> (EXPR_W(n.word) - 1))
		return solve_pool_mk_extend(p, EXPR_ZEXT, a, w);
	return 0;
}

static expr simplify_shift(struct pool *p, enum expr_op op, expr a, expr b)
{
	unsigned w = width(p, a), n;
	uint64_t k;

	if (!is_const(p, b, &k))
		return 0;
	if (k >= w) {
		if (op != EXPR_ASHR)
			return solve_pool_const(p, w, 0);
		k = w - 1;
	}
	if (!k)
		return a;
	n = (unsigned)k;
	if (op == EXPR_SHL)
		return solve_pool_mk_concat(p, solve_pool_mk_extract(p, a, 0, w - n),
					    solve_pool_const(p, n, 0));
	return solve_pool_mk_extend(p, op == EXPR_LSHR ? EXPR_ZEXT : EXPR_SEXT,
				    solve_pool_mk_extract(p, a, n, w - n), w);
}

/* How far down from bit `top` (not in it) the bits of m are alike. */
static unsigned alike(uint64_t m, unsigned top)
{
	unsigned n = 1;

	while (n < top && (m >> (top - 1 - n) & 1) == (m >> (top - 1) & 1))
		n++;
	return n;
}

static unsigned pieces(uint64_t m, unsigned w)
{
	unsigned n = 0;

	for (unsigned top = w; top; top -= alike(m, top))
		n++;
	return n;
}

/* Bits of a where m has ones, of b where it has zeros (b = 0: zeros). */
static expr piece_together(struct pool *p, uint64_t m, expr a, expr b)
{
	unsigned w = width(p, a), n;
	expr r = 0, part;

	for (unsigned top = w; top; top -= n) {
		n = alike(m, top);
		if (m >> (top - 1) & 1)
			part = solve_pool_mk_extract(p, a, top - n, n);
		else
			part = b ? solve_pool_mk_extract(p, b, top - n, n)
				 : solve_pool_const(p, n, 0);
		r = r ? solve_pool_mk_concat(p, r, part) : part;
	}
	return r;
}

/* a | b, a + b or a ^ b with no bit that both may have. */
static expr simplify_disjoint(struct pool *p, expr a, expr b)
{
	uint64_t mask = expr_mask(width(p, a)), za = solve_pool_zeros(p, a, 0), zb;

	if (!za)
		return 0;
	zb = solve_pool_zeros(p, b, 0);
	if ((za | zb) != mask)
		return 0;
	/* What both have as zeros goes with its neighbours above. */
	for (uint64_t both = za & zb, bit = (uint64_t)1 << (width(p, a) - 1); bit; bit >>= 1)
		if ((both & bit) && bit << 1 & mask && za & bit << 1)
			za |= bit;
		else if (both & bit)
			za &= ~bit;
	if (pieces(~za & mask, width(p, a)) > MAX_PIECES)
		return 0;
	return piece_together(p, ~za & mask, a, b);
}

expr solve_pool_simplify_bits(struct pool *p, uint32_t word, expr a, expr b)
{
	enum expr_op op = EXPR_OP(word);
	uint64_t k;

	switch (op) {
	case EXPR_EXTRACT: return simplify_extract(p, a, EXPR_LO(word), EXPR_W(word));
	case EXPR_CONCAT: return simplify_concat(p, EXPR_W(word), a, b);
	case EXPR_ZEXT:
	case EXPR_SEXT: return simplify_extend(p, op, EXPR_W(word), a);
	case EXPR_SHL:
	case EXPR_LSHR:
	case EXPR_ASHR: return simplify_shift(p, op, a, b);
	case EXPR_AND:
		if (!is_const(p, b, &k) || pieces(k, EXPR_W(word)) > MAX_PIECES)
			return 0;
		return piece_together(p, k, a, 0);
	case EXPR_ADD:
	case EXPR_OR:
	case EXPR_XOR: return EXPR_W(word) > 1 ? simplify_disjoint(p, a, b) : 0;
	default: return 0;
	}
}
