/* SPDX-License-Identifier: BSD-3-Clause */
/* Expressions from one pool to another: only what is still needed goes along. */
#include <stdlib.h>

#include "symbolic/internal.h"

void symbolic_copy_init(struct copy *c, struct pool *from)
{
	*c = (struct copy){ .from = from, .to = solve_pool_new() };
	c->is = xcalloc(solve_pool_count(from) + 2, sizeof *c->is);
}

void symbolic_copy_free(struct copy *c)
{
	VEC_FREE(&c->stack);
	free(c->is);
}

static expr copy_one(struct copy *c, expr old)
{
	uint32_t word = solve_pool_word(c->from, old);
	expr o[3] = { 0 };
	uint64_t value;
	size_t n;
	if (solve_pool_is_const(c->from, old, &value))
		return solve_pool_const(c->to, EXPR_W(word), value);
	if (EXPR_OP(word) == EXPR_INPUT)
		return solve_pool_input(c->to, *solve_pool_inputs(c->from, old, &n));
	for (unsigned i = 0; i < 3; i++)
		if (solve_pool_operand(c->from, old, i))
			o[i] = c->is[solve_pool_operand(c->from, old, i)];
	if (EXPR_OP(word) == EXPR_TABLE)
		return solve_pool_table(c->to, EXPR_W(word), o[0],
					solve_pool_entries(c->from, old));
	return solve_pool_node(c->to, word, o[0], o[1], o[2]);
}

/* Without recursion: expressions may be very deep. */
expr symbolic_copy(struct copy *c, expr root)
{
	if (!root)
		return 0;
	VEC_PUSH(&c->stack, root);
	while (c->stack.n) {
		expr at = c->stack.p[c->stack.n - 1];
		size_t before = c->stack.n;
		for (unsigned i = 0; i < 3 && !c->is[at]; i++) {
			expr o = solve_pool_operand(c->from, at, i);
			if (o && !c->is[o])
				VEC_PUSH(&c->stack, o);
		}
		if (c->stack.n > before)
			continue;
		if (!c->is[at])
			c->is[at] = copy_one(c, at);
		c->stack.n--;
	}
	return c->is[root];
}
