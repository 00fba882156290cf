/* SPDX-License-Identifier: BSD-3-Clause */
/* A recording as JSON: an event on a line, and the summary as one document. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/recording.h"

/* Numbers of 64 bits, exactly. */
static void add_number(cJSON *o, const char *name, uint64_t n)
{
	char text[24];
	snprintf(text, sizeof text, "%" PRIu64, n);
	cJSON_AddRawToObject(o, name, text);
}

static void add_hex(cJSON *o, const char *name, uint64_t n)
{
	char text[24];
	snprintf(text, sizeof text, "0x%" PRIx64, n);
	cJSON_AddStringToObject(o, name, text);
}

/* A word from a table of ours. */
static void add_word(cJSON *o, const char *name, const char *word)
{
	cJSON_AddItemToObject(o, name,
			      word ? cJSON_CreateStringReference(word) : cJSON_CreateNull());
}

static void add_line(struct buf *out, cJSON *o, const char *end)
{
	char *text = cJSON_PrintBuffered(o, 4096, 0);
	buf_puts(out, text);
	buf_puts(out, end);
	cJSON_free(text);
	cJSON_Delete(o);
}

static cJSON *frame(const struct srcloc_frame *f)
{
	static const char *const kind[] = { [SRCLOC_TAIL] = "tail-call",
					    [SRCLOC_SIGNAL] = "signal",
					    [SRCLOC_INTERRUPTED] = "interrupted",
					    [SRCLOC_CUT] = "cut" };
	cJSON *o = cJSON_CreateObject();
	report_add_text(o, "function", f->function);
	report_add_text(o, "file", f->file);
	add_number(o, "line", f->line);
	add_number(o, "column", f->column);
	report_add_text(o, "module", f->module);
	add_hex(o, "offset", f->offset);
	cJSON_AddBoolToObject(o, "inlined", f->inlined);
	if (f->kind != SRCLOC_CODE)
		cJSON_AddStringToObject(o, "kind", kind[f->kind]);
	return o;
}

static cJSON *command(const struct trace_process_def *p)
{
	cJSON *a = cJSON_CreateArray();
	for (uint32_t at = 0; p && at < p->command_len;) {
		char *word = xasprintf("%.*s", (int)(p->command_len - at), p->command + at);
		cJSON_AddItemToArray(a, report_text_item(word));
		at += (uint32_t)strlen(word) + 1;
		free(word);
	}
	return a;
}

/* ---- an event ---- */

void report_recording_stack(struct report_recording *d, const struct trace_event *ev,
			    struct buf *out)
{
	struct srcloc_where path = srcloc_path(d->loc, ev->process, ev->ip, trace_event_ctx(ev));
	cJSON *a = cJSON_CreateArray();
	for (size_t i = 0; i < path.n; i++)
		cJSON_AddItemToArray(a, frame(&path.frame[i]));
	add_line(out, a, "");
}

/* What an argument stands for, if it is an id or an address. */
static void add_name(cJSON *o, const struct report_recording *d, const struct trace_event *ev,
		     enum report_style style, uint64_t value)
{
	const struct trace_module_def *module;
	uint32_t file;
	uint64_t offset;
	switch (style) {
	case REPORT_ADDR:
		if (ev->kind == TRACE_MAP ||
		    !report_recording_place(d, ev->process, value, &file, &offset))
			break;
		report_add_text(o, "file", report_recording_path(d, file));
		add_number(o, "offset", offset);
		break;
	case REPORT_FILE:
		report_add_text(o, "file", report_recording_path(d, (uint32_t)value));
		break;
	case REPORT_MODULE:
		module = trace_module(d->defs, ev->process, (uint32_t)value);
		report_add_text(o, "module", module ? module->path : NULL);
		break;
	case REPORT_STRING:
		report_add_text(o, "function", trace_string(d->defs, ev->process, (uint32_t)value));
		break;
	default: break;
	}
}

