/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a trace to a history: sizes and names under a model of file systems (meta.c has the idea).
 *
 * Which names a rename ties together is known only at the end, so the tree is read first. A node is
 * *touched* by a change of its size, of its entries if it is a folder, and, where names are in order, of its
 * own names: a sync of the node guarantees what touched it, and so all that its line has before that.
 */
#include <stdlib.h>
#include <string.h>

#include "crash/build.h"

struct touch {
	uint32_t line, upto;
	uint32_t data; /* … as of the newest change of the file's size: what fdatasync brings */
};
typedef VEC(struct touch) touches;
struct renamed {
	uint64_t event;
	uint32_t entry;
};

struct meta {
	VEC(struct renamed) change; /* of names, in order */
	size_t next;                /* … that comes next */
	uint32_t *unit;             /* by entry: another that is in the same unit, or itself */
	uint64_t *last;             /* by entry that stands for a unit: its last event, and 1 */
	touches *touch;             /* by node */
	struct hmap touch_at;       /* node and line -> index there */
	uint32_t *node;             /* by file, TRACE_NO_NODE */
};

/* ---- units of names ---- */

static uint32_t unit_of(struct meta *m, uint32_t entry)
{
	while (m->unit[entry] != entry)
		entry = m->unit[entry] = m->unit[m->unit[entry]];
	return entry;
}

static int by_event(const void *a, const void *b)
{
	const struct renamed *x = a, *y = b;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return (x->entry > y->entry) - (x->entry < y->entry);
}

/* Names that change in one event do so together. */
static void tie(struct meta *m)
{
	for (size_t i = 1; i < m->change.n; i++)
		if (m->change.p[i].event == m->change.p[i - 1].event)
			m->unit[unit_of(m, m->change.p[i].entry)] =
				unit_of(m, m->change.p[i - 1].entry);
}

/* All names are one unit; those that a sync brings stay with those that they are tied to. */
static void join(struct build *b, uint32_t n)
{
	struct meta *m = b->meta;
	for (uint32_t i = 0; i < n; i++)
		m->unit[i] = unit_of(m, i);
	if (b->h->model->files == MODEL_FILES_COMMITS)
		crash_build_logged_start(b, m->unit, n);
	if (n)
		memset(m->unit, 0, n * sizeof *m->unit);
}

static void find_units(struct build *b)
{
	struct meta *m = b->meta;
	const struct trace_entry *e;
	size_t n = 0;
	for (; (e = trace_tree_entry(b->h->tree, n)); n++)
		for (size_t k = crash_scratch_only(b->h, e) ? e->at.n : 1; k < e->at.n; k++)
			VEC_PUSH(&m->change, ((struct renamed){ e->at.p[k].event, (uint32_t)n }));
	m->unit = xmalloc((n + 1) * sizeof *m->unit);
	m->last = xcalloc(n + 1, sizeof *m->last);
	b->h->name_line = xmalloc((n + 1) * sizeof *b->h->name_line);
	for (uint32_t i = 0; i < n; i++) {
		m->unit[i] = i;
		b->h->name_line[i] = CRASH_NO_FILE;
	}
	if (m->change.n)
		qsort(m->change.p, m->change.n, sizeof *m->change.p, by_event);
	tie(m);
	if (b->h->model->files != MODEL_FILES_APART)
		join(b, (uint32_t)n);
}

/* ---- start and stop ---- */

static void find_nodes(struct build *b)
{
	struct crash_history *h = b->h;
	uint32_t *node = b->meta->node = xmalloc((h->file.n + 1) * sizeof *node);
	h->size_line = xmalloc((h->file.n + 1) * sizeof *h->size_line);
	for (uint32_t i = 0; i < h->file.n; i++) {
		node[i] = i < h->npm ? TRACE_NO_NODE : h->file.p[i].owner & ~TRACE_OF_NODE;
		h->size_line[i] = CRASH_NO_FILE;
	}
	for (uint32_t i = 0; i < trace_tree_things(h->tree); i++) {
		const struct trace_thing *g = trace_tree_thing(h->tree, i);
		if (g->file < h->npm)
			node[g->file] = g->node;
	}
}

