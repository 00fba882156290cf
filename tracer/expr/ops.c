/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * VEX's integer operations as expressions, for all widths that amd64 code has.
 *
 * VEX lists an operation's widths one after the other (Iop_Add8, Iop_Add16, …), so that one row
 * of a table is a family. Vector operations are in vec.c.
 */
#include "term.h"

struct family {
	IROp first, last;
	UInt what;
};

static const struct family *find(const struct family *f, UInt n, IROp op)
{
	UInt i;
	for (i = 0; i < n; i++)
		if (op >= f[i].first && op <= f[i].last)
			return &f[i];
	return NULL;
}
#define FIND(table, op) find(table, sizeof table / sizeof *table, op)

/* ---- two operands ---- */

static const struct family arithmetic[] = {
	{ Iop_Add8, Iop_Add64, EXPR_ADD }, { Iop_Sub8, Iop_Sub64, EXPR_SUB },
	{ Iop_Mul8, Iop_Mul64, EXPR_MUL }, { Iop_Or8, Iop_Or64, EXPR_OR },
	{ Iop_And8, Iop_And64, EXPR_AND }, { Iop_Xor8, Iop_Xor64, EXPR_XOR },
	{ Iop_And1, Iop_And1, EXPR_AND },  { Iop_Or1, Iop_Or1, EXPR_OR },
};

static const struct family shifts[] = {
	{ Iop_Shl8, Iop_Shl64, EXPR_SHL },
	{ Iop_Shr8, Iop_Shr64, EXPR_LSHR },
	{ Iop_Sar8, Iop_Sar64, EXPR_ASHR },
};

#define NEGATED 0x100u
static const struct family comparisons[] = {
	{ Iop_CmpEQ8, Iop_CmpEQ64, EXPR_EQ },
	{ Iop_CmpNE8, Iop_CmpNE64, EXPR_EQ | NEGATED },
	{ Iop_CasCmpEQ8, Iop_CasCmpEQ64, EXPR_EQ },
	{ Iop_CasCmpNE8, Iop_CasCmpNE64, EXPR_EQ | NEGATED },
	{ Iop_ExpCmpNE8, Iop_ExpCmpNE64, EXPR_EQ | NEGATED },
	{ Iop_CmpLT32S, Iop_CmpLT64S, EXPR_SLT },
	{ Iop_CmpLE32S, Iop_CmpLE64S, EXPR_SLE },
	{ Iop_CmpLT32U, Iop_CmpLT64U, EXPR_ULT },
	{ Iop_CmpLE32U, Iop_CmpLE64U, EXPR_ULE },
};

/* The amount has 8 bits. VEX looks only at those that matter, as the machine does. */
static struct term shifted(enum expr_op op, struct term a, struct term amount)
{
	struct term k = t_bin(EXPR_AND, amount, t_const(8, a.w == 32 ? 31 : 63));
	return t_bin(op, a, a.w >= 8 ? t_zext(k, a.w) : t_low(k, a.w));
}

static Bool multiply(IROp op, struct sym_value *r, struct term a, struct term b)
{
	Bool is_signed = op >= Iop_MullS8 && op <= Iop_MullS64;
	if (!is_signed && !(op >= Iop_MullU8 && op <= Iop_MullU64))
		return False;
	if (a.w == 64) {
		t_to(r, 0, t_bin(EXPR_MUL, a, b));
		t_to(r, 1, t_bin(is_signed ? EXPR_SMULH : EXPR_UMULH, a, b));
		return True;
	}
	if (is_signed)
		t_to(r, 0, t_bin(EXPR_MUL, t_sext(a, 2 * a.w), t_sext(b, 2 * a.w)));
	else
		t_to(r, 0, t_bin(EXPR_MUL, t_zext(a, 2 * a.w), t_zext(b, 2 * a.w)));
	return True;
}

/*
 * Is hi:lo just lo, made twice as wide? Nearly always it is (xor %edx,%edx; cdq), and a division
 * of half the width is much easier to solve.
 */
static Bool widened(struct term hi, struct term lo, Bool is_signed)
{
	struct term want = is_signed ? t_sext(t_sign(lo), lo.w) : t_const(lo.w, 0);
	if (hi.node || want.node)
		return hi.node == want.node;
	return hi.v == want.v;
}

