/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast check: misuse of persistent memory, live or from a trace. */
#include "check/check.h"

#include <stdlib.h>
#include <string.h>

#include "cli/check.h"
#include "cli/cli.h"
#include "cli/folder.h"
#include "cli/output.h"
#include "cli/run.h"
#include "trace/trace.h"

struct check_cli {
	struct run_opts run;
	struct output_opts output;
	const char *model;
	struct cli_list oracle;
	bool notes;
};

static const struct cli_option check_options[] = {
	{ "model", 0, CLI_CHOICE, NULL, offsetof(struct check_cli, model), "what survives a crash",
	  &choices_model },
	{ "oracle", 0, CLI_LIST, "FILE.so", offsetof(struct check_cli, oracle),
	  "load a custom oracle; may be given several times" },
	{ "notes", 0, CLI_FLAG, NULL, offsetof(struct check_cli, notes),
	  "also report flushes that cover several stores and fences that order several lines" },
	RUN_OPTIONS(struct check_cli),
	OUTPUT_OPTIONS(struct check_cli),
	{ NULL },
};

static int cmd_check(int argc, char **argv);

const struct cli_verb verb_check = {
	.name = "check",
	.run = cmd_check,
	.summary = "find misuse of persistent memory in one run",
	.usage = "[options] (DIR | [--] PROGRAM [ARGUMENTS])",
	.about =
		"Runs PROGRAM, or reads the trace in DIR, and reports stores that are not persistent "
		"when they should be, and flushes and fences that do nothing, each with its call path "
		"and what shaped the state.\n\n"
		"A program is analysed while it runs, on a second core; no trace is kept. Its input "
		"and output are its own, and the report goes to stderr; with DIR it goes to stdout.\n\n"
		"An error is a store that is lost when the program ends or unmaps the file, although "
		"the program persists the same location or other stores of the same statement. "
		"Performance findings cost time only. Warnings are suspicions.\n\n"
		"The status is 1 if there is a finding of the level that --fail-on names or a graver "
		"one, else 0; the program's own status does not matter, but is said if it is not 0.",
	.examples =
		"holdfast check -- ./app pool\tcheck a run\n"
		"holdfast check --html r.html app-0.hft\tcheck a recording, with a page to browse\n"
		"holdfast check --oracle pmdk-atomic-op.so -- ./app pool\twith a custom oracle\n",
	.options = check_options,
	.command = true,
};

/* One analysis: where the events come from, and what to say about the run. */
struct session {
	struct check_cli *o;
	struct check *check;
	struct trace_live *live; /* one of these two */
	struct trace_reader *reader;
	struct launch *launch;
	char *incomplete;
	char **command; /* of the program under test */
	size_t ncommand;
	struct output out;
	uint64_t events, kind[TRACE_KINDS]; /* how many, and of each kind */
	double started, saved;              /* when */
};

/* A live run's reports are written now and then, so that whoever kills us keeps the findings. */
#define SAVE_EVERY 2.0    /* seconds */
#define LOOK_EVERY 65536u /* events */

static void save(struct session *);

static int feed(void *arg, const struct trace_event *e, struct err *err)
{
	struct session *s = arg;
	(void)err;
	check_feed(s->check, e);
	s->events++;
	s->kind[e->kind]++;
	if (s->live && s->events % LOOK_EVERY == 0 && now_seconds() - s->saved > SAVE_EVERY)
		save(s);
	return 0;
}

static struct check *start(struct session *s, const struct trace_defs *defs, const char *replay,
			   struct err *err)
{
	struct check_opts co = {
		.model = model_find(s->o->model),
		.notes = s->o->notes,
		.plugin = s->o->oracle.p,
		.nplugin = s->o->oracle.n,
		.replay = replay,
	};
	return check_new(&co, defs, err);
}

/* ---- a program ---- */

static void describe_end(struct session *s, const struct launch_result *res)
{
	if (res->stopped)
		s->incomplete = xasprintf("the analysis stopped early: %s", res->why.text);
	else if (res->signal)
		s->incomplete = xasprintf("the program was ended by signal %d (%s)", res->signal,
					  strsignal(res->signal));
	else if (res->status)
		s->incomplete = xasprintf("the program ended with status %d", res->status);
	else if (res->client_status)
		s->incomplete = xasprintf("the client ended with status %d", res->client_status);
}

static int check_program(struct session *s, char **argv, struct finding_set *out, struct err *err)
{
	struct launch_result res = { 0 };
	size_t n;
	if (!(s->live = trace_live_new(NULL, feed, s, err)) ||
	    !(s->check = start(s, trace_live_defs(s->live), NULL, err)))
		return -1;
	const char *const *more = check_watches(s->check, &n);
	struct launch_opts lo = run_launch_opts(&s->o->run, argv, more, n);
	while (argv[s->ncommand])
		s->ncommand++;
	s->command = argv;
	s->launch = launch_new(&lo, err);
	if (!s->launch || launch_run(s->launch, s->live, &res, err))
		return -1;
	describe_end(s, &res);
	check_end(s->check);
	check_report(s->check, out);
	if (res.pmem_forced)
		msg_info("PMEM_IS_PMEM_FORCE=1 was set for the program");
	return 0;
}

/* ---- a trace ---- */

