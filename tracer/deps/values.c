/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IR: the labels of values.
 *
 * A temporary's set is made when it is asked for. Until then it is known by the sets that it is the union of, its
 * leaves: most results never are asked for.
 *
 * A register's cell is at the same place in the guest state's shadow. All of the register's labels are in the cell's lower half: so
 * registers are read and written inline, whole; only what reads or writes a part of one looks at the rest of the cell.
 */
#include "labels.h"

#define OFF(reg) ((Int)offsetof(VexGuestAMD64State, guest_##reg))
#define SHADOW ((Int)sizeof(VexGuestAMD64State))
#define LEAVES 6u

struct value {
	UInt n;
	IRExpr *leaf[LEAVES]; /* temporaries of 32 bits */
	IRExpr *cell;         /* of a register that was read whole: a part of it may be taken yet */
};

static struct {
	struct value *of; /* by temporary */
	UInt n;
} values;

void values_begin(const IRSB *in)
{
	values.n = (UInt)in->tyenv->types_used;
	values.of = VG_(calloc)("hf.values", values.n + 1, sizeof *values.of);
}

void values_end(void)
{
	VG_(free)(values.of);
}

/* ---- IR ---- */

IRExpr *ir_call(IRSB *sb, IRType ty, const HChar *name, void *fn, Int regparms, IRExpr **args,
		IRExpr *guard, IRExpr *no)
{
	IRTemp t = newIRTemp(sb->tyenv, ty);
	IRDirty *d = unsafeIRDirty_1_N(t, regparms, name, VG_(fnptr_to_fnentry)(fn), args);
	d->guard = guard;
	addStmtToIRSB(sb, IRStmt_Dirty(d));
	return ir_set(sb, ty, IRExpr_ITE(guard, IRExpr_RdTmp(t), no));
}

static VG_REGPARM(2) ULong on_union(ULong a, ULong b)
{
	return set_union((set_t)a, (set_t)b);
}

static IRExpr *widen(IRSB *sb, IRExpr *set)
{
	return set ? ir_set(sb, Ity_I64, IRExpr_Unop(Iop_32Uto64, set)) : ir_u64(0);
}

/* Only if both are not empty, somebody is asked: the sum is not one of them then. */
IRExpr *value_or(IRSB *sb, IRExpr *a, IRExpr *b)
{
	IRExpr *one, *both, *call;
	if (!a || !b)
		return a ? a : b;
	if (a->Iex.RdTmp.tmp == b->Iex.RdTmp.tmp)
		return a;
	one = ir_binop(sb, Ity_I1, Iop_CmpEQ32, b, ir_u32(0));
	one = ir_set(sb, Ity_I32, IRExpr_ITE(one, a, b));
	both = ir_binop(sb, Ity_I32, Iop_Add32, a, b);
	both = ir_binop(sb, Ity_I1, Iop_CmpNE32, both, one);
	call = ir_call(sb, Ity_I64, "on_union", on_union, 2,
		       mkIRExprVec_2(widen(sb, a), widen(sb, b)), both, widen(sb, one));
	return ir_set(sb, Ity_I32, IRExpr_Unop(Iop_64to32, call));
}

/* yes if guard is true, else no; both may be NULL */
IRExpr *value_chosen(IRSB *sb, IRExpr *guard, IRExpr *yes, IRExpr *no)
{
	if (!yes && !no)
		return NULL;
	return ir_set(sb, Ity_I32, IRExpr_ITE(guard, yes ? yes : ir_u32(0), no ? no : ir_u32(0)));
}

/* ---- temporaries ---- */

static struct value *value_at(const IRExpr *e)
{
	if (e->tag != Iex_RdTmp || e->Iex.RdTmp.tmp >= values.n)
		return NULL;
	return &values.of[e->Iex.RdTmp.tmp];
}

void value_define(IRTemp t, IRExpr *set)
{
	values.of[t].n = set ? 1 : 0;
	values.of[t].leaf[0] = set;
	values.of[t].cell = NULL;
}

IRExpr *value_set(IRSB *sb, const IRExpr *e)
{
	struct value *v = e ? value_at(e) : NULL;
	if (!v || !v->n)
		return NULL;
	while (v->n > 1) {
		v->leaf[0] = value_or(sb, v->leaf[0], v->leaf[v->n - 1]);
		v->n--;
	}
	return v->leaf[0];
}

