/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SARIF 2.1.0, as GitHub's code scanning reads it.
 *
 * Its limits (docs.github.com, "SARIF results exceed one or more limits"): 25,000 results a run,
 * of which 5,000 are shown; 10,000 places in the code flows of a result, of which 1,000 are shown;
 * 1,000 locations a result, of which 100 are shown; 20 tags a rule. We write at most 25,000 results,
 * worst first, and stay within what is shown for the rest; what is left out is said.
 *
 * GitHub follows a result from run to run by partialFingerprints.primaryLocationLineHash, so the
 * finding's id is given under that name too. It wants a physical location with a line: a place
 * without source gets its object file and line 1, and no place at all the program's.
 *
 * A result has two code flows: the call path, from main to the place, and, if it has related places,
 * what happened to the data, in the order of time; of a crash it ends with the crash and what recovery did.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "report/internal.h"

#define MAX_RESULTS 25000
#define MAX_FLOW 1000
#define MAX_LOCATIONS 100
#define ROOT "%SRCROOT%"

/* A path as a URI reference: relative ones as they are, absolute ones with file://. */
void report_add_uri(cJSON *to, const char *path, bool folder)
{
	struct buf uri = { 0 };
	if (*path == '/')
		buf_puts(&uri, "file://");
	for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
		if (isalnum(*p) || strchr("/-._~+,=@", *p))
			buf_add(&uri, p, 1);
		else
			buf_printf(&uri, "%%%02X", *p);
	}
	if (folder && (!uri.n || uri.p[uri.n - 1] != '/'))
		buf_puts(&uri, "/");
	buf_add(&uri, "", 1);
	report_add_text(to, "uri", uri.p);
	buf_free(&uri);
}

void report_add_artifact(cJSON *artifact, const char *path)
{
	report_add_uri(artifact, report_path(path), false);
	if (*report_path(path) != '/')
		report_add_text(artifact, "uriBaseId", ROOT);
}

static void add_physical(cJSON *location, const struct srcloc_frame *f)
{
	const char *path = f->file ? f->file : f->module;
	if (!path)
		return;
	cJSON *physical = cJSON_AddObjectToObject(location, "physicalLocation");
	cJSON *artifact = cJSON_AddObjectToObject(physical, "artifactLocation");
	cJSON *region = cJSON_AddObjectToObject(physical, "region");
	report_add_artifact(artifact, path);
	cJSON_AddNumberToObject(region, "startLine", f->file && f->line ? f->line : 1);
	if (f->file && f->line && f->column)
		cJSON_AddNumberToObject(region, "startColumn", f->column);
}

static void add_message(cJSON *to, const char *text)
{
	report_add_text(cJSON_AddObjectToObject(to, "message"), "text", text);
}

static cJSON *location(const struct srcloc_frame *f, const char *message)
{
	cJSON *o = cJSON_CreateObject();
	if (f)
		add_physical(o, f);
	if (f && f->function) {
		cJSON *logical = cJSON_AddArrayToObject(o, "logicalLocations");
		cJSON *name = cJSON_CreateObject();
		report_add_text(name, "fullyQualifiedName", f->function);
		report_add_text(name, "kind", "function");
		cJSON_AddItemToArray(logical, name);
	}
	if (message)
		add_message(o, message);
	return o;
}

static cJSON *add_flow(cJSON *flows, const char *message)
{
	cJSON *flow = cJSON_CreateObject(), *threads = cJSON_CreateArray();
	cJSON *thread = cJSON_CreateObject();
	add_message(flow, message);
	cJSON_AddItemToArray(threads, thread);
	cJSON_AddItemToObject(flow, "threadFlows", threads);
	cJSON_AddItemToArray(flows, flow);
	return cJSON_AddArrayToObject(thread, "locations");
}

static void add_to_flow(cJSON *locations, cJSON *where, bool essential)
{
	cJSON *o = cJSON_CreateObject();
	cJSON_AddItemToObject(o, "location", where);
	report_add_text(o, "importance", essential ? "essential" : "important");
	cJSON_AddNumberToObject(o, "executionOrder", cJSON_GetArraySize(locations) + 1);
	cJSON_AddItemToArray(locations, o);
}

/* From main inwards; of a long path the middle is left out. */
static void add_path_flow(cJSON *flows, const struct finding *f, size_t room)
{
	struct srcloc_where path = report_trim(&f->place);
	const struct srcloc_frame *main_frame = finding_main_frame(&f->place);
	size_t head = path.n > room ? room / 2 : path.n; /* innermost frames that stay */
	if (!path.n)
		return;
	cJSON *locations = add_flow(flows, "call path");
	for (size_t i = path.n; i-- > 0;) {
		if (i >= head && i < path.n - (room - head))
			continue;
		const struct srcloc_frame *at = &path.frame[i];
		char *text =
			xasprintf("%s%s", report_function(at), at->inlined ? " (inlined)" : "");
		add_to_flow(locations, location(at, text), at == main_frame);
		free(text);
	}
}

