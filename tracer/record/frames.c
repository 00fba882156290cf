/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls and returns: the code that keeps the shadow stack of context.c. */
#include "block.h"

void frames_push(struct block *b, IRExpr *target)
{
	IRSB *sb = b->out;
	IRExpr *next = binop64(sb, Iop_Add64, load64(sb, u64((Addr)&record.top)),
			       u64(sizeof(struct frame)));
	IRExpr *limit = load64(sb, u64((Addr)&record.limit));
	IRExpr *full = assign(sb, Ity_I1, IRExpr_Binop(Iop_CmpLE64U, limit, next));
	IRExpr *sp = assign(sb, Ity_I64, IRExpr_Get(OFF(RSP), Ity_I64));
	call(sb, "ctx_grow", ctx_grow, 0, mkIRExprVec_0(), full);
	next = binop64(sb, Iop_Add64, load64(sb, u64((Addr)&record.top)),
		       u64(sizeof(struct frame)));
#define FIELD(f) binop64(sb, Iop_Add64, next, u64(offsetof(struct frame, f)))
	addStmtToIRSB(sb, IRStmt_Store(Iend_LE, next, u64(b->ip)));
	addStmtToIRSB(sb, IRStmt_Store(Iend_LE, FIELD(sp), sp));
	addStmtToIRSB(sb, IRStmt_Store(Iend_LE, FIELD(target), target));
	addStmtToIRSB(sb, IRStmt_Store(Iend_LE, FIELD(node), u64(0))); /* and flags */
#undef FIELD
	addStmtToIRSB(sb, IRStmt_Store(Iend_LE, u64((Addr)&record.top), next));
}

void frames_return(IRSB *sb)
{
	IRExpr *sp = assign(sb, Ity_I64, IRExpr_Get(OFF(RSP), Ity_I64));
	IRExpr *top = load64(sb, u64((Addr)&record.top));
	IRExpr *fsp = load64(sb, binop64(sb, Iop_Add64, top, u64(offsetof(struct frame, sp))));
	IRExpr *odd = assign(sb, Ity_I1,
			     IRExpr_Binop(Iop_CmpNE64, binop64(sb, Iop_Add64, fsp, u64(8)), sp));
	addStmtToIRSB(sb, IRStmt_Store(Iend_LE, u64((Addr)&record.top),
				       binop64(sb, Iop_Sub64, top, u64(sizeof(struct frame)))));
	call(sb, "ctx_return", ctx_return, 1, mkIRExprVec_1(sp), odd);
}

/* longjmp ends in an indirect jump with the stack pointer above the current frame's. */
void frames_jump(IRSB *sb)
{
	IRExpr *sp = assign(sb, Ity_I64, IRExpr_Get(OFF(RSP), Ity_I64));
	IRExpr *top = load64(sb, u64((Addr)&record.top));
	IRExpr *fsp = load64(sb, binop64(sb, Iop_Add64, top, u64(offsetof(struct frame, sp))));
	IRExpr *left = assign(sb, Ity_I1, IRExpr_Binop(Iop_CmpLT64U, fsp, sp));
	call(sb, "ctx_resync", ctx_resync, 1, mkIRExprVec_1(sp), left);
}