static void add_leaf(IRSB *sb, struct value *to, IRExpr *leaf)
{
	for (UInt i = 0; i < to->n; i++)
		if (to->leaf[i]->Iex.RdTmp.tmp == leaf->Iex.RdTmp.tmp)
			return;
	if (to->n < LEAVES)
		to->leaf[to->n++] = leaf;
	else
		to->leaf[0] = value_or(sb, to->leaf[0], leaf);
}

/* to becomes the union of what it is and e */
static void add(IRSB *sb, struct value *to, const IRExpr *e)
{
	const struct value *v = e ? value_at(e) : NULL;
	for (UInt i = 0; v && i < v->n; i++)
		add_leaf(sb, to, v->leaf[i]);
}

/* The arguments that VEX says do not matter do not. */
static void add_call(IRSB *sb, struct value *to, const IRExpr *e)
{
	for (UInt i = 0; e->Iex.CCall.args[i]; i++)
		if (!(e->Iex.CCall.cee->mcx_mask >> i & 1))
			add(sb, to, e->Iex.CCall.args[i]);
}

static void add_ite(IRSB *sb, struct value *to, const IRExpr *e)
{
	IRExpr *chosen = value_chosen(sb, e->Iex.ITE.cond, value_set(sb, e->Iex.ITE.iftrue),
				      value_set(sb, e->Iex.ITE.iffalse));
	add(sb, to, e->Iex.ITE.cond);
	if (chosen)
		add_leaf(sb, to, chosen);
}

static IRExpr *get_part(IRSB *, IRExpr *cell, Int from, Int n);

/* VEX reads 8 and 16 bits of a register as a part of all 64. */
static void add_unop(IRSB *sb, struct value *to, const IRExpr *e)
{
	const struct value *v = value_at(e->Iex.Unop.arg);
	Int n = e->Iex.Unop.op == Iop_64to8 ? 1 : e->Iex.Unop.op == Iop_64to16 ? 2 : 0;
	if (v && v->cell && n)
		add_leaf(sb, to, get_part(sb, v->cell, 0, n));
	else
		add(sb, to, e->Iex.Unop.arg);
}

static void add_copy(struct value *to, const IRExpr *e)
{
	const struct value *v = value_at(e);
	if (v)
		*to = *v;
}

static void add_get(IRSB *sb, struct value *to, const IRExpr *e)
{
	Int offset = e->Iex.Get.offset;
	IRExpr *set;
	if (e->Iex.Get.ty == Ity_I64 && offset % 8 == 0 && value_kept(offset)) {
		to->cell = ir_set(sb, Ity_I64, IRExpr_Get(SHADOW + offset, Ity_I64));
		set = ir_set(sb, Ity_I32, IRExpr_Unop(Iop_64to32, to->cell));
	} else {
		set = value_get(sb, offset, sizeofIRType(e->Iex.Get.ty));
	}
	if (set)
		add_leaf(sb, to, set);
}

static IRExpr *geti(IRSB *sb, const IRExpr *e)
{
	const IRRegArray *d = e->Iex.GetI.descr;
	IRExpr *cell;
	if (sizeofIRType(d->elemTy) != 8)
		return NULL; /* tags of x87 registers */
	cell = ir_set(sb, Ity_I64,
		      IRExpr_GetI(mkIRRegArray(d->base + SHADOW, Ity_I64, d->nElems),
				  e->Iex.GetI.ix, e->Iex.GetI.bias));
	return ir_set(sb, Ity_I32, IRExpr_Unop(Iop_64to32, cell));
}

/* t = e, which is no load */
void value_assign(IRSB *sb, IRTemp t, const IRExpr *e)
{
	struct value v = { 0 };
	IRExpr *set = NULL;
	switch (e->tag) {
	case Iex_RdTmp: add_copy(&v, e); break;
	case Iex_Unop: add_unop(sb, &v, e); break;
	case Iex_Binop:
		add(sb, &v, e->Iex.Binop.arg1);
		add(sb, &v, e->Iex.Binop.arg2);
		break;
	case Iex_Triop:
		add(sb, &v, e->Iex.Triop.details->arg1);
		add(sb, &v, e->Iex.Triop.details->arg2);
		add(sb, &v, e->Iex.Triop.details->arg3);
		break;
	case Iex_Qop:
		add(sb, &v, e->Iex.Qop.details->arg1);
		add(sb, &v, e->Iex.Qop.details->arg2);
		add(sb, &v, e->Iex.Qop.details->arg3);
		add(sb, &v, e->Iex.Qop.details->arg4);
		break;
	case Iex_ITE: add_ite(sb, &v, e); break;
	case Iex_CCall: add_call(sb, &v, e); break;
	case Iex_Get: add_get(sb, &v, e); break;
	case Iex_GetI: set = geti(sb, e); break;
	default: break;
	}
	if (set)
		add_leaf(sb, &v, set);
	values.of[t] = v;
}

