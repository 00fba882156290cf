/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Equal, simpler expressions, found as nodes are made. Each rule looks at a node's operands (and
 * theirs) and gives a node that is smaller, narrower, or depends on fewer bytes; 0 says that
 * nothing applies. Constants stand on the right already (pool.c). What the rules aim at:
 *
 *   - constant shifts and masks become extractions and concatenations, and assembling a word from
 *     bytes ((b << 8) | a) becomes a concatenation of bytes: comparisons with constants then fall
 *     apart into comparisons of bytes, which slicing can separate (simplify_bits.c);
 *   - comparisons lose extensions, additions of constants and other invertible operations
 *     (simplify_compare.c);
 *   - 1-bit values are conditions: no arithmetic on them, NOT is the only negation.
 */
#include "solve/internal.h"

/* ---- makers ---- */

expr solve_pool_mk_unary(struct pool *p, enum expr_op op, expr a)
{
	unsigned w = width(p, a);

	return solve_pool_node(p, EXPR_WORD(op, w, w, 0), a, 0, 0);
}

expr solve_pool_mk_binary(struct pool *p, enum expr_op op, expr a, expr b)
{
	unsigned aw = width(p, a), w = op >= EXPR_EQ && op <= EXPR_SLE ? 1 : aw;

	return solve_pool_node(p, EXPR_WORD(op, w, aw, 0), a, b, 0);
}

expr solve_pool_mk_extract(struct pool *p, expr a, unsigned lo, unsigned w)
{
	return solve_pool_node(p, EXPR_WORD(EXPR_EXTRACT, w, width(p, a), lo), a, 0, 0);
}

expr solve_pool_mk_concat(struct pool *p, expr a, expr b)
{
	unsigned aw = width(p, a);

	return solve_pool_node(p, EXPR_WORD(EXPR_CONCAT, aw + width(p, b), aw, 0), a, b, 0);
}

expr solve_pool_mk_extend(struct pool *p, enum expr_op op, expr a, unsigned w)
{
	unsigned aw = width(p, a);

	return aw == w ? a : solve_pool_node(p, EXPR_WORD(op, w, aw, 0), a, 0, 0);
}

expr solve_pool_mk_ite(struct pool *p, expr c, expr a, expr b)
{
	return solve_pool_node(p, EXPR_WORD(EXPR_ITE, width(p, a), 1, 0), c, a, b);
}

/* ---- arithmetic ---- */

static expr simplify_add(struct pool *p, expr a, expr b)
{
	const struct node na = *pool_at(p, a), nb = *pool_at(p, b);
	unsigned w = EXPR_W(na.word);
	uint64_t k, k2;

	if (w == 1)
		return solve_pool_mk_binary(p, EXPR_XOR, a, b);
	if (is_const(p, b, &k)) {
		if (!k)
			return a;
		if (EXPR_OP(na.word) == EXPR_ADD && is_const(p, na.b, &k2))
			return solve_pool_mk_binary(p, EXPR_ADD, na.a,
						    solve_pool_const(p, w, k + k2));
		if (EXPR_OP(na.word) == EXPR_SUB && is_const(p, na.a, &k2))
			return solve_pool_mk_binary(p, EXPR_SUB, solve_pool_const(p, w, k + k2),
						    na.b);
		return 0;
	}
	if (EXPR_OP(na.word) == EXPR_NEG)
		return solve_pool_mk_binary(p, EXPR_SUB, b, na.a);
	if (EXPR_OP(nb.word) == EXPR_NEG)
		return solve_pool_mk_binary(p, EXPR_SUB, a, nb.a);
	if (EXPR_OP(na.word) == EXPR_ADD && is_const(p, na.b, &k)) /* constants come last */
		return solve_pool_mk_binary(p, EXPR_ADD, solve_pool_mk_binary(p, EXPR_ADD, na.a, b),
					    na.b);
	if (EXPR_OP(nb.word) == EXPR_ADD && is_const(p, nb.b, &k))
		return solve_pool_mk_binary(p, EXPR_ADD, solve_pool_mk_binary(p, EXPR_ADD, a, nb.a),
					    nb.b);
	if ((EXPR_OP(na.word) == EXPR_SUB && na.b == b))
		return na.a;
	if ((EXPR_OP(nb.word) == EXPR_SUB && nb.b == a))
		return nb.a;
	return 0;
}

