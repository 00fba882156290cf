/* SPDX-License-Identifier: BSD-3-Clause */
/* Names over time: what there is before an event. */
#include <stdlib.h>
#include <string.h>

#include "trace/tree.h"

const struct trace_thing *trace_tree_thing(const struct trace_tree *t, uint32_t thing)
{
	return &t->thing.p[thing].is;
}

size_t trace_tree_things(const struct trace_tree *t)
{
	return t->thing.n;
}

const struct trace_entry *trace_tree_entry(const struct trace_tree *t, size_t i)
{
	return i < t->entry.n ? &t->entry.p[i] : NULL;
}

uint32_t trace_tree_contents(const struct trace_tree *t, uint32_t thing, uint64_t event)
{
	const struct trace_thing *g = &t->thing.p[thing].is;
	if (g->file != TRACE_NO_FILE && (!g->mapped || event > g->mapped))
		return g->file;
	if (g->kind != TRACE_IS_FILE || g->node == TRACE_NO_NODE)
		return TRACE_NO_FILE;
	return TRACE_OF_NODE | g->node;
}

/* The path that a thing has at the end; NULL: none. malloc'ed. */
static char *final_path(const struct trace_tree *t, uint32_t thing)
{
	char *path = xstrdup("");
	for (size_t steps = 0; thing; steps++) {
		uint32_t last = t->thing.p[thing].last;
		const struct trace_entry *e = last == TRACE_NOTHING ? NULL : &t->entry.p[last];
		if (!e || tree_now(e) != thing || steps > t->entry.n) {
			free(path);
			return NULL;
		}
		char *longer = xasprintf("/%s%s", e->name, path);
		free(path);
		path = longer;
		thing = e->folder;
	}
	return path;
}

static bool is_moved(const struct trace_tree *t, uint32_t thing, const char *path)
{
	char *end = final_path(t, thing);
	bool moved = !end || strcmp(end, path) != 0;
	free(end);
	return moved;
}

struct listing {
	const struct trace_tree *t;
	uint64_t event;
	uint64_t (*when)(void *, uint32_t); /* NULL: `event`, for all */
	void (*each)(void *, const struct trace_name *);
	void *arg;
	uint8_t *seen; /* per thing: a folder that is listed, once only, whatever the trace says */
};

static uint32_t at_event(const struct trace_entry *e, uint64_t event)
{
	size_t n = BISECT(i, e->at.n, !i || e->at.p[i].event < event);
	return e->at.p[n - 1].thing;
}

/* What is in a folder. */
static void list(const struct listing *l, uint32_t folder, const char *path)
{
	const struct thing *f = &l->t->thing.p[folder];
	l->seen[folder] = 1;
	for (size_t i = 0; i < f->entry.n; i++) {
		const struct trace_entry *e = &l->t->entry.p[f->entry.p[i]];
		uint32_t thing = at_event(e, l->when ? l->when(l->arg, f->entry.p[i]) : l->event);
		const struct trace_thing *g =
			thing == TRACE_NOTHING ? NULL : &l->t->thing.p[thing].is;
		bool is_folder = g && g->kind == TRACE_IS_FOLDER;
		char *own = xasprintf("%s/%s", path, e->name);
		struct trace_name name = { own, thing, false };
		if (is_folder && g->node != TRACE_NO_NODE)
			name.moved = is_moved(l->t, thing, own);
		if (!is_folder || g->node != TRACE_NO_NODE)
			l->each(l->arg, &name);
		if (is_folder && !l->seen[thing])
			list(l, thing, own);
		free(own);
	}
}

void trace_tree_names(const struct trace_tree *t, uint64_t event,
		      void (*each)(void *, const struct trace_name *), void *arg)
{
	struct listing l = { t, event, NULL, each, arg, xcalloc(t->thing.n, 1) };
	list(&l, 0, "");
	free(l.seen);
}

void trace_tree_names_when(const struct trace_tree *t, uint64_t (*when)(void *, uint32_t),
			   void (*each)(void *, const struct trace_name *), void *arg)
{
	struct listing l = { t, 0, when, each, arg, xcalloc(t->thing.n, 1) };
	list(&l, 0, "");
	free(l.seen);
}
