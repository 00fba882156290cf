/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instruments each superblock.
 *
 * Stores: after the store, a call of on_store() guarded by an inline look-up of the address's
 * granule; the bytes are read back from memory, which works for any width. Plain stores at an
 * address that comes from the stack pointer are left alone, since stacks are not PM; until one is. Whatever
 * sets the stack pointer to anything but itself and a constant calls on_new_stack(), by the same
 * look-up, and the rest of its block takes no store for one to a stack. If the new one is PM,
 * all blocks are translated anew.
 *
 * Loads, with --hf-loads: before the load, a call of on_load() guarded by the same look-up. Loads
 * that VEX has removed because their result is unused are not recorded.
 *
 * Flushes: VEX cannot decode clwb and clflushopt, and takes clflush for an instruction-cache
 * flush that throws away translations; all three end a block. Both ends are rewritten into a
 * call of on_flush() and a plain jump to the next instruction.
 *
 * Fences: sfence and mfence call on_fence(). A LOCK-prefixed instruction or an XCHG with
 * memory orders flushes too, but is only recorded when there is something to order.
 *
 * Calls and returns: the shadow stack of context.c is updated inline.
 *
 * Requests: whoever asks whether Valgrind is there is told that it is not.
 */
#include "block.h"

/* Copies a statement of the program. */
static void keep(IRSB *sb, IRStmt *st)
{
	if (record.hooks)
		record.hooks->before(sb, st);
	addStmtToIRSB(sb, st);
	if (record.hooks)
		record.hooks->after(sb, st);
}

/* guard && extra; either may be NULL (always) */
static IRExpr *both(IRSB *sb, IRExpr *guard, IRExpr *extra)
{
	if (!guard || !extra)
		return guard ? guard : extra;
	IRExpr *a = assign(sb, Ity_I64, IRExpr_Unop(Iop_1Uto64, guard));
	IRExpr *b = assign(sb, Ity_I64, IRExpr_Unop(Iop_1Uto64, extra));
	return assign(sb, Ity_I1, IRExpr_Unop(Iop_64to1, binop64(sb, Iop_And64, a, b)));
}

/* The inline test: may addr be PM? */
static IRExpr *maybe_pm(IRSB *sb, IRExpr *addr)
{
	IRExpr *g = binop64(sb, Iop_Shr64, addr, IRExpr_Const(IRConst_U8(GRANULE_BITS)));
	g = binop64(sb, Iop_And64, g, u64(GRANULES - 1));
	g = binop64(sb, Iop_Add64, g, u64((Addr)region_granule));
	g = assign(sb, Ity_I8, IRExpr_Load(Iend_LE, Ity_I8, g));
	return assign(sb, Ity_I1, IRExpr_Binop(Iop_CmpNE8, g, IRExpr_Const(IRConst_U8(0))));
}

/* ---- stores ---- */

static Bool from_sp(const struct block *b, const IRExpr *addr)
{
	return addr->tag == Iex_RdTmp && addr->Iex.RdTmp.tmp < b->ntemps &&
	       b->is_sp[addr->Iex.RdTmp.tmp];
}

static Bool to_stack(const struct block *b, const IRExpr *addr)
{
	return !record.stacks && !b->moved && from_sp(b, addr);
}

/* As the core does when code is unmapped: all is translated anew. */
void stacks_are_pm(void)
{
	if (!record.stacks)
		VG_(discard_translations)(0, ~0ull, "hf.stacks");
	record.stacks = True;
}

/*
 * Who handles faults may repair what was wrong and have the instruction tried again: then all registers must
 * be in their place at every access to memory, and not only at the end of a block.
 */
void faults_are_handled(void)
{
	const VexRegisterUpdates all = VexRegUpdAllregsAtMemAccess;
	if (vex_control.iropt_register_updates_default == all)
		return;
	vex_control.iropt_register_updates_default = all;
	VG_(clo_vex_control).iropt_register_updates_default = VG_(clo_px_file_backed) = all;
	VG_(discard_translations)(0, ~0ull, "hf.faults");
}