/* hi:lo / d, quotient below and remainder above, all of w bits. */
static void divide(Bool is_signed, struct term hi, struct term lo, struct term d, struct term *quot,
		   struct term *rem)
{
	UInt w = d.w;
	if (widened(hi, lo, is_signed)) {
		*quot = t_bin(is_signed ? EXPR_SDIV : EXPR_UDIV, lo, d);
		*rem = t_bin(is_signed ? EXPR_SREM : EXPR_UREM, lo, d);
	} else if (w == 64) {
		*quot = t_div128(is_signed ? EXPR_SDIV128 : EXPR_UDIV128, hi, lo, d);
		*rem = t_div128(is_signed ? EXPR_SREM128 : EXPR_UREM128, hi, lo, d);
	} else {
		struct term a = t_concat(hi, lo);
		d = is_signed ? t_sext(d, 2 * w) : t_zext(d, 2 * w);
		*quot = t_low(t_bin(is_signed ? EXPR_SDIV : EXPR_UDIV, a, d), w);
		*rem = t_low(t_bin(is_signed ? EXPR_SREM : EXPR_UREM, a, d), w);
	}
}

static Bool division(IROp op, struct sym_value *r, const struct sym_value *a,
		     const struct sym_value *b)
{
	struct term x = t_of(a, 0), d = t_of(b, 0), quot, rem, hi;
	Bool is_signed = op == Iop_DivS32 || op == Iop_DivS64 || op == Iop_DivModS64to32 ||
			 op == Iop_DivModS128to64;
	switch (op) {
	case Iop_DivS32:
	case Iop_DivS64:
	case Iop_DivU32:
	case Iop_DivU64: t_to(r, 0, t_bin(is_signed ? EXPR_SDIV : EXPR_UDIV, x, d)); return True;
	case Iop_DivModS64to32:
	case Iop_DivModU64to32:
		divide(is_signed, t_extract(x, 32, 32), t_low(x, 32), d, &quot, &rem);
		t_to(r, 0, t_concat(rem, quot));
		return True;
	case Iop_DivModS128to64:
	case Iop_DivModU128to64:
		hi = t_of(a, 1);
		divide(is_signed, hi, x, d, &quot, &rem);
		t_to(r, 0, quot);
		t_to(r, 1, rem);
		return True;
	default: return False;
	}
}

static Bool halves(IROp op, struct sym_value *r, struct term hi, struct term lo)
{
	switch (op) {
	case Iop_8HLto16:
	case Iop_16HLto32:
	case Iop_32HLto64: t_to(r, 0, t_concat(hi, lo)); return True;
	case Iop_64HLto128:
	case Iop_64HLtoV128:
		t_to(r, 0, lo);
		t_to(r, 1, hi);
		return True;
	case Iop_Max32U: t_to(r, 0, t_ite(t_cmp(EXPR_ULT, hi, lo), lo, hi)); return True;
	default: return False;
	}
}

Bool sym_binop(IROp op, struct sym_value *r, const struct sym_value *a, const struct sym_value *b)
{
	struct term x = t_of(a, 0), y = t_of(b, 0), t;
	const struct family *f;
	if ((f = FIND(arithmetic, op))) {
		t_to(r, 0, t_bin(f->what, x, y));
		return True;
	}
	if ((f = FIND(shifts, op))) {
		t_to(r, 0, shifted(f->what, x, y));
		return True;
	}
	if ((f = FIND(comparisons, op))) {
		t = t_cmp(f->what & ~NEGATED, x, y);
		t_to(r, 0, f->what & NEGATED ? t_not(t) : t);
		return True;
	}
	return multiply(op, r, x, y) || division(op, r, a, b) || halves(op, r, x, y) ||
	       sym_vec_binop(op, r, a, b);
}

/* ---- one operand ---- */

enum conversion {
	U_ZEXT,
	U_SEXT,
	U_LOW,
	U_HIGH,
	U_NOT,
	U_NONZERO,  /* 1 bit */
	U_NONZEROS, /* all bits the same */
	U_LEFT,     /* x | -x */
	U_CTZ,
	U_CLZ,
	U_POPCNT,
	U_SWAP,   /* bytes */
	U_SAME,   /* only another type */
	U_NEGATE, /* a floating point number's sign */
	U_ABSOLUTE,
};

