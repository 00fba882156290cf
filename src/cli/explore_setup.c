/* SPDX-License-Identifier: BSD-3-Clause */
/* From the options to those of src/explore, and the settings that are kept with an exploration. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/check.h"
#include "cli/explore.h"

#define TIMEOUT 10.0 /* seconds for a run */
#define MOST_JOBS 256
#define BUDGET "300" /* images for the crashes of one path */

/* ---- the options ---- */

static int time_of(const char *text, const char *option, double *out, struct err *err)
{
	if (!text || (units_time(text, out) && *out > 0))
		return 0;
	return err_set(err, EXIT_USAGE, "--%s: '%s' is not a time", option, text);
}

static int port_of(const struct explore_cli *o, unsigned *port, struct err *err)
{
	unsigned long n = o->run.port ? strtoul(o->run.port, NULL, 10) : 0;
	if (o->run.port && (!n || n > 65535))
		return err_set(err, EXIT_USAGE, "--port: '%s' is not a port", o->run.port);
	if ((o->run.port || o->run.stop) && !o->sym_socket && !o->packet.n)
		return err_set(err, EXIT_USAGE,
			       "--port and --stop are for servers: they need --sym-socket or "
			       "--packet");
	*port = (unsigned)n;
	return 0;
}

static struct explore_words words(const struct cli_list *list)
{
	return (struct explore_words){ list->p, list->n };
}

static struct explore_inputs inputs_of(const struct explore_cli *o)
{
	return (struct explore_inputs){
		.arg = words(&o->sym_arg),
		.args = words(&o->sym_args),
		.env = words(&o->sym_env),
		.file = words(&o->sym_file),
		.pm = words(&o->sym_pm),
		.packet = words(&o->packet),
		.seed = words(&o->seed),
		.range = words(&o->range),
		.stdin_len = o->sym_stdin,
		.socket_len = o->sym_socket,
		.stdin_path = o->run.stdin_path,
		.memory = o->sym_memory,
		.printable = o->printable,
	};
}

static size_t jobs_of(const struct explore_cli *o)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	size_t n = o->crash.jobs               ? o->crash.jobs
		   : cores > 1 && cores < 1024 ? (size_t)cores - 1
					       : 1;
	return n > MOST_JOBS ? MOST_JOBS : n;
}

/* How the program is launched; functions that the custom oracles want to see called are watched. */
static int launch_of(struct explore_setup *s, struct launch_opts *out, struct err *err)
{
	const struct explore_cli *o = s->cli;
	struct check_folder how = { .oracle = &o->oracle };
	size_t n = 0;
	if (!(s->watch = check_folder_watches(&how, err)))
		return -1;
	while (s->watch[n])
		n++;
	s->run = (struct run_opts){
		.cpu = o->run.cpu,
		.stdin_path = o->run.stdin_path,
		.pm = o->run.pm,
		.follow_forks = o->run.follow_forks,
		.no_pmem_force = o->run.no_pmem_force,
		.pmemcheck = o->run.pmemcheck,
	};
	s->run.watch.p = xcalloc(o->run.watch.n + 1, sizeof *s->run.watch.p);
	s->run.watch.n = o->run.watch.n;
	if (o->run.watch.n)
		memcpy(s->run.watch.p, o->run.watch.p, o->run.watch.n * sizeof *s->run.watch.p);
	*out = run_launch_opts(&s->run, NULL, (const char *const *)s->watch, n);
	return 0;
}

static const struct campaign_settings *recover_of(struct explore_setup *s)
{
	campaign_opts_settings(&s->cli->crash, &s->recover);
	if (!campaign_settings_get(&s->recover, "budget"))
		campaign_settings_put(&s->recover, "budget", BUDGET);
	return &s->recover;
}