/* Leaves the block at its next instruction if the new stack is PM, and throws away all. */
static void leave_for_stack(struct block *b, Addr next)
{
	IRSB *sb = b->out;
	IRExpr *now = assign(sb, Ity_I8, IRExpr_Load(Iend_LE, Ity_I8, u64((Addr)&record.stacks)));
	now = assign(sb, Ity_I1, IRExpr_Binop(Iop_CmpNE8, now, IRExpr_Const(IRConst_U8(0))));
	addStmtToIRSB(sb, IRStmt_Put(OFF(CMSTART), u64(0)));
	addStmtToIRSB(sb, IRStmt_Put(OFF(CMLEN), u64(~0ull)));
	addStmtToIRSB(sb, IRStmt_Exit(now, Ijk_InvalICache, IRConst_U64(next), OFF(RIP)));
	b->leave = False;
}

static void do_put(struct block *b, IRStmt *st)
{
	IRExpr *sp = st->Ist.Put.data;
	keep(b->out, st);
	if (st->Ist.Put.offset != OFF(RSP) || record.stacks || from_sp(b, sp))
		return;
	b->moved = b->leave = True;
	call(b->out, "on_new_stack", on_new_stack, 1, mkIRExprVec_1(sp), maybe_pm(b->out, sp));
}

/* Remembers what a temporary is made from, and whether it is SP-relative. */
static void note_def(struct block *b, const IRStmt *st)
{
	IRExpr *e = st->Ist.WrTmp.data;
	IRTemp t = st->Ist.WrTmp.tmp;
	if (t >= b->ntemps)
		return;
	b->def[t] = e;
	b->is_sp[t] = (e->tag == Iex_Get && e->Iex.Get.offset == OFF(RSP)) ||
		      (e->tag == Iex_Binop &&
		       (e->Iex.Binop.op == Iop_Add64 || e->Iex.Binop.op == Iop_Sub64) &&
		       from_sp(b, e->Iex.Binop.arg1) && e->Iex.Binop.arg2->tag == Iex_Const) ||
		      (e->tag == Iex_RdTmp && from_sp(b, e));
}

/* maskmovdqu and maskmovq load only in VEX's rendering of them. */
static void add_load(struct block *b, IRExpr *addr, UInt size, IRExpr *guard)
{
	if (!opt.loads || to_stack(b, addr) || b->insn.insn == INSN_MASKED_NT_STORE)
		return;
	guard = both(b->out, maybe_pm(b->out, addr), guard);
	call(b->out, "on_load", on_load, 3, mkIRExprVec_3(addr, u64(b->ip), u64(size)), guard);
}

static void do_wrtmp(struct block *b, IRStmt *st)
{
	IRExpr *e = st->Ist.WrTmp.data;
	note_def(b, st);
	if (e->tag == Iex_Load)
		add_load(b, e->Iex.Load.addr, (UInt)sizeofIRType(e->Iex.Load.ty), NULL);
	keep(b->out, st);
}

static void do_loadg(struct block *b, IRStmt *st)
{
	IRLoadG *lg = st->Ist.LoadG.details;
	IRType loaded, widened;
	typeOfIRLoadGOp(lg->cvt, &widened, &loaded);
	add_load(b, lg->addr, (UInt)sizeofIRType(loaded), lg->guard);
	keep(b->out, st);
}

static void say_stored(IRSB *sb)
{
	if (record.hooks && record.hooks->stored)
		record.hooks->stored(sb);
}

