/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything that is not guaranteed is lost. */
#include "crash/strategy.h"

static bool at_point(struct crash_gen *gen, void *own, uint64_t step, struct crash_state *out)
{
	(void)own;
	if (step)
		return false;
	crash_gen_lost(gen, out);
	return true;
}

static bool next(struct crash_gen *gen, void *own, struct crash_state *out)
{
	(void)own;
	return crash_gen_points(gen, out, at_point);
}

const struct crash_strategy crash_strategy_lost = {
	.name = "lost",
	.about = "only what is guaranteed is there",
	.next = next,
};
