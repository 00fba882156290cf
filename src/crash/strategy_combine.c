/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Strategies made of others.
 *
 *   auto   one after the other; each begins when all verdicts on the one before are there
 *   a+b    in turn: a state of each, as long as it has one
 */
#include <stdlib.h>
#include <string.h>

#include "crash/strategy.h"

struct combined {
	VEC(struct crash_gen *) part;
	VEC(bool) done; /* by part: it has no more */
	size_t at;      /* the part that made the last state */
};

static void add(struct crash_gen *gen, struct combined *c, const char *name)
{
	VEC_PUSH(&c->part, crash_gen_part(gen, name));
	VEC_PUSH(&c->done, false);
}

static void stop(void *own)
{
	struct combined *c = own;
	for (size_t i = 0; i < c->part.n; i++)
		crash_gen_free(c->part.p[i]);
	VEC_FREE(&c->part);
	VEC_FREE(&c->done);
	free(c);
}

/* ---- one after the other ---- */

static void *start_auto(struct crash_gen *gen)
{
	static const char *const parts[] = { "prefix", "lost", "ahead", "behind", "random" };
	struct combined *c = xcalloc(1, sizeof *c);
	if (crash_gen_breaches(gen))
		add(gen, c, "invariants");
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		add(gen, c, parts[i]);
	return c;
}

static bool next_auto(struct crash_gen *gen, void *own, struct crash_state *out)
{
	struct combined *c = own;
	(void)gen;
	for (; c->at < c->part.n; c->at++)
		if (crash_gen_next(c->part.p[c->at], out))
			return true;
	return false;
}

static void progress_auto(void *own, struct crash_progress *out)
{
	const struct combined *c = own;
	size_t at = c->at < c->part.n ? c->at : c->part.n - 1;
	crash_gen_progress(c->part.p[at], out);
	out->phase = at;
	out->phases = c->part.n;
}

const struct crash_strategy crash_strategy_auto = {
	.name = "auto",
	.about = "prefix, lost, ahead, behind and random, one after the other; before them, where "
		 "dependences were recorded, invariants",
	.start = start_auto,
	.next = next_auto,
	.stop = stop,
	.progress = progress_auto,
};

/* ---- in turn ---- */

static void *start_turns(struct crash_gen *gen)
{
	struct combined *c = xcalloc(1, sizeof *c);
	char *names = xstrdup(crash_gen_name(gen)), *rest = names;
	for (char *name; (name = strsep(&rest, "+"));)
		add(gen, c, name);
	c->at = c->part.n - 1;
	free(names);
	return c;
}

static bool next_turns(struct crash_gen *gen, void *own, struct crash_state *out)
{
	struct combined *c = own;
	(void)gen;
	for (size_t i = 0; i < c->part.n; i++) {
		c->at = (c->at + 1) % c->part.n;
		if (!c->done.p[c->at] && crash_gen_next(c->part.p[c->at], out))
			return true;
		c->done.p[c->at] = true;
	}
	return false;
}

static void progress_turns(void *own, struct crash_progress *out)
{
	const struct combined *c = own;
	crash_gen_progress(c->part.p[c->at], out);
	out->phase = 0;
	out->phases = 1;
}

const struct crash_strategy crash_strategy_turns = {
	.name = "a+b",
	.about = "several in turn, a state of each",
	.start = start_turns,
	.next = next_turns,
	.stop = stop,
	.progress = progress_turns,
};
