/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the path depended on: conditions of jumps, and values that could not be kept symbolic.
 *
 * A node's value is recorded once per path. Conditions on a single input byte are also kept here,
 * to compute which values the byte can have on this path.
 */
#include "internal.h"

static struct {
	XArray *conditions; /* struct condition, in the order of the path */
	XArray *domains;    /* struct domain */
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

void sym_branch(enum sym_branch kind, UInt node, ULong value, Addr ip, const Addr to[2])
{
	struct sym_operand arg[3];
	Addr swapped[2];
	Bool always = kind == SYM_PM_STORE || kind == SYM_FLUSH;
	if (sym_process.forked)
		sym_control->child_used = 1;
	while (kind == SYM_COND && EXPR_OP(sym_args(node, arg)) == EXPR_NOT) {
		node = arg[0].node;
		value ^= 1;
		swapped[0] = to[1];
		swapped[1] = to[0];
		to = swapped;
	}
	if (sym_decided(node)) {
		if (always)
			say(kind, node, value, ip, to);
		return;
	}
	note_condition(node, value);
	say(kind, node, value, ip, to);
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
