/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86 flags as expressions.
 *
 * VEX keeps no flags: it keeps what the last instruction that set them was (cc_op) with its
 * operands or result (dep1, dep2) and, where old flags are kept, those or the carry (ndep). What
 * needs a flag calls a helper with these four. cc_op counts families of four widths each:
 *
 *   cc_op = 0: COPY, dep1 has the flags themselves
 *           1 + 4 * family + width (0: 8 bits … 3: 64 bits)    families ADD … SMUL, see below
 *          53 + 2 * family + width (0: 32 bits, 1: 64 bits)    families ANDN, BLSI, BLSMSK, BLSR,
 *                                                              ADCX, ADOX
 *
 *   family       dep1       dep2                           ndep
 *   ADD SUB      left       right
 *   ADC SBB      left       right ^ old carry              old carry
 *   LOGIC        result
 *   INC DEC      result                                    old carry
 *   SHL SHR      result     result shifted by one less
 *   ROL ROR      result                                    old flags
 *   UMUL SMUL    left       right
 *   ANDN         result
 *   BLSI …      result     operand
 *   ADCX ADOX    left       right ^ old carry (overflow)   old flags
 */
#include "term.h"

enum {
	OP_ADD,
	OP_SUB,
	OP_ADC,
	OP_SBB,
	OP_LOGIC,
	OP_INC,
	OP_DEC,
	OP_SHL,
	OP_SHR,
	OP_ROL,
	OP_ROR,
	OP_UMUL,
	OP_SMUL,
	OP_ANDN,
	OP_BLSI,
	OP_BLSMSK,
	OP_BLSR,
	OP_ADCX,
	OP_ADOX,
	OP_COPY,
};

/* Bits of the flags register. */
enum { C = 0, P = 2, A = 4, Z = 6, S = 7, O = 11 };

struct thunk {
	UInt op;
	struct term dep1, dep2; /* of the width */
	struct term ndep;       /* 64 bits */
	struct term right;      /* the real right operand */
	struct term carry;      /* 1 bit: the old carry, of ADC and SBB; of ADCX and ADOX */
	struct term result;
};

static struct term one_bit(UInt v)
{
	return t_const(1, v);
}

static struct term add_carry(struct term a, struct term b, struct term carry)
{
	return t_bin(EXPR_ADD, t_bin(EXPR_ADD, a, b), t_zext(carry, a.w));
}

static struct term result_of(const struct thunk *t)
{
	struct term a = t->dep1, b = t->right, k = t_zext(t->carry, a.w);
	switch (t->op) {
	case OP_ADD: return t_bin(EXPR_ADD, a, b);
	case OP_SUB: return t_bin(EXPR_SUB, a, b);
	case OP_ADC:
	case OP_ADCX:
	case OP_ADOX: return add_carry(a, b, t->carry);
	case OP_SBB: return t_bin(EXPR_SUB, t_bin(EXPR_SUB, a, b), k);
	case OP_UMUL:
	case OP_SMUL: return t_bin(EXPR_MUL, a, b);
	default: return a;
	}
}

/* False: an operation that is not known here. */
static Bool open_thunk(struct thunk *t, ULong op, const struct sym_value *deps)
{
	UInt w = 64;
	if (op > 64)
		return False;
	if (op == 0)
		t->op = OP_COPY;
	else if (op < 53) {
		t->op = OP_ADD + (UInt)(op - 1) / 4;
		w = 8u << (op - 1) % 4;
	} else {
		t->op = OP_ANDN + (UInt)(op - 53) / 2;
		w = 32u << (op - 53) % 2;
	}
	t->dep1 = t_low(t_of(&deps[0], 0), w);
	t->dep2 = t_low(t_of(&deps[1], 0), w);
	t->ndep = t_of(&deps[2], 0);
	t->carry = one_bit(0);
	if (t->op == OP_ADC || t->op == OP_SBB || t->op == OP_ADCX)
		t->carry = t_bit(t->ndep, C);
	else if (t->op == OP_ADOX)
		t->carry = t_bit(t->ndep, O);
	t->right = t_bin(EXPR_XOR, t->dep2, t_zext(t->carry, w));
	t->result = result_of(t);
	return True;
}

