/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An answer that changes nothing else.
 *
 * A checksum, a length, a second copy of a key: "these bytes = what the rest comes to". The solver
 * may as well change the rest, and often does; then the path that was to be repaired is
 * another one behind it. So such an equation is first solved for the side that is plain bytes, with
 * all others as they are:
 *
 *   in[7] in[8] in[9] in[10] = sum(in[0] … in[6])       in[7 … 10] := what the sum is now
 *
 * If the conditions of the path do not hold then, it is a question like any other.
 */
#include <stdlib.h>
#include <string.h>

#include "symbolic/internal.h"

#define MAX_DEPTH 16

/* Sets the bytes that `e` consists of, so that it has this value. */
static bool set(const struct symbolic *s, expr e, uint64_t value, uint8_t *byte, unsigned depth)
{
	uint32_t word = solve_pool_word(s->pool, e), in;
	expr a = solve_pool_operand(s->pool, e, 0), b = solve_pool_operand(s->pool, e, 1);
	unsigned low;

	if (depth == MAX_DEPTH)
		return false;
	switch (EXPR_OP(word)) {
	case EXPR_INPUT:
		in = *solve_pool_inputs(s->pool, e, &(size_t){ 0 });
		if (in >= s->n || (s->fixed && s->fixed[in]) || (s->lo && value < s->lo[in]) ||
		    (s->hi && value > s->hi[in]))
			return false;
		byte[in] = (uint8_t)value;
		return true;
	case EXPR_ZEXT:
		return value <= expr_mask(EXPR_AW(word)) && set(s, a, value, byte, depth + 1);
	case EXPR_CONCAT:
		low = EXPR_W(word) - EXPR_AW(word);
		return set(s, a, value >> low, byte, depth + 1) &&
		       set(s, b, value & expr_mask(low), byte, depth + 1);
	default: return false;
	}
}

static bool holds(const struct symbolic *s, const expr *must, size_t n, const uint8_t *byte)
{
	for (size_t i = 0; i < n; i++)
		if (!solve_pool_eval(s->pool, must[i], byte, s->n))
			return false;
	return true;
}

static bool solve_for(const struct symbolic *s, const struct solve_query *q, expr side, expr other,
		      uint8_t *out)
{
	uint64_t known;

	memcpy(out, q->input, q->ninput);
	return !solve_pool_is_const(s->pool, other, &known) &&
	       set(s, side, solve_pool_eval(s->pool, other, q->input, q->ninput), out, 0) &&
	       holds(s, &q->goal, 1, out) && holds(s, q->must, q->nmust, out);
}

bool symbolic_assign(const struct symbolic *s, const struct solve_query *q, uint8_t *out)
{
	uint32_t word = solve_pool_word(s->pool, q->goal);
	expr a = solve_pool_operand(s->pool, q->goal, 0),
	     b = solve_pool_operand(s->pool, q->goal, 1);

	return EXPR_OP(word) == EXPR_EQ && q->ninput == s->n &&
	       (solve_for(s, q, a, b, out) || solve_for(s, q, b, a, out));
}
