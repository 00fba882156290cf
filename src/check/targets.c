/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where pointers in persistent memory lead to, as far as stores tell.
 *
 * Every aligned 8-byte word that is stored and holds an address in a PM mapping marks the 16 bytes
 * that it points to: one bit in a sparse map. An object that is pointed to can be reached after
 * a restart. Many programs, and PMDK, keep offsets instead of addresses; but any number may be one. So
 * numbers that are offsets of something allocated in the same file, if they are offsets at all, are kept
 * apart, as weaker evidence.
 */
#include <stdlib.h>
#include <string.h>

#include "check/internal.h"

#define GRAIN 16u
#define CHUNK (64u * 1024u)
#define BITS (CHUNK / GRAIN)
#define FIRST_OFFSET 4096u /* smaller numbers are hardly ever offsets */

static void free_bits(struct hmap *map)
{
	for (size_t i = 0; i < map->cap; i++)
		if (map->used[i])
			free((void *)(uintptr_t)map->val[i]);
	hmap_free(map);
}

void check_targets_free(struct targets *t)
{
	free_bits(&t->chunk);
	free_bits(&t->offset);
	VEC_FREE(&t->pointers);
}

void check_targets_map(struct check *c, const struct trace_event *e)
{
	struct targets *t = &c->targets;
	uint64_t lo = e->arg[0], hi = lo + e->arg[1];
	if (!(e->flags & TRACE_F_PM))
		return;
	t->lo = t->hi && t->lo < lo ? t->lo : lo;
	t->hi = t->hi > hi ? t->hi : hi;
}

static uint64_t *bits_of(struct hmap *map, uint64_t loc, bool make)
{
	uint64_t found;
	if (hmap_get(map, loc / CHUNK, &found))
		return (uint64_t *)(uintptr_t)found;
	if (!make)
		return NULL;
	uint64_t *bits = xcalloc(BITS / 64, sizeof *bits);
	hmap_put(map, loc / CHUNK, (uintptr_t)bits);
	return bits;
}

static void set(struct targets *t, struct hmap *map, struct target_chunk *recent, uint64_t loc)
{
	struct target_chunk *last = &recent[loc / CHUNK % TARGETS_RECENT];
	unsigned bit = (unsigned)(loc % CHUNK / GRAIN);
	if (!last->bits || last->number != loc / CHUNK)
		*last = (struct target_chunk){ loc / CHUNK, bits_of(map, loc, true) };
	struct target_bit *b = &t->waiting[t->nwaiting++ % TARGETS_WAITING];
	if (b->word)
		*b->word |= b->bit;
	*b = (struct target_bit){ &last->bits[bit / 64], 1ull << (bit % 64) };
	__builtin_prefetch(b->word, 1);
}

static void set_waiting(struct targets *t)
{
	for (unsigned i = 0; i < TARGETS_WAITING; i++)
		if (t->waiting[i].word)
			*t->waiting[i].word |= t->waiting[i].bit;
}

static void add(struct check *c, const struct trace_event *e, uint64_t target)
{
	struct targets *t = &c->targets;
	uint64_t loc = model_location(c->model, e->process, target);
	if (!loc)
		return;
	set(t, &t->chunk, t->chunks, loc);
	model_where w = model_where_of(c->model, e);
	while (t->pointers.n <= w)
		VEC_PUSH(&t->pointers, 0);
	t->pointers.p[w] = 1;
}

/* The location of the first byte of the file that is stored to. */
static uint64_t base_of(struct check *c, const struct trace_event *e)
{
	return model_location(c->model, e->process, e->arg[0]) >> MODEL_FILE_SHIFT
									  << MODEL_FILE_SHIFT;
}

bool check_targets_may_be_offset(const struct check *c, uint64_t value)
{
	const struct targets *t = &c->targets;
	return value >= FIRST_OFFSET && value < t->hi - t->lo && value % GRAIN == 0;
}

void check_targets_store(struct check *c, const struct trace_event *e)
{
	struct targets *t = &c->targets;
	uint32_t first = (uint32_t)(-e->arg[0] & 7);
	for (uint32_t i = first; i + 8 <= e->size; i += 8) {
		uint64_t value;
		memcpy(&value, e->data + i, sizeof value);
		if (value >= t->lo && value < t->hi)
			add(c, e, value);
		else if (check_targets_may_be_offset(c, value))
			set(t, &t->offset, t->offsets, base_of(c, e) + value);
	}
}

static bool find(struct hmap *map, uint64_t loc, uint64_t reach, uint64_t *target)
{
	for (uint64_t at = loc / GRAIN * GRAIN; at + reach >= loc && at; at -= GRAIN) {
		const uint64_t *bits = bits_of(map, at, false);
		unsigned bit = (unsigned)(at % CHUNK / GRAIN);
		if (bits && bits[bit / 64] >> (bit % 64) & 1) {
			*target = at;
			return true;
		}
	}
	return false;
}

bool check_targets_find(struct check *c, uint64_t loc, uint64_t reach, uint64_t *target)
{
	set_waiting(&c->targets);
	return find(&c->targets.chunk, loc, reach, target);
}

bool check_targets_offset(struct check *c, uint64_t loc, uint64_t reach, uint64_t *target)
{
	set_waiting(&c->targets);
	return find(&c->targets.offset, loc, reach, target);
}

bool check_targets_pointer(const struct check *c, model_where w)
{
	return w < c->targets.pointers.n && c->targets.pointers.p[w];
}

bool check_targets_link(struct check *c, const struct trace_event *e)
{
	const struct targets *t = &c->targets;
	uint64_t value, loc = 0;
	if (!e->data || e->size != sizeof value)
		return false;
	memcpy(&value, e->data, sizeof value);
	if (value >= t->lo && value < t->hi)
		loc = model_location(c->model, e->process, value);
	else if (check_targets_may_be_offset(c, value))
		loc = base_of(c, e) + value;
	const struct model_line *l = loc ? model_line_of_key(c->model, loc / TRACE_LINE) : NULL;
	return l && l->meant;
}
