/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The slow version of a block: each statement that computes, moves or uses a value is followed by a
 * call that does the same with its expression (slow.h).
 *
 * The IR is flat: operands are temporaries or constants.
 */
#include "slow.h"

#define ARENA 65536u

static struct {
	const IRSB *block; /* as it came from VEX */
	Int at;            /* the current statement */
	UChar *arena;      /* for descriptions */
	SizeT left;        /* of the arena */
} now;

/* ---- descriptions ---- */

/* They live as long as the translations, which are never known to be discarded. */
static void *keep(SizeT size)
{
	void *p;
	size = (size + 15) & ~(SizeT)15;
	if (size > now.left) {
		now.left = size > ARENA ? size : ARENA;
		now.arena = VG_(malloc)("hf.slow", now.left);
	}
	p = now.arena;
	now.arena += size;
	now.left -= size;
	return VG_(memset)(p, 0, size);
}

static struct sym_stmt *describe(Addr ip)
{
	struct sym_stmt *s = keep(sizeof *s);
	s->ip = ip;
	return s;
}

static UInt bits_of(IRType ty)
{
	return ty == Ity_I1 ? 1 : (UInt)sizeofIRType(ty) * 8;
}

/* VEX writes vector constants as one bit a byte. */
static ULong spread(UInt bits)
{
	ULong v = 0;
	for (UInt i = 0; i < 8; i++)
		if (bits >> i & 1)
			v |= 0xffull << i * 8;
	return v;
}

static void constant(struct sym_value *x, const IRConst *c)
{
	switch (c->tag) {
	case Ico_U1: x->v[0] = c->Ico.U1; break;
	case Ico_U8: x->v[0] = c->Ico.U8; break;
	case Ico_U16: x->v[0] = c->Ico.U16; break;
	case Ico_U32: x->v[0] = c->Ico.U32; break;
	case Ico_U64: x->v[0] = c->Ico.U64; break;
	case Ico_U128: break; /* not on this machine */
	case Ico_F32: VG_(memcpy)(&x->v[0], &c->Ico.F32, 4); break;
	case Ico_F32i: x->v[0] = c->Ico.F32i; break;
	case Ico_F64: VG_(memcpy)(&x->v[0], &c->Ico.F64, 8); break;
	case Ico_F64i: x->v[0] = c->Ico.F64i; break;
	case Ico_V128:
		for (UInt i = 0; i < 2; i++)
			x->v[i] = spread((UInt)c->Ico.V128 >> i * 8);
		break;
	case Ico_V256:
		for (UInt i = 0; i < 4; i++)
			x->v[i] = spread(c->Ico.V256 >> i * 8);
		break;
	}
}

static const struct sym_value *operand(const IRExpr *e)
{
	struct sym_value *x;
	if (e == NULL)
		return NULL;
	if (e->tag == Iex_RdTmp) {
		tl_assert(e->Iex.RdTmp.tmp < SYM_TEMPS);
		return &sym_temp[e->Iex.RdTmp.tmp];
	}
	x = keep(sizeof *x);
	if (e->tag == Iex_Const) { /* else: the guest state, as an argument */
		x->bits = bits_of(typeOfIRConst(e->Iex.Const.con));
		constant(x, e->Iex.Const.con);
	}
	return x;
}

static void operands(struct sym_stmt *s, IRExpr **args)
{
	for (s->nextra = 0; args[s->nextra];)
		s->nextra++;
	s->extra = keep((s->nextra + 1) * sizeof(struct sym_value *));
	for (UInt i = 0; i < s->nextra; i++)
		s->extra[i] = operand(args[i]);
}

static void result(struct sym_stmt *s, IRTemp t)
{
	tl_assert(t < SYM_TEMPS);
	s->r = &sym_temp[t];
	s->bits = bits_of(typeOfIRTemp(now.block->tyenv, t));
}

/* ---- calls ---- */

static IRExpr *unop(IRSB *sb, IROp op, IRExpr *e)
{
	return sym_ir_assign(sb, Ity_I64, IRExpr_Unop(op, e));
}

