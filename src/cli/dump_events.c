/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * holdfast dump --events: a line for each event, for people or as JSON.
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

#include "cli/dump.h"

#define KEEP_BYTES (64u << 20) /* of texts of paths */
#define MAX_FRAMES 64          /* in a path for people */
#define MAX_BYTES 64           /* of a payload for people */

struct events {
	uint64_t from;
	struct buf line;
	struct buf texts;    /* paths, each ended by NUL */
	struct hmap text_at; /* (process, ip, ctx) -> offset in texts */
	uint64_t moved;      /* dump.moved when the texts were made */
};

static void path_text(struct dump *d, const struct trace_event *ev, struct buf *out)
{
	static const char *const mark[] = { [SRCLOC_CODE] = "",
					    [SRCLOC_TAIL] = " [tail call]",
					    [SRCLOC_SIGNAL] = "",
					    [SRCLOC_INTERRUPTED] = "",
					    [SRCLOC_CUT] = "" };
	struct srcloc_where path = srcloc_path(d->loc, ev->process, ev->ip, ev->ctx);
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

static void path_json(struct dump *d, const struct trace_event *ev, struct buf *out)
{
	struct srcloc_where path = srcloc_path(d->loc, ev->process, ev->ip, ev->ctx);

	for (size_t i = 0; i < path.n; i++) {
		buf_puts(out, i ? "," : "");
		dump_json_frame(out, &path.frame[i]);
	}
}

/* Adds the event's call path to the line. */
static void add_path(struct dump *d, struct events *e, const struct trace_event *ev)
{
	uint64_t key = hash_mix(hash_mix(ev->process, ev->ctx), ev->ip), at;

	if (e->moved != d->moved || e->texts.n > KEEP_BYTES) {
		hmap_free(&e->text_at);
		e->texts.n = 0;
		e->moved = d->moved;
	}
	if (!hmap_get(&e->text_at, key, &at)) {
		at = e->texts.n;
		d->json ? path_json(d, ev, &e->texts) : path_text(d, ev, &e->texts);
		buf_add(&e->texts, "", 1);
		hmap_put(&e->text_at, key, at);
	}
	buf_puts(&e->line, e->texts.p + at);
}

static void add_hex(struct buf *out, const uint8_t *p, size_t n)
{
	static const char digit[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		char two[2] = { digit[p[i] >> 4], digit[p[i] & 15] };
		buf_add(out, two, 2);
	}
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
	add_hex(out, ev->data, n);
	buf_puts(out, n < ev->size ? "…" : "");
}

/* "pool+0x40 (0x7f3400000040)" */
static void add_addr(const struct dump *d, const struct trace_event *ev, uint64_t addr,
		     struct buf *out)
{
	struct dump_piece at;

	if (dump_place(d, ev->process, addr, &at))
		buf_printf(out, "%s+0x%" PRIx64 " (0x%" PRIx64 ")", dump_file_name(d, at.file),
			   at.offset, addr);
	else
		buf_printf(out, "0x%" PRIx64, addr);
}

static void add_prot(struct buf *out, uint64_t prot)
{
	buf_printf(out, "%c%c%c", prot & PROT_READ ? 'r' : '-', prot & PROT_WRITE ? 'w' : '-',
		   prot & PROT_EXEC ? 'x' : '-');
}

/* How an argument is written, by its name in the table of events. */
enum style {
	STYLE_ADDR,
	STYLE_HEX,
	STYLE_NUMBER,
	STYLE_FILE,
	STYLE_MODULE,
	STYLE_STRING,
	STYLE_PROT,
	STYLE_SIGNAL
};

static enum style style_of(const char *name)
{
	static const struct {
		const char *name;
		enum style style;
	} table[] = {
		{ "addr", STYLE_ADDR },  { "file", STYLE_FILE }, { "module", STYLE_MODULE },
		{ "fn", STYLE_STRING },  { "prot", STYLE_PROT }, { "signal", STYLE_SIGNAL },
		{ "offset", STYLE_HEX }, { "flags", STYLE_HEX }, { "result", STYLE_HEX },
		{ "mode", STYLE_HEX },   { "a0", STYLE_HEX },    { "a1", STYLE_HEX },
		{ "a2", STYLE_HEX },     { "a3", STYLE_HEX },    { "a4", STYLE_HEX },
		{ "a5", STYLE_HEX },
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (!strcmp(table[i].name, name))
			return table[i].style;
	return STYLE_NUMBER;
}

static void add_arg(const struct dump *d, const struct trace_event *ev, const char *name,
		    uint64_t value, struct buf *out)
{
	const struct trace_module_def *module;
	const char *text;
	char name_of_signal[32];

	switch (style_of(name)) {
	case STYLE_ADDR: add_addr(d, ev, value, out); break;
	case STYLE_HEX: buf_printf(out, "%s=0x%" PRIx64, name, value); break;
	case STYLE_NUMBER: buf_printf(out, "%s=%" PRId64, name, (int64_t)value); break;
	case STYLE_FILE: buf_puts(out, dump_file_path(d, (uint32_t)value)); break;
	case STYLE_MODULE:
		module = trace_module(d->defs, ev->process, (uint32_t)value);
		buf_puts(out, module && module->path ? module->path : "?");
		break;
	case STYLE_STRING:
		text = trace_string(d->defs, ev->process, (uint32_t)value);
		buf_puts(out, text ? text : "?");
		break;
	case STYLE_PROT: add_prot(out, value); break;
	case STYLE_SIGNAL:
		buf_printf(out, "signal=%s", value ? dump_signal(value, name_of_signal) : "none");
		break;
	}
}

/* A payload is bytes in stores and writes, text in all others. */
static bool has_bytes(const struct trace_event *ev)
{
	return ev->kind == TRACE_STORE || ev->kind == TRACE_FILE_WRITE;
}

static size_t text_length(const struct trace_event *ev)
{
	return strnlen((const char *)ev->data, ev->size);
}

static const char *const flag_names[] = { "nt", "atomic",  "kernel", "volatile",
					  "pm", "unwound", "fixed" };

static void add_flags(struct buf *out, unsigned flags, bool json)
{
	bool first = true;

	for (size_t i = 0; i < sizeof flag_names / sizeof *flag_names; i++) {
		if (!(flags & 1u << i))
			continue;
		buf_printf(out, json ? "%s\"%s\"" : "%s%s", first ? "" : ",", flag_names[i]);
		first = false;
	}
}

static void event_text(struct dump *d, struct events *e, const struct trace_event *ev)
{
	const char *flavour = dump_flavour(d, ev), *kind = trace_kind_name(ev->kind);
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
	if (has_bytes(ev)) {
		buf_printf(out, ", %u byte%s", ev->size, ev->size == 1 ? "" : "s");
		add_value(out, ev);
	} else if (ev->size) {
		buf_printf(out, " '%.*s'", (int)text_length(ev), (const char *)ev->data);
	}
	if (ev->flags) {
		buf_puts(out, " [");
		add_flags(out, ev->flags, false);
		buf_puts(out, "]");
	}
	if (ev->ip) {
		buf_puts(out, "  at ");
		add_path(d, e, ev);
	}
	buf_puts(out, "\n");
}

static void args_json(const struct trace_event *ev, struct buf *out)
{
	buf_puts(out, ",\"args\":{");
	for (unsigned i = 0; i < ev->nargs && i < TRACE_MAX_ARGS; i++) {
		const char *name = trace_arg_name(ev->kind, i);
		enum style style = style_of(name ? name : "?");
		bool hex =
			style == STYLE_ADDR || (style == STYLE_HEX && strcmp(name, "offset") != 0);
		buf_printf(out, hex ? "%s\"%s\":\"0x%" PRIx64 "\"" : "%s\"%s\":%" PRIu64,
			   i ? "," : "", name ? name : "?", ev->arg[i]);
	}
	buf_puts(out, "}");
}

/* What the ids and addresses among the arguments stand for. */
static void names_json(const struct dump *d, const struct trace_event *ev, struct buf *out)
{
	for (unsigned i = 0; i < ev->nargs && i < TRACE_MAX_ARGS; i++) {
		const char *name = trace_arg_name(ev->kind, i);
		uint32_t id = (uint32_t)ev->arg[i];
		enum style style = style_of(name ? name : "?");
		const struct trace_module_def *module;
		struct dump_piece at;

		if (style == STYLE_ADDR && dump_place(d, ev->process, ev->arg[i], &at)) {
			if (ev->kind == TRACE_MAP)
				continue;
			buf_puts(out, ",\"file\":");
			dump_json_text(out, dump_file_path(d, at.file));
			buf_printf(out, ",\"offset\":%" PRIu64, at.offset);
		} else if (style == STYLE_FILE) {
			buf_puts(out, ",\"file\":");
			dump_json_text(out, dump_file_path(d, id));
		} else if (style == STYLE_MODULE) {
			module = trace_module(d->defs, ev->process, id);
			buf_puts(out, ",\"module\":");
			dump_json_text(out, module ? module->path : NULL);
		} else if (style == STYLE_STRING) {
			buf_puts(out, ",\"function\":");
			dump_json_text(out, trace_string(d->defs, ev->process, id));
		}
	}
}

static void event_json(struct dump *d, struct events *e, const struct trace_event *ev)
{
	const char *flavour = dump_flavour(d, ev);
	struct buf *out = &e->line;

	buf_printf(out, "{\"num\":%" PRIu64 ",\"process\":%u,\"thread\":%u,\"kind\":", ev->num,
		   ev->process, ev->thread);
	dump_json_text(out, trace_kind_name(ev->kind));
	if (flavour) {
		buf_puts(out, ",\"flavour\":");
		dump_json_text(out, flavour);
	}
	args_json(ev, out);
	names_json(d, ev, out);
	if (has_bytes(ev)) {
		buf_printf(out, ",\"size\":%u,\"data\":\"", ev->size);
		add_hex(out, ev->data, ev->size);
		buf_puts(out, "\"");
	} else if (ev->size) {
		buf_puts(out, ",\"text\":");
		dump_json_bytes(out, (const char *)ev->data, text_length(ev));
	}
	buf_puts(out, ",\"flags\":[");
	add_flags(out, ev->flags, true);
	buf_printf(out, "],\"ip\":\"0x%" PRIx64 "\",\"stack\":[", ev->ip);
	if (ev->ip)
		add_path(d, e, ev);
	buf_puts(out, "]}\n");
}

static void print_event(struct dump *d, const struct trace_event *ev, void *arg)
{
	struct events *e = arg;

	if (ev->num < e->from)
		return;
	e->line.n = 0;
	d->json ? event_json(d, e, ev) : event_text(d, e, ev);
	for (size_t i = 0; i + 1 < e->line.n;
	     i++) /* a path may hold anything: one line stays one */
		if ((unsigned char)e->line.p[i] < ' ' || e->line.p[i] == 0x7f)
			e->line.p[i] = '?';
	fwrite(e->line.p, 1, e->line.n, stdout);
}

int dump_events(struct dump *d, uint64_t from, uint64_t to, struct err *err)
{
	struct events e = { .from = from };
	/* From the first event on, whatever `from` is: modules and files are mapped early. */
	int status = dump_each(d, to, print_event, &e, err);

	buf_free(&e.line);
	buf_free(&e.texts);
	hmap_free(&e.text_at);
	return status;
}
