/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast status: how far a campaign is. */
#include <stdlib.h>
#include <string.h>

#include "cli/campaign.h"
#include "cli/explore.h"

struct status_cli {
	bool json;
};

static const struct cli_option status_options[] = {
	{ "json", 0, CLI_FLAG, NULL, offsetof(struct status_cli, json), "print JSON" },
	{ NULL },
};

static int cmd_status(int argc, char **argv);

const struct cli_verb verb_status = {
	.name = "status",
	.run = cmd_status,
	.summary = "how far a crash campaign or an exploration is",
	.usage = "[options] [DIR]",
	.about =
		"Says how far the crash campaign or the exploration in DIR is, while it runs or afterwards. Without DIR it takes "
		"the newest campaign in the current folder.",
	.examples = "holdfast status app-0.hft\thow far is it?\n",
	.options = status_options,
};

static const char *const keys[] = { "state",  "at",        "recover",    "verb",       "points",
				    "point",  "generated", "tested",     "resumed",    "failed",
				    "causes", "runs",      "paths",      "candidates", "queries",
				    "blocks", "pm_sites",  "behaviours", "findings",   "seconds",
				    NULL };
#define TEXTS 4 /* the first ones are no numbers */

static void print_json(struct campaign_db *s)
{
	const char *sep = "{";
	for (size_t i = 0; keys[i]; i++) {
		const char *v = campaign_db_get(s, keys[i]);
		if (!v)
			continue;
		printf("%s \"%s\": ", sep, keys[i]);
		sep = ",";
		if (i >= TEXTS) {
			fputs(v, stdout);
			continue;
		}
		putchar('"');
		for (; *v; v++)
			if (*v == '"' || *v == '\\')
				printf("\\%c", *v);
			else if ((unsigned char)*v < ' ')
				printf("\\u%04x", (unsigned)*v);
			else
				putchar(*v);
		putchar('"');
	}
	printf(" }\n");
}

static const char * or (const char *text, const char *other)
{
	return text ? text : other;
}

/* How far it is. True: there is nothing to go on with, or somebody is at it. */
static bool print_state(struct campaign_db *s, const char *dir)
{
	bool running = campaign_db_writer(dir) != 0;
	bool finished = strcmp(or (campaign_db_get(s, "state"), ""), "finished") == 0;
	bool killed = !running && strcmp(or (campaign_db_get(s, "state"), ""), "running") == 0;
	printf("%s: %s", dir,
	       running  ? "running"
	       : killed ? "interrupted"
			: or (campaign_db_get(s, "state"), "not begun"));
	return running || finished;
}

/* One at a time: a text lives until the next one is asked for. */
static void print_text(struct campaign_db *s, const char *dir)
{
	bool over = print_state(s, dir);
	if (strcmp(or (campaign_db_get(s, "state"), ""), "finished") != 0) {
		printf(", strategy %s", or (campaign_db_get(s, "at"), "none yet"));
		printf(", point %.0f", atof(or (campaign_db_get(s, "point"), "0")) + 1);
		printf(" of %s", or (campaign_db_get(s, "points"), "?"));
	}
	printf("\nimages tested: %s", or (campaign_db_get(s, "tested"), "0"));
	printf(" in %.0f s", atof(or (campaign_db_get(s, "seconds"), "0")));
	printf("; states failed: %s", or (campaign_db_get(s, "failed"), "0"));
	printf("; causes: %s\n", or (campaign_db_get(s, "causes"), "0"));
	printf("recovery: %s\n", or (campaign_db_get(s, "recover"), "?"));
	if (!over)
		printf("go on with: holdfast crash --resume %s\n", dir);
}

static void print_exploration(struct campaign_db *s, const char *dir)
{
	bool over = print_state(s, dir);
	printf(", strategy %s\n", or (campaign_db_get(s, "at"), "?"));
	printf("paths: %s", or (campaign_db_get(s, "paths"), "0"));
	printf(" in %.0f s", atof(or (campaign_db_get(s, "seconds"), "0")));
	printf("; branches left: %s", or (campaign_db_get(s, "candidates"), "?"));
	printf("; PM sites: %s", or (campaign_db_get(s, "pm_sites"), "0"));
	printf("; findings: %s\n", or (campaign_db_get(s, "findings"), "0"));
	if (!over)
		printf("go on with: holdfast explore --resume %s\n", dir);
}

static int cmd_status(int argc, char **argv)
{
	struct status_cli o = { 0 };
	struct err err;
	int status = cli_parse(&verb_status, &o, &argc, &argv);
	if (status != CLI_GO)
		return status;
	if (argc > 1)
		return cli_usage(&verb_status, "one folder at most");
	char *dir = campaign_find(argc ? argv[0] : NULL, &err);
	struct campaign_db *s = dir ? campaign_db_open(dir, CAMPAIGN_DB_READ, &err) : NULL;
	if (!s) {
		free(dir);
		return cli_fail(&err);
	}
	if (o.json)
		print_json(s);
	else if (explore_is(s))
		print_exploration(s, dir);
	else
		print_text(s, dir);
	free(dir);
	return campaign_db_close(s, &err) ? cli_fail(&err) : EXIT_NOTHING;
}
