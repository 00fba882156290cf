/* SPDX-License-Identifier: BSD-3-Clause */
/* From a trace to a history: what events do to files as a whole. */
#include <linux/falloc.h>
#include <stdlib.h>
#include <string.h>

#include "crash/build.h"
#include "runner/runner.h"

void crash_build_nodes(struct build *b)
{
	struct crash_history *h = b->h;
	uint32_t n = trace_nodes(b->defs);
	size_t most = runner_most_files();
	uint32_t unit = h->model->files == MODEL_FILES_AT_ONCE ? MODEL_PAGE : h->unit;
	h->of_node = xmalloc((n + 1) * sizeof *h->of_node);
	for (uint32_t i = 0; i < n; i++) {
		const struct trace_node_def *d = trace_node(b->defs, i);
		h->of_node[i] = CRASH_NO_FILE;
		if (d->kind != TRACE_IS_FILE || !d->has_snapshot || h->file.n >= most)
			continue;
		h->of_node[i] = (uint32_t)h->file.n;
		VEC_PUSH(&h->file, ((struct crash_file){ .path = d->path,
							 .size = d->size,
							 .unit = unit,
							 .owner = TRACE_OF_NODE | i }));
		VEC_PUSH(&b->size, d->size);
	}
}

void crash_build_resize(struct build *b, uint32_t file, uint64_t size)
{
	struct crash_change c = { b->ev->num, size, b->size.p[file], file };
	if (size == b->size.p[file])
		return;
	VEC_PUSH(&b->h->change, c);
	b->size.p[file] = size;
	crash_build_meta_size(b, file, size < c.size_before);
}

static bool zero_at_first(const struct crash_history *h, uint32_t file, uint64_t off, uint64_t n)
{
	uint8_t page[MODEL_PAGE];
	if (trace_image_read(h->initial, h->file.p[file].owner, off, page, n))
		return true;
	return !page[0] && !memcmp(page, page + 1, n - 1);
}

/* Zeroes a range, where it is not known to be zero: lines that were written, and initial pages. */
static void zero_bytes(struct build *b, uint32_t file, uint64_t from, uint64_t to)
{
	uint64_t size = b->size.p[file];
	to = to < size ? to : size;
	while (from < to) {
		uint64_t unit = b->h->file.p[file].unit, room = unit - from % unit,
			 len = room < to - from ? room : to - from;
		bool known = crash_build_find_line(b->h, file, from) != NO_LINE;
		if (known ||
		    (from < b->h->file.p[file].size && !zero_at_first(b->h, file, from, len)))
			crash_build_write(b, file, from, NULL, len, MODEL_PERSISTS);
		from += len;
	}
}

static int allocate(struct build *b, uint32_t file, struct err *err)
{
	uint64_t mode = b->ev->arg[1], off = b->ev->arg[2], end = off + b->ev->arg[3];
	bool moves = mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE);
	if (moves && file >= b->h->npm)
		b->h->file.p[file].lost = true;
	else if (moves)
		return err_set(err, EXIT_PROGRAM,
			       "%s: the program moves the file's contents with fallocate; such a "
			       "run cannot be crash-tested",
			       b->h->file.p[file].path);
	if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
		zero_bytes(b, file, off, end);
	if (!(mode & FALLOC_FL_KEEP_SIZE) && end > b->size.p[file])
		crash_build_resize(b, file, end);
	return 0;
}

void crash_build_sync(struct build *b, uint32_t file, struct model_range r)
{
	size_t left = 0;
	for (size_t i = 0; i < b->dirty.n; i++) {
		uint32_t line = b->dirty.p[i];
		const struct crash_line *l = &b->h->line.p[line];
		if (l->file == file && l->off + b->h->unit > r.lo && l->off < r.hi)
			crash_build_cover(b, line, b->effect);
		if (b->unit.p[line].lo < b->unit.p[line].hi)
			b->dirty.p[left++] = line;
		else
			b->listed.p[line] = 0;
	}
	b->dirty.n = left;
	crash_build_appended_synced(b, file);
	crash_build_meta_synced(b, file);
}

static void write_event(struct build *b, uint32_t file, enum model_effect effect)
{
	const struct trace_event *e = b->ev;
	uint64_t size = b->size.p[file], off = e->arg[1], end = off + e->size;
	uint64_t inside = b->h->model->appended && end > size
				  ? size > off ? size - off : 0
				  : e->size; /* what is appended is there with its size */
	if (end > size)
		crash_build_resize(b, file, end);
	crash_build_write(b, file, off, e->data, inside, effect);
	crash_build_append(b, file, off + inside, e->data + inside, e->size - inside);
}

static void truncate_event(struct build *b, uint32_t file)
{
	const struct trace_event *e = b->ev;
	if (e->arg[1] < b->size.p[file])
		zero_bytes(b, file, e->arg[1], b->size.p[file]);
	crash_build_resize(b, file, e->arg[1]);
}

int crash_build_file_event(struct build *b, struct err *err)
{
	const struct trace_event *e = b->ev;
	uint32_t file = (uint32_t)e->arg[0];
	if (e->arg[0] >= b->h->npm)
		return 0;
	switch (e->kind) {
	case TRACE_FILE_WRITE: write_event(b, file, b->effect); break;
	case TRACE_FILE_TRUNCATE: truncate_event(b, file); break;
	case TRACE_FILE_ALLOCATE: return allocate(b, file, err);
	case TRACE_FILE_SYNC:
		if (b->effect != MODEL_NOTHING)
			crash_build_sync(b, file, model_covers(e));
		break;
	default: break;
	}
	return 0;
}

/* Files that are not PM are durable at once, in order, unless the model has something to say about them. */
int crash_build_node_event(struct build *b, struct err *err)
{
	const struct trace_event *e = b->ev;
	uint32_t file = e->arg[0] < trace_nodes(b->defs) ? b->h->of_node[e->arg[0]] : CRASH_NO_FILE;
	if (file == CRASH_NO_FILE || b->h->file.p[file].lost)
		return 0;
	switch (e->kind) {
	case TRACE_NODE_WRITE: write_event(b, file, b->meta ? MODEL_OPENS : MODEL_PERSISTS); break;
	case TRACE_NODE_TRUNCATE: truncate_event(b, file); break;
	default: return allocate(b, file, err);
	}
	return 0;
}
