/* SPDX-License-Identifier: BSD-3-Clause */
/* What an exploration has to say of itself: its numbers, and how far it got. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/explore.h"

#define NAMED 5 /* operations and places that were not followed */

size_t explore_note_stats(const struct explore_result *r, const struct symbolic_stats *s,
			  size_t jobs, struct report_stat stat[EXPLORE_STATS])
{
	const struct report_stat all[] = {
		{ "runs", (double)s->runs },
		{ "paths", (double)s->paths },
		{ "seconds", r->seconds },
		{ "cores", (double)jobs },
		{ "queries", (double)s->solve.queries },
		{ "sat", (double)s->solve.sat },
		{ "unsat", (double)s->solve.unsat },
		{ "z3_queries", (double)s->solve.z3 },
		{ "cache_hits", (double)s->solve.cache_hits },
		{ "solver_seconds", s->solve.seconds },
		{ "check_seconds", r->checking },
		{ "self_check_seconds", r->verifying },
		{ "diverged", (double)s->diverged },
		{ "predicted", (double)s->predicted },
		{ "timeouts", (double)s->solve.timeouts },
		{ "infeasible", (double)s->infeasible },
		{ "candidates", (double)s->candidates },
		{ "dropped", (double)s->dropped },
		{ "branches", (double)s->branches },
		{ "nodes", (double)s->nodes },
		{ "memory", (double)s->memory },
		{ "blocks", (double)s->blocks },
		{ "blocks_known", (double)s->blocks_all },
		{ "pm_sites", (double)s->pm },
		{ "pm_sites_known", (double)s->pm_all },
		{ "behaviours", (double)s->behaviours },
		{ "crashed", (double)r->crashed },
		{ "hung", (double)r->hung },
		{ "campaigns", (double)r->campaigns },
		{ "left", (double)r->nleft },
	};
	memcpy(stat, all, sizeof all);
	return sizeof all / sizeof *all;
}

static char *concrete_note(const struct explore_result *r)
{
	struct buf b = { 0 };
	buf_puts(&b, "not followed, their values taken as they were:");
	for (size_t i = 0; i < r->nconcrete && i < NAMED; i++)
		buf_printf(&b, "%s %s (%" PRIu64 ")", i ? "," : "", r->concrete[i].name,
			   r->concrete[i].n);
	if (r->nconcrete > NAMED)
		buf_printf(&b, " and %zu more", r->nconcrete - NAMED);
	buf_add(&b, "", 1);
	return b.p;
}

static char *left_note(const struct explore_result *r)
{
	struct buf b = { 0 };
	buf_puts(&b, "input bytes left ");
	for (size_t i = 0; i < r->nleft && i < NAMED; i++)
		buf_printf(&b, "%s%s%s%s", i ? ", " : "", r->left[i].how,
			   *r->left[i].at ? " at " : "", r->left[i].at);
	if (r->nleft > NAMED)
		buf_printf(&b, " and %zu more", r->nleft - NAMED);
	buf_puts(&b, " and were not followed: what depends on them is not explored");
	buf_add(&b, "", 1);
	return b.p;
}

static double percent(double part, double of)
{
	return of > 0 ? 100 * part / of : 0;
}

static size_t odd_notes(const struct explore_result *r, const struct symbolic_stats *s, bool pin,
			char **notes)
{
	size_t k = 0;
	if (r->nconcrete)
		notes[k++] = concrete_note(r);
	if (s->diverged)
		notes[k++] =
			xasprintf("%" PRIu64 " of %" PRIu64 " runs did not take the branch that "
				  "they were made for (%.1f%%)%s",
				  s->diverged, s->predicted,
				  percent((double)s->diverged, (double)s->predicted),
				  pin ? ""
				      : "; does the program read the time or random "
					"numbers? --pin fixes them");
	if (s->solve.timeouts)
		notes[k++] = xasprintf("%" PRIu64 " questions were too hard for the solver in the "
				       "time that it has (--solver-timeout)",
				       s->solve.timeouts);
	if (s->dropped)
		notes[k++] = xasprintf("%" PRIu64 " branches were given up for lack of memory "
				       "(--max-memory)",
				       s->dropped);
	if (r->tracer_only)
		notes[k++] = xasprintf("%" PRIu64 " runs crashed or hung under the tracer, but not "
				       "without it: not reported",
				       r->tracer_only);
	if (r->dirtied)
		notes[k++] =
			xasprintf("%" PRIu64 " runs changed what the next one would have seen: "
				  "the program was started again",
				  r->dirtied);
	if (r->alone)
		notes[k++] = xasprintf("each run was a new process: %s", r->alone);
	if (r->unwell)
		notes[k++] = xasprintf("%" PRIu64 " paths could not be crashed: %s", r->unwell,
				       r->why_unwell);
	return k;
}

