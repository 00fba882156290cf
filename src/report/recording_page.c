/* SPDX-License-Identifier: BSD-3-Clause */
/* What a recording holds, on one page. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/recording.h"

/* "clwb 40, clflush 2" */
static void text_classes(struct buf *out, const uint64_t *n)
{
	for (unsigned i = 0; i < TRACE_SITE_CLASSES; i++)
		if (n[i])
			buf_printf(out, "%s%s %" PRIu64, out->n ? ", " : "",
				   trace_site_class_name(i), n[i]);
}

static void print_row(FILE *out, const char *title, struct buf *text)
{
	if (text->n)
		fprintf(out, "%-10s %.*s\n", title, (int)text->n, text->p);
	text->n = 0;
}

static void text_process(const struct report_recording *d, const struct report_counts *s,
			 uint32_t i, FILE *out)
{
	static const char *const birth[] = { "started by", "forked from", "exec by" };
	const struct trace_process_def *def = trace_process(d->defs, i);
	struct report_process_use use = report_process_use(s, i);
	struct buf b = { 0 };
	char name[32];
	if (trace_processes(d->defs) > 1)
		buf_printf(&b, "P%u: pid %u, ", i, def->pid);
	if (i) {
		if (def->parent_index != TRACE_NO_PROCESS)
			buf_printf(&b, "%s P%u: ", birth[def->birth % 3], def->parent_index);
		report_recording_command(def, &b);
		buf_puts(&b, ", ");
	}
	buf_printf(&b, "%u thread%s, ", use.threads, use.threads == 1 ? "" : "s");
	if (!use.ended)
		buf_puts(&b, def->ended ? "replaced by exec" : "end not recorded");
	else if (use.signal)
		buf_printf(&b, "killed by %s", report_recording_signal(use.signal, name));
	else
		buf_printf(&b, "exit status %" PRIu64, use.status);
	print_row(out, i ? "" : "Process", &b);
	buf_free(&b);
}

static void text_head(const struct report_recording *d, const struct report_counts *s, FILE *out)
{
	const struct trace_process_def *first = trace_process(d->defs, 0);
	const char *why = NULL;
	struct buf b = { 0 };
	if (first)
		report_recording_command(first, &b);
	print_row(out, "Command", &b);
	if (trace_is_whole(d->reader, &why))
		buf_puts(&b, "whole");
	else
		buf_printf(&b, "cut short: %s", why ? why : "its end is missing");
	buf_printf(&b, "; %" PRIu64 " events", s->events);
	print_row(out, "Recorded", &b);
	for (uint32_t i = 0; i < trace_processes(d->defs); i++)
		text_process(d, s, i, out);
	for (unsigned i = 0; i < TRACE_KINDS; i++)
		if (s->kinds[i])
			buf_printf(&b, "%s%s %" PRIu64, b.n ? ", " : "", trace_kind_name(i),
				   s->kinds[i]);
	print_row(out, "Events", &b);
	buf_free(&b);
}

static void text_counts(const struct report_counts *s, FILE *out)
{
	struct buf b = { 0 };
	for (unsigned i = 0; i < REPORT_STORES; i++)
		if (s->stores[i].count)
			buf_printf(&b, "%s%s %" PRIu64 " (%" PRIu64 " bytes)", b.n ? ", " : "",
				   report_store_names[i], s->stores[i].count, s->stores[i].bytes);
	print_row(out, "Stores", &b);
	text_classes(&b, s->flush);
	if (s->flush_volatile)
		buf_printf(&b, "; %" PRIu64 " of lines not in PM", s->flush_volatile);
	print_row(out, "Flushes", &b);
	text_classes(&b, s->fence);
	if (s->fence_atomic)
		buf_printf(&b, "%satomic %" PRIu64, b.n ? ", " : "", s->fence_atomic);
	print_row(out, "Fences", &b);
	buf_free(&b);
}

static void text_files(const struct report_recording *d, const struct report_counts *s, FILE *out)
{
	const char *title = "PM files";
	for (uint32_t i = 0; i < s->file.n; i++, title = "") {
		const struct report_file_use *f = &s->file.p[i];
		fprintf(out,
			"%-10s %s: %" PRIu64 " bytes mapped, %" PRIu64 " stores (%" PRIu64
			" bytes)",
			title, report_recording_path(d, i), report_mapped(f), f->stores.count,
			f->stores.bytes);
		if (f->writes.count)
			fprintf(out, ", %" PRIu64 " writes (%" PRIu64 " bytes)", f->writes.count,
				f->writes.bytes);
		fprintf(out, "\n");
	}
	if (s->elsewhere.count)
		fprintf(out, "%-10s elsewhere: %" PRIu64 " stores (%" PRIu64 " bytes)\n", title,
			s->elsewhere.count, s->elsewhere.bytes);
}

struct helper_list {
	FILE *out;
	uint64_t n;
};

static void text_helper(void *arg, const struct finding_helper *h)
{
	struct helper_list *l = arg;
	const char *slash = h->file ? strrchr(h->file, '/') : NULL;
	if (!l->n++)
		fprintf(l->out, "\nTaken for persistence helpers; a finding names their callers\n");
	fprintf(l->out, "  %s (%s), called from %" PRIu32 " place%s: %s\n", h->function,
		slash     ? slash + 1
		: h->file ? h->file
			  : "?",
		h->sites, h->sites == 1 ? "" : "s", h->why);
}

static void text_sites(const struct report_counts *s, uint64_t top, FILE *out)
{
	char text[4096];
	if (!s->site.n || !top)
		return;
	fprintf(out, "\nTop store sites\n%12s %12s\n", "stores", "bytes");
	for (size_t i = 0; i < s->site.n && i < top; i++) {
		const struct report_site *x = &s->site.p[i];
		bool named = x->via.module && x->at.function; /* its own place tells nothing */
		fprintf(out, "%12" PRIu64 " %12" PRIu64 "  %s", x->stores.count, x->stores.bytes,
			named ? x->at.function : srcloc_text(&x->at, text, sizeof text));
		if (x->via.module)
			fprintf(out, " < %s", srcloc_text(&x->via, text, sizeof text));
		fprintf(out, "\n");
	}
	if (s->site.n > top)
		fprintf(out, "%12s %12s  and %" PRIu64 " more\n", "", "",
			(uint64_t)s->site.n - top);
}

void report_recording_page(struct report_recording *d, const struct report_counts *s, uint64_t top,
			   FILE *out)
{
	text_head(d, s, out);
	text_counts(s, out);
	text_files(d, s, out);
	text_sites(s, top, out);
	finding_helpers_each(s->helpers, text_helper, &(struct helper_list){ .out = out });
}
