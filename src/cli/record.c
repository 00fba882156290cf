/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast record: run a program and keep what it does to persistent memory. */
#include "cli/check.h"
#include "cli/cli.h"
#include "cli/output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct record_opts {
	const char *output;
	struct run_opts run;
	const char *incomplete;
	bool force, quiet, loads, deps, profile;
};

static const struct cli_option record_options[] = {
	{ "output", 'o', CLI_FILE, "DIR", offsetof(struct record_opts, output),
	  "folder for the trace; without it PROGRAM-N.hft in the current folder, with the first "
	  "free number N" },
	{ "force", 'f', CLI_FLAG, NULL, offsetof(struct record_opts, force),
	  "replace the folder if it holds a trace" },
	RUN_OPTIONS(struct record_opts),
	{ "loads", 0, CLI_FLAG, NULL, offsetof(struct record_opts, loads),
	  "record what is read from persistent memory too, by loads and by system calls; a load is "
	  "left out if nothing was stored there since it was last recorded. With --pm, files that "
	  "are only read, or mapped privately, count as well" },
	{ "deps", 0, CLI_FLAG, NULL, offsetof(struct record_opts, deps),
	  "record also which stores, loads and branches come from which loads of persistent memory, "
	  "and every such load; takes a few times as long" },
	{ "profile-sites", 0, CLI_FLAG, NULL, offsetof(struct record_opts, profile),
	  "count also how often the code that stores to persistent memory stores to other memory, by "
	  "call path: 'holdfast fix' puts flushes where they are least in vain" },
	{ "incomplete", 0, CLI_CHOICE, NULL, offsetof(struct record_opts, incomplete),
	  "what it means that a file does not hold what was recorded at the end",
	  &choices_incomplete },
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
		"not be run, or the tracer failed before its end, the status is 3; if recording had to stop early (disk full, say), the "
		"program still runs to its end, the trace is readable up to there and marked "
		"incomplete, and the status is 4.\n\n"
		"At the end each persistent file is compared with what the recording makes of it. "
		"A difference is a warning that says where it begins, which event was the last to "
		"write there, and the likely cause; with --incomplete error the status is then 3, "
		"if the program's own is 0.\n\n"
		"Ctrl-C goes to the program; what it did until it ended is recorded.\n\n"
		"A server is recorded with --client: once it is ready, the client is run, not "
		"recorded, and when that has ended, the server is stopped. If it ends by the signal "
		"of --stop, that is no failure, and the status is 0; if it is never ready, the status "
		"is 3. Nothing that server or client started is left running.",
	.examples = "holdfast record -- ./app pool\trecord ./app into app-0.hft\n"
		    "holdfast record -o t --pm '/mnt/pmem/*' --watch 'pmemobj_tx_*' -- ./app\t"
		    "choose the folder, what is persistent memory, and functions to watch\n"
		    "holdfast record --port 7000 --client './load 7000' -- ./server pool 7000\t"
		    "a server\n",
	.options = record_options,
	.command = true,
};

static void say_result(const struct record_opts *o, const char *dir,
		       const struct launch_recording *rec)
{
	const struct launch_result *res = &rec->result;
	if (res->stopped)
		msg_error("recording stopped early, the trace is incomplete: %s", res->why.text);
	if (rec->died && res->status && !res->signal && !res->stopped)
		msg_error("the tracer ended with status %d before the program did: the trace is "
			  "incomplete",
			  res->status);
	if (res->signal)
		msg_info("the program was ended by signal %d (%s)", res->signal,
			 strsignal(res->signal));
	if (res->differs.status)
		msg_warn("%s", res->differs.text);
	if (rec->kind[TRACE_LABELS_LOST])
		msg_warn("there were too many dependences at a time: %" PRIu64
			 " time%s, all before were dropped",
			 rec->kind[TRACE_LABELS_LOST],
			 rec->kind[TRACE_LABELS_LOST] == 1 ? "" : "s");
	if (res->client_status)
		msg_warn("the client ended with status %d", res->client_status);
	if (res->pmem_forced)
		msg_info("PMEM_IS_PMEM_FORCE=1 was set for the program");
	if (!res->stopped && !rec->kind[TRACE_STORE] && !msg_quiet)
		run_say_no_pm(&o->run, rec->kind);
	msg_info("recorded %" PRIu64 " events on %u persistent file%s in %s; see: holdfast dump %s",
		 rec->events, rec->files, rec->files == 1 ? "" : "s", dir, dir);
}

static int cmd_record(int argc, char **argv)
{
	struct record_opts o = { 0 };
	struct launch_recording rec;
	struct err err = { 0 };
	int status = cli_parse(&verb_record, &o, &argc, &argv);
	if (status != CLI_GO)
		return status;
	if (argc == 0)
		return cli_usage(&verb_record, "a program to run is needed");
	if (run_misuse(&o.run))
		return cli_usage(&verb_record, "%s", run_misuse(&o.run));
	if (o.loads && o.deps)
		return cli_usage(&verb_record,
				 "--deps records every load: --loads, which leaves some out, does "
				 "not go with it");
	if (o.profile && o.deps)
		return cli_usage(&verb_record,
				 "--profile-sites and --deps do not go together: record twice");
	msg_quiet = o.quiet;
	/* so that check can judge the recording as it does a run */
	char **watch = check_folder_watches(&(struct check_folder){ 0 }, &err);
	size_t n = 0;
	if (!watch)
		return cli_fail(&err);
	while (watch[n])
		n++;
	struct launch_opts lo = run_launch_opts(&o.run, argv, (const char *const *)watch, n);
	lo.loads = o.loads;
	lo.deps = o.deps;
	lo.profile = o.profile;
	char *dir = o.output ? xstrdup(o.output) : launch_folder_default(argv[0], &err);
	if (!dir || launch_record(&lo, dir, o.force, &rec, &err)) {
		status = cli_fail(&err);
		if (dir && !o.output)
			rmdir(dir);
	} else {
		say_result(&o, dir, &rec);
		if (run_wanted_missing(&o.run, &rec, &err))
			msg_warn("%s", err.text);
		bool lost = rec.died && rec.result.status && !rec.result.signal;
		status = rec.result.stopped ? EXIT_INTERNAL
			 : lost             ? EXIT_PROGRAM
					    : rec.result.status;
		if (!status && rec.result.differs.status && output_strict(o.incomplete))
			status = EXIT_PROGRAM;
	}
	free(dir);
	check_folder_watches_free(watch);
	run_opts_free(&o.run);
	return status;
}
