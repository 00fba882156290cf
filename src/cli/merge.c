/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast merge: the shards of a campaign become one. */
#include <stdlib.h>
#include <unistd.h>

#include "cli/session.h"
#include "launch/launch.h"

struct merge_cli {
	struct campaign_opts crash;
	struct output_opts output;
	const char *folder;
};

static const struct cli_option merge_options[] = {
	{ "output", 'o', CLI_FILE, "DIR", offsetof(struct merge_cli, folder),
	  "folder for the whole campaign; without it merged-N.hft in the current folder" },
	{ "budget", 0, CLI_TEXT, "TIME|STATES|none", offsetof(struct merge_cli, crash.budget),
	  "for what no shard has tested; 10m without it" },
	{ "jobs", 'j', CLI_NUMBER, "N", offsetof(struct merge_cli, crash.jobs),
	  "recoveries side by side; as many as there are cores without it" },
	OUTPUT_OPTIONS(struct merge_cli),
	{ NULL },
};

static int cmd_merge(int argc, char **argv);

const struct cli_verb verb_merge = {
	.name = "merge",
	.run = cmd_merge,
	.summary = "join the shards of a crash campaign",
	.usage = "[options] DIR…",
	.about =
		"Joins campaigns that 'holdfast crash --shard K/N' or 'holdfast test --shard K/N' made on copies of one recording: their verdicts "
		"become those of one campaign, in a folder of its own, which is then resumed. It finds what the campaign would have found in one "
		"piece. Recovery runs on what no shard has tested, because it follows from what another one found, and to explain "
		"causes. Of a shard that is missing, or was stopped, nothing is tested; the report says so and is incomplete.\n\n"
		"All DIRs must have the same recording and the same settings, and no shard may be there twice. The status is that of 'holdfast "
		"crash'.",
	.examples =
		"holdfast merge shard-1.hft shard-2.hft shard-3.hft\tthe report of the whole\n"
		"holdfast merge -o all.hft --sarif all.sarif shard-*.hft\t… for others to read\n",
	.options = merge_options,
};

static int cmd_merge(int argc, char **argv)
{
	struct merge_cli o = { 0 };
	struct run_opts run = { 0 };
	struct err err;
	int status = cli_parse(&verb_merge, &o, &argc, &argv);
	if (status != CLI_GO)
		return status;
	if (argc == 0)
		return cli_usage(&verb_merge, "the folders of the shards are needed");
	char *dir = o.folder ? xstrdup(o.folder) : launch_folder_default("merged", &err);
	if (!dir || campaign_join(dir, argv, (size_t)argc, &err)) {
		if (dir && !o.folder)
			rmdir(dir);
		free(dir);
		return cli_fail(&err);
	}
	o.crash.resume = true;
	msg_quiet = o.output.quiet;
	msg_info("%d shard%s joined in %s", argc, argc == 1 ? "" : "s", dir);
	struct session s = { .verb = "merge", .run = &run, .crash = &o.crash, .output = &o.output };
	status = session_run(&s, 1, &dir);
	free(dir);
	return status;
}
