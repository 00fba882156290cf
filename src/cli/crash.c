/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast crash: crash a recorded run everywhere that matters; recovery is the judge. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/campaign.h"
#include "cli/output.h"
#include "cli/session.h"

struct crash_cli {
	struct run_opts run;
	struct campaign_opts crash;
	struct output_opts output;
	const char *folder;
};

static const struct cli_option crash_options[] = {
	CAMPAIGN_OPTIONS(struct crash_cli),
	{ "output", 'o', CLI_FILE, "DIR", offsetof(struct crash_cli, folder),
	  "folder for the trace and the results; without it PROGRAM-N.hft in the current folder" },
	RUN_OPTIONS(struct crash_cli),
	OUTPUT_OPTIONS(struct crash_cli),
	{ NULL },
};

static int cmd_crash(int argc, char **argv);

const struct cli_verb verb_crash = {
	.name = "crash",
	.run = cmd_crash,
	.summary = "crash a program everywhere that matters, and let its recovery judge",
	.usage =
		"(--recover CMD | --probe CMD | --continue CMD) [options] (DIR | [--] PROGRAM [ARGUMENTS])",
	.about =
		"Runs PROGRAM once and records it, or reads the trace in DIR. Then, for every distinct "
		"call path to a flush, fence or sync, makes the images that a crash there may leave on "
		"the medium, and runs CMD on each. Where it fails, crashes or hangs, the state is "
		"reduced to the few stores that explain it: which one is persistent while which other "
		"is not.\n\n"
		"CMD is the program's own recovery or any checker that ends with a status other than 0 "
		"when the pool is not well. It runs natively and sees the image at the pool's original "
		"path, in a sandbox: nothing that it does to the pool, beside it or in the current folder "
		"lasts. It must succeed on the image at the program's normal end. With --probe, whose CMD "
		"prints what is in the pool, no checker is needed: an operation that the program marks "
		"happens as a whole or not at all, and stays. With --continue, whose CMD goes on with the "
		"operations that follow, what it prints must be the same (docs/EQUIVALENCE.md).\n\n"
		"Everything is kept in the trace's folder as it comes. An interrupted campaign goes on "
		"with --resume; 'holdfast status' looks at one, 'holdfast show', 'replay' and 'diff' at "
		"its findings.\n\n"
		"The status is 1 if there is a finding of the level that --fail-on names or a graver "
		"one, else 0; 3 if the program or its recovery cannot be run, recovery fails without a "
		"crash, or nothing was found in a campaign that was interrupted, that ended before it had "
		"tested a crash state, or of a recording that was broken off.",
	.examples =
		"holdfast crash --recover './app check pool' -- ./app run pool\tthe usual way\n"
		"holdfast crash --recover './app check pool' --budget 10m app-0.hft\t"
		"a recording, for ten minutes\n"
		"holdfast crash --ops-file cmds --continue './app run pool {ops}' -- ./app run pool cmds\t"
		"no checker: what comes after the crash must be as without it\n"
		"holdfast crash --resume app-0.hft\tgo on where it was interrupted\n"
		"holdfast crash --port 7000 --client './load' --recover './srv pool' --recover-client "
		"'./verify' -- ./srv pool\ta server\n",
	.options = crash_options,
	.command = true,
};

static int cmd_crash(int argc, char **argv)
{
	struct crash_cli o = { 0 };
	int status = cli_parse(&verb_crash, &o, &argc, &argv);
	if (status != CLI_GO)
		return status;
	if (argc == 0)
		return cli_usage(&verb_crash, "a program to run or a trace is needed");
	struct session s = { .verb = "crash",
			     .run = &o.run,
			     .crash = &o.crash,
			     .output = &o.output,
			     .folder = o.folder };
	status = session_run(&s, argc, argv);
	free(o.crash.only.p);
	run_opts_free(&o.run);
	return status;
}
