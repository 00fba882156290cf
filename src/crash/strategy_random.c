/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * States drawn at random, from a seed.
 *
 * Drawn evenly, nearly all states are alike: about half of everything is there. Bugs need a
 * few lines at an extreme while the others are nearly in order, so there are three draws:
 *
 *   extremes   each line at lo or at hi, with odds that are drawn too
 *   even       each line anywhere in lo … hi
 *   laggards   all lines as they were at some earlier event, but for a few
 *
 * With a budget and no count it goes round over all points until it is stopped, or until it
 * looks as if there were no more: many rounds in a row have made nothing that was not made before.
 */
#include <stdlib.h>

#include "crash/strategy.h"

#define PER_POINT 32u
#define PER_ROUND 4u /* at each point, if there are many rounds */
#define MOST_LAGGARDS 3u
#define STALE_ROUNDS 64u

struct rounds {
	bool endless;
	uint64_t count; /* states at a point, in one round */
	bool any;       /* there was a line to choose for in this round */
	/* endless ones only: */
	struct hmap made; /* hashes of the states so far */
	size_t before;    /* how many there were when the round began */
	unsigned stale;   /* rounds in a row without a new one */
};

/* A number in [lo, hi]. */
static uint64_t draw(struct crash_gen *gen, uint64_t lo, uint64_t hi)
{
	return lo + crash_gen_random(gen) % (hi - lo + 1);
}

static uint32_t draw_version(struct crash_gen *gen, uint32_t line)
{
	return (uint32_t)draw(gen, crash_gen_lo(gen, line), crash_gen_hi(gen, line));
}

static void extremes(struct crash_gen *gen, struct crash_state *out, const uint32_t *open, size_t n)
{
	uint64_t odds = draw(gen, 1, 7);
	for (size_t i = 0; i < n; i++)
		if (draw(gen, 0, 7) < odds)
			crash_gen_set(gen, out, open[i], crash_gen_lo(gen, open[i]));
}

static void even(struct crash_gen *gen, struct crash_state *out, const uint32_t *open, size_t n)
{
	for (size_t i = 0; i < n; i++)
		crash_gen_set(gen, out, open[i], draw_version(gen, open[i]));
}

static uint64_t oldest_piece(const struct crash_gen *gen, const uint32_t *open, size_t n)
{
	uint64_t oldest = crash_gen_event(gen);
	for (size_t i = 0; i < n; i++) {
		uint64_t event = crash_gen_stored(gen, open[i], crash_gen_lo(gen, open[i]) + 1);
		oldest = event < oldest ? event : oldest;
	}
	return oldest;
}

static void laggards(struct crash_gen *gen, struct crash_state *out, const uint32_t *open, size_t n)
{
	uint64_t event = draw(gen, oldest_piece(gen, open, n), crash_gen_event(gen));
	for (size_t i = 0; i < n; i++) {
		uint32_t lo = crash_gen_lo(gen, open[i]);
		uint32_t version = crash_gen_version_at(gen, open[i], event);
		crash_gen_set(gen, out, open[i], version > lo ? version : lo);
	}
	for (uint64_t i = draw(gen, 1, MOST_LAGGARDS); i; i--) {
		uint32_t line = open[draw(gen, 0, n - 1)];
		crash_gen_set(gen, out, line, draw_version(gen, line));
	}
}

static bool at_point(struct crash_gen *gen, void *own, uint64_t step, struct crash_state *out)
{
	struct rounds *r = own;
	size_t n;
	const uint32_t *open = crash_gen_open(gen, &n);
	if (!n || step >= r->count)
		return false;
	r->any = true;
	switch (draw(gen, 0, 3)) {
	case 0: even(gen, out, open, n); break;
	case 1: laggards(gen, out, open, n); break;
	default: extremes(gen, out, open, n); break;
	}
	return true;
}

static void *start(struct crash_gen *gen)
{
	const struct crash_wishes *wishes = crash_gen_wishes(gen);
	struct rounds *r = xcalloc(1, sizeof *r);
	r->endless = !wishes->random && wishes->budget;
	r->count = wishes->random ? wishes->random : r->endless ? PER_ROUND : PER_POINT;
	return r;
}

static bool go_round(struct crash_gen *gen, struct rounds *r)
{
	r->stale = r->made.n > r->before ? 0 : r->stale + 1;
	if (!r->endless || !r->any || r->stale == STALE_ROUNDS)
		return false;
	r->before = r->made.n;
	r->any = false;
	crash_gen_again(gen);
	return true;
}

static bool next(struct crash_gen *gen, void *own, struct crash_state *out)
{
	struct rounds *r = own;
	while (!crash_gen_points(gen, out, at_point))
		if (!go_round(gen, r))
			return false;
	if (r->endless)
		hmap_put(&r->made, crash_gen_image(gen, out), 1);
	return true;
}

static void stop(void *own)
{
	struct rounds *r = own;
	hmap_free(&r->made);
	free(r);
}

const struct crash_strategy crash_strategy_random = {
	.name = "random",
	.about = "states drawn at random, from a seed",
	.start = start,
	.next = next,
	.stop = stop,
};