int crash_build_meta_start(struct build *b, struct err *err)
{
	struct crash_history *h = b->h;
	h->tree = trace_tree_read(h->reader, err);
	if (!h->tree || trace_seek(h->reader, 0, err))
		return -1;
	crash_scratch_find(h);
	b->meta = xcalloc(1, sizeof *b->meta);
	b->meta->touch = xcalloc(trace_nodes(b->defs) + 1, sizeof *b->meta->touch);
	find_nodes(b);
	find_units(b);
	h->meta = (uint32_t)h->file.n;
	VEC_RESERVE(&h->file, h->file.n + 1);
	h->file.p[h->meta] = (struct crash_file){ .path = (char *)"", .unit = 8 };
	return 0;
}

void crash_build_meta_stop(struct build *b)
{
	struct meta *m = b->meta;
	if (!m)
		return;
	for (uint32_t i = 0; i < trace_nodes(b->defs); i++)
		VEC_FREE(&m->touch[i]);
	VEC_FREE(&m->change);
	crash_build_logged_stop(b);
	free(m->unit);
	free(m->last);
	free(m->touch);
	free(m->node);
	hmap_free(&m->touch_at);
	free(m);
	b->meta = NULL;
}

/* ---- changes ---- */

static uint32_t add_change(struct build *b, uint64_t unit)
{
	uint64_t what = b->ev->num + 1;
	crash_build_write(b, b->h->meta, unit * 8, (const uint8_t *)&what, 8, MODEL_OPENS);
	return crash_build_find_line(b->h, b->h->meta, unit * 8);
}

static struct touch *touch(struct build *b, uint32_t node, uint32_t line)
{
	struct meta *m = b->meta;
	uint64_t key = (uint64_t)node << 32 | line, at;
	if (node >= trace_nodes(b->defs))
		return NULL;
	if (!hmap_get(&m->touch_at, key, &at)) {
		hmap_put(&m->touch_at, key, at = m->touch[node].n);
		VEC_PUSH(&m->touch[node], ((struct touch){ .line = line }));
	}
	m->touch[node].p[at].upto = b->unit.p[line].hi;
	return &m->touch[node].p[at];
}

/* A size has changed: that is data, and the journal has it behind all that touched the node so far. */
static void touch_data(struct build *b, uint32_t node)
{
	touches *t = &b->meta->touch[node];
	for (size_t i = 0; i < t->n; i++)
		t->p[i].data = t->p[i].upto;
}

/* That a file was made is data, too: without that there is none. */
static void touch_thing(struct build *b, uint32_t thing, uint32_t line)
{
	struct touch *t = NULL;
	if (thing != TRACE_NOTHING)
		t = touch(b, trace_tree_thing(b->h->tree, thing)->node, line);
	if (t && (b->ev->kind == TRACE_NODE_NEW ||
		  trace_tree_thing(b->h->tree, thing)->kind != TRACE_IS_FILE))
		t->data = t->upto;
}

static void change_name(struct build *b, uint32_t entry)
{
	struct meta *m = b->meta;
	const struct trace_entry *e = trace_tree_entry(b->h->tree, entry);
	uint32_t unit = unit_of(m, entry), line;
	if (m->last[unit] != b->ev->num + 1)
		b->h->name_line[unit] = add_change(b, b->h->file.n + unit);
	m->last[unit] = b->ev->num + 1;
	line = b->h->name_line[entry] = b->h->name_line[unit];
	if (b->h->model->files == MODEL_FILES_COMMITS) {
		crash_build_logged_change(b, entry);
		return;
	}
	touch_thing(b, e->folder, line);
	if (b->h->model->files != MODEL_FILES_JOURNAL)
		return;
	size_t k = BISECT(i, e->at.n, i == 0 || e->at.p[i].event < b->ev->num);
	touch_thing(b, e->at.p[k - 1].thing, line);
	if (k < e->at.n)
		touch_thing(b, e->at.p[k].thing, line);
}

