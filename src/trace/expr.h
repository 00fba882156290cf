/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Expressions over symbolic bytes: what the tracer streams and the solver understands.
 *
 * Shared by the Valgrind tool, which has no libc, and by src/: types and inline functions only.
 *
 * A node is a bit vector of 1 to 64 bits. Its operands are nodes, or constants. The meaning is
 * SMT-LIB's: arithmetic wraps, shifting by the width or more gives 0 (or copies of the sign),
 * x / 0 is all ones and x % 0 is x.
 *
 *   X(NAME, "name", operands)
 *
 *   w   the width of the result          aw  the width of operand a (b and c: see below)
 */
#ifndef HOLDFAST_TRACE_EXPR_H
#define HOLDFAST_TRACE_EXPR_H

#include <stdint.h>

#define EXPR_OPS(X)                                                                                \
	X(CONST, "const", 0) /* only inside src/: the stream has constants as operands */          \
	X(INPUT, "input", 1) /* w = 8; a is the constant number of the input byte */               \
	X(NOT, "not", 1)     /* all bits; w = aw */                                                \
	X(NEG, "neg", 1)                                                                           \
	X(ADD, "add", 2) /* ADD … ASHR: w = aw, b has the same width */                          \
	X(SUB, "sub", 2)                                                                           \
	X(MUL, "mul", 2)                                                                           \
	X(UMULH, "umulh", 2) /* upper half of the product of twice the width, unsigned */          \
	X(SMULH, "smulh", 2) /* … signed */                                                      \
	X(UDIV, "udiv", 2)                                                                         \
	X(SDIV, "sdiv", 2) /* rounds towards zero */                                               \
	X(UREM, "urem", 2)                                                                         \
	X(SREM, "srem", 2) /* has the sign of a */                                                 \
	X(AND, "and", 2)                                                                           \
	X(OR, "or", 2)                                                                             \
	X(XOR, "xor", 2)                                                                           \
	X(SHL, "shl", 2)                                                                           \
	X(LSHR, "lshr", 2)                                                                         \
	X(ASHR, "ashr", 2)                                                                         \
	X(EQ, "eq", 2) /* EQ … SLE: w = 1, a and b have the width aw */                          \
	X(ULT, "ult", 2)                                                                           \
	X(ULE, "ule", 2)                                                                           \
	X(SLT, "slt", 2)                                                                           \
	X(SLE, "sle", 2)                                                                           \
	X(ITE, "ite", 3)   /* a has 1 bit (aw = 1); b if it is set, else c; both have w */         \
	X(ZEXT, "zext", 1) /* w > aw */                                                            \
	X(SEXT, "sext", 1)                                                                         \
	X(EXTRACT, "extract", 1) /* bits lo … lo + w - 1 of a */                                 \
	X(CONCAT, "concat", 2)   /* a is the upper part, of width aw; b has w - aw */              \
	X(CTZ, "ctz", 1)         /* trailing zeros; w if a is 0; w = aw */                         \
	X(CLZ, "clz", 1)                                                                           \
	X(POPCNT, "popcnt", 1)                                                                     \
	X(PARITY, "parity", 1) /* w = 1: set if the low 8 bits of a have an even number of ones */ \
	X(UDIV128, "udiv128", 3) /* w = 64: low half of (a:b) / c, unsigned */                     \
	X(UREM128, "urem128", 3)                                                                   \
	X(SDIV128, "sdiv128", 3)                                                                   \
	X(SREM128, "srem128", 3)                                                                   \
	X(TABLE, "table", 1) /* entry a of 256, in the payload, (w+7)/8 bytes each; aw = 8 */

enum expr_op {
#define X(NAME, name, n) EXPR_##NAME,
	EXPR_OPS(X)
#undef X
		EXPR_OPS_COUNT,
};

/* Operation and widths in one word, as records and pools have them. */
#define EXPR_WORD(op, w, aw, lo)                                                                   \
	((uint32_t)(op) | (uint32_t)(w) << 8 | (uint32_t)(aw) << 16 | (uint32_t)(lo) << 24)
#define EXPR_OP(word) ((enum expr_op)((word)&0xff))
#define EXPR_W(word) ((word) >> 8 & 0xff)
#define EXPR_AW(word) ((word) >> 16 & 0xff)
#define EXPR_LO(word) ((word) >> 24)

/* How many operands an operation has. */
static inline unsigned expr_operands(uint32_t word)
{
	static const uint8_t operands[] = {
#define X(NAME, name, n) n,
		EXPR_OPS(X)
#undef X
	};
	return operands[EXPR_OP(word)];
}

/* The width that operand i has to have; 0: there is none. */
static inline unsigned expr_operand_width(uint32_t word, unsigned i)
{
	unsigned w = EXPR_W(word), aw = EXPR_AW(word);
	if (i >= expr_operands(word))
		return 0;
	switch (EXPR_OP(word)) {
	case EXPR_INPUT: return 32;
	case EXPR_ITE: return i ? w : 1;
	case EXPR_CONCAT: return i ? w - aw : aw;
	case EXPR_TABLE: return 8;
	case EXPR_UDIV128:
	case EXPR_UREM128:
	case EXPR_SDIV128:
	case EXPR_SREM128: return 64;
	default: return aw;
	}
}