/* Upper half of the product, and whether it says more than the lower one. */
static struct term product_spills(const struct thunk *t)
{
	struct term a = t->dep1, b = t->right;
	if (t->op == OP_UMUL)
		return t_not(t_is_zero(t_bin(EXPR_UMULH, a, b)));
	return t_not(t_cmp(EXPR_EQ, t_bin(EXPR_SMULH, a, b), t_sext(t_sign(t->result), a.w)));
}

static struct term carry_of(const struct thunk *t)
{
	struct term a = t->dep1, b = t->right, r = t->result;
	switch (t->op) {
	case OP_ADD: return t_cmp(EXPR_ULT, r, a);
	case OP_SUB: return t_cmp(EXPR_ULT, a, b);
	case OP_ADC:
	case OP_ADCX:
	case OP_ADOX: return t_ite(t->carry, t_cmp(EXPR_ULE, r, a), t_cmp(EXPR_ULT, r, a));
	case OP_SBB: return t_ite(t->carry, t_cmp(EXPR_ULE, a, b), t_cmp(EXPR_ULT, a, b));
	case OP_INC:
	case OP_DEC: return t_bit(t->ndep, C);
	case OP_SHL: return t_sign(b);
	case OP_SHR: return t_bit(b, 0);
	case OP_ROL: return t_bit(a, 0);
	case OP_ROR: return t_sign(a);
	case OP_UMUL:
	case OP_SMUL: return product_spills(t);
	case OP_BLSI: return t_not(t_is_zero(b));
	case OP_BLSMSK:
	case OP_BLSR: return t_is_zero(b);
	default: return one_bit(0);
	}
}

static struct term overflow_of(const struct thunk *t)
{
	struct term a = t->dep1, b = t->right, r = t->result;
	ULong sign = 1ULL << (a.w - 1);
	switch (t->op) {
	case OP_ADD:
	case OP_ADC: /* the operands' signs are equal, and the result's is not */
		return t_bin(EXPR_AND, t_not(t_bin(EXPR_XOR, t_sign(a), t_sign(b))),
			     t_bin(EXPR_XOR, t_sign(a), t_sign(r)));
	case OP_SUB:
	case OP_SBB:
		return t_bin(EXPR_AND, t_bin(EXPR_XOR, t_sign(a), t_sign(b)),
			     t_bin(EXPR_XOR, t_sign(a), t_sign(r)));
	case OP_INC: return t_cmp(EXPR_EQ, a, t_const(a.w, sign));
	case OP_DEC: return t_cmp(EXPR_EQ, a, t_const(a.w, sign - 1));
	case OP_SHL:
	case OP_SHR: return t_bin(EXPR_XOR, t_sign(a), t_sign(b));
	case OP_ROL: return t_bin(EXPR_XOR, t_sign(a), t_bit(a, 0));
	case OP_ROR: return t_bin(EXPR_XOR, t_sign(a), t_bit(a, a.w - 2));
	case OP_UMUL:
	case OP_SMUL: return product_spills(t);
	default: return one_bit(0);
	}
}

/* The carry out of bit 3. */
static struct term adjust_of(const struct thunk *t)
{
	struct term a = t->dep1, b = t->right, r = t->result;
	switch (t->op) {
	case OP_ADD:
	case OP_SUB:
	case OP_ADC:
	case OP_SBB: return t_bin(EXPR_XOR, t_bit(r, 4), t_bin(EXPR_XOR, t_bit(a, 4), t_bit(b, 4)));
	case OP_INC: return t_is_zero(t_low(r, 4));
	case OP_DEC: return t_cmp(EXPR_EQ, t_low(r, 4), t_const(4, 15));
	default: return one_bit(0);
	}
}

/* Of families that keep the other flags. */
static Bool keeps(const struct thunk *t, UInt flag)
{
	switch (t->op) {
	case OP_ROL:
	case OP_ROR: return flag != C && flag != O;
	case OP_ADCX: return flag != C;
	case OP_ADOX: return flag != O;
	default: return False;
	}
}

static struct term zero_of(const struct thunk *t)
{
	if (t->op == OP_SUB)
		return t_cmp(EXPR_EQ, t->dep1, t->right);
	return t->op == OP_BLSMSK ? one_bit(0) : t_is_zero(t->result);
}

