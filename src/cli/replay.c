/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast replay: recovery on the crash image of a finding, or the program with its input. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/campaign.h"
#include "cli/explore.h"

struct replay_cli {
	bool gdb;
	const char *keep, *recover;
};

static const struct cli_option replay_options[] = {
	{ "gdb", 0, CLI_FLAG, NULL, offsetof(struct replay_cli, gdb),
	  "debug recovery, or the program, with gdb" },
	{ "keep", 0, CLI_FILE, "FOLDER", offsetof(struct replay_cli, keep),
	  "also put the crash image's files into FOLDER" },
	{ "recover", 0, CLI_TEXT, "CMD", offsetof(struct replay_cli, recover),
	  "run this on the image instead of the campaign's recovery command" },
	{ NULL },
};

static int cmd_replay(int argc, char **argv);

const struct cli_verb verb_replay = {
	.name = "replay",
	.run = cmd_replay,
	.summary = "see a finding again: its crash image, or its input",
	.usage = "[options] ID [DIR]",
	.about =
		"Builds the crash image of the finding ID in DIR (without it, of the newest campaign in "
		"the current folder) and runs the campaign's recovery command on it, in the same sandbox, "
		"with the terminal as its own.\n\n"
		"For a finding of 'holdfast explore' it runs the program with the input that shows it, first "
		"as it is, with the terminal as its own and its files private, then under 'holdfast check' "
		"if that is what found it; and says if the run took another way than the exploration's.\n\n"
		"The status is 1 if it fails or is found again, 0 if not, and 2 if there is no crash image: what check "
		"found has one only where a crash proved it.",
	.examples = "holdfast replay 3f9c app-0.hft\tsee it fail\n"
		    "holdfast replay --gdb 3f9c app-0.hft\tdebug it\n"
		    "holdfast replay --keep image 3f9c app-0.hft\tkeep the image for other tools\n",
	.options = replay_options,
};

static void say(const struct runner_result *r, const struct finding_crash *before)
{
	bool same = strcmp(runner_verdict_name(r->verdict), before->verdict) == 0 &&
		    r->status == before->status;
	const char *how = same ? "again" : "this time, otherwise than in the campaign";
	switch (r->verdict) {
	case RUNNER_OK: msg_info("recovery succeeded this time"); break;
	case RUNNER_CRASHED:
		msg_info("recovery crashed %s: signal %d (%s)", how, r->status,
			 strsignal(r->status));
		break;
	case RUNNER_HUNG: msg_info("recovery did not end in time %s", how); break;
	case RUNNER_FLOODED: msg_info("recovery wrote without end %s", how); break;
	case RUNNER_DIFFERS: msg_info("what is in the pool is wrong %s", how); break;
	default: msg_info("recovery failed %s with status %d", how, r->status);
	}
}

static int keep_image(struct campaign *c, const char *folder, struct err *err)
{
	if (mkdir(folder, 0777) && errno != EEXIST)
		return err_errno(err, EXIT_USAGE, "cannot make %s", folder);
	if (runner_export(campaign_runner(c), 0, folder, err))
		return -1;
	msg_info("the crash image is in %s", folder);
	return 0;
}

static int replay(struct campaign *c, const struct replay_cli *o, const struct finding_crash *w,
		  struct runner_result *r, struct err *err)
{
	if (campaign_build(c, w->state, err))
		return -1;
	campaign_say_view(c);
	if ((o->keep && keep_image(c, o->keep, err)) ||
	    campaign_replay(c, w->state, o->gdb, o->recover, r, err))
		return -1;
	if (r->output) /* what ran on our terminal has none */
		fwrite(r->output, 1, r->noutput, stdout);
	return 0;
}

static int replay_id(struct campaign *c, const struct replay_cli *o, const char *id,
		     struct err *err)
{
	struct runner_result r = { 0 };
	struct finding *f = campaign_finding(c, id, err);
	int status = -1;
	if (f && replay(c, o, f->crash, &r, err) == 0) {
		if (!o->gdb && !o->recover)
			say(&r, f->crash);
		status = r.verdict == RUNNER_OK ? EXIT_NOTHING : EXIT_FINDINGS;
	}
	if (f)
		finding_free(f);
	runner_result_free(&r);
	return status;
}

static bool of_exploration(const char *dir)
{
	struct err ignored;
	struct campaign_db *s = campaign_db_open(dir, CAMPAIGN_DB_READ, &ignored);
	bool is = s && explore_is(s);
	campaign_db_close(s, &ignored);
	return is;
}

static int cmd_replay(int argc, char **argv)
{
	struct replay_cli o = { 0 };
	struct err err;
	int status = cli_parse(&verb_replay, &o, &argc, &argv);
	if (status != CLI_GO)
		return status;
	if (argc < 1 || argc > 2)
		return cli_usage(&verb_replay, "the ID of a finding is needed");
	char *dir = campaign_find(argc > 1 ? argv[1] : NULL, &err);
	if (!dir)
		return cli_fail(&err);
	if (of_exploration(dir)) {
		char *campaign;
		status = explore_replay_cli(dir, argv[0], o.gdb, &campaign, &err);
		free(dir);
		if (status < 0 || !campaign)
			return status < 0 ? cli_fail(&err) : status;
		dir = campaign;
	}
	struct campaign *c = campaign_open(dir, NULL, CAMPAIGN_DB_READ, &err);
	if (!c || (status = replay_id(c, &o, argv[0], &err)) < 0)
		status = cli_fail(&err);
	campaign_close(c);
	free(dir);
	return status;
}
