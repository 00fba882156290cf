/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Terms: see term.h. sym_node() makes the nodes; here is what an operation is turned into
 * before that.
 */
#include "term.h"

#define DEPTH 6 /* how far simplifications look into an expression */

static struct sym_operand operand(struct term t)
{
	return (struct sym_operand){ t.node, t.v };
}

static struct term make(UInt word, struct term a, struct term b, struct term c)
{
	struct term r = { 0, EXPR_W(word), expr_apply(word, a.v, b.v, c.v) };
	if (a.node | b.node | c.node)
		r.node = sym_node(word, operand(a), operand(b), operand(c), &r.v);
	return r;
}

static struct term make1(enum expr_op op, UInt w, UInt lo, struct term a)
{
	struct term none = { 0 };
	return make(EXPR_WORD(op, w, a.w, lo), a, none, none);
}

struct term t_make2(enum expr_op op, UInt w, struct term a, struct term b)
{
	struct term none = { 0 };
	return make(EXPR_WORD(op, w, a.w, 0), a, b, none);
}

Bool t_look(struct term t, struct term_parts *p)
{
	struct sym_operand arg[3];
	UInt word;
	if (!t.node)
		return False;
	word = sym_args(t.node, arg);
	p->op = EXPR_OP(word);
	p->lo = EXPR_LO(word);
	p->a = (struct term){ arg[0].node, expr_operand_width(word, 0), arg[0].value };
	p->b = (struct term){ arg[1].node, expr_operand_width(word, 1), arg[1].value };
	p->c = (struct term){ arg[2].node, expr_operand_width(word, 2), arg[2].value };
	return p->op != EXPR_INPUT && p->op != EXPR_TABLE;
}

/* Bits that may be set. */
static ULong possible(struct term t, UInt depth)
{
	struct term_parts p;
	ULong a, b;
	if (!t.node)
		return t.v;
	if (!depth || !t_look(t, &p))
		return expr_mask(t.w);
	switch (p.op) {
	case EXPR_ZEXT: return possible(p.a, depth - 1);
	case EXPR_EXTRACT: return possible(p.a, depth - 1) >> p.lo & expr_mask(t.w);
	case EXPR_AND:
	case EXPR_OR:
	case EXPR_XOR:
		a = possible(p.a, depth - 1);
		b = possible(p.b, depth - 1);
		return p.op == EXPR_AND ? a & b : a | b;
	case EXPR_CONCAT: return possible(p.a, depth - 1) << p.b.w | possible(p.b, depth - 1);
	case EXPR_ITE: return possible(p.b, depth - 1) | possible(p.c, depth - 1);
	case EXPR_CTZ:
	case EXPR_CLZ:
	case EXPR_POPCNT: return expr_mask(64 - (UInt)__builtin_clzll(t.w));
	default: return expr_mask(t.w);
	}
}

ULong t_possible(struct term t)
{
	return possible(t, DEPTH);
}

/* One of two constants: a condition, and what it is then and else. */
struct choice {
	struct term c, yes, no;
};

static Bool is_choice(struct term t, struct choice *x)
{
	struct term_parts p;
	if (!t_look(t, &p))
		return False;
	x->c = p.a;
	if (p.op == EXPR_ITE) {
		x->yes = p.b;
		x->no = p.c;
		return !p.b.node && !p.c.node;
	}
	x->yes = t_const(t.w, p.op == EXPR_SEXT ? ~0ULL : 1);
	x->no = t_const(t.w, 0);
	return (p.op == EXPR_SEXT || p.op == EXPR_ZEXT) && p.a.w == 1;
}

Bool t_chosen(enum expr_op op, UInt w, struct term a, struct term b, struct term *r)
{
	struct choice x = { .yes = a, .no = a }, y = { .yes = b, .no = b };
	if (a.node && !is_choice(a, &x))
		return False;
	if (b.node && !is_choice(b, &y))
		return False;
	if (a.node && b.node && !t_same(x.c, y.c))
		return False;
	*r = t_ite(a.node ? x.c : y.c, t_make2(op, w, x.yes, y.yes), t_make2(op, w, x.no, y.no));
	return True;
}

/* ---- cutting out and putting together ---- */

