/* SPDX-License-Identifier: BSD-3-Clause */
/* What the strategies share among themselves: one file each, one row of strategy.c's table each. */
#ifndef HOLDFAST_CRASH_STRATEGY_H
#define HOLDFAST_CRASH_STRATEGY_H

#include "crash/internal.h"

extern const struct crash_strategy crash_strategy_prefix;
extern const struct crash_strategy crash_strategy_lost;
extern const struct crash_strategy crash_strategy_ahead;
extern const struct crash_strategy crash_strategy_behind;
extern const struct crash_strategy crash_strategy_random;
extern const struct crash_strategy crash_strategy_exhaustive;

/*
 * Some versions of an open line: the first is lo, the last is hi, and each differs in contents
 * from the one before. All of them if hi - lo is at most CRASH_PICK - 1; otherwise those where
 * one store event ends and another begins, thinned out evenly. Returns how many; 1 means that
 * nothing that was stored changes anything.
 */
#define CRASH_PICK 9u
unsigned crash_gen_pick(const struct crash_gen *, uint32_t line, uint32_t out[CRASH_PICK]);

/* Walks over the picked versions of all open lines: all but lo, or all but hi. */
struct crash_walk {
	size_t line;     /* how many of the open lines are done or begun */
	unsigned k, end; /* version[k .. end) is left of the last of them */
	uint32_t version[CRASH_PICK];
};
enum crash_walk_kind { CRASH_WALK_NOT_LO, CRASH_WALK_NOT_HI };
bool crash_walk_next(struct crash_gen *, struct crash_walk *, enum crash_walk_kind,
		     struct crash_at *out);

#endif
