/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything that was stored is there, except that one line lags behind. */
#include <stdlib.h>

#include "crash/strategy.h"

static bool at_point(struct crash_gen *gen, void *own, uint64_t step, struct crash_state *out)
{
	struct crash_walk *walk = own;
	uint32_t line, version;
	if (step == 0)
		*walk = (struct crash_walk){ 0 };
	if (!crash_gen_walk(gen, walk, CRASH_WALK_NOT_HI, &line, &version))
		return false;
	crash_gen_set(gen, out, line, version);
	return true;
}

static void *start(struct crash_gen *gen)
{
	(void)gen;
	return xcalloc(1, sizeof(struct crash_walk));
}

static bool next(struct crash_gen *gen, void *own, struct crash_state *out)
{
	(void)own;
	return crash_gen_points(gen, out, at_point);
}

static void stop(void *own)
{
	free(own);
}

const struct crash_strategy crash_strategy_behind = {
	.name = "behind",
	.about = "everything is there but one line",
	.start = start,
	.next = next,
	.stop = stop,
};
