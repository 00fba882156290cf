/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything that was stored is there, except that one line lags behind. */
#include <stdlib.h>

#include "crash/strategy.h"

static bool at_point(struct crash_gen *gen, struct crash_state *out)
{
	struct crash_walk *walk = gen->own;
	struct crash_at one;

	if (gen->step == 0)
		*walk = (struct crash_walk){ 0 };
	if (!crash_walk_next(gen, walk, CRASH_WALK_NOT_HI, &one))
		return false;
	crash_state_set(out, gen->cursor, one.line, one.version);
	return true;
}

static void start(struct crash_gen *gen)
{
	gen->own = xcalloc(1, sizeof(struct crash_walk));
}

static bool next(struct crash_gen *gen, struct crash_state *out)
{
	return crash_gen_point(gen, out, at_point);
}

static void stop(struct crash_gen *gen)
{
	free(gen->own);
	gen->own = NULL;
}

const struct crash_strategy crash_strategy_behind = {
	.name = "behind",
	.about = "everything is there but one line",
	.start = start,
	.next = next,
	.stop = stop,
};
