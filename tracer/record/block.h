/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files that instrument a block share: the block, and small pieces of IR. */
#ifndef HOLDFAST_TRACER_BLOCK_H
#define HOLDFAST_TRACER_BLOCK_H

#include "record.h"

#define OFF(reg) ((Int)offsetof(VexGuestAMD64State, guest_##reg))

struct block {
	IRSB *out;
	IRExpr **def; /* what each temporary was made from */
	Bool *is_sp;  /* temporaries that are the stack pointer plus a constant */
	UInt ntemps;
	Bool moved; /* the stack pointer was set to something else */
	Bool leave; /* … by the current instruction */
	Addr ip;    /* of the current instruction */
	struct decoded insn;
	Bool any; /* an instruction has begun */
};

static inline IRExpr *u64(ULong v)
{
	return IRExpr_Const(IRConst_U64(v));
}

static inline IRExpr *assign(IRSB *sb, IRType ty, IRExpr *e)
{
	IRTemp t = newIRTemp(sb->tyenv, ty);
	addStmtToIRSB(sb, IRStmt_WrTmp(t, e));
	return IRExpr_RdTmp(t);
}

static inline IRExpr *binop64(IRSB *sb, IROp op, IRExpr *a, IRExpr *b)
{
	return assign(sb, Ity_I64, IRExpr_Binop(op, a, b));
}

static inline IRExpr *load64(IRSB *sb, IRExpr *addr)
{
	return assign(sb, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, addr));
}

static inline void call(IRSB *sb, const HChar *name, void *fn, Int regparms, IRExpr **args,
			IRExpr *guard)
{
	IRDirty *d = unsafeIRDirty_0_N(regparms, name, VG_(fnptr_to_fnentry)(fn), args);
	if (guard)
		d->guard = guard;
	addStmtToIRSB(sb, IRStmt_Dirty(d));
}

/* large.c: how many statements a block may become; what stands in for one that would become more, `at` is
 * how it is filed; and what the core has put before the first instruction, whose index it returns. */
Int large_limit(const IRSB *in);
IRSB *large_again(const IRSB *in, Addr at);
Int large_preamble(IRSB *out, const IRSB *in);

/* frames.c: the shadow stack of context.c, updated inline. */
void frames_push(struct block *, IRExpr *target);
void frames_return(IRSB *);
void frames_jump(IRSB *); /* an indirect one */

#endif
