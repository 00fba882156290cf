/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the path depended on: conditions of jumps, and values that could not be kept symbolic.
 *
 * A node's value is recorded once per path. What follows from that for symbolic addresses is kept
 * here: conditions that are decided, conditions on a single input byte, to compute which values the
 * byte can have on this path, and comparisons with constants, which bound other nodes.
 */
#include "expr/term.h"
#include "internal.h"

#define KNOWN_DEPTH 4u
#define RECENT 256 /* bounds that are looked at, the newest */

static struct {
	XArray *conditions; /* struct condition, in the order of the path */
	XArray *domains;    /* struct domain */
	XArray *bounds;     /* struct bound */
} path;

/* A condition on one input byte. */
struct condition {
	UInt node;
	ULong value;
};

static void note_condition(UInt node, ULong value)
{
	struct condition c = { node, value };
	if (sym_single_input(node) < 0)
		return;
	if (!path.conditions)
		path.conditions = VG_(newXA)(VG_(malloc), "hf.cond", VG_(free), sizeof c);
	VG_(addToXA)(path.conditions, &c);
}

static void say(enum sym_branch kind, UInt node, ULong value, Addr ip, const Addr to[2])
{
	ULong args[4] = { node, value, to ? to[0] : 0, to ? to[1] : 0 };
	emit(TRACE_SYM_BRANCH, kind, emit_site(ip, TRACE_SITE_OTHER, 0), ctx_node(), 4, args, NULL,
	     0);
}

/* ---- what is decided ---- */

struct bound {
	UInt node;
	ULong lo, hi;
};

/* x < k, or not; x == k */
static void note_bound(UInt condition, Bool holds)
{
	struct sym_operand arg[3];
	UInt word = sym_args(condition, arg);
	struct bound b = { arg[0].node, 0, expr_mask(EXPR_AW(word)) };
	if (!arg[0].node || arg[1].node)
		return;
	if (EXPR_OP(word) == EXPR_ULT && holds)
		b.hi = arg[1].value - 1;
	else if (EXPR_OP(word) == EXPR_ULT)
		b.lo = arg[1].value;
	else if (EXPR_OP(word) == EXPR_EQ && holds)
		b.lo = b.hi = arg[1].value;
	else
		return;
	if (!path.bounds)
		path.bounds = VG_(newXA)(VG_(malloc), "hf.bound", VG_(free), sizeof b);
	VG_(addToXA)(path.bounds, &b);
}

/* Of a conjunction that holds, both parts do. */
static void decide(UInt node)
{
	struct sym_operand arg[3];
	UInt word = sym_args(node, arg);
	ULong value = sym_value_of(node);
	sym_decide(node);
	if (EXPR_W(word) != 1)
		return;
	note_bound(node, value != 0);
	if (EXPR_OP(word) == EXPR_NOT || EXPR_OP(word) == (value ? EXPR_AND : EXPR_OR))
		for (UInt i = 0; i < expr_operands(word); i++)
			if (arg[i].node && !sym_decided(arg[i].node))
				decide(arg[i].node);
}

void sym_bounds(UInt node, ULong *lo, ULong *hi)
{
	Word n = path.bounds ? VG_(sizeXA)(path.bounds) : 0;
	for (Word i = n; i-- > 0 && n - i <= RECENT;) {
		const struct bound *b = VG_(indexXA)(path.bounds, i);
		if (b->node != node)
			continue;
		*lo = b->lo > *lo ? b->lo : *lo;
		*hi = b->hi < *hi ? b->hi : *hi;
	}
}

static Bool known(UInt node, UInt depth)
{
	struct sym_operand arg[3];
	UInt word;
	if (!node || sym_decided(node))
		return True;
	word = sym_args(node, arg);
	if (!depth || EXPR_W(word) != 1)
		return False;
	for (UInt i = 0; i < 2; i++) {
		Bool settles = arg[i].value == (EXPR_OP(word) == EXPR_OR);
		switch (EXPR_OP(word)) {
		case EXPR_NOT: return known(arg[0].node, depth - 1);
		case EXPR_AND:
		case EXPR_OR:
			if (settles && known(arg[i].node, depth - 1))
				return True;
			break;
		default: return False;
		}
	}
	return known(arg[0].node, depth - 1) && known(arg[1].node, depth - 1);
}

Bool sym_known(UInt node)
{
	return known(node, KNOWN_DEPTH);
}

/* ---- what is recorded ---- */

void sym_branch(enum sym_branch kind, UInt node, ULong value, Addr ip, const Addr to[2])
{
	struct sym_operand arg[3];
	Addr swapped[2];
	if (sym_process.forked)
		sym_control->child_used = 1;
	while (kind == SYM_COND && EXPR_OP(sym_args(node, arg)) == EXPR_NOT) {
		node = arg[0].node;
		value ^= 1;
		swapped[0] = to[1];
		swapped[1] = to[0];
		to = swapped;
	}
	if (sym_decided(node))
		return;
	decide(node);
	note_condition(node, value);
	say(kind, node, value, ip, to);
}

void sym_announce(enum sym_branch kind, UInt node, ULong value, Addr ip)
{
	if (sym_process.forked)
		sym_control->child_used = 1;
	say(kind, node, value, ip, NULL);
}

/* ---- the values that a byte can have ---- */

struct domain {
	UInt byte;
	Word done; /* conditions that were looked at */
	Bool can[256];
};

static struct domain *domain_of(UInt byte)
{
	struct domain new = { byte, 0, { 0 } };
	if (!path.domains)
		path.domains = VG_(newXA)(VG_(malloc), "hf.domain", VG_(free), sizeof new);
	for (Word i = 0; i < VG_(sizeXA)(path.domains); i++) {
		struct domain *d = VG_(indexXA)(path.domains, i);
		if (d->byte == byte)
			return d;
	}
	VG_(memset)(new.can, True, sizeof new.can);
	return VG_(indexXA)(path.domains, VG_(addToXA)(path.domains, &new));
}

const Bool *sym_possible(UInt byte)
{
	struct domain *d = domain_of(byte);
	ULong all[256];
	for (; path.conditions && d->done < VG_(sizeXA)(path.conditions); d->done++) {
		struct condition *c = VG_(indexXA)(path.conditions, d->done);
		if (sym_single_input(c->node) != (Long)byte || !sym_eval_all(c->node, all))
			continue;
		for (UInt i = 0; i < 256; i++)
			if (all[i] != c->value)
				d->can[i] = False;
	}
	return d->can;
}
