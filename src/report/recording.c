/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a recording: where its modules and PM files are mapped at the current event, and names. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "report/recording.h"

struct report_recording *report_recording_new(struct trace_reader *reader)
{
	struct report_recording *r = xcalloc(1, sizeof *r);
	r->reader = reader;
	r->defs = trace_defs(reader);
	r->loc = srcloc_trace_new(r->defs);
	r->maps = trace_maps_new(r->defs);
	return r;
}

const char *report_recording_stale(const struct report_recording *r, size_t i)
{
	return srcloc_trace_stale(r->loc, i);
}

void report_recording_free(struct report_recording *r)
{
	srcloc_trace_free(r->loc);
	trace_maps_free(r->maps);
	trace_deps_free(r->deps);
	free(r);
}

bool report_recording_place(const struct report_recording *r, uint32_t process, uint64_t addr,
			    uint32_t *file, uint64_t *offset)
{
	uint64_t len;
	return trace_maps_locate(r->maps, process, addr, file, offset, &len);
}

int report_recording_each(struct report_recording *r, uint64_t to, report_recording_use *use,
			  void *arg, struct err *err)
{
	struct trace_event ev;
	int more;
	if (!r->deps)
		r->deps = trace_deps_new();
	while ((more = trace_next(r->reader, &ev, err)) > 0) {
		bool late = ev.kind == TRACE_UNMAP; /* it speaks of what was there */
		srcloc_trace_feed(r->loc, &ev);
		r->moved += ev.kind == TRACE_MODULE_LOAD || ev.kind == TRACE_MODULE_UNLOAD;
		if (!late && trace_maps_apply(r->maps, &ev, err))
			return -1;
		r->dep = (struct trace_dep){ 0 };
		if (trace_deps_event(r->deps, &ev, &r->dep, err) < 0)
			return -1;
		use(r, &ev, arg);
		if (late && trace_maps_apply(r->maps, &ev, err))
			return -1;
		if (ev.num >= to)
			return 0;
	}
	return more;
}

/* ---- names ---- */

const char *report_recording_path(const struct report_recording *d, uint32_t file)
{
	const struct trace_file_def *f = trace_file(d->defs, file);
	return f && f->path ? f->path : "?";
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

const char *report_recording_name(const struct report_recording *d, uint32_t file)
{
	const char *path = report_recording_path(d, file), *name = last_part(path);
	for (uint32_t i = 0; i < trace_files(d->defs); i++)
		if (i != file && !strcmp(last_part(report_recording_path(d, i)), name))
			return path;
	return name;
}

const char *report_recording_flavour(const struct report_recording *d, const struct trace_event *ev)
{
	const struct trace_site_def *site;
	if (ev->kind != TRACE_FLUSH && ev->kind != TRACE_FENCE)
		return NULL;
	if (ev->flags & TRACE_F_ATOMIC)
		return "atomic";
	site = trace_site(d->defs, ev->process, ev->site);
	return site ? trace_site_class_name(site->class) : "other";
}

void report_recording_command(const struct trace_process_def *p, struct buf *out)
{
	for (uint32_t at = 0; at < p->command_len;) {
		const char *word = p->command + at;
		size_t len = strnlen(word, p->command_len - at);
		buf_puts(out, at ? " " : "");
		shell_quote(out, word, len);
		at += (uint32_t)len + 1;
	}
}

const char *report_recording_signal(uint64_t number, char buf[32])
{
	const char *name = number < NSIG ? sigabbrev_np((int)number) : NULL;
	if (name)
		snprintf(buf, 32, "SIG%s", name);
	else
		snprintf(buf, 32, "signal %llu", (unsigned long long)number);
	return buf;
}

enum report_style report_recording_style(const char *name)
{
	static const struct {
		const char *name;
		enum report_style style;
	} table[] = {
		{ "addr", REPORT_ADDR },  { "file", REPORT_FILE }, { "module", REPORT_MODULE },
		{ "fn", REPORT_STRING },  { "prot", REPORT_PROT }, { "signal", REPORT_SIGNAL },
		{ "offset", REPORT_HEX }, { "flags", REPORT_HEX }, { "result", REPORT_HEX },
		{ "mode", REPORT_HEX },   { "a0", REPORT_HEX },    { "a1", REPORT_HEX },
		{ "a2", REPORT_HEX },     { "a3", REPORT_HEX },    { "a4", REPORT_HEX },
		{ "a5", REPORT_HEX },     { "node", REPORT_NODE }, { "replaced", REPORT_NODE },
		{ "to", REPORT_HEX },     { "call", REPORT_HEX },
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (!strcmp(table[i].name, name))
			return table[i].style;
	return REPORT_NUMBER;
}

bool report_recording_has_bytes(const struct trace_event *ev)
{
	return ev->kind == TRACE_STORE || ev->kind == TRACE_FILE_WRITE ||
	       ev->kind == TRACE_NODE_WRITE;
}

bool report_recording_has_labels(const struct trace_event *ev)
{
	return ev->kind == TRACE_DEP || ev->kind == TRACE_BRANCH;
}

void report_recording_hex(struct buf *out, const uint8_t *p, size_t n)
{
	static const char digit[] = "0123456789abcdef";
	for (size_t i = 0; i < n; i++) {
		char two[2] = { digit[p[i] >> 4], digit[p[i] & 15] };
		buf_add(out, two, 2);
	}
}

const char *const report_recording_flags[] = { "nt", "atomic",  "kernel", "volatile",
					       "pm", "unwound", "fixed",  NULL };