size_t explore_note_all(const struct explore_result *r, const struct symbolic_stats *s,
			const struct explore_opts *o, char *notes[EXPLORE_NOTES])
{
	double spent = r->seconds > 0 ? r->seconds : 1e-9;
	uint64_t easy = s->solve.trivial + s->solve.cache_hits + s->solve.enumerated;
	size_t k = 0;
	notes[k++] = xasprintf("%" PRIu64 " paths in %" PRIu64 " runs, %.1f s: %.1f runs a second "
			       "and core; %" PRIu64 " branch%s left to try",
			       s->paths, s->runs, r->seconds,
			       (double)s->runs / spent / (double)o->limits.jobs, s->candidates,
			       s->candidates == 1 ? "" : "es");
	notes[k++] = xasprintf("%zu of %zu basic blocks of the program, %zu of %zu known PM "
			       "instructions, %" PRIu64 " different sequences of them",
			       s->blocks, s->blocks_all, s->pm, s->pm_all, s->behaviours);
	notes[k++] = xasprintf("solver: %" PRIu64 " questions, %.0f%% of the time; %.0f%% answered "
			       "without Z3, %.0f%% from the cache; %" PRIu64 " impossible",
			       s->solve.queries, percent(s->solve.seconds, spent),
			       percent((double)easy, (double)s->solve.queries),
			       percent((double)s->solve.cache_hits, (double)s->solve.queries),
			       s->solve.unsat);
	if (r->campaigns)
		notes[k++] =
			xasprintf("%" PRIu64 " paths were crashed: those that do to PM what no "
				  "path before did",
				  r->campaigns);
	return k + odd_notes(r, s, o->program.pin, notes + k);
}

static char *broken_off(const struct explore_result *r, const char *shown)
{
	if (r->stopped)
		return xasprintf("interrupted; holdfast explore --resume %s goes on", shown);
	if (r->lost)
		return xasprintf("the tracer was killed, or failed, in %" PRIu64 " run%s", r->lost,
				 r->lost == 1 ? "" : "s");
	if (r->cut && (!r->used || !r->kind[TRACE_STORE]))
		return xasprintf("%s; holdfast explore --resume %s goes on", r->cut, shown);
	if (!r->used)
		return xstrdup(
			"the program never used the symbolic input: there was only one path");
	if (!r->kind[TRACE_STORE])
		return xstrdup("the program never wrote persistent memory: there was nothing to "
			       "check");
	if (r->cut)
		return xasprintf("%s; holdfast explore --resume %s goes on", r->cut, shown);
	return NULL;
}

char *explore_note_incomplete(const struct explore_result *r, const char *shown)
{
	char *why = broken_off(r, shown), *left = r->nleft ? left_note(r) : NULL, *both;
	if (!why || !left)
		return why ? why : left;
	both = xasprintf("%s; %s", why, left);
	free(why);
	free(left);
	return both;
}

char *explore_note_looked(const struct explore_result *r, const struct symbolic_stats *s,
			  bool follow_forks)
{
	struct buf b = { 0 };
	const char *before = "; not looked at: ";
	buf_printf(&b, " on %" PRIu64 " path%s, each in one schedule", s->paths,
		   s->paths == 1 ? "" : "s");
	if (s->candidates) {
		buf_printf(&b, "%s%" PRIu64 " branch%s left to try", before, s->candidates,
			   s->candidates == 1 ? "" : "es");
		before = ", ";
	}
	if (s->dropped) {
		buf_printf(&b, "%s%" PRIu64 " given up for lack of memory", before, s->dropped);
		before = ", ";
	}
	if (r->nconcrete) {
		buf_printf(&b, "%sother results of what was not followed", before);
		before = ", ";
	}
	if (r->nleft) {
		buf_printf(&b, "%swhat depends on input that was not followed", before);
		before = ", ";
	}
	if (r->kind[TRACE_FORK] && !follow_forks) {
		buf_printf(&b, "%schild processes (--follow-forks)", before);
		before = ", ";
	}
	if (r->unwell)
		buf_printf(&b, "%scrashes of %" PRIu64 " path%s", before, r->unwell,
			   r->unwell == 1 ? "" : "s");
	buf_add(&b, "", 1);
	return b.p;
}
