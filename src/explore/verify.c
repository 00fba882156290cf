/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The self-check: do the pools hold what is recorded? The files of a run that is a fork are gone with
 * it. So a few inputs are recorded once more at the end, as `holdfast record` does it, which compares
 * them: the first one, and those of findings on paths of their own. What is recorded to be crashed
 * is looked at as well.
 */
#include <stdlib.h>

#include "explore/internal.h"

#define MOST 3 /* findings of a round */

void explore_verify_recording(struct explore *x, const char *dir)
{
	struct err ignored;
	struct trace_event e;
	struct trace_reader *r = x->tally.differs ? NULL : trace_open(dir, &ignored);
	while (r && trace_next(r, &e, &ignored) == 1)
		; /* what it found is known at the end */
	const char *text = r ? trace_differs(trace_defs(r)) : NULL;
	if (text)
		x->tally.differs = xstrdup(text);
	trace_close(r);
}

static void verify_input(struct explore *x, const struct symbolic_input *in)
{
	struct explore_stage stage = explore_stage(x);
	struct err ignored;
	char *dir = xasprintf("%s/" EXPLORE_TRY, x->folder->dir), *trace;
	trace = xasprintf("%s/trace", dir);
	if (!explore_files(stage.program, stage.plan, in, dir, &ignored) &&
	    !explore_record(&stage, dir, trace, &ignored))
		explore_verify_recording(x, dir);
	free(trace);
	free(dir);
}

/*
 * Memory that the program names cannot be given to it without the explorer; a server must be talked to, and
 * is recorded only to be crashed; and what hangs would have to be waited for.
 */
static bool can_be_recorded(const struct explore *x)
{
	for (size_t i = 0; i < x->plan->source.n; i++) {
		uint32_t kind = x->plan->source.p[i].kind;
		if (kind == SYM_SRC_MEMORY || kind == SYM_SRC_SOCKET)
			return false;
	}
	return !x->tally.differs && !x->deaths.hung && !explore_stopped(x);
}

static bool to_be_verified(const struct explore *x, const struct explore_hit *hit)
{
	return hit->phase == x->plan->phase && !hit->death && !hit->campaign && hit->trail;
}

void explore_verify(struct explore *x)
{
	struct hmap known = { 0 }; /* paths */
	uint64_t n;
	double began = now_seconds();
	if (can_be_recorded(x))
		verify_input(x, &x->plan->seed.p[0]);
	for (size_t i = 0; i < x->found.hit.n && known.n < MOST && can_be_recorded(x); i++) {
		const struct explore_hit *hit = &x->found.hit.p[i];
		if (!to_be_verified(x, hit) || hmap_get(&known, hit->trail, &n))
			continue;
		hmap_put(&known, hit->trail, 1);
		verify_input(x, &hit->input);
	}
	hmap_free(&known);
	x->tally.verifying += now_seconds() - began;
}
