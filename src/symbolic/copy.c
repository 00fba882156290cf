/* SPDX-License-Identifier: BSD-3-Clause */
/* Expressions from one pool to another: only what is still needed goes along. */
#include <stdlib.h>

#include "symbolic/internal.h"

void symbolic_copy_init(struct copy *c, struct pool *from)
{
	*c = (struct copy){ .from = from, .to = pool_new() };
	c->is = xcalloc(pool_count(from) + 2, sizeof *c->is);
}

void symbolic_copy_free(struct copy *c)
{
	VEC_FREE(&c->stack);
	free(c->is);
}

static expr copy_one(struct copy *c, expr old)
{
	uint32_t word = pool_word(c->from, old);
	expr o[3] = { 0 };
	uint64_t value;
	size_t n;

	if (pool_is_const(c->from, old, &value))
		return pool_const(c->to, EXPR_W(word), value);
	if (EXPR_OP(word) == EXPR_INPUT)
		return pool_input(c->to, *pool_inputs(c->from, old, &n));
	for (unsigned i = 0; i < 3; i++)
		if (pool_operand(c->from, old, i))
			o[i] = c->is[pool_operand(c->from, old, i)];
	if (EXPR_OP(word) == EXPR_TABLE)
		return pool_table(c->to, EXPR_W(word), o[0], pool_entries(c->from, old));
	return pool_node(c->to, word, o[0], o[1], o[2]);
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
			expr o = pool_operand(c->from, at, i);

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
