/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/session.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fix/fix.h"

#define STATS 14

struct work {
	struct session *s;
	struct campaign *campaign;
	struct output out;
	struct finding_set set;
	struct launch_recording rec;
	double began;
	char *dir;
	bool live; /* a program was run: its stdout is its own */
};

/* Flushes and fences are not what such a program lacks. */
static bool is_about_files(const char *model)
{
	return model_find(model)->files != MODEL_FILES_AT_ONCE;
}

/* ---- recording ---- */

static int record(struct work *w, char **argv, struct err *err)
{
	struct session *s = w->s;
	const struct check_folder none = { 0 };
	char **watch = check_folder_watches(s->check ? s->check : &none, err);
	size_t n = 0;
	if (!watch)
		return -1;
	while (watch[n])
		n++;
	struct run_opts run = *s->run;
	if (!run.client) /* they are recovery's, then */
		run.port = run.ready = run.stop = NULL;
	struct launch_opts lo = run_launch_opts(&run, argv, (const char *const *)watch, n);
	lo.deps = crash_strategy_needs_deps(s->crash->strategy);
	lo.lines |= s->crash->ops_way && !strcmp(s->crash->ops_way, "requests");
	s->run->watch = run.watch;
	w->live = true;
	w->dir = s->folder ? xstrdup(s->folder) : launch_folder_default(argv[0], err);
	int bad = !w->dir || launch_record(&lo, w->dir, false, &w->rec, err);
	check_folder_watches_free(watch);
	if (bad && w->dir && !s->folder)
		rmdir(w->dir);
	if (bad)
		return -1;
	if (run_fault_missing(s->run, w->rec.kind, err))
		return -1;
	if (!w->rec.kind[TRACE_STORE] && !msg_quiet && !is_about_files(s->crash->model))
		run_say_no_pm(s->run, w->rec.kind);
	if (w->rec.result.pmem_forced)
		msg_info("PMEM_IS_PMEM_FORCE=1 was set for the program; the recovery command runs "
			 "in the environment of holdfast");
	msg_info("recorded %llu events in %s", (unsigned long long)w->rec.events, w->dir);
	return 0;
}

/* ---- reporting ---- */

static size_t fill_stats(const struct work *w, struct report_stat stat[STATS])
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
static struct launch_result result_of(const struct work *w, const struct trace_defs *defs)
{
	struct launch_result res = w->rec.result;
	if (w->rec.kind[TRACE_FAULT] && !launch_died(defs) &&
	    (!res.signal || res.signal == SIGABRT))
		res.status = res.signal = 0;
	return res;
}

static char *incomplete(const struct work *w, bool *broken)
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

static int report(struct work *w)
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
	char *repair = is_about_files(campaign_model(c)) ? NULL : fix_hint(&w->set, w->dir);
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

/* ---- all of it ---- */

/* What check finds, with what recovery looks at as evidence. One who goes on with a test wants it too. */
static int check(struct work *w, struct err *err)
{
	static const struct check_folder plain;
	struct check_folder how = w->s->check ? *w->s->check : plain;
	struct finding_set set = { 0 };
	if (!w->s->check && !(w->s->crash->resume && campaign_was_checked(w->campaign)))
		return 0;
	struct trace_use *uses = campaign_uses(w->campaign, &how.nrecovery);
	how.recovery = uses;
	how.ops = campaign_operations(w->campaign);
	int bad = check_folder(w->dir, campaign_model(w->campaign), &how, &set, err);
	if (!bad)
		campaign_checked(w->campaign, &set);
	finding_set_free(&set);
	free(uses);
	return bad;
}

static int crash(struct work *w, const struct campaign_settings *settings, struct err *err)
{
	const struct campaign_opts *o = w->s->crash;
	enum campaign_db_mode mode = o->resume  ? CAMPAIGN_DB_RESUME
				     : o->fresh ? CAMPAIGN_DB_FRESH
						: CAMPAIGN_DB_NEW;
	double opened = now_seconds();
	w->campaign = campaign_open(w->dir, settings, mode, err);
	if (!w->campaign || campaign_start(w->campaign, (unsigned)o->jobs, err))
		return -1;
	campaign_spent(w->campaign, opened - w->began);
	campaign_say_view(w->campaign);
	if (check(w, err))
		return -1;
	int bad = campaign_run(w->campaign, campaign_say_progress, NULL, err);
	progress_end();
	return bad;
}

/* What is wrong with the options is said before anything is run. */
static int check_options(const struct session *s, bool trace,
			 const struct campaign_settings *settings, struct err *err)
{
	if (!s->crash->recover_client && run_misuse(s->run))
		return err_set(err, EXIT_USAGE, "%s", run_misuse(s->run));
	if (!s->check && !s->crash->resume && campaign_proves_only(settings))
		return err_set(err, EXIT_USAGE,
			       "the strategy 'proof' needs what check finds: use holdfast test");
	if (s->crash->resume && s->crash->fresh)
		return err_set(err, EXIT_USAGE, "--resume and --fresh exclude each other");
	if (s->crash->resume && !trace)
		return err_set(err, EXIT_USAGE, "--resume needs the campaign's folder");
	return s->crash->resume ? 0 : campaign_check(settings, err);
}

/* A recording with -o: the campaign is to be elsewhere, and has a copy. */
static int copy_recording(struct work *w, struct err *err)
{
	const char *to = w->s->folder;
	struct stat a, b;
	if (!stat(w->dir, &a) && !stat(to, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		return 0;
	if (campaign_recording_copy(w->dir, to, err))
		return -1;
	free(w->dir);
	w->dir = xstrdup(to);
	return 0;
}

static int go(struct work *w, int argc, char **argv, struct err *err)
{
	struct session *s = w->s;
	struct campaign_settings settings = { 0 };
	bool trace = argc == 1 && launch_folder_is(argv[0]);
	s->crash->port = s->run->port;
	s->crash->ready = s->run->ready;
	s->crash->stop = s->run->stop;
	if (s->output->ci && !s->crash->budget)
		s->crash->budget = OUTPUT_CI_BUDGET;
	campaign_opts_settings(s->crash, &settings);
	w->dir = trace ? xstrdup(argv[0]) : NULL;
	int bad = check_options(s, trace, &settings, err) ||
		  (trace && s->folder && copy_recording(w, err)) ||
		  output_open(&w->out, s->output, err) || (!trace && record(w, argv, err)) ||
		  crash(w, &settings, err);
	campaign_settings_free(&settings);
	return bad ? -1 : 0;
}

int session_run(struct session *s, int argc, char **argv)
{
	struct work w = { .s = s, .began = now_seconds() };
	struct err err = { 0 };
	msg_quiet = s->output->quiet;
	output_ci(s->output);
	int status = go(&w, argc, argv, &err) ? cli_fail(&err) : report(&w);
	campaign_close(w.campaign);
	output_close(&w.out);
	finding_set_free(&w.set);
	free(w.dir);
	return status;
}
