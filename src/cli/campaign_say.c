/* SPDX-License-Identifier: BSD-3-Clause */
/* A campaign in words, while it runs and at its end. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/campaign.h"

#define LONG 300.0 /* seconds */

void campaign_say_view(const struct campaign *c)
{
	size_t n;
	const struct runner_file *file = crash_files(campaign_crash(c), false, &n);
	while (n && file[n - 1].beside)
		n--;
	const struct sandbox_view *view = runner_view(campaign_runner(c));
	msg_info("recovery sees the image%s %s%s%s", n > 1 ? "s" : "", view->text,
		 view->lacks ? ": " : "", view->lacks ? view->lacks : "");
}

/* "2 s", "40 minutes", "3 hours"; xmalloc'ed. */
static char *time_text(double seconds)
{
	if (seconds < 1)
		return xstrdup("a second");
	if (seconds < 100)
		return xasprintf("%.0f seconds", seconds);
	if (seconds < 100 * 60)
		return xasprintf("%.0f minutes", seconds / 60);
	return seconds < 100 * 3600 ? xasprintf("%.0f hours", seconds / 3600)
				    : xasprintf("%.0f days", seconds / 86400);
}

static void say_plan(const struct campaign_plan *p)
{
	char *all = time_text(p->seconds), *end = time_text(p->budget);
	char *limit = p->asked ? xstrdup("")
		      : p->affords || !p->known
			      ? xasprintf("; it ends after %s, --budget none tests all", end)
			      : xasprintf("; it ends after %s in any case", end);
	if (!p->known)
		msg_info("nobody can tell how many images there are to test: the run is long%s",
			 limit);
	else if (p->affords)
		msg_info("about %" PRIu64
			 " images to test, which takes about %s; the budget is enough "
			 "for about %" PRIu64 " of them, the most telling first%s",
			 p->images, all, p->affords, limit);
	else
		msg_info("about %" PRIu64 " images to test, which takes about %s%s%s", p->images,
			 all, limit,
			 p->asked && p->seconds > LONG
				 ? "; --budget 5m would test the most telling of them"
				 : "");
	free(limit);
	free(all);
	free(end);
}

void campaign_say_progress(void *arg, const struct campaign_progress *p)
{
	(void)arg;
	if (p->begins)
		say_plan(p->begins);
	else
		campaign_say_screen(p);
}

static char *possible(const struct crash_counts *n)
{
	if (n->possible < 6)
		return xasprintf("%.0f", __builtin_pow(10, n->possible));
	return xasprintf("10^%.0f", n->possible);
}

/* What was printed otherwise than expected, and is no finding. */
static size_t say_forgiven(const struct campaign *c, const struct crash_counts *n, char *notes[])
{
	size_t k = 0;
	if (n->chatter)
		notes[k++] =
			xasprintf("taken for messages of recovery: '%s' and the like, which came "
				  "in %" PRIu64 " states, and not when asked again",
				  crash_messages(campaign_crash(c)), n->chatter);
	if (n->shuffled)
		notes[k++] = xasprintf("%" PRIu64 " times entries were all there in another order, "
				       "which is no finding",
				       n->shuffled);
	return k;
}

size_t campaign_say_notes(const struct campaign *c, double recording, char *notes[CAMPAIGN_NOTES])
{
	const struct crash_counts *n = crash_counts(campaign_crash(c));
	uint64_t proved = campaign_proofs(c, FINDING_PROVED);
	uint64_t harmless = campaign_proofs(c, FINDING_HARMLESS);
	uint64_t open = campaign_proofs(c, FINDING_OPEN);
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
	if (n->elsewhere)
		notes[k++] = xasprintf("%" PRIu64 " states belong to other shards", n->elsewhere);
	if (proved + harmless + open)
		notes[k++] = xasprintf("what check suspects of stores: %" PRIu64 " proved, %" PRIu64
				       " harmless for this recovery, %" PRIu64 " open",
				       proved, harmless, open);
	notes[k++] = xasprintf(
		"seconds: tracing %.2f, reading the history %.2f, building images %.2f, "
		"recovery %.2f (%u side by side)",
		recording, n->read, n->build, n->recovery, runner_cells(campaign_runner(c)));
	if (crash_operations(campaign_crash(c)))
		notes[k++] = xstrdup(crash_operations(campaign_crash(c)));
	char *faults = crash_faults(campaign_crash(c));
	if (faults)
		notes[k++] = faults;
	k += say_forgiven(c, n, notes + k);
	if (n->hung)
		notes[k++] = xasprintf("%" PRIu64 " recoveries did not end; %" PRIu64
				       " of them were given the whole timeout, the others ten "
				       "times as long as the slowest that succeeded",
				       n->hung, n->waited);
	if (n->flaky)
		notes[k++] = xasprintf("recovery is flaky: %" PRIu64
				       " images got different verdicts when tried again",
				       n->flaky);
	free(all);
	return k;
}

char *campaign_say_left(const struct campaign *c)
{
	if (campaign_is_blind(c))
		return xstrdup("what a recovery that reads the PM files would say");
	if (crash_counts(campaign_crash(c))->cut || campaign_interrupted())
		return xstrdup("the crash states that were left");
	if (crash_counts(campaign_crash(c))->unjudged)
		return xasprintf("what is printed in %" PRIu64
				 " crash states in which operations of several threads overlap",
				 crash_counts(campaign_crash(c))->unjudged);
	return NULL;
}

char *campaign_say_incomplete(const struct campaign *c, bool *broken)
{
	const struct crash *crash = campaign_crash(c);
	const char *why = NULL;
	*broken = crash_damage(crash) || !trace_is_whole(campaign_trace(c), &why) ||
		  campaign_interrupted();
	if (crash_damage(crash))
		return xasprintf("the trace is damaged: %s", crash_damage(crash));
	if (why)
		return xstrdup(why);
	if (campaign_is_blind(c))
		return xstrdup("the recovery command reads nothing of the program's persistent "
			       "files: is it the right command, with the right path?");
	if (crash_deaf(crash))
		return xasprintf(
			"what is printed is the same before and after each of the %zu operations that "
			"were looked at: does it show what they do?",
			crash_deaf(crash));
	if (campaign_missing(c))
		return xstrdup(campaign_missing(c));
	if (campaign_interrupted())
		return xasprintf("interrupted; holdfast crash --resume %s goes on",
				 campaign_dir(c));
	const struct crash_counts *n = crash_counts(crash);
	char *left = n->unexplained ? xasprintf(", with %" PRIu64 " failing state%s unexplained",
						n->unexplained, n->unexplained == 1 ? "" : "s")
				    : xstrdup("");
	char *text = xasprintf(
		"the budget ended it%s%s; holdfast crash --resume --budget … %s goes on",
		n->generated ? "" : " before the first crash state", left, campaign_dir(c));
	free(left);
	char *unknown = crash_unknown(crash), *both = NULL;
	if (n->cut) {
		*broken = *broken || !n->generated || (n->unexplained && !n->causes);
		both = unknown ? xasprintf("%s; %s", text, unknown) : xstrdup(text);
		free(unknown);
	}
	free(text);
	return both ? both : unknown;
}