static int by_event(const void *a, const void *b)
{
	const struct finding_related *r = *(const struct finding_related *const *)a;
	const struct finding_related *s = *(const struct finding_related *const *)b;
	return r->event < s->event ? -1 : r->event > s->event;
}

static void related_text(const struct finding_related *r, struct buf *out)
{
	char *role = report_role(r->role);
	out->n = 0;
	buf_puts(out, role);
	free(role);
	if (r->message)
		buf_printf(out, ": %s", r->message);
	buf_add(out, "", 1);
}

static void add_history_flow(cJSON *flows, const struct finding *f)
{
	size_t n = f->related.n < MAX_LOCATIONS ? f->related.n : MAX_LOCATIONS;
	const struct finding_related **sorted = xcalloc(n + 1, sizeof *sorted);
	char *verdict = f->crash ? report_verdict(f->crash) : NULL;
	char *end = verdict ? xasprintf("recovery %s", verdict) : NULL;
	struct finding_related self = { f->crash ? "crash" : "finding", end ? end : f->message,
					f->crash ? UINT64_MAX : f->event, f->place };
	struct buf text = { 0 };
	for (size_t i = 0; i < n; i++)
		sorted[i] = &f->related.p[i];
	sorted[n++] = &self;
	qsort(sorted, n, sizeof *sorted, by_event);
	cJSON *locations = add_flow(flows, "what happened to the data");
	for (size_t i = 0; i < n; i++) {
		related_text(sorted[i], &text);
		add_to_flow(locations, location(finding_main_frame(&sorted[i]->place), text.p),
			    true);
	}
	buf_free(&text);
	free(sorted);
	free(end);
	free(verdict);
}

static void add_related(cJSON *result, const struct finding *f)
{
	cJSON *a = cJSON_AddArrayToObject(result, "relatedLocations");
	struct buf text = { 0 };
	for (size_t i = 0; i < f->related.n && i < MAX_LOCATIONS; i++) {
		const struct finding_related *r = &f->related.p[i];
		related_text(r, &text);
		cJSON *o = location(finding_main_frame(&r->place), text.p);
		cJSON_AddNumberToObject(o, "id", (double)i);
		cJSON_AddItemToArray(a, o);
	}
	buf_free(&text);
}

static void add_result_message(cJSON *result, const struct finding *f)
{
	struct buf text = { 0 };
	buf_puts(&text, f->message ? f->message : f->kind->title);
	if (f->crash) {
		char *verdict = report_verdict(f->crash);
		buf_printf(&text, "\nRecovery %s.", verdict);
		free(verdict);
	}
	if (f->verdict) {
		char *verdict = finding_verdict_text(f->verdict);
		*verdict = (char)toupper((unsigned char)*verdict);
		buf_printf(&text, "\n%s.", verdict);
		free(verdict);
	}
	if (f->advice)
		buf_printf(&text, "\n%s", f->advice);
	if (text.n && text.p[text.n - 1] != '.')
		buf_puts(&text, "."); /* the specification asks for sentences */
	buf_add(&text, "", 1);
	add_message(result, text.p);
	buf_free(&text);
}

static void add_properties(cJSON *result, const struct finding *f)
{
	cJSON *p = cJSON_AddObjectToObject(result, "properties");
	report_add_text(p, "level", finding_level_name(f->level));
	report_add_text(p, "witness", f->witness);
	cJSON_AddNumberToObject(p, "event", (double)f->event);
	if (f->data)
		report_add_text(p, "data", f->data);
	if (f->replay)
		report_add_text(p, "replay", f->replay);
	if (f->input && f->input->text)
		report_add_text(p, "input", f->input->text);
	if (f->input && f->input->folder)
		report_add_text(p, "inputFolder", f->input->folder);
	if (f->verdict) {
		report_add_text(p, "proof", finding_proof_name(f->verdict->proof));
		cJSON_AddNumberToObject(p, "proofStates", (double)f->verdict->states);
	}
	if (!f->crash)
		return;
	report_add_text(p, "verdict", f->crash->verdict);
	cJSON_AddNumberToObject(p, "status", f->crash->status);
	cJSON_AddNumberToObject(p, "crashEvent", (double)f->crash->event);
	cJSON_AddNumberToObject(p, "states", (double)f->crash->states);
	if (f->crash->output)
		report_add_text(p, "output", f->crash->output);
	report_add_operation(p, &f->crash->op);
}

/* The program under test, for what is about the run and not about a place. */
static struct srcloc_frame program_frame(const struct report *r)
{
	return (struct srcloc_frame){ .module = r->ncommand ? r->command[0] : r->verb };
}

