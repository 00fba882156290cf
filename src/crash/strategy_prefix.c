/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything is persisted in program order: at each point, all that was stored so far. */
#include "crash/strategy.h"

static bool at_point(struct crash_gen *gen, void *own, uint64_t step, struct crash_state *out)
{
	(void)gen;
	(void)own;
	(void)out; /* every line at hi */
	return step == 0;
}

static bool next(struct crash_gen *gen, void *own, struct crash_state *out)
{
	(void)own;
	return crash_gen_points(gen, out, at_point);
}

const struct crash_strategy crash_strategy_prefix = {
	.name = "prefix",
	.about = "program order: everything stored before the crash is there",
	.next = next,
};
