/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything that was stored is there, except that one line lags behind, or all that one write has stored. */
#include <stdlib.h>

#include "crash/strategy.h"

struct behind {
	struct crash_walk walk;
	bool lines; /* whole writes are done */
};

static bool at_point(struct crash_gen *gen, void *own, uint64_t step, struct crash_state *out)
{
	struct behind *b = own;
	uint32_t line, version;
	if (step == 0)
		*b = (struct behind){ 0 };
	if (!b->lines && crash_gen_whole(gen, CRASH_WALK_NOT_HI, step, out))
		return true;
	b->lines = true;
	if (!crash_gen_walk(gen, &b->walk, CRASH_WALK_NOT_HI, &line, &version))
		return false;
	crash_gen_set(gen, out, line, version);
	return true;
}

static void *start(struct crash_gen *gen)
{
	(void)gen;
	return xcalloc(1, sizeof(struct behind));
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
	.about = "everything is there but one line, or one write",
	.start = start,
	.next = next,
	.stop = stop,
};
