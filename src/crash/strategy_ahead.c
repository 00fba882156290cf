/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Everything that is not guaranteed is lost, except that one line has run ahead, or two.
 *
 * First all that one write has stored to several lines; then each open line by itself, at some of its versions (see crash_gen_pick);
 * then pairs of lines, both at hi. There may be very many pairs, so the lines are put in the order in which
 * they became open, and neighbours come first, then next neighbours, and so on:
 *
 *      a b c d    ab bc cd   ac bd   ad
 */
#include <stdlib.h>

#include "crash/strategy.h"

#define MOST_PAIRS 64u

struct since {
	uint64_t event; /* of the line's first piece that is not guaranteed */
	uint32_t line;
};
struct ahead {
	struct crash_walk walk;
	bool alone;      /* whole writes are done */
	bool pairs;      /* the walk is over */
	size_t i, apart; /* the next pair: since[i] and since[i + apart] */
	size_t made;
	VEC(struct since) since;
};

static int by_event(const void *a, const void *b)
{
	const struct since *x = a, *y = b;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

/* A line that is the same at hi as at lo adds nothing to another. */
static void start_pairs(struct crash_gen *gen, struct ahead *a)
{
	size_t n;
	const uint32_t *open = crash_gen_some(gen, &n);
	for (size_t i = 0; i < n; i++) {
		uint32_t line = open[i], lo = crash_gen_lo(gen, line);
		if (crash_gen_contents(gen, line, lo) ==
		    crash_gen_contents(gen, line, crash_gen_hi(gen, line)))
			continue;
		VEC_PUSH(&a->since, ((struct since){ crash_gen_stored(gen, line, lo + 1), line }));
	}
	if (a->since.n)
		qsort(a->since.p, a->since.n, sizeof *a->since.p, by_event);
	a->apart = 1;
	a->pairs = true;
}

static bool next_pair(struct crash_gen *gen, struct ahead *a, struct crash_state *out)
{
	uint32_t one, two;
	if (a->i + a->apart >= a->since.n) {
		a->apart++;
		a->i = 0;
	}
	if (a->apart >= a->since.n || a->made == MOST_PAIRS)
		return false;
	one = a->since.p[a->i].line;
	two = a->since.p[a->i + a->apart].line;
	a->i++;
	a->made++;
	crash_gen_lost(gen, out);
	crash_gen_set(gen, out, one, crash_gen_hi(gen, one));
	crash_gen_set(gen, out, two, crash_gen_hi(gen, two));
	return true;
}

static void reset(struct ahead *a)
{
	VEC_FREE(&a->since);
	*a = (struct ahead){ 0 };
}

static bool at_point(struct crash_gen *gen, void *own, uint64_t step, struct crash_state *out)
{
	struct ahead *a = own;
	uint32_t line, version;
	if (step == 0)
		reset(a);
	if (!a->alone && crash_gen_whole(gen, CRASH_WALK_NOT_LO, step, out))
		return true;
	a->alone = true;
	if (!a->pairs && crash_gen_walk(gen, &a->walk, CRASH_WALK_NOT_LO, &line, &version)) {
		crash_gen_lost(gen, out);
		crash_gen_set(gen, out, line, version);
		return true;
	}
	if (!a->pairs)
		start_pairs(gen, a);
	return next_pair(gen, a, out);
}

static void *start(struct crash_gen *gen)
{
	(void)gen;
	return xcalloc(1, sizeof(struct ahead));
}

static bool next(struct crash_gen *gen, void *own, struct crash_state *out)
{
	(void)own;
	return crash_gen_points(gen, out, at_point);
}

static void stop(void *own)
{
	reset(own);
	free(own);
}

const struct crash_strategy crash_strategy_ahead = {
	.name = "ahead",
	.about = "what is guaranteed, and one write, one line or two that ran ahead",
	.start = start,
	.next = next,
	.stop = stop,
};
