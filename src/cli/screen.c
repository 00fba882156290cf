/* SPDX-License-Identifier: BSD-3-Clause */
/* The screen that shows how far a campaign is. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/campaign.h"

/* When the last cause was new: 0 seconds and fewer, before there was one. */
static double since_cause(const struct campaign_progress *p)
{
	static uint64_t causes;
	static double at;
	if (p->counts->causes != causes) {
		causes = p->counts->causes;
		at = p->spent;
	}
	return causes ? p->spent - at : 0;
}

static char *duration(double seconds)
{
	unsigned s = seconds > 0 ? (unsigned)seconds : 0;
	if (s < 60)
		return xasprintf("%u s", s);
	if (s < 3600)
		return xasprintf("%u min %u s", s / 60, s % 60);
	return xasprintf("%u h %u min", s / 3600, s / 60 % 60);
}

/* The first line is all there is where the rest has no place; a terminal has a screen. */
void campaign_say_screen(const struct campaign_progress *p)
{
	const struct crash_counts *n = p->counts;
	const char *strategy = n->strategy ? n->strategy : "sanity";
	double a_second = p->spent > 0 ? (double)n->tested / p->spent : 0, since = since_cause(p);
	char *spent = duration(p->spent), *left = duration(p->left), *last = duration(since);
	progress("crash: %s, point %zu of %" PRIu64 ", %" PRIu64 " images (%.0f/s), %" PRIu64
		 " cause%s, %s%s left\n"
		 "  strategy    %-14s part %zu of %zu\n"
		 "  states      %-14" PRIu64 " %" PRIu64 " the same image as another\n"
		 "  recoveries  %-14" PRIu64 " %.1f a second, %" PRIu64 " to find causes\n"
		 "  failing     %-14" PRIu64 " %" PRIu64 " hung, %" PRIu64 " flaky\n"
		 "  causes      %-14" PRIu64 " %s%s%s\n"
		 "  run time    %-14s %s%s left",
		 strategy, n->point + 1, n->points, n->tested, a_second, n->causes,
		 n->causes == 1 ? "" : "s", p->left > 0 ? "about " : "", p->left > 0 ? left : "?",
		 strategy, n->phase + (n->phases > 0), n->phases, n->generated, n->same, n->tested,
		 a_second, n->minimising, n->failed, n->hung, n->flaky, n->causes,
		 n->causes ? "the last new one " : "none yet", n->causes ? last : "",
		 n->causes ? " ago" : "", spent, p->left > 0 ? "about " : "",
		 p->left > 0 ? left : "?");
	free(spent);
	free(left);
	free(last);
}
