/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is put into a block: behind each statement, the same for labels.
 *
 * A load asks for labels if its address may be in PM, has labels, or a cell of its line has some; a store tells
 * its labels if there are any, or were. VEX must not follow jumps: every condition shall belong to one branch.
 */
#include "labels.h"

#define MOST_INSNS 8 /* of a block: there must be room for the labels of as many gathers */
#define SHADOW ((Int)sizeof(VexGuestAMD64State))

Bool deps_on = False;

static struct {
	const IRSB *block; /* as it came from VEX */
	Int at;            /* the current statement */
	Addr ip;
	IRExpr *data, *address; /* sets of the store that is recorded next */
} now;

/* ---- IR ---- */

static IRExpr *entry(IRSB *sb, IRExpr *addr, UInt bits, UInt n, UInt shift, const void *table)
{
	IRExpr *e = ir_binop(sb, Ity_I64, Iop_Shr64, addr, IRExpr_Const(IRConst_U8((UChar)bits)));
	e = ir_binop(sb, Ity_I64, Iop_And64, e, ir_u64(n - 1));
	if (shift)
		e = ir_binop(sb, Ity_I64, Iop_Shl64, e, IRExpr_Const(IRConst_U8((UChar)shift)));
	return ir_binop(sb, Ity_I64, Iop_Add64, e, ir_u64((Addr)table));
}

/* 32 bits that are not 0 if a cell near the address may have labels. */
static IRExpr *line_of(IRSB *sb, IRExpr *addr)
{
	IRExpr *e = entry(sb, addr, LINE_BITS, LINES, 2, cell_line);
	return ir_set(sb, Ity_I32, IRExpr_Load(Iend_LE, Ity_I32, e));
}

/* … if it may be in PM. */
static IRExpr *granule_of(IRSB *sb, IRExpr *addr)
{
	IRExpr *e = entry(sb, addr, GRANULE_BITS, GRANULES, 0, region_granule);
	e = ir_set(sb, Ity_I8, IRExpr_Load(Iend_LE, Ity_I8, e));
	return ir_set(sb, Ity_I32, IRExpr_Unop(Iop_8Uto32, e));
}

static IRExpr *or32(IRSB *sb, IRExpr *a, IRExpr *b)
{
	return a && b ? ir_binop(sb, Ity_I32, Iop_Or32, a, b) : a ? a : b;
}

static IRExpr *and1(IRSB *sb, IRExpr *a, IRExpr *b)
{
	if (!a || !b)
		return a ? a : b;
	a = ir_set(sb, Ity_I32, IRExpr_Unop(Iop_1Uto32, a));
	b = ir_set(sb, Ity_I32, IRExpr_Unop(Iop_1Uto32, b));
	return ir_not_zero(sb, ir_binop(sb, Ity_I32, Iop_And32, a, b));
}

static IRExpr *wide(IRSB *sb, IRExpr *set)
{
	return set ? ir_set(sb, Ity_I64, IRExpr_Unop(Iop_32Uto64, set)) : ir_u64(0);
}

static IRExpr *pair(IRSB *sb, IRExpr *high, IRExpr *low)
{
	return ir_binop(sb, Ity_I64, Iop_32HLto64, high ? high : ir_u32(0), low ? low : ir_u32(0));
}

static void call(IRSB *sb, const HChar *name, void *fn, IRExpr **args, IRExpr *guard)
{
	IRDirty *d = unsafeIRDirty_0_N(3, name, VG_(fnptr_to_fnentry)(fn), args);
	if (guard)
		d->guard = guard;
	addStmtToIRSB(sb, IRStmt_Dirty(d));
}

/* ---- memory ---- */

#define AT(ip, size) ((ip) | (ULong)(size) << 48)
#define AT_IP(at) ((at)&0xffffffffffffull)
#define AT_SIZE(at) ((UInt)((at) >> 48))

