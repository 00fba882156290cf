/* SPDX-License-Identifier: BSD-3-Clause */
/* What is said about an exploration, while it runs and at its end. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/explore.h"

#define SAY_EVERY 0.2

/* ---- while it runs ---- */

static void say_step(void *arg, struct explore *x)
{
	struct explore_voice *v = arg;
	double now = now_seconds();
	if (now - v->said < SAY_EVERY)
		return;
	v->said = now;
	struct symbolic_stats s = explore_stats(x);
	struct explore_result r = explore_result(x);
	size_t n = r.findings->v.n;
	progress("explore: %" PRIu64 " paths (%.0f/s), %" PRIu64 " queries, %zu of %zu blocks, "
		 "%zu PM sites, %" PRIu64 " to do, %zu finding%s, %.0f s",
		 s.paths, r.seconds > 0 ? (double)s.runs / r.seconds : 0, s.solve.queries, s.blocks,
		 s.blocks_all, s.pm, s.candidates, n, n == 1 ? "" : "s", r.seconds);
}

static void say_view(void *arg, const char *text, const char *lacks)
{
	(void)arg;
	msg_info("runs are kept apart %s%s%s", text, lacks ? ": " : "", lacks ? lacks : "");
}

static void say_alone(void *arg, const char *why)
{
	(void)arg;
	msg_info("each run is a new process: %s", why);
}

static void say_wrong(void *arg, uint64_t n, const char *example)
{
	(void)arg;
	msg_warn("%" PRIu64 " expressions had another value than the machine; the first: %s", n,
		 example);
}

static void say_round(void *arg, struct explore *x, bool last)
{
	const struct explore_voice *v = arg;
	progress_end();
	if (last && v->cli->show_priorities)
		explore_priorities_print(x, stdout);
}

const struct explore_hooks explore_say_hooks = {
	.step = say_step,
	.view = say_view,
	.alone = say_alone,
	.wrong = say_wrong,
	.round = say_round,
};

/* ---- the report ---- */

int explore_say_report(const struct explore_setup *setup, struct explore *x,
		       const struct output *out)
{
	const struct explore_opts *o = &setup->opts;
	struct explore_result r = explore_result(x);
	struct symbolic_stats s = explore_stats(x);
	struct report_stat stats[EXPLORE_STATS];
	char *notes[EXPLORE_NOTES],
		*why = explore_note_incomplete(&r, explore_folder_shown(setup->folder));
	why = run_differs(why, r.differs);
	char *seen = explore_note_looked(&r, &s, setup->cli->run.follow_forks);
	struct report_chart chart = { explore_columns, EXPLORE_COLUMNS, r.chart->v.p,
				      r.chart->v.n / EXPLORE_COLUMNS };
	if (!r.used)
		msg_warn("the program never used the symbolic input%s%s", r.unused ? ": " : "",
			 r.unused ? r.unused : "");
	if (!r.kind[TRACE_STORE] && !msg_quiet)
		run_say_no_pm(&setup->cli->run, r.kind);
	output_filter(out, r.findings);
	struct report report = {
		.verb = "explore",
		.model = o->check.model->name,
		.command = o->program.argv,
		.incomplete = why,
		.broken = r.stopped || r.lost,
		.looked = seen,
		.findings = r.findings,
		.stats = stats,
		.nstats = explore_note_stats(&r, &s, o->limits.jobs, stats),
		.notes = (const char *const *)notes,
		.nnotes = explore_note_all(&r, &s, o, notes),
		.chart = &chart,
	};
	struct err ignored; /* what is not kept for serve is in the report all the same */
	(void)campaign_keep_words(explore_folder_db(setup->folder), why, seen, report.notes,
				  report.nnotes, &ignored);
	while (o->program.argv[report.ncommand])
		report.ncommand++;
	int status = output_write(out, &report, stderr);
	output_say_stale(out);
	for (size_t i = 0; i < report.nnotes; i++)
		free(notes[i]);
	free(why);
	free(seen);
	return status;
}