static void words4(IRSB *sb, IRExpr *e, IRExpr *w[4])
{
	static const IROp op[4] = { Iop_V256to64_0, Iop_V256to64_1, Iop_V256to64_2,
				    Iop_V256to64_3 };
	for (UInt i = 0; i < 4; i++)
		w[i] = unop(sb, op[i], e);
}

/* A temporary's value in words of 64 bits; how many. */
static UInt words(IRSB *sb, IRTemp t, IRExpr *w[4])
{
	IRExpr *e = IRExpr_RdTmp(t), *i32;
	switch (typeOfIRTemp(now.block->tyenv, t)) {
	case Ity_I1: w[0] = unop(sb, Iop_1Uto64, e); return 1;
	case Ity_I8: w[0] = unop(sb, Iop_8Uto64, e); return 1;
	case Ity_I16: w[0] = unop(sb, Iop_16Uto64, e); return 1;
	case Ity_I32: w[0] = unop(sb, Iop_32Uto64, e); return 1;
	case Ity_I64: w[0] = e; return 1;
	case Ity_F64: w[0] = unop(sb, Iop_ReinterpF64asI64, e); return 1;
	case Ity_F32:
		i32 = sym_ir_assign(sb, Ity_I32, IRExpr_Unop(Iop_ReinterpF32asI32, e));
		w[0] = unop(sb, Iop_32Uto64, i32);
		return 1;
	case Ity_I128:
		w[0] = unop(sb, Iop_128to64, e);
		w[1] = unop(sb, Iop_128HIto64, e);
		return 2;
	case Ity_V128:
		w[0] = unop(sb, Iop_V128to64, e);
		w[1] = unop(sb, Iop_V128HIto64, e);
		return 2;
	case Ity_V256: words4(sb, e, w); return 4;
	default: w[0] = sym_ir_u64(0); return 1; /* decimal and 128-bit floating point */
	}
}

static IRExpr *pointer(const void *p)
{
	return sym_ir_u64((Addr)p);
}

#define CALL1(sb, fn, s) sym_ir_call(sb, #fn, fn, 1, mkIRExprVec_1(pointer(s)), NULL)

/* A call that also gets what the machine has computed. */
static void call_with(IRSB *sb, const HChar *name, void *fn, struct sym_stmt *s, IRTemp t)
{
	IRExpr *w[4];
	UInt n;
	result(s, t);
	n = words(sb, t, w);
	if (n > 1)
		sym_ir_call(sb, "slow_upper", slow_upper, 3,
			    mkIRExprVec_4(pointer(s->r), w[1], n > 2 ? w[2] : sym_ir_u64(0),
					  n > 2 ? w[3] : sym_ir_u64(0)),
			    NULL);
	sym_ir_call(sb, name, fn, 2, mkIRExprVec_2(pointer(s), w[0]), NULL);
}
#define CALL_WITH(sb, fn, s, t) call_with(sb, #fn, fn, s, t)

/* The fork server has to start before the first symbolic byte is read. */
static void before_load(IRSB *sb, IRExpr *addr, UInt size)
{
	IRExpr *role = sym_ir_assign(sb, Ity_I32,
				     IRExpr_Load(Iend_LE, Ity_I32, pointer(&sym_process.role)));
	IRExpr *waits = sym_ir_assign(
		sb, Ity_I1, IRExpr_Binop(Iop_CmpEQ32, role, IRExpr_Const(IRConst_U32(SYM_BEFORE))));
	sym_ir_call(sb, "slow_before_load", slow_before_load, 2,
		    mkIRExprVec_2(addr, sym_ir_u64(size)), waits);
}

/* ---- statements ---- */

static void array(struct sym_stmt *s, const IRRegArray *d, Int bias)
{
	s->offset = d->base;
	s->size = sizeofIRType(d->elemTy);
	s->elems = d->nElems;
	s->bias = bias;
	s->groups = sym_group(d->base, d->nElems * s->size);
}

/* Which argument says what the flags are from; -1: none does. */
static Int flags_from(const HChar *name)
{
	if (VG_(strcmp)(name, "amd64g_calculate_condition") == 0)
		return 1;
	return VG_(strncmp)(name, "amd64g_calculate_rflags", 23) == 0 ? 0 : -1;
}