static VG_REGPARM(3) ULong on_load_labels(Addr a, ULong at, ULong address)
{
	return told_load(a, AT_SIZE(at), AT_IP(at), (set_t)address);
}

/* Stores to PM leave no labels: whatever loads from there has its own. */
static VG_REGPARM(3) void on_store_labels(Addr a, ULong size, ULong set)
{
	if (!region_granule[a >> GRANULE_BITS & (GRANULES - 1)] || !region_find(a))
		memory_put(a, size, (set_t)set);
}

/* The set of what is loaded. */
static IRExpr *load(IRSB *sb, IRExpr *addr, UInt size, IRExpr *guard)
{
	IRExpr *address = value_set(sb, addr), *any = or32(sb, granule_of(sb, addr), address);
	IRExpr *set;
	any = size <= REACH ? or32(sb, any, line_of(sb, addr)) : ir_u32(1);
	any = size <= REACH ? ir_not_zero(sb, any) : IRExpr_Const(IRConst_U1(True));
	set = ir_call(sb, Ity_I64, "on_load_labels", on_load_labels, 3,
		      mkIRExprVec_3(addr, ir_u64(AT(now.ip, size)), wide(sb, address)),
		      and1(sb, any, guard), ir_u64(0));
	return ir_set(sb, Ity_I32, IRExpr_Unop(Iop_64to32, set));
}

static void store(IRSB *sb, IRExpr *addr, UInt size, IRExpr *set, IRExpr *guard)
{
	IRExpr *any = size <= REACH ? ir_not_zero(sb, or32(sb, line_of(sb, addr), set)) : NULL;
	now.data = set;
	now.address = value_set(sb, addr);
	call(sb, "on_store_labels", on_store_labels,
	     mkIRExprVec_3(addr, ir_u64(size), wide(sb, set)), and1(sb, any, guard));
}

static UInt size_of(const IRExpr *e)
{
	return (UInt)sizeofIRType(typeOfIRExpr(now.block->tyenv, e));
}

static void storeg(IRSB *sb, const IRStoreG *sg)
{
	IRExpr *set = value_or(sb, value_set(sb, sg->data), value_set(sb, sg->guard));
	store(sb, sg->addr, size_of(sg->data), set, sg->guard);
}

static void loadg(IRSB *sb, const IRLoadG *lg)
{
	IRType narrow, result;
	IRExpr *set;
	typeOfIRLoadGOp(lg->cvt, &result, &narrow);
	set = load(sb, lg->addr, (UInt)sizeofIRType(narrow), lg->guard);
	set = value_chosen(sb, lg->guard, set, value_set(sb, lg->alt));
	value_define(lg->dst, value_or(sb, set, value_set(sb, lg->guard)));
}

/* Whether it stores depends on what was there, and on what was expected. */
static void cas(IRSB *sb, const IRCAS *c)
{
	IRType ty = typeOfIRExpr(now.block->tyenv, c->dataLo);
	UInt size = (UInt)sizeofIRType(ty) * (c->dataHi ? 2 : 1);
	IROp eq = ty == Ity_I8    ? Iop_CasCmpEQ8
		  : ty == Ity_I16 ? Iop_CasCmpEQ16
		  : ty == Ity_I32 ? Iop_CasCmpEQ32
				  : Iop_CasCmpEQ64;
	IRExpr *old = load(sb, c->addr, size, NULL), *set = old;
	IRExpr *done = ir_binop(sb, Ity_I1, eq, IRExpr_RdTmp(c->oldLo), c->expdLo);
	value_define(c->oldLo, old);
	set = value_or(sb, set, value_set(sb, c->expdLo));
	set = value_or(sb, set, value_set(sb, c->dataLo));
	if (c->dataHi) {
		value_define(c->oldHi, old);
		set = value_or(sb, set, value_set(sb, c->expdHi));
		set = value_or(sb, set, value_set(sb, c->dataHi));
		done = and1(sb, done, ir_binop(sb, Ity_I1, eq, IRExpr_RdTmp(c->oldHi), c->expdHi));
	}
	store(sb, c->addr, size, set, done);
}

