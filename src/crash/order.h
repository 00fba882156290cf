/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order in which a program makes its stores persistent: does piece x reach the medium before piece y, in
 * whatever way the run is crashed?
 *
 * SQUINT (Neal, 4.4.2) answers this with a graph of all pieces: an edge from x to y if x is guaranteed before y is
 * stored, or if x is an earlier piece of the same line; x is before y if a path leads from x to y. The graph has
 * a number of edges that is quadratic in the run. It is not needed:
 *
 *	moments          1       2           3         the events at which something becomes guaranteed
 *	x  ────stored────│───────persisted   │
 *	y                │       │   stored──│──────   persisted(x) = 2 <= stored(y) = 2: x is before y
 *
 * Each piece has two numbers: stored, how many moments came before it was stored; and persisted, the number of the
 * moment that guaranteed it (CRASH_NEVER: none did). An edge is persisted(x) <= stored(y), or one line and x the
 * earlier. A path says no more than an edge from its first piece to its last, so that the edges alone are the order:
 *
 * - stored(y) < persisted(y), as nothing is guaranteed before it is stored. So x to y by a guarantee and y to z by a
 *   guarantee give persisted(x) <= stored(y) < persisted(y) <= stored(z).
 * - In a line, later pieces are stored later, and guaranteed at the same moment or later: x to y in a line and y to z
 *   by a guarantee give persisted(x) <= persisted(y) <= stored(z); the other way round, persisted(x) <= stored(y) <=
 *   stored(z).
 *
 * tests/unit/test_crash_order.c builds the graph, follows its paths, and compares, on random histories.
 */
#ifndef HOLDFAST_CRASH_ORDER_H
#define HOLDFAST_CRASH_ORDER_H

#include "crash/history.h"

#define CRASH_NEVER UINT32_MAX

struct crash_order {
	const struct crash_history *h;
	uint32_t *stored, *persisted; /* by piece */
	uint32_t *line;               /* by piece */
	VEC(uint64_t) moment;         /* their events; moment k is [k - 1] */
};
/* One pass over the history. */
void crash_order_init(struct crash_order *, const struct crash_history *);
void crash_order_free(struct crash_order *);
/* The event that guarantees a piece; UINT64_MAX: none does. */
uint64_t crash_persisted_at(const struct crash_order *, uint32_t piece);
bool crash_before(const struct crash_order *, uint32_t x, uint32_t y);

#endif
