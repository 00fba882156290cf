/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast record: run a program and keep what it does to persistent memory. */
#include "cli/cli.h"
#include "cli/folder.h"
#include "cli/run.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct record_opts {
	const char *output;
	struct run_opts run;
	bool force, quiet;
};

static const struct cli_option record_options[] = {
	{ "output", 'o', CLI_FILE, "DIR", offsetof(struct record_opts, output),
	  "folder for the trace; without it PROGRAM-N.hft in the current folder, with the first "
	  "free number N" },
	{ "force", 'f', CLI_FLAG, NULL, offsetof(struct record_opts, force),
	  "replace the folder if it holds a trace" },
	RUN_OPTIONS(struct record_opts),
	{ "quiet", 'q', CLI_FLAG, NULL, offsetof(struct record_opts, quiet),
	  "no summary at the end" },
	{ NULL },
};

static int cmd_record(int argc, char **argv);

const struct cli_verb verb_record = {
	.name = "record",
	.run = cmd_record,
	.summary = "run a program and record what it does to persistent memory",
	.usage = "[options] [--] PROGRAM [ARGUMENTS]",
	.about =
		"Runs PROGRAM and records, in order, every store, flush and fence on persistent "
		"memory, with thread, instruction and call path, into a folder that 'holdfast dump' "
		"and the other verbs read.\n\n"
		"The program's input, output, environment and working folder are its own, with two "
		"exceptions: it runs under Valgrind, which leaves traces in the environment, and "
		"PMEM_IS_PMEM_FORCE=1 is set unless it was set already, so that PMDK's libraries take "
		"files on any file system for persistent memory.\n\n"
		"The exit status is the program's own, or 128+N when signal N ended it. If it could "
		"not be run, the status is 3; if recording had to stop early (disk full, say), the "
		"program still runs to its end, the trace is readable up to there and marked "
		"incomplete, and the status is 4.\n\n"
		"Ctrl-C goes to the program; what it did until it ended is recorded.",
	.examples = "holdfast record -- ./app pool\trecord ./app into app-0.hft\n"
		    "holdfast record -o t --pm '/mnt/pmem/*' --watch 'pmemobj_tx_*' -- ./app\t"
		    "choose the folder, what is persistent memory, and functions to watch\n",
	.options = record_options,
	.command = true,
};

/* Counts what there is to say at the end. */
struct tally {
	uint64_t kind[TRACE_KINDS];
	uint64_t events;
	uint32_t files;
};

static int count(void *arg, const struct trace_event *e, struct err *err)
{
	(void)err;
	struct tally *t = arg;
	if (e->kind < TRACE_KINDS)
		t->kind[e->kind]++;
	return 0;
}

static void say_result(const struct record_opts *o, const char *dir, const struct tally *t,
		       const struct launch_result *res)
{
	if (res->stopped)
		msg_error("recording stopped early, the trace is incomplete: %s", res->why.text);
	if (res->signal)
		msg_info("the program was ended by signal %d (%s)", res->signal,
			 strsignal(res->signal));
	if (res->pmem_forced)
		msg_info("PMEM_IS_PMEM_FORCE=1 was set for the program");
	if (!res->stopped && !t->kind[TRACE_STORE] && !msg_quiet)
		run_say_no_pm(&o->run, t->kind);
	msg_info("recorded %" PRIu64 " events on %u persistent file%s in %s; see: holdfast dump %s",
		 t->events, t->files, t->files == 1 ? "" : "s", dir, dir);
}

/* Runs the program, its events into the writer; -1: it did not run. */
static int run(struct launch *l, struct trace_writer *w, struct tally *t, struct launch_result *res,
	       struct err *err)
{
	struct trace_live *live = trace_live_new(w, count, t, err);
	if (!live)
		return -1;
	int bad = launch_run(l, live, res, err);
	t->events = trace_live_events(live);
	t->files = trace_files(trace_live_defs(live));
	trace_live_free(live);
	return bad;
}

static int record(const struct record_opts *o, struct launch *l, const char *dir)
{
	bool existed;
	struct err err;
	struct tally tally = { 0 };
	struct launch_result res;
	if (folder_clear(dir, o->force, &existed, &err))
		return cli_fail(&err);
	struct trace_writer *w = trace_create(dir, &err);
	if (!w || run(l, w, &tally, &res, &err)) {
		if (w)
			trace_abandon(w);
		folder_remove(dir, !existed);
		return cli_fail(&err);
	}
	if (res.stopped)
		trace_abandon(w);
	else if (trace_finish(w, &res.why))
		res.stopped = true;
	say_result(o, dir, &tally, &res);
	return res.stopped ? EXIT_INTERNAL : res.status;
}

static int cmd_record(int argc, char **argv)
{
	struct record_opts o = { 0 };
	struct err err;
	int status = cli_parse(&verb_record, &o, &argc, &argv);
	if (status != CLI_GO)
		return status;
	if (argc == 0)
		return cli_usage(&verb_record, "a program to run is needed");
	msg_quiet = o.quiet;
	struct launch_opts lo = run_launch_opts(&o.run, argv, NULL, 0);
	struct launch *l = launch_new(&lo, &err);
	if (!l)
		return cli_fail(&err);
	char *dir = o.output ? xstrdup(o.output) : folder_default(argv[0]);
	status = record(&o, l, dir);
	free(dir);
	launch_free(l);
	run_opts_free(&o.run);
	return status;
}
