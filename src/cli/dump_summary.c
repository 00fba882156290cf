/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * holdfast dump --summary: what a trace holds, on one page or as one JSON document.
 *
 * A store site is a line of source. Where the storing instruction has none (a library without
 * debug information, memcpy, an intrinsic in the compiler's header), the site is the first
 * caller that has one and the function it called: "pmemobj_tx_alloc < insert (tree.c:41)".
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/dump.h"

enum store_class { STORE_PLAIN, STORE_NT, STORE_ATOMIC, STORE_KERNEL, STORE_CLASSES };
static const char *const store_names[] = { "plain", "non-temporal", "atomic", "kernel" };

struct amount {
	uint64_t count, bytes;
};
struct site {
	struct srcloc_frame at, via; /* via.module NULL: at says it all */
	struct amount stores;
};
struct file_use {
	struct amount stores, writes;
	struct imap mapped; /* of file offsets, ever */
};
struct process_use {
	uint32_t threads;
	bool ended;
	uint64_t status, signal;
};

struct summary {
	uint64_t events, kinds[TRACE_KINDS];
	struct amount stores[STORE_CLASSES], elsewhere; /* elsewhere: in no PM file */
	uint64_t flush[TRACE_SITE_CLASSES], flush_volatile;
	uint64_t fence[TRACE_SITE_CLASSES], fence_atomic;
	struct hmap thread; /* (process, thread) seen */
	VEC(struct process_use) process;
	VEC(struct file_use) file;
	VEC(struct site) site;
	struct hmap site_at;  /* hash of a site's strings -> index */
	struct hmap site_for; /* (process, ip, ctx) -> index */
	uint64_t moved;       /* dump.moved when site_for was made */
};

static void add(struct amount *a, uint64_t bytes)
{
	a->count++;
	a->bytes += bytes;
}

/* Does the frame name a line that the program's author may have written and that was run? */
static bool has_source(const struct srcloc_frame *f)
{
	static const char *const foreign[] = { "/lib/gcc/", "/lib/llvm", "/lib/clang/" };
	const char *slash = f->module ? strrchr(f->module, '/') : NULL;
	size_t n = f->file ? strlen(f->file) : 0;

	if (f->kind != SRCLOC_CODE || !f->line || n < 2 || !strcmp(f->file + n - 2, ".S"))
		return false;
	for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
		if (strstr(f->file, foreign[i]))
			return false;
	return !slash || strncmp(slash, "/libc.so.", 9) != 0;
}

/* `via` is the caller that has a source line, where `at` has none; otherwise NULL. */
static size_t find_site(struct summary *s, const struct srcloc_frame *at,
			const struct srcloc_frame *via)
{
	const struct srcloc_frame *line = via ? via : at;
	uint64_t key = hash_mix((uintptr_t)line->function, (uintptr_t)line->file), i;

	key = hash_mix(key, line->line);
	key = hash_mix(hash_mix(key, (uintptr_t)at->function), (uintptr_t)at->module);
	if (!at->function) /* then the address is all there is */
		key = hash_mix(key, at->offset);
	if (!hmap_get(&s->site_at, key, &i)) {
		struct site site = { .at = *at };
		if (via)
			site.via = *via;
		i = s->site.n;
		VEC_PUSH(&s->site, site);
		hmap_put(&s->site_at, key, i);
	}
	return i;
}

static struct site *site_of(struct dump *d, struct summary *s, const struct trace_event *ev)
{
	uint64_t key = hash_mix(hash_mix(ev->process, ev->ctx), ev->ip), i;

	if (s->moved != d->moved) {
		hmap_free(&s->site_for);
		s->moved = d->moved;
	}
	if (!hmap_get(&s->site_for, key, &i)) {
		struct srcloc_where path = srcloc_trace_at(d->loc, ev->process, ev->ip);
		size_t k = 0;
		if (!has_source(&path.frame[0])) {
			path = srcloc_path(d->loc, ev->process, ev->ip, ev->ctx);
			while (k < path.n && !has_source(&path.frame[k]))
				k++;
		}
		if (k && k < path.n)
			i = find_site(s, &path.frame[k - 1], &path.frame[k]);
		else
			i = find_site(s, &path.frame[0], NULL);
		hmap_put(&s->site_for, key, i);
	}
	return &s->site.p[i];
}

/* What is counted for a file; NULL if there is no such file (TRACE_NO_FILE). */
static struct file_use *file_of(const struct dump *d, struct summary *s, uint64_t file)
{
	if (file >= trace_files(d->defs))
		return NULL;
	while (s->file.n <= file)
		VEC_PUSH(&s->file, (struct file_use){ 0 });
	return &s->file.p[file];
}

static void count_store(struct dump *d, struct summary *s, const struct trace_event *ev)
{
	enum store_class class = ev->flags & TRACE_F_KERNEL   ? STORE_KERNEL
				 : ev->flags & TRACE_F_ATOMIC ? STORE_ATOMIC
				 : ev->flags & TRACE_F_NT     ? STORE_NT
							      : STORE_PLAIN;
	struct dump_piece at;
	bool placed = dump_place(d, ev->process, ev->arg[0], &at);
	struct file_use *file = placed ? file_of(d, s, at.file) : NULL;

	add(&s->stores[class], ev->size);
	add(&site_of(d, s, ev)->stores, ev->size);
	add(file ? &file->stores : &s->elsewhere, ev->size);
}

static void count_thread(struct summary *s, const struct trace_event *ev)
{
	uint64_t key = (uint64_t)ev->process << 32 | ev->thread, seen;

	while (s->process.n <= ev->process)
		VEC_PUSH(&s->process, (struct process_use){ 0 });
	if (!hmap_get(&s->thread, key, &seen)) {
		hmap_put(&s->thread, key, 1);
		s->process.p[ev->process].threads++;
	}
}

static void count_event(struct dump *d, const struct trace_event *ev, void *arg)
{
	struct summary *s = arg;
	const struct trace_site_def *site = trace_site(d->defs, ev->process, ev->site);
	unsigned class = site && site->class < TRACE_SITE_CLASSES ? site->class : TRACE_SITE_OTHER;
	struct process_use *p;
	struct file_use *file;

	s->events++;
	if (ev->kind < TRACE_KINDS)
		s->kinds[ev->kind]++;
	count_thread(s, ev);
	p = &s->process.p[ev->process];
	switch (ev->kind) {
	case TRACE_STORE: count_store(d, s, ev); break;
	case TRACE_FLUSH:
		s->flush[class]++;
		s->flush_volatile += !!(ev->flags & TRACE_F_VOLATILE);
		break;
	case TRACE_FENCE:
		++*(ev->flags & TRACE_F_ATOMIC ? &s->fence_atomic : &s->fence[class]);
		break;
	case TRACE_MAP:
		file = file_of(d, s, ev->arg[2]);
		if (file && ev->flags & TRACE_F_PM && ev->arg[3] + ev->arg[1] > ev->arg[3])
			imap_set(&file->mapped, ev->arg[3], ev->arg[3] + ev->arg[1], 0);
		break;
	case TRACE_FILE_WRITE:
		file = file_of(d, s, ev->arg[0]);
		if (file)
			add(&file->writes, ev->size);
		break;
	case TRACE_EXIT:
		p->ended = true;
		p->status = ev->arg[0];
		p->signal = ev->arg[1];
		break;
	default: break;
	}
}

static uint64_t mapped_bytes(const struct file_use *f)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < f->mapped.n; i++)
		sum += f->mapped.p[i].hi - f->mapped.p[i].lo;
	return sum;
}

