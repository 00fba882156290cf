/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything that is not guaranteed is lost. */
#include "crash/strategy.h"

static bool at_point(struct crash_gen *gen, struct crash_state *out)
{
	if (gen->step)
		return false;
	crash_gen_lost(gen, out);
	return true;
}

static bool next(struct crash_gen *gen, struct crash_state *out)
{
	return crash_gen_point(gen, out, at_point);
}

const struct crash_strategy crash_strategy_lost = {
	.name = "lost",
	.about = "only what is guaranteed is there",
	.next = next,
};
