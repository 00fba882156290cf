/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast replay: build the crash image of a finding again and run recovery on it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/campaign.h"
#include "report/report.h"

struct replay_cli {
	bool gdb;
	const char *keep, *recover;
};

static const struct cli_option replay_options[] = {
	{ "gdb", 0, CLI_FLAG, NULL, offsetof(struct replay_cli, gdb), "debug recovery with gdb" },
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
	.summary = "run recovery again on a finding's crash image",
	.usage = "[options] ID [DIR]",
	.about =
		"Builds the crash image of the finding ID in DIR (without it, of the newest campaign in "
		"the current folder) and runs the campaign's recovery command on it, in the same sandbox, "
		"with the terminal as its own.\n\n"
		"The status is 1 if it fails again, 0 if it does not.",
	.examples = "holdfast replay 3f9c app-0.hft\tsee it fail\n"
		    "holdfast replay --gdb 3f9c app-0.hft\tdebug it\n"
		    "holdfast replay --keep image 3f9c app-0.hft\tkeep the image for other tools\n",
	.options = replay_options,
};

/* The witness of a finding, xmalloc'ed. */
static char *witness_of(struct campaign *c, const char *id, struct err *err)
{
	char *json = campaign_finding(c, id, err), *text = NULL;
	struct finding *f = json ? report_finding_parse(json, err) : NULL;
	if (f && f->crash && f->crash->state)
		text = xstrdup(f->crash->state);
	else if (f)
		err_set(err, EXIT_USAGE, "finding %s was not found by a crash", id);
	if (f)
		finding_free(f);
	free(json);
	return text;
}

static void say(const struct runner_result *r)
{
	switch (r->verdict) {
	case RUNNER_OK: msg_info("recovery succeeded this time"); break;
	case RUNNER_CRASHED:
		msg_info("recovery crashed again: signal %d (%s)", r->status, strsignal(r->status));
		break;
	case RUNNER_HUNG: msg_info("recovery did not end in time, again"); break;
	case RUNNER_FLOODED: msg_info("recovery wrote without end, again"); break;
	default: msg_info("recovery failed again with status %d", r->status);
	}
}

static int replay(struct campaign *c, const struct replay_cli *o, const char *id,
		  struct runner_result *r, struct err *err)
{
	char *witness = witness_of(c, id, err);
	int bad = !witness || campaign_start(c, 1, err) ||
		  crash_build(c->crash, c->runner, 0, witness, false, err);
	if (!bad && o->keep) {
		if (mkdir(o->keep, 0777) && errno != EEXIST)
			bad = err_errno(err, EXIT_USAGE, "cannot make %s", o->keep);
		else
			bad = runner_export(c->runner, 0, o->keep, err);
		if (!bad)
			msg_info("the crash image is in %s", o->keep);
	}
	if (!bad)
		bad = runner_interactive(c->runner, 0, o->gdb, o->recover, r, err);
	free(witness);
	return bad ? -1 : 0;
}

static int cmd_replay(int argc, char **argv)
{
	struct replay_cli o = { 0 };
	struct campaign_opts none = { 0 };
	struct campaign c = { 0 };
	struct runner_result r = { 0 };
	struct err err;
	int status = cli_parse(&verb_replay, &o, &argc, &argv);
	if (status != CLI_GO)
		return status;
	if (argc < 1 || argc > 2)
		return cli_usage(&verb_replay, "the ID of a finding is needed");
	char *dir = campaign_find(argc > 1 ? argv[1] : NULL, &err);
	if (!dir)
		return cli_fail(&err);
	if (campaign_open(&c, dir, &none, STORE_READ, &err) || replay(&c, &o, argv[0], &r, &err)) {
		status = cli_fail(&err);
	} else {
		if (!o.gdb)
			say(&r);
		status = r.verdict == RUNNER_OK ? EXIT_NOTHING : EXIT_FINDINGS;
	}
	runner_result_free(&r);
	campaign_close(&c);
	free(dir);
	return status;
}