static int check_trace(struct session *s, const char *dir, struct finding_set *out, struct err *err)
{
	struct trace_event e;
	const char *why;
	int more;
	if (!(s->reader = trace_open(dir, err)))
		return -1;
	char *replay = xasprintf("holdfast dump %s", dir);
	s->check = start(s, trace_defs(s->reader), replay, err);
	if (!s->check)
		return free(replay), -1;
	while ((more = trace_next(s->reader, &e, err)) == 1)
		feed(s, &e, err);
	bool whole = trace_is_whole(s->reader, &why);
	if (more < 0)
		s->incomplete = xasprintf("the trace is damaged: %s", err->text);
	else if (!whole)
		s->incomplete = xstrdup(why);
	check_end(s->check);
	check_report(s->check, out);
	s->command = run_command(trace_defs(s->reader), &s->ncommand);
	free(replay);
	return 0;
}

/* ---- reports ---- */

#define STATS 4

static struct report describe(struct session *s, struct finding_set *set,
			      struct report_stat stats[STATS])
{
	stats[0] = (struct report_stat){ "events", (double)s->events };
	stats[1] = (struct report_stat){ "lines", (double)check_lines(s->check) };
	stats[2] = (struct report_stat){ "memory", (double)check_memory(s->check) };
	stats[3] = (struct report_stat){ "seconds", now_seconds() - s->started };
	output_filter(&s->out, set);
	return (struct report){
		.verb = "check",
		.model = model_find(s->o->model)->name,
		.command = (const char *const *)s->command,
		.ncommand = s->ncommand,
		.incomplete = s->incomplete,
		.findings = set,
		.stats = stats,
		.nstats = STATS,
	};
}

static void save(struct session *s)
{
	struct finding_set set = { 0 };
	struct report_stat stats[STATS];
	if (output_has_files(&s->out)) {
		check_report(s->check, &set);
		struct report r = describe(s, &set, stats);
		r.incomplete = "the program is still running";
		output_save(&s->out, &r);
		finding_set_free(&set);
	}
	s->saved = now_seconds();
}

static int conclude(struct session *s, struct finding_set *set)
{
	struct report_stat stats[STATS];
	struct report r = describe(s, set, stats);
	if (!s->kind[TRACE_STORE]) {
		if (!s->o->output.quiet)
			run_say_no_pm(&s->o->run, s->kind);
		if (!r.incomplete)
			r.incomplete =
				"the program never wrote persistent memory: there was nothing to check";
	}
	int status = output_write(&s->out, &r, s->live ? stderr : stdout);
	output_say_stale(&s->out);
	for (size_t i = 0; check_stale(s->check, i); i++)
		msg_warn("%s has changed since it was recorded: its places are not shown",
			 check_stale(s->check, i));
	return status;
}

/* ---- as a part of other verbs ---- */

int check_folder(const char *dir, const char *model, const struct check_folder *how,
		 struct finding_set *out, struct err *err)
{
	struct check_cli o = { .model = model, .oracle = *how->oracle, .notes = how->notes };
	struct session s = { .o = &o };
	int bad = check_trace(&s, dir, out, err);
	check_free(s.check);
	if (s.reader)
		trace_close(s.reader);
	free(s.command);
	free(s.incomplete);
	return bad;
}

char **check_folder_watches(const struct check_folder *how, struct err *err)
{
	struct check_cli o = { .oracle = *how->oracle };
	struct session s = { .o = &o };
	size_t n;
	if (!(s.live = trace_live_new(NULL, NULL, NULL, err)) ||
	    !(s.check = start(&s, trace_live_defs(s.live), NULL, err))) {
		trace_live_free(s.live);
		return NULL;
	}
	const char *const *names = check_watches(s.check, &n);
	char **copy = xcalloc(n + 1, sizeof *copy);
	for (size_t i = 0; i < n; i++)
		copy[i] = xstrdup(names[i]);
	check_free(s.check);
	trace_live_free(s.live);
	return copy;
}

static int cmd_check(int argc, char **argv)
{
	struct check_cli o = { 0 };
	struct session s = { .o = &o };
	struct finding_set set = { 0 };
	struct err err = { 0 };
	s.started = s.saved = now_seconds();
	int status = cli_parse(&verb_check, &o, &argc, &argv);
	if (status != CLI_GO)
		return status;
	if (argc == 0)
		return cli_usage(&verb_check, "a program to run or a trace is needed");
	if (run_server_misuse(&o.run))
		return cli_usage(&verb_check, "%s", run_server_misuse(&o.run));
	msg_quiet = o.output.quiet;
	bool trace = argc == 1 && folder_is(argv[0]);
	if (output_open(&s.out, &o.output, &err))
		status = cli_fail(&err);
	else if (trace ? check_trace(&s, argv[0], &set, &err) : check_program(&s, argv, &set, &err))
		status = cli_fail(&err);
	else
		status = conclude(&s, &set);
	finding_set_free(&set);
	check_free(s.check);
	launch_free(s.launch);
	trace_live_free(s.live);
	if (s.reader) {
		trace_close(s.reader);
		free(s.command);
	}
	free(s.incomplete);
	output_close(&s.out);
	free(o.oracle.p);
	run_opts_free(&o.run);
	return status;
}
