/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbolic execution in the tracer, with --hf-sym.
 *
 *   sym_node.c    nodes: made once each, sent when they are new
 *   sym_term.c    simplification
 *   sym_shadow.c  which bytes of memory are symbolic, and what they are
 *   sym_regs.c    … of guest registers
 *   sym_instr.c   the two versions of each block: which it is to be, and the fast one
 *   sym_build.c   the slow version
 *   sym_slow.c    what the slow version calls: statements
 *   sym_addr.c    symbolic addresses: tables, pins, branches
 *   sym_ops.c     integer operations          sym_vec.c   vector operations
 *   sym_flags.c   x86 flags and conditions
 *   sym_input.h   where symbolic bytes come from, the fork server
 */
#ifndef HOLDFAST_TRACER_SYM_H
#define HOLDFAST_TRACER_SYM_H

#include "tracer.h"
#include "trace/expr.h"

extern Bool sym_on; /* --hf-sym was given */
extern struct sym_control *sym_control;

/* ---- sym_node.c ---- */
/* An operand: a node, or, if that is 0, a constant. */
struct sym_operand {
	UInt node;
	ULong value; /* concrete, in this run; also where it is a node */
};
/* The node, which may be one that was there; 0: it turned out to be a constant, in *value. */
void sym_node_prepare(void); /* in the fork server: what every child would have to do */
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
/* Has this node's value been said on this path? If not, it is from now on. */
Bool sym_decided(UInt node);

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

/* ---- sym_shadow.c, sym_regs.c ---- */
/*
 * One byte per hashed line of 64 bytes, non-zero where an access of up to 32 bytes that begins
 * there may meet a symbolic byte: the inline test in front of loads and behind stores.
 */
#define SYM_LINE_BITS 6
#define SYM_LINES 65536u
#define SYM_REACH 32u
extern UChar sym_line[SYM_LINES];
extern ULong sym_groups;             /* bits: groups of guest registers that hold symbolic bytes */
extern UInt sym_live;                /* how many bytes of memory are symbolic */
static inline Bool sym_maybe(Addr a) /* for accesses of up to SYM_REACH bytes */
{
	return sym_line[(a >> SYM_LINE_BITS) % SYM_LINES] != 0;
}
ULong sym_group(Int offset, Int size);              /* the groups of a part of the guest state */
void sym_mark(Addr a, SizeT len, UInt first_input); /* these bytes are input from now on */
void sym_clear(Addr a, SizeT len);                  /* … are concrete */
void sym_move(Addr from, Addr to, SizeT len);
Bool sym_any(Addr a, SizeT len);
/* r->bits and r->v are set; fill in r->node. */
void sym_load(Addr a, struct sym_value *r);
void sym_store(Addr a, const struct sym_value *);
void sym_reg_get(Int offset, struct sym_value *r);
void sym_reg_put(Int offset, const struct sym_value *);
void sym_reg_clear(Int offset, Int size); /* the current thread's */
void sym_switch(ThreadId tid);            /* the registers are tid's from now on */
void sym_thread(ThreadId parent, ThreadId tid);
void sym_signal(ThreadId tid); /* a handler of its is about to run */
void sym_track(void);          /* asks the core to tell of what it does to either */

/* ---- sym_addr.c ---- */
void sym_branch(enum sym_branch kind, UInt node, ULong value, Addr ip, const Addr to[2]);
/* All symbolic words keep the values that they have. */
void sym_pin(enum sym_branch kind, const struct sym_value *, Addr ip);
/* The same for bytes in memory or guest registers; how many they were. */
UInt sym_pin_memory(Addr a, SizeT len, Addr ip);
UInt sym_pin_registers(Int offset, Int size, Addr ip);
/* A system call's argument in a register: the kernel does not know symbols. */
void sym_reg_pin(ThreadId tid, UInt offset);
/* r, loaded at the symbolic address a: a table, or the address is pinned. */
void sym_load_at(const struct sym_value *a, struct sym_value *r, Addr ip);
void sym_store_at(const struct sym_value *a, UInt size, Addr ip);
/* An operation that is not followed: counted, and said at the end of the run. */
void sym_concrete(const HChar *name);
void sym_concrete_op(IROp op);
void sym_say_concrete(void);

/* ---- sym_instr.c, sym_build.c ---- */
/*
 * Calls in the course of instrument(), in both versions. The flush is at the end of a block.
 */
void sym_setup(void); /* options of VEX */
void sym_begin(IRSB *out, const IRSB *in, Addr nraddr);
void sym_before(IRSB *out, IRStmt *); /* each statement of the program's … */
void sym_after(IRSB *out, IRStmt *);
void sym_finish(IRSB *out);
void sym_flush(IRSB *out, Addr ip, const struct amode *, IRExpr *addr);

#endif
