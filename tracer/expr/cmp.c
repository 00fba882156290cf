/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Terms that compare: what is known of a side, or common to both, is taken off before a node is
 * made. Most conditions of a program end as a comparison of a few input bytes with a constant.
 */
#include "term.h"

/* a, which is x & m or x | m, == c */
static struct term eq_masked(const struct term_parts *p, struct term a, ULong c)
{
	ULong m = p->b.v;
	if (!p->b.node && (p->op == EXPR_AND ? c & ~m : m & ~c))
		return t_const(1, 0);
	if (p->op == EXPR_AND && !p->b.node && !(m & (m - 1))) { /* one bit */
		struct term bit = t_bit(p->a, (UInt)__builtin_ctzll(m));
		return c ? bit : t_not(bit);
	}
	return t_make2(EXPR_EQ, 1, a, t_const(a.w, c));
}

/* x < y ? x : y, as PMINUB does it */
static Bool is_minimum(const struct term_parts *p)
{
	struct term_parts q;
	return t_is_op(p->a, EXPR_ULT, &q) && t_same(q.a, p->b) && t_same(q.b, p->c);
}

/* a == c: what is known of a, taken off. */
static struct term eq_const(struct term a, ULong c)
{
	struct term_parts p;
	struct term no = t_const(1, 0);
	if (a.w == 1)
		return c ? a : t_not(a);
	if (!a.node || !t_look(a, &p))
		return t_make2(EXPR_EQ, 1, a, t_const(a.w, c));
	switch (p.op) {
	case EXPR_ZEXT: return c & ~expr_mask(p.a.w) ? no : eq_const(p.a, c);
	case EXPR_SEXT:
		if (((ULong)expr_signed(c, p.a.w) ^ c) & expr_mask(a.w))
			return no;
		return eq_const(p.a, c & expr_mask(p.a.w));
	case EXPR_NOT: return eq_const(p.a, ~c & expr_mask(a.w));
	case EXPR_ADD:
		if (!p.b.node)
			return eq_const(p.a, (c - p.b.v) & expr_mask(a.w));
		break;
	case EXPR_XOR:
		if (!p.b.node)
			return eq_const(p.a, c ^ p.b.v);
		if (!c)
			return t_cmp(EXPR_EQ, p.a, p.b);
		break;
	case EXPR_SUB:
		if (!c)
			return t_cmp(EXPR_EQ, p.a, p.b);
		break;
	case EXPR_CONCAT:
		if (!p.a.node)
			return p.a.v == c >> p.b.w ? eq_const(p.b, c & expr_mask(p.b.w)) : no;
		if (!p.b.node)
			return p.b.v == (c & expr_mask(p.b.w)) ? eq_const(p.a, c >> p.b.w) : no;
		break;
	case EXPR_AND:
	case EXPR_OR: return eq_masked(&p, a, c);
	case EXPR_ITE:
		if (!p.b.node && !p.c.node)
			return t_ite(p.a, t_const(1, p.b.v == c), t_const(1, p.c.v == c));
		if (!c && is_minimum(&p))
			return t_bin(EXPR_OR, t_is_zero(p.b), t_is_zero(p.c));
		break;
	default: break;
	}
	return t_make2(EXPR_EQ, 1, a, t_const(a.w, c));
}

/* Both sides without extensions or equal low parts; *op may become unsigned. */
static Bool strip(enum expr_op *op, struct term *a, struct term *b)
{
	struct term_parts p, q;
	UInt w = a->w, k;
	Bool swap = !a->node;
	struct term *x = swap ? b : a, *y = swap ? a : b;
	if (!t_look(*x, &p))
		return False;
	if (p.op == EXPR_ZEXT || p.op == EXPR_SEXT) {
		struct term low = t_low(*y, p.a.w);
		if (y->node) {
			if (!t_is_op(*y, p.op, &q) || q.a.w != p.a.w)
				return False;
		} else if ((p.op == EXPR_ZEXT
				    ? low.v
				    : (ULong)expr_signed(low.v, p.a.w) & expr_mask(w)) != y->v)
			return False;
		if (p.op == EXPR_ZEXT && *op == EXPR_SLT)
			*op = EXPR_ULT;
		*x = p.a;
		*y = low;
		return True;
	}
	if (p.op != EXPR_CONCAT || p.b.node)
		return False;
	k = p.b.w;
	if (y->node && (!t_is_op(*y, EXPR_CONCAT, &q) || q.b.node || q.b.w != k))
		return False;
	if (!t_same(t_low(*y, k), p.b))
		return False;
	*x = p.a;
	*y = t_extract(*y, k, w - k);
	return True;
}

/* ---- ranges ---- */

struct range {
	Long lo, hi;
};

