/* SPDX-License-Identifier: BSD-3-Clause */
/* From a trace to a history: what events do to files as a whole. */
#include <linux/falloc.h>
#include <stdlib.h>
#include <string.h>

#include "crash/build.h"

static void change(struct build *b, uint32_t file, uint64_t size, char *name)
{
	struct crash_change c = { b->ev->num, size, b->size.p[file], name, b->name.p[file], file };
	if (size == b->size.p[file] && name == b->name.p[file])
		return;
	VEC_PUSH(&b->h->change, c);
	b->size.p[file] = size;
	b->name.p[file] = name;
}

void crash_build_resize(struct build *b, uint32_t file, uint64_t size)
{
	change(b, file, size, b->name.p[file]);
}

static bool zero_at_first(const struct crash_history *h, uint32_t file, uint64_t off, uint64_t n)
{
	uint8_t page[MODEL_PAGE];
	if (trace_image_read(h->initial, file, off, page, n))
		return true;
	return !page[0] && !memcmp(page, page + 1, n - 1);
}

/* Zeroes a range, where it is not known to be zero: lines that were written, and initial pages. */
static void zero_bytes(struct build *b, uint32_t file, uint64_t from, uint64_t to)
{
	uint64_t size = b->size.p[file];
	to = to < size ? to : size;
	while (from < to) {
		uint64_t room = b->h->unit - from % b->h->unit,
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
	if (mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE))
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
}

static char *new_name(const struct trace_event *e)
{
	char *s = xmalloc(e->size + 1);
	memcpy(s, e->data, e->size);
	s[e->size] = 0;
	return s;
}

int crash_build_file_event(struct build *b, struct err *err)
{
	const struct trace_event *e = b->ev;
	uint32_t file = (uint32_t)e->arg[0];
	if (e->arg[0] >= b->h->file.n)
		return 0;
	switch (e->kind) {
	case TRACE_FILE_WRITE:
		if (e->arg[1] + e->size > b->size.p[file])
			crash_build_resize(b, file, e->arg[1] + e->size);
		crash_build_write(b, file, e->arg[1], e->data, e->size, b->effect);
		break;
	case TRACE_FILE_TRUNCATE:
		if (e->arg[1] < b->size.p[file])
			zero_bytes(b, file, e->arg[1], b->size.p[file]);
		crash_build_resize(b, file, e->arg[1]);
		break;
	case TRACE_FILE_ALLOCATE: return allocate(b, file, err);
	case TRACE_FILE_SYNC:
		if (b->effect != MODEL_NOTHING)
			crash_build_sync(b, file, model_covers(e));
		break;
	case TRACE_FILE_RENAME: change(b, file, b->size.p[file], new_name(e)); break;
	case TRACE_FILE_UNLINK: change(b, file, b->size.p[file], NULL); break;
	default: break;
	}
	return 0;
}