/* Are the widths what the operation asks for? */
static inline int expr_word_ok(uint32_t word)
{
	enum expr_op op = EXPR_OP(word);
	unsigned w = EXPR_W(word), aw = EXPR_AW(word);
	if (op == EXPR_CONST || op >= EXPR_OPS_COUNT || !w || w > 64)
		return 0;
	if (op == EXPR_INPUT)
		return w == 8;
	if (!aw || aw > 64)
		return 0;
	if ((op >= EXPR_EQ && op <= EXPR_SLE) || op == EXPR_PARITY)
		return w == 1;
	if (op == EXPR_ZEXT || op == EXPR_SEXT || op == EXPR_CONCAT)
		return w > aw;
	if (op == EXPR_EXTRACT)
		return EXPR_LO(word) + w <= aw;
	if (op >= EXPR_UDIV128 && op <= EXPR_SREM128)
		return w == 64 && aw == 64;
	if (op == EXPR_ITE)
		return aw == 1;
	return op == EXPR_TABLE ? aw == 8 : w == aw;
}

static inline uint64_t expr_mask(unsigned w)
{
	return w >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << w) - 1;
}

static inline int64_t expr_signed(uint64_t v, unsigned w)
{
	uint64_t sign = (uint64_t)1 << (w - 1);
	return (int64_t)(((v & expr_mask(w)) ^ sign) - sign);
}

static inline uint64_t expr_divide(enum expr_op op, unsigned w, uint64_t a, uint64_t b)
{
	int64_t sa = expr_signed(a, w), sb = expr_signed(b, w);
	switch (op) {
	case EXPR_UDIV: return b ? a / b : ~(uint64_t)0;
	case EXPR_UREM: return b ? a % b : a;
	case EXPR_SDIV:
		if (!sb)
			return sa < 0 ? 1 : ~(uint64_t)0; /* as SMT-LIB's bvsdiv */
		return sb == -1 ? 0 - a : (uint64_t)(sa / sb);
	default: return !sb ? a : sb == -1 ? 0 : (uint64_t)(sa % sb);
	}
}

static inline uint64_t expr_divide128(enum expr_op op, uint64_t hi, uint64_t lo, uint64_t d)
{
	unsigned __int128 u = (unsigned __int128)hi << 64 | lo;
	__int128 s = (__int128)u;
	int64_t sd = (int64_t)d;
	switch (op) {
	case EXPR_UDIV128: return d ? (uint64_t)(u / d) : ~(uint64_t)0;
	case EXPR_UREM128: return d ? (uint64_t)(u % d) : lo;
	case EXPR_SDIV128:
		if (!sd)
			return s < 0 ? 1 : ~(uint64_t)0;
		return sd == -1 ? (uint64_t)(0 - u) : (uint64_t)(s / sd);
	default: return !sd ? lo : sd == -1 ? 0 : (uint64_t)(s % sd);
	}
}

static inline uint64_t expr_shift(enum expr_op op, unsigned w, uint64_t a, uint64_t b)
{
	if (op == EXPR_ASHR)
		return (uint64_t)(expr_signed(a, w) >> (b >= w ? w - 1 : b));
	if (b >= w)
		return 0;
	return op == EXPR_SHL ? a << b : a >> b;
}

/* What a node is, given what its operands are. Not for CONST, INPUT and TABLE. */
static inline uint64_t expr_apply(uint32_t word, uint64_t a, uint64_t b, uint64_t c)
{
	unsigned w = EXPR_W(word), aw = EXPR_AW(word);
	uint64_t r = 0;
	switch (EXPR_OP(word)) {
	case EXPR_NOT: r = ~a; break;
	case EXPR_NEG: r = 0 - a; break;
	case EXPR_ADD: r = a + b; break;
	case EXPR_SUB: r = a - b; break;
	case EXPR_MUL: r = a * b; break;
	case EXPR_UMULH: r = (uint64_t)(((unsigned __int128)a * b) >> w); break;
	case EXPR_SMULH:
		r = (uint64_t)(((__int128)expr_signed(a, w) * expr_signed(b, w)) >> w);
		break;
	case EXPR_UDIV:
	case EXPR_SDIV:
	case EXPR_UREM:
	case EXPR_SREM: r = expr_divide(EXPR_OP(word), w, a, b); break;
	case EXPR_AND: r = a & b; break;
	case EXPR_OR: r = a | b; break;
	case EXPR_XOR: r = a ^ b; break;
	case EXPR_SHL:
	case EXPR_LSHR:
	case EXPR_ASHR: r = expr_shift(EXPR_OP(word), w, a, b); break;
	case EXPR_EQ: r = a == b; break;
	case EXPR_ULT: r = a < b; break;
	case EXPR_ULE: r = a <= b; break;
	case EXPR_SLT: r = expr_signed(a, aw) < expr_signed(b, aw); break;
	case EXPR_SLE: r = expr_signed(a, aw) <= expr_signed(b, aw); break;
	case EXPR_ITE: r = a ? b : c; break;
	case EXPR_ZEXT: r = a; break;
	case EXPR_SEXT: r = (uint64_t)expr_signed(a, aw); break;
	case EXPR_EXTRACT: r = a >> EXPR_LO(word); break;
	case EXPR_CONCAT: r = a << (w - aw) | b; break;
	case EXPR_CTZ: r = a ? (uint64_t)__builtin_ctzll(a) : w; break;
	case EXPR_CLZ: r = a ? (uint64_t)__builtin_clzll(a) - (64 - w) : w; break;
	case EXPR_POPCNT:
		for (; a; a &= a - 1)
			r++;
		break;
	case EXPR_PARITY:
		a ^= a >> 4 & 0xf;
		a ^= a >> 2 & 3;
		r = ~(a ^ a >> 1);
		break;
	case EXPR_UDIV128:
	case EXPR_UREM128:
	case EXPR_SDIV128:
	case EXPR_SREM128: r = expr_divide128(EXPR_OP(word), a, b, c); break;
	default: break;
	}
	return r & expr_mask(w);
}

#endif
