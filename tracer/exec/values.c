/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which values a term can have on this path: a small set, for addresses.
 *
 *   base + 16 * (key % 16)         16 values, however many bytes the key has
 *   *(table + 8 * (key % 16))      the pointers that are in the table, and what was put there since
 *
 * The set is worked out from the operands' sets; where these are too large, from the width or what
 * the operation can give at all. It may have values that are impossible (operands are taken as
 * independent of each other), but never misses one. What the path has decided is taken into
 * account: the side of a choice, the values left to an input byte, comparisons with constants.
 */
#include "slow.h"

#define DEPTH 10u
#define WORK 16384u /* for one term, at most: values that are computed, … */
#define LOOKS 16u   /* … a node that is looked at, */
#define BYTES 512u  /* … and all values of an expression over one byte */

static UInt work;

static Int ascending(const void *a, const void *b)
{
	const ULong *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Ascending, each once. */
static void arrange(struct sym_values *s)
{
	UInt n = 0;
	VG_(ssort)(s->v, s->n, sizeof s->v[0], ascending);
	for (UInt i = 0; i < s->n; i++)
		if (!i || s->v[i] != s->v[n - 1])
			s->v[n++] = s->v[i];
	s->n = n;
}

static Bool range(ULong lo, ULong hi, struct sym_values *out)
{
	out->n = 0;
	if (lo > hi || hi - lo >= SYM_VALUES)
		return False;
	while (out->n <= hi - lo) {
		out->v[out->n] = lo + out->n;
		out->n++;
	}
	return True;
}

/* ---- by operation ---- */

static Bool find(struct term t, UInt depth, struct sym_values *out);

/* It depends on one input byte only. */
static Bool of_byte(UInt node, UInt byte, struct sym_values *out)
{
	const Bool *can = sym_possible(byte);
	ULong all[256];
	work += BYTES;
	if (!sym_eval_all(node, all))
		return False;
	out->n = 0;
	for (UInt i = 0; i < 256; i++)
		if (can[i])
			out->v[out->n++] = all[i];
	arrange(out);
	return out->n != 0;
}

static struct term operand(UInt word, const struct sym_operand *arg, UInt i)
{
	return (struct term){ arg[i].node, expr_operand_width(word, i), arg[i].value };
}

static Bool of_choice(UInt word, const struct sym_operand *arg, UInt depth, struct sym_values *out)
{
	struct sym_values other;
	if (sym_known(arg[0].node))
		return find(operand(word, arg, arg[0].value ? 1 : 2), depth, out);
	if (!find(operand(word, arg, 1), depth, out) || !find(operand(word, arg, 2), depth, &other))
		return False;
	for (UInt i = 0; i < other.n; i++) {
		if (out->n == SYM_VALUES)
			return False;
		out->v[out->n++] = other.v[i];
	}
	arrange(out);
	return True;
}

/* Each value of one operand with each of the other. */
static Bool of_operands(UInt node, UInt word, const struct sym_operand *arg, UInt depth,
			struct sym_values *out)
{
	struct sym_values a, b = { 1, { 0 } };
	UInt n = expr_operands(word);
	if (n > 2 || !find(operand(word, arg, 0), depth, &a) ||
	    (n == 2 && !find(operand(word, arg, 1), depth, &b)) || a.n * b.n > SYM_VALUES)
		return False;
	work += a.n * b.n;
	out->n = 0;
	for (UInt i = 0; i < a.n; i++)
		for (UInt k = 0; k < b.n; k++)
			out->v[out->n++] = EXPR_OP(word) == EXPR_TABLE
						   ? sym_table_entry(node, a.v[i])
						   : expr_apply(word, a.v[i], b.v[k], 0);
	arrange(out);
	return True;
}

/* What the operation can give at all, within what the path leaves to it. */
static Bool of_result(UInt node, UInt word, const struct sym_operand *arg, struct sym_values *out)
{
	ULong lo = 0, hi = expr_mask(EXPR_W(word));
	switch (EXPR_OP(word)) {
	case EXPR_CTZ:
	case EXPR_CLZ:
	case EXPR_POPCNT: hi = EXPR_W(word); break;
	case EXPR_UREM:
		if (!arg[1].node && arg[1].value)
			hi = arg[1].value - 1;
		break;
	default: break;
	}
	sym_bounds(node, &lo, &hi);
	return range(lo, hi, out);
}

static void narrow(UInt node, struct sym_values *s)
{
	ULong lo = 0, hi = ~0ull;
	UInt n = 0;
	sym_bounds(node, &lo, &hi);
	for (UInt i = 0; i < s->n; i++)
		if (s->v[i] >= lo && s->v[i] <= hi)
			s->v[n++] = s->v[i];
	s->n = n;
}

static Bool find(struct term t, UInt depth, struct sym_values *out)
{
	struct sym_operand arg[3];
	Long byte;
	UInt word;
	if (!t.node || sym_decided(t.node) || (t.w == 1 && sym_known(t.node))) {
		*out = (struct sym_values){ 1, { t.v } };
		return True;
	}
	work += LOOKS;
	byte = work < WORK ? sym_single_input(t.node) : -1;
	if (byte >= 0 && of_byte(t.node, (UInt)byte, out))
		return True;
	word = sym_args(t.node, arg);
	if (depth && work < WORK) {
		Bool found = EXPR_OP(word) == EXPR_ITE
				     ? of_choice(word, arg, depth - 1, out)
				     : of_operands(t.node, word, arg, depth - 1, out);
		if (found) {
			narrow(t.node, out);
			return out->n != 0;
		}
	}
	return of_result(t.node, word, arg, out);
}

Bool sym_values(struct term t, struct sym_values *out)
{
	work = 0;
	return find(t, DEPTH, out);
}
