/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a recording holds, counted.
 *
 * A store site is a line of source. Where the storing instruction has none (a library without
 * debug information, memcpy, an intrinsic in the compiler's header), the site is the first
 * caller that has one and the function it called: "pmemobj_tx_alloc < insert (tree.c:41)".
 */
#include <stdlib.h>
#include <string.h>

#include "report/recording.h"

const char *const report_store_names[REPORT_STORES] = { "plain", "non-temporal", "atomic",
							"kernel" };

static void add(struct report_amount *a, uint64_t bytes)
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
static size_t find_site(struct report_counts *s, const struct srcloc_frame *at,
			const struct srcloc_frame *via)
{
	const struct srcloc_frame *line = via ? via : at;
	uint64_t key = hash_mix((uintptr_t)line->function, (uintptr_t)line->file), i;
	key = hash_mix(key, line->line);
	key = hash_mix(hash_mix(key, (uintptr_t)at->function), (uintptr_t)at->module);
	if (!at->function) /* then the address is all there is */
		key = hash_mix(key, at->offset);
	if (!hmap_get(&s->site_at, key, &i)) {
		struct report_site site = { .at = *at };
		if (via)
			site.via = *via;
		i = s->site.n;
		VEC_PUSH(&s->site, site);
		hmap_put(&s->site_at, key, i);
	}
	return i;
}

static uint64_t key_of(const struct trace_event *ev)
{
	return hash_mix(hash_mix(ev->process, ev->ctx), ev->ip);
}

/* What is known of addresses ends where modules come and go. */
static void forget_moved(const struct report_recording *d, struct report_counts *s)
{
	if (s->moved == d->moved)
		return;
	hmap_free(&s->site_for);
	hmap_free(&s->path);
	s->moved = d->moved;
}

/* Shows each path once to those who tell helpers from the program. */
static void learn_path(const struct report_recording *d, struct report_counts *s,
		       const struct trace_event *ev, unsigned class)
{
	uint64_t key = key_of(ev), seen;
	enum finding_act act;
	if (!ev->ip || !finding_act_of((uint8_t) class, ev->kind == TRACE_STORE, &act) ||
	    hmap_get(&s->path, key, &seen))
		return;
	hmap_put(&s->path, key, 1);
	finding_helpers_see(s->helpers, srcloc_path(d->loc, ev->process, ev->ip, ev->ctx), act);
}

static struct report_site *site_of(struct report_recording *d, struct report_counts *s,
				   const struct trace_event *ev)
{
	uint64_t key = key_of(ev), i;
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
static struct report_file_use *file_of(const struct report_recording *d, struct report_counts *s,
				       uint64_t file)
{
	if (file >= trace_files(d->defs))
		return NULL;
	while (s->file.n <= file)
		VEC_PUSH(&s->file, (struct report_file_use){ 0 });
	return &s->file.p[file];
}

static void count_store(struct report_recording *d, struct report_counts *s,
			const struct trace_event *ev)
{
	enum report_store class = ev->flags & TRACE_F_KERNEL   ? REPORT_KERNEL
				  : ev->flags & TRACE_F_ATOMIC ? REPORT_ATOMIC
				  : ev->flags & TRACE_F_NT     ? REPORT_NT
							       : REPORT_PLAIN;
	uint32_t at;
	uint64_t offset;
	bool placed = report_recording_place(d, ev->process, ev->arg[0], &at, &offset);
	struct report_file_use *file = placed ? file_of(d, s, at) : NULL;
	add(&s->stores[class], ev->size);
	add(&site_of(d, s, ev)->stores, ev->size);
	add(file ? &file->stores : &s->elsewhere, ev->size);
}

static void count_thread(struct report_counts *s, const struct trace_event *ev)
{
	uint64_t key = (uint64_t)ev->process << 32 | ev->thread, seen;
	while (s->process.n <= ev->process)
		VEC_PUSH(&s->process, (struct report_process_use){ 0 });
	if (!hmap_get(&s->thread, key, &seen)) {
		hmap_put(&s->thread, key, 1);
		s->process.p[ev->process].threads++;
	}
}

static void count_event(struct report_recording *d, const struct trace_event *ev, void *arg)
{
	struct report_counts *s = arg;
	const struct trace_site_def *site = trace_site(d->defs, ev->process, ev->site);
	unsigned class = site && site->class < TRACE_SITE_CLASSES ? site->class : TRACE_SITE_OTHER;
	struct report_process_use *p;
	struct report_file_use *file;
	s->events++;
	if (ev->kind < TRACE_KINDS)
		s->kinds[ev->kind]++;
	forget_moved(d, s);
	if (ev->kind == TRACE_STORE || ev->kind == TRACE_FLUSH || ev->kind == TRACE_FENCE)
		learn_path(d, s, ev, class);
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

uint64_t report_mapped(const struct report_file_use *f)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < f->mapped.n; i++)
		sum += f->mapped.p[i].hi - f->mapped.p[i].lo;
	return sum;
}

static int site_order(const void *a, const void *b)
{
	const struct report_site *x = a, *y = b;
	if (x->stores.count != y->stores.count)
		return x->stores.count > y->stores.count ? -1 : 1;
	if (x->stores.bytes != y->stores.bytes)
		return x->stores.bytes > y->stores.bytes ? -1 : 1;
	if (x->at.line != y->at.line)
		return x->at.line < y->at.line ? -1 : 1;
	return strcmp(x->at.function ? x->at.function : "", y->at.function ? y->at.function : "");
}

struct report_process_use report_process_use(const struct report_counts *s, uint32_t process)
{
	return process < s->process.n ? s->process.p[process] : (struct report_process_use){ 0 };
}

/* Bad bytes end the reading; what came before them is shown all the same. */
int report_recording_summary(struct report_recording *d, uint64_t top, bool json, FILE *out,
			     struct err *err)
{
	struct report_counts *s = xcalloc(1, sizeof *s);
	int status;
	s->helpers = finding_helpers_new();
	status = report_recording_each(d, UINT64_MAX, count_event, s, err);
	finding_helpers_decide(s->helpers);
	if (s->site.n)
		qsort(s->site.p, s->site.n, sizeof *s->site.p, site_order);
	(json ? report_recording_document : report_recording_page)(d, s, top, out);
	for (size_t i = 0; i < s->file.n; i++)
		imap_free(&s->file.p[i].mapped);
	VEC_FREE(&s->file);
	VEC_FREE(&s->process);
	VEC_FREE(&s->site);
	hmap_free(&s->site_at);
	hmap_free(&s->site_for);
	hmap_free(&s->path);
	hmap_free(&s->thread);
	finding_helpers_free(s->helpers);
	free(s);
	return status;
}
