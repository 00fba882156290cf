/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast test: check and crash on one recording, one report. */
#include <stdlib.h>

#include "cli/session.h"

struct test_cli {
	struct run_opts run;
	struct campaign_opts crash;
	struct output_opts output;
	const char *folder;
	struct cli_list oracle;
	bool notes, include_libs;
};

static const struct cli_option test_options[] = {
	CAMPAIGN_OPTIONS(struct test_cli),
	CHECK_OPTIONS(struct test_cli),
	{ "output", 'o', CLI_FILE, "DIR", offsetof(struct test_cli, folder),
	  "folder for the trace and the results; without it PROGRAM-N.hft in the current folder" },
	RUN_OPTIONS(struct test_cli),
	OUTPUT_OPTIONS(struct test_cli),
	{ NULL },
};

static int cmd_test(int argc, char **argv);

const struct cli_verb verb_test = {
	.name = "test",
	.run = cmd_test,
	.summary = "check and crash together, on one recording",
	.usage =
		"(--recover CMD | --probe CMD | --continue CMD) [options] (DIR | [--] PROGRAM [ARGUMENTS])",
	.about =
		"Runs PROGRAM once and records it, or reads the trace in DIR; looks for misuse in it "
		"as 'holdfast check' does, crashes it as 'holdfast crash' does, and reports all "
		"findings together. See there for what the options mean.\n\n"
		"What check suspects of a store is tried out first, by crashes that lose just this store. "
		"The finding is then 'proved', an error with a crash that can be replayed; 'harmless for this "
		"recovery', which handles all of these crashes, and one level down: an error is a warning, "
		"which does not make the status 1 unless --fail-on says so; or 'open', and a suspicion of an error "
		"that is open does.",
	.examples = "holdfast test --recover './app check pool' -- ./app run pool\t"
		    "everything, with one command\n",
	.options = test_options,
	.command = true,
};

static int cmd_test(int argc, char **argv)
{
	struct test_cli o = { 0 };
	int status = cli_parse(&verb_test, &o, &argc, &argv);
	if (status != CLI_GO)
		return status;
	if (argc == 0)
		return cli_usage(&verb_test, "a program to run or a trace is needed");
	struct check_folder check = { &o.oracle, o.notes, o.include_libs };
	struct session s = { .verb = "test",
			     .run = &o.run,
			     .crash = &o.crash,
			     .check = &check,
			     .output = &o.output,
			     .folder = o.folder };
	status = session_run(&s, argc, argv);
	free(o.oracle.p);
	free(o.crash.only.p);
	run_opts_free(&o.run);
	return status;
}
