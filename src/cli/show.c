/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast show: a finding of a campaign, in full. */
#include <stdlib.h>
#include <string.h>

#include "cli/campaign.h"
#include "report/report.h"

struct show_cli {
	bool json;
};

static const struct cli_option show_options[] = {
	{ "json", 0, CLI_FLAG, NULL, offsetof(struct show_cli, json), "print JSON" },
	{ NULL },
};

static int cmd_show(int argc, char **argv);

const struct cli_verb verb_show = {
	.name = "show",
	.run = cmd_show,
	.summary = "show a finding of a campaign or exploration, or list them",
	.usage = "[options] [ID] [DIR]",
	.about =
		"Shows the finding ID of the crash campaign or exploration in DIR: the stores that explain "
		"it, what recovery said, or the input, and how to replay it; of 'holdfast test' also what check found, "
		"with its evidence and what crashes made of it. The beginning of an ID is enough. Without ID it lists all "
		"findings; without DIR it takes the newest campaign in the current folder. A word that is both is the folder's name.",
	.examples = "holdfast show 3f9c app-0.hft\tone finding\n"
		    "holdfast show app-0.hft\tall of them, a line each\n",
	.options = show_options,
};

struct list {
	bool json;
	unsigned n;
};

static void print_line(void *arg, const struct campaign_db_finding *row)
{
	struct list *list = arg;
	struct err err;
	list->n++;
	if (list->json) {
		puts(row->finding);
		return;
	}
	struct finding *f = report_finding_parse(row->finding, &err);
	if (!f)
		return;
	printf("%s  %-12s %s%s%s%s\n", row->id, f->kind->name, f->message ? f->message : "",
	       f->verdict ? " [" : "", f->verdict ? finding_proof_name(f->verdict->proof) : "",
	       f->verdict ? "]" : "");
	finding_free(f);
}

static int show_all(struct campaign_db *db, bool json, struct err *err)
{
	struct list list = { .json = json };
	stdout_printable(!json);
	int bad = campaign_db_each_finding(db, print_line, &list, err);
	if (!bad && !list.n && !json)
		printf("no findings\n");
	stdout_printable(false);
	return bad;
}

static int show_one(struct campaign_db *db, const char *id, bool json, struct err *err)
{
	char *text = campaign_db_finding_json(db, id, err);
	int bad = -1;
	if (text && json)
		bad = puts(text) < 0;
	else if (text)
		bad = report_show_json(text, stdout, err);
	free(text);
	return bad;
}

static bool is_id(const char *s)
{
	size_t n = strlen(s);
	return n >= 1 && n <= 16 && strspn(s, "0123456789abcdef") == n;
}

static int cmd_show(int argc, char **argv)
{
	struct show_cli o = { 0 };
	struct err err;
	int status = cli_parse(&verb_show, &o, &argc, &argv);
	if (status != CLI_GO)
		return status;
	bool folder =
		argc == 1 && campaign_is(argv[0]); /* rather than an ID that looks like its name */
	const char *id = argc > 0 && !folder && is_id(argv[0]) ? argv[0] : NULL;
	if (argc > (id ? 2 : 1))
		return cli_usage(&verb_show, "an ID and a folder at most");
	char *dir = campaign_find(argc > (id ? 1 : 0) ? argv[argc - 1] : NULL, &err);
	if (!dir)
		return cli_fail(&err);
	status = EXIT_NOTHING;
	struct campaign_db *db = campaign_db_open(dir, CAMPAIGN_DB_READ, &err);
	if (!db || (id ? show_one(db, id, o.json, &err) : show_all(db, o.json, &err)))
		status = cli_fail(&err);
	campaign_db_close(db, &err);
	free(dir);
	return status;
}