static void ccall(IRSB *sb, struct sym_stmt *s, IRTemp t, const IRExpr *e)
{
	s->name = e->Iex.CCall.cee->name;
	s->offset = flags_from(s->name);
	operands(s, e->Iex.CCall.args);
	if (s->nextra <= 8)
		CALL_WITH(sb, slow_ccall, s, t);
	else
		CALL_WITH(sb, slow_set, s, t);
}

/* Sets the operation and its operands; NULL: none. */
static void takes(struct sym_stmt *s, UInt op, IRExpr *a, IRExpr *b, IRExpr *c, IRExpr *d)
{
	s->op = op;
	s->a[0] = operand(a);
	s->a[1] = operand(b);
	s->a[2] = operand(c);
	s->a[3] = operand(d);
}

static void operation(IRSB *sb, struct sym_stmt *s, IRTemp t, const IRExpr *e)
{
	const IRTriop *tri;
	const IRQop *q;
	switch (e->tag) {
	case Iex_Unop:
		takes(s, e->Iex.Unop.op, e->Iex.Unop.arg, NULL, NULL, NULL);
		CALL_WITH(sb, slow_unop, s, t);
		break;
	case Iex_Binop:
		takes(s, e->Iex.Binop.op, e->Iex.Binop.arg1, e->Iex.Binop.arg2, NULL, NULL);
		CALL_WITH(sb, slow_binop, s, t);
		break;
	case Iex_Triop:
		tri = e->Iex.Triop.details;
		takes(s, tri->op, tri->arg1, tri->arg2, tri->arg3, NULL);
		CALL_WITH(sb, slow_triop, s, t);
		break;
	case Iex_Qop:
		q = e->Iex.Qop.details;
		takes(s, q->op, q->arg1, q->arg2, q->arg3, q->arg4);
		CALL_WITH(sb, slow_qop, s, t);
		break;
	default: break;
	}
}

static void wrtmp(IRSB *sb, IRTemp t, const IRExpr *e, Addr ip)
{
	struct sym_stmt *s = describe(ip);
	switch (e->tag) {
	case Iex_Get:
		s->offset = e->Iex.Get.offset;
		s->groups = sym_group(s->offset, sizeofIRType(e->Iex.Get.ty));
		if (s->groups)
			CALL_WITH(sb, slow_get, s, t);
		else
			CALL_WITH(sb, slow_set, s, t);
		break;
	case Iex_GetI:
		array(s, e->Iex.GetI.descr, e->Iex.GetI.bias);
		s->a[0] = operand(e->Iex.GetI.ix);
		CALL_WITH(sb, slow_geti, s, t);
		break;
	case Iex_RdTmp:
	case Iex_Const:
		s->a[0] = operand(e);
		CALL_WITH(sb, slow_copy, s, t);
		break;
	case Iex_Load:
		s->a[0] = operand(e->Iex.Load.addr);
		CALL_WITH(sb, slow_load, s, t);
		break;
	case Iex_ITE:
		takes(s, Iop_INVALID, e->Iex.ITE.cond, e->Iex.ITE.iftrue, e->Iex.ITE.iffalse, NULL);
		CALL_WITH(sb, slow_ite, s, t);
		break;
	case Iex_CCall: ccall(sb, s, t, e); break;
	default: operation(sb, s, t, e); break;
	}
}

static void put(IRSB *sb, const IRStmt *st, Addr ip)
{
	struct sym_stmt *s = describe(ip);
	const IRExpr *data = st->Ist.Put.data;
	s->offset = st->Ist.Put.offset;
	s->size = sizeofIRType(typeOfIRExpr(now.block->tyenv, data));
	s->groups = sym_group(s->offset, s->size);
	s->a[0] = operand(data);
	if (s->groups) /* not for RIP and the range of an instruction-cache flush */
		CALL1(sb, slow_put, s);
}

