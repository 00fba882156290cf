/* SPDX-License-Identifier: BSD-3-Clause */
/* A program: its files at their places, and what others ask about an address. */
#include <stdlib.h>
#include <string.h>

#include "binary/view.h"

#define MAX_FRAMES 256 /* of a stack that are looked at */

struct binary_view *binary_view_new(const char *cache)
{
	struct binary_view *v = xcalloc(1, sizeof *v);
	v->cache = cache ? xstrdup(cache) : NULL;
	return v;
}

static void free_file(struct file *f)
{
	binary_free(f->b);
	free(f->path);
	free(f->unit_first);
	free(f->unit_block);
	free(f->pm);
	free(f->may);
	free(f->import);
	hmap_free(&f->learnt);
	free(f->priority);
	free(f->shape);
}

void binary_view_free(struct binary_view *v)
{
	if (!v)
		return;
	if (v->cache && v->file.n && v->fact.n > v->nsaved) {
		for (size_t i = 0; i < v->pending.n; i++)
			VEC_PUSH(&v->fact, v->pending.p[i]);
		binary_cache_save_facts(&v->fact, v->cache, v->file.p[0].b->id);
	}
	for (size_t i = 0; i < v->file.n; i++)
		free_file(&v->file.p[i]);
	VEC_FREE(&v->file);
	VEC_FREE(&v->place);
	VEC_FREE(&v->target);
	VEC_FREE(&v->fact);
	VEC_FREE(&v->pending);
	VEC_FREE(&v->evidence);
	for (size_t i = 0; i < v->control.n; i++)
		binary_control_free(&v->control.p[i]);
	VEC_FREE(&v->control);
	hmap_free(&v->control_of);
	binary_flow_free(v->flow);
	imap_free(&v->map);
	hmap_free(&v->ignored);
	hmap_free(&v->export);
	hmap_free(&v->known);
	free(v->dirty);
	free(v->call_first);
	free(v->call_to);
	free(v->order);
	free(v->cycle_first);
	free(v->cycle_of);
	free(v->cache);
	free(v);
}

/* The blocks of each unit, side by side. */
static void list_units(struct file *f)
{
	const struct binary *b = f->b;
	uint32_t *first = xcalloc(b->nunit + 2, sizeof *first);
	f->unit_block = xcalloc(b->block.n + 1, sizeof *f->unit_block);
	for (size_t i = 0; i < b->block.n; i++)
		first[b->block.p[i].unit]++;
	for (size_t i = 1; i <= b->nunit; i++)
		first[i] += first[i - 1];
	for (size_t i = b->block.n; i-- > 0;)
		f->unit_block[--first[b->block.p[i].unit]] = (uint32_t)i;
	f->unit_first = first;
}

static uint32_t add_file(struct binary_view *v, const char *path, struct binary *b)
{
	struct file f = { .b = b, .path = xstrdup(path), .unit0 = v->nunit };
	list_units(&f);
	f.pm = xcalloc(BITS_WORDS(b->ncode) + 1, sizeof *f.pm);
	f.may = xcalloc(BITS_WORDS(b->ncode) + 1, sizeof *f.may);
	f.priority = xcalloc(b->block.n + 1, sizeof *f.priority);
	f.shape = xcalloc(b->block.n + 1, 1);
	f.import = xcalloc(b->import.n + 1, sizeof *f.import);
	for (size_t i = 0; i < b->import.n; i++)
		f.import[i].file = NONE;
	VEC_PUSH(&v->file, f);
	v->dirty = xrealloc(v->dirty, v->nunit + b->nunit + 1);
	memset(v->dirty + v->nunit, 0, b->nunit + 1);
	v->nunit += b->nunit;
	binary_learn_file(v, (uint32_t)v->file.n - 1);
	return (uint32_t)v->file.n - 1;
}

/* The file of that path, decoded; NONE: no ELF file. */
static uint32_t file_of(struct binary_view *v, const char *path)
{
	uint64_t hash = hash_bytes(path, strlen(path));
	struct err err;
	struct binary *b;
	for (size_t i = 0; i < v->file.n; i++)
		if (!strcmp(v->file.p[i].path, path))
			return (uint32_t)i;
	if (hmap_get(&v->ignored, hash, NULL))
		return NONE;
	b = binary_open(path, v->cache, &err);
	if (!b) {
		hmap_put(&v->ignored, hash, 1);
		return NONE;
	}
	return add_file(v, path, b);
}

/* Whether the mapping is one of this code, and not of what shares its first or last page. */
static bool maps_code(const struct binary *b, const struct load *l, uint64_t offset, uint64_t len)
{
	uint64_t start = l->off & ~(uint64_t)0xfff;
	if (!l->code)
		return false;
	if (start >= offset && start - offset < len)
		return true;
	if (offset < start || offset >= l->off + l->len)
		return false;
	for (size_t i = 0; i < b->load.n; i++)
		if ((b->load.p[i].off & ~(uint64_t)0xfff) == offset)
			return false;
	return true;
}

void binary_view_load(struct binary_view *v, const char *path, uint64_t addr, uint64_t len,
		      uint64_t offset)
{
	uint32_t file = file_of(v, path);
	if (addr + len < addr || !len)
		return;
	imap_clear(&v->map, addr, addr + len); /* whatever was there before is gone */
	if (file == NONE)
		return;
	const struct binary *b = v->file.p[file].b;
	for (size_t i = 0; i < b->load.n; i++) {
		const struct load *l = &b->load.p[i];
		if (!maps_code(b, l, offset, len))
			continue;
		struct place p = { file, addr - offset + l->off - l->addr };
		for (size_t k = 0; k < v->place.n; k++)
			if (v->place.p[k].file == file && v->place.p[k].bias == p.bias) {
				imap_set(&v->map, addr, addr + len, k);
				return;
			}
		VEC_PUSH(&v->place, p);
		imap_set(&v->map, addr, addr + len, v->place.n - 1);
		return;
	}
}

