/* SPDX-License-Identifier: BSD-3-Clause */
/* Names in images: which they are at a moment, and when that changes. */
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"

static int by_event(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* The file that has a thing's contents before an event. */
static uint32_t file_of(const struct crash_history *h, uint32_t thing, uint64_t event)
{
	uint32_t owner = trace_tree_contents(h->tree, thing, event);
	if (owner == TRACE_NO_FILE || !(owner & TRACE_OF_NODE))
		return owner == TRACE_NO_FILE ? CRASH_NO_FILE : owner;
	return h->of_node[owner & ~TRACE_OF_NODE];
}

void crash_names_index(struct crash_history *h)
{
	const struct trace_entry *e;
	size_t n = 0;
	for (size_t i = 0; (e = trace_tree_entry(h->tree, i)); i++)
		for (size_t k = crash_scratch_only(h, e) ? e->at.n : 1; k < e->at.n; k++)
			VEC_PUSH(&h->renamed, e->at.p[k].event);
	for (uint32_t i = 0; i < trace_tree_things(h->tree); i++) {
		const struct trace_thing *g = trace_tree_thing(h->tree, i);
		if (g->mapped) /* other contents by the same name */
			VEC_PUSH(&h->renamed, g->mapped);
		if (g->lost && g->node != TRACE_NO_NODE && h->of_node[g->node] != CRASH_NO_FILE)
			h->file.p[h->of_node[g->node]].lost = true;
	}
	if (h->renamed.n)
		qsort(h->renamed.p, h->renamed.n, sizeof *h->renamed.p, by_event);
	for (size_t i = 0; i < h->renamed.n; i++)
		if (!n || h->renamed.p[n - 1] != h->renamed.p[i])
			h->renamed.p[n++] = h->renamed.p[i];
	h->renamed.n = n;
}

/* What is not known is seen as it is now. */
void crash_names_add(const struct crash_history *h, uint64_t event, const struct trace_name *n,
		     crash_names *names)
{
	uint32_t thing = crash_is_scratch(h, n->thing) ? TRACE_NOTHING : n->thing;
	struct crash_name out = { .file = CRASH_NO_FILE, .thing = thing, .moved = n->moved };
	const struct trace_thing *g =
		thing == TRACE_NOTHING ? NULL : trace_tree_thing(h->tree, thing);
	if (g && g->kind == TRACE_IS_FILE) {
		out.file = file_of(h, thing, event);
		if (out.file == CRASH_NO_FILE || h->file.p[out.file].lost)
			return;
	}
	if (g && g->kind == TRACE_IS_LINK)
		out.target = trace_node(trace_defs(h->reader), g->node)->target;
	out.path = xstrdup(n->path);
	VEC_PUSH(names, out);
}

struct listing {
	const struct crash_history *h;
	uint64_t event;
	crash_names *out;
};

static void add(void *arg, const struct trace_name *n)
{
	const struct listing *l = arg;
	crash_names_add(l->h, l->event, n, l->out);
}

void crash_names_free(crash_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->p[i].path);
	VEC_FREE(names);
}

void crash_names_at(const struct crash_history *h, uint64_t event, crash_names *out)
{
	struct listing l = { h, event, out };
	crash_names_free(out);
	trace_tree_names(h->tree, event, add, &l);
}

void crash_names_first(const struct crash_history *h, const crash_names *names, const char **first)
{
	memset(first, 0, (h->file.n + 1) * sizeof *first);
	for (size_t i = names->n; i-- > 0;)
		if (names->p[i].file != CRASH_NO_FILE)
			first[names->p[i].file] = names->p[i].path;
}

static uint64_t file_hash(uint32_t file, uint64_t size, const char *name)
{
	return hash_mix(hash_mix(file, size), name ? hash_bytes(name, strlen(name)) : 0);
}

/* Links to files, folders and the like: what a file's first name does not say. */
static uint64_t name_hash(const struct crash_name *n)
{
	uint64_t hash = hash_bytes(n->path, strlen(n->path));
	if (n->target)
		return hash_mix(hash, hash_bytes(n->target, strlen(n->target)));
	return hash_mix(hash, hash_mix(n->file, n->thing == TRACE_NOTHING ? 1 : n->moved ? 2 : 3));
}

uint64_t crash_names_hash(const struct crash_history *h, const uint64_t *size,
			  const char *const *first, const crash_names *names)
{
	bool nodes = trace_nodes(trace_defs(h->reader));
	uint64_t hash = 0;
	for (uint32_t i = 0; i < h->file.n; i++)
		if (first[i] || i < h->npm)
			hash += file_hash(i, size[i], first[i]);
	for (size_t i = 0; nodes && i < names->n; i++) {
		const struct crash_name *n = &names->p[i];
		if (n->file == CRASH_NO_FILE || first[n->file] != n->path)
			hash += name_hash(n);
	}
	return hash;
}
