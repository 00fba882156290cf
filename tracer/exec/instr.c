/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The two versions of each block.
 *
 * The fast one is that of `record`, plus a coverage byte, and inline tests for symbolic values: at
 * the start, of the registers that it uses; before each load, of the bytes to be loaded. If a test
 * finds something, the block is left for the slow version of the code from there on. After a store,
 * a test clears bytes that were symbolic. So a fast block never handles a symbolic value, and none
 * of its stores can make anything symbolic.
 *
 * The slow version is filed under the same address with SYM_BLOCK_SLOW set. The core resolves such
 * an address as it does for functions that tools replace; the linker's --wrap (meson.build)
 * replaces that function, which also sets how VEX translates: without following jumps, so that
 * every condition belongs to one branch, and in short blocks.
 *
 * When a load leaves the fast block, its instruction is executed again from the start. So nothing
 * that the instruction reads may be changed before the load: a block in which a load follows a
 * change in the same instruction (as in the REP instructions) is only entered if no memory is
 * symbolic.
 */
#include "slow.h"

#define OFF(reg) ((Int)offsetof(VexGuestAMD64State, guest_##reg))
#define SLOW_INSNS 24

extern Addr __real_vgPlain_redir_do_lookup(Addr orig, Bool *is_wrap);
extern Addr __wrap_vgPlain_redir_do_lookup(Addr orig, Bool *is_wrap);
extern void __real_vgPlain_discard_translations(Addr start, ULong len, const HChar *who);
extern void __wrap_vgPlain_discard_translations(Addr start, ULong len, const HChar *who);
#define FAST_ENTRIES (4u << 13) /* of the core's table of translations that ran recently */
extern struct {
	Addr guest, host;
} VG_(tt_fast)[FAST_ENTRIES];

static struct {
	Bool slow;
	Addr ip;
	Bool *checked; /* temporaries that are addresses where nothing symbolic is */
	UInt ntemps;
} now; /* the block that is being translated */

/* ---- IR ---- */

IRExpr *sym_ir_u64(ULong v)
{
	return IRExpr_Const(IRConst_U64(v));
}

IRExpr *sym_ir_assign(IRSB *sb, IRType ty, IRExpr *e)
{
	IRTemp t = newIRTemp(sb->tyenv, ty);
	addStmtToIRSB(sb, IRStmt_WrTmp(t, e));
	return IRExpr_RdTmp(t);
}

void sym_ir_call(IRSB *sb, const HChar *name, void *fn, Int regparms, IRExpr **args, IRExpr *guard)
{
	IRDirty *d = unsafeIRDirty_0_N(regparms, name, VG_(fnptr_to_fnentry)(fn), args);
	if (guard)
		d->guard = guard;
	addStmtToIRSB(sb, IRStmt_Dirty(d));
}

static IRExpr *binop64(IRSB *sb, IROp op, IRExpr *a, IRExpr *b)
{
	return sym_ir_assign(sb, Ity_I64, IRExpr_Binop(op, a, b));
}

static void leave_if(IRSB *sb, IRExpr *condition, Addr to)
{
	addStmtToIRSB(
		sb, IRStmt_Exit(condition, Ijk_Boring, IRConst_U64(to | SYM_BLOCK_SLOW), OFF(RIP)));
}

static IRExpr *not_zero8(IRSB *sb, IRExpr *addr)
{
	IRExpr *b = sym_ir_assign(sb, Ity_I8, IRExpr_Load(Iend_LE, Ity_I8, addr));
	return sym_ir_assign(sb, Ity_I1, IRExpr_Binop(Iop_CmpNE8, b, IRExpr_Const(IRConst_U8(0))));
}

/* The inline test: may an access here meet something symbolic? */
static IRExpr *maybe(IRSB *sb, IRExpr *addr)
{
	IRExpr *e;
	if (addr->tag == Iex_Const)
		return not_zero8(
			sb,
			sym_ir_u64((Addr)&sym_summary
					   .line[(addr->Iex.Const.con->Ico.U64 >> SYM_LINE_BITS) %
						 SYM_LINES]));
	e = binop64(sb, Iop_Shr64, addr, IRExpr_Const(IRConst_U8(SYM_LINE_BITS)));
	e = binop64(sb, Iop_And64, e, sym_ir_u64(SYM_LINES - 1));
	e = binop64(sb, Iop_Add64, e, sym_ir_u64((Addr)sym_summary.line));
	return not_zero8(sb, e);
}

