/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast status: how far a campaign is. */
#include <stdlib.h>
#include <string.h>

#include "cli/campaign.h"
#include "cli/explore.h"
#include "report/report.h"

struct status_cli {
	bool json, csv;
};

static const struct cli_option status_options[] = {
	{ "json", 0, CLI_FLAG, NULL, offsetof(struct status_cli, json), "print JSON" },
	{ "csv", 0, CLI_FLAG, NULL, offsetof(struct status_cli, csv),
	  "print when the causes were found: a line for each, and one for now" },
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

/* What is kept under a key, or else `otherwise`; it lives until the next one is asked for. */
static const char *kept(struct campaign_db *db, const char *key, const char *otherwise)
{
	const char *text = campaign_db_get(db, key);
	return text ? text : otherwise;
}

static double number(struct campaign_db *db, const char *key)
{
	return strtod(kept(db, key, "0"), NULL);
}

static void print_csv(struct campaign_db *db)
{
	printf("seconds,tested,failed,causes\n%s", kept(db, "course", ""));
	printf("%.1f,", number(db, "seconds"));
	printf("%.0f,", number(db, "tested"));
	printf("%.0f,", number(db, "failed"));
	printf("%.0f\n", number(db, "causes"));
}

static void print_json(struct campaign_db *db)
{
	struct report_field field[CAMPAIGN_FIGURES];
	campaign_figures(db, field);
	report_fields(field, CAMPAIGN_FIGURES, stdout);
	campaign_figures_free(field);
}

/* How far it is. True: there is nothing to resume, or it is running. */
static bool print_state(struct campaign_db *db, const char *dir)
{
	bool running = campaign_db_writer(dir) != 0;
	const char *state = kept(db, "state", "not begun");
	bool killed = !running && strcmp(state, "running") == 0;
	printf("%s: %s", dir, running ? "running" : killed ? "interrupted" : state);
	return running || strcmp(state, "finished") == 0;
}

static void print_proofs(struct campaign_db *db)
{
	printf("misuse of stores: %s proved", kept(db, "proved", "0"));
	printf(", %s harmless for this recovery", kept(db, "harmless", "0"));
	printf(", %s open\n", kept(db, "open", "0"));
}

static void print_behaviours(struct campaign_db *db)
{
	printf("behaviours: %s", kept(db, "behaviours", "0"));
	printf(" in %s groups", kept(db, "groups", "0"));
	printf("; representatives: %s", kept(db, "representatives", "0"));
	printf("; followed up: %s", kept(db, "followed", "0"));
	printf("; states tested: %s", kept(db, "behaviour_tested", "0"));
	printf(", failed: %s\n", kept(db, "behaviour_failed", "0"));
}

/* What is to be expected. */
static void print_outlook(struct campaign_db *db)
{
	double since = campaign_since_cause(db), left = campaign_seconds_left(db);
	if (since >= 0)
		printf("last new cause: %.0f s ago\n", since);
	if (strcmp(kept(db, "state", ""), "finished") != 0 && campaign_db_get(db, "images"))
		printf("estimate: %s images in all, about %.0f s more\n", kept(db, "images", "?"),
		       left > 0 ? left : 0);
}

/* The commands that judge: one of them at least. */
static void print_commands(struct campaign_db *db)
{
	static const char *const commands[][2] = { { "recover", "recovery" },
						   { "probe", "probe" },
						   { "continue", "continue" } };
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (campaign_db_get(db, commands[i][0]))
			printf("%s: %s\n", commands[i][1], kept(db, commands[i][0], ""));
}

static void print_campaign(struct campaign_db *db, const char *dir)
{
	bool over = print_state(db, dir);
	if (strcmp(kept(db, "state", ""), "finished") != 0) {
		printf(", strategy %s", kept(db, "at", "none yet"));
		printf(", point %.0f", atof(kept(db, "point", "0")) + 1);
		printf(" of %s", kept(db, "points", "?"));
	}
	printf("\nimages tested: %s", kept(db, "tested", "0"));
	printf(" in %.0f s", atof(kept(db, "seconds", "0")));
	printf("; states failed: %s", kept(db, "failed", "0"));
	printf("; causes: %s\n", kept(db, "causes", "0"));
	print_outlook(db);
	if (campaign_db_get(db, "behaviours"))
		print_behaviours(db);
	if (campaign_db_get(db, "proved"))
		print_proofs(db);
	print_commands(db);
	if (!over)
		printf("go on with: holdfast %s --resume %s\n", kept(db, "verb", "crash"), dir);
}

static void print_exploration(struct campaign_db *db, const char *dir)
{
	bool over = print_state(db, dir);
	printf(", strategy %s\n", kept(db, "at", "?"));
	printf("paths: %s", kept(db, "paths", "0"));
	printf(" in %.0f s", atof(kept(db, "seconds", "0")));
	printf("; branches left: %s", kept(db, "candidates", "?"));
	printf("; PM sites: %s", kept(db, "pm_sites", "0"));
	printf("; findings: %s\n", kept(db, "findings", "0"));
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
	struct campaign_db *db = dir ? campaign_db_open(dir, CAMPAIGN_DB_READ, &err) : NULL;
	if (!db) {
		free(dir);
		return cli_fail(&err);
	}
	stdout_printable(!o.json);
	if (o.csv)
		print_csv(db);
	else if (o.json)
		print_json(db);
	else if (explore_is(db))
		print_exploration(db, dir);
	else
		print_campaign(db, dir);
	stdout_printable(false);
	free(dir);
	return campaign_db_close(db, &err) ? cli_fail(&err) : EXIT_NOTHING;
}
