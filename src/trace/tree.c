/* SPDX-License-Identifier: BSD-3-Clause */
/* Names over time: what events do to them. trace.h has the idea. */
#include <stdlib.h>
#include <string.h>

#include "trace/tree.h"

/* ---- things ---- */

static uint32_t add_thing(struct trace_tree *t, uint8_t kind, uint32_t node, uint32_t file)
{
	struct thing g = { .is = { .kind = kind, .node = node, .file = file },
			   .last = TRACE_NOTHING };
	VEC_PUSH(&t->thing, g);
	return (uint32_t)t->thing.n - 1;
}

static uint32_t thing_of_node(struct trace_tree *t, uint64_t node)
{
	const struct trace_node_def *def =
		node < TRACE_NO_NODE ? trace_node(t->defs, (uint32_t)node) : NULL;
	uint64_t thing;
	if (!def)
		return TRACE_NOTHING;
	if (hmap_get(&t->node, node, &thing))
		return (uint32_t)thing;
	thing = add_thing(t, def->kind, (uint32_t)node, TRACE_NO_FILE);
	hmap_put(&t->node, node, thing);
	return (uint32_t)thing;
}

/* ---- entries ---- */

static uint64_t entry_key(const struct trace_tree *t, uint32_t folder, const char *name, size_t n,
			  uint32_t *found)
{
	uint64_t key = hash_seeded(name, n, folder), id;
	*found = TRACE_NOTHING;
	for (; hmap_get(&t->entry_at, key, &id); key++) {
		const struct trace_entry *e = &t->entry.p[id];
		if (e->folder == folder && !strncmp(e->name, name, n) && !e->name[n]) {
			*found = (uint32_t)id;
			break;
		}
	}
	return key;
}

/* It was `first` from the beginning, if it is not known yet. */
static uint32_t get_entry(struct trace_tree *t, uint32_t folder, const char *name, size_t n,
			  uint32_t first)
{
	struct trace_entry e = { .folder = folder };
	uint32_t id;
	uint64_t key = entry_key(t, folder, name, n, &id);
	if (id != TRACE_NOTHING)
		return id;
	id = (uint32_t)t->entry.n;
	e.name = xasprintf("%.*s", (int)n, name);
	VEC_PUSH(&e.at, ((struct trace_version){ 0, first }));
	VEC_PUSH(&t->entry, e);
	VEC_PUSH(&t->thing.p[folder].entry, id);
	hmap_put(&t->entry_at, key, id);
	if (first != TRACE_NOTHING)
		t->thing.p[first].last = id;
	return id;
}

static void set_entry(struct trace_tree *t, uint32_t id, uint64_t event, uint32_t thing)
{
	struct trace_entry *e = &t->entry.p[id];
	if (tree_now(e) == thing)
		return;
	VEC_PUSH(&e->at, ((struct trace_version){ event, thing }));
	if (thing != TRACE_NOTHING)
		t->thing.p[thing].last = id;
}

/* The folder of a path, made up where it is not known; *rest: what is left of the path. */
static uint32_t folder_of(struct trace_tree *t, const char *path, uint64_t event, const char **rest)
{
	uint32_t at = 0;
	for (;;) {
		path += strspn(path, "/");
		size_t n = strcspn(path, "/");
		uint32_t id, now;
		if (!path[n]) {
			*rest = path;
			return at;
		}
		(void)entry_key(t, at, path, n, &id);
		now = id == TRACE_NOTHING ? TRACE_NOTHING : tree_now(&t->entry.p[id]);
		if (now == TRACE_NOTHING || t->thing.p[now].is.kind != TRACE_IS_FOLDER) {
			now = add_thing(t, TRACE_IS_FOLDER, TRACE_NO_NODE, TRACE_NO_FILE);
			id = get_entry(t, at, path, n, now);
			set_entry(t, id, event, now);
		}
		at = now;
		path += n;
	}
}

/* The entry of a path, which stood for `first` if nothing is known of it. */
static uint32_t entry_of(struct trace_tree *t, const char *path, uint64_t event, uint32_t first)
{
	const char *name;
	uint32_t folder = folder_of(t, path, event, &name);
	return get_entry(t, folder, name, strlen(name), first);
}

/* The same for a name that the program has found there. */
static uint32_t found(struct trace_tree *t, const char *path, uint64_t event, uint32_t thing)
{
	uint32_t id = entry_of(t, path, event, thing);
	set_entry(t, id, event, thing);
	return id;
}

/* The thing of a node that was there: it may be a folder that was made up on the way to a file. */
static uint32_t thing_at(struct trace_tree *t, uint64_t node, const char *path)
{
	const struct trace_node_def *def =
		node < TRACE_NO_NODE ? trace_node(t->defs, (uint32_t)node) : NULL;
	uint64_t known;
	const char *name;
	uint32_t id;
	if (!def || def->kind != TRACE_IS_FOLDER || hmap_get(&t->node, node, &known))
		return thing_of_node(t, node);
	uint32_t folder = folder_of(t, path, 0, &name);
	(void)entry_key(t, folder, name, strlen(name), &id);
	uint32_t now = id == TRACE_NOTHING ? TRACE_NOTHING : tree_now(&t->entry.p[id]);
	if (now == TRACE_NOTHING || t->thing.p[now].is.kind != TRACE_IS_FOLDER ||
	    t->thing.p[now].is.node != TRACE_NO_NODE)
		return thing_of_node(t, node);
	t->thing.p[now].is.node = (uint32_t)node;
	hmap_put(&t->node, node, now);
	return now;
}

