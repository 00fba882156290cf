/* SPDX-License-Identifier: BSD-3-Clause */
/* The stores that somebody suspects are lost, and nothing else: suspect_plan.c has chosen the states. */
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
	return crash_gen_planned(gen, (*done)++, out);
}

static void stop(void *own)
{
	free(own);
}

const struct crash_strategy crash_strategy_proof = {
	.name = "proof",
	.about =
		"only for test: stores that check suspects are lost, and nothing else; begins in any case",
	.start = start,
	.next = next,
	.stop = stop,
};
