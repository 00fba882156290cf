/* SPDX-License-Identifier: BSD-3-Clause */
/* States that break an order which the program seems to rely on: breach.c has found them. */
#include <stdlib.h>

#include "crash/strategy.h"

static void *start(struct crash_gen *gen)
{
	(void)gen;
	return xcalloc(1, sizeof(size_t));
}

static bool next(struct crash_gen *gen, void *own, struct crash_state *out)
{
	size_t *done = own;
	return crash_gen_breach(gen, (*done)++, out);
}

static void stop(void *own)
{
	free(own);
}

const struct crash_strategy crash_strategy_invariants = {
	.name = "invariants",
	.about =
		"what breaks an order that the program seems to rely on, anywhere in the run; needs record --deps",
	.start = start,
	.next = next,
	.stop = stop,
};