/* ---- helpers of VEX ---- */

/* What a helper reads and writes of the guest state. */
struct parts {
	UInt n;
	struct {
		Int offset, size;
		Bool read, write;
	} part[];
};

static VG_REGPARM(3) ULong on_state_read(UChar *state, const struct parts *p, ULong set)
{
	for (UInt i = 0; i < p->n; i++)
		for (Int k = 0; p->part[i].read && k < p->part[i].size; k++) {
			Int at = p->part[i].offset + k;
			cell_t cell = *(cell_t *)(state + SHADOW + (at & ~7));
			if (cell && value_kept(at))
				set = set_union((set_t)set, cell_get(cell, (UInt)at % 8, 1));
		}
	return set;
}

static VG_REGPARM(3) void on_state_written(UChar *state, const struct parts *p, ULong set)
{
	for (UInt i = 0; i < p->n; i++)
		for (Int k = 0; p->part[i].write && k < p->part[i].size; k++) {
			Int at = p->part[i].offset + k;
			cell_t *cell = (cell_t *)(state + SHADOW + (at & ~7));
			if ((*cell || set) && value_kept(at))
				*cell = cell_put(*cell, (UInt)at % 8, 1, (set_t)set);
		}
}

/* They live as long as the translation, of which nobody knows when it is discarded. */
static struct parts *parts_of(const IRDirty *d)
{
	UInt n = 0;
	struct parts *p;
	for (Int i = 0; i < d->nFxState; i++)
		n += 1u + d->fxState[i].nRepeats;
	p = VG_(malloc)("hf.parts", sizeof *p + n * sizeof p->part[0]);
	p->n = 0;
	for (Int i = 0; i < d->nFxState; i++)
		for (Int k = 0; k <= d->fxState[i].nRepeats; k++, p->n++) {
			p->part[p->n].offset = d->fxState[i].offset + k * d->fxState[i].repeatLen;
			p->part[p->n].size = d->fxState[i].size;
			p->part[p->n].read = d->fxState[i].fx != Ifx_Write;
			p->part[p->n].write = d->fxState[i].fx != Ifx_Read;
		}
	return p;
}

/* Calls one of these two; the helper's own guard is also theirs. */
static void with_state(IRSB *sb, IRDirty *d, IRExpr *guard)
{
	d->nFxState = 1;
	d->fxState[0].fx = Ifx_Modify;
	d->fxState[0].offset = (UShort)SHADOW;
	d->fxState[0].size = (UShort)SHADOW;
	d->fxState[0].nRepeats = d->fxState[0].repeatLen = 0;
	d->guard = guard;
	addStmtToIRSB(sb, IRStmt_Dirty(d));
}

static IRExpr *state_read(IRSB *sb, const struct parts *p, IRExpr *set, IRExpr *guard)
{
	IRTemp t = newIRTemp(sb->tyenv, Ity_I64);
	IRExpr *got;
	with_state(sb,
		   unsafeIRDirty_1_N(t, 3, "on_state_read", VG_(fnptr_to_fnentry)(on_state_read),
				     mkIRExprVec_3(IRExpr_GSPTR(), ir_u64((Addr)p), wide(sb, set))),
		   guard);
	got = ir_set(sb, Ity_I64, IRExpr_ITE(guard, IRExpr_RdTmp(t), ir_u64(0)));
	return ir_set(sb, Ity_I32, IRExpr_Unop(Iop_64to32, got));
}