static IRExpr *and1(IRSB *sb, IRExpr *a, IRExpr *b)
{
	if (!a || !b)
		return a ? a : b;
	a = sym_ir_assign(sb, Ity_I64, IRExpr_Unop(Iop_1Uto64, a));
	b = sym_ir_assign(sb, Ity_I64, IRExpr_Unop(Iop_1Uto64, b));
	return sym_ir_assign(sb, Ity_I1, IRExpr_Unop(Iop_64to1, binop64(sb, Iop_And64, a, b)));
}

/* ---- which blocks ran ---- */

static struct {
	struct intern block; /* what is in sym_control->block[]: its index + 1 */
	UInt n;
} known;

/* The block's index + 1, 0: it is new. */
static UInt *known_at(ULong block)
{
	ULong key[3] = { 0, block, 0 };
	return intern_at(&known.block, key);
}

/* Other children of the server may have added some. */
static void known_update(void)
{
	UInt n = __atomic_load_n(&sym_control->nblocks, __ATOMIC_ACQUIRE);
	for (; known.n < n && known.n < SYM_MAX_BLOCKS; known.n++)
		*known_at(sym_control->block[known.n]) = known.n + 1;
}

/* The lock is held for a few instructions. A child that is killed there never releases it: so waiting
 * is limited. */