/* strcmp subtracts one result of PCMPEQB from another: all bits but the lowest are the same. */
static Bool difference_of_masks(const struct term_parts *p, struct term *r)
{
	struct term_parts x, y;
	if (!t_is_op(p->a, EXPR_SEXT, &x) || !t_is_op(p->b, EXPR_SEXT, &y) || x.a.w != 1 ||
	    y.a.w != 1)
		return False;
	*r = t_bin(EXPR_AND, x.a, t_not(y.a));
	return True;
}

/*
 * One bit or lane of what vector code masks and combines; low parts of sums. Expressions share
 * their parts and are not a tree: without the limit, a hash function would take forever.
 */
static struct term extract_inside(const struct term_parts *p, struct term a, UInt lo, UInt w)
{
	static UInt inside;
	struct term r = { 0 };
	if (inside == 4)
		return make1(EXPR_EXTRACT, w, lo, a);
	inside++;
	switch (p->op) {
	case EXPR_NOT: r = t_not(t_extract(p->a, lo, w)); break;
	case EXPR_SUB:
		if (lo && difference_of_masks(p, &r))
			r = t_sext(r, w);
		/* fall through */
	case EXPR_ADD:
	case EXPR_MUL:
		if (lo)
			break;
		/* fall through */
	case EXPR_AND:
	case EXPR_OR:
	case EXPR_XOR: r = t_bin(p->op, t_extract(p->a, lo, w), t_extract(p->b, lo, w)); break;
	case EXPR_ITE:
		if (!p->b.node || !p->c.node)
			r = t_ite(p->a, t_extract(p->b, lo, w), t_extract(p->c, lo, w));
		break;
	default: break;
	}
	inside--;
	return r.w ? r : make1(EXPR_EXTRACT, w, lo, a);
}

struct term t_extract(struct term a, UInt lo, UInt w)
{
	struct term_parts p;
	if (!a.node)
		return t_const(w, a.v >> lo);
	if (w == a.w)
		return a;
	if (!t_look(a, &p))
		return make1(EXPR_EXTRACT, w, lo, a);
	switch (p.op) {
	case EXPR_ZEXT:
		if (lo >= p.a.w)
			return t_const(w, 0);
		return lo + w <= p.a.w ? t_extract(p.a, lo, w)
				       : t_zext(t_extract(p.a, lo, p.a.w - lo), w);
	case EXPR_SEXT:
		if (lo >= p.a.w)
			return t_sext(t_sign(p.a), w);
		return lo + w <= p.a.w ? t_extract(p.a, lo, w)
				       : t_sext(t_extract(p.a, lo, p.a.w - lo), w);
	case EXPR_EXTRACT: return t_extract(p.a, lo + p.lo, w);
	case EXPR_CONCAT:
		if (lo >= p.b.w)
			return t_extract(p.a, lo - p.b.w, w);
		if (lo + w <= p.b.w)
			return t_extract(p.b, lo, w);
		return t_concat(t_low(p.a, lo + w - p.b.w), t_extract(p.b, lo, p.b.w - lo));
	default: return extract_inside(&p, a, lo, w);
	}
}

struct term t_concat(struct term hi, struct term lo)
{
	struct term_parts p, q;
	UInt w = hi.w + lo.w;
	if (t_is_const(hi, 0))
		return t_zext(lo, w);
	/* Neighbours become one. */
	if (t_is_op(lo, EXPR_CONCAT, &p) && !hi.node && !p.a.node)
		return t_concat(t_const(hi.w + p.a.w, hi.v << p.a.w | p.a.v), p.b);
	if (t_is_op(lo, EXPR_ZEXT, &p) && !hi.node)
		return t_concat(t_const(w - p.a.w, hi.v << (lo.w - p.a.w)), p.a);
	if (t_is_op(hi, EXPR_CONCAT, &p) && !lo.node && !p.b.node)
		return t_concat(p.a, t_const(p.b.w + lo.w, p.b.v << lo.w | lo.v));
	if (t_is_op(hi, EXPR_ZEXT, &p))
		return t_zext(t_concat(p.a, lo), w);
	if (t_is_op(hi, EXPR_EXTRACT, &p) && t_is_op(lo, EXPR_EXTRACT, &q) && t_same(p.a, q.a) &&
	    p.lo == q.lo + lo.w)
		return t_extract(p.a, q.lo, w);
	return t_make2(EXPR_CONCAT, w, hi, lo);
}

struct term t_zext(struct term a, UInt w)
{
	struct term_parts p;
	if (w == a.w)
		return a;
	if (!a.node)
		return t_const(w, a.v);
	if (t_is_op(a, EXPR_ZEXT, &p))
		return t_zext(p.a, w);
	return make1(EXPR_ZEXT, w, 0, a);
}