static void add_store(struct block *b, IRExpr *addr, UInt size, Bool atomic, IRExpr *guard)
{
	Bool nt = b->insn.insn == INSN_NT_STORE || b->insn.insn == INSN_MASKED_NT_STORE;
	enum trace_site class = atomic ? TRACE_SITE_ATOMIC
				: nt   ? TRACE_SITE_NT_STORE
				       : TRACE_SITE_STORE;
	UInt flags = (atomic ? TRACE_F_ATOMIC : 0) | (nt ? TRACE_F_NT : 0);
	if (to_stack(b, addr) && !nt)
		return;
	IRExpr *pm = maybe_pm(b->out, addr);
	UInt site = emit_site(b->ip, class, size);
	if (opt.profile)
		call(b->out, "on_volatile", on_volatile, 1, mkIRExprVec_1(u64(site)),
		     both(b->out, assign(b->out, Ity_I1, IRExpr_Unop(Iop_Not1, pm)), guard));
	say_stored(b->out);
	call(b->out, "on_store", on_store, 2, mkIRExprVec_2(addr, u64(PACK(site, size, flags))),
	     both(b->out, pm, guard));
}

static IRExpr *def_of(const struct block *b, IRExpr *e, IROp op)
{
	if (e->tag != Iex_RdTmp || e->Iex.RdTmp.tmp >= b->ntemps)
		return NULL;
	e = b->def[e->Iex.RdTmp.tmp];
	return e && e->tag == Iex_Binop && e->Iex.Binop.op == op ? e : NULL;
}

/* maskmovdqu and maskmovq: VEX stores (new & mask) | (old & ~mask); find the mask. */
static Bool add_masked_store(struct block *b, IRExpr *addr, IRExpr *data, UInt size)
{
	IROp or_op = size == 16 ? Iop_OrV128 : Iop_Or64,
	     and_op = size == 16 ? Iop_AndV128 : Iop_And64;
	IRExpr *e = def_of(b, data, or_op), *mask, *lo, *hi;
	if (e == NULL || (e = def_of(b, e->Iex.Binop.arg1, and_op)) == NULL)
		return False;
	mask = e->Iex.Binop.arg2;
	lo = size == 16 ? assign(b->out, Ity_I64, IRExpr_Unop(Iop_V128to64, mask)) : mask;
	hi = size == 16 ? assign(b->out, Ity_I64, IRExpr_Unop(Iop_V128HIto64, mask)) : u64(0);
	say_stored(b->out);
	call(b->out, "on_masked_store", on_masked_store, 3,
	     mkIRExprVec_4(
		     addr, lo, hi,
		     u64(PACK(emit_site(b->ip, TRACE_SITE_NT_STORE, size), size, TRACE_F_NT))),
	     maybe_pm(b->out, addr));
	return True;
}

static void do_store(struct block *b, IRStmt *st)
{
	IRExpr *data = st->Ist.Store.data, *addr = st->Ist.Store.addr;
	UInt size = (UInt)sizeofIRType(typeOfIRExpr(b->out->tyenv, data));
	keep(b->out, st);
	if (b->insn.insn != INSN_MASKED_NT_STORE || !add_masked_store(b, addr, data, size))
		add_store(b, addr, size, False, NULL);
}

static void do_storeg(struct block *b, IRStmt *st)
{
	IRStoreG *sg = st->Ist.StoreG.details;
	UInt size = (UInt)sizeofIRType(typeOfIRExpr(b->out->tyenv, sg->data));
	keep(b->out, st);
	add_store(b, sg->addr, size, False, sg->guard);
}

/* LOCK-prefixed or XCHG: a fence, if there is something to order. */
static void add_atomic_fence(struct block *b, UInt size)
{
	IRSB *sb = b->out;
	IRExpr *need =
		assign(sb, Ity_I8, IRExpr_Load(Iend_LE, Ity_I8, u64((Addr)&record.fence_needed)));
	need = assign(sb, Ity_I1, IRExpr_Binop(Iop_CmpNE8, need, IRExpr_Const(IRConst_U8(0))));
	call(sb, "on_fence", on_fence, 1,
	     mkIRExprVec_1(u64(PACK(emit_site(b->ip, TRACE_SITE_ATOMIC, size), TRACE_F_ATOMIC, 0))),
	     need);
}