static void puti(IRSB *sb, const IRPutI *p, Addr ip)
{
	struct sym_stmt *s = describe(ip);
	array(s, p->descr, p->bias);
	s->a[0] = operand(p->data);
	s->a[1] = operand(p->ix);
	CALL1(sb, slow_puti, s);
}

static void store(IRSB *sb, IRExpr *addr, IRExpr *data, IRExpr *guard, Addr ip)
{
	struct sym_stmt *s = describe(ip);
	takes(s, Iop_INVALID, addr, data, guard, NULL);
	s->size = sizeofIRType(typeOfIRExpr(now.block->tyenv, data));
	CALL1(sb, slow_store, s);
}

static void loadg(IRSB *sb, const IRLoadG *lg, Addr ip)
{
	struct sym_stmt *s = describe(ip);
	IRType loaded, widened;
	typeOfIRLoadGOp(lg->cvt, &widened, &loaded);
	takes(s, lg->cvt, lg->addr, lg->alt, lg->guard, NULL);
	s->size = sizeofIRType(loaded);
	CALL_WITH(sb, slow_loadg, s, lg->dst);
}

static void cas(IRSB *sb, const IRCAS *c, Addr ip)
{
	struct sym_stmt *s = describe(ip);
	IRExpr *lo[4], *hi[4] = { sym_ir_u64(0) };
	result(s, c->oldLo);
	words(sb, c->oldLo, lo);
	if (c->dataHi) {
		tl_assert(c->oldHi < SYM_TEMPS);
		s->r2 = &sym_temp[c->oldHi];
		words(sb, c->oldHi, hi);
	}
	s->size = (Int)s->bits / 8 * (c->dataHi ? 2 : 1);
	s->a[0] = operand(c->addr);
	s->a[1] = operand(c->expdLo);
	s->a[2] = operand(c->dataLo);
	s->a[3] = operand(c->expdHi);
	s->a[4] = operand(c->dataHi);
	sym_ir_call(sb, "slow_cas", slow_cas, 3, mkIRExprVec_3(pointer(s), lo[0], hi[0]), NULL);
}

static void parts(struct sym_stmt *s, const IRDirty *d)
{
	UInt n = 0;
	for (Int i = 0; i < d->nFxState; i++)
		s->nparts += 1u + d->fxState[i].nRepeats;
	s->part = keep((s->nparts + 1) * sizeof *s->part);
	for (Int i = 0; i < d->nFxState; i++)
		for (Int k = 0; k <= d->fxState[i].nRepeats; k++) {
			struct sym_part *p = &s->part[n++];
			p->offset = d->fxState[i].offset + k * d->fxState[i].repeatLen;
			p->size = d->fxState[i].size;
			p->read = d->fxState[i].fx != Ifx_Write;
			p->write = d->fxState[i].fx != Ifx_Read;
		}
}

static void dirty(IRSB *sb, const IRDirty *d, Addr ip)
{
	struct sym_stmt *s = describe(ip);
	s->name = d->cee->name;
	s->a[0] = operand(d->mAddr);
	s->a[1] = operand(d->guard);
	s->size = d->mSize;
	s->reads = d->mFx == Ifx_Read || d->mFx == Ifx_Modify;
	s->writes = d->mFx == Ifx_Write || d->mFx == Ifx_Modify;
	operands(s, d->args);
	parts(s, d);
	if (s->reads)
		before_load(sb, d->mAddr, (UInt)d->mSize);
	CALL1(sb, slow_dirty, s);
}

/* The instruction behind this one, as far as the block knows. */
static Addr following(void)
{
	for (Int i = now.at + 1; i < now.block->stmts_used; i++)
		if (now.block->stmts[i]->tag == Ist_IMark)
			return now.block->stmts[i]->Ist.IMark.addr;
	return now.block->next->tag == Iex_Const ? now.block->next->Iex.Const.con->Ico.U64 : 0;
}

static void exit_(IRSB *sb, const IRStmt *st, Addr ip)
{
	struct sym_stmt *s = describe(ip);
	s->a[0] = operand(st->Ist.Exit.guard);
	s->to[0] = st->Ist.Exit.dst->Ico.U64;
	s->to[1] = following();
	CALL1(sb, slow_exit, s);
}

