/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules of a SARIF run: every built-in kind, then those of custom oracles that found something. */
#include <ctype.h>
#include <string.h>

#include "report/internal.h"

void report_rules_collect(struct report_rules *rules, const struct finding_set *set)
{
	for (int i = 0; i < FINDING_KINDS_COUNT; i++)
		VEC_PUSH(&rules->kind, finding_kind_info((enum finding_kind)i));
	for (size_t i = 0; i < set->v.n; i++)
		if (report_rule_index(rules, set->v.p[i]->kind) == rules->kind.n)
			VEC_PUSH(&rules->kind, set->v.p[i]->kind);
}

/* By name: two plug-ins may bring the same kind. */
size_t report_rule_index(const struct report_rules *rules, const struct finding_kind_info *kind)
{
	size_t i = 0;
	while (i < rules->kind.n && rules->kind.p[i] != kind &&
	       strcmp(rules->kind.p[i]->name, kind->name))
		i++;
	return i;
}

const char *report_sarif_level(enum finding_level level)
{
	static const char *const levels[] = {
		[FINDING_ERROR] = "error",
		[FINDING_PERFORMANCE] = "warning",
		[FINDING_WARNING] = "warning",
		[FINDING_NOTE] = "note",
	};
	return levels[level];
}

static void add_message(cJSON *to, const char *name, const char *text)
{
	report_add_text(cJSON_AddObjectToObject(to, name), "text", text);
}

/* "missing-flush" is MissingFlush. A kind of one word has none: a name that differs in capitals only is refused. */
static void add_name(cJSON *rule, const char *kind)
{
	struct buf name = { 0 };
	bool up = true;
	if (!strchr(kind, '-'))
		return;
	for (; *kind; kind++) {
		char c = up ? (char)toupper((unsigned char)*kind) : *kind;
		up = !isalnum((unsigned char)*kind);
		if (!up)
			buf_add(&name, &c, 1);
	}
	buf_add(&name, "", 1);
	report_add_text(rule, "name", name.p);
	buf_free(&name);
}

/* What GitHub reads: tags, how sure the rule is, how bad what it finds. */
static void add_properties(cJSON *rule, enum finding_level level)
{
	static const char *const severity[] = { "error", "recommendation", "warning",
						"recommendation" };
	static const char *const precision[] = { "very-high", "very-high", "medium", "low" };
	cJSON *p = cJSON_AddObjectToObject(rule, "properties");
	cJSON *tags = cJSON_AddArrayToObject(p, "tags");
	cJSON_AddItemToArray(tags, cJSON_CreateString("persistent-memory"));
	cJSON_AddItemToArray(tags, cJSON_CreateString(level == FINDING_PERFORMANCE
							      ? "performance"
							      : "crash-consistency"));
	report_add_text(p, "precision", precision[level]);
	report_add_text(p, "problem.severity", severity[level]);
}

cJSON *report_rules_json(const struct report_rules *rules)
{
	cJSON *a = cJSON_CreateArray();
	for (size_t i = 0; i < rules->kind.n; i++) {
		const struct finding_kind_info *kind = rules->kind.p[i];
		const char *help = kind->help ? kind->help : kind->title;
		cJSON *rule = cJSON_CreateObject();
		report_add_text(rule, "id", kind->name);
		add_name(rule, kind->name);
		add_message(rule, "shortDescription", kind->title);
		add_message(rule, "fullDescription", help);
		add_message(rule, "help", help);
		report_add_text(cJSON_AddObjectToObject(rule, "defaultConfiguration"), "level",
				report_sarif_level(kind->level));
		add_properties(rule, kind->level);
		cJSON_AddItemToArray(a, rule);
	}
	return a;
}
