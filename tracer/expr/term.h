/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Terms: what the operations of ops.c, vec.c and flags.c compute with.
 *
 * A term is a node or a constant, and knows its width and its value in this run. Operations on
 * constants alone make no nodes. They bring expressions into few forms, which is what keeps them
 * small over many instructions: shifting by a constant and masking are cutting out (EXTRACT) and
 * putting together (CONCAT, ZEXT, SEXT), so are OR and ADD of parts that do not overlap;
 * comparisons are stripped of what both sides have in common.
 */
#ifndef HOLDFAST_TRACER_TERM_H
#define HOLDFAST_TRACER_TERM_H

#include "expr.h"

struct term {
	UInt node; /* 0: a constant */
	UInt w;
	ULong v;
};

static inline struct term t_const(UInt w, ULong v)
{
	return (struct term){ 0, w, v & expr_mask(w) };
}

/* Word i of a value, and the other way round. */
static inline struct term t_of(const struct sym_value *x, UInt i)
{
	UInt w = x->bits < 64 ? x->bits : 64;
	return (struct term){ x->node[i], w, x->v[i] & expr_mask(w) };
}
static inline void t_to(struct sym_value *r, UInt i, struct term t)
{
	r->node[i] = t.node;
}

struct term t_not(struct term a);
struct term t_neg(struct term a);
/* ADD … ASHR: both have the same width. */
struct term t_bin(enum expr_op op, struct term a, struct term b);
/* EQ … SLE */
struct term t_cmp(enum expr_op op, struct term a, struct term b);
struct term t_ite(struct term c, struct term a, struct term b);
struct term t_extract(struct term a, UInt lo, UInt w);
struct term t_concat(struct term hi, struct term lo);
/* To a width that is not smaller. */
struct term t_zext(struct term a, UInt w);
struct term t_sext(struct term a, UInt w);
/* CTZ, CLZ, POPCNT, PARITY */
struct term t_count(enum expr_op op, struct term a);
/* UDIV128 …: of hi:lo */
struct term t_div128(enum expr_op op, struct term hi, struct term lo, struct term d);

static inline struct term t_low(struct term a, UInt w)
{
	return t_extract(a, 0, w);
}
static inline struct term t_bit(struct term a, UInt i)
{
	return t_extract(a, i, 1);
}
static inline struct term t_sign(struct term a)
{
	return t_extract(a, a.w - 1, 1);
}
static inline struct term t_is_zero(struct term a)
{
	return t_cmp(EXPR_EQ, a, t_const(a.w, 0));
}

/* ---- between term.c and cmp.c ---- */
struct term t_make2(enum expr_op op, UInt w, struct term a, struct term b); /* as it is */

/* A node's operation, with its operands as terms. */
struct term_parts {
	enum expr_op op;
	UInt lo;
	struct term a, b, c;
};
ULong t_possible(struct term); /* bits that may be set */
/* An operation on what is one of two constants, by the same condition, or a constant. */
Bool t_chosen(enum expr_op op, UInt w, struct term a, struct term b, struct term *r);
Bool t_look(struct term, struct term_parts *); /* False: a constant, an INPUT or a TABLE */

static inline Bool t_is_op(struct term t, enum expr_op op, struct term_parts *p)
{
	return t_look(t, p) && p->op == op;
}
static inline Bool t_is_const(struct term t, ULong v)
{
	return !t.node && t.v == (v & expr_mask(t.w));
}
static inline Bool t_same(struct term a, struct term b)
{
	return a.node == b.node && a.w == b.w && (a.node || a.v == b.v);
}

/* ---- vec.c: vector operations, for ops.c ---- */
Bool sym_vec_unop(IROp op, struct sym_value *r, const struct sym_value *a);
Bool sym_vec_binop(IROp op, struct sym_value *r, const struct sym_value *a,
		   const struct sym_value *b);
/* Clean helpers on vectors in 64 bits. */
Bool sym_vec_ccall(const HChar *name, struct sym_value *r, const struct sym_value *args);

#endif