static Bool divides(const IRExpr *e)
{
	if (e->tag != Iex_Binop)
		return False;
	switch (e->Iex.Binop.op) {
	case Iop_DivU32:
	case Iop_DivS32:
	case Iop_DivU64:
	case Iop_DivS64:
	case Iop_DivModU64to32:
	case Iop_DivModS64to32:
	case Iop_DivModU128to64:
	case Iop_DivModS128to64: return True;
	default: return False;
	}
}

static void before_wrtmp(IRSB *sb, const IRExpr *e, Addr ip)
{
	struct sym_stmt *s;
	if (e->tag == Iex_Load)
		before_load(sb, e->Iex.Load.addr, (UInt)sizeofIRType(e->Iex.Load.ty));
	if (!divides(e) || e->Iex.Binop.arg2->tag != Iex_RdTmp)
		return;
	s = describe(ip);
	s->a[0] = operand(e->Iex.Binop.arg2);
	s->to[0] = s->to[1] = ip;
	CALL1(sb, slow_before_division, s);
}

/* ---- the block ---- */

void sym_build_begin(IRSB *out, const IRSB *in)
{
	now.block = in;
	now.at = 0;
}

void sym_build_before(IRSB *sb, IRStmt *st, Addr ip)
{
	const IRStoreG *sg;
	while (now.at < now.block->stmts_used && now.block->stmts[now.at] != st)
		now.at++;
	switch (st->tag) {
	case Ist_WrTmp: before_wrtmp(sb, st->Ist.WrTmp.data, ip); break;
	case Ist_LoadG: before_load(sb, st->Ist.LoadG.details->addr, SYM_REACH); break;
	case Ist_CAS: before_load(sb, st->Ist.CAS.details->addr, SYM_REACH); break;
	case Ist_Dirty: dirty(sb, st->Ist.Dirty.details, ip); break;
	case Ist_Store: store(sb, st->Ist.Store.addr, st->Ist.Store.data, NULL, ip); break;
	case Ist_StoreG:
		sg = st->Ist.StoreG.details;
		store(sb, sg->addr, sg->data, sg->guard, ip);
		break;
	case Ist_Exit: exit_(sb, st, ip); break;
	default: break;
	}
}

void sym_build_after(IRSB *sb, IRStmt *st, Addr ip)
{
	switch (st->tag) {
	case Ist_WrTmp: wrtmp(sb, st->Ist.WrTmp.tmp, st->Ist.WrTmp.data, ip); break;
	case Ist_Put: put(sb, st, ip); break;
	case Ist_PutI: puti(sb, st->Ist.PutI.details, ip); break;
	case Ist_LoadG: loadg(sb, st->Ist.LoadG.details, ip); break;
	case Ist_CAS: cas(sb, st->Ist.CAS.details, ip); break;
	case Ist_Dirty:
		if (st->Ist.Dirty.details->tmp != IRTemp_INVALID)
			CALL_WITH(sb, slow_set, describe(ip), st->Ist.Dirty.details->tmp);
		break;
	default: break;
	}
}

void sym_build_next(IRSB *sb, Addr ip)
{
	struct sym_stmt *s;
	if (sb->next->tag != Iex_RdTmp)
		return;
	s = describe(ip);
	s->a[0] = operand(sb->next);
	CALL1(sb, slow_next, s);
}

void sym_build_flush(IRSB *sb, Addr ip, const struct amode *m, IRExpr *addr)
{
	struct sym_stmt *s = describe(ip);
	Int gpr = (Int)offsetof(VexGuestAMD64State, guest_RAX);
	s->offset = m->base;
	s->size = m->index;
	s->bias = (Int)m->scale;
	if (m->base >= 0)
		s->groups |= sym_group(gpr + m->base * 8, 8);
	if (m->index >= 0)
		s->groups |= sym_group(gpr + m->index * 8, 8);
	sym_ir_call(sb, "slow_flush", slow_flush, 2, mkIRExprVec_2(pointer(s), addr), NULL);
}