static int site_order(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	if (x->stores.count != y->stores.count)
		return x->stores.count > y->stores.count ? -1 : 1;
	if (x->stores.bytes != y->stores.bytes)
		return x->stores.bytes > y->stores.bytes ? -1 : 1;
	if (x->at.line != y->at.line)
		return x->at.line < y->at.line ? -1 : 1;
	return strcmp(x->at.function ? x->at.function : "", y->at.function ? y->at.function : "");
}

/* --- for people --- */

/* "clwb 40, clflush 2" */
static void text_classes(struct buf *out, const uint64_t *n)
{
	for (unsigned i = 0; i < TRACE_SITE_CLASSES; i++)
		if (n[i])
			buf_printf(out, "%s%s %" PRIu64, out->n ? ", " : "",
				   trace_site_class_name(i), n[i]);
}

static void print_row(const char *title, struct buf *text)
{
	if (text->n)
		printf("%-10s %.*s\n", title, (int)text->n, text->p);
	text->n = 0;
}

static void text_process(struct dump *d, const struct summary *s, uint32_t i)
{
	static const char *const birth[] = { "started by", "forked from", "exec by" };
	const struct trace_process_def *def = trace_process(d->defs, i);
	struct process_use none = { 0 }, use = i < s->process.n ? s->process.p[i] : none;
	struct buf b = { 0 };
	char name[32];

	if (trace_processes(d->defs) > 1)
		buf_printf(&b, "P%u: pid %u, ", i, def->pid);
	if (i) {
		if (def->parent_index != TRACE_NO_PROCESS)
			buf_printf(&b, "%s P%u: ", birth[def->birth % 3], def->parent_index);
		dump_command(def, &b);
		buf_puts(&b, ", ");
	}
	buf_printf(&b, "%u thread%s, ", use.threads, use.threads == 1 ? "" : "s");
	if (!use.ended)
		buf_puts(&b, def->ended ? "replaced by exec" : "end not recorded");
	else if (use.signal)
		buf_printf(&b, "killed by %s", dump_signal(use.signal, name));
	else
		buf_printf(&b, "exit status %" PRIu64, use.status);
	print_row(i ? "" : "Process", &b);
	buf_free(&b);
}

