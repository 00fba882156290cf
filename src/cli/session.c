/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/session.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Ctrl-C ---- */

/* A campaign ends by itself when it is interrupted. If it has ended by then, its report is still to come: the first
 * signal does not stop that, the second one does. */
static void on_late_signal(int sig)
{
	static volatile sig_atomic_t late;
	if (late)
		_exit(128 + sig);
	late = 1;
}

static void keep_reporting(void)
{
	static const int which[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction sa = { .sa_handler = on_late_signal, .sa_flags = SA_RESTART };
	for (size_t i = 0; i < sizeof which / sizeof *which; i++)
		sigaction(which[i], &sa, NULL);
}

/* ---- recording ---- */

static int record(struct session_work *w, char **argv, struct err *err)
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
	if (run_wanted_missing(s->run, &w->rec, err))
		return -1;
	if (!w->rec.kind[TRACE_STORE] && !msg_quiet && !session_is_about_files(s->crash->model))
		run_say_no_pm(s->run, w->rec.kind);
	if (w->rec.result.pmem_forced)
		msg_info("PMEM_IS_PMEM_FORCE=1 was set for the program; the recovery command runs "
			 "in the environment of holdfast");
	msg_info("recorded %llu events in %s", (unsigned long long)w->rec.events, w->dir);
	return 0;
}

/* ---- all of it ---- */

/* What check finds, with what recovery looks at as evidence. One who goes on with a test wants it too. */
static int check(struct session_work *w, struct err *err)
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

static int crash(struct session_work *w, const struct campaign_settings *settings, struct err *err)
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
	keep_reporting();
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
static int copy_recording(struct session_work *w, struct err *err)
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

static int go(struct session_work *w, int argc, char **argv, struct err *err)
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
	struct session_work w = { .s = s, .began = now_seconds() };
	struct err err = { 0 };
	msg_quiet = s->output->quiet;
	output_ci(s->output);
	int status = go(&w, argc, argv, &err) ? cli_fail(&err) : session_report(&w);
	campaign_close(w.campaign);
	output_close(&w.out);
	finding_set_free(&w.set);
	free(w.dir);
	return status;
}
