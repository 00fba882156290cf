/* SPDX-License-Identifier: BSD-3-Clause */
/* a+b: several strategies in turn, a state of each, as long as it has one. */
#include <stdlib.h>
#include <string.h>

#include "crash/strategy.h"

struct turns {
	VEC(struct crash_gen *) part;
	VEC(bool) done; /* by part: it has no more */
	size_t at;      /* the part that made the last state */
};

static void *start(struct crash_gen *gen)
{
	struct turns *t = xcalloc(1, sizeof *t);
	char *names = xstrdup(crash_gen_name(gen)), *rest = names;
	for (char *name; (name = strsep(&rest, "+"));) {
		VEC_PUSH(&t->part, crash_gen_part(gen, name));
		VEC_PUSH(&t->done, false);
	}
	t->at = t->part.n - 1;
	free(names);
	return t;
}

static bool next(struct crash_gen *gen, void *own, struct crash_state *out)
{
	struct turns *t = own;
	(void)gen;
	for (size_t i = 0; i < t->part.n; i++) {
		t->at = (t->at + 1) % t->part.n;
		if (!t->done.p[t->at] && crash_gen_next(t->part.p[t->at], out))
			return true;
		t->done.p[t->at] = true;
	}
	return false;
}

static void stop(void *own)
{
	struct turns *t = own;
	for (size_t i = 0; i < t->part.n; i++)
		crash_gen_free(t->part.p[i]);
	VEC_FREE(&t->part);
	VEC_FREE(&t->done);
	free(t);
}

static void tell(void *own, struct crash_progress *out)
{
	const struct turns *t = own;
	crash_gen_progress(t->part.p[t->at], out);
	out->phase = 0;
	out->phases = 1;
	out->ticket = out->ticket * t->part.n + t->at;
}

static void learn(void *own, size_t ticket, const struct crash_news *news)
{
	const struct turns *t = own;
	crash_gen_learn(t->part.p[ticket % t->part.n], ticket / t->part.n, news);
}

const struct crash_strategy crash_strategy_turns = {
	.name = "a+b",
	.about = "several in turn, a state of each",
	.start = start,
	.next = next,
	.stop = stop,
	.progress = tell,
	.learn = learn,
};