static void text_head(struct dump *d, const struct summary *s)
{
	const struct trace_process_def *first = trace_process(d->defs, 0);
	const char *why = NULL;
	struct buf b = { 0 };

	if (first)
		dump_command(first, &b);
	print_row("Command", &b);
	if (trace_is_whole(d->reader, &why))
		buf_puts(&b, "whole");
	else
		buf_printf(&b, "cut short: %s", why ? why : "its end is missing");
	buf_printf(&b, "; %" PRIu64 " events", s->events);
	print_row("Recorded", &b);
	for (uint32_t i = 0; i < trace_processes(d->defs); i++)
		text_process(d, s, i);
	for (unsigned i = 0; i < TRACE_KINDS; i++)
		if (s->kinds[i])
			buf_printf(&b, "%s%s %" PRIu64, b.n ? ", " : "", trace_kind_name(i),
				   s->kinds[i]);
	print_row("Events", &b);
	buf_free(&b);
}

static void text_counts(const struct summary *s)
{
	struct buf b = { 0 };

	for (unsigned i = 0; i < STORE_CLASSES; i++)
		if (s->stores[i].count)
			buf_printf(&b, "%s%s %" PRIu64 " (%" PRIu64 " bytes)", b.n ? ", " : "",
				   store_names[i], s->stores[i].count, s->stores[i].bytes);
	print_row("Stores", &b);
	text_classes(&b, s->flush);
	if (s->flush_volatile)
		buf_printf(&b, "; %" PRIu64 " of lines not in PM", s->flush_volatile);
	print_row("Flushes", &b);
	text_classes(&b, s->fence);
	if (s->fence_atomic)
		buf_printf(&b, "%satomic %" PRIu64, b.n ? ", " : "", s->fence_atomic);
	print_row("Fences", &b);
	buf_free(&b);
}

