/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast check: misuse of persistent memory, live or from a trace. */
#include "cli/check.h"

#include <stdlib.h>

#include "cli/output.h"
#include "fix/fix.h"

struct check_cli {
	struct run_opts run;
	struct output_opts output;
	const char *model;
	struct cli_list oracle;
	bool notes, include_libs;
	struct infer_ops_opts ops;
};

static const struct cli_option check_options[] = {
	{ "model", 0, CLI_CHOICE, NULL, offsetof(struct check_cli, model), "what survives a crash",
	  &choices_model },
	CHECK_OPTIONS(struct check_cli),
	OPS_OPTIONS(struct check_cli, ops),
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
		"An error is a store that is lost when the program ends or unmaps the file, with strong "
		"evidence that the program needs it: it persists these bytes or other stores of the "
		"statement on purpose at other times, or a pointer in persistent memory leads to an "
		"object of which nothing is persisted. The report says which. Performance findings cost "
		"time only. Warnings are suspicions. Notes depend on data and layout.\n\n"
		"The status is 1 if there is a finding of the level that --fail-on names or a graver "
		"one, and, without --fail-on, a warning of a kind that is an error where the evidence is strong "
		"(missing-flush, say); else 0. The program's own status does not matter, but is said if it is not 0. It is "
		"3 if nothing was found in a run that was broken off: by a signal to holdfast, by the end of "
		"the tracer, or in a trace that is cut short.",
	.examples =
		"holdfast check -- ./app pool\tcheck a run\n"
		"holdfast check --html r.html app-0.hft\tcheck a recording, with a page to browse\n"
		"holdfast check --oracle ./mine.so -- ./app pool\twith a custom oracle\n",
	.options = check_options,
	.command = true,
};

struct session {
	struct check_run run; /* the first: save gets it back */
	struct check_cli *o;
	struct output out;
	const char *folder;   /* of the trace */
	double started, next; /* when; the next report of a run that goes on */
};

#define SAVE_EVERY 2.0  /* seconds; … */
#define SAVE_SHARE 0.05 /* … or later, so that such reports take at most this part of the time */
#define STATS 4

static struct report describe(struct session *s, struct finding_set *set,
			      struct report_stat stats[STATS])
{
	stats[0] = (struct report_stat){ "events", (double)s->run.seen.events };
	stats[1] = (struct report_stat){ "lines", (double)check_lines(s->run.check) };
	stats[2] = (struct report_stat){ "memory", (double)check_memory(s->run.check) };
	stats[3] = (struct report_stat){ "seconds", now_seconds() - s->started };
	output_filter(&s->out, set);
	return (struct report){
		.verb = "check",
		.model = model_find(s->o->model)->name,
		.command = (const char *const *)s->run.command,
		.ncommand = s->run.ncommand,
		.incomplete = s->run.incomplete,
		.broken = s->run.broken,
		.findings = set,
		.stats = stats,
		.nstats = STATS,
	};
}

/* What is known by now, so that whoever kills us keeps it. */
static void save(struct check_run *run)
{
	struct session *s = (struct session *)run;
	struct finding_set set = { 0 };
	struct report_stat stats[STATS];
	double begun = now_seconds(), took;
	if (begun < s->next)
		return;
	if (output_has_files(&s->out)) {
		check_report(s->run.check, &set);
		struct report r = describe(s, &set, stats);
		r.incomplete = "the program is still running";
		output_save(&s->out, &r);
		finding_set_free(&set);
	}
	took = now_seconds() - begun;
	s->next = begun + took + (took > SAVE_EVERY * SAVE_SHARE ? took / SAVE_SHARE : SAVE_EVERY);
}

static int conclude(struct session *s, struct finding_set *set)
{
	struct report_stat stats[STATS];
	struct report r = describe(s, set, stats);
	char *loaded = check_loaded(s->run.check), *note = xasprintf("oracles %s", loaded);
	r.notes = (const char *const *)&note;
	r.nnotes = loaded ? 1 : 0;
	bool files = model_find(s->run.model)->files != MODEL_FILES_AT_ONCE;
	if (!s->run.seen.kind[TRACE_STORE] && !(files && s->run.seen.kind[TRACE_NODE_WRITE])) {
		if (!s->o->output.quiet)
			run_say_no_pm(&s->o->run, s->run.seen.kind);
		if (!r.incomplete)
			r.incomplete =
				"the program never wrote persistent memory: there was nothing to check";
	}
	const struct check_run *run = &s->run;
	char *looked = run_looked(
		&run->seen, run->live ? trace_live_defs(run->live) : trace_defs(run->reader), NULL);
	char *repair = fix_hint(set, run->live ? output_json(&s->out) : s->folder);
	r.looked = looked;
	r.repair = repair;
	int status = output_write(&s->out, &r, run->live ? stderr : stdout);
	free(looked);
	free(repair);
	free(loaded);
	free(note);
	output_say_stale(&s->out);
	for (size_t i = 0; check_stale(s->run.check, i); i++)
		msg_warn("%s has changed since it was recorded: its places are not shown",
			 check_stale(s->run.check, i));
	return status;
}

static int cmd_check(int argc, char **argv)
{
	struct check_cli o = { 0 };
	struct session s = { .o = &o };
	struct finding_set set = { 0 };
	struct err err = { 0 };
	s.started = now_seconds();
	s.next = s.started + SAVE_EVERY;
	int status = cli_parse(&verb_check, &o, &argc, &argv);
	if (status != CLI_GO)
		return status;
	if (argc == 0)
		return cli_usage(&verb_check, "a program to run or a trace is needed");
	if (run_misuse(&o.run))
		return cli_usage(&verb_check, "%s", run_misuse(&o.run));
	bool trace = argc == 1 && launch_folder_is(argv[0]);
	if (!trace && (o.ops.calls || o.ops.way))
		return cli_usage(&verb_check, "--ops-calls and --ops-way go with a recording that "
					      "'holdfast record --deps' made");
	msg_quiet = o.output.quiet;
	output_ci(&o.output);
	s.run = (struct check_run){ .model = o.model,
				    .how = { .oracle = &o.oracle,
					     .notes = o.notes,
					     .include_libs = o.include_libs,
					     .ops = o.ops },
				    .look = save };
	s.folder = trace ? argv[0] : NULL;
	if (output_open(&s.out, &o.output, &err))
		status = cli_fail(&err);
	else if (trace ? check_run_trace(&s.run, argv[0], &set, &err)
		       : check_run_program(&s.run, &o.run, argv, &set, &err))
		status = cli_fail(&err);
	else
		status = conclude(&s, &set);
	finding_set_free(&set);
	check_run_free(&s.run);
	output_close(&s.out);
	free(o.oracle.p);
	run_opts_free(&o.run);
	return status;
}
