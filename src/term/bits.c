/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The algebra of EXTRACT, CONCAT and extensions, and what becomes one of them: shifts by constants,
 * masks, and sums of parts that do not overlap. A concatenation leans to the right, its top part
 * is no concatenation and no extension:
 *
 *   (b0 << 8 | b1) & 0x0fff   ─▶   zext(concat(extract 0..3 b0, b1))
 */
#include "term/internal.h"

#define MAX_PIECES 9

/* ---- parts ---- */

static struct term extract_concat(struct term_space *s, const struct term_parts *p, unsigned lo,
				  unsigned w)
{
	unsigned below = p->b.w;
	if (lo >= below)
		return term_extract(s, p->a, lo - below, w);
	if (lo + w <= below)
		return term_extract(s, p->b, lo, w);
	return term_concat(s, term_extract(s, p->a, 0, lo + w - below),
			   term_extract(s, p->b, lo, below - lo));
}

static struct term extract_extended(struct term_space *s, const struct term_parts *p, unsigned lo,
				    unsigned w)
{
	unsigned aw = p->a.w;
	if (lo + w <= aw)
		return term_extract(s, p->a, lo, w);
	if (lo < aw)
		return term_extend(s, p->op, term_extract(s, p->a, lo, aw - lo), w);
	if (p->op == EXPR_ZEXT)
		return term_const(w, 0);
	return term_sext(s, term_extract(s, p->a, aw - 1, 1), w);
}

/* strcmp subtracts one result of PCMPEQB from another: all bits but the lowest are the same. */
static struct term difference_of_masks(struct term_space *s, const struct term_parts *p, unsigned w)
{
	struct term_parts x = term_look(s, p->a), y = term_look(s, p->b);
	if (x.op != EXPR_SEXT || y.op != EXPR_SEXT || x.a.w != 1 || y.a.w != 1)
		return term_none();
	return term_sext(s, term_bin(s, EXPR_AND, x.a, term_not(s, y.a)), w);
}

/* The same operation, on the parts of the operands. */
static struct term extract_both(struct term_space *s, const struct term_parts *p, unsigned lo,
				unsigned w)
{
	struct term a = term_extract(s, p->a, lo, w);
	return term_bin(s, p->op, a, term_extract(s, p->b, lo, w));
}

static struct term extract_ite(struct term_space *s, const struct term_parts *p, unsigned lo,
			       unsigned w)
{
	struct term b;
	if (p->b.node && p->c.node)
		return term_none();
	b = term_extract(s, p->b, lo, w);
	return term_ite(s, p->a, b, term_extract(s, p->c, lo, w));
}

struct term term_rule_extract(struct term_space *s, const struct term_request *t)
{
	unsigned lo = EXPR_LO(t->word), w = EXPR_W(t->word);
	const struct term_parts *p = &t->p;
	if (w == t->a.w)
		return t->a;
	switch (p->op) {
	case EXPR_EXTRACT: return term_extract(s, p->a, lo + p->lo, w);
	case EXPR_CONCAT: return extract_concat(s, p, lo, w);
	case EXPR_ZEXT:
	case EXPR_SEXT: return extract_extended(s, p, lo, w);
	case EXPR_NOT: return term_not(s, term_extract(s, p->a, lo, w));
	case EXPR_NEG: return lo ? term_none() : term_neg(s, term_extract(s, p->a, 0, w));
	case EXPR_SUB: return lo ? difference_of_masks(s, p, w) : extract_both(s, p, 0, w);
	case EXPR_ADD:
	case EXPR_MUL: return lo ? term_none() : extract_both(s, p, 0, w);
	case EXPR_AND:
	case EXPR_OR:
	case EXPR_XOR: return extract_both(s, p, lo, w);
	case EXPR_ITE: return extract_ite(s, p, lo, w);
	default: return term_none();
	}
}

/* ---- putting together ---- */

/* Two parts of one node that lie side by side; the lower one is of w bits. */
static struct term rejoin(struct term_space *s, const struct term_parts *hi,
			  const struct term_parts *lo, unsigned w, unsigned all)
{
	if (hi->op != EXPR_EXTRACT || lo->op != EXPR_EXTRACT || !term_same(hi->a, lo->a) ||
	    hi->lo != lo->lo + w)
		return term_none();
	return term_extract(s, hi->a, lo->lo, all);
}

/* Below a constant that is not 0: neighbours become one. */
static struct term concat_const(struct term_space *s, const struct term_request *t)
{
	const struct term_parts *q = &t->q;
	struct term k = t->a, b = t->b;
	if (q->op == EXPR_ZEXT)
		return term_concat(s, term_const(k.w + b.w - q->a.w, k.v << (b.w - q->a.w)), q->a);
	if (q->op == EXPR_CONCAT && !q->a.node)
		return term_concat(s, term_concat(s, k, q->a), q->b);
	return term_none();
}

