/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One finding as JSON: an element of the report's "findings", docs/REPORTS.md. Kept in a campaign it
 * has full paths instead of those that are relative to the current folder, and what the report has
 * elsewhere; parse.c makes a finding of it again.
 */
#include "report/internal.h"

const char *report_how(uint8_t kind)
{
	static const char *const names[] = {
		[SRCLOC_TAIL] = "tail",
		[SRCLOC_SIGNAL] = "signal",
		[SRCLOC_INTERRUPTED] = "interrupted",
		[SRCLOC_CUT] = "cut",
	};
	return kind < sizeof names / sizeof names[0] ? names[kind] : NULL;
}

static void add_number(cJSON *to, const char *name, uint64_t value)
{
	cJSON_AddNumberToObject(to, name, (double)value);
}

static cJSON *location(const struct srcloc_frame *f, bool whole)
{
	cJSON *o = cJSON_CreateObject();
	if (!f)
		return o;
	if (f->file) {
		report_add_text(o, "file", whole ? f->file : report_path(f->file));
		add_number(o, "line", f->line);
		if (f->column)
			add_number(o, "column", f->column);
	}
	if (f->function)
		report_add_text(o, "function", f->function);
	if (f->module)
		report_add_text(o, "module", whole ? f->module : report_base(f->module));
	if (whole || (f->module && !f->file)) {
		char offset[24];
		snprintf(offset, sizeof offset, "0x%llx", (unsigned long long)f->offset);
		report_add_text(o, "offset", offset);
	}
	return o;
}

static cJSON *stack(const struct finding_place *place, bool whole)
{
	cJSON *a = cJSON_CreateArray();
	for (size_t i = 0; i < place->n; i++) {
		cJSON *o = location(&place->frame[i], whole);
		cJSON_AddBoolToObject(o, "inlined", place->frame[i].inlined);
		if (place->frame[i].helper)
			cJSON_AddBoolToObject(o, "helper", true);
		if (report_how(place->frame[i].kind))
			report_add_text(o, "how", report_how(place->frame[i].kind));
		cJSON_AddItemToArray(a, o);
	}
	return a;
}

static void add_place(cJSON *to, const struct finding_place *place, bool whole)
{
	cJSON_AddItemToObject(to, "location", location(finding_main_frame(place), whole));
	cJSON_AddItemToObject(to, "stack", stack(place, whole));
}

static cJSON *related(const struct finding *f, bool whole)
{
	cJSON *a = cJSON_CreateArray();
	for (size_t i = 0; i < f->related.n; i++) {
		const struct finding_related *r = &f->related.p[i];
		cJSON *o = cJSON_CreateObject();
		report_add_text(o, "role", r->role);
		if (r->message)
			report_add_text(o, "message", r->message);
		add_number(o, "event", r->event);
		add_place(o, &r->place, whole);
		cJSON_AddItemToArray(a, o);
	}
	return a;
}

static cJSON *why(const struct finding *f)
{
	cJSON *a = cJSON_CreateArray();
	for (size_t i = 0; i < f->why.n; i++) {
		cJSON *o = cJSON_CreateObject();
		report_add_text(o, "row", f->why.p[i].row);
		cJSON_AddNumberToObject(o, "weight", f->why.p[i].weight);
		report_add_text(o, "text", f->why.p[i].text);
		cJSON_AddItemToArray(a, o);
	}
	return a;
}

static void add_verdict(cJSON *to, const struct finding_verdict *v)
{
	cJSON *o = cJSON_AddObjectToObject(to, "verdict");
	report_add_text(o, "state", finding_proof_name(v->proof));
	add_number(o, "states", v->states);
	add_number(o, "stores", v->stores);
	add_number(o, "lost", v->lost);
	report_add_text(o, "text", v->text);
}

static cJSON *paths(const struct finding *f, bool whole)
{
	cJSON *a = cJSON_CreateArray();
	for (size_t i = 0; i < f->paths.n && i < REPORT_PATHS; i++) {
		cJSON *o = cJSON_CreateObject();
		add_number(o, "count", f->paths.p[i].count);
		cJSON_AddItemToObject(o, "stack", stack(&f->paths.p[i].place, whole));
		cJSON_AddItemToArray(a, o);
	}
	return a;
}

