/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * VEX's vector operations as expressions: the integer operations of SSE2, and those of AVX that are
 * the same on twice the width.
 *
 * A vector is split into lanes, each lane is a term, and concrete lanes stay constants. What
 * string functions do (compare 16 bytes, make a mask of the bytes' top bits) becomes one
 * comparison a byte and a row of single bits.
 */
#include "term.h"

#define MAX_LANES 32

struct lanes {
	UInt n;
	struct term t[MAX_LANES];
};

static void split(struct lanes *l, const struct sym_value *a, UInt w)
{
	UInt i, in_word = (a->bits < 64 ? a->bits : 64) / w;
	l->n = a->bits / w;
	for (i = 0; i < l->n; i++)
		l->t[i] = t_extract(t_of(a, i / in_word), i % in_word * w, w);
}

/* Lanes first … last of one word. */
static struct term join_word(const struct lanes *l, UInt first, UInt last)
{
	struct term r = l->t[first];
	UInt i;
	for (i = first + 1; i <= last; i++)
		r = t_concat(l->t[i], r);
	return r;
}

static void join(struct sym_value *r, const struct lanes *l)
{
	UInt w = l->t[0].w, in_word = (r->bits < 64 ? r->bits : 64) / w, i;
	for (i = 0; i < l->n; i += in_word)
		t_to(r, i / in_word, join_word(l, i, i + in_word - 1));
}

static struct term extend(struct term a, UInt w, Bool is_signed)
{
	return is_signed ? t_sext(a, w) : t_zext(a, w);
}

/* ---- lane by lane ---- */

/* x, signed, as the nearest number of w bits. */
static struct term saturate(struct term x, UInt w, Bool to_signed)
{
	ULong max = to_signed ? expr_mask(w - 1) : expr_mask(w);
	ULong min = to_signed ? ~expr_mask(w - 1) : 0;
	struct term below = t_cmp(EXPR_SLT, x, t_const(x.w, min));
	struct term above = t_cmp(EXPR_SLT, t_const(x.w, max), x);
	return t_ite(below, t_const(w, min), t_ite(above, t_const(w, max), t_low(x, w)));
}

/* a + b or a - b, of at most 32 bits, as the nearest number. */
static struct term saturated(enum expr_op op, struct term a, struct term b, Bool is_signed)
{
	UInt w = 2 * a.w;
	return saturate(t_bin(op, extend(a, w, is_signed), extend(b, w, is_signed)), a.w,
			is_signed);
}

enum lane_op {
	L_ADD,
	L_SUB,
	L_MUL,
	L_MULH_U,
	L_MULH_S,
	L_EQ,
	L_GT_U,
	L_GT_S,
	L_MIN_U,
	L_MIN_S,
	L_MAX_U,
	L_MAX_S,
	L_QADD_U,
	L_QADD_S,
	L_QSUB_U,
	L_QSUB_S,
	L_AVG,
	L_AND,
	L_OR,
	L_XOR,
};

static struct term average(struct term a, struct term b)
{
	UInt w = 2 * a.w;
	struct term sum = t_bin(EXPR_ADD, t_zext(a, w), t_zext(b, w));
	return t_extract(t_bin(EXPR_ADD, sum, t_const(w, 1)), 1, a.w);
}

static struct term lane(UInt op, struct term a, struct term b)
{
	switch (op) {
	case L_ADD: return t_bin(EXPR_ADD, a, b);
	case L_SUB: return t_bin(EXPR_SUB, a, b);
	case L_MUL: return t_bin(EXPR_MUL, a, b);
	case L_MULH_U: return t_bin(EXPR_UMULH, a, b);
	case L_MULH_S: return t_bin(EXPR_SMULH, a, b);
	case L_EQ: return t_sext(t_cmp(EXPR_EQ, a, b), a.w);
	case L_GT_U: return t_sext(t_cmp(EXPR_ULT, b, a), a.w);
	case L_GT_S: return t_sext(t_cmp(EXPR_SLT, b, a), a.w);
	case L_MIN_U: return t_ite(t_cmp(EXPR_ULT, a, b), a, b);
	case L_MIN_S: return t_ite(t_cmp(EXPR_SLT, a, b), a, b);
	case L_MAX_U: return t_ite(t_cmp(EXPR_ULT, a, b), b, a);
	case L_MAX_S: return t_ite(t_cmp(EXPR_SLT, a, b), b, a);
	case L_QADD_U: return saturated(EXPR_ADD, a, b, False);
	case L_QADD_S: return saturated(EXPR_ADD, a, b, True);
	case L_QSUB_U: return t_ite(t_cmp(EXPR_ULT, a, b), t_const(a.w, 0), t_bin(EXPR_SUB, a, b));
	case L_QSUB_S: return saturated(EXPR_SUB, a, b, True);
	case L_AVG: return average(a, b);
	case L_AND: return t_bin(EXPR_AND, a, b);
	case L_OR: return t_bin(EXPR_OR, a, b);
	default: return t_bin(EXPR_XOR, a, b);
	}
}

/* A family: the same with lanes of w bits, 2w bits, … */
struct family {
	IROp first, last;
	UInt w, what;
};

static const struct family by_lanes[] = {
	{ Iop_Add8x8, Iop_Add32x2, 8, L_ADD },
	{ Iop_Add8x16, Iop_Add64x2, 8, L_ADD },
	{ Iop_Add8x32, Iop_Add64x4, 8, L_ADD },
	{ Iop_Sub8x8, Iop_Sub32x2, 8, L_SUB },
	{ Iop_Sub8x16, Iop_Sub64x2, 8, L_SUB },
	{ Iop_Sub8x32, Iop_Sub64x4, 8, L_SUB },
	{ Iop_Mul8x8, Iop_Mul32x2, 8, L_MUL },
	{ Iop_Mul8x16, Iop_Mul32x4, 8, L_MUL },
	{ Iop_Mul16x16, Iop_Mul32x8, 16, L_MUL },
	{ Iop_MulHi16Ux4, Iop_MulHi16Ux4, 16, L_MULH_U },
	{ Iop_MulHi16Sx4, Iop_MulHi16Sx4, 16, L_MULH_S },
	{ Iop_MulHi8Ux16, Iop_MulHi32Ux4, 8, L_MULH_U },
	{ Iop_MulHi8Sx16, Iop_MulHi32Sx4, 8, L_MULH_S },
	{ Iop_MulHi16Ux16, Iop_MulHi16Ux16, 16, L_MULH_U },
	{ Iop_MulHi16Sx16, Iop_MulHi16Sx16, 16, L_MULH_S },
	{ Iop_CmpEQ8x8, Iop_CmpEQ32x2, 8, L_EQ },
	{ Iop_CmpEQ8x16, Iop_CmpEQ64x2, 8, L_EQ },
	{ Iop_CmpEQ8x32, Iop_CmpEQ64x4, 8, L_EQ },
	{ Iop_CmpGT8Ux8, Iop_CmpGT32Ux2, 8, L_GT_U },
	{ Iop_CmpGT8Ux16, Iop_CmpGT64Ux2, 8, L_GT_U },
	{ Iop_CmpGT8Sx8, Iop_CmpGT32Sx2, 8, L_GT_S },
	{ Iop_CmpGT8Sx16, Iop_CmpGT64Sx2, 8, L_GT_S },
	{ Iop_CmpGT8Sx32, Iop_CmpGT64Sx4, 8, L_GT_S },
	{ Iop_Min8Ux8, Iop_Min32Ux2, 8, L_MIN_U },
	{ Iop_Min8Ux16, Iop_Min64Ux2, 8, L_MIN_U },
	{ Iop_Min8Ux32, Iop_Min32Ux8, 8, L_MIN_U },
	{ Iop_Min8Sx8, Iop_Min32Sx2, 8, L_MIN_S },
	{ Iop_Min8Sx16, Iop_Min64Sx2, 8, L_MIN_S },
	{ Iop_Min8Sx32, Iop_Min32Sx8, 8, L_MIN_S },
	{ Iop_Max8Ux8, Iop_Max32Ux2, 8, L_MAX_U },
	{ Iop_Max8Ux16, Iop_Max64Ux2, 8, L_MAX_U },
	{ Iop_Max8Ux32, Iop_Max32Ux8, 8, L_MAX_U },
	{ Iop_Max8Sx8, Iop_Max32Sx2, 8, L_MAX_S },
	{ Iop_Max8Sx16, Iop_Max64Sx2, 8, L_MAX_S },
	{ Iop_Max8Sx32, Iop_Max32Sx8, 8, L_MAX_S },
	{ Iop_QAdd8Ux8, Iop_QAdd32Ux2, 8, L_QADD_U },
	{ Iop_QAdd8Ux16, Iop_QAdd32Ux4, 8, L_QADD_U },
	{ Iop_QAdd8Ux32, Iop_QAdd16Ux16, 8, L_QADD_U },
	{ Iop_QAdd8Sx8, Iop_QAdd32Sx2, 8, L_QADD_S },
	{ Iop_QAdd8Sx16, Iop_QAdd32Sx4, 8, L_QADD_S },
	{ Iop_QAdd8Sx32, Iop_QAdd16Sx16, 8, L_QADD_S },
	{ Iop_QSub8Ux8, Iop_QSub64Ux1, 8, L_QSUB_U },
	{ Iop_QSub8Ux16, Iop_QSub64Ux2, 8, L_QSUB_U },
	{ Iop_QSub8Ux32, Iop_QSub16Ux16, 8, L_QSUB_U },
	{ Iop_QSub8Sx8, Iop_QSub32Sx2, 8, L_QSUB_S },
	{ Iop_QSub8Sx16, Iop_QSub32Sx4, 8, L_QSUB_S },
	{ Iop_QSub8Sx32, Iop_QSub16Sx16, 8, L_QSUB_S },
	{ Iop_Avg8Ux8, Iop_Avg16Ux4, 8, L_AVG },
	{ Iop_Avg8Ux16, Iop_Avg32Ux4, 8, L_AVG },
	{ Iop_Avg8Ux32, Iop_Avg16Ux16, 8, L_AVG },
	{ Iop_AndV128, Iop_AndV128, 64, L_AND },
	{ Iop_AndV256, Iop_AndV256, 64, L_AND },
	{ Iop_OrV128, Iop_OrV128, 64, L_OR },
	{ Iop_OrV256, Iop_OrV256, 64, L_OR },
	{ Iop_XorV128, Iop_XorV128, 64, L_XOR },
	{ Iop_XorV256, Iop_XorV256, 64, L_XOR },
};

static const struct family by_amount[] = {
	{ Iop_ShlN8x8, Iop_ShlN32x2, 8, EXPR_SHL },
	{ Iop_ShlN8x16, Iop_ShlN64x2, 8, EXPR_SHL },
	{ Iop_ShlN16x16, Iop_ShlN64x4, 16, EXPR_SHL },
	{ Iop_ShrN8x8, Iop_ShrN32x2, 8, EXPR_LSHR },
	{ Iop_ShrN8x16, Iop_ShrN64x2, 8, EXPR_LSHR },
	{ Iop_ShrN16x16, Iop_ShrN64x4, 16, EXPR_LSHR },
	{ Iop_SarN8x8, Iop_SarN32x2, 8, EXPR_ASHR },
	{ Iop_SarN8x16, Iop_SarN64x2, 8, EXPR_ASHR },
	{ Iop_SarN16x16, Iop_SarN32x8, 16, EXPR_ASHR },
};

static const struct family interleaved[] = {
	{ Iop_InterleaveLO8x8, Iop_InterleaveLO32x2, 8, 0 },
	{ Iop_InterleaveLO8x16, Iop_InterleaveLO64x2, 8, 0 },
	{ Iop_InterleaveHI8x8, Iop_InterleaveHI32x2, 8, 1 },
	{ Iop_InterleaveHI8x16, Iop_InterleaveHI64x2, 8, 1 },
};

/* To half the width; what: 1: saturating, to signed; 2: … to unsigned; 0: just the low half. */
static const struct family narrowed[] = {
	{ Iop_QNarrowBin16Sto8Ux8, Iop_QNarrowBin16Sto8Ux8, 16, 2 },
	{ Iop_QNarrowBin16Sto8Sx8, Iop_QNarrowBin32Sto16Sx4, 16, 1 },
	{ Iop_NarrowBin16to8x8, Iop_NarrowBin32to16x4, 16, 0 },
	{ Iop_QNarrowBin16Sto8Ux16, Iop_QNarrowBin32Sto16Ux8, 16, 2 },
	{ Iop_QNarrowBin16Sto8Sx16, Iop_QNarrowBin32Sto16Sx8, 16, 1 },
	{ Iop_NarrowBin16to8x16, Iop_NarrowBin32to16x8, 16, 0 },
};

static const struct family *find(const struct family *f, UInt n, IROp op, UInt *w)
{
	UInt i;
	for (i = 0; i < n; i++) {
		if (op >= f[i].first && op <= f[i].last) {
			*w = f[i].w << (op - f[i].first);
			return &f[i];
		}
	}
	return NULL;
}
#define FIND(table, op, w) find(table, sizeof table / sizeof *table, op, w)

/* ---- lanes that change places ---- */

/* Lanes of the low or high halves in turn, the left operand's above the right one's. */
static void interleave(struct lanes *r, const struct lanes *a, const struct lanes *b, UInt upper)
{
	UInt i, from = upper ? a->n / 2 : 0;
	r->n = a->n;
	for (i = 0; i < a->n / 2; i++) {
		r->t[2 * i] = b->t[from + i];
		r->t[2 * i + 1] = a->t[from + i];
	}
}

static void narrow(struct lanes *r, const struct lanes *a, const struct lanes *b, UInt how)
{
	UInt i, w = a->t[0].w / 2;
	r->n = 2 * a->n;
	for (i = 0; i < r->n; i++) {
		struct term x = i < a->n ? b->t[i] : a->t[i - a->n];
		r->t[i] = how ? saturate(x, w, how == 1) : t_low(x, w);
	}
}

/* Bytes chosen by a control vector, which must be concrete. */
static Bool permute(IROp op, struct sym_value *r, const struct sym_value *a,
		    const struct sym_value *b)
{
	Bool or_zero = op == Iop_PermOrZero8x16 || op == Iop_PermOrZero8x8;
	struct lanes x, y, z;
	UInt i, w = op == Iop_Perm32x4 ? 32 : 8;
	if (!or_zero && op != Iop_Perm8x16 && op != Iop_Perm8x8 && op != Iop_Perm32x4)
		return False;
	split(&x, a, w);
	split(&y, b, w);
	z.n = x.n;
	for (i = 0; i < x.n; i++) {
		if (y.t[i].node)
			return False;
		z.t[i] = or_zero && y.t[i].v & 0x80 ? t_const(w, 0) : x.t[y.t[i].v & (x.n - 1)];
	}
	join(r, &z);
	return True;
}

/* The whole vector, by a multiple of 8 bits. */
static Bool shift_bytes(IROp op, struct sym_value *r, const struct sym_value *a, struct term amount)
{
	struct lanes x, z;
	UInt i, k = (UInt)amount.v / 8;
	if ((op != Iop_ShlV128 && op != Iop_ShrV128) || amount.node || amount.v % 8)
		return False;
	split(&x, a, 8);
	z.n = x.n;
	for (i = 0; i < x.n; i++) {
		UInt from = op == Iop_ShlV128 ? i - k : i + k; /* below 0: out of range, too */
		z.t[i] = from < x.n ? x.t[from] : t_const(8, 0);
	}
	join(r, &z);
	return True;
}

/* Parts put into vectors. */
static Bool set_part(IROp op, struct sym_value *r, const struct sym_value *a,
		     const struct sym_value *b)
{
	UInt i;
	switch (op) {
	case Iop_SetV128lo64:
		t_to(r, 0, t_of(b, 0));
		t_to(r, 1, t_of(a, 1));
		return True;
	case Iop_SetV128lo32:
		t_to(r, 0, t_concat(t_extract(t_of(a, 0), 32, 32), t_of(b, 0)));
		t_to(r, 1, t_of(a, 1));
		return True;
	case Iop_V128HLtoV256:
		for (i = 0; i < 2; i++) {
			t_to(r, i, t_of(b, i));
			t_to(r, 2 + i, t_of(a, i));
		}
		return True;
	default: return False;
	}
}

Bool sym_vec_binop(IROp op, struct sym_value *r, const struct sym_value *a,
		   const struct sym_value *b)
{
	struct lanes x, y, z;
	const struct family *f;
	UInt w, i;
	if ((f = FIND(by_amount, op, &w))) {
		struct term k = t_of(b, 0);
		split(&z, a, w);
		for (i = 0; i < z.n; i++)
			z.t[i] = t_bin(f->what, z.t[i], t_zext(k, w));
		join(r, &z);
		return True;
	}
	if (set_part(op, r, a, b) || permute(op, r, a, b) || shift_bytes(op, r, a, t_of(b, 0)))
		return True;
	if (!(f = FIND(by_lanes, op, &w)) && !(f = FIND(interleaved, op, &w)) &&
	    !(f = FIND(narrowed, op, &w)))
		return False;
	split(&x, a, w);
	split(&y, b, w);
	if (FIND(interleaved, op, &w)) {
		interleave(&z, &x, &y, f->what);
	} else if (FIND(narrowed, op, &w)) {
		narrow(&z, &x, &y, f->what);
	} else {
		z.n = x.n;
		for (i = 0; i < x.n; i++)
			z.t[i] = lane(f->what, x.t[i], y.t[i]);
	}
	join(r, &z);
	return True;
}

/* ---- one operand ---- */

enum lane_unop { L_NOT, L_NONZERO, L_ABS };

static const struct family alone[] = {
	{ Iop_NotV128, Iop_NotV128, 64, L_NOT },
	{ Iop_NotV256, Iop_NotV256, 64, L_NOT },
	{ Iop_CmpNEZ8x8, Iop_CmpNEZ32x2, 8, L_NONZERO },
	{ Iop_CmpNEZ8x16, Iop_CmpNEZ64x2, 8, L_NONZERO },
	{ Iop_CmpNEZ8x32, Iop_CmpNEZ64x4, 8, L_NONZERO },
	{ Iop_Abs8x8, Iop_Abs32x2, 8, L_ABS },
	{ Iop_Abs8x16, Iop_Abs64x2, 8, L_ABS },
};

static struct term lane1(UInt op, struct term a)
{
	switch (op) {
	case L_NOT: return t_not(a);
	case L_NONZERO: return t_sext(t_not(t_is_zero(a)), a.w);
	default: return t_ite(t_sign(a), t_neg(a), a);
	}
}

/* Words of the result: those of the operand from `from` on, the first cut to w bits. */
static void keep_words(struct sym_value *r, const struct sym_value *a, UInt from, UInt n, UInt w)
{
	UInt i;
	for (i = 0; i < n; i++) {
		struct term t = t_of(a, from + i);
		t_to(r, i, w < t.w ? t_zext(t_low(t, w), t.w) : t);
	}
}

static Bool take_part(IROp op, struct sym_value *r, const struct sym_value *a)
{
	switch (op) {
	case Iop_32UtoV128: t_to(r, 0, t_zext(t_of(a, 0), 64)); return True;
	case Iop_64UtoV128:
	case Iop_ZeroHI64ofV128: keep_words(r, a, 0, 1, 64); return True;
	case Iop_ZeroHI96ofV128: keep_words(r, a, 0, 1, 32); return True;
	case Iop_ZeroHI112ofV128: keep_words(r, a, 0, 1, 16); return True;
	case Iop_ZeroHI120ofV128: keep_words(r, a, 0, 1, 8); return True;
	case Iop_V256to64_0:
	case Iop_V256to64_1:
	case Iop_V256to64_2:
	case Iop_V256to64_3: keep_words(r, a, op - Iop_V256to64_0, 1, 64); return True;
	case Iop_V256toV128_0: keep_words(r, a, 0, 2, 64); return True;
	case Iop_V256toV128_1: keep_words(r, a, 2, 2, 64); return True;
	default: return False;
	}
}

Bool sym_vec_unop(IROp op, struct sym_value *r, const struct sym_value *a)
{
	struct lanes x;
	const struct family *f;
	UInt w, i;
	if (take_part(op, r, a))
		return True;
	if (op == Iop_GetMSBs8x16 || op == Iop_GetMSBs8x8) {
		split(&x, a, 8);
		for (i = 0; i < x.n; i++)
			x.t[i] = t_sign(x.t[i]);
		join(r, &x);
		return True;
	}
	if (!(f = FIND(alone, op, &w)))
		return False;
	split(&x, a, w);
	for (i = 0; i < x.n; i++)
		x.t[i] = lane1(f->what, x.t[i]);
	join(r, &x);
	return True;
}

/* ---- helpers that VEX calls for 64 bits at a time ---- */

/* Products of 16 bits each, added in pairs. */
static struct term multiply_add(const struct lanes *x, const struct lanes *y, UInt i)
{
	struct term a = t_bin(EXPR_MUL, t_sext(x->t[i], 32), t_sext(y->t[i], 32));
	struct term b = t_bin(EXPR_MUL, t_sext(x->t[i + 1], 32), t_sext(y->t[i + 1], 32));
	return t_bin(EXPR_ADD, a, b);
}

static struct term difference(struct term a, struct term b)
{
	return t_ite(t_cmp(EXPR_ULT, a, b), t_bin(EXPR_SUB, b, a), t_bin(EXPR_SUB, a, b));
}

Bool sym_vec_ccall(const HChar *name, struct sym_value *r, const struct sym_value *args)
{
	struct lanes x, y, z;
	struct term sum = t_const(64, 0);
	UInt i;
	if (VG_(strcmp)(name, "amd64g_calculate_mmx_pmaddwd") == 0) {
		split(&x, &args[0], 16);
		split(&y, &args[1], 16);
		z.n = 2;
		for (i = 0; i < 2; i++)
			z.t[i] = multiply_add(&x, &y, 2 * i);
		join(r, &z);
		return True;
	}
	if (VG_(strcmp)(name, "amd64g_calculate_mmx_psadbw") == 0) {
		split(&x, &args[0], 8);
		split(&y, &args[1], 8);
		for (i = 0; i < x.n; i++)
			sum = t_bin(EXPR_ADD, sum, t_zext(difference(x.t[i], y.t[i]), 64));
		t_to(r, 0, sum);
		return True;
	}
	return False;
}