struct term t_sext(struct term a, UInt w)
{
	struct term_parts p;
	if (w == a.w)
		return a;
	if (!a.node)
		return t_const(w, (ULong)expr_signed(a.v, a.w));
	if (t_is_op(a, EXPR_SEXT, &p))
		return t_sext(p.a, w);
	if (t_is_op(a, EXPR_ZEXT, &p))
		return t_zext(p.a, w);
	return make1(EXPR_SEXT, w, 0, a);
}

static struct term shift(enum expr_op op, struct term a, struct term b)
{
	UInt w = a.w, k;
	if (b.node)
		return t_make2(op, w, a, b);
	k = b.v >= w ? w : (UInt)b.v;
	if (k == w && op == EXPR_ASHR)
		k = w - 1;
	if (k == w)
		return t_const(w, 0);
	if (!k)
		return a;
	switch (op) {
	case EXPR_SHL: return t_concat(t_low(a, w - k), t_const(k, 0));
	case EXPR_LSHR: return t_zext(t_extract(a, k, w - k), w);
	default: return t_sext(t_extract(a, k, w - k), w);
	}
}

/* ---- arithmetic ---- */

struct term t_not(struct term a)
{
	struct term_parts p;
	if (t_look(a, &p)) {
		if (p.op == EXPR_NOT)
			return p.a;
		if (p.op == EXPR_SEXT)
			return t_sext(t_not(p.a), a.w);
	}
	return make1(EXPR_NOT, a.w, 0, a);
}

struct term t_neg(struct term a)
{
	struct term_parts p;
	if (t_is_op(a, EXPR_ZEXT, &p) && p.a.w == 1)
		return t_sext(p.a, a.w);
	return make1(EXPR_NEG, a.w, 0, a);
}

/* Parts that do not overlap, one above the other: b has the lower bits. */
static Bool stack(struct term a, struct term b, ULong pa, ULong pb, struct term *r)
{
	UInt k = 64 - (UInt)__builtin_clzll(pb);
	if (k >= a.w || pa & expr_mask(k))
		return False;
	*r = t_concat(t_extract(a, k, a.w - k), t_low(b, k));
	return True;
}

/* OR, XOR and ADD of parts that do not overlap. */
static Bool disjoint(struct term a, struct term b, struct term *r)
{
	ULong pa = possible(a, DEPTH), pb = possible(b, DEPTH);
	if (pa & pb)
		return False;
	if (!pa || !pb) {
		*r = pa ? a : b;
		return True;
	}
	return pa > pb ? stack(a, b, pa, pb, r) : stack(b, a, pb, pa, r);
}

static Bool low_ones(ULong v)
{
	return v && !(v & (v + 1));
}

/* x == c1 and not x == c2: what the first says is enough. */
static Bool implied(struct term a, struct term b)
{
	struct term_parts p, q;
	return t_is_op(b, EXPR_NOT, &q) && t_is_op(a, EXPR_EQ, &p) && t_is_op(q.a, EXPR_EQ, &q) &&
	       t_same(p.a, q.a) && !p.b.node && !q.b.node && p.b.v != q.b.v;
}

/* a & b; b is the constant, if there is one. */
static struct term and_(struct term a, struct term b)
{
	struct term_parts p, q;
	if (t_is_const(b, 0) || !(possible(a, DEPTH) & possible(b, DEPTH)))
		return t_const(a.w, 0);
	if (t_same(a, b) || t_is_const(b, ~0ULL))
		return a;
	if (a.w == 1 && (implied(a, b) || implied(b, a)))
		return implied(a, b) ? a : b;
	if (!b.node && low_ones(b.v))
		return t_zext(t_low(a, 64 - (UInt)__builtin_clzll(b.v)), a.w);
	if (t_is_op(a, EXPR_SEXT, &p) && t_is_op(b, EXPR_SEXT, &q) && p.a.w == q.a.w)
		return t_sext(t_bin(EXPR_AND, p.a, q.a), a.w);
	if (t_is_op(a, EXPR_ZEXT, &p))
		return t_zext(t_bin(EXPR_AND, p.a, t_low(b, p.a.w)), a.w);
	return t_make2(EXPR_AND, a.w, a, b);
}

