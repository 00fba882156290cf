/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A recording event by event: a line for each, for people or as JSON.
 *
 *	    120  T1    store   pool+0x1040 (0x7f3400001040), 8 bytes = 0x2a [nt]  at append (log.c:41) < main (log.c:90)
 *
 * Programs do the same thing in the same place over and over, so the text of call paths is
 * kept: by process, instruction and context, until modules move or the store of texts is full.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "report/recording.h"

#define KEEP_BYTES (64u << 20) /* of texts of paths */
#define MAX_FRAMES 64          /* in a path for people */
#define MAX_BYTES 64           /* of a payload for people */

struct events {
	uint64_t from;
	bool json;
	FILE *out;
	struct buf line;
	struct buf texts;    /* paths, each ended by NUL */
	struct hmap text_at; /* (process, ip, ctx) -> offset in texts */
	uint64_t moved;      /* report_recording.moved when the texts were made */
};

static void path_text(struct report_recording *d, const struct trace_event *ev, struct buf *out)
{
	static const char *const mark[] = { [SRCLOC_CODE] = "",
					    [SRCLOC_TAIL] = " [tail call]",
					    [SRCLOC_SIGNAL] = "",
					    [SRCLOC_INTERRUPTED] = "",
					    [SRCLOC_CUT] = "" };
	struct srcloc_where path = srcloc_path(d->loc, ev->process, ev->ip, trace_event_ctx(ev));
	char text[4096];
	path = srcloc_path_trim(path);
	for (size_t i = 0; i < path.n; i++) {
		const struct srcloc_frame *f = &path.frame[i];
		if (i == MAX_FRAMES) {
			buf_printf(out, " < … %zu more", path.n - i);
			return;
		}
		buf_puts(out, i ? " < " : "");
		if (f->kind == SRCLOC_INTERRUPTED && f->function) /* where in it, nobody knows */
			buf_printf(out, "%s [interrupted]", f->function);
		else
			buf_puts(out, srcloc_text(f, text, sizeof text));
		buf_puts(out, mark[f->kind]);
		buf_puts(out, f->inlined ? " [inlined]" : "");
	}
}

/* The event's call path; valid until the next one is asked for. */
static const char *path_of(struct report_recording *d, struct events *e,
			   const struct trace_event *ev)
{
	uint64_t key = hash_mix(hash_mix(ev->process, trace_event_ctx(ev)), ev->ip), at;
	if (e->moved != d->moved || e->texts.n > KEEP_BYTES) {
		hmap_free(&e->text_at);
		e->texts.n = 0;
		e->moved = d->moved;
	}
	if (!hmap_get(&e->text_at, key, &at)) {
		at = e->texts.n;
		if (e->json)
			report_recording_stack(d, ev, &e->texts);
		else
			path_text(d, ev, &e->texts);
		buf_add(&e->texts, "", 1);
		hmap_put(&e->text_at, key, at);
	}
	return e->texts.p + at;
}

/* " = 0x2a" for what the processor takes for a number, " = 01 02…" for the rest. */
static void add_value(struct buf *out, const struct trace_event *ev)
{
	uint64_t value = 0;
	size_t n = ev->size < MAX_BYTES ? ev->size : MAX_BYTES;
	if (ev->size == 1 || ev->size == 2 || ev->size == 4 || ev->size == 8) {
		for (size_t i = ev->size; i-- > 0;)
			value = value << 8 | ev->data[i];
		buf_printf(out, " = 0x%" PRIx64, value);
		return;
	}
	buf_puts(out, " = ");
	report_recording_hex(out, ev->data, n);
	buf_puts(out, n < ev->size ? "…" : "");
}

/* "pool+0x40 (0x7f3400000040)" */
static void add_addr(const struct report_recording *d, const struct trace_event *ev, uint64_t addr,
		     struct buf *out)
{
	uint32_t file;
	uint64_t offset;
	if (report_recording_place(d, ev->process, addr, &file, &offset))
		buf_printf(out, "%s+0x%" PRIx64 " (0x%" PRIx64 ")", report_recording_name(d, file),
			   offset, addr);
	else
		buf_printf(out, "0x%" PRIx64, addr);
}

static void add_prot(struct buf *out, uint64_t prot)
{
	buf_printf(out, "%c%c%c", prot & PROT_READ ? 'r' : '-', prot & PROT_WRITE ? 'w' : '-',
		   prot & PROT_EXEC ? 'x' : '-');
}

/* By the path under which it was first known; its names are in the events. */
static void add_node(const struct report_recording *d, uint64_t node, struct buf *out)
{
	const struct trace_node_def *n =
		node < TRACE_NO_NODE ? trace_node(d->defs, (uint32_t)node) : NULL;
	if (n)
		buf_printf(out, "%" PRIu64 " (%s)", node, n->path);
	else
		buf_puts(out, "none");
}

/* A path, or two. */
static void add_text(struct buf *out, const struct trace_event *ev)
{
	bool talk = ev->kind == TRACE_INPUT || ev->kind == TRACE_OUTPUT;
	if (talk) {
		buf_printf(out, " '%.*s'", ev->size < MAX_BYTES ? (int)ev->size : MAX_BYTES,
			   (const char *)ev->data);
		return;
	}
	size_t n = strnlen((const char *)ev->data, ev->size);
	buf_printf(out, " '%.*s'", (int)n, (const char *)ev->data);
	if (n < ev->size)
		buf_printf(out, " -> '%.*s'", (int)(ev->size - n - 1),
			   (const char *)ev->data + n + 1);
}

