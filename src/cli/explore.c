/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast explore: run a program with inputs that take other paths through it, towards PM. */
#include "cli/explore.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- Ctrl-C ---- */

volatile sig_atomic_t explore_signals;

static void on_signal(int sig)
{
	if (explore_signals > 0)
		_exit(128 + sig); /* what runs ends with us */
	explore_signals = 1;
}

static void catch_signals(bool on)
{
	static const int which[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction sa = { .sa_handler = on ? on_signal : SIG_DFL };
	for (size_t i = 0; i < sizeof which / sizeof *which; i++)
		sigaction(which[i], &sa, NULL);
}

/* ---- --max-time ---- */

#define GRACE 0.4 /* seconds for what runs when the time is over */
#define LATE_SIGNAL SIGUSR2

/* A run, a recovery or a question that takes long is broken off as by Ctrl-C. */
static void on_late(int sig)
{
	(void)sig;
	if (!explore_signals)
		explore_signals = EXPLORE_LATE;
	campaign_interrupt();
}

/* Not before the time is over. SIGALRM is the plug-ins'. */
static void limit_time(double seconds)
{
	struct sigaction sa = { .sa_handler = on_late };
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = LATE_SIGNAL };
	double whole = seconds + GRACE;
	struct itimerspec at = {
		.it_value = { (time_t)whole, (long)((whole - (double)(time_t)whole) * 1e9) },
		.it_interval = { 0, 100000000 }
	}; /* it may come between two looks */
	timer_t timer;
	sigaction(LATE_SIGNAL, &sa, NULL);
	if (!timer_create(CLOCK_MONOTONIC, &ev, &timer))
		timer_settime(timer, 0, &at, NULL);
}

/* ---- the folder ---- */

/* All that can be wrong is looked for before anything is made. */
static int check_all(struct explore_setup *s, struct err *err)
{
	if (explore_setup(s, err) || (s->opts.recover && campaign_check(s->opts.recover, err)))
		return -1;
	return explore_opts_check(&s->opts, err);
}

static int open_new(struct explore_setup *s, char **argv, struct err *err)
{
	const struct explore_cli *o = s->cli;
	char *dir = NULL;
	s->opts.program.argv = (const char *const *)argv;
	if (!(s->cwd = getcwd(NULL, 0)))
		err_errno(err, EXIT_PROGRAM, "the current folder has no name");
	s->opts.program.cwd = s->cwd;
	if (s->cwd && !check_all(s, err))
		dir = o->folder ? xstrdup(o->folder) : launch_folder_default(argv[0], err);
	if (dir)
		s->folder = explore_folder_open(
			dir, o->crash.fresh ? CAMPAIGN_DB_FRESH : CAMPAIGN_DB_NEW, err);
	free(dir);
	return s->folder ? explore_setup_save(s, err) : -1;
}

static int open_old(struct explore_setup *s, int argc, char **argv, struct err *err)
{
	if (s->cli->crash.fresh)
		return err_set(err, EXIT_USAGE, "--resume and --fresh exclude each other");
	if (argc != 1 || !launch_folder_is(argv[0]))
		return err_set(err, EXIT_USAGE, "--resume needs the exploration's folder");
	if (!(s->folder = explore_folder_open(argv[0], CAMPAIGN_DB_RESUME, err)) ||
	    explore_setup_load(s, err))
		return -1;
	if (chdir(s->opts.program.cwd))
		return err_errno(err, EXIT_PROGRAM, "cannot go to %s", s->opts.program.cwd);
	return check_all(s, err);
}

/* ---- from the start to the report ---- */

static int write_csv(const struct explore_chart *chart, const char *path, struct err *err)
{
	if (strcmp(path, "-") != 0)
		return explore_chart_write(chart, path, err);
	explore_chart_print(chart, stdout);
	return fflush(stdout) || ferror(stdout)
		       ? err_errno(err, EXIT_INTERNAL, "cannot write %s", path)
		       : 0;
}

static int export(const struct explore_setup *s, const char *dir, struct err *err)
{
	uint64_t n;
	if (explore_export(&s->opts, s->folder, dir, &n, err))
		return -1;
	msg_info("%" PRIu64 " inputs are in %s, each with a script that runs the program", n, dir);
	return 0;
}

static int run(struct explore_setup *s, struct explore *x, struct err *err)
{
	const struct explore_cli *o = s->cli;
	catch_signals(true);
	if (s->opts.limits.seconds > 0)
		limit_time(s->opts.limits.seconds);
	int bad = explore_run(x, err);
	signal(LATE_SIGNAL, SIG_IGN);
	progress_end();
	bad = bad || (o->csv && write_csv(explore_result(x).chart, o->csv, err)) ||
	      (o->export_dir && export(s, o->export_dir, err));
	catch_signals(false);
	return bad ? -1 : 0;
}

static int explore(struct explore_setup *s, int argc, char **argv, struct err *err)
{
	struct explore_voice voice = { .cli = s->cli };
	struct output out;
	int status = -1;
	if (!solve_available())
		return err_set(err, EXIT_INTERNAL,
			       "this holdfast was built without Z3: it cannot explore");
	int bad = output_open(&out, &s->cli->output, err) ||
		  (s->cli->csv && report_check_path(s->cli->csv, err));
	if (!bad)
		bad = s->cli->crash.resume ? open_old(s, argc, argv, err) : open_new(s, argv, err);
	if (!bad) {
		struct explore *x = explore_new(&s->opts, s->folder, &explore_say_hooks, &voice);
		if (!run(s, x, err))
			status = explore_say_report(s, x, &out);
		explore_free(x);
	}
	output_close(&out);
	return status;
}

int explore_cli_main(int argc, char **argv)
{
	struct explore_cli o = { 0 };
	struct explore_setup s = { .cli = &o };
	struct err err = { 0 };
	int status = cli_parse(&verb_explore, &o, &argc, &argv);
	if (status == CLI_GO && argc == 0)
		status = cli_usage(&verb_explore, "a program to run is needed");
	if (status == CLI_GO) {
		msg_quiet = o.output.quiet;
		output_ci(&o.output);
		status = explore(&s, argc, argv, &err);
		status = status < 0 ? cli_fail(&err) : status;
	}
	explore_setup_free(&s);
	return status;
}
