/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Terms of the tracer: src/term makes and simplifies them, node.c keeps the nodes. */
#include "term.h"

#define MEMOS 256u
#define MAX_DEPTH 24u
#define MAX_STEPS 1024u

static struct sym_operand operand(struct term t)
{
	return (struct sym_operand){ t.node, t.v };
}

static struct term make(struct term_space *s, UInt word, const struct term x[3])
{
	ULong value;
	UInt node = sym_node(word, operand(x[0]), operand(x[1]), operand(x[2]), &value);
	return (struct term){ node, EXPR_W(word), value };
}

static struct term part(UInt word, UInt i, const struct sym_operand *arg)
{
	return (struct term){ arg[i].node, expr_operand_width(word, i), arg[i].value };
}

static void look(struct term_space *s, UInt node, struct term_parts *p)
{
	struct sym_operand arg[3];
	UInt word = sym_args(node, arg);
	p->op = EXPR_OP(word);
	p->lo = EXPR_LO(word);
	p->a = part(word, 0, arg);
	p->b = part(word, 1, arg);
	p->c = part(word, 2, arg);
}

static struct term_memo memo[MEMOS];

struct term_space sym_terms = { .make = make,
				.look = look,
				.memo = memo,
				.memos = MEMOS,
				.max_depth = MAX_DEPTH,
				.max_steps = MAX_STEPS };
