/* SPDX-License-Identifier: BSD-3-Clause */
/* How far a campaign or an exploration is: figures that are kept, and what follows from them. */
#include <stdlib.h>
#include <string.h>

#include "campaign/campaign.h"

/* What is kept of it; the first ones are no numbers. */
static const char *const keys[] = { "state",
				    "at",
				    "recover",
				    "verb",
				    "points",
				    "point",
				    "generated",
				    "tested",
				    "resumed",
				    "failed",
				    "causes",
				    "runs",
				    "paths",
				    "candidates",
				    "queries",
				    "blocks",
				    "pm_sites",
				    "behaviours",
				    "findings",
				    "proved",
				    "harmless",
				    "open",
				    "seconds",
				    "images",
				    "groups",
				    "representatives",
				    "followed",
				    "behaviour_tested",
				    "behaviour_failed",
				    "since_cause",
				    "seconds_left" };
_Static_assert(sizeof keys / sizeof *keys == CAMPAIGN_FIGURES, "one figure for each key");
#define TEXTS 4

static bool is_number(const char *text)
{
	char *end;
	strtod(text, &end);
	return end != text && !*end;
}

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

/* Seconds without a new cause; -1: there is none yet. */
double campaign_since_cause(struct campaign_db *db)
{
	const char *course = kept(db, "course", NULL), *line = course;
	double at = -1;
	for (; line && *line; line = strchr(line, '\n') + 1)
		at = strtod(line, NULL);
	double since = number(db, "seconds") - at;
	return at < 0 ? -1 : since > 0 ? since : 0; /* either may be rounded */
}

/* For what it will test, if it goes on as it did; -1: nobody can tell. */
double campaign_seconds_left(struct campaign_db *db)
{
	double images = number(db, "images"), tested = number(db, "tested");
	bool over = !strcmp(kept(db, "state", ""), "finished");
	if (over || images <= 0 || tested <= 0)
		return over ? 0 : -1;
	return tested < images ? (images - tested) * number(db, "seconds") / tested : 0;
}

/* A figure that is not kept, but follows from those that are; xmalloc'ed, NULL: it is none, or not known. */
static char *derived(struct campaign_db *db, const char *key)
{
	double value = -1;
	if (!strcmp(key, "since_cause"))
		value = campaign_since_cause(db);
	else if (!strcmp(key, "seconds_left"))
		value = campaign_seconds_left(db);
	return value < 0 ? NULL : xasprintf("%.1f", value);
}

void campaign_figures(struct campaign_db *db, struct report_field field[CAMPAIGN_FIGURES])
{
	for (size_t i = 0; i < CAMPAIGN_FIGURES; i++) {
		char *made = derived(db, keys[i]);
		const char *text = made ? made : campaign_db_get(db, keys[i]);
		field[i] = (struct report_field){ .name = keys[i],
						  .text = text ? xstrdup(text) : NULL,
						  .number = i >= TEXTS && text && is_number(text) };
		free(made);
	}
}

void campaign_figures_free(struct report_field field[CAMPAIGN_FIGURES])
{
	for (size_t i = 0; i < CAMPAIGN_FIGURES; i++)
		free(field[i].text);
}

int campaign_keep_words(struct campaign_db *db, const char *incomplete, const char *looked,
			const char *const *note, size_t n, struct err *err)
{
	struct buf notes = { 0 };
	for (size_t i = 0; i < n; i++)
		buf_printf(&notes, "%s%s", i ? "\n" : "", note[i]);
	buf_add(&notes, "", 1);
	int bad = campaign_db_begin(db, err) || campaign_db_set(db, "notes", notes.p, err) ||
		  campaign_db_set(db, "looked", looked ? looked : "", err) ||
		  campaign_db_set(db, "incomplete", incomplete ? incomplete : "", err) ||
		  campaign_db_commit(db, err);
	buf_free(&notes);
	return bad ? -1 : 0;
}