static const struct place *place_of(const struct binary_view *v, uint64_t ip)
{
	const struct imap_item *item = imap_find(&v->map, ip);
	return item ? &v->place.p[item->val] : NULL;
}

bool binary_view_find(const struct binary_view *v, uint64_t ip, struct ref *at)
{
	const struct place *p = place_of(v, ip);
	const struct binary *b;
	if (!p)
		return false;
	b = v->file.p[p->file].b;
	at->file = p->file;
	at->pos = binary_pos(b, ip - p->bias);
	if (at->pos == NONE || !bit_get(b->code, at->pos))
		return false;
	at->block = binary_block_of(b, at->pos);
	return at->block != NONE;
}

uint32_t binary_view_unit(const struct binary_view *v, const struct ref *at)
{
	const struct file *f = &v->file.p[at->file];
	return f->unit0 + f->b->block.p[at->block].unit;
}

/* Set in one or the other. */
static uint32_t bits(const uint64_t *a, const uint64_t *b, uint32_t from, uint32_t to)
{
	uint32_t n = 0;
	while (from < to) {
		uint64_t word = (a[from / 64] | b[from / 64]) >> from % 64;
		uint32_t here = 64 - from % 64;
		if (here > to - from)
			here = to - from;
		if (here < 64)
			word &= ((uint64_t)1 << here) - 1;
		n += (uint32_t)__builtin_popcountll(word);
		from += here;
	}
	return n;
}

uint32_t binary_view_bits(const uint64_t *b, uint32_t from, uint32_t to)
{
	return bits(b, b, from, to);
}

uint32_t binary_view_weight(const struct file *f, uint32_t from, uint32_t to)
{
	return bits(f->pm, f->may, from, to);
}

void binary_view_update(struct binary_view *v)
{
	if (v->new_files)
		binary_learn_pending(v);
	binary_flow_update(v);
	if (v->new_files || v->new_calls)
		binary_priority_order(v);
	if (v->new_files || v->new_calls || v->new_weights)
		binary_priority_update(v);
	v->new_files = v->new_calls = v->new_weights = false;
}

uint32_t binary_view_priority(const struct binary_view *v, uint64_t ip)
{
	struct ref at;
	return binary_view_find(v, ip, &at) ? binary_priority_at(v, &at) : 0;
}

/* What follows the call, when it comes back. */
static uint32_t after_call(const struct binary_view *v, uint64_t ip)
{
	struct ref at;
	uint64_t state = 0;
	uint32_t next;
	if (!binary_view_find(v, ip, &at) || v->file.p[at.file].b->block.p[at.block].tail ||
	    !binary_learn_way(v, at.file, at.block, &state, &next))
		return 0;
	return v->file.p[at.file].priority[next];
}

uint32_t binary_view_priority_in(const struct binary_view *v, uint64_t ip, const uint64_t *calls,
				 size_t n)
{
	uint64_t sum = binary_view_priority(v, ip);
	for (size_t i = 0; i < n && i < MAX_FRAMES; i++) {
		size_t k = 0;
		while (k < i && calls[k] != calls[i]) /* recursion counts once */
			k++;
		if (k == i)
			sum += after_call(v, calls[i]);
	}
	return sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

bool binary_view_modifies_pm(const struct binary_view *v, uint64_t ip)
{
	struct ref at;
	return binary_view_find(v, ip, &at) && bit_get(v->file.p[at.file].pm, at.pos);
}

bool binary_view_block(const struct binary_view *v, uint64_t ip, uint64_t *lo, uint64_t *hi)
{
	struct ref at;
	if (!binary_view_find(v, ip, &at))
		return false;
	const struct binary *b = v->file.p[at.file].b;
	const struct block *block = &b->block.p[at.block];
	*lo = binary_addr(b, block->pos) + place_of(v, ip)->bias;
	*hi = *lo + block->len;
	return true;
}

size_t binary_view_blocks(const struct binary_view *v)
{
	return v->file.n ? v->file.p[0].b->block.n : 0;
}

size_t binary_view_pm(const struct binary_view *v)
{
	return v->file.n ? binary_view_bits(v->file.p[0].pm, 0, v->file.p[0].b->ncode) : 0;
}

static enum binary_mark mark_at(const struct file *f, uint32_t pos)
{
	return bit_get(f->pm, pos) ? BINARY_PM : bit_get(f->may, pos) ? BINARY_MAY : BINARY_NOT;
}

enum binary_mark binary_view_mark(const struct binary_view *v, uint64_t ip)
{
	struct ref at;
	return binary_view_find(v, ip, &at) ? mark_at(&v->file.p[at.file], at.pos) : BINARY_NOT;
}

void binary_view_each(const struct binary_view *v,
		      void (*each)(void *, uint64_t ip, uint32_t priority, enum binary_mark),
		      void *arg)
{
	uint64_t bias = 0;
	if (!v->file.n)
		return;
	for (size_t i = v->place.n; i-- > 0;)
		if (v->place.p[i].file == 0)
			bias = v->place.p[i].bias;
	const struct file *f = &v->file.p[0];
	for (uint32_t pos = 0; pos < f->b->ncode; pos++) {
		if (!bit_get(f->b->code, pos))
			continue;
		struct ref at = { 0, pos, binary_block_of(f->b, pos) };
		if (at.block != NONE)
			each(arg, binary_addr(f->b, pos) + bias, binary_priority_at(v, &at),
			     mark_at(f, pos));
	}
}