static cJSON *result(const struct report *r, const struct finding *f,
		     const struct report_rules *rules)
{
	cJSON *o = cJSON_CreateObject();
	const struct srcloc_frame program = program_frame(r);
	const struct srcloc_frame *at = finding_main_frame(&f->place);
	report_add_text(o, "ruleId", f->kind->name);
	cJSON_AddNumberToObject(o, "ruleIndex", (double)report_rule_index(rules, f->kind));
	report_add_text(o, "level", report_sarif_level(f->level));
	add_result_message(o, f);
	cJSON *locations = cJSON_AddArrayToObject(o, "locations");
	cJSON_AddItemToArray(locations, location(at ? at : &program, NULL));
	cJSON_AddNumberToObject(o, "occurrenceCount", f->count ? (double)f->count : 1);
	cJSON *prints = cJSON_AddObjectToObject(o, "partialFingerprints");
	report_add_text(prints, "holdfast/v1", f->id);
	report_add_text(prints, "primaryLocationLineHash", f->id);
	add_related(o, f);
	cJSON *flows = cJSON_CreateArray();
	add_path_flow(flows, f, MAX_FLOW - MAX_LOCATIONS - 1);
	if (f->related.n)
		add_history_flow(flows, f);
	if (cJSON_GetArraySize(flows))
		cJSON_AddItemToObject(o, "codeFlows", flows);
	else
		cJSON_Delete(flows);
	if (f->suppressed) {
		cJSON *s = cJSON_CreateObject();
		report_add_text(s, "kind", f->in_source ? "inSource" : "external");
		report_add_text(s, "status", "accepted");
		cJSON_AddItemToArray(cJSON_AddArrayToObject(o, "suppressions"), s);
	}
	report_add_fixes(o, r, f);
	add_properties(o, f);
	return o;
}

static void add_notification(cJSON *notes, const char *level, const char *text)
{
	cJSON *o = cJSON_CreateObject();
	report_add_text(o, "level", level);
	add_message(o, text);
	cJSON_AddItemToArray(notes, o);
}

static void add_invocation(cJSON *run, const struct report *r, size_t left_out)
{
	cJSON *o = cJSON_CreateObject();
	cJSON *arguments = cJSON_AddArrayToObject(o, "arguments");
	cJSON_AddBoolToObject(o, "executionSuccessful", true);
	report_add_text(cJSON_AddObjectToObject(o, "properties"), "verb", r->verb);
	for (size_t i = 0; i < r->ncommand; i++)
		cJSON_AddItemToArray(arguments, report_text_item(r->command[i]));
	if (*report_folder())
		report_add_uri(cJSON_AddObjectToObject(o, "workingDirectory"), report_folder(),
			       true);
	cJSON *notes = cJSON_AddArrayToObject(o, "toolExecutionNotifications");
	if (r->incomplete)
		add_notification(notes, "warning", r->incomplete);
	for (size_t i = 0; i < r->nnotes; i++)
		add_notification(notes, "note", r->notes[i]);
	if (left_out) {
		char *text = xasprintf("%zu results are left out: %d are the limit", left_out,
				       MAX_RESULTS);
		add_notification(notes, "warning", text);
		free(text);
	}
	cJSON_AddItemToArray(cJSON_AddArrayToObject(run, "invocations"), o);
}

static void add_tool(cJSON *run, const struct report_rules *rules)
{
	cJSON *driver = cJSON_AddObjectToObject(cJSON_AddObjectToObject(run, "tool"), "driver");
	report_add_text(driver, "name", "Holdfast");
	report_add_text(driver, "version", HOLDFAST_VERSION);
	report_add_text(driver, "semanticVersion", HOLDFAST_VERSION);
	report_add_text(driver, "informationUri", "man:holdfast(1)");
	cJSON_AddItemToObject(driver, "rules", report_rules_json(rules));
}

/* The findings that count come first: those that are suppressed are left out first. */
static cJSON *results(const struct report *r, const struct report_rules *rules)
{
	const struct finding_set *set = r->findings;
	cJSON *a = cJSON_CreateArray();
	size_t n = 0;
	for (int suppressed = 0; suppressed < 2; suppressed++)
		for (size_t i = 0; i < set->v.n; i++)
			if (set->v.p[i]->suppressed == (bool)suppressed && n++ < MAX_RESULTS)
				cJSON_AddItemToArray(a, result(r, set->v.p[i], rules));
	return a;
}

int report_sarif(const struct report *r, const char *path, struct err *err)
{
	cJSON *log = cJSON_CreateObject(), *run = cJSON_CreateObject();
	struct report_rules rules = { 0 };
	size_t n = r->findings->v.n;
	report_rules_collect(&rules, r->findings);
	report_add_text(log, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	report_add_text(log, "version", "2.1.0");
	add_tool(run, &rules);
	add_invocation(run, r, n > MAX_RESULTS ? n - MAX_RESULTS : 0);
	if (*report_folder()) {
		cJSON *bases = cJSON_AddObjectToObject(run, "originalUriBaseIds");
		report_add_uri(cJSON_AddObjectToObject(bases, ROOT), report_folder(), true);
	}
	report_add_text(run, "columnKind", "utf16CodeUnits");
	cJSON_AddItemToObject(run, "results", results(r, &rules));
	cJSON_AddItemToArray(cJSON_AddArrayToObject(log, "runs"), run);
	VEC_FREE(&rules.kind);
	return report_write_json(path, log, err);
}

const struct report_format report_format_sarif = {
	.name = "sarif",
	.about = "write a SARIF 2.1.0 report",
	.write = report_sarif,
};