static void lock(void)
{
	for (UInt i = 0; i < 1000; i++) {
		UInt free = 0;
		if (__atomic_compare_exchange_n(&sym_control->lock, &free, 1, False,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return;
		VG_(do_syscall)(__NR_sched_yield, 0, 0, 0, 0, 0, 0, 0, 0);
	}
}

static void cover(IRSB *sb, ULong block)
{
	UInt index;
	if (!sym_control)
		return;
	known_update();
	if (!*known_at(block)) {
		lock();
		UInt n = sym_control->nblocks;
		if (n < SYM_MAX_BLOCKS) {
			sym_control->block[n] = block;
			__atomic_store_n(&sym_control->nblocks, n + 1, __ATOMIC_RELEASE);
		}
		__atomic_store_n(&sym_control->lock, 0, __ATOMIC_RELEASE);
		known_update();
	}
	index = *known_at(block);
	if (index)
		addStmtToIRSB(sb, IRStmt_Store(Iend_LE,
					       sym_ir_u64((Addr)&sym_control->cover[index - 1]),
					       IRExpr_Const(IRConst_U8(1))));
}

/* ---- what a block uses ---- */

static ULong array_groups(const IRRegArray *d)
{
	return sym_group(d->base, d->nElems * sizeofIRType(d->elemTy));
}

static ULong dirty_groups(const IRDirty *d)
{
	ULong g = 0;
	for (Int i = 0; i < d->nFxState; i++)
		for (Int k = 0; k <= d->fxState[i].nRepeats; k++)
			g |= sym_group(d->fxState[i].offset + k * d->fxState[i].repeatLen,
				       d->fxState[i].size);
	return g;
}

static ULong stmt_groups(const IRSB *sb, const IRStmt *st)
{
	const IRExpr *e;
	switch (st->tag) {
	case Ist_WrTmp:
		e = st->Ist.WrTmp.data;
		if (e->tag == Iex_Get)
			return sym_group(e->Iex.Get.offset, sizeofIRType(e->Iex.Get.ty));
		return e->tag == Iex_GetI ? array_groups(e->Iex.GetI.descr) : 0;
	case Ist_Put:
		return sym_group(st->Ist.Put.offset,
				 sizeofIRType(typeOfIRExpr(sb->tyenv, st->Ist.Put.data)));
	case Ist_PutI: return array_groups(st->Ist.PutI.details->descr);
	case Ist_Dirty: return dirty_groups(st->Ist.Dirty.details);
	default: return 0;
	}
}

static Bool loads(const IRStmt *st)
{
	switch (st->tag) {
	case Ist_WrTmp: return st->Ist.WrTmp.data->tag == Iex_Load;
	case Ist_LoadG:
	case Ist_CAS: return True;
	case Ist_Dirty:
		return st->Ist.Dirty.details->mFx == Ifx_Read ||
		       st->Ist.Dirty.details->mFx == Ifx_Modify;
	default: return False;
	}
}

/*
 * Does it change what the instruction may have read? Vector registers are set to zero before a
 * part of them is loaded, by instructions that do not read them; LEAVE sets RSP from RBP first.
 */
static Bool changes(const IRStmt *st, Addr ip)
{
	switch (st->tag) {
	case Ist_Put:
		if (st->Ist.Put.offset == OFF(RSP) && *(const UChar *)ip == 0xc9)
			return False;
		return (st->Ist.Put.offset < OFF(YMM0) || st->Ist.Put.offset >= OFF(YMM16)) &&
		       st->Ist.Put.offset != OFF(RIP);
	case Ist_PutI:
	case Ist_Store:
	case Ist_StoreG:
	case Ist_CAS:
	case Ist_Dirty: return True;
	default: return False;
	}
}

struct uses {
	ULong groups;
	Bool late_load; /* behind a change in the same instruction */
};

static struct uses block_uses(const IRSB *in)
{
	struct uses u = { 0, False };
	struct decoded d = { 0 };
	Bool changed = False;
	Addr ip = 0;
	for (Int i = 0; i < in->stmts_used; i++) {
		const IRStmt *st = in->stmts[i];
		if (st->tag == Ist_IMark) {
			changed = False;
			ip = st->Ist.IMark.addr;
		}
		if (!ip)
			continue; /* before the first instruction: added by the core */
		u.groups |= stmt_groups(in, st);
		if (changed && loads(st))
			u.late_load = True;
		changed = changed || changes(st, ip);
	}
	/* A flush at the end uses registers that VEX does not know of. */
	if (in->jumpkind == Ijk_NoDecode || in->jumpkind == Ijk_InvalICache) {
		decode(ip, &d);
		if (d.mem.base >= 0)
			u.groups |= sym_group(OFF(RAX) + d.mem.base * 8, 8);
		if (d.mem.index >= 0)
			u.groups |= sym_group(OFF(RAX) + d.mem.index * 8, 8);
	}
	return u;
}

static void enter_fast(IRSB *sb, const IRSB *in, Addr ip)
{
	struct uses u = block_uses(in);
	IRExpr *e = sym_ir_assign(
		sb, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, sym_ir_u64((Addr)&sym_summary.groups)));
	e = binop64(sb, Iop_And64, e, sym_ir_u64(u.groups));
	leave_if(sb, sym_ir_assign(sb, Ity_I1, IRExpr_Binop(Iop_CmpNE64, e, sym_ir_u64(0))), ip);
	if (!u.late_load)
		return;
	e = sym_ir_assign(sb, Ity_I32,
			  IRExpr_Load(Iend_LE, Ity_I32, sym_ir_u64((Addr)&sym_summary.live)));
	leave_if(sb,
		 sym_ir_assign(sb, Ity_I1,
			       IRExpr_Binop(Iop_CmpNE32, e, IRExpr_Const(IRConst_U32(0)))),
		 ip);
}

/* ---- the fast version ---- */

static Bool is_checked(const IRExpr *addr)
{
	return addr->tag == Iex_RdTmp && addr->Iex.RdTmp.tmp < now.ntemps &&
	       now.checked[addr->Iex.RdTmp.tmp];
}

static void before_load(IRSB *sb, IRExpr *addr, UInt size, IRExpr *guard)
{
	if (size <= SYM_REACH && is_checked(addr))
		return;
	for (UInt i = 0; i < size; i += SYM_REACH) {
		IRExpr *a = i ? binop64(sb, Iop_Add64, addr, sym_ir_u64(i)) : addr;
		leave_if(sb, and1(sb, maybe(sb, a), guard), now.ip);
	}
	if (addr->tag == Iex_RdTmp && addr->Iex.RdTmp.tmp < now.ntemps && !guard)
		now.checked[addr->Iex.RdTmp.tmp] = True;
}

static void after_store(IRSB *sb, IRExpr *addr, UInt size, IRExpr *guard)
{
	if (size <= SYM_REACH && is_checked(addr))
		return;
	sym_ir_call(sb, "sym_clear", sym_clear, 2, mkIRExprVec_2(addr, sym_ir_u64(size)),
		    and1(sb, size <= SYM_REACH ? maybe(sb, addr) : NULL, guard));
}

static void fast_before(IRSB *sb, IRStmt *st)
{
	IRExpr *e;
	IRType wide, narrow;
	switch (st->tag) {
	case Ist_WrTmp:
		e = st->Ist.WrTmp.data;
		if (e->tag == Iex_Load)
			before_load(sb, e->Iex.Load.addr, (UInt)sizeofIRType(e->Iex.Load.ty), NULL);
		break;
	case Ist_LoadG:
		typeOfIRLoadGOp(st->Ist.LoadG.details->cvt, &wide, &narrow);
		before_load(sb, st->Ist.LoadG.details->addr, (UInt)sizeofIRType(narrow),
			    st->Ist.LoadG.details->guard);
		break;
	case Ist_CAS: before_load(sb, st->Ist.CAS.details->addr, 16, NULL); break;
	case Ist_Dirty:
		if (loads(st))
			before_load(sb, st->Ist.Dirty.details->mAddr,
				    (UInt)st->Ist.Dirty.details->mSize,
				    st->Ist.Dirty.details->guard);
		break;
	default: break;
	}
}

static void fast_after(IRSB *sb, IRStmt *st)
{
	const IRStoreG *sg;
	const IRDirty *d;
	switch (st->tag) {
	case Ist_Store:
		after_store(sb, st->Ist.Store.addr,
			    (UInt)sizeofIRType(typeOfIRExpr(sb->tyenv, st->Ist.Store.data)), NULL);
		break;
	case Ist_StoreG:
		sg = st->Ist.StoreG.details;
		after_store(sb, sg->addr, (UInt)sizeofIRType(typeOfIRExpr(sb->tyenv, sg->data)),
			    sg->guard);
		break;
	case Ist_Dirty:
		d = st->Ist.Dirty.details;
		if (d->mFx == Ifx_Write || d->mFx == Ifx_Modify)
			after_store(sb, d->mAddr, (UInt)d->mSize, d->guard);
		break;
	default: break;
	}
}

/* ---- both ---- */

static void begin(IRSB *out, const IRSB *in, Addr nraddr)
{
	Addr ip = 0;
	for (Int i = 0; i < in->stmts_used && !ip; i++)
		if (in->stmts[i]->tag == Ist_IMark)
			ip = in->stmts[i]->Ist.IMark.addr;
	now.slow = (nraddr & SYM_BLOCK_SLOW) != 0;
	now.ip = ip;
	cover(out, nraddr);
	if (now.slow) {
		/* The alias must not be visible, neither to a handler nor in a crash report. */
		addStmtToIRSB(out, IRStmt_Put(OFF(RIP), sym_ir_u64(ip)));
		sym_build_begin(out, in);
		return;
	}
	now.ntemps = (UInt)in->tyenv->types_used;
	now.checked = VG_(calloc)("hf.checked", now.ntemps + 1, sizeof *now.checked);
	enter_fast(out, in, ip);
}

static void before(IRSB *out, IRStmt *st)
{
	if (st->tag == Ist_IMark)
		now.ip = st->Ist.IMark.addr;
	if (now.slow)
		sym_build_before(out, st, now.ip);
	else
		fast_before(out, st);
}

static void after(IRSB *out, IRStmt *st)
{
	if (now.slow)
		sym_build_after(out, st, now.ip);
	else
		fast_after(out, st);
}

static void flush(IRSB *out, Addr ip, const struct amode *m, IRExpr *addr)
{
	if (now.slow)
		sym_build_flush(out, ip, m, addr);
}

static void finish(IRSB *out)
{
	if (now.slow)
		sym_build_next(out, now.ip);
	else
		VG_(free)(now.checked);
}

const struct block_hooks exec_hooks = { begin, before, after, NULL, flush, finish };

/* ---- how VEX translates ---- */

Addr __wrap_vgPlain_redir_do_lookup(Addr orig, Bool *is_wrap)
{
	Bool slow = sym_on && (orig & SYM_BLOCK_SLOW);
	vex_control.guest_max_insns =
		large_insns(orig, slow ? SLOW_INSNS : VG_(clo_vex_control).guest_max_insns);
	if (!sym_on)
		return __real_vgPlain_redir_do_lookup(orig, is_wrap);
	vex_control.guest_chase = slow ? False : VG_(clo_vex_control).guest_chase;
	vex_control.iropt_unroll_thresh = slow ? 0 : VG_(clo_vex_control).iropt_unroll_thresh;
	if (!slow)
		return __real_vgPlain_redir_do_lookup(orig, is_wrap);
	*is_wrap = False;
	return orig & ~SYM_BLOCK_SLOW;
}

/*
 * The core finds what ran recently by a table, from which it takes a single translation that it discards
 * by the address of its code. A slow one is there under its alias, and would be run again and again.
 */
void __wrap_vgPlain_discard_translations(Addr start, ULong len, const HChar *who)
{
	enum { BOGUS = 1 }; /* no code is there */
	__real_vgPlain_discard_translations(start, len, who);
	for (UInt i = 0; sym_on && i < FAST_ENTRIES; i++)
		if (VG_(tt_fast)[i].guest & SYM_BLOCK_SLOW)
			VG_(tt_fast)[i].guest = BOGUS;
}

void exec_setup(void)
{
	VG_(clo_vex_control).iropt_register_updates_default = VexRegUpdAllregsAtMemAccess;
	VG_(clo_px_file_backed) = VexRegUpdAllregsAtMemAccess;
}