static void add_arg(const struct report_recording *d, const struct trace_event *ev,
		    const char *name, uint64_t value, struct buf *out)
{
	const struct trace_module_def *module;
	const char *text;
	char name_of_signal[32];
	switch (report_recording_style(name)) {
	case REPORT_ADDR: add_addr(d, ev, value, out); break;
	case REPORT_HEX: buf_printf(out, "%s=0x%" PRIx64, name, value); break;
	case REPORT_NUMBER: buf_printf(out, "%s=%" PRId64, name, (int64_t)value); break;
	case REPORT_FILE: buf_puts(out, report_recording_path(d, (uint32_t)value)); break;
	case REPORT_NODE:
		buf_printf(out, "%s=", name);
		add_node(d, value, out);
		break;
	case REPORT_MODULE:
		module = trace_module(d->defs, ev->process, (uint32_t)value);
		buf_puts(out, module && module->path ? module->path : "?");
		break;
	case REPORT_STRING:
		text = trace_string(d->defs, ev->process, (uint32_t)value);
		buf_puts(out, text ? text : "?");
		break;
	case REPORT_PROT: add_prot(out, value); break;
	case REPORT_SIGNAL:
		buf_printf(out, "signal=%s",
			   value ? report_recording_signal(value, name_of_signal) : "none");
		break;
	}
}

static void add_flags(struct buf *out, unsigned flags)
{
	const char *between = "";
	buf_puts(out, " [");
	for (size_t i = 0; report_recording_flags[i]; i++)
		if (flags & 1u << i) {
			buf_printf(out, "%s%s", between, report_recording_flags[i]);
			between = ",";
		}
	buf_puts(out, "]");
}

/* The loads that it comes from, by their numbers. */
static void add_from(struct buf *out, const char *what, const struct trace_label *l, unsigned n)
{
	if (n)
		buf_puts(out, what);
	for (unsigned i = 0; i < n; i++)
		buf_printf(out, " %" PRIu64, l[i].num);
}

static void add_dependences(struct buf *out, const struct report_recording *d)
{
	add_from(out, ", from", d->dep.data, d->dep.ndata);
	add_from(out, ", address from", d->dep.addr, d->dep.naddr);
}

static void event_text(struct report_recording *d, struct events *e, const struct trace_event *ev)
{
	const char *flavour = report_recording_flavour(d, ev), *kind = trace_kind_name(ev->kind);
	struct buf *out = &e->line;
	char thread[32], what[64];
	if (trace_processes(d->defs) > 1)
		snprintf(thread, sizeof thread, "P%uT%u", ev->process, ev->thread);
	else
		snprintf(thread, sizeof thread, "T%u", ev->thread);
	snprintf(what, sizeof what, "%s%s%s", kind ? kind : "?", flavour ? " " : "",
		 flavour ? flavour : "");
	buf_printf(out, ev->nargs ? "%8" PRIu64 "  %-4s %-13s " : "%8" PRIu64 "  %-4s %s", ev->num,
		   thread, what);
	for (unsigned i = 0; i < ev->nargs && i < TRACE_MAX_ARGS; i++) {
		const char *name = trace_arg_name(ev->kind, i);
		buf_puts(out, i ? " " : "");
		add_arg(d, ev, name ? name : "?", ev->arg[i], out);
	}
	if (report_recording_has_bytes(ev)) {
		buf_printf(out, ", %u byte%s", ev->size, ev->size == 1 ? "" : "s");
		add_value(out, ev);
	} else if (ev->size && !report_recording_has_labels(ev)) {
		add_text(out, ev);
	}
	if (ev->flags && !report_recording_has_labels(ev))
		add_flags(out, ev->flags);
	add_dependences(out, d);
	if (ev->ip) {
		buf_puts(out, "  at ");
		buf_puts(out, path_of(d, e, ev));
	}
	buf_puts(out, "\n");
}

/* A path may hold anything: one line stays one. */
static void one_line(struct buf *line)
{
	for (size_t i = 0; i + 1 < line->n; i++)
		if ((unsigned char)line->p[i] < ' ' || line->p[i] == 0x7f)
			line->p[i] = '?';
}

static void print_event(struct report_recording *d, const struct trace_event *ev, void *arg)
{
	struct events *e = arg;
	if (ev->num < e->from)
		return;
	e->line.n = 0;
	if (e->json) {
		report_recording_event_json(d, ev, ev->ip ? path_of(d, e, ev) : "[]", &e->line);
	} else {
		event_text(d, e, ev);
		one_line(&e->line);
	}
	fwrite(e->line.p, 1, e->line.n, e->out);
}

int report_recording_events(struct report_recording *d, uint64_t from, uint64_t to, bool json,
			    FILE *out, struct err *err)
{
	struct events e = { .from = from, .json = json, .out = out };
	/* From the first event on, whatever `from` is: modules and files are mapped early. */
	int status = report_recording_each(d, to, print_event, &e, err);

	buf_free(&e.line);
	buf_free(&e.texts);
	hmap_free(&e.text_at);
	return status;
}