static void add_args(cJSON *o, const struct report_recording *d, const struct trace_event *ev)
{
	cJSON *args = cJSON_AddObjectToObject(o, "args");
	for (unsigned i = 0; i < ev->nargs && i < TRACE_MAX_ARGS; i++) {
		const char *known = trace_arg_name(ev->kind, i), *name = known ? known : "?";
		enum report_style style = report_recording_style(name);
		bool hex = style == REPORT_ADDR ||
			   (style == REPORT_HEX && strcmp(name, "offset") != 0);
		(hex ? add_hex : add_number)(args, name, ev->arg[i]);
		add_name(o, d, ev, style, ev->arg[i]);
	}
}

static void add_payload(cJSON *o, const struct trace_event *ev)
{
	struct buf b = { 0 };
	if (report_recording_has_bytes(ev)) {
		add_number(o, "size", ev->size);
		report_recording_hex(&b, ev->data, ev->size);
		buf_add(&b, "", 1);
		cJSON_AddStringToObject(o, "data", b.p);
	} else if (ev->size && !report_recording_has_labels(ev)) {
		buf_add(&b, ev->data, ev->size);
		buf_add(&b, "", 1);
		report_add_text(o, "text", b.p);
		if (strlen(b.p) < ev->size)
			report_add_text(o, "to", b.p + strlen(b.p) + 1);
	}
	buf_free(&b);
}

static void add_from(cJSON *o, const char *name, const struct trace_label *l, unsigned n)
{
	cJSON *a = n ? cJSON_AddArrayToObject(o, name) : NULL;
	for (unsigned i = 0; i < n; i++)
		cJSON_AddItemToArray(a, cJSON_CreateNumber((double)l[i].num));
}

static void add_dependences(cJSON *o, const struct trace_dep *dep)
{
	if (dep->activation)
		add_number(o, "activation", dep->activation);
	add_from(o, "from", dep->data, dep->ndata);
	add_from(o, "address_from", dep->addr, dep->naddr);
}

void report_recording_event_json(const struct report_recording *d, const struct trace_event *ev,
				 const char *stack, struct buf *out)
{
	const char *flavour = report_recording_flavour(d, ev);
	cJSON *o = cJSON_CreateObject();
	add_number(o, "num", ev->num);
	add_number(o, "process", ev->process);
	add_number(o, "thread", ev->thread);
	add_word(o, "kind", trace_kind_name(ev->kind));
	if (flavour)
		add_word(o, "flavour", flavour);
	add_args(o, d, ev);
	add_payload(o, ev);
	cJSON *flags = cJSON_AddArrayToObject(o, "flags");
	for (size_t i = 0; report_recording_flags[i]; i++)
		if (ev->flags & 1u << i && !report_recording_has_labels(ev))
			cJSON_AddItemToArray(
				flags, cJSON_CreateStringReference(report_recording_flags[i]));
	add_dependences(o, &d->dep);
	add_hex(o, "ip", ev->ip);
	cJSON_AddRawToObject(o, "stack", stack);
	add_line(out, o, "\n");
}

/* ---- the summary ---- */

static cJSON *amount(struct report_amount a)
{
	cJSON *o = cJSON_CreateObject();
	add_number(o, "count", a.count);
	add_number(o, "bytes", a.bytes);
	return o;
}

static cJSON *processes(const struct report_recording *d, const struct report_counts *s)
{
	static const char *const birth[] = { "start", "fork", "exec" };
	cJSON *a = cJSON_CreateArray();
	for (uint32_t i = 0; i < trace_processes(d->defs); i++) {
		const struct trace_process_def *def = trace_process(d->defs, i);
		struct report_process_use use = report_process_use(s, i);
		cJSON *o = cJSON_CreateObject();
		add_number(o, "pid", def->pid);
		add_number(o, "parent", def->parent);
		cJSON_AddStringToObject(o, "birth", birth[def->birth % 3]);
		add_number(o, "threads", use.threads);
		cJSON_AddItemToObject(o, "command", command(def));
		if (use.ended) {
			add_number(o, "status", use.status);
			add_number(o, "signal", use.signal);
		} else {
			cJSON_AddNullToObject(o, "status");
			cJSON_AddNullToObject(o, "signal");
		}
		cJSON_AddItemToArray(a, o);
	}
	return a;
}