static expr simplify_sub(struct pool *p, expr a, expr b)
{
	const struct node na = *pool_at(p, a);
	unsigned w = EXPR_W(na.word);
	uint64_t k;

	if (a == b)
		return solve_pool_const(p, w, 0);
	if (w == 1)
		return solve_pool_mk_binary(p, EXPR_XOR, a, b);
	if (is_const(p, b, &k))
		return solve_pool_mk_binary(p, EXPR_ADD, a, solve_pool_const(p, w, 0 - k));
	if (is_const(p, a, &k) && !k)
		return solve_pool_mk_unary(p, EXPR_NEG, b);
	if (op_of(p, b) == EXPR_NEG)
		return solve_pool_mk_binary(p, EXPR_ADD, a, pool_at(p, b)->a);
	if (EXPR_OP(na.word) == EXPR_ADD) {
		if (na.a == b || na.b == b)
			return na.a == b ? na.b : na.a;
		if (is_const(p, na.b, &k)) /* (x + k) - y */
			return solve_pool_mk_binary(
				p, EXPR_ADD, solve_pool_mk_binary(p, EXPR_SUB, na.a, b), na.b);
	}
	return 0;
}

static expr simplify_mul(struct pool *p, enum expr_op op, expr a, expr b)
{
	unsigned w = width(p, a);
	uint64_t k;

	if (w == 1 && op == EXPR_MUL)
		return solve_pool_mk_binary(p, EXPR_AND, a, b);
	if (!is_const(p, b, &k))
		return 0;
	if (!k)
		return b;
	if (op == EXPR_UMULH && k == 1)
		return solve_pool_const(p, w, 0);
	if (op != EXPR_MUL)
		return 0;
	if (k == 1)
		return a;
	if (!(k & (k - 1)))
		return solve_pool_mk_binary(p, EXPR_SHL, a,
					    solve_pool_const(p, w, (uint64_t)__builtin_ctzll(k)));
	return 0;
}

/* A constant divisor, or operands that are not negative. */
static expr divide_by(struct pool *p, enum expr_op op, expr a, uint64_t k)
{
	unsigned w = width(p, a), narrow;
	expr x;

	if (!k)
		return 0;
	if (!(k & (k - 1))) {
		if (op == EXPR_UREM)
			return solve_pool_mk_binary(p, EXPR_AND, a, solve_pool_const(p, w, k - 1));
		return solve_pool_mk_binary(p, EXPR_LSHR, a,
					    solve_pool_const(p, w, (uint64_t)__builtin_ctzll(k)));
	}
	if (op_of(p, a) != EXPR_ZEXT)
		return 0;
	x = pool_at(p, a)->a;
	narrow = width(p, x);
	if (k > expr_mask(narrow))
		return op == EXPR_UREM ? a : solve_pool_const(p, w, 0);
	return solve_pool_mk_extend(
		p, EXPR_ZEXT, solve_pool_mk_binary(p, op, x, solve_pool_const(p, narrow, k)), w);
}

static expr simplify_divide(struct pool *p, enum expr_op op, expr a, expr b, expr c)
{
	unsigned w = width(p, a);
	uint64_t k, sign = (uint64_t)1 << (w - 1);

	if (op == EXPR_UDIV || op == EXPR_UREM)
		return is_const(p, b, &k) ? divide_by(p, op, a, k) : 0;
	if (op == EXPR_SDIV || op == EXPR_SREM) {
		if (!(solve_pool_zeros(p, a, 0) & sign) || !(solve_pool_zeros(p, b, 0) & sign))
			return 0;
		return solve_pool_mk_binary(p, op == EXPR_SDIV ? EXPR_UDIV : EXPR_UREM, a, b);
	}
	if (op == EXPR_UDIV128 || op == EXPR_UREM128) {
		if (!is_const(p, a, &k) || k)
			return 0;
		return solve_pool_mk_binary(p, op == EXPR_UDIV128 ? EXPR_UDIV : EXPR_UREM, b, c);
	}
	if (solve_pool_mk_binary(p, EXPR_ASHR, b, solve_pool_const(p, 64, 63)) != a)
		return 0;
	return solve_pool_mk_binary(p, op == EXPR_SDIV128 ? EXPR_SDIV : EXPR_SREM, b, c);
}

/* ---- logic ---- */

