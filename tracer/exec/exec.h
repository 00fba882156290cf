/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbolic execution, with --hf-sym.
 *
 *   shadow.c  which bytes of memory are symbolic, and what they are
 *   regs.c    … of guest registers
 *   instr.c   the two versions of each block: which it is to be, and the fast one
 *   build.c   the slow version
 *   slow.c    what the slow version calls: statements
 *   addr.c    symbolic addresses: tables, pins, branches
 */
#ifndef HOLDFAST_TRACER_EXEC_H
#define HOLDFAST_TRACER_EXEC_H

#include "expr/expr.h"

extern Bool sym_on; /* --hf-sym was given */
extern struct sym_control *sym_control;

/* ---- shadow.c, regs.c ---- */
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

/* ---- addr.c ---- */
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

/* ---- instr.c, build.c ---- */
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
