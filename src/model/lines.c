/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines that a run has touched: a hash of indices. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "model/internal.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1; others say that they do not know it */
#endif

/* Eight lines that follow each other are so in the table, too: they are mostly used together. */
static uint64_t hash_of(uint64_t key)
{
	return (key >> 3) * 0x9E3779B97F4A7C15ull >> 20 << 3 | (key & 7);
}

static uint8_t tag_of(uint64_t hash)
{
	return (uint8_t)(hash ^ hash >> 30);
}

static uint64_t key_of(const struct model *m, uint32_t index)
{
	const struct slim_line *l = model_slim(m, index);
	return l->key[0] | (uint64_t)l->key[1] << 32;
}

/* Looking at a line that is another's costs a cache miss: eight bits of the hash tell nearly all. */
static size_t slot_of(const struct model *m, uint64_t key)
{
	uint64_t hash = hash_of(key);
	uint8_t tag = tag_of(hash);
	size_t i = (size_t)hash & (m->slots - 1);
	while (m->slot[i] && (m->tag[i] != tag || key_of(m, m->slot[i] - 1) != key))
		i = (i + 1) & (m->slots - 1);
	return i;
}

static void enter(struct model *m, uint64_t key, uint32_t index)
{
	size_t i = slot_of(m, key);
	m->slot[i] = index + 1;
	m->tag[i] = tag_of(hash_of(key));
}

static void grow(struct model *m)
{
	m->slots = m->slots ? m->slots * 2 : 4096;
	free(m->slot);
	free(m->tag);
	m->slot = xcalloc(m->slots, sizeof *m->slot);
	m->tag = xcalloc(m->slots, sizeof *m->tag);
	for (size_t i = 0; i < m->nlines; i++)
		enter(m, key_of(m, (uint32_t)i), (uint32_t)i);
}

/* UINT32_MAX: it is not known. */
static uint32_t index_of(struct model *m, uint64_t key)
{
	uint32_t found = m->last_line;
	if (!found || m->last_key != key) {
		if (!m->slots || !(found = m->slot[slot_of(m, key)]))
			return UINT32_MAX;
		m->last_key = key;
		m->last_line = found;
	}
	return found - 1;
}

struct model_line *model_line_find(struct model *m, uint64_t key, uint32_t *index)
{
	uint32_t found = index_of(m, key);
	if (index)
		*index = found;
	return found == UINT32_MAX ? NULL : model_line(m, found);
}

/* Fresh zeros that begin where a huge page can. */
static struct slim_line *new_block(void)
{
	uint8_t *p = mmap(NULL, 2 * LINE_BLOCK_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED) {
		msg_error("out of memory");
		exit(EXIT_INTERNAL);
	}
	size_t before = -(uintptr_t)p % LINE_BLOCK_BYTES;
	if (before)
		munmap(p, before);
	munmap(p + before + LINE_BLOCK_BYTES, LINE_BLOCK_BYTES - before);
	return (struct slim_line *)(p + before);
}

/*
 * Lines are visited in no order: on huge pages, where there are any, that costs half. The first blocks become such
 * pages when they are full, so that a short run does not take what it does not need.
 */
static void add_block(struct model *m)
{
	struct slim_line *full = m->block.n ? m->block.p[m->block.n - 1] : NULL;
	if (full && m->block.n <= LINE_SMALL_BLOCKS) {
		madvise(full, LINE_BLOCK_BYTES, MADV_HUGEPAGE);
		madvise(full, LINE_BLOCK_BYTES, MADV_COLLAPSE);
	}
	VEC_PUSH(&m->block, new_block());
	if (m->block.n > LINE_SMALL_BLOCKS)
		madvise(m->block.p[m->block.n - 1], LINE_BLOCK_BYTES, MADV_HUGEPAGE);
}

void model_lines_free(struct model *m)
{
	for (size_t i = 0; i < m->block.n; i++)
		munmap(m->block.p[i], LINE_BLOCK_BYTES);
	VEC_FREE(&m->block);
	model_rests_free(m);
	free(m->slot);
	free(m->tag);
	VEC_FREE(&m->flight);
}

/* ---- in flight ---- */

const struct model_flight *model_flight(const struct model *m, const struct model_line *l)
{
	return &m->flight.p[l->flight];
}