static struct term flag_of(const struct thunk *t, UInt flag)
{
	if (t->op == OP_COPY)
		return t_bit(t->dep1, flag);
	if (keeps(t, flag))
		return t_bit(t->ndep, flag);
	switch (flag) {
	case C: return carry_of(t);
	case P: return t->op >= OP_ANDN ? one_bit(0) : t_count(EXPR_PARITY, t_low(t->result, 8));
	case A: return adjust_of(t);
	case Z: return zero_of(t);
	case S: return t_sign(t->result);
	default: return t->op == OP_ADOX ? carry_of(t) : overflow_of(t);
	}
}

static struct term less_signed(const struct thunk *t)
{
	switch (t->op) {
	case OP_SUB: return t_cmp(EXPR_SLT, t->dep1, t->right);
	case OP_LOGIC: return t_sign(t->result);
	default: return t_bin(EXPR_XOR, flag_of(t, S), flag_of(t, O));
	}
}

/* The even conditions; the odd ones are their negations. */
static struct term condition(const struct thunk *t, ULong cond)
{
	switch (cond & ~1ULL) {
	case 0: return flag_of(t, O);
	case 2: return flag_of(t, C);
	case 4: return flag_of(t, Z);
	case 6: /* below or equal */
		if (t->op == OP_SUB)
			return t_cmp(EXPR_ULE, t->dep1, t->right);
		return t_bin(EXPR_OR, flag_of(t, C), flag_of(t, Z));
	case 8: return flag_of(t, S);
	case 10: return flag_of(t, P);
	case 12: return less_signed(t);
	default: /* less or equal */
		if (t->op == OP_SUB)
			return t_cmp(EXPR_SLE, t->dep1, t->right);
		if (t->op == OP_LOGIC)
			return t_cmp(EXPR_SLE, t->result, t_const(t->result.w, 0));
		return t_bin(EXPR_OR, less_signed(t), flag_of(t, Z));
	}
}

static struct term all_flags(const struct thunk *t)
{
	static const UInt place[] = { C, P, A, Z, S, O };
	struct term r = t_const(64, 0);
	UInt i;
	for (i = 0; i < sizeof place / sizeof *place; i++) {
		struct term f = t_zext(flag_of(t, place[i]), 64);
		r = t_bin(EXPR_OR, r, t_bin(EXPR_SHL, f, t_const(64, place[i])));
	}
	return r;
}

enum question { ALL = 16, CARRY = 17 }; /* below: a condition */

/*
 * After a shift by a symbolic amount, which may be 0 and leave the flags alone, the operation
 * itself is "one or the other": then so is the answer.
 */
static Bool answer(ULong question, struct sym_operand op, const struct sym_value *deps, UInt depth,
		   struct term *r)
{
	struct sym_operand arg[3];
	struct term yes, no, c;
	struct thunk t;
	if (op.node) {
		UInt word = sym_args(op.node, arg);
		if (EXPR_OP(word) != EXPR_ITE || !depth ||
		    !answer(question, arg[1], deps, depth - 1, &yes) ||
		    !answer(question, arg[2], deps, depth - 1, &no))
			return False;
		c = (struct term){ arg[0].node, 1, arg[0].value };
		*r = t_ite(c, yes, no);
		return True;
	}
	if (!open_thunk(&t, op.value, deps))
		return False;
	if (question == ALL)
		*r = all_flags(&t);
	else if (question == CARRY)
		*r = flag_of(&t, C);
	else
		*r = question & 1 ? t_not(condition(&t, question)) : condition(&t, question);
	return True;
}

Bool sym_ccall(const HChar *name, struct sym_value *r, const struct sym_value *args, UInt nargs)
{
	struct term x;
	ULong question;
	if (VG_(strcmp)(name, "amd64g_calculate_condition") == 0) {
		question = args[0].v[0];
		if (args[0].node[0] || question > 15)
			return False;
		args++;
	} else if (VG_(strcmp)(name, "amd64g_calculate_rflags_c") == 0) {
		question = CARRY;
	} else if (VG_(strcmp)(name, "amd64g_calculate_rflags_all") == 0) {
		question = ALL;
	} else {
		return nargs == 2 && sym_vec_ccall(name, r, args);
	}
	if (!answer(question, (struct sym_operand){ args[0].node[0], args[0].v[0] }, args + 1, 4,
		    &x))
		return False;
	t_to(r, 0, t_zext(x, 64));
	return True;
}