void crash_build_meta_names(struct build *b)
{
	struct meta *m = b->meta;
	while (m && m->next < m->change.n && m->change.p[m->next].event <= b->ev->num) {
		uint32_t entry = m->change.p[m->next].entry;
		if (m->change.p[m->next++].event == b->ev->num)
			change_name(b, entry);
	}
}

/* A file that is cut is so in order where names and data are; for good at once, which is a little more. */
void crash_build_meta_size(struct build *b, uint32_t file, bool cut)
{
	struct meta *m = b->meta;
	if (!m || m->node[file] == TRACE_NO_NODE)
		return;
	uint32_t line = b->h->size_line[file] = add_change(b, file);
	touch(b, m->node[file], line);
	touch_data(b, m->node[file]);
	if (cut && b->h->model->appended)
		crash_build_raise(b, line, b->unit.p[line].hi);
}

/* ---- syncs ---- */

static void raise_touched(struct build *b, uint32_t node)
{
	const touches *t = &b->meta->touch[node];
	bool data = b->h->model->datasync && b->ev->kind == TRACE_NODE_SYNC &&
		    b->ev->arg[1] == TRACE_SYNC_DATA;
	for (size_t i = 0; i < t->n; i++)
		crash_build_raise(b, t->p[i].line, data ? t->p[i].data : t->p[i].upto);
	crash_build_logged_sync(b, node);
}

void crash_build_meta_synced(struct build *b, uint32_t file)
{
	if (b->meta && b->meta->node[file] != TRACE_NO_NODE)
		raise_touched(b, b->meta->node[file]);
}

static void sync_everything(struct build *b)
{
	for (size_t i = 0; i < b->dirty.n; i++) {
		crash_build_cover(b, b->dirty.p[i], MODEL_PERSISTS);
		b->listed.p[b->dirty.p[i]] = 0;
	}
	b->dirty.n = 0;
	crash_build_appended_synced(b, CRASH_NO_FILE);
}

void crash_build_meta_sync(struct build *b)
{
	const struct trace_event *e = b->ev;
	uint32_t node = (uint32_t)e->arg[0];
	uint64_t end = e->arg[3] ? e->arg[2] + e->arg[3] : UINT64_MAX;
	if (!b->meta || e->arg[1] == TRACE_SYNC_RANGE)
		return;
	b->effect = MODEL_PERSISTS;
	if (e->arg[1] == TRACE_SYNC_EVERYTHING)
		sync_everything(b);
	else if (node >= trace_nodes(b->defs))
		return;
	else if (b->h->of_node[node] != CRASH_NO_FILE)
		crash_build_sync(b, b->h->of_node[node], (struct model_range){ e->arg[2], end });
	else
		raise_touched(b, node);
}

void crash_build_meta_replaced(struct build *b)
{
	const struct trace_event *e = b->ev;
	uint32_t node = (uint32_t)e->arg[0], line;
	uint32_t file = node < trace_nodes(b->defs) ? b->h->of_node[node] : CRASH_NO_FILE;
	if (!b->meta || !b->h->model->replaces || file == CRASH_NO_FILE ||
	    e->arg[1] >= trace_nodes(b->defs))
		return;
	for (size_t i = 0; i < b->dirty.n; i++)
		if (b->h->line.p[b->dirty.p[i]].file == file)
			crash_build_cover(b, b->dirty.p[i], MODEL_PERSISTS);
	if ((line = b->h->size_line[file]) != CRASH_NO_FILE)
		crash_build_raise(b, line, b->unit.p[line].hi);
}
