/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast diff: what a finding's crash image lacks. */
#include <stdlib.h>
#include <string.h>

#include "cli/campaign.h"

struct diff_cli {
	bool all;
};

static const struct cli_option diff_options[] = {
	{ "all", 0, CLI_FLAG, NULL, offsetof(struct diff_cli, all),
	  "also lost stores whose bytes are the same in both images, or are stored again" },
	{ NULL },
};

static int cmd_diff(int argc, char **argv);

const struct cli_verb verb_diff = {
	.name = "diff",
	.run = cmd_diff,
	.summary = "what a finding's crash image lacks",
	.usage = "[options] ID [DIR]",
	.about =
		"Shows in which fields the crash image of the finding ID differs from the image with "
		"nothing lost at the same moment: each store that is lost, with its statement, the "
		"type that the debug information tells, and the value in either image. What check found has a "
		"crash image only where a crash proved it; otherwise the reason is said, with status 2.",
	.examples = "holdfast diff 3f9c app-0.hft\twhich stores are missing?\n",
	.options = diff_options,
};

struct walk {
	struct campaign *c;
	bool all;
	unsigned n;
};

static void print_field(const struct finding_field *f)
{
	printf("%s  ", f->data);
	if (f->member)
		printf("%s%s%s%s%s%s  ", f->object ? f->object : "",
		       f->object && *f->member ? "." : "", f->member, f->type ? " (" : "",
		       f->type ? f->type : "", f->type ? ")" : "");
	if (f->has)
		printf("%s, should be %s\n", f->has, f->should);
	else
		printf("%u bytes\n", f->size);
	if (f->at)
		printf("    %s%s%s\n", f->at, f->statement ? ": " : "",
		       f->statement ? f->statement : "");
}

static void print_lost(void *arg, const struct crash_lost *lost)
{
	struct walk *w = arg;
	struct finding_field f;
	bool same = lost->len <= 8 && !memcmp(lost->has, lost->should, lost->len);
	if (!w->all && (same || lost->again))
		return;
	w->n++;
	crash_lost_field(campaign_crash(w->c), lost, &f);
	print_field(&f);
	finding_field_free(&f);
}

static int diff(struct walk *w, const char *id, struct err *err)
{
	struct finding *f = campaign_finding(w->c, id, err);
	int bad = !f || campaign_history(w->c, err) ||
		  crash_diff(campaign_crash(w->c), f->crash->state, print_lost, w, err);
	if (!bad && !w->n)
		printf("nothing is lost: the crash comes between two stores of the program\n");
	if (f)
		finding_free(f);
	return bad;
}

static int cmd_diff(int argc, char **argv)
{
	struct diff_cli o = { 0 };
	struct walk w = { 0 };
	struct err err;
	int status = cli_parse(&verb_diff, &o, &argc, &argv);
	if (status != CLI_GO)
		return status;
	if (argc < 1 || argc > 2)
		return cli_usage(&verb_diff, "the ID of a finding is needed");
	char *dir = campaign_find(argc > 1 ? argv[1] : NULL, &err);
	if (!dir)
		return cli_fail(&err);
	w.all = o.all;
	stdout_printable(true);
	status = EXIT_NOTHING;
	w.c = campaign_open(dir, NULL, CAMPAIGN_DB_READ, &err);
	if (!w.c || diff(&w, argv[0], &err))
		status = cli_fail(&err);
	stdout_printable(false);
	campaign_close(w.c);
	free(dir);
	return status;
}
