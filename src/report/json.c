/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The JSON report: the contract between verbs and with scripts, docs/REPORTS.md has it in full.
 * The HTML page shows the same tree, with excerpts of the source added.
 */
#include <stdlib.h>

#include "report/internal.h"

#define PAGE_CONTEXT 4 /* lines around the marked one, on the page */

static const char *how(const struct srcloc_frame *f)
{
	static const char *const names[] = {
		[SRCLOC_TAIL] = "tail",
		[SRCLOC_SIGNAL] = "signal",
		[SRCLOC_INTERRUPTED] = "interrupted",
		[SRCLOC_CUT] = "cut",
	};

	return f->kind < sizeof names / sizeof names[0] ? names[f->kind] : NULL;
}

static void add_number(cJSON *to, const char *name, uint64_t value)
{
	cJSON_AddNumberToObject(to, name, (double)value);
}

static cJSON *location(const struct srcloc_frame *f)
{
	cJSON *o = cJSON_CreateObject();

	if (!f)
		return o;
	if (f->file) {
		report_add_text(o, "file", report_path(f->file));
		add_number(o, "line", f->line);
		if (f->column)
			add_number(o, "column", f->column);
	}
	if (f->function)
		report_add_text(o, "function", f->function);
	if (f->module)
		report_add_text(o, "module", report_base(f->module));
	if (f->module && !f->file) {
		char offset[24];
		snprintf(offset, sizeof offset, "0x%llx", (unsigned long long)f->offset);
		report_add_text(o, "offset", offset);
	}
	return o;
}

static cJSON *stack(const struct finding_place *place)
{
	cJSON *a = cJSON_CreateArray();

	for (size_t i = 0; i < place->n; i++) {
		cJSON *o = location(&place->frame[i]);
		cJSON_AddBoolToObject(o, "inlined", place->frame[i].inlined);
		if (how(&place->frame[i]))
			report_add_text(o, "how", how(&place->frame[i]));
		cJSON_AddItemToArray(a, o);
	}
	return a;
}

static void add_place(cJSON *to, const struct finding_place *place)
{
	cJSON_AddItemToObject(to, "location", location(finding_main_frame(place)));
	cJSON_AddItemToObject(to, "stack", stack(place));
}

static cJSON *related(const struct finding *f)
{
	cJSON *a = cJSON_CreateArray();

	for (size_t i = 0; i < f->related.n; i++) {
		const struct finding_related *r = &f->related.p[i];
		cJSON *o = cJSON_CreateObject();
		report_add_text(o, "role", r->role);
		if (r->message)
			report_add_text(o, "message", r->message);
		add_number(o, "event", r->event);
		add_place(o, &r->place);
		cJSON_AddItemToArray(a, o);
	}
	return a;
}

static cJSON *steps(const struct finding *f)
{
	cJSON *a = cJSON_CreateArray();

	for (size_t i = 0; i < f->steps.n; i++) {
		const struct finding_step *s = &f->steps.p[i];
		cJSON *o = cJSON_CreateObject();
		add_number(o, "event", s->event);
		add_number(o, "thread", s->thread);
		report_add_text(o, "what", s->what);
		if (s->text)
			report_add_text(o, "text", s->text);
		cJSON_AddItemToArray(a, o);
	}
	return a;
}

static cJSON *finding(const struct finding *f)
{
	cJSON *o = cJSON_CreateObject(), *witness = cJSON_CreateObject();

	report_add_text(o, "id", f->id);
	report_add_text(o, "kind", f->kind->name);
	report_add_text(o, "level", finding_level_name(f->kind->level));
	report_add_text(o, "message", f->message ? f->message : f->kind->title);
	if (f->advice)
		report_add_text(o, "advice", f->advice);
	add_number(o, "count", f->count);
	if (f->data)
		report_add_text(o, "data", f->data);
	add_place(o, &f->place);
	cJSON_AddItemToObject(o, "related", related(f));
	cJSON_AddItemToObject(o, "steps", steps(f));
	report_add_text(witness, "type", f->witness);
	add_number(witness, "event", f->event);
	if (f->replay)
		report_add_text(witness, "replay", f->replay);
	cJSON_AddItemToObject(o, "witness", witness);
	return o;
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

static cJSON *findings(const struct report *r, bool suppressed, bool page)
{
	cJSON *a = cJSON_CreateArray();

	for (size_t i = 0; i < r->findings->v.n; i++) {
		const struct finding *f = r->findings->v.p[i];
		if (f->suppressed != suppressed)
			continue;
		cJSON *o = finding(f);
		if (page)
			cJSON_AddItemToObject(o, "excerpt",
					      excerpt(finding_main_frame(&f->place), PAGE_CONTEXT));
		for (size_t k = 0; page && k < f->related.n; k++) {
			cJSON *to = cJSON_GetArrayItem(cJSON_GetObjectItem(o, "related"), (int)k);
			const struct finding_place *place = &f->related.p[k].place;
			cJSON_AddItemToObject(to, "excerpt", excerpt(finding_main_frame(place), 1));
		}
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

static cJSON *tree(const struct report *r, bool page)
{
	cJSON *o = cJSON_CreateObject(), *command = cJSON_CreateArray(), *stats = NULL;

	report_add_text(o, "holdfast", HOLDFAST_VERSION);
	add_number(o, "schema", REPORT_SCHEMA);
	report_add_text(o, "verb", r->verb);
	for (size_t i = 0; i < r->ncommand; i++)
		cJSON_AddItemToArray(command, report_text_item(r->command[i]));
	cJSON_AddItemToObject(o, "command", command);
	report_add_text(o, "folder", report_folder());
	report_add_text(o, "model", r->model);
	report_add_text(o, "incomplete", r->incomplete);
	cJSON_AddItemToObject(o, "findings", findings(r, false, page));
	cJSON_AddItemToObject(o, "suppressed", findings(r, true, page));
	cJSON_AddItemToObject(o, "summary", summary(r->findings));
	stats = cJSON_AddObjectToObject(o, "stats");
	for (size_t i = 0; i < r->nstats; i++)
		cJSON_AddNumberToObject(stats, r->stats[i].name, r->stats[i].value);
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

int report_json(const struct report *r, const char *path, struct err *err)
{
	return report_write_json(path, report_tree(r), err);
}