/* Everything that it writes comes from everything that it reads. */
static void dirty(IRSB *sb, const IRDirty *d)
{
	const struct parts *p = d->nFxState ? parts_of(d) : NULL;
	IRExpr *set = value_set(sb, d->guard);
	for (UInt i = 0; d->args[i]; i++)
		set = value_or(sb, set, value_set(sb, d->args[i]));
	if (d->mFx == Ifx_Read || d->mFx == Ifx_Modify)
		set = value_or(sb, set, load(sb, d->mAddr, (UInt)d->mSize, d->guard));
	if (p)
		set = state_read(sb, p, set, d->guard);
	if (p)
		with_state(sb,
			   unsafeIRDirty_0_N(
				   3, "on_state_written", VG_(fnptr_to_fnentry)(on_state_written),
				   mkIRExprVec_3(IRExpr_GSPTR(), ir_u64((Addr)p), wide(sb, set))),
			   d->guard);
	if (d->tmp != IRTemp_INVALID)
		value_define(d->tmp, set);
	if (d->mFx == Ifx_Write || d->mFx == Ifx_Modify)
		store(sb, d->mAddr, (UInt)d->mSize, set, d->guard);
}

/* ---- branches ---- */

static VG_REGPARM(3) void on_branch(struct branch *b, ULong taken, ULong set)
{
	told_branch(b, b->to[taken ? 0 : 1], 0, (set_t)set);
}

static VG_REGPARM(3) void on_jump(struct branch *b, ULong to, ULong set)
{
	told_branch(b, to, TRACE_BRANCH_INDIRECT, (set_t)set);
}

/* Has it labels, or does it matter that it has none? */
static IRExpr *matters(IRSB *sb, IRExpr *set)
{
	IRExpr *top = ir_set(sb, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, ir_u64((Addr)&record.top)));
	IRExpr *flags =
		ir_binop(sb, Ity_I64, Iop_Add64, top, ir_u64(offsetof(struct frame, flags)));
	flags = ir_set(sb, Ity_I32, IRExpr_Load(Iend_LE, Ity_I32, flags));
	flags = ir_binop(sb, Ity_I32, Iop_And32, flags, ir_u32(FRAME_BRANCHED));
	return ir_not_zero(sb, or32(sb, flags, set));
}

static struct branch *branch_new(Addr yes, Addr no)
{
	struct branch *b = VG_(calloc)("hf.branch", 1, sizeof *b);
	b->ip = now.ip;
	b->to[0] = yes;
	b->to[1] = no;
	return b;
}

/* The instruction behind this one, as far as the block knows. */
static Addr following(void)
{
	for (Int i = now.at + 1; i < now.block->stmts_used; i++)
		if (now.block->stmts[i]->tag == Ist_IMark)
			return now.block->stmts[i]->Ist.IMark.addr;
	return now.block->next->tag == Iex_Const ? now.block->next->Iex.Const.con->Ico.U64 : 0;
}

/* Not the ends of instructions that repeat themselves, nor what checks for faults. */
static void exit_(IRSB *sb, const IRStmt *st)
{
	Addr yes = st->Ist.Exit.dst->Ico.U64, no = following();
	IRExpr *set = value_set(sb, st->Ist.Exit.guard), *taken;
	if (st->Ist.Exit.jk != Ijk_Boring || yes == now.ip || no == now.ip)
		return;
	taken = ir_set(sb, Ity_I64, IRExpr_Unop(Iop_1Uto64, st->Ist.Exit.guard));
	call(sb, "on_branch", on_branch,
	     mkIRExprVec_3(ir_u64((Addr)branch_new(yes, no)), taken, wide(sb, set)),
	     matters(sb, set));
}

static void jump(IRSB *sb)
{
	IRExpr *set = value_set(sb, sb->next);
	if (!set || (sb->jumpkind != Ijk_Boring && sb->jumpkind != Ijk_Call))
		return;
	call(sb, "on_jump", on_jump,
	     mkIRExprVec_3(ir_u64((Addr)branch_new(0, 0)), sb->next, wide(sb, set)),
	     matters(sb, set));
}

/* ---- the block ---- */

static void begin(IRSB *out, const IRSB *in, Addr nraddr)
{
	now.block = in;
	now.at = 0;
	values_begin(in);
}

