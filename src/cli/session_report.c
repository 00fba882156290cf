/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run of crash or test says at its end. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/session.h"
#include "fix/fix.h"

#define STATS 14

/* Flushes and fences are not what such a program lacks. */
bool session_is_about_files(const char *model)
{
	return model_find(model)->files != MODEL_FILES_AT_ONCE;
}

static size_t fill_stats(const struct session_work *w, struct report_stat stat[STATS])
{
	const struct crash_counts *n = crash_counts(campaign_crash(w->campaign));
	const struct report_stat all[] = {
		{ "points", (double)n->points },       { "paths", (double)n->paths },
		{ "possible_log10", n->possible },     { "generated", (double)n->generated },
		{ "same", (double)n->same },           { "tested", (double)n->tested },
		{ "resumed", (double)n->resumed },     { "failed", (double)n->failed },
		{ "seconds_tracing", w->rec.seconds }, { "seconds_reading", n->read },
		{ "seconds_building", n->build },      { "seconds_recovery", n->recovery },
		{ "hung", (double)n->hung },           { "waited", (double)n->waited },
	};
	memcpy(stat, all, sizeof all);
	return sizeof all / sizeof *all;
}

/* What the line "nothing found" says more; xmalloc'ed. */
static char *looked(struct campaign *c)
{
	struct trace_reader *trace = campaign_trace(c);
	struct run_seen seen = { 0 };
	struct trace_event e;
	struct err ignored; /* a damaged trace is known as such */
	if (!trace_seek(trace, 0, &ignored))
		while (trace_next(trace, &e, &ignored) == 1)
			run_see(&seen, &e);
	char *more = campaign_say_left(c);
	char *text = run_looked(&seen, trace_defs(trace), more);
	free(more);
	return text;
}

/* A program may end when its disk fails. */
static struct launch_result result_of(const struct session_work *w, const struct trace_defs *defs)
{
	struct launch_result res = w->rec.result;
	if (w->rec.kind[TRACE_FAULT] && !launch_died(defs) &&
	    (!res.signal || res.signal == SIGABRT))
		res.status = res.signal = 0;
	return res;
}

static char *incomplete(const struct session_work *w, bool *broken)
{
	const struct trace_defs *defs = trace_defs(campaign_trace(w->campaign));
	char *end = NULL, *why = campaign_say_incomplete(w->campaign, broken);
	if (w->live) {
		struct launch_result res = result_of(w, defs);
		end = run_end(&res, defs, "recording", broken);
	} else if (launch_died(defs)) {
		end = xstrdup(RUN_DIED);
		*broken = true;
	}
	if (!why)
		return w->live ? end : run_differs(end, trace_differs(defs));
	free(end);
	return run_differs(why, trace_differs(defs));
}

int session_report(struct session_work *w)
{
	struct campaign *c = w->campaign;
	struct crash *crash = campaign_crash(c);
	struct report_stat stats[STATS];
	size_t ncommand;
	char **command = launch_command(trace_defs(campaign_trace(c)), &ncommand);
	bool broken = false;
	char *notes[CAMPAIGN_NOTES], *why = incomplete(w, &broken), *seen = NULL;
	campaign_report(c, &w->set);
	output_filter(&w->out, &w->set);
	if (finding_suppressed(&w->set) == w->set.v.n)
		seen = looked(c);
	struct report r = {
		.verb = w->s->verb,
		.model = campaign_model(c),
		.command = (const char *const *)command,
		.ncommand = ncommand,
		.incomplete = why,
		.broken = broken,
		.looked = seen,
		.findings = &w->set,
		.stats = stats,
		.nstats = fill_stats(w, stats),
		.notes = (const char *const *)notes,
		.nnotes = campaign_say_notes(c, w->rec.seconds, notes),
	};
	const struct campaign_chart *chart = campaign_chart_of(c);
	struct report_chart picture = { (const char *const *)chart->name.p, chart->name.n,
					chart->v.p,
					chart->name.n ? chart->v.n / chart->name.n : 0 };
	struct err ignored; /* what is not kept for serve is in the report all the same */
	r.chart = picture.n ? &picture : NULL;
	(void)campaign_keep_words(campaign_results(c), why, seen, r.notes, r.nnotes, &ignored);
	char *repair = session_is_about_files(campaign_model(c)) ? NULL : fix_hint(&w->set, w->dir);
	r.repair = repair;
	int status = output_write(&w->out, &r, w->live ? stderr : stdout);
	free(repair);
	output_say_stale(&w->out);
	for (size_t i = 0; crash_stale(crash, i); i++)
		msg_warn("%s has changed since it was recorded: its places are not shown",
			 crash_stale(crash, i));
	for (size_t i = 0; i < r.nnotes; i++)
		free(notes[i]);
	free(why);
	free(seen);
	free(command);
	return status;
}
