/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lines that a run has touched: a hash of groups of eight that follow each other, for they are mostly used together. A group has
 * room for all of its lines once one of them is touched.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "model/internal.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1; others say that they do not know it */
#endif

static uint64_t hash_of(uint64_t group)
{
	return group * 0x9E3779B97F4A7C15ull >> 17;
}

static uint8_t tag_of(uint64_t hash)
{
	return (uint8_t)(hash ^ hash >> 30);
}

/* Looking at a group that is another's costs a cache miss: eight bits of the hash tell nearly all. */
static size_t slot_of(const struct model *m, uint64_t key)
{
	uint64_t hash = hash_of(key);
	uint8_t tag = tag_of(hash);
	size_t i = (size_t)hash & (m->slots - 1);
	while (m->slot[i] && (m->tag[i] != tag || model_group(m, m->slot[i] - 1)->key != key))
		i = (i + 1) & (m->slots - 1);
	return i;
}

static void enter(struct model *m, uint32_t number)
{
	uint64_t key = model_group(m, number)->key;
	size_t i = slot_of(m, key);
	m->slot[i] = number + 1;
	m->tag[i] = tag_of(hash_of(key));
}

static void grow(struct model *m)
{
	m->slots = m->slots ? m->slots * 2 : 4096;
	free(m->slot);
	free(m->tag);
	m->slot = xcalloc(m->slots, sizeof *m->slot);
	m->tag = xcalloc(m->slots, sizeof *m->tag);
	for (size_t i = 0; i < m->ngroups; i++)
		enter(m, (uint32_t)i);
}

/* The group's number + 1; 0: none of its lines was touched. */
static uint32_t group_of(struct model *m, uint64_t key)
{
	uint32_t found = m->last_group;
	if (found && m->last_key == key)
		return found;
	if (!m->slots || !(found = m->slot[slot_of(m, key)]))
		return 0;
	m->last_key = key;
	m->last_group = found;
	return found;
}

/* UINT32_MAX: it is not known. */
static uint32_t index_of(struct model *m, uint64_t key)
{
	uint32_t group = group_of(m, key / LINE_GROUP), which = key % LINE_GROUP;
	if (!group || model_group(m, group - 1)->line[which].at == NO_LINE)
		return UINT32_MAX;
	return (group - 1) * LINE_GROUP + which;
}

struct model_line *model_line_find(struct model *m, uint64_t key, uint32_t *index)
{
	uint32_t found = index_of(m, key);
	if (index)
		*index = found;
	return found == UINT32_MAX ? NULL : model_line(m, found);
}

/* Fresh zeros that begin where a huge page can. */
static struct line_group *new_block(void)
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
	return (struct line_group *)(p + before);
}

/*
 * Lines are visited in no order: on huge pages, where there are any, that costs half. The first blocks become such
 * pages when they are full, so that a short run does not take what it does not need.
 */
static void add_block(struct model *m)
{
	struct line_group *full = m->block.n ? m->block.p[m->block.n - 1] : NULL;
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

/* Its number. */
static uint32_t new_group(struct model *m, uint64_t key)
{
	if (m->ngroups * 4 >= m->slots * 3)
		grow(m);
	if (m->ngroups == m->block.n * LINE_BLOCK)
		add_block(m);
	uint32_t number = (uint32_t)m->ngroups++;
	struct line_group *g = model_group(m, number);
	g->key = key;
	for (unsigned i = 0; i < LINE_GROUP; i++)
		g->line[i].at = NO_LINE;
	enter(m, number);
	return number;
}

static unsigned touched(const struct line_group *g)
{
	unsigned n = 0;
	for (unsigned i = 0; i < LINE_GROUP; i++)
		n += g->line[i].at != NO_LINE;
	return n;
}

struct model_line *model_line_get(struct model *m, uint64_t key, uint32_t *index)
{
	struct model_line *l = model_line_find(m, key, index);
	if (l)
		return l;
	uint32_t group = group_of(m, key / LINE_GROUP);
	group = group ? group - 1 : new_group(m, key / LINE_GROUP);
	*index = group * LINE_GROUP + key % LINE_GROUP;
	model_slim(m, *index)->nth = touched(model_group(m, group)) & (LINE_GROUP - 1);
	m->nlines++;
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

/* The lines of a group in the order in which they were touched first; UINT32_MAX: there are not as many. */
static uint32_t index_nth(const struct model *m, size_t i)
{
	const struct line_group *g = model_group(m, (uint32_t)(i / LINE_GROUP));
	for (uint32_t w = 0; w < LINE_GROUP; w++)
		if (g->line[w].at != NO_LINE && g->line[w].nth == i % LINE_GROUP)
			return (uint32_t)(i - i % LINE_GROUP) + w;
	return UINT32_MAX;
}

static void lines_in(struct model *m, uint64_t lo, uint64_t hi, bool open, model_each *each,
		     void *arg)
{
	uint64_t first = lo / TRACE_LINE, end = (hi + TRACE_LINE - 1) / TRACE_LINE;
	bool few = end - first < m->nlines;
	size_t n = few ? (size_t)(end - first) : m->ngroups * LINE_GROUP;
	if (lo >= hi)
		return;
	for (size_t i = 0; i < n; i++) {
		uint32_t index = few ? index_of(m, first + i) : index_nth(m, i);
		if (index == UINT32_MAX || (open && !is_open(m, index)))
			continue;
		uint64_t key = model_key_of(m, index), at = key * TRACE_LINE;
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
	size_t whole = m->block.n > LINE_SMALL_BLOCKS ? m->block.n : m->ngroups / LINE_BLOCK;
	size_t last = (m->ngroups - whole * LINE_BLOCK) * sizeof(struct line_group);
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