static void before(IRSB *sb, IRStmt *st)
{
	while (now.at < now.block->stmts_used && now.block->stmts[now.at] != st)
		now.at++;
	if (st->tag == Ist_IMark)
		now.ip = st->Ist.IMark.addr;
	if (st->tag == Ist_Exit)
		exit_(sb, st);
}

static void wrtmp(IRSB *sb, IRTemp t, const IRExpr *e)
{
	if (e->tag == Iex_Load)
		value_define(t,
			     load(sb, e->Iex.Load.addr, (UInt)sizeofIRType(e->Iex.Load.ty), NULL));
	else
		value_assign(sb, t, e);
}

static void after(IRSB *sb, IRStmt *st)
{
	switch (st->tag) {
	case Ist_WrTmp: wrtmp(sb, st->Ist.WrTmp.tmp, st->Ist.WrTmp.data); break;
	case Ist_Put:
		value_put(sb, st->Ist.Put.offset, (Int)size_of(st->Ist.Put.data),
			  value_set(sb, st->Ist.Put.data));
		break;
	case Ist_PutI: value_puti(sb, st->Ist.PutI.details); break;
	case Ist_Store:
		store(sb, st->Ist.Store.addr, size_of(st->Ist.Store.data),
		      value_set(sb, st->Ist.Store.data), NULL);
		break;
	case Ist_StoreG: storeg(sb, st->Ist.StoreG.details); break;
	case Ist_LoadG: loadg(sb, st->Ist.LoadG.details); break;
	case Ist_CAS: cas(sb, st->Ist.CAS.details); break;
	case Ist_Dirty: dirty(sb, st->Ist.Dirty.details); break;
	default: break;
	}
}

/* A store that may be to PM: told_access() looks here. */
static void recorded(IRSB *sb)
{
	addStmtToIRSB(sb, IRStmt_Store(Iend_LE, ir_u64((Addr)&record.labels),
				       pair(sb, now.address, now.data)));
}

static void finish(IRSB *sb)
{
	jump(sb);
	values_end();
}

const struct block_hooks deps_hooks = { begin, before, after, recorded, NULL, finish };

/* ---- what the core does ---- */

static void wrote_register(CorePart part, ThreadId tid, PtrdiffT offset, SizeT size)
{
	static const UChar nothing[SHADOW];
	PtrdiffT from = offset & ~(PtrdiffT)7, to = (offset + (PtrdiffT)size + 7) & ~(PtrdiffT)7;
	VG_(set_shadow_regs_area)(tid, 1, from, (SizeT)(to - from), nothing);
}

static void mapped(Addr a, SizeT len, Bool r, Bool w, Bool x, ULong handle)
{
	deps_clear(a, len);
}

static void grown(Addr a, SizeT len, ThreadId tid)
{
	deps_clear(a, len);
}

void deps_setup(void)
{
	VG_(clo_vex_control).guest_chase = False;
	VG_(clo_vex_control).iropt_unroll_thresh = 0;
	VG_(clo_vex_control).guest_max_insns = MOST_INSNS;
	record.access = told_access;
	VG_(track_post_reg_write)(wrote_register);
	VG_(track_new_mem_mmap)(mapped);
	VG_(track_new_mem_brk)(grown);
	VG_(track_die_mem_munmap)(deps_clear);
	VG_(track_die_mem_brk)(deps_clear);
	VG_(track_copy_mem_remap)(memory_move);
}

/* No block is running: nobody has a set's number but registers and memory. */
static void forget(void)
{
	for (ThreadId tid = 1; tid < VG_N_THREADS; tid++)
		if (VG_(is_valid_tid)(tid))
			wrote_register(Vg_CoreClientReq, tid, 0, (SizeT)SHADOW);
	sets_forget();
	cells_forget();
}

void deps_run(void)
{
	if (UNLIKELY(sets_full() || cells_full() || told_many())) {
		forget();
		told_forget();
	}
}

void deps_forked(void)
{
	forget();
	told_forked();
}