/* ---- events ---- */

static void move(struct trace_tree *t, const struct trace_event *e, const char *from,
		 const char *to, uint32_t thing)
{
	uint32_t replaced = thing_at(t, e->arg[1], to);
	uint32_t old = found(t, from, e->num, thing), new;
	if (replaced != TRACE_NOTHING)
		new = found(t, to, e->num, replaced);
	else
		new = entry_of(t, to, e->num, TRACE_NOTHING);
	set_entry(t, old, e->num, e->arg[2] & TRACE_MOVE_EXCHANGE ? replaced : TRACE_NOTHING);
	set_entry(t, new, e->num, thing);
}

static void node_event(struct trace_tree *t, const struct trace_event *e, const char *path)
{
	uint32_t thing = e->kind == TRACE_NODE_NEW || !*path ? thing_of_node(t, e->arg[0])
							     : thing_at(t, e->arg[0], path);
	if (thing == TRACE_NOTHING)
		return;
	struct trace_thing *is = &t->thing.p[thing].is;
	const struct trace_node_def *def = trace_node(t->defs, is->node);
	switch (e->kind) {
	case TRACE_NODE_THERE: found(t, path, e->num, thing); break;
	case TRACE_NODE_NEW:
	case TRACE_NODE_LINK:
		set_entry(t, entry_of(t, path, e->num, TRACE_NOTHING), e->num, thing);
		break;
	case TRACE_NODE_MOVE:
		if (strlen(path) < e->size)
			move(t, e, path, path + strlen(path) + 1, thing);
		break;
	case TRACE_NODE_UNLINK:
		set_entry(t, found(t, path, e->num, thing), e->num, TRACE_NOTHING);
		break;
	case TRACE_NODE_PM:
		if (e->arg[1] >= trace_files(t->defs) || e->arg[1] == is->file)
			break; /* another process has mapped it, too */
		is->file = (uint32_t)e->arg[1];
		is->mapped = def->has_snapshot && !is->lost ? e->num : 0;
		break;
	case TRACE_NODE_LOST: is->lost = is->file == TRACE_NO_FILE; break;
	default: break;
	}
}

/* Traces from before there were nodes have PM files only, with one name each. */
static void file_event(struct trace_tree *t, const struct trace_event *e, const char *path)
{
	uint64_t thing;
	if (!hmap_get(&t->file, e->arg[0], &thing))
		return;
	uint32_t last = t->thing.p[thing].last;
	if (last != TRACE_NOTHING && tree_now(&t->entry.p[last]) == thing)
		set_entry(t, last, e->num, TRACE_NOTHING);
	if (e->kind == TRACE_FILE_RENAME && *path == '/')
		set_entry(t, entry_of(t, path, e->num, TRACE_NOTHING), e->num, (uint32_t)thing);
}

void trace_tree_apply(struct trace_tree *t, const struct trace_event *e)
{
	bool node = trace_node_arg(e->kind) && e->kind != TRACE_NODE_WRITE &&
		    e->kind != TRACE_NODE_SYNC && e->kind != TRACE_FAULT,
	     file = e->kind == TRACE_FILE_RENAME || e->kind == TRACE_FILE_UNLINK;
	if (!node && !file)
		return;
	char *path = xmalloc((size_t)e->size + 1);
	if (e->size)
		memcpy(path, e->data, e->size);
	path[e->size] = '\0';
	if (node)
		node_event(t, e, path);
	else
		file_event(t, e, path);
	free(path);
}

/* ---- beginning and end ---- */

struct trace_tree *trace_tree_new(const struct trace_defs *defs)
{
	struct trace_tree *t = xcalloc(1, sizeof *t);
	t->defs = defs;
	add_thing(t, TRACE_IS_FOLDER, TRACE_NO_NODE, TRACE_NO_FILE);
	for (uint32_t i = 0; !trace_nodes(defs) && i < trace_files(defs); i++) {
		uint32_t thing = add_thing(t, TRACE_IS_FILE, TRACE_NO_NODE, i);
		hmap_put(&t->file, i, thing);
		/* what has its path later is another file: it is not there at first */
		if (*trace_file(defs, i)->path == '/')
			entry_of(t, trace_file(defs, i)->path, 0, thing);
	}
	return t;
}

struct trace_tree *trace_tree_read(struct trace_reader *r, struct err *err)
{
	struct trace_tree *t;
	struct trace_event e;
	if (trace_reader_defs(r, err) || trace_seek(r, 0, err))
		return NULL;
	t = trace_tree_new(trace_defs(r));
	while (trace_next(r, &e, err) == 1)
		trace_tree_apply(t, &e);
	return t;
}

void trace_tree_free(struct trace_tree *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->thing.n; i++)
		VEC_FREE(&t->thing.p[i].entry);
	for (size_t i = 0; i < t->entry.n; i++) {
		free(t->entry.p[i].name);
		VEC_FREE(&t->entry.p[i].at);
	}
	VEC_FREE(&t->thing);
	VEC_FREE(&t->entry);
	hmap_free(&t->entry_at);
	hmap_free(&t->node);
	hmap_free(&t->file);
	free(t);
}
