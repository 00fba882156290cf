/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Terms: expressions as they are made, and simplified. trace/expr.h says what operations mean.
 *
 * A term is a constant, or a node that somebody else keeps: the tracer, while the program runs, and
 * the solver's pool. Both make nodes here, by the same rules, with two functions of their own: one
 * keeps a node, one looks at it. Nothing here needs libc, so that the tracer can be linked with it.
 *
 *   term.c     making a term: constants, order of operands, the table of rules, what is remembered
 *   arith.c    rules for sums, products, quotients
 *   logic.c    … AND, OR, XOR, NOT, ITE
 *   bits.c     … parts: EXTRACT, CONCAT, extensions, shifts and masks
 *   compare.c  … comparisons
 *
 * What the rules aim at:
 *   - constant shifts and masks become extractions and concatenations, and a word that is assembled
 *     from bytes ((b << 8) | a) becomes a concatenation of bytes: comparisons with constants then
 *     fall apart into comparisons of bytes, which the solver can separate;
 *   - comparisons lose extensions, additions of constants and other invertible operations. Only EQ,
 *     ULT and SLT are left, a constant is on the right, and NOT is the only negation: the same
 *     question, asked in another way, is the same node;
 *   - 1-bit values are conditions: there is no arithmetic on them.
 */
#ifndef HOLDFAST_TERM_TERM_H
#define HOLDFAST_TERM_TERM_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/expr.h"

struct term {
	uint32_t node; /* 0: a constant */
	uint32_t w;
	uint64_t v; /* the constant; a node's is for whoever keeps it */
};

/* A node's operation and operands. Those of INPUT and TABLE are not looked at. */
struct term_parts {
	enum expr_op op;
	uint32_t lo;
	struct term a, b, c;
};

/* A node that was asked for, and what it became. */
struct term_memo {
	uint64_t x[3]; /* operands: nodes or constants */
	struct term result;
	uint32_t word, constants; /* word 0: nothing; a bit for each operand that is a constant */
};

struct term_space {
	/* The node as it is, which may be one that was there. Not all of its operands are constants;
	 * those that the operation does not have are 0. */
	struct term (*make)(struct term_space *, uint32_t word, const struct term x[3]);
	void (*look)(struct term_space *, uint32_t node, struct term_parts *);
	struct term_memo *memo; /* all 0 in the beginning */
	uint32_t memos;         /* a power of two */
	uint32_t max_depth;     /* of rules that ask for terms, whose rules ask for terms, … */
	uint32_t max_steps;     /* … altogether, for one term */
	uint32_t depth, steps;  /* 0 in the beginning */
};

static inline struct term term_const(unsigned w, uint64_t v)
{
	return (struct term){ 0, w, v & expr_mask(w) };
}
static inline bool term_is(struct term t, uint64_t v) /* this constant? */
{
	return !t.node && t.v == (v & expr_mask(t.w));
}
static inline bool term_same(struct term a, struct term b)
{
	return a.node == b.node && a.w == b.w && (a.node || a.v == b.v);
}
static inline struct term_parts term_look(struct term_space *s, struct term t)
{
	struct term_parts p = { .op = EXPR_CONST };
	if (t.node)
		s->look(s, t.node, &p);
	return p;
}

/* An equal term, as simple as the rules can make it. Widths have to fit (expr_word_ok()). */
struct term term_node(struct term_space *, uint32_t word, struct term a, struct term b,
		      struct term c);

/* The same by name. Extensions are to a width that is not smaller. */
struct term term_not(struct term_space *, struct term a);
struct term term_neg(struct term_space *, struct term a);
struct term term_bin(struct term_space *, enum expr_op, struct term a,
		     struct term b); /* ADD … ASHR */
struct term term_cmp(struct term_space *, enum expr_op, struct term a,
		     struct term b); /* EQ … SLE */
struct term term_ite(struct term_space *, struct term c, struct term a, struct term b);
struct term term_extract(struct term_space *, struct term a, unsigned lo, unsigned w);
struct term term_concat(struct term_space *, struct term hi, struct term lo);
struct term term_zext(struct term_space *, struct term a, unsigned w);
struct term term_sext(struct term_space *, struct term a, unsigned w);

/* Bits that may be set. */
uint64_t term_possible(struct term_space *, struct term);

#endif
