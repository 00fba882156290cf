/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cells: what one byte of memory (shadow.c) or of the guest state (regs.c) is. */
#ifndef HOLDFAST_TRACER_CELL_H
#define HOLDFAST_TRACER_CELL_H

#include "internal.h"

struct cell {
	UInt node; /* 0: concrete */
	UInt at;   /* which byte of the node's value */
};

/* Byte `at` of a node's value, down to the expression that it really is a byte of. */
struct cell cell_of(UInt node, UInt at);
/* The n bytes, at most 8, that are `v` in this run: a node, or 0 if none is symbolic. */
UInt cell_join(struct cell *c, UInt n, ULong v);

/* shadow.c: of a byte of memory. */
struct cell cell_at(Addr);
void cell_set(Addr, struct cell);

/* In each word of a value. */
static inline UInt cell_bytes(const struct sym_value *x)
{
	return x->bits < 64 ? x->bits / 8 : 8;
}

#endif
