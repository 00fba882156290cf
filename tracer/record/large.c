/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that are too large. VEX has a fixed amount of memory for one translation, and of room for its
 * code; where either is used up it ends the program. That takes between 5,000 and 6,000 statements, and
 * a single XSAVE, or a masked store of a vector, becomes hundreds of them. So a block that comes out
 * larger than MOST_STATEMENTS is not run: in its place stands one that throws itself away, whereupon it is
 * translated anew, with half as many instructions.
 *
 * What VEX itself makes of 40 instructions, whichever they are, it has room for; of 50 XSAVEs it has not.
 */
#include "block.h"

#define MOST_STATEMENTS 2500
#define MOST_INSNS 40

static struct {
	Addr at;   /* the last that was too large: it is the next to be translated */
	Int insns; /* that it may have */
} again;

void large_setup(void)
{
	VG_(clo_vex_control).guest_max_insns = MOST_INSNS;
}

Int large_insns(Addr at, Int most)
{
	return at == again.at && again.insns < most ? again.insns : most;
}

static Int instructions(const IRSB *in)
{
	Int n = 0;
	for (Int i = 0; i < in->stmts_used; i++)
		n += in->stmts[i]->tag == Ist_IMark;
	return n;
}

Int large_limit(const IRSB *in)
{
	return instructions(in) > 1 ? MOST_STATEMENTS : 0x7fffffff;
}

Int large_preamble(IRSB *out, const IRSB *in)
{
	Int i = 0;
	for (; i < in->stmts_used && in->stmts[i]->tag != Ist_IMark; i++)
		addStmtToIRSB(out, in->stmts[i]);
	return i;
}

IRSB *large_again(const IRSB *in, Addr at)
{
	IRSB *sb = deepCopyIRSBExceptStmts(in);
	Addr ip = in->stmts[large_preamble(sb, in)]->Ist.IMark.addr;
	again.at = at;
	again.insns = instructions(in) / 2;
	addStmtToIRSB(sb, IRStmt_Put(OFF(CMSTART), u64(ip)));
	addStmtToIRSB(sb, IRStmt_Put(OFF(CMLEN), u64(1)));
	sb->next = u64(at);
	sb->jumpkind = Ijk_InvalICache;
	return sb;
}