static void text_files(struct dump *d, const struct summary *s)
{
	const char *title = "PM files";

	for (uint32_t i = 0; i < s->file.n; i++, title = "") {
		const struct file_use *f = &s->file.p[i];
		printf("%-10s %s: %" PRIu64 " bytes mapped, %" PRIu64 " stores (%" PRIu64 " bytes)",
		       title, dump_file_path(d, i), mapped_bytes(f), f->stores.count,
		       f->stores.bytes);
		if (f->writes.count)
			printf(", %" PRIu64 " writes (%" PRIu64 " bytes)", f->writes.count,
			       f->writes.bytes);
		printf("\n");
	}
	if (s->elsewhere.count)
		printf("%-10s elsewhere: %" PRIu64 " stores (%" PRIu64 " bytes)\n", title,
		       s->elsewhere.count, s->elsewhere.bytes);
}

static void print_text(struct dump *d, const struct summary *s, uint64_t top)
{
	char text[4096];

	text_head(d, s);
	text_counts(s);
	text_files(d, s);
	if (!s->site.n || !top)
		return;
	printf("\nTop store sites\n%12s %12s\n", "stores", "bytes");
	for (size_t i = 0; i < s->site.n && i < top; i++) {
		const struct site *x = &s->site.p[i];
		bool named = x->via.module && x->at.function; /* its own place tells nothing */
		printf("%12" PRIu64 " %12" PRIu64 "  %s", x->stores.count, x->stores.bytes,
		       named ? x->at.function : srcloc_text(&x->at, text, sizeof text));
		if (x->via.module)
			printf(" < %s", srcloc_text(&x->via, text, sizeof text));
		printf("\n");
	}
	if (s->site.n > top)
		printf("%12s %12s  and %" PRIu64 " more\n", "", "", (uint64_t)s->site.n - top);
}

/* --- JSON --- */

static void json_amount(struct buf *out, const char *before, struct amount a)
{
	buf_printf(out, "%s{\"count\":%" PRIu64 ",\"bytes\":%" PRIu64 "}", before, a.count,
		   a.bytes);
}

static void json_classes(struct buf *out, const char *title, const uint64_t *n,
			 const char *more_name, uint64_t more)
{
	buf_printf(out, ",\"%s\":{\"%s\":%" PRIu64, title, more_name, more);
	for (unsigned i = 0; i < TRACE_SITE_CLASSES; i++)
		if (n[i])
			buf_printf(out, ",\"%s\":%" PRIu64, trace_site_class_name(i), n[i]);
	buf_puts(out, "}");
}

static void json_processes(struct dump *d, const struct summary *s, struct buf *out)
{
	static const char *const birth[] = { "start", "fork", "exec" };

	buf_puts(out, ",\"processes\":[");
	for (uint32_t i = 0; i < trace_processes(d->defs); i++) {
		const struct trace_process_def *def = trace_process(d->defs, i);
		struct process_use none = { 0 }, use = i < s->process.n ? s->process.p[i] : none;
		buf_printf(
			out,
			"%s{\"pid\":%u,\"parent\":%u,\"birth\":\"%s\",\"threads\":%u,\"command\":",
			i ? "," : "", def->pid, def->parent, birth[def->birth % 3], use.threads);
		dump_json_command(out, def);
		buf_printf(out,
			   use.ended ? ",\"status\":%" PRIu64 ",\"signal\":%" PRIu64 "}"
				     : ",\"status\":null,\"signal\":null}",
			   use.status, use.signal);
	}
	buf_puts(out, "]");
}

static void json_files(struct dump *d, const struct summary *s, struct buf *out)
{
	buf_puts(out, ",\"files\":[");
	for (uint32_t i = 0; i < s->file.n; i++) {
		const struct trace_file_def *def = trace_file(d->defs, i);
		buf_puts(out, i ? ",{\"path\":" : "{\"path\":");
		dump_json_text(out, dump_file_path(d, i));
		buf_printf(out, ",\"size\":%" PRIu64 ",\"mapped\":%" PRIu64, def ? def->size : 0,
			   mapped_bytes(&s->file.p[i]));
		json_amount(out, ",\"stores\":", s->file.p[i].stores);
		json_amount(out, ",\"writes\":", s->file.p[i].writes);
		buf_puts(out, "}");
	}
	buf_puts(out, "]");
}