/*
 * A store if it succeeds. VEX also makes these of a CMPXCHG8B or CMPXCHG16B without LOCK,
 * which is neither atomic nor a fence.
 */
static void do_cas(struct block *b, IRStmt *st)
{
	IRCAS *cas = st->Ist.CAS.details;
	IRSB *sb = b->out;
	IRType ty = typeOfIRExpr(sb->tyenv, cas->dataLo);
	UInt size = (UInt)sizeofIRType(ty) * (cas->dataHi ? 2 : 1);
	IROp eq = ty == Ity_I8    ? Iop_CasCmpEQ8
		  : ty == Ity_I16 ? Iop_CasCmpEQ16
		  : ty == Ity_I32 ? Iop_CasCmpEQ32
				  : Iop_CasCmpEQ64;
	IRExpr *done, *hi;
	if (b->insn.atomic)
		add_atomic_fence(b, size);
	add_load(b, cas->addr, size, NULL);
	keep(sb, st);
	if (to_stack(b, cas->addr))
		return;
	done = assign(sb, Ity_I1, IRExpr_Binop(eq, IRExpr_RdTmp(cas->oldLo), cas->expdLo));
	if (cas->dataHi) {
		hi = assign(sb, Ity_I1, IRExpr_Binop(eq, IRExpr_RdTmp(cas->oldHi), cas->expdHi));
		done = both(sb, done, hi);
	}
	add_store(b, cas->addr, size, b->insn.atomic, done);
}

/* Valgrind says that SIDT and SGDT write 6 bytes, as with 32 bits, and writes 10. */
static void mend_size(IRDirty *d)
{
	if (VG_(strcmp)(d->cee->name, "amd64g_dirtyhelper_SxDT") == 0)
		d->mSize = 10;
}

static void do_dirty(struct block *b, IRStmt *st)
{
	IRDirty *d = st->Ist.Dirty.details;
	mend_size(d);
	if (VG_(strncmp)(d->cee->name, "amd64g_dirtyhelper_CPUID", 24) == 0) {
		record.cpuid = d->cee->addr;
		d->cee = mkIRCallee(d->cee->regparms, "on_cpuid", VG_(fnptr_to_fnentry)(on_cpuid));
	}
	if (d->mFx == Ifx_Read || d->mFx == Ifx_Modify)
		add_load(b, d->mAddr, (UInt)d->mSize, d->guard);
	keep(b->out, st);
	if (d->mFx == Ifx_Write || d->mFx == Ifx_Modify)
		add_store(b, d->mAddr, (UInt)d->mSize, False, d->guard);
}

static void do_fence(struct block *b)
{
	enum trace_site class = b->insn.insn == INSN_SFENCE ? TRACE_SITE_SFENCE : TRACE_SITE_MFENCE;
	if (b->insn.insn == INSN_SFENCE || b->insn.insn == INSN_MFENCE)
		call(b->out, "on_fence", on_fence, 1,
		     mkIRExprVec_1(u64(PACK(emit_site(b->ip, class, 0), 0, 0))), NULL);
}

/* ---- flushes: the end of a block ---- */

static IRExpr *effective_address(IRSB *sb, const struct amode *m)
{
	IRExpr *a = u64((ULong)m->disp);
	if (m->base >= 0)
		a = binop64(sb, Iop_Add64, a,
			    assign(sb, Ity_I64, IRExpr_Get(OFF(RAX) + m->base * 8, Ity_I64)));
	if (m->index >= 0) {
		IRExpr *i = assign(sb, Ity_I64, IRExpr_Get(OFF(RAX) + m->index * 8, Ity_I64));
		i = binop64(sb, Iop_Shl64, i, IRExpr_Const(IRConst_U8((UChar)m->scale)));
		a = binop64(sb, Iop_Add64, a, i);
	}
	if (m->addr32)
		a = binop64(sb, Iop_And64, a, u64(0xffffffffull));
	if (m->seg != SEG_NONE) {
		Int off = m->seg == SEG_FS ? OFF(FS_CONST) : OFF(GS_CONST);
		a = binop64(sb, Iop_Add64, a, assign(sb, Ity_I64, IRExpr_Get(off, Ity_I64)));
	}
	return a;
}