void report_add_operation(cJSON *to, const struct finding_operation *op)
{
	if (!op->index)
		return;
	cJSON *o = cJSON_AddObjectToObject(to, "operation");
	add_number(o, "index", op->index);
	add_number(o, "id", op->id);
	if (op->last)
		add_number(o, "last", op->last);
	if (op->name)
		report_add_text(o, "name", op->name);
	if (op->input)
		report_add_text(o, "input", op->input);
	report_add_text(o, "fate", op->fate);
}

static void add_crash(cJSON *to, const struct finding_crash *crash)
{
	report_add_text(to, "verdict", crash->verdict);
	if (crash->because)
		report_add_text(to, "because", crash->because->name);
	cJSON_AddNumberToObject(to, "status", crash->status);
	if (crash->output)
		report_add_text(to, "output", crash->output);
	if (crash->backtrace)
		report_add_text(to, "backtrace", crash->backtrace);
	if (crash->state)
		report_add_text(to, "state", crash->state);
	add_number(to, "lines_lost", crash->lines_lost);
	add_number(to, "lines_ahead", crash->lines_ahead);
	add_number(to, "states", crash->states);
	add_number(to, "recoveries", crash->recoveries);
	report_add_operation(to, &crash->op);
	report_add_scene(to, crash->scene);
}

static void add_input(cJSON *to, const struct finding_input *input)
{
	if (input->folder)
		report_add_text(to, "input", input->folder);
	if (input->text)
		report_add_text(to, "text", input->text);
	if (input->backtrace)
		report_add_text(to, "backtrace", input->backtrace);
	add_number(to, "path", input->path);
	add_number(to, "paths", input->paths);
}

static cJSON *witness(const struct finding *f)
{
	cJSON *o = cJSON_CreateObject();
	report_add_text(o, "type", f->witness);
	add_number(o, "event", f->crash ? f->crash->event : f->event);
	if (f->replay)
		report_add_text(o, "replay", f->replay);
	if (f->crash)
		add_crash(o, f->crash);
	if (f->input)
		add_input(o, f->input);
	return o;
}

/* What a report has elsewhere, or not at all. */
static void add_kept(cJSON *o, const struct finding *f)
{
	add_number(o, "event", f->event);
	report_add_text(o, "title", f->kind->title);
	if (f->kind->help)
		report_add_text(o, "help", f->kind->help);
	cJSON_AddBoolToObject(o, "suppressed", f->suppressed);
}

cJSON *report_finding_tree(const struct finding *f, bool whole)
{
	cJSON *o = cJSON_CreateObject();
	report_add_text(o, "id", f->id);
	report_add_text(o, "kind", f->kind->name);
	report_add_text(o, "level", finding_level_name(f->level));
	report_add_text(o, "message", f->message ? f->message : f->kind->title);
	if (f->advice)
		report_add_text(o, "advice", f->advice);
	if (f->cause)
		report_add_text(o, "cause", f->cause);
	add_number(o, "count", f->count);
	if (f->data)
		report_add_text(o, "data", f->data);
	if (f->why.n)
		cJSON_AddItemToObject(o, "why", why(f));
	if (f->verdict)
		add_verdict(o, f->verdict);
	if (f->paths.n > 1)
		cJSON_AddItemToObject(o, "paths", paths(f, whole));
	add_place(o, &f->place, whole);
	cJSON_AddItemToObject(o, "related", related(f, whole));
	cJSON_AddItemToObject(o, "steps", report_steps(f->steps.p, f->steps.n));
	cJSON_AddItemToObject(o, "witness", witness(f));
	if (whole)
		add_kept(o, f);
	return o;
}

char *report_finding_json(const struct finding *f)
{
	cJSON *tree = report_finding_tree(f, true);
	char *text = cJSON_PrintUnformatted(tree), *own = xstrdup(text ? text : "{}");
	cJSON_Delete(tree);
	cJSON_free(text);
	return own;
}