static void json_sites(const struct summary *s, uint64_t top, struct buf *out)
{
	buf_puts(out, ",\"sites\":[");
	for (size_t i = 0; i < s->site.n && i < top; i++) {
		const struct site *x = &s->site.p[i];
		buf_printf(out, "%s{\"count\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"location\":",
			   i ? "," : "", x->stores.count, x->stores.bytes);
		dump_json_frame(out, &x->at);
		if (x->via.module) {
			buf_puts(out, ",\"caller\":");
			dump_json_frame(out, &x->via);
		}
		buf_puts(out, "}");
	}
	buf_puts(out, "]");
}

static void json_stale(struct dump *d, struct buf *out)
{
	const char *path;

	buf_puts(out, ",\"stale\":[");
	for (size_t i = 0; (path = srcloc_trace_stale(d->loc, i)); i++) {
		buf_puts(out, i ? "," : "");
		dump_json_text(out, path);
	}
	buf_puts(out, "]");
}

static void json_counts(const struct summary *s, struct buf *out)
{
	bool first = true;

	buf_puts(out, ",\"kinds\":{");
	for (unsigned i = 0; i < TRACE_KINDS; i++) {
		if (!s->kinds[i])
			continue;
		buf_printf(out, "%s\"%s\":%" PRIu64, first ? "" : ",", trace_kind_name(i),
			   s->kinds[i]);
		first = false;
	}
	buf_puts(out, "},\"stores\":{");
	for (unsigned i = 0; i < STORE_CLASSES; i++) {
		buf_printf(out, "%s\"%s\":", i ? "," : "", store_names[i]);
		json_amount(out, "", s->stores[i]);
	}
	buf_puts(out, "}");
	json_classes(out, "flushes", s->flush, "volatile", s->flush_volatile);
	json_classes(out, "fences", s->fence, "atomic", s->fence_atomic);
}

static void print_json(struct dump *d, const struct summary *s, uint64_t top)
{
	const char *why = NULL;
	bool whole = trace_is_whole(d->reader, &why);
	struct buf b = { 0 };

	buf_puts(&b, "{\"holdfast\":\"" HOLDFAST_VERSION
		     "\",\"schema\":1,\"verb\":\"dump\",\"command\":");
	dump_json_command(&b, trace_process(d->defs, 0));
	buf_printf(&b, ",\"whole\":%s,\"why\":", whole ? "true" : "false");
	dump_json_text(&b, whole ? NULL : why);
	buf_printf(&b, ",\"events\":%" PRIu64 ",\"threads\":%zu", s->events, s->thread.n);
	json_processes(d, s, &b);
	json_counts(s, &b);
	json_files(d, s, &b);
	json_amount(&b, ",\"elsewhere\":", s->elsewhere);
	json_sites(s, top, &b);
	json_stale(d, &b);
	buf_puts(&b, "}\n");
	fwrite(b.p, 1, b.n, stdout);
	buf_free(&b);
}

/* Bad bytes end the reading; what came before them is shown all the same. */
int dump_summary(struct dump *d, uint64_t top, struct err *err)
{
	struct summary *s = xcalloc(1, sizeof *s);
	int status = dump_each(d, UINT64_MAX, count_event, s, err);

	if (s->site.n)
		qsort(s->site.p, s->site.n, sizeof *s->site.p, site_order);
	d->json ? print_json(d, s, top) : print_text(d, s, top);
	for (size_t i = 0; i < s->file.n; i++)
		imap_free(&s->file.p[i].mapped);
	VEC_FREE(&s->file);
	VEC_FREE(&s->process);
	VEC_FREE(&s->site);
	hmap_free(&s->site_at);
	hmap_free(&s->site_for);
	hmap_free(&s->thread);
	free(s);
	return status;
}
