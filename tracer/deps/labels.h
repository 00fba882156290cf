/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of this room share. */
#ifndef HOLDFAST_TRACER_LABELS_H
#define HOLDFAST_TRACER_LABELS_H

#include "deps.h"

/* ---- sets.c ---- */
/* A set: 0 is empty, a number below SET_MANY is the label itself, another one that of a set of several. */
typedef UInt set_t;
#define SET_MANY 0x80000000u
set_t set_union(set_t a, set_t b);
UInt set_labels(set_t, UInt label[TRACE_LABELS]); /* the newest first; how many */
Bool sets_full(void);                             /* it is time for sets_forget() */
void sets_forget(void);                           /* no set of several is known any more */

/* ---- cells.c ---- */
/*
 * A cell has the labels of eight bytes: of all of them in the lower half; the upper half is 0 if each byte has these
 * labels, and otherwise the number of a table of one set for each byte.
 */
typedef ULong cell_t;
set_t cell_get(cell_t, UInt from, UInt n);
cell_t cell_put(cell_t, UInt from, UInt n, set_t);
Bool cells_full(void);
void cells_forget(void); /* and all of memory has no labels */

/*
 * Memory. The generated code tests one word for each hashed line: how many cells with labels an access that begins in
 * this line can meet.
 */
#define LINE_BITS 6
#define LINES 262144u
#define REACH 32u /* bytes of an access, for the test */
extern UInt cell_line[LINES];
set_t memory_get(Addr a, SizeT len);
void memory_put(Addr a, SizeT len, set_t);
void memory_move(Addr from, Addr to, SizeT len);

/* ---- told.c ---- */
/* A conditional jump, or one through a pointer. */
struct branch {
	Addr ip;
	Addr to[2];           /* if it is taken, and if not */
	UInt run, activation; /* when it was last told without labels, and where to it went */
	Addr last;
};
set_t told_load(Addr a, UInt size, Addr ip, set_t address);
void told_branch(struct branch *, Addr to, UInt flags, set_t);
void told_access(UInt site); /* a store to PM, whose labels are in record.labels */
Bool told_many(void);        /* it is time for told_forget() */
void told_forget(void);      /* nothing that was loaded so far is a label any more */
void told_forked(void);

/* ---- values.c ---- */
IRExpr *value_set(IRSB *, const IRExpr *); /* the set of a temporary; NULL: it has none for sure */
IRExpr *value_or(IRSB *, IRExpr *a, IRExpr *b); /* of two sets; either may be NULL */
IRExpr *value_chosen(IRSB *, IRExpr *guard, IRExpr *yes, IRExpr *no);
void value_assign(IRSB *, IRTemp, const IRExpr *); /* t = e; it is not a load */
void value_define(IRTemp, IRExpr *set);
void value_put(IRSB *, Int offset, Int size, IRExpr *set); /* the guest state */
IRExpr *value_get(IRSB *, Int offset, Int size);
void value_puti(IRSB *, const IRPutI *);
Bool value_kept(Int offset); /* this part of the guest state can have labels */
void values_begin(const IRSB *in);
void values_end(void);

/* Small pieces of IR. */
static inline IRExpr *ir_u64(ULong v)
{
	return IRExpr_Const(IRConst_U64(v));
}

static inline IRExpr *ir_u32(UInt v)
{
	return IRExpr_Const(IRConst_U32(v));
}

static inline IRExpr *ir_set(IRSB *sb, IRType ty, IRExpr *e)
{
	IRTemp t = newIRTemp(sb->tyenv, ty);
	addStmtToIRSB(sb, IRStmt_WrTmp(t, e));
	return IRExpr_RdTmp(t);
}

static inline IRExpr *ir_binop(IRSB *sb, IRType ty, IROp op, IRExpr *a, IRExpr *b)
{
	return ir_set(sb, ty, IRExpr_Binop(op, a, b));
}

static inline IRExpr *ir_not_zero(IRSB *sb, IRExpr *e)
{
	return ir_binop(sb, Ity_I1, Iop_CmpNE32, e, ir_u32(0));
}

/* A call that is made if `guard` is true; the result is `no` if it is not. */
IRExpr *ir_call(IRSB *, IRType, const HChar *name, void *fn, Int regparms, IRExpr **args,
		IRExpr *guard, IRExpr *no);

#endif
