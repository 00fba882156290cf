/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast reads: which lines of PM files a command reads before it writes them. */
#include <inttypes.h>
#include <unistd.h>

#include "cli/run.h"

struct reads_cli {
	struct run_opts run;
};

static const struct cli_option reads_options[] = {
	RUN_OPTIONS(struct reads_cli),
	{ NULL },
};

static int cmd_reads(int argc, char **argv);

const struct cli_verb verb_reads = {
	.name = "reads",
	.run = cmd_reads,
	.summary = "which lines a command reads before it writes them",
	.usage = "[options] [--] COMMAND [ARGUMENTS]",
	.about =
		"Runs COMMAND under the tracer and prints, in the order of the first reads, the path of the "
		"file and the offset of each line of persistent memory that it reads before it has "
		"written what it reads; then \"end\".",
	.examples = "holdfast reads -- ./app check pool\twhat recovery looks at\n",
	.options = reads_options,
	.command = true,
};

/* What the command prints would be taken for ours. */
static int run(struct reads_cli *o, char **argv, struct launch_reads *reads, struct err *err)
{
	struct launch_opts lo = run_launch_opts(&o->run, argv, NULL, 0);
	int out = dup(STDOUT_FILENO);
	if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return err_errno(err, EXIT_INTERNAL, "cannot redirect the output");
	int bad = launch_reads(&lo, reads, err);
	dup2(out, STDOUT_FILENO);
	close(out);
	return bad;
}

static int cmd_reads(int argc, char **argv)
{
	struct reads_cli o = { 0 };
	struct launch_reads reads = { 0 };
	struct err err;
	int status = cli_parse(&verb_reads, &o, &argc, &argv);
	if (status != CLI_GO)
		return status;
	if (argc == 0)
		return cli_usage(&verb_reads, "a command to run is needed");
	status = run(&o, argv, &reads, &err) ? cli_fail(&err) : EXIT_NOTHING;
	stdout_printable(isatty(STDOUT_FILENO)); /* programs want the names as they are */
	for (size_t i = 0; !status && i < reads.read.n; i++)
		printf("%s 0x%" PRIx64 "\n", reads.file.p[reads.read.p[i].file],
		       reads.read.p[i].off);
	if (!status)
		puts("end"); /* else something is missing */
	stdout_printable(false);
	launch_reads_free(&reads);
	run_opts_free(&o.run);
	return status;
}
