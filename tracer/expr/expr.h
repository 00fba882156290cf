/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Expressions over input bytes.
 *
 *   node.c   nodes: made once each, sent when they are new
 *   term.c   connects simplification (src/term) with node.c
 *   ops.c    integer operations
 *   vec.c    vector operations
 *   flags.c  x86 flags and conditions
 */
#ifndef HOLDFAST_TRACER_EXPR_H
#define HOLDFAST_TRACER_EXPR_H

#include "core/core.h"
#include "trace/expr.h"

/* ---- node.c ---- */
/* An operand: a node, or, if that is 0, a constant. */
struct sym_operand {
	UInt node;
	ULong value; /* concrete, in this run; also where it is a node */
};
/* Is called with each new node; set before the first is made. `constants`: a bit for each operand
 * that is a constant; a TABLE has `size` bytes of entries. */
extern void (*sym_node_made)(UInt id, UInt word, UInt constants, const ULong arg[3],
			     const UChar *entries, UInt size);
/* In the fork server: makes allocations that every child would have to make. */
void sym_node_prepare(void);
/* The node, new or existing; 0: it is a constant. *value: its value in this run. */
UInt sym_node(UInt word, struct sym_operand a, struct sym_operand b, struct sym_operand c,
	      ULong *value);
UInt sym_input_node(UInt byte, UChar value);
UInt sym_table_node(UInt w, UInt index_node, const UChar *entries);
UInt sym_word(UInt node); /* EXPR_WORD */
/* The operands as sym_node() got them; an INPUT's number is a constant. Returns the word. */
UInt sym_args(UInt node, struct sym_operand arg[3]);
ULong sym_value_of(UInt node); /* in this run */
/* If it depends on one input byte only: its number; else -1. */
Long sym_single_input(UInt node);
/* What such a node is for each value of the byte. False: it is too large. */
Bool sym_eval_all(UInt node, ULong out[256]);
ULong sym_table_entry(UInt node, ULong i); /* of a TABLE */
/* Was this node's value recorded on this path? sym_decide(): it is, from now on. */
Bool sym_decided(UInt node);
void sym_decide(UInt node);

/* ---- values ---- */
/*
 * What a temporary, a register or a loaded value is. Words of 64 bits, the lowest first; a value
 * narrower than 64 bits has one word, of its own width. node[i] is 0 where the word is concrete,
 * else a node of min(bits, 64) bits.
 */
struct sym_value {
	UInt bits; /* 1, 8, 16, 32, 64, 128, 256 */
	ULong v[4];
	UInt node[4];
};
static inline Bool sym_is(const struct sym_value *x)
{
	return (x->node[0] | x->node[1] | x->node[2] | x->node[3]) != 0;
}

/*
 * Operations. r->bits and r->v (the machine's own result) are set; fill in r->node, which is all 0.
 * At least one operand is symbolic. False: not supported, leave r->node alone.
 */
Bool sym_unop(IROp op, struct sym_value *r, const struct sym_value *a);
Bool sym_binop(IROp op, struct sym_value *r, const struct sym_value *a, const struct sym_value *b);
Bool sym_triop(IROp op, struct sym_value *r, const struct sym_value a[3]);
Bool sym_qop(IROp op, struct sym_value *r, const struct sym_value a[4]);
/* Clean helpers of VEX by name: amd64g_calculate_condition, …_rflags_c, …_rflags_all. */
Bool sym_ccall(const HChar *name, struct sym_value *r, const struct sym_value *args, UInt nargs);

#endif