int explore_setup(struct explore_setup *s, struct err *err)
{
	const struct explore_cli *o = s->cli;
	struct explore_opts *x = &s->opts;
	struct explore_program *p = &x->program;
	x->inputs = inputs_of(o);
	/* Those that were kept count as well as those that output_open knows. */
	finding_helpers_overrule(o->output.helper.p, o->output.helper.n, o->output.no_helper.p,
				 o->output.no_helper.n);
	x->search = (struct explore_search){ .strategy = o->strategy,
					     .random = o->random,
					     .max_targets = (unsigned)o->max_targets };
	x->limits = (struct explore_limits){ .runs = o->max_paths,
					     .errors = o->max_findings,
					     .jobs = jobs_of(o) };
	x->check = (struct check_opts){ .model = model_find(o->crash.model),
					.notes = o->notes,
					.include_libs = o->include_libs,
					.plugin = o->oracle.p,
					.nplugin = o->oracle.n };
	x->recover = o->crash.recover || o->crash.probe || o->crash.go_on ? recover_of(s) : NULL;
	x->cells = (unsigned)o->crash.jobs;
	x->stop = &explore_signals;
	p->stop = o->run.stop;
	p->timeout = TIMEOUT;
	p->pin = o->pin;
	p->no_fork = o->no_fork;
	p->verify = o->verify;
	if (o->max_memory && !units_size(o->max_memory, &x->search.max_memory))
		return err_set(err, EXIT_USAGE, "--max-memory: '%s' is not a size", o->max_memory);
	if (crash_strategy_needs_deps(o->crash.strategy))
		return err_set(
			err, EXIT_USAGE,
			"--crash-strategy %s needs dependences, which explore does not record",
			o->crash.strategy);
	if (port_of(o, &p->port, err) ||
	    time_of(o->max_time, "max-time", &x->limits.seconds, err) ||
	    time_of(o->timeout, "timeout", &p->timeout, err) ||
	    time_of(o->solver_timeout, "solver-timeout", &x->search.solver_seconds, err))
		return -1;
	return launch_of(s, &p->run, err);
}

void explore_setup_free(struct explore_setup *s)
{
	struct explore_cli *o = s->cli;
	struct cli_list *const lists[] = { &o->sym_arg,       &o->sym_args,        &o->sym_file,
					   &o->sym_env,       &o->sym_pm,          &o->packet,
					   &o->seed,          &o->range,           &o->oracle,
					   &o->output.helper, &o->output.no_helper };
	struct err err;
	if (s->folder && explore_folder_close(s->folder, &err))
		msg_warn("%s", err.text);
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		free(lists[i]->p);
	run_opts_free(&o->run);
	free(s->run.watch.p);
	check_folder_watches_free(s->watch);
	free(s->cwd);
	settings_free(&s->own);
	campaign_settings_free(&s->recover);
}

/* ---- what is kept ---- */

int explore_setup_save(struct explore_setup *s, struct err *err)
{
	struct campaign_settings all = { 0 };
	settings_collect(verb_explore.options, s->cli, &all);
	int bad = campaign_settings_save(explore_folder_db(s->folder), &all, err) ||
		  explore_folder_save(s->folder, s->opts.program.argv, s->opts.program.cwd, err);
	campaign_settings_free(&all);
	return bad ? -1 : 0;
}

int explore_setup_load(struct explore_setup *s, struct err *err)
{
	struct explore_program *p = &s->opts.program;
	struct campaign_settings all = { 0 };
	int bad = explore_folder_load(s->folder, &p->argv, &p->cwd, err);
	settings_collect(verb_explore.options, s->cli, &all);
	for (const struct cli_option *row = verb_explore.options; row->name && !bad; row++) {
		bool was_given = campaign_settings_get(&all, row->name) != NULL;
		if (row->once)
			continue;
		bad = campaign_settings_resume(explore_folder_db(s->folder), row->name,
					       "exploration", &all, err);
		const char *text = campaign_settings_get(&all, row->name);
		if (!bad && text && !was_given)
			settings_set(&s->own, row, s->cli, text);
	}
	campaign_settings_free(&all);
	return bad ? -1 : 0;
}
