/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Definitions: what the ids in events mean.
 *
 * Sites, contexts, modules and strings belong to a process. A forked tracer goes on with a
 * copy of its parent's memory and so with its parent's ids; a table is therefore a vector of
 * reference-counted pages of 256 definitions. Inheriting copies the vector only, and
 * defining something in a shared page copies that page first: what either process defines
 * after the fork stays its own.
 *
 *   parent  [p0|p1|p2]          p0, p1 shared; p2 was copied when the child defined an id
 *             |  |  \-> p2        in it
 *   child   [p0|p1|p2'|p3]
 */
#include <stdlib.h>
#include <string.h>

#include "trace/internal.h"

#define PAGE_ITEMS 256u

struct defs_page {
	uint32_t refs;
	uint8_t set[PAGE_ITEMS];
	uint64_t item[]; /* PAGE_ITEMS of them, `size` bytes each, a multiple of 8 */
};

static void *table_get(const struct defs_table *t, uint32_t id, size_t size)
{
	struct defs_page *page;
	if (id / PAGE_ITEMS >= t->n || !(page = t->page[id / PAGE_ITEMS]) ||
	    !page->set[id % PAGE_ITEMS])
		return NULL;
	return (char *)page->item + id % PAGE_ITEMS * size;
}

static struct defs_page *own_page(struct defs_table *t, size_t i, size_t size)
{
	struct defs_page *old = t->page[i];
	size_t bytes = sizeof *old + PAGE_ITEMS * size;
	if (old && old->refs == 1)
		return old;
	t->page[i] = xcalloc(1, bytes);
	if (old) {
		memcpy(t->page[i], old, bytes);
		old->refs--;
	}
	t->page[i]->refs = 1;
	return t->page[i];
}

static enum defs_result table_put(struct defs_table *t, uint32_t id, const void *item, size_t size)
{
	const void *old = table_get(t, id, size);
	size_t i = id / PAGE_ITEMS;
	struct defs_page *page;
	if (old && !memcmp(old, item, size))
		return DEFS_SAME;
	if (id >= DEFS_MAX_ID || (id > t->top && id - t->top > DEFS_MAX_GAP))
		return DEFS_BAD;
	if (i >= t->n) {
		if (i >= t->cap)
			vec_grow((void **)&t->page, &t->cap, i + 1, sizeof *t->page);
		memset(t->page + t->n, 0, (i + 1 - t->n) * sizeof *t->page);
		t->n = i + 1;
	}
	page = own_page(t, i, size);
	memcpy((char *)page->item + id % PAGE_ITEMS * size, item, size);
	page->set[id % PAGE_ITEMS] = 1;
	if (id >= t->top)
		t->top = id + 1;
	return old ? DEFS_CHANGED : DEFS_NEW;
}

static void table_copy(struct defs_table *to, const struct defs_table *from)
{
	if (!from->n)
		return;
	vec_grow((void **)&to->page, &to->cap, from->n, sizeof *to->page);
	memcpy(to->page, from->page, from->n * sizeof *to->page);
	to->n = from->n;
	to->top = from->top;
	for (size_t i = 0; i < to->n; i++)
		if (to->page[i])
			to->page[i]->refs++;
}

static void table_free(struct defs_table *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->page[i] && --t->page[i]->refs == 0)
			free(t->page[i]);
	free(t->page);
}

static char *keep(struct trace_defs *d, const char *text, size_t n)
{
	char *copy = xmalloc(n + 1);
	if (n)
		memcpy(copy, text, n);
	copy[n] = '\0';
	VEC_PUSH(&d->text, copy);
	return copy;
}

static struct defs_process *process_of(const struct trace_defs *d, uint32_t process)
{
	return process < d->process.n ? d->process.p[process] : NULL;
}

enum defs_result trace_defs_process(struct trace_defs *d, const struct trace_process_def *def)
{
	struct defs_process *p, *parent = process_of(d, def->parent_index);
	if (d->process.n >= DEFS_MAX_PROCESSES || def->birth > TRACE_BIRTH_EXEC ||
	    (def->parent_index != TRACE_NO_PROCESS && !parent))
		return DEFS_BAD;
	p = xcalloc(1, sizeof *p);
	p->def = *def;
	p->def.command = keep(d, def->command, def->command_len);
	VEC_PUSH(&d->process, p);
	if (parent && def->birth == TRACE_BIRTH_FORK) {
		table_copy(&p->site, &parent->site);
		table_copy(&p->ctx, &parent->ctx);
		table_copy(&p->module, &parent->module);
		table_copy(&p->string, &parent->string);
	}
	return DEFS_NEW;
}

void trace_defs_ended(struct trace_defs *d, uint32_t process)
{
	struct defs_process *p = process_of(d, process);
	if (p)
		p->def.ended = 1;
}

void trace_defs_differs(struct trace_defs *d, const char *text)
{
	d->differs = keep(d, text, strlen(text));
}

const char *trace_differs(const struct trace_defs *d)
{
	return d->differs;
}

enum defs_result trace_defs_site(struct trace_defs *d, uint32_t process, uint32_t id,
				 const struct trace_site_def *def)
{
	struct defs_process *p = process_of(d, process);
	struct trace_site_def clean;
	if (!p || def->class >= TRACE_SITE_CLASSES)
		return DEFS_BAD;
	memset(&clean, 0, sizeof clean); /* the padding too: items are compared as bytes */
	clean.ip = def->ip;
	clean.class = def->class;
	clean.size = def->size;
	return table_put(&p->site, id, &clean, sizeof clean);
}

