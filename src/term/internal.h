/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside src/term: the rules. */
#ifndef HOLDFAST_TERM_INTERNAL_H
#define HOLDFAST_TERM_INTERNAL_H

#include "term/term.h"

/* A node that is asked for. At least one operand is no constant; of two that can be exchanged, a
 * constant is the second. */
struct term_request {
	uint32_t word;
	struct term a, b, c;
	struct term_parts p, q; /* of a and of b */
};

/* A rule: a term that is equal to this one, and smaller, narrower, or depends on fewer bytes. */
typedef struct term term_rule(struct term_space *, const struct term_request *);

/* What a rule gives that does not apply. */
static inline struct term term_none(void)
{
	return (struct term){ 0 };
}
static inline bool term_found(struct term t)
{
	return t.w != 0;
}
static inline struct term term_bool(bool v)
{
	return term_const(1, v);
}
static inline uint64_t term_sign_bit(unsigned w)
{
	return (uint64_t)1 << (w - 1);
}
static inline struct term term_extend(struct term_space *s, enum expr_op op, struct term a,
				      unsigned w)
{
	return op == EXPR_SEXT ? term_sext(s, a, w) : term_zext(s, a, w);
}

extern term_rule term_rule_neg, term_rule_add, term_rule_sub, term_rule_mul, term_rule_divide,
	term_rule_divide_wide;
extern term_rule term_rule_not, term_rule_and_or, term_rule_xor, term_rule_pairs, term_rule_ite;
extern term_rule term_rule_extract, term_rule_concat, term_rule_zext, term_rule_sext,
	term_rule_shift, term_rule_mask, term_rule_disjoint;
extern term_rule term_rule_eq, term_rule_less, term_rule_less_equal;

#endif