/* Counts by the class of the instruction, and one more of another kind. */
static cJSON *classes(const uint64_t *n, const char *more_name, uint64_t more)
{
	cJSON *o = cJSON_CreateObject();
	add_number(o, more_name, more);
	for (unsigned i = 0; i < TRACE_SITE_CLASSES; i++)
		if (n[i])
			add_number(o, trace_site_class_name(i), n[i]);
	return o;
}

static void add_counts(cJSON *o, const struct report_counts *s)
{
	cJSON *kinds = cJSON_AddObjectToObject(o, "kinds");
	cJSON *stores = cJSON_AddObjectToObject(o, "stores");
	for (unsigned i = 0; i < TRACE_KINDS; i++)
		if (s->kinds[i])
			add_number(kinds, trace_kind_name(i), s->kinds[i]);
	for (unsigned i = 0; i < REPORT_STORES; i++)
		cJSON_AddItemToObject(stores, report_store_names[i], amount(s->stores[i]));
	cJSON_AddItemToObject(o, "flushes", classes(s->flush, "volatile", s->flush_volatile));
	cJSON_AddItemToObject(o, "fences", classes(s->fence, "atomic", s->fence_atomic));
}

static cJSON *files(const struct report_recording *d, const struct report_counts *s)
{
	cJSON *a = cJSON_CreateArray();
	for (uint32_t i = 0; i < s->file.n; i++) {
		const struct trace_file_def *def = trace_file(d->defs, i);
		cJSON *o = cJSON_CreateObject();
		report_add_text(o, "path", report_recording_path(d, i));
		add_number(o, "size", def ? def->size : 0);
		add_number(o, "mapped", report_mapped(&s->file.p[i]));
		cJSON_AddItemToObject(o, "stores", amount(s->file.p[i].stores));
		cJSON_AddItemToObject(o, "writes", amount(s->file.p[i].writes));
		cJSON_AddItemToArray(a, o);
	}
	return a;
}

static cJSON *sites(const struct report_counts *s, uint64_t top)
{
	cJSON *a = cJSON_CreateArray();
	for (size_t i = 0; i < s->site.n && i < top; i++) {
		const struct report_site *x = &s->site.p[i];
		cJSON *o = amount(x->stores);
		cJSON_AddItemToObject(o, "location", frame(&x->at));
		if (x->via.module)
			cJSON_AddItemToObject(o, "caller", frame(&x->via));
		cJSON_AddItemToArray(a, o);
	}
	return a;
}

static void add_helper(void *arg, const struct finding_helper *h)
{
	cJSON *o = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "function", h->function);
	report_add_text(o, "file", h->file);
	cJSON_AddStringToObject(o, "why", h->why);
	add_number(o, "callers", h->sites);
	cJSON_AddItemToArray(arg, o);
}

void report_recording_document(struct report_recording *d, const struct report_counts *s,
			       uint64_t top, FILE *out)
{
	const char *why = NULL, *path;
	bool whole = trace_is_whole(d->reader, &why);
	struct buf b = { 0 };
	cJSON *o = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "holdfast", HOLDFAST_VERSION);
	add_number(o, "schema", 1);
	cJSON_AddStringToObject(o, "verb", "dump");
	cJSON_AddItemToObject(o, "command", command(trace_process(d->defs, 0)));
	cJSON_AddBoolToObject(o, "whole", whole);
	report_add_text(o, "why", whole ? NULL : why);
	add_number(o, "events", s->events);
	add_number(o, "threads", s->thread.n);
	cJSON_AddItemToObject(o, "processes", processes(d, s));
	add_counts(o, s);
	cJSON_AddItemToObject(o, "files", files(d, s));
	cJSON_AddItemToObject(o, "elsewhere", amount(s->elsewhere));
	cJSON_AddItemToObject(o, "sites", sites(s, top));
	finding_helpers_each(s->helpers, add_helper, cJSON_AddArrayToObject(o, "helpers"));
	cJSON *stale = cJSON_AddArrayToObject(o, "stale");
	for (size_t i = 0; (path = srcloc_trace_stale(d->loc, i)); i++)
		cJSON_AddItemToArray(stale, report_text_item(path));
	add_line(&b, o, "\n");
	fwrite(b.p, 1, b.n, out);
	buf_free(&b);
}