/* The block covers one instruction more than VEX knows: say so, or it outlives its code. */
static void extend(const VexGuestExtents *vge, Addr ip, UInt len)
{
	VexGuestExtents *e = (VexGuestExtents *)vge;
	for (UInt i = 0; i < e->n_used; i++)
		if (e->base[i] + e->len[i] == ip)
			e->len[i] = (UShort)(e->len[i] + len);
}

/*
 * Code outside of files may be rewritten in place. VEX has blocks of such code check themselves,
 * but not this instruction, which it does not know: leave and translate anew if it has changed.
 */
static void leave_if_rewritten(struct block *b)
{
	NSegment const *seg = VG_(am_find_nsegment)(b->ip);
	IRSB *sb = b->out;
	if (seg && seg->kind == SkFileC)
		return;
	addStmtToIRSB(sb, IRStmt_Put(OFF(CMSTART), u64(b->ip)));
	addStmtToIRSB(sb, IRStmt_Put(OFF(CMLEN), u64(b->insn.len)));
	for (UInt i = 0; i < b->insn.len; i++) {
		IRExpr *is = assign(sb, Ity_I8, IRExpr_Load(Iend_LE, Ity_I8, u64(b->ip + i)));
		IRExpr *was = IRExpr_Const(IRConst_U8(((const UChar *)b->ip)[i]));
		IRExpr *other = assign(sb, Ity_I1, IRExpr_Binop(Iop_CmpNE8, is, was));
		addStmtToIRSB(sb,
			      IRStmt_Exit(other, Ijk_InvalICache, IRConst_U64(b->ip), OFF(RIP)));
	}
}

static void end_flush(struct block *b, const VexGuestExtents *vge)
{
	static const enum trace_site class[] = { [INSN_CLFLUSH] = TRACE_SITE_CLFLUSH,
						 [INSN_CLFLUSHOPT] = TRACE_SITE_CLFLUSHOPT,
						 [INSN_CLWB] = TRACE_SITE_CLWB };
	IRSB *sb = b->out;
	Bool ordered = b->insn.insn == INSN_CLFLUSH;
	UInt site = emit_site(b->ip, class[b->insn.insn], TRACE_LINE);
	IRExpr *addr;
	leave_if_rewritten(b);
	addr = effective_address(sb, &b->insn.mem);
	if (record.hooks && record.hooks->flush)
		record.hooks->flush(sb, b->ip, &b->insn.mem, addr);
	call(sb, "on_flush", on_flush, 2, mkIRExprVec_2(addr, u64(PACK(site, !ordered, 0))), NULL);
	if (sb->jumpkind == Ijk_NoDecode)
		extend(vge, b->ip, b->insn.len);
	sb->next = u64(b->ip + b->insn.len);
	sb->jumpkind = Ijk_Boring;
}

/* ---- the end of a block ---- */

/*
 * RUNNING_ON_VALGRIND gives its default, as it does outside of Valgrind. PMDK and others ask for it, and take other
 * paths if it is true: what is recorded shall be what runs in production.
 */
static void end_request(IRSB *sb)
{
	IRExpr *args = assign(sb, Ity_I64, IRExpr_Get(OFF(RAX), Ity_I64));
	IRExpr *asks = assign(
		sb, Ity_I1,
		IRExpr_Binop(Iop_CmpEQ64, load64(sb, args), u64(VG_USERREQ__RUNNING_ON_VALGRIND)));
	if (!opt.pmemcheck && sb->next->tag == Iex_Const)
		addStmtToIRSB(sb, IRStmt_Exit(asks, Ijk_Boring, sb->next->Iex.Const.con, OFF(RIP)));
}

