/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pins: values that cannot be kept symbolic. The path records that they have their concrete values.
 */
#include "internal.h"

void sym_pin(enum sym_branch kind, const struct sym_value *x, Addr ip)
{
	for (UInt i = 0; i * 64 < x->bits; i++)
		if (x->node[i])
			sym_branch(kind, x->node[i], sym_value_of(x->node[i]), ip, NULL);
}

void sym_reg_pin(ThreadId tid, UInt offset)
{
	struct sym_value x = { .bits = 64 };
	sym_switch(tid);
	if (!(sym_summary.groups & sym_group((Int)offset, 8)))
		return;
	VG_(get_shadow_regs_area)(tid, (UChar *)&x.v[0], 0, (PtrdiffT)offset, 8);
	sym_reg_get((Int)offset, &x);
	sym_pin(SYM_SYSCALL, &x, VG_(get_IP)(tid) - 2);
}

UInt sym_pin_memory(Addr a, SizeT len, Addr ip)
{
	UInt n = 0;
	for (Addr end = a + len; a < end && sym_summary.live; a++) {
		struct sym_value x = { 8, { 0 }, { 0 } };
		if (!sym_any(a, 1))
			continue;
		x.v[0] = *(UChar *)a;
		sym_load(a, &x);
		sym_pin(SYM_PIN, &x, ip);
		n++;
	}
	return n;
}

/* Whole expressions are pinned, also where only some bytes of them are used. */
UInt sym_pin_registers(Int offset, Int size, Addr ip)
{
	UInt n = 0;
	for (Int i = offset; i < offset + size && sym_summary.groups; i++) {
		UInt node = sym_reg_node(i);
		if (!node)
			continue;
		sym_branch(SYM_PIN, node, sym_value_of(node), ip, NULL);
		n++;
	}
	return n;
}