static expr simplify_not(struct pool *p, expr a)
{
	const struct node n = *pool_at(p, a);
	enum expr_op op = EXPR_OP(n.word);
	uint64_t k;

	if (op == EXPR_NOT)
		return n.a;
	if (op == EXPR_XOR && is_const(p, n.b, &k))
		return solve_pool_mk_binary(p, EXPR_XOR, n.a,
					    solve_pool_const(p, EXPR_W(n.word), ~k));
	if (op == EXPR_ULT || op == EXPR_SLT)
		return solve_pool_mk_binary(p, op == EXPR_ULT ? EXPR_ULE : EXPR_SLE, n.b, n.a);
	if (op == EXPR_ULE || op == EXPR_SLE)
		return solve_pool_mk_binary(p, op == EXPR_ULE ? EXPR_ULT : EXPR_SLT, n.b, n.a);
	return 0;
}

static bool opposite(const struct pool *p, expr a, expr b)
{
	return (op_of(p, a) == EXPR_NOT && pool_at(p, a)->a == b) ||
	       (op_of(p, b) == EXPR_NOT && pool_at(p, b)->a == a);
}

static expr simplify_and_or(struct pool *p, enum expr_op op, expr a, expr b)
{
	const struct node na = *pool_at(p, a);
	unsigned w = EXPR_W(na.word);
	uint64_t k, k2, ones = expr_mask(w);

	if (a == b)
		return a;
	if (opposite(p, a, b))
		return solve_pool_const(p, w, op == EXPR_AND ? 0 : ones);
	if (!is_const(p, b, &k))
		return 0;
	if (k == (op == EXPR_AND ? ones : 0))
		return a;
	if (k == (op == EXPR_AND ? 0 : ones))
		return b;
	if (EXPR_OP(na.word) == op && is_const(p, na.b, &k2))
		return solve_pool_mk_binary(
			p, op, na.a, solve_pool_const(p, w, op == EXPR_AND ? k & k2 : k | k2));
	return 0;
}

static expr simplify_xor(struct pool *p, expr a, expr b)
{
	const struct node na = *pool_at(p, a), nb = *pool_at(p, b);
	unsigned w = EXPR_W(na.word);
	uint64_t k, k2;

	if (a == b)
		return solve_pool_const(p, w, 0);
	if (opposite(p, a, b))
		return solve_pool_const(p, w, ~(uint64_t)0);
	if (is_const(p, b, &k)) {
		if (!k)
			return a;
		if (k == expr_mask(w))
			return solve_pool_mk_unary(p, EXPR_NOT, a);
		if (EXPR_OP(na.word) == EXPR_XOR && is_const(p, na.b, &k2))
			return solve_pool_mk_binary(p, EXPR_XOR, na.a,
						    solve_pool_const(p, w, k ^ k2));
		if (EXPR_OP(na.word) == EXPR_NOT)
			return solve_pool_mk_binary(p, EXPR_XOR, na.a, solve_pool_const(p, w, ~k));
		return 0;
	}
	if (EXPR_OP(na.word) == EXPR_XOR && (na.a == b || na.b == b))
		return na.a == b ? na.b : na.a;
	if (EXPR_OP(nb.word) == EXPR_XOR && (nb.a == a || nb.b == a))
		return nb.a == a ? nb.b : nb.a;
	return 0;
}

static expr ite_of_bits(struct pool *p, expr c, expr a, expr b)
{
	uint64_t k;

	if (is_const(p, a, &k))
		return k ? solve_pool_mk_binary(p, EXPR_OR, c, b)
			 : solve_pool_mk_binary(p, EXPR_AND, solve_pool_mk_unary(p, EXPR_NOT, c),
						b);
	if (is_const(p, b, &k))
		return k ? solve_pool_mk_binary(p, EXPR_OR, solve_pool_mk_unary(p, EXPR_NOT, c), a)
			 : solve_pool_mk_binary(p, EXPR_AND, c, a);
	return 0;
}

static expr simplify_ite(struct pool *p, expr c, expr a, expr b)
{
	const struct node na = *pool_at(p, a), nb = *pool_at(p, b);
	unsigned w = EXPR_W(na.word);
	uint64_t k, k2;

	if (is_const(p, c, &k))
		return k ? a : b;
	if (a == b)
		return a;
	if (op_of(p, c) == EXPR_NOT)
		return solve_pool_mk_ite(p, pool_at(p, c)->a, b, a);
	if (w == 1)
		return ite_of_bits(p, c, a, b);
	if (is_const(p, a, &k) && is_const(p, b, &k2)) {
		if (k == 1 && !k2)
			return solve_pool_mk_extend(p, EXPR_ZEXT, c, w);
		if (!k && k2 == 1)
			return solve_pool_mk_extend(p, EXPR_ZEXT,
						    solve_pool_mk_unary(p, EXPR_NOT, c), w);
	}
	if (EXPR_OP(na.word) == EXPR_ITE && na.a == c)
		return solve_pool_mk_ite(p, c, na.b, b);
	if (EXPR_OP(nb.word) == EXPR_ITE && nb.a == c)
		return solve_pool_mk_ite(p, c, a, nb.c);
	return 0;
}