static void end_block(struct block *b, const VexGuestExtents *vge)
{
	IRSB *sb = b->out;
	if (b->leave && sb->jumpkind == Ijk_Boring && sb->next->tag == Iex_Const)
		leave_for_stack(b, sb->next->Iex.Const.con->Ico.U64);
	fault_instrument(sb);
	switch (sb->jumpkind) {
	case Ijk_NoDecode: /* clwb, clflushopt, and clflush behind several segment prefixes */
	case Ijk_InvalICache:
		if (b->insn.insn == INSN_CLWB || b->insn.insn == INSN_CLFLUSHOPT ||
		    b->insn.insn == INSN_CLFLUSH)
			end_flush(b, vge);
		break;
	case Ijk_Call: frames_push(b, sb->next); break;
	case Ijk_Ret: frames_return(sb); break;
	case Ijk_ClientReq: end_request(sb); break;
	case Ijk_Boring:
		if (sb->next->tag != Iex_Const)
			frames_jump(sb);
		break;
	default: break;
	}
}

/* ---- one block ---- */

/* At a function's first instruction: is it watched? */
static void enter_function(struct block *b, Addr entry)
{
	const HChar *name;
	if (!VG_(get_fnname_if_entry)(VG_(current_DiEpoch)(), entry, &name))
		return;
	ULong what = library_watched(name);
	if (!what)
		return;
	if (WATCHED_RECORDED(what))
		what |= emit_string(name);
	call(b->out, "on_watched", on_watched, 2,
	     mkIRExprVec_2(u64(what), u64(emit_site(entry, TRACE_SITE_OTHER, 0))), NULL);
}

/* A new instruction. If the last one was a call that VEX followed, its frame is due. */
static void do_imark(struct block *b, IRStmt *st)
{
	Addr ip = st->Ist.IMark.addr;
	if (b->any && b->insn.insn == INSN_CALL && ip == b->insn.target)
		frames_push(b, u64(ip));
	if (b->leave)
		leave_for_stack(b, ip);
	keep(b->out, st);
	b->ip = ip;
	decode(ip, &b->insn);
	if (!b->any)
		enter_function(b, ip);
	b->any = True;
}

static void do_stmt(struct block *b, IRStmt *st)
{
	switch (st->tag) {
	case Ist_IMark: do_imark(b, st); return;
	case Ist_Store: do_store(b, st); return;
	case Ist_StoreG: do_storeg(b, st); return;
	case Ist_CAS: do_cas(b, st); return;
	case Ist_Dirty: do_dirty(b, st); return;
	case Ist_WrTmp: do_wrtmp(b, st); return;
	case Ist_LoadG: do_loadg(b, st); return;
	case Ist_Put: do_put(b, st); return;
	case Ist_MBE:
		if (st->Ist.MBE.event == Imbe_Fence)
			do_fence(b);
		break;
	default: break;
	}
	keep(b->out, st);
}

static struct block block_new(const IRSB *in)
{
	struct block b = { .out = deepCopyIRSBExceptStmts(in),
			   .ntemps = (UInt)in->tyenv->types_used };
	b.def = VG_(calloc)("hf.def", b.ntemps + 1, sizeof *b.def);
	b.is_sp = VG_(calloc)("hf.sp", b.ntemps + 1, sizeof *b.is_sp);
	return b;
}

IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
		 const VexGuestExtents *vge, const VexArchInfo *arch, IRType gty, IRType hty)
{
	struct block b = block_new(in);
	Int most = large_limit(in);
	library_scan();
	Int i = large_preamble(b.out, in);
	if (record.hooks)
		record.hooks->begin(b.out, in, closure->nraddr);
	for (; i < in->stmts_used && b.out->stmts_used <= most; i++)
		do_stmt(&b, in->stmts[i]);
	if (record.hooks)
		record.hooks->finish(b.out);
	Bool fits = b.out->stmts_used <= most;
	if (fits)
		end_block(&b, vge);
	VG_(free)(b.def);
	VG_(free)(b.is_sp);
	return fits ? b.out : large_again(in, closure->nraddr);
}