/* ---- the guest state ---- */

/* Not the stack pointer: it says nothing about what is on the stack. */
Bool value_kept(Int offset)
{
	if (offset < OFF(RAX) || (offset >= OFF(RSP) && offset < OFF(RSP) + 8) ||
	    (offset >= OFF(CC_OP) && offset < OFF(CC_DEP1)) ||
	    (offset >= OFF(RIP) && offset < OFF(RIP) + 8) ||
	    (offset >= OFF(FS_CONST) && offset < OFF(FS_CONST) + 8))
		return False;
	if (offset >= OFF(FTOP) && offset < OFF(FPREG))
		return False;
	if (offset >= OFF(FPTAG) && offset < OFF(FPROUND))
		return False;
	return offset < OFF(EMNOTE);
}

static VG_REGPARM(3) ULong on_get_part(ULong cell, ULong from, ULong n)
{
	return cell_get(cell, (UInt)from, (UInt)n);
}

static VG_REGPARM(3) ULong on_put_part(ULong cell, ULong where, ULong set)
{
	return cell_put(cell, (UInt)where & 7, (UInt)(where >> 8), (set_t)set);
}

static IRExpr *get_part(IRSB *sb, IRExpr *cell, Int from, Int n)
{
	IRExpr *split = ir_not_zero(sb, ir_set(sb, Ity_I32, IRExpr_Unop(Iop_64HIto32, cell)));
	IRExpr *set =
		ir_call(sb, Ity_I64, "on_get_part", on_get_part, 3,
			mkIRExprVec_3(cell, ir_u64((ULong)from), ir_u64((ULong)n)), split, cell);
	return ir_set(sb, Ity_I32, IRExpr_Unop(Iop_64to32, set));
}

static void put_part(IRSB *sb, Int at, Int from, Int n, IRExpr *set)
{
	IRExpr *cell = ir_set(sb, Ity_I64, IRExpr_Get(SHADOW + at, Ity_I64));
	IRExpr *wide = widen(sb, set);
	IRExpr *any = ir_binop(sb, Ity_I64, Iop_Or64, cell, wide);
	any = ir_binop(sb, Ity_I1, Iop_CmpNE64, any, ir_u64(0));
	cell = ir_call(sb, Ity_I64, "on_put_part", on_put_part, 3,
		       mkIRExprVec_3(cell, ir_u64((ULong)from | (ULong)n << 8), wide), any,
		       ir_u64(0));
	addStmtToIRSB(sb, IRStmt_Put(SHADOW + at, cell));
}

/* The part of offset … end-1 in the cell at offset & ~7. */
static Int part(Int offset, Int end)
{
	return end - offset < 8 - offset % 8 ? end - offset : 8 - offset % 8;
}

IRExpr *value_get(IRSB *sb, Int offset, Int size)
{
	IRExpr *set = NULL, *cell;
	for (Int end = offset + size, n; offset < end; offset += n) {
		n = part(offset, end);
		if (!value_kept(offset))
			continue;
		cell = ir_set(sb, Ity_I64, IRExpr_Get(SHADOW + (offset & ~7), Ity_I64));
		set = value_or(sb, set,
			       n == 8 ? ir_set(sb, Ity_I32, IRExpr_Unop(Iop_64to32, cell))
				      : get_part(sb, cell, offset % 8, n));
	}
	return set;
}

void value_put(IRSB *sb, Int offset, Int size, IRExpr *set)
{
	for (Int end = offset + size, n; offset < end; offset += n) {
		n = part(offset, end);
		if (!value_kept(offset))
			continue;
		if (n == 8)
			addStmtToIRSB(sb, IRStmt_Put(SHADOW + offset, widen(sb, set)));
		else
			put_part(sb, offset & ~7, offset % 8, n, set);
	}
}

void value_puti(IRSB *sb, const IRPutI *p)
{
	const IRRegArray *d = p->descr;
	IRPutI *to;
	if (sizeofIRType(d->elemTy) != 8)
		return;
	to = mkIRPutI(mkIRRegArray(d->base + SHADOW, Ity_I64, d->nElems), p->ix, p->bias,
		      widen(sb, value_set(sb, p->data)));
	addStmtToIRSB(sb, IRStmt_PutI(to));
}
