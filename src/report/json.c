/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The JSON report: the contract between verbs and with scripts, docs/REPORTS.md has it in full.
 * The HTML page shows the same tree, with excerpts of the source added.
 */
#include <stdlib.h>

#include "report/internal.h"

#define PAGE_CONTEXT 4 /* lines around the marked one, on the page */
#define CHART_ROWS 400

static void add_number(cJSON *to, const char *name, uint64_t value)
{
	cJSON_AddNumberToObject(to, name, (double)value);
}

/* {"first": 5, "lines": ["…", …], "note": "source changed since the build"} */
static cJSON *excerpt(const struct srcloc_frame *f, uint32_t context)
{
	struct report_excerpt e = report_excerpt(f, context);
	cJSON *o = cJSON_CreateObject(), *lines = cJSON_CreateArray();
	for (uint32_t i = 0; i < e.n; i++)
		cJSON_AddItemToArray(lines,
				     report_text_item(finding_source_line(f->file, e.first + i)));
	add_number(o, "first", e.first);
	cJSON_AddItemToObject(o, "lines", lines);
	if (f && report_source_note(e.state))
		report_add_text(o, "note", report_source_note(e.state));
	return o;
}

/* What the page shows besides. */
static void add_for_page(cJSON *o, const struct finding *f)
{
	cJSON *related = cJSON_GetObjectItem(o, "related");
	cJSON_AddItemToObject(o, "excerpt", excerpt(finding_main_frame(&f->place), PAGE_CONTEXT));
	for (size_t k = 0; k < f->related.n; k++)
		cJSON_AddItemToObject(cJSON_GetArrayItem(related, (int)k), "excerpt",
				      excerpt(finding_main_frame(&f->related.p[k].place), 1));
	if (f->crash) {
		char *verdict = report_verdict(f->crash);
		report_add_text(cJSON_GetObjectItem(o, "witness"), "says", verdict);
		free(verdict);
	}
}

static cJSON *findings(const struct report *r, bool suppressed, bool page)
{
	cJSON *a = cJSON_CreateArray();
	for (size_t i = 0; i < r->findings->v.n; i++) {
		const struct finding *f = r->findings->v.p[i];
		if (f->suppressed != suppressed)
			continue;
		cJSON *o = report_finding_tree(f, false);
		if (page)
			add_for_page(o, f);
		cJSON_AddItemToArray(a, o);
	}
	return a;
}

static cJSON *summary(const struct finding_set *set)
{
	cJSON *o = cJSON_CreateObject();
	for (int i = 0; i < FINDING_LEVELS; i++)
		add_number(o, finding_level_name((enum finding_level)i),
			   finding_count(set, (enum finding_level)i));
	add_number(o, "suppressed", finding_suppressed(set));
	return o;
}

/* {"columns": ["seconds", …], "rows": [[0.5, …], …]}, with no more rows than a picture needs. */
static cJSON *chart(const struct report_chart *c)
{
	cJSON *o = cJSON_CreateObject(), *names = cJSON_AddArrayToObject(o, "columns");
	cJSON *rows = cJSON_AddArrayToObject(o, "rows");
	size_t step = c->n / CHART_ROWS + 1;
	for (size_t i = 0; i < c->columns; i++)
		cJSON_AddItemToArray(names, report_text_item(c->name[i]));
	for (size_t i = 0; i < c->n; i++)
		if (i % step == 0 || i + 1 == c->n)
			cJSON_AddItemToArray(rows, cJSON_CreateDoubleArray(c->row + i * c->columns,
									   (int)c->columns));
	return o;
}

char *report_chart_json(const struct report_chart *c)
{
	cJSON *o = chart(c);
	char *text = cJSON_PrintUnformatted(o), *own = xstrdup(text ? text : "null");
	cJSON_Delete(o);
	cJSON_free(text);
	return own;
}

static cJSON *tree(const struct report *r, bool page)
{
	cJSON *o = cJSON_CreateObject(), *command = cJSON_CreateArray(), *stats, *notes;
	report_add_text(o, "holdfast", HOLDFAST_VERSION);
	add_number(o, "schema", REPORT_SCHEMA);
	report_add_text(o, "verb", r->verb);
	for (size_t i = 0; i < r->ncommand; i++)
		cJSON_AddItemToArray(command, report_text_item(r->command[i]));
	cJSON_AddItemToObject(o, "command", command);
	report_add_text(o, "folder", report_folder());
	report_add_text(o, "model", r->model);
	report_add_text(o, "incomplete", r->incomplete);
	if (r->looked)
		report_add_text(o, "looked", r->looked);
	cJSON_AddItemToObject(o, "findings", findings(r, false, page));
	cJSON_AddItemToObject(o, "suppressed", findings(r, true, page));
	cJSON_AddItemToObject(o, "summary", summary(r->findings));
	stats = cJSON_AddObjectToObject(o, "stats");
	for (size_t i = 0; i < r->nstats; i++)
		cJSON_AddNumberToObject(stats, r->stats[i].name, r->stats[i].value);
	notes = cJSON_AddArrayToObject(o, "notes");
	for (size_t i = 0; i < r->nnotes; i++)
		cJSON_AddItemToArray(notes, report_text_item(r->notes[i]));
	if (r->chart)
		cJSON_AddItemToObject(o, "chart", chart(r->chart));
	return o;
}

cJSON *report_tree(const struct report *r)
{
	return tree(r, false);
}

cJSON *report_tree_for_page(const struct report *r)
{
	cJSON *o = tree(r, true), *kinds = cJSON_AddObjectToObject(o, "kinds");
	struct report_rules rules = { 0 };
	report_rules_collect(&rules, r->findings);
	for (size_t i = 0; i < rules.kind.n; i++) {
		cJSON *kind = cJSON_AddObjectToObject(kinds, rules.kind.p[i]->name);
		report_add_text(kind, "title", rules.kind.p[i]->title);
		report_add_text(kind, "help", rules.kind.p[i]->help);
	}
	VEC_FREE(&rules.kind);
	return o;
}

void report_fields(const struct report_field *f, size_t n, FILE *out)
{
	cJSON *o = cJSON_CreateObject();
	for (size_t i = 0; i < n; i++)
		if (f[i].text && f[i].number)
			cJSON_AddRawToObject(o, f[i].name, f[i].text);
		else if (f[i].text)
			report_add_text(o, f[i].name, f[i].text);
	char *text = cJSON_PrintUnformatted(o);
	fprintf(out, "%s\n", text);
	cJSON_free(text);
	cJSON_Delete(o);
}

int report_json(const struct report *r, const char *path, struct err *err)
{
	return report_write_json(path, report_tree(r), err);
}

const struct report_format report_format_json = {
	.name = "json",
	.about = "write a JSON report; - is stdout",
	.write = report_json,
};