/* ---- choices between constants ---- */

/* Is e one of two constants, by a condition? */
static bool is_choice(const struct pool *p, expr e, expr *cond, uint64_t *yes, uint64_t *no)
{
	const struct node *n = pool_at(p, e);

	*cond = n->a;
	if (EXPR_OP(n->word) == EXPR_ITE)
		return is_const(p, n->b, yes) && is_const(p, n->c, no);
	*no = 0;
	*yes = EXPR_OP(n->word) == EXPR_SEXT ? expr_mask(EXPR_W(n->word)) : 1;
	return (EXPR_OP(n->word) == EXPR_ZEXT || EXPR_OP(n->word) == EXPR_SEXT) &&
	       EXPR_AW(n->word) == 1;
}

/* An operation on such a choice and constants is such a choice. */
static expr through_choice(struct pool *p, uint32_t word, expr a, expr b)
{
	enum expr_op op = EXPR_OP(word);
	uint64_t yes, no, k = 0;
	expr cond;

	if (op == EXPR_ITE || op >= EXPR_UDIV128 || op == EXPR_CONCAT)
		return 0;
	if ((op == EXPR_ZEXT || op == EXPR_SEXT || op == EXPR_EXTRACT) && op_of(p, a) != EXPR_ITE)
		return 0;
	if (is_choice(p, a, &cond, &yes, &no)) {
		if (b && !is_const(p, b, &k))
			return 0;
		yes = expr_apply(word, yes, k, 0);
		no = expr_apply(word, no, k, 0);
	} else {
		if (!b || !is_const(p, a, &k) || !is_choice(p, b, &cond, &yes, &no))
			return 0;
		yes = expr_apply(word, k, yes, 0);
		no = expr_apply(word, k, no, 0);
	}
	return solve_pool_mk_ite(p, cond, solve_pool_const(p, EXPR_W(word), yes),
				 solve_pool_const(p, EXPR_W(word), no));
}

static expr simplify_op(struct pool *p, uint32_t word, expr a, expr b, expr c)
{
	enum expr_op op = EXPR_OP(word);

	switch (op) {
	case EXPR_NOT: return simplify_not(p, a);
	case EXPR_NEG:
		if (EXPR_W(word) == 1)
			return a;
		if (op_of(p, a) == EXPR_SUB)
			return solve_pool_mk_binary(p, EXPR_SUB, pool_at(p, a)->b,
						    pool_at(p, a)->a);
		return op_of(p, a) == EXPR_NEG ? pool_at(p, a)->a : 0;
	case EXPR_ADD: return simplify_add(p, a, b);
	case EXPR_SUB: return simplify_sub(p, a, b);
	case EXPR_MUL:
	case EXPR_UMULH:
	case EXPR_SMULH: return simplify_mul(p, op, a, b);
	case EXPR_AND:
	case EXPR_OR: return simplify_and_or(p, op, a, b);
	case EXPR_XOR: return simplify_xor(p, a, b);
	case EXPR_ITE: return simplify_ite(p, a, b, c);
	case EXPR_EQ:
	case EXPR_ULT:
	case EXPR_ULE:
	case EXPR_SLT:
	case EXPR_SLE: return solve_pool_simplify_compare(p, op, a, b);
	case EXPR_UDIV:
	case EXPR_SDIV:
	case EXPR_UREM:
	case EXPR_SREM:
	case EXPR_UDIV128:
	case EXPR_UREM128:
	case EXPR_SDIV128:
	case EXPR_SREM128: return simplify_divide(p, op, a, b, c);
	default: return 0;
	}
}

expr solve_pool_simplify(struct pool *p, uint32_t word, expr a, expr b, expr c)
{
	expr r = through_choice(p, word, a, b);

	if (!r)
		r = simplify_op(p, word, a, b, c);
	return r ? r : solve_pool_simplify_bits(p, word, a, b);
}