struct term term_rule_concat(struct term_space *s, const struct term_request *t)
{
	const struct term_parts *p = &t->p, *q = &t->q;
	unsigned w = EXPR_W(t->word);
	struct term_parts top;
	struct term r;
	if (!t->a.node)
		return t->a.v ? concat_const(s, t) : term_zext(s, t->b, w);
	if (p->op == EXPR_ZEXT)
		return term_zext(s, term_concat(s, p->a, t->b), w);
	if (p->op == EXPR_CONCAT)
		return term_concat(s, p->a, term_concat(s, p->b, t->b));
	if (p->op != EXPR_EXTRACT || q->op != EXPR_CONCAT)
		return rejoin(s, p, q, t->b.w, w);
	top = term_look(s, q->a);
	r = rejoin(s, p, &top, q->a.w, t->a.w + q->a.w);
	return term_found(r) ? term_concat(s, r, q->b) : r;
}

struct term term_rule_zext(struct term_space *s, const struct term_request *t)
{
	return t->p.op == EXPR_ZEXT ? term_zext(s, t->p.a, EXPR_W(t->word)) : term_none();
}

struct term term_rule_sext(struct term_space *s, const struct term_request *t)
{
	unsigned w = EXPR_W(t->word);
	if (t->p.op == EXPR_ZEXT || t->p.op == EXPR_SEXT)
		return term_extend(s, t->p.op, t->p.a, w);
	if (!(term_possible(s, t->a) & term_sign_bit(t->a.w)))
		return term_zext(s, t->a, w);
	return term_none();
}

struct term term_rule_shift(struct term_space *s, const struct term_request *t)
{
	enum expr_op op = EXPR_OP(t->word);
	struct term a = t->a;
	unsigned w = a.w, k;
	if (t->b.node)
		return term_none();
	if (t->b.v >= w && op != EXPR_ASHR)
		return term_const(w, 0);
	k = t->b.v >= w ? w - 1 : (unsigned)t->b.v;
	if (!k)
		return a;
	if (op == EXPR_SHL)
		return term_concat(s, term_extract(s, a, 0, w - k), term_const(k, 0));
	return term_extend(s, op == EXPR_LSHR ? EXPR_ZEXT : EXPR_SEXT, term_extract(s, a, k, w - k),
			   w);
}

/* ---- pieces ---- */

/* How many runs of ones or zeros the lower w bits of m are. */
static unsigned pieces(uint64_t m, unsigned w)
{
	uint64_t edges = (m ^ m >> 1) & expr_mask(w - 1);
	unsigned n = 1;
	for (; edges; edges &= edges - 1)
		n++;
	return n;
}

/* Bits of a where m has ones, of b where it has zeros. */
static struct term piece_together(struct term_space *s, uint64_t m, struct term a, struct term b)
{
	struct term r = term_none();
	for (unsigned lo = 0, n; lo < a.w; lo += n) {
		uint64_t rest = m >> lo, other = rest & 1 ? ~rest : rest;
		struct term part;
		n = other ? (unsigned)__builtin_ctzll(other) : 64;
		n = n < a.w - lo ? n : a.w - lo;
		part = term_extract(s, rest & 1 ? a : b, lo, n);
		r = term_found(r) ? term_concat(s, part, r) : part;
	}
	return r;
}

/* AND with a constant. */
struct term term_rule_mask(struct term_space *s, const struct term_request *t)
{
	unsigned w = t->a.w;
	if (t->b.node || pieces(t->b.v, w) > MAX_PIECES)
		return term_none();
	return piece_together(s, t->b.v, t->a, term_const(w, 0));
}

/* a | b, a + b or a ^ b with no bit that both may have. */
struct term term_rule_disjoint(struct term_space *s, const struct term_request *t)
{
	unsigned w = t->a.w;
	uint64_t mask = expr_mask(w), a = term_possible(s, t->a), b, neither;
	if (w == 1 || a == mask)
		return term_none();
	b = term_possible(s, t->b);
	if (a & b)
		return term_none();
	/* What neither has goes with its neighbours above, or below at the top. */
	neither = ~(a | b) & mask;
	for (uint64_t bit = term_sign_bit(w); neither; bit >>= 1) {
		if (neither & bit && bit << 1 & mask && !(a & bit << 1))
			b |= bit;
		else if (neither & bit)
			a |= bit;
		neither &= ~bit;
	}
	if (pieces(a, w) > MAX_PIECES)
		return term_none();
	return piece_together(s, a, t->a, t->b);
}