/* Of the number as a signed one. */
static struct range signed_range(struct term t, UInt depth)
{
	ULong set = t_possible(t), sign = 1ULL << (t.w - 1);
	struct range all = { expr_signed(sign, t.w), expr_signed(sign - 1, t.w) }, r;
	struct term_parts p;
	if (!t.node)
		return (struct range){ expr_signed(t.v, t.w), expr_signed(t.v, t.w) };
	if (!(set & sign))
		return (struct range){ 0, (Long)set };
	if (!depth || !t_look(t, &p))
		return all;
	if (p.op == EXPR_SEXT)
		return signed_range(p.a, depth - 1);
	if (p.op == EXPR_ADD && !p.b.node) {
		Long k = expr_signed(p.b.v, t.w);
		r = signed_range(p.a, depth - 1);
		if (!__builtin_add_overflow(r.lo, k, &r.lo) && r.lo >= all.lo &&
		    !__builtin_add_overflow(r.hi, k, &r.hi) && r.hi <= all.hi)
			return r;
	}
	return all;
}

/* x + k < c, or c < x + k, where the sum does not wrap: the constant goes to the other side. */
static Bool move_constant(struct term *a, struct term *b)
{
	Bool swap = !a->node;
	struct term *x = swap ? b : a, *c = swap ? a : b;
	struct term_parts p;
	struct range r;
	Long k, moved;
	if (c->node || !t_is_op(*x, EXPR_ADD, &p) || p.b.node)
		return False;
	k = expr_signed(p.b.v, x->w);
	r = signed_range(p.a, 2);
	if (__builtin_add_overflow(r.lo, k, &r.lo) || __builtin_add_overflow(r.hi, k, &r.hi) ||
	    expr_signed((ULong)r.lo, x->w) != r.lo || expr_signed((ULong)r.hi, x->w) != r.hi)
		return False;
	if (__builtin_sub_overflow(expr_signed(c->v, c->w), k, &moved) ||
	    expr_signed((ULong)moved, x->w) != moved)
		return False;
	*c = t_const(x->w, (ULong)moved);
	*x = p.a;
	return True;
}

static struct term less_signed(struct term a, struct term b)
{
	struct range x = signed_range(a, 3), y = signed_range(b, 3);
	if (x.hi < y.lo || x.lo >= y.hi)
		return t_const(1, x.hi < y.lo);
	if (x.lo >= 0 && y.lo >= 0)
		return t_cmp(EXPR_ULT, a, b);
	if (move_constant(&a, &b))
		return t_cmp(EXPR_SLT, a, b);
	if (!a.node)
		return t_not(t_cmp(EXPR_SLT, b, t_const(a.w, a.v + 1)));
	/* The sign: one form, whether it was asked for by SF or by masking. */
	if (t_is_const(b, 0) && a.w > 1)
		return t_sign(a);
	return t_make2(EXPR_SLT, 1, a, b);
}

/* The same for unsigned ones: offsets from the start of a string. */
static Bool move_unsigned(struct term *a, struct term *b)
{
	Bool swap = !a->node;
	struct term *x = swap ? b : a, *c = swap ? a : b;
	struct term_parts p;
	if (c->node || !t_is_op(*x, EXPR_ADD, &p) || p.b.node || c->v < p.b.v ||
	    t_possible(p.a) > expr_mask(x->w) - p.b.v)
		return False;
	*c = t_const(x->w, c->v - p.b.v);
	*x = p.a;
	return True;
}

static struct term less_unsigned(struct term a, struct term b)
{
	ULong most_a = t_possible(a), most_b = t_possible(b);
	if (move_unsigned(&a, &b))
		return t_cmp(EXPR_ULT, a, b);
	if (!b.node && most_a < b.v)
		return t_const(1, 1);
	if (a.node ? !most_b : a.v >= most_b)
		return t_const(1, 0);
	if (!a.node)
		return t_not(t_cmp(EXPR_ULT, b, t_const(a.w, a.v + 1)));
	if (t_is_const(b, 1))
		return eq_const(a, 0);
	return t_make2(EXPR_ULT, 1, a, b);
}

/* x, if it is x + k, and k. */
static struct term without_constant(struct term t, ULong *k)
{
	struct term_parts p;
	*k = 0;
	if (!t_is_op(t, EXPR_ADD, &p) || p.b.node)
		return t;
	*k = p.b.v;
	return p.a;
}

/* x + k and x, or x + k and x + j */
static Bool apart(struct term a, struct term b)
{
	ULong k, j;
	return t_same(without_constant(a, &k), without_constant(b, &j)) && k != j;
}

/*
 * What is compared with a constant comes first, and "less or equal" is "not less" of the other
 * way round: so the same question, asked in another way, is the same node.
 */
struct term t_cmp(enum expr_op op, struct term a, struct term b)
{
	struct term r;
	if (!a.node && !b.node)
		return t_make2(op, 1, a, b);
	if (op == EXPR_ULE || op == EXPR_SLE)
		return t_not(t_cmp(op == EXPR_ULE ? EXPR_ULT : EXPR_SLT, b, a));
	if (op == EXPR_EQ && !a.node)
		return eq_const(b, a.v);
	if (op == EXPR_EQ && !b.node)
		return eq_const(a, b.v);
	if (t_chosen(op, 1, a, b, &r))
		return r;
	while (strip(&op, &a, &b))
		;
	if (op == EXPR_EQ && apart(a, b))
		return t_const(1, 0);
	if (t_same(a, b))
		return t_const(1, op == EXPR_EQ);
	if (op == EXPR_SLT)
		return less_signed(a, b);
	if (op == EXPR_ULT)
		return less_unsigned(a, b);
	return t_make2(EXPR_EQ, 1, a, b);
}
