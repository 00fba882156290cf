/* SPDX-License-Identifier: BSD-3-Clause */
/* A campaign from opening to closing; campaign_keep.c is what is kept, campaign_say.c what is said. */
#include "cli/campaign.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/campaign_internal.h"
#include "cli/run.h"

#define TIMEOUT 10.0
#define OUTPUT_CAP (16u << 20)
#define MAX_PER_PATH 8

/* ---- settings ---- */

static int number_of(const char *text, const char *option, bool size, double *out, struct err *err)
{
	uint64_t bytes;
	if (size ? units_size(text, &bytes) : units_time(text, out)) {
		if (size)
			*out = (double)bytes;
		return 0;
	}
	return err_set(err, EXIT_USAGE, "--%s: '%s' is not a %s", option, text,
		       size ? "size" : "time");
}

static int parse_budget(const char *text, struct crash_opts *co, struct err *err)
{
	double n = 0;
	if (!text)
		return 0;
	if (units_has_unit(text)) {
		if (number_of(text, "budget", false, &co->budget_seconds, err))
			return -1;
		n = co->budget_seconds;
	} else {
		if (number_of(text, "budget", true, &n, err))
			return -1;
		co->budget_states = (uint64_t)n;
	}
	return n > 0 ? 0 : err_set(err, EXIT_USAGE, "--budget: nothing can be done with 0");
}

static int crash_options(const struct campaign_opts *o, struct crash_opts *co, struct err *err)
{
	*co = (struct crash_opts){
		.model = model_find(o->model),
		.strategy = o->strategy,
		.points = o->points,
		.max_per_path = o->max_per_path ? o->max_per_path : MAX_PER_PATH,
		.only = o->only.p,
		.nonly = o->only.n,
		.after = o->after,
		.seed = o->seed,
		.random = o->random,
		.no_reduce = o->no_reduce,
	};
	return parse_budget(o->budget, co, err);
}

static int runner_options(const struct campaign_opts *o, struct runner_opts *ro, struct err *err)
{
	double timeout = TIMEOUT, memory = 0, cap = OUTPUT_CAP;
	if ((o->timeout && number_of(o->timeout, "timeout", false, &timeout, err)) ||
	    (o->memory && number_of(o->memory, "memory", true, &memory, err)) ||
	    (o->output_cap && number_of(o->output_cap, "output-cap", true, &cap, err)))
		return -1;
	if (timeout <= 0 || timeout > 86400)
		return err_set(err, EXIT_USAGE, "--timeout: %s makes no sense", o->timeout);
	*ro = (struct runner_opts){
		.command = o->recover,
		.view = o->view ? sandbox_view_named(o->view) : NULL,
		.timeout_ms = (unsigned)(timeout * 1000),
		.output_cap = (size_t)cap,
		.memory = (uint64_t)memory,
		.expect_exit = o->expect_exit,
		.fail_regex = o->fail_regex,
		.fast = o->fast,
		.client = o->recover_client,
		.port = o->port ? (unsigned)strtoul(o->port, NULL, 10) : 0,
		.ready = o->ready,
		.stop = o->stop,
	};
	return 0;
}

int campaign_check(const struct campaign_opts *o, struct err *err)
{
	struct crash_opts co;
	struct runner_opts ro;
	if (!o->recover || !*o->recover)
		return err_set(err, EXIT_USAGE,
			       "--recover CMD is needed: the command that opens the pool after a "
			       "crash and fails if it is not well");
	if (o->recover_client && !o->port && !o->ready)
		return err_set(err, EXIT_USAGE,
			       "--recover-client needs --port or --ready, to know when the server "
			       "is up");
	if (o->resume && o->fresh)
		return err_set(err, EXIT_USAGE, "--resume and --fresh exclude each other");
	if (crash_options(o, &co, err) || runner_options(o, &ro, err))
		return -1;
	return runner_check(&ro, err);
}

/* ---- from opening to closing ---- */

int campaign_open(struct campaign *c, const char *dir, const struct campaign_opts *o,
		  enum campaign_db_mode mode, struct err *err)
{
	const char *why;
	*c = (struct campaign){ .o = *o, .dir = xstrdup(dir) };
	c->started = now_seconds();
	if (!(c->reader = trace_open(dir, err)) || !(c->db = campaign_db_open(dir, mode, err)))
		return -1;
	c->whole = trace_is_whole(c->reader, &why);
	if (mode == CAMPAIGN_DB_RESUME || mode == CAMPAIGN_DB_READ)
		return campaign_load(c, err);
	return campaign_check(&c->o, err) || campaign_save(c, err) ? -1 : 0;
}

int campaign_peek(struct campaign *c, const char *dir, struct err *err)
{
	*c = (struct campaign){ .dir = xstrdup(dir) };
	c->db = campaign_db_open(dir, CAMPAIGN_DB_READ, err);
	return c->db ? 0 : -1;
}

static unsigned cores(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 && n < 1024 ? (unsigned)n : 1;
}

static void say_view(const struct campaign *c, size_t nfiles)
{
	msg_info("recovery sees the image%s %s", nfiles > 1 ? "s" : "",
		 runner_view(c->runner)->text);
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
	struct crash_opts co;
	if (crash_options(&c->o, &co, err) || !(c->crash = crash_new(c->reader, &co, err)))
		return -1;
	c->command = run_command(trace_defs(c->reader), &c->ncommand);
	return 0;
}

int campaign_start(struct campaign *c, unsigned cells, struct err *err)
{
	struct runner_opts ro;
	if (runner_options(&c->o, &ro, err) || campaign_history(c, err))
		return -1;
	ro.file = crash_files(c->crash, c->o.same_address, &ro.nfile);
	ro.cells = cells ? cells : c->o.jobs ? (unsigned)c->o.jobs : cores();
	if (!(c->runner = start_cells(c, &ro, err)))
		return -1;
	say_view(c, ro.nfile);
	return 0;
}

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

bool campaign_interrupted(void)
{
	return interrupted != 0;
}

int campaign_run(struct campaign *c, struct err *err)
{
	struct sigaction sa = { .sa_handler = on_signal }, old[3];
	static const int signals[3] = { SIGINT, SIGTERM, SIGHUP };
	int bad;
	campaign_hooks(c);
	for (int i = 0; i < 3; i++)
		sigaction(signals[i], &sa, &old[i]);
	bad = crash_sanity(c->crash, c->runner, &c->hooks, err);
	if (!bad)
		bad = crash_run(c->crash, c->runner, &c->hooks, err);
	progress_end();
	if (!bad && !interrupted && !crash_counts(c->crash)->failed)
		c->blind = crash_is_blind(c->crash);
	for (int i = 0; i < 3; i++)
		sigaction(signals[i], &old[i], NULL);
	if (interrupted && bad) {
		err_set(err, EXIT_PROGRAM, "interrupted before the first crash state");
		return -1;
	}
	return bad || campaign_finish(c, err) ? -1 : 0;
}

void campaign_report(struct campaign *c, struct finding_set *set)
{
	crash_report(c->crash, c->dir, set);
}

void campaign_close(struct campaign *c)
{
	struct err err;
	if (c->crash)
		crash_free(c->crash); /* needs the runner still */
	runner_free(c->runner);
	if (c->db && campaign_db_close(c->db, &err))
		msg_warn("%s", err.text);
	if (c->reader)
		trace_close(c->reader);
	settings_free(&c->own);
	hmap_free(&c->known);
	free(c->command);
	free(c->dir);
	*c = (struct campaign){ 0 };
}