static struct term or_(enum expr_op op, struct term a, struct term b)
{
	struct term_parts p, q;
	struct term r;
	if (t_same(a, b))
		return op == EXPR_OR ? a : t_const(a.w, 0);
	if (op == EXPR_XOR && t_is_const(b, ~0ULL))
		return t_not(a);
	if (op == EXPR_OR && t_is_const(b, ~0ULL))
		return b;
	if (disjoint(a, b, &r))
		return r;
	if (t_is_op(a, EXPR_SEXT, &p) && t_is_op(b, EXPR_SEXT, &q) && p.a.w == q.a.w)
		return t_sext(t_bin(op, p.a, q.a), a.w);
	if (t_is_op(a, EXPR_ZEXT, &p) && t_is_op(b, EXPR_ZEXT, &q) && p.a.w == q.a.w)
		return t_zext(t_bin(op, p.a, q.a), a.w);
	return t_make2(op, a.w, a, b);
}

static struct term add(struct term a, struct term b)
{
	struct term_parts p;
	struct term r;
	if (a.w == 1)
		return or_(EXPR_XOR, a, b);
	if (!b.node && t_is_op(a, EXPR_ADD, &p) && !p.b.node)
		return add(p.a, t_const(a.w, b.v + p.b.v));
	if (t_is_const(b, 0))
		return a;
	if (disjoint(a, b, &r))
		return r;
	return t_make2(EXPR_ADD, a.w, a, b);
}

struct term t_bin(enum expr_op op, struct term a, struct term b)
{
	struct term r;
	Bool commutes = op == EXPR_ADD || op == EXPR_MUL || op == EXPR_AND || op == EXPR_OR ||
			op == EXPR_XOR;
	if (!a.node && !b.node)
		return t_make2(op, a.w, a, b);
	if (commutes && !a.node) {
		struct term t = a;
		a = b;
		b = t;
	}
	if (t_chosen(op, a.w, a, b, &r))
		return r;
	switch (op) {
	case EXPR_AND: return and_(a, b);
	case EXPR_OR:
	case EXPR_XOR: return or_(op, a, b);
	case EXPR_ADD: return add(a, b);
	case EXPR_SUB:
		if (t_same(a, b))
			return t_const(a.w, 0);
		if (!b.node)
			return add(a, t_const(a.w, 0 - b.v));
		return t_is_const(a, 0) ? t_neg(b) : t_make2(op, a.w, a, b);
	case EXPR_MUL: /* by a power of two */
		if (!b.node && b.v && !(b.v & (b.v - 1)))
			return shift(EXPR_SHL, a, t_const(a.w, (ULong)__builtin_ctzll(b.v)));
		return t_is_const(b, 0) ? b : t_make2(op, a.w, a, b);
	case EXPR_SHL:
	case EXPR_LSHR:
	case EXPR_ASHR: return shift(op, a, b);
	default: return t_make2(op, a.w, a, b);
	}
}

static Bool is_extended(struct term a, struct term from)
{
	struct term_parts p;
	return t_same(a, from) || (t_is_op(a, EXPR_ZEXT, &p) && t_same(p.a, from));
}

struct term t_ite(struct term c, struct term a, struct term b)
{
	struct term_parts p;
	if (!c.node)
		return c.v ? a : b;
	if (t_same(a, b))
		return a;
	if (t_is_op(c, EXPR_NOT, &p))
		return t_ite(p.a, b, a);
	/* x == k ? x : …, as BSF has it with the same register twice */
	if (a.node && t_is_op(c, EXPR_EQ, &p) && !p.b.node && is_extended(a, p.a))
		return t_ite(c, t_const(a.w, p.b.v), b);
	if (t_is_const(a, ~0ULL) && t_is_const(b, 0))
		return t_sext(c, a.w);
	if (t_is_const(a, 1) && t_is_const(b, 0))
		return t_zext(c, a.w);
	if (t_is_const(a, 0) && t_is_const(b, 1))
		return t_zext(t_not(c), a.w);
	return make(EXPR_WORD(EXPR_ITE, a.w, 1, 0), c, a, b);
}

struct term t_count(enum expr_op op, struct term a)
{
	return make1(op, op == EXPR_PARITY ? 1 : a.w, 0, a);
}

struct term t_div128(enum expr_op op, struct term hi, struct term lo, struct term d)
{
	return make(EXPR_WORD(op, 64, 64, 0), hi, lo, d);
}