struct model_flight *model_flight_begin(struct model *m, struct model_line *l)
{
	if (!l->flight && !m->flight_free) {
		l->flight = (uint32_t)m->flight.n;
		VEC_PUSH(&m->flight, (struct model_flight){ .flusher = MODEL_NOBODY });
	} else if (!l->flight) {
		l->flight = m->flight_free;
		m->flight_free = m->flight.p[l->flight].more;
		m->flight.p[l->flight] = (struct model_flight){ .flusher = MODEL_NOBODY };
	}
	return &m->flight.p[l->flight];
}

void model_flight_free(struct model *m, struct model_line *l)
{
	m->flight.p[l->flight].more = m->flight_free;
	m->flight_free = l->flight;
	l->flight = 0;
}

void model_flight_end(struct model *m, struct model_line *l)
{
	const struct model_flight *f = &m->flight.p[l->flight];
	if (!l->flight || f->more)
		return;
	model_tire(m, l);
	if (!l->open && f->flusher == MODEL_NOBODY)
		model_flight_free(m, l);
}

/* ---- lines ---- */

struct model_line *model_line_get(struct model *m, uint64_t key, uint32_t *index)
{
	struct model_line *l = model_line_find(m, key, index);
	if (l)
		return l;
	if (m->nlines * 4 >= m->slots * 3)
		grow(m);
	if (m->nlines == m->block.n * LINE_BLOCK)
		add_block(m);
	*index = (uint32_t)m->nlines++;
	*model_slim(m, *index) =
		(struct slim_line){ .key = { (uint32_t)key, (uint32_t)(key >> 32) } };
	enter(m, key, *index);
	l = model_line_new(m, *index);
	l->key = key;
	l->marked = model_marks(m, key) != 0;
	return l;
}

static bool is_open(const struct model *m, uint32_t index)
{
	uint32_t at = model_slim(m, index)->at;
	return at & AWAKE ? model_awake(m, at)->open : m->rests.v.p[at].is.open;
}

static void lines_in(struct model *m, uint64_t lo, uint64_t hi, bool open, model_each *each,
		     void *arg)
{
	uint64_t first = lo / TRACE_LINE, end = (hi + TRACE_LINE - 1) / TRACE_LINE;
	bool few = end - first < m->nlines;
	size_t n = few ? (size_t)(end - first) : m->nlines;
	if (lo >= hi)
		return;
	for (size_t i = 0; i < n; i++) {
		uint32_t index = few ? index_of(m, first + i) : (uint32_t)i;
		if (index == UINT32_MAX || (open && !is_open(m, index)))
			continue;
		uint64_t key = key_of(m, index), at = key * TRACE_LINE;
		if (key < first || key >= end)
			continue;
		unsigned from = at < lo ? (unsigned)(lo - at) : 0;
		unsigned to = hi - at < TRACE_LINE ? (unsigned)(hi - at) : TRACE_LINE;
		each(m, model_line(m, index), model_mask(from, to), arg);
		model_lines_rest(m);
	}
}

/* Calls `each` for every known line that overlaps locations [lo, hi), with the bytes in it. */
void model_lines_in(struct model *m, uint64_t lo, uint64_t hi, model_each *each, void *arg)
{
	lines_in(m, lo, hi, false, each, arg);
}

/* … of which something is open. */
void model_open_lines_in(struct model *m, uint64_t lo, uint64_t hi, model_each *each, void *arg)
{
	lines_in(m, lo, hi, true, each, arg);
}

size_t model_lines(const struct model *m)
{
	return m->nlines;
}

size_t model_memory(const struct model *m)
{
	size_t whole = m->block.n > LINE_SMALL_BLOCKS ? m->block.n : m->nlines / LINE_BLOCK;
	size_t last = (m->nlines - whole * LINE_BLOCK) * sizeof(struct slim_line);
	return whole * LINE_BLOCK_BYTES + (m->block.n > whole ? last : 0) +
	       m->slots * (sizeof *m->slot + sizeof *m->tag) + m->extra.cap * sizeof *m->extra.p +
	       m->copy.cap * sizeof *m->copy.p + m->flight.n * sizeof *m->flight.p +
	       model_writers_memory(&m->writers) + model_rests_memory(m);
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
