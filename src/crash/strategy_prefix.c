/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything is persisted in program order: at each point, all that was stored so far. */
#include "crash/strategy.h"

static bool at_point(struct crash_gen *gen, struct crash_state *out)
{
	(void)out; /* every line at hi */
	return gen->step == 0;
}

static bool next(struct crash_gen *gen, struct crash_state *out)
{
	return crash_gen_point(gen, out, at_point);
}

const struct crash_strategy crash_strategy_prefix = {
	.name = "prefix",
	.about = "program order: everything stored before the crash is there",
	.next = next,
};
