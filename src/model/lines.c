/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines that a run has touched: a hash of indices over blocks that never move. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "model/internal.h"

static size_t slot_of(const struct model *m, uint64_t key)
{
	size_t i = (size_t)((key * 0x9E3779B97F4A7C15ull) >> 20) & (m->slots - 1);
	while (m->slot[i] && model_line((struct model *)m, m->slot[i] - 1)->key != key)
		i = (i + 1) & (m->slots - 1);
	return i;
}

static void grow(struct model *m)
{
	m->slots = m->slots ? m->slots * 2 : 4096;
	free(m->slot);
	m->slot = xcalloc(m->slots, sizeof *m->slot);
	for (size_t i = 0; i < m->nlines; i++)
		m->slot[slot_of(m, model_line(m, (uint32_t)i)->key)] = (uint32_t)i + 1;
}

struct model_line *model_line_find(struct model *m, uint64_t key, uint32_t *index)
{
	uint32_t found = m->last_line;
	if (!found || m->last_key != key) {
		if (!m->slots || !(found = m->slot[slot_of(m, key)]))
			return NULL;
		m->last_key = key;
		m->last_line = found;
	}
	if (index)
		*index = found - 1;
	return model_line(m, found - 1);
}

/* Lines are visited in no order: on huge pages, where there are any, that costs half. */
static struct model_line *new_block(void)
{
	void *p = aligned_alloc(LINE_BLOCK_BYTES, LINE_BLOCK_BYTES);
	if (!p)
		return xcalloc(LINE_BLOCK, sizeof(struct model_line));
	madvise(p, LINE_BLOCK_BYTES, MADV_HUGEPAGE);
	memset(p, 0, LINE_BLOCK_BYTES);
	return p;
}

struct model_line *model_line_get(struct model *m, uint64_t key, uint32_t *index)
{
	struct model_line *l = model_line_find(m, key, index);
	if (l)
		return l;
	if (m->nlines * 2 >= m->slots)
		grow(m);
	if (m->nlines == m->block.n * LINE_BLOCK)
		VEC_PUSH(&m->block, new_block());
	*index = (uint32_t)m->nlines++;
	m->slot[slot_of(m, key)] = *index + 1;
	l = model_line(m, *index);
	l->key = key;
	l->flusher = MODEL_NOBODY;
	l->volatile_age = m->volatile_age - 1;
	return l;
}

/* Calls `each` for every known line that overlaps locations [lo, hi), with the bytes in it. */
void model_lines_in(struct model *m, uint64_t lo, uint64_t hi, model_each *each, void *arg)
{
	uint64_t first = lo / TRACE_LINE, end = (hi + TRACE_LINE - 1) / TRACE_LINE;
	bool few = end - first < m->nlines;
	size_t n = few ? (size_t)(end - first) : m->nlines;
	if (lo >= hi)
		return;
	for (size_t i = 0; i < n; i++) {
		struct model_line *l =
			few ? model_line_find(m, first + i, NULL) : model_line(m, (uint32_t)i);
		if (!l || l->key < first || l->key >= end)
			continue;
		uint64_t at = l->key * TRACE_LINE;
		unsigned from = at < lo ? (unsigned)(lo - at) : 0;
		unsigned to = hi - at < TRACE_LINE ? (unsigned)(hi - at) : TRACE_LINE;
		each(m, l, model_mask(from, to), arg);
	}
}

size_t model_lines(const struct model *m)
{
	return m->nlines;
}

size_t model_memory(const struct model *m)
{
	return m->block.n * LINE_BLOCK_BYTES + m->slots * sizeof *m->slot +
	       m->extra.cap * sizeof *m->extra.p + m->copy.cap * sizeof *m->copy.p +
	       model_writers_memory(&m->writers);
}

uint64_t model_key_file(uint64_t key)
{
	return key >> (MODEL_FILE_SHIFT - 6);
}

const char *model_key_text(const struct model *m, uint64_t key, unsigned byte, char *buf,
			   size_t size)
{
	uint64_t loc = key * TRACE_LINE + byte;
	if (key >> (63 - 6)) {
		snprintf(buf, size, "0x%" PRIx64, (uint64_t)(loc & ((1ull << 48) - 1)));
		return buf;
	}
	const struct trace_file_def *f =
		trace_file(m->defs, (uint32_t)(loc >> MODEL_FILE_SHIFT) - 1);
	const char *name = f && f->path ? strrchr(f->path, '/') : NULL;
	snprintf(buf, size, "%s+0x%" PRIx64,
		 name           ? name + 1
		 : f && f->path ? f->path
				: "?",
		 (uint64_t)(loc & ((1ull << MODEL_FILE_SHIFT) - 1)));
	return buf;
}
