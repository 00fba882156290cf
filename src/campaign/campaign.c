/* SPDX-License-Identifier: BSD-3-Clause */
/* A campaign from opening to closing; keep.c is what is kept of it. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "campaign/internal.h"

/* ---- opening ---- */

static int open_all(struct campaign *c, enum campaign_db_mode mode, struct err *err)
{
	bool old = mode == CAMPAIGN_DB_RESUME || mode == CAMPAIGN_DB_READ;
	if (!(c->reader = trace_open(c->dir, err)) ||
	    !(c->db = campaign_db_open(c->dir, mode, err)))
		return -1;
	if (old ? campaign_load(c, err) : campaign_check(&c->settings, err))
		return -1;
	if (campaign_options_set(&c->options, &c->settings, err))
		return -1;
	return old ? campaign_load_verdicts(c, err) : campaign_save(c, err);
}

struct campaign *campaign_open(const char *dir, const struct campaign_settings *settings,
			       enum campaign_db_mode mode, struct err *err)
{
	struct campaign *c = xcalloc(1, sizeof *c);
	c->dir = xstrdup(dir);
	c->started = now_seconds();
	if (settings)
		campaign_settings_copy(&c->settings, settings);
	if (!open_all(c, mode, err))
		return c;
	campaign_close(c);
	return NULL;
}

void campaign_close(struct campaign *c)
{
	struct err err;
	if (!c)
		return;
	campaign_check_free(c);
	crash_free(c->crash); /* needs the runner still */
	runner_free(c->runner);
	if (campaign_db_close(c->db, &err))
		msg_warn("%s", err.text);
	if (c->reader)
		trace_close(c->reader);
	campaign_options_free(&c->options);
	campaign_settings_free(&c->settings);
	hmap_free(&c->known);
	hmap_free(&c->heard);
	campaign_chart_free(&c->chart);
	free(c->dir);
	free(c);
}

/* ---- starting ---- */

static unsigned cores(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 && n < 1024 ? (unsigned)n : 1;
}

/* Relative paths in the recovery command are meant from where the campaign was begun. */
static struct runner *start_cells(struct campaign *c, const struct runner_opts *ro, struct err *err)
{
	const char *home = campaign_db_get(c->db, "cwd");
	int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct runner *r = NULL;
	if (home && chdir(home))
		err_errno(err, EXIT_PROGRAM, "cannot go to %s, where the campaign was begun", home);
	else
		r = runner_new(ro, err);
	if (here >= 0) {
		if (fchdir(here))
			msg_warn("cannot go back to the current folder");
		close(here);
	}
	return r;
}

int campaign_history(struct campaign *c, struct err *err)
{
	struct crash_opts o = c->options.crash;
	const char *home = campaign_db_get(c->db, "cwd");
	char *path = NULL;
	if (o.ops_file && *o.ops_file != '/' && home)
		o.ops_file = path = xasprintf("%s/%s", home, o.ops_file);
	c->crash = crash_new(c->reader, &o, err);
	free(path);
	if (!c->crash)
		return -1;
	crash_slowest(c->crash, c->slowest);
	return 0;
}

int campaign_start(struct campaign *c, unsigned cells, struct err *err)
{
	struct runner_opts ro = c->options.runner;
	if (campaign_history(c, err))
		return -1;
	ro.file = crash_files(c->crash, c->options.same_address, &ro.nfile);
	ro.cells = cells ? cells : cores();
	c->runner = start_cells(c, &ro, err);
	return c->runner ? 0 : -1;
}

/* ---- running ---- */

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

void campaign_interrupt(void)
{
	interrupted = 1;
}

bool campaign_interrupted(void)
{
	return interrupted != 0;
}

static int run(struct campaign *c, struct err *err)
{
	if (crash_sanity(c->crash, c->runner, &c->hooks, err))
		return -1;
	if (c->options.budget_asked && c->options.budget > 0 && !c->uses_known) {
		size_t n; /* there may be no time for it at the end */
		free(campaign_uses(c, &n));
	}
	campaign_add_witnesses(c);
	campaign_plan_make(c);
	if (crash_run(c->crash, c->runner, &c->hooks, err))
		return -1;
	if (!interrupted && !crash_counts(c->crash)->failed)
		c->blind = c->uses_known ? c->uses_nothing : crash_is_blind(c->crash);
	return 0;
}

int campaign_run(struct campaign *c, campaign_watch *watch, void *arg, struct err *err)
{
	struct sigaction sa = { .sa_handler = on_signal }, old[3];
	static const int signals[3] = { SIGINT, SIGTERM, SIGHUP };
	c->watch = watch;
	c->watch_arg = arg;
	campaign_hooks(c);
	for (int i = 0; i < 3; i++)
		sigaction(signals[i], &sa, &old[i]);
	int bad = run(c, err);
	for (int i = 0; i < 3; i++)
		sigaction(signals[i], &old[i], NULL);
	if (bad && interrupted)
		return err_set(err, EXIT_PROGRAM, "interrupted before the first crash state");
	return bad || campaign_finish(c, err) ? -1 : 0;
}

/* ---- results ---- */

const char *campaign_dir(const struct campaign *c)
{
	return c->dir;
}

const struct campaign_chart *campaign_chart_of(const struct campaign *c)
{
	return &c->chart;
}

struct campaign_db *campaign_results(struct campaign *c)
{
	return c->db;
}

struct trace_reader *campaign_trace(const struct campaign *c)
{
	return c->reader;
}

struct crash *campaign_crash(const struct campaign *c)
{
	return c->crash;
}

struct runner *campaign_runner(const struct campaign *c)
{
	return c->runner;
}

struct infer_ops_opts campaign_operations(const struct campaign *c)
{
	return (struct infer_ops_opts){ c->options.crash.ops_way, c->options.crash.ops_calls };
}

const char *campaign_model(const struct campaign *c)
{
	return c->options.crash.model->name;
}

bool campaign_is_blind(const struct campaign *c)
{
	return c->blind;
}

/* ---- one image again ---- */

static int serve(struct campaign *c, struct runner_result *r, struct err *err)
{
	uint64_t tag;
	unsigned cell;
	if (runner_start(c->runner, 0, 0, err) ||
	    runner_wait(c->runner, true, &tag, &cell, r, err) != 1)
		return -1;
	return r->verdict == RUNNER_BROKEN ? err_set(err, EXIT_PROGRAM, "%s", r->why) : 0;
}

int campaign_build(struct campaign *c, const char *witness, struct err *err)
{
	return campaign_start(c, 1, err) || crash_build(c->crash, c->runner, 0, witness, false, err)
		       ? -1
		       : 0;
}

int campaign_replay(struct campaign *c, const char *witness, bool gdb, const char *command,
		    struct runner_result *r, struct err *err)
{
	if (c->options.runner.listen && !gdb && !command)
		return crash_replay(c->crash, c->runner, witness, r, err);
	if (c->options.runner.client && !gdb && !command)
		return serve(c, r, err);
	return runner_interactive(c->runner, 0, gdb, command, r, err);
}