/* A parent's id is lower than its child's, so walking up always ends. */
enum defs_result trace_defs_ctx(struct trace_defs *d, uint32_t process, uint32_t id,
				const struct trace_ctx_def *def)
{
	struct defs_process *p = process_of(d, process);
	struct trace_ctx_def clean;
	if (!p || id < TRACE_CTX_FIRST || def->parent >= id)
		return DEFS_BAD;
	memset(&clean, 0, sizeof clean);
	clean.parent = def->parent;
	clean.call_ip = def->call_ip;
	clean.target = def->target;
	return table_put(&p->ctx, id, &clean, sizeof clean);
}

enum defs_result trace_defs_module(struct trace_defs *d, uint32_t process, uint32_t id,
				   const struct trace_module_def *def)
{
	struct defs_process *p = process_of(d, process);
	const struct trace_module_def *old;
	struct trace_module_def clean = { .build_id_len = def->build_id_len };
	if (!p || def->build_id_len > sizeof def->build_id)
		return DEFS_BAD;
	memcpy(clean.build_id, def->build_id, def->build_id_len);
	old = table_get(&p->module, id, sizeof clean);
	clean.path = old && !strcmp(old->path, def->path) ? old->path
							  : keep(d, def->path, strlen(def->path));
	return table_put(&p->module, id, &clean, sizeof clean);
}

enum defs_result trace_defs_string(struct trace_defs *d, uint32_t process, uint32_t id,
				   const char *text)
{
	struct defs_process *p = process_of(d, process);
	const char *const *old;
	char *copy;

	if (!p)
		return DEFS_BAD;
	old = table_get(&p->string, id, sizeof copy);
	if (old && !strcmp(*old, text))
		return DEFS_SAME;
	copy = keep(d, text, strlen(text));
	return table_put(&p->string, id, &copy, sizeof copy);
}

enum defs_result trace_defs_file(struct trace_defs *d, const struct trace_file_def *def)
{
	struct trace_file_def *f;
	if (d->file.n >= DEFS_MAX_GAP)
		return DEFS_BAD;
	f = xmalloc(sizeof *f);
	*f = *def;
	f->path = keep(d, def->path, strlen(def->path));
	VEC_PUSH(&d->file, f);
	return DEFS_NEW;
}

enum defs_result trace_defs_node(struct trace_defs *d, const struct trace_node_def *def)
{
	struct trace_node_def *n;
	if (d->node.n >= DEFS_MAX_GAP || def->kind >= TRACE_IS_KINDS)
		return DEFS_BAD;
	n = xmalloc(sizeof *n);
	*n = *def;
	n->path = keep(d, def->path, strlen(def->path));
	n->target = keep(d, def->target, strlen(def->target));
	VEC_PUSH(&d->node, n);
	return DEFS_NEW;
}

void trace_defs_cut_files(struct trace_defs *d, uint32_t n)
{
	while (d->file.n > n)
		free(d->file.p[--d->file.n]);
}

void trace_defs_cut_nodes(struct trace_defs *d, uint32_t n)
{
	while (d->node.n > n)
		free(d->node.p[--d->node.n]);
}

void trace_defs_free(struct trace_defs *d)
{
	for (size_t i = 0; i < d->process.n; i++) {
		struct defs_process *p = d->process.p[i];
		table_free(&p->site);
		table_free(&p->ctx);
		table_free(&p->module);
		table_free(&p->string);
		free(p);
	}
	for (size_t i = 0; i < d->file.n; i++)
		free(d->file.p[i]);
	for (size_t i = 0; i < d->node.n; i++)
		free(d->node.p[i]);
	for (size_t i = 0; i < d->text.n; i++)
		free(d->text.p[i]);
	VEC_FREE(&d->process);
	VEC_FREE(&d->file);
	VEC_FREE(&d->node);
	VEC_FREE(&d->text);
}

const struct trace_site_def *trace_site(const struct trace_defs *d, uint32_t process, uint32_t site)
{
	const struct defs_process *p = process_of(d, process);
	return p ? table_get(&p->site, site, sizeof(struct trace_site_def)) : NULL;
}

const struct trace_ctx_def *trace_ctx(const struct trace_defs *d, uint32_t process, uint32_t ctx)
{
	const struct defs_process *p = process_of(d, process);
	return p ? table_get(&p->ctx, ctx, sizeof(struct trace_ctx_def)) : NULL;
}

const struct trace_module_def *trace_module(const struct trace_defs *d, uint32_t process,
					    uint32_t id)
{
	const struct defs_process *p = process_of(d, process);
	return p ? table_get(&p->module, id, sizeof(struct trace_module_def)) : NULL;
}

const char *trace_string(const struct trace_defs *d, uint32_t process, uint32_t id)
{
	const struct defs_process *p = process_of(d, process);
	char *const *s = p ? table_get(&p->string, id, sizeof *s) : NULL;

	return s ? *s : NULL;
}

const struct trace_file_def *trace_file(const struct trace_defs *d, uint32_t id)
{
	return id < d->file.n ? d->file.p[id] : NULL;
}

const struct trace_node_def *trace_node(const struct trace_defs *d, uint32_t id)
{
	return id < d->node.n ? d->node.p[id] : NULL;
}

uint32_t trace_nodes(const struct trace_defs *d)
{
	return (uint32_t)d->node.n;
}

const struct trace_process_def *trace_process(const struct trace_defs *d, uint32_t process)
{
	const struct defs_process *p = process_of(d, process);
	return p ? &p->def : NULL;
}

uint32_t trace_files(const struct trace_defs *d)
{
	return (uint32_t)d->file.n;
}

uint32_t trace_processes(const struct trace_defs *d)
{
	return (uint32_t)d->process.n;
}
