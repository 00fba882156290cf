/* SPDX-License-Identifier: BSD-3-Clause */
/* What is said about a campaign, while it runs and at its end. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/campaign_internal.h"

void campaign_progress(void *campaign, const struct crash_counts *n)
{
	struct campaign *c = campaign;
	double now = now_seconds(), spent = now - c->started, part, left;
	if (now - c->said < 0.2)
		return;
	c->said = now;
	part = n->points ? ((double)n->phase + (double)n->point / (double)n->points) /
				   (double)(n->phases ? n->phases : 1)
			 : 0;
	left = part > 0.02 ? spent / part - spent : 0;
	progress("crash: %s, point %zu of %" PRIu64 ", %" PRIu64 " images (%.0f/s), %" PRIu64
		 " cause%s, %s%.0f s left",
		 n->strategy ? n->strategy : "sanity", n->point + 1, n->points, n->tested,
		 spent > 0 ? (double)n->tested / spent : 0, n->causes, n->causes == 1 ? "" : "s",
		 left > 0 ? "about " : "? ", left);
}

static char *possible(const struct crash_counts *n)
{
	if (n->possible < 6)
		return xasprintf("%.0f", __builtin_pow(10, n->possible));
	return xasprintf("10^%.0f", n->possible);
}

size_t campaign_notes(const struct campaign *c, char *notes[CAMPAIGN_NOTES])
{
	const struct crash_counts *n = crash_counts(c->crash);
	char *all = possible(n);
	size_t k = 0;
	notes[k++] = xasprintf("%" PRIu64 " failure points on %" PRIu64 " call paths (of %" PRIu64
			       " in the run), %s crash states possible there",
			       n->points, n->paths, n->points_found, all);
	notes[k++] =
		xasprintf("%" PRIu64 " states generated, %" PRIu64 " with an image of their own; "
			  "recovery ran %" PRIu64 " times, %" PRIu64 " of them to find causes",
			  n->generated, n->generated - n->same, n->tested, n->minimising);
	if (n->same || n->created || n->hangs || n->resumed)
		notes[k++] =
			xasprintf("not run: %" PRIu64 " with the same image as another, %" PRIu64
				  " known from before, %" PRIu64 " that contain a known hang; "
				  "not held against it: %" PRIu64 " before the pool was complete",
				  n->same, n->resumed, n->hangs, n->created);
	notes[k++] =
		xasprintf("seconds: tracing %.2f, reading the history %.2f, building images %.2f, "
			  "recovery %.2f (%u side by side)",
			  c->recording, n->read, n->build, n->recovery, runner_cells(c->runner));
	if (n->flaky)
		notes[k++] = xasprintf("recovery is flaky: %" PRIu64
				       " images got different verdicts when tried again",
				       n->flaky);
	free(all);
	return k;
}

char *campaign_incomplete(const struct campaign *c)
{
	const struct crash_counts *n = crash_counts(c->crash);
	const char *why = NULL;
	if (crash_damage(c->crash))
		return xasprintf("the trace is damaged: %s", crash_damage(c->crash));
	if (!c->whole && !trace_is_whole(c->reader, &why))
		return xstrdup(why);
	if (c->blind)
		return xstrdup("the recovery command reads nothing of the program's persistent "
			       "files: is it the right command, with the right path?");
	if (campaign_interrupted())
		return xasprintf("interrupted; holdfast crash --resume %s goes on", c->dir);
	if (n->cut)
		return xasprintf(
			"the budget ended it; holdfast crash --resume --budget … %s goes on",
			c->dir);
	return NULL;
}
