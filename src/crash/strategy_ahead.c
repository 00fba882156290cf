/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Everything that is not guaranteed is lost, except that one line has run ahead, or two.
 *
 * First each open line by itself, at some of its versions (see crash_gen_pick); then pairs of
 * lines, both at hi. There may be very many pairs, so the lines are put in the order in which
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
	const struct crash_cursor *c = gen->cursor;
	size_t n;
	const uint32_t *open = crash_gen_some(gen, &n);

	for (size_t i = 0; i < n; i++) {
		uint32_t line = open[i];

		if (crash_contents_hash(gen->h, line, c->lo[line]) ==
		    crash_contents_hash(gen->h, line, c->hi[line]))
			continue;
		VEC_PUSH(&a->since,
			 ((struct since){ crash_piece_of(gen->h, line, c->lo[line] + 1)->event,
					  line }));
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
	crash_state_set(out, gen->cursor, one, gen->cursor->hi[one]);
	crash_state_set(out, gen->cursor, two, gen->cursor->hi[two]);
	return true;
}

static void reset(struct ahead *a)
{
	VEC_FREE(&a->since);
	*a = (struct ahead){ 0 };
}

static bool at_point(struct crash_gen *gen, struct crash_state *out)
{
	struct ahead *a = gen->own;
	struct crash_at one;

	if (gen->step == 0)
		reset(a);
	if (!a->pairs && crash_walk_next(gen, &a->walk, CRASH_WALK_NOT_LO, &one)) {
		crash_gen_lost(gen, out);
		crash_state_set(out, gen->cursor, one.line, one.version);
		return true;
	}
	if (!a->pairs)
		start_pairs(gen, a);
	return next_pair(gen, a, out);
}

static void start(struct crash_gen *gen)
{
	gen->own = xcalloc(1, sizeof(struct ahead));
}

static bool next(struct crash_gen *gen, struct crash_state *out)
{
	return crash_gen_point(gen, out, at_point);
}

static void stop(struct crash_gen *gen)
{
	reset(gen->own);
	free(gen->own);
	gen->own = NULL;
}

const struct crash_strategy crash_strategy_ahead = {
	.name = "ahead",
	.about = "what is guaranteed, and one line or two that ran ahead",
	.start = start,
	.next = next,
	.stop = stop,
};
