/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Terms: what the operations of ops.c, vec.c and flags.c compute with. src/term simplifies them;
 * a node's `v` is its value in this run. Operations on constants alone make no nodes.
 */
#ifndef HOLDFAST_TRACER_TERM_H
#define HOLDFAST_TRACER_TERM_H

#include "expr.h"
#include "term/term.h"

extern struct term_space sym_terms;

static inline struct term t_const(UInt w, ULong v)
{
	return term_const(w, v);
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

static inline struct term t_not(struct term a)
{
	return term_not(&sym_terms, a);
}
static inline struct term t_neg(struct term a)
{
	return term_neg(&sym_terms, a);
}
/* ADD … ASHR: both have the same width. */
static inline struct term t_bin(enum expr_op op, struct term a, struct term b)
{
	return term_bin(&sym_terms, op, a, b);
}
/* EQ … SLE */
static inline struct term t_cmp(enum expr_op op, struct term a, struct term b)
{
	return term_cmp(&sym_terms, op, a, b);
}
static inline struct term t_ite(struct term c, struct term a, struct term b)
{
	return term_ite(&sym_terms, c, a, b);
}
static inline struct term t_extract(struct term a, UInt lo, UInt w)
{
	return term_extract(&sym_terms, a, lo, w);
}
static inline struct term t_concat(struct term hi, struct term lo)
{
	return term_concat(&sym_terms, hi, lo);
}
/* To a width that is not smaller. */
static inline struct term t_zext(struct term a, UInt w)
{
	return term_zext(&sym_terms, a, w);
}
static inline struct term t_sext(struct term a, UInt w)
{
	return term_sext(&sym_terms, a, w);
}
/* CTZ, CLZ, POPCNT, PARITY */
static inline struct term t_count(enum expr_op op, struct term a)
{
	UInt w = op == EXPR_PARITY ? 1 : a.w;
	return term_node(&sym_terms, EXPR_WORD(op, w, a.w, 0), a, a, a);
}
/* UDIV128 …: of hi:lo */
static inline struct term t_div128(enum expr_op op, struct term hi, struct term lo, struct term d)
{
	return term_node(&sym_terms, EXPR_WORD(op, 64, 64, 0), hi, lo, d);
}

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

/* ---- vec.c: vector operations, for ops.c ---- */
Bool sym_vec_unop(IROp op, struct sym_value *r, const struct sym_value *a);
Bool sym_vec_binop(IROp op, struct sym_value *r, const struct sym_value *a,
		   const struct sym_value *b);
/* Clean helpers on vectors in 64 bits. */
Bool sym_vec_ccall(const HChar *name, struct sym_value *r, const struct sym_value *args);

#endif