static const struct family conversions[] = {
	{ Iop_8Uto16, Iop_32Uto64, U_ZEXT },
	{ Iop_1Uto8, Iop_1Uto64, U_ZEXT },
	{ Iop_8Sto16, Iop_32Sto64, U_SEXT },
	{ Iop_1Sto8, Iop_1Sto64, U_SEXT },
	{ Iop_64to8, Iop_64to16, U_LOW },
	{ Iop_16to8, Iop_16to8, U_LOW },
	{ Iop_32to16, Iop_32to16, U_LOW },
	{ Iop_64to32, Iop_64to32, U_LOW },
	{ Iop_32to1, Iop_64to1, U_LOW },
	{ Iop_128to64, Iop_128to64, U_LOW },
	{ Iop_V128to64, Iop_V128to64, U_LOW },
	{ Iop_V128to32, Iop_V128to32, U_LOW },
	{ Iop_16HIto8, Iop_16HIto8, U_HIGH },
	{ Iop_32HIto16, Iop_32HIto16, U_HIGH },
	{ Iop_64HIto32, Iop_64HIto32, U_HIGH },
	{ Iop_128HIto64, Iop_128HIto64, U_HIGH },
	{ Iop_V128HIto64, Iop_V128HIto64, U_HIGH },
	{ Iop_Not8, Iop_Not64, U_NOT },
	{ Iop_Not1, Iop_Not1, U_NOT },
	{ Iop_CmpNEZ8, Iop_CmpNEZ64, U_NONZERO },
	{ Iop_CmpwNEZ32, Iop_CmpwNEZ64, U_NONZEROS },
	{ Iop_Left8, Iop_Left64, U_LEFT },
#if CORE_VALGRIND < 326 /* newer ones have the others only */
	{ Iop_Ctz64, Iop_Ctz32, U_CTZ },
	{ Iop_Clz64, Iop_Clz32, U_CLZ },
#endif
	{ Iop_CtzNat64, Iop_CtzNat32, U_CTZ },
	{ Iop_ClzNat64, Iop_ClzNat32, U_CLZ },
	{ Iop_PopCount64, Iop_PopCount32, U_POPCNT },
	{ Iop_Reverse8sIn32_x1, Iop_Reverse8sIn32_x1, U_SWAP },
	{ Iop_Reverse8sIn64_x1, Iop_Reverse8sIn64_x1, U_SWAP },
	{ Iop_ReinterpV128asI128, Iop_ReinterpI32asF32, U_SAME },
	{ Iop_NegF64, Iop_NegF64, U_NEGATE },
	{ Iop_NegF32, Iop_NegF32, U_NEGATE },
	{ Iop_AbsF64, Iop_AbsF64, U_ABSOLUTE },
	{ Iop_AbsF32, Iop_AbsF32, U_ABSOLUTE },
};

static struct term byte_swap(struct term a)
{
	struct term r = t_extract(a, a.w - 8, 8);
	UInt i;
	for (i = a.w - 8; i; i -= 8)
		r = t_concat(t_extract(a, i - 8, 8), r);
	return r;
}

static struct term high(const struct sym_value *a, UInt w)
{
	return a->bits > 64 ? t_of(a, 1) : t_extract(t_of(a, 0), w, w);
}

static struct term convert(UInt what, UInt w, const struct sym_value *a)
{
	struct term x = t_of(a, 0);
	switch (what) {
	case U_ZEXT: return t_zext(x, w);
	case U_SEXT: return t_sext(x, w);
	case U_LOW: return t_low(x, w);
	case U_HIGH: return high(a, w);
	case U_NOT: return t_not(x);
	case U_NONZERO: return t_not(t_is_zero(x));
	case U_NONZEROS: return t_sext(t_not(t_is_zero(x)), w);
	case U_LEFT: return t_bin(EXPR_OR, x, t_neg(x));
	case U_CTZ: return t_count(EXPR_CTZ, x);
	case U_CLZ: return t_count(EXPR_CLZ, x);
	case U_POPCNT: return t_count(EXPR_POPCNT, x);
	case U_SWAP: return byte_swap(x);
	case U_NEGATE: return t_bin(EXPR_XOR, x, t_const(w, 1ULL << (w - 1)));
	case U_ABSOLUTE: return t_bin(EXPR_AND, x, t_const(w, expr_mask(w - 1)));
	default: return x;
	}
}

Bool sym_unop(IROp op, struct sym_value *r, const struct sym_value *a)
{
	const struct family *f = FIND(conversions, op);
	struct term t;
	if (!f)
		return sym_vec_unop(op, r, a);
	t = convert(f->what, r->bits < 64 ? r->bits : 64, a);
#if CORE_VALGRIND < 326
	/* The result for 0 is undefined: it is what the machine computed. */
	if (op >= Iop_Clz64 && op <= Iop_Ctz32 && !a->v[0])
		t = t_ite(t_is_zero(t_of(a, 0)), t_const(t.w, r->v[0]), t);
#endif
	t_to(r, 0, t);
	if (f->what == U_SAME)
		t_to(r, 1, t_of(a, 1));
	return True;
}

/* ---- more operands ---- */

Bool sym_triop(IROp op, struct sym_value *r, const struct sym_value a[3])
{
	return False; /* amd64 code has only floating point ones */
}

Bool sym_qop(IROp op, struct sym_value *r, const struct sym_value a[4])
{
	UInt i;
	if (op != Iop_64x4toV256)
		return False;
	for (i = 0; i < 4; i++)
		t_to(r, i, t_of(&a[3 - i], 0));
	return True;
}
