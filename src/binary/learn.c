/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What cannot be told from the files is learnt from runs: which stores hit PM, and where calls and
 * jumps through pointers lead. And what ties files together: an import is the function of that name
 * in the first file that has one.
 *
 * The C library copies any memory, so its own non-temporal stores and fences say nothing about PM;
 * they count from the first time that a store of the same function is seen to hit PM. The loader
 * jumps to everything on behalf of others, and is left out.
 */
#include <stdlib.h>
#include <string.h>

#include "binary/view.h"

static void mark_dirty(struct binary_view *v, const struct ref *at)
{
	v->dirty[binary_view_unit(v, at)] = 1;
}

/* --- stores --- */

static void count_pm(struct binary_view *v, uint32_t file, uint32_t pos)
{
	struct file *f = &v->file.p[file];
	struct ref at = { file, pos, binary_block_of(f->b, pos) };
	if (at.block == NONE || bit_get(f->pm, pos))
		return;
	bit_set(f->pm, pos);
	mark_dirty(v, &at);
	v->new_weights = true;
}

/* The flushes, fences and non-temporal stores of [from, to). */
static void count_static(struct binary_view *v, uint32_t file, uint32_t from, uint32_t to,
			 bool quiet_too)
{
	const struct binary *b = v->file.p[file].b;
	for (uint32_t pos = from; pos < to; pos++) {
		if (pos % 64 == 0 && !b->pm[pos / 64]) {
			pos += 63;
			continue;
		}
		if (!bit_get(b->pm, pos))
			continue;
		uint32_t func = binary_func_of(b, pos);
		if (quiet_too || func == NONE || !(b->func.p[func].flags & FUNC_QUIET))
			count_pm(v, file, pos);
	}
}

bool binary_learn_quiet(const struct binary_view *v, uint32_t file, uint32_t pos)
{
	const struct binary *b = v->file.p[file].b;
	uint32_t func = binary_func_of(b, pos);
	return func != NONE && (b->func.p[func].flags & FUNC_QUIET);
}

static bool is_quiet(const struct binary_view *v, const struct ref *at)
{
	return binary_learn_quiet(v, at->file, at->pos);
}

static void apply_store(struct binary_view *v, const struct ref *at)
{
	const struct binary *b = v->file.p[at->file].b;
	uint32_t func = binary_func_of(b, at->pos);
	count_pm(v, at->file, at->pos);
	binary_flow_saw(v, at, false);
	if (is_quiet(v, at))
		count_static(v, at->file, b->func.p[func].pos,
			     b->func.p[func].pos + b->func.p[func].len, true);
}

static void keep_fact(struct binary_view *v, char kind, const struct ref *at, const struct ref *to)
{
	const struct binary *b = v->file.p[at->file].b;
	struct fact fact = { (uint64_t)kind, b->id, binary_addr(b, at->pos), 0, 0 };
	if (to) {
		fact.to_file = v->file.p[to->file].b->id;
		fact.to = binary_addr(v->file.p[to->file].b, to->pos);
	}
	VEC_PUSH(&v->fact, fact);
}

bool binary_view_saw_pm(struct binary_view *v, uint64_t ip)
{
	struct ref at;
	if (!binary_view_find(v, ip, &at) || bit_get(v->file.p[at.file].pm, at.pos))
		return false;
	apply_store(v, &at);
	keep_fact(v, 'p', &at, NULL);
	return true;
}

bool binary_view_saw_pm_in(struct binary_view *v, uint64_t ip, const uint64_t *calls, size_t n)
{
	struct ref at;
	if (!binary_view_find(v, ip, &at) || !is_quiet(v, &at))
		return binary_view_saw_pm(v, ip);
	for (size_t i = 0; i < n; i++)
		if (binary_view_find(v, calls[i], &at) && !is_quiet(v, &at))
			return binary_view_saw_pm(v, calls[i]);
	return false;
}

/* What maps PM for another file returns its address: the innermost call in each file counts. */
bool binary_view_saw_map(struct binary_view *v, const uint64_t *calls, size_t n)
{
	uint32_t inner = NONE;
	bool new = false;
	for (size_t i = 0; i < n; i++) {
		struct ref at;
		if (!binary_view_find(v, calls[i], &at) || at.file == inner)
			continue;
		inner = at.file;
		if (v->file.p[at.file].b->flags & (BINARY_LIBC | BINARY_LINKER))
			continue;
		binary_flow_saw(v, &at, true);
		new = true;
	}
	return new;
}

/* --- calls and jumps --- */

static void add_target(struct binary_view *v, const struct ref *at, const struct ref *to)
{
	struct hmap *learnt = &v->file.p[at->file].learnt;
	uint64_t next = NONE;
	hmap_get(learnt, at->block, &next);
	VEC_PUSH(&v->target, ((struct target){ *to, (uint32_t)next }));
	hmap_put(learnt, at->block, v->target.n - 1);
	mark_dirty(v, at);
	v->new_calls = true;
}

/* All callers of the imports that are marked are to be looked at again: one pass for all of them. */
static void dirty_callers(struct binary_view *v, uint32_t file, const uint8_t *marked)
{
	const struct file *f = &v->file.p[file];
	for (size_t i = 0; i < f->b->block.n; i++) {
		const struct block *block = &f->b->block.p[i];
		if (block->call == BLOCK_IMPORT && marked[block->callee])
			v->dirty[f->unit0 + block->unit] = 1;
	}
	v->new_calls = true;
}

static void set_import(struct binary_view *v, uint32_t file, uint32_t import, const struct ref *to)
{
	struct file *f = &v->file.p[file];
	uint8_t *marked = xcalloc(f->b->import.n, 1);
	f->import[import] = *to;
	marked[import] = 1;
	dirty_callers(v, file, marked);
	free(marked);
}

static bool is_way(const struct binary *b, const struct block *block, uint32_t to)
{
	for (uint32_t i = 0; i < block->nedge; i++)
		if (b->edge.p[block->edge + i] == to)
			return true;
	return false;
}

static bool saw_import(struct binary_view *v, const struct ref *at, const struct ref *to)
{
	const struct binary *b = v->file.p[at->file].b, *other = v->file.p[to->file].b;
	const struct block *block = &b->block.p[at->block], *there = &other->block.p[to->block];
	const struct ref *known = &v->file.p[at->file].import[block->callee];

	/* into the linkage table, or on to the loader the first time */
	if (there->call == BLOCK_IMPORT && there->tail)
		return false;
	if (at->file == to->file && to->pos == block->pos + block->len)
		return false;
	if (known->file != NONE)
		return false;
	set_import(v, at->file, block->callee, to);
	return true;
}

/* Only jumps on through a pointer: that is how a static program calls what it chooses at its start. */
static bool is_stub(const struct binary *b, uint32_t block)
{
	const struct block *at = &b->block.p[block];
	return at->call == BLOCK_UNKNOWN && at->tail && !at->nedge;
}

/* True: this is new. */
static bool apply_lead(struct binary_view *v, char kind, const struct ref *at, const struct ref *to)
{
	const struct binary *b = v->file.p[at->file].b;
	const struct block *block = &b->block.p[at->block];
	uint64_t key;
	if ((b->flags | v->file.p[to->file].b->flags) & BINARY_LINKER)
		return false;
	if (kind == 'c' && block->tail)
		return false;
	if (kind == 'c' && block->call == BLOCK_CALLS && is_stub(b, block->callee)) {
		struct ref stub = { at->file, b->block.p[block->callee].pos, block->callee };
		return to->block != stub.block && apply_lead(v, 'j', &stub, to);
	}
	if (block->call == BLOCK_IMPORT)
		return saw_import(v, at, to);
	if (block->call != BLOCK_UNKNOWN)
		return false;
	if (at->file == to->file && is_way(b, block, to->block))
		return false;
	key = hash_mix(hash_mix(at->file, at->block), hash_mix(to->file, to->pos));
	if (hmap_get(&v->known, key, NULL))
		return false;
	hmap_put(&v->known, key, 1);
	add_target(v, at, to);
	return true;
}

static bool saw_lead(struct binary_view *v, char kind, uint64_t ip, uint64_t target)
{
	struct ref at, to;
	if (!binary_view_find(v, ip, &at) || !binary_view_find(v, target, &to) ||
	    !apply_lead(v, kind, &at, &to))
		return false;
	keep_fact(v, kind, &at, &to);
	return true;
}

bool binary_view_saw_call(struct binary_view *v, uint64_t ip, uint64_t target)
{
	return saw_lead(v, 'c', ip, target);
}

bool binary_view_saw_jump(struct binary_view *v, uint64_t ip, uint64_t target)
{
	return saw_lead(v, 'j', ip, target);
}

/* --- files --- */

static void add_exports(struct binary_view *v, uint32_t file)
{
	const struct binary *b = v->file.p[file].b;
	for (size_t i = 0; i < b->export.n; i++) {
		const char *name = b->names.p + b->export.p[i].name;
		uint64_t hash = hash_bytes(name, strlen(name));
		if (!hmap_get(&v->export, hash, NULL))
			hmap_put(&v->export, hash, (uint64_t)file << 32 | b->export.p[i].block);
	}
}

static void resolve_file(struct binary_view *v, uint32_t file)
{
	struct file *f = &v->file.p[file];
	uint8_t *marked = xcalloc(f->b->import.n + 1, 1);
	bool any = false;
	for (uint32_t k = 0; k < f->b->import.n; k++) {
		const char *name = f->b->names.p + f->b->import.p[k];
		uint64_t at;
		if (f->import[k].file != NONE ||
		    !hmap_get(&v->export, hash_bytes(name, strlen(name)), &at))
			continue;
		struct ref to = { (uint32_t)(at >> 32), 0, (uint32_t)at };
		to.pos = v->file.p[to.file].b->block.p[to.block].pos;
		f->import[k] = to;
		marked[k] = 1;
		any = true;
	}
	if (any)
		dirty_callers(v, file, marked);
	free(marked);
}

static void resolve_imports(struct binary_view *v)
{
	for (uint32_t i = 0; i < v->file.n; i++)
		resolve_file(v, i);
}

void binary_learn_file(struct binary_view *v, uint32_t file)
{
	const struct binary *b = v->file.p[file].b;
	v->new_files = true;
	if (b->flags & BINARY_LINKER)
		return;
	add_exports(v, file);
	count_static(v, file, 0, b->ncode, false);
	if (file == 0 && v->cache)
		binary_cache_load_facts(&v->pending, v->cache, b->id);
}

static bool fact_ref(const struct binary_view *v, uint64_t id, uint64_t addr, struct ref *at)
{
	for (uint32_t i = 0; i < v->file.n; i++) {
		const struct binary *b = v->file.p[i].b;
		if (b->id != id)
			continue;
		at->file = i;
		at->pos = binary_pos(b, addr);
		if (at->pos == NONE || !bit_get(b->code, at->pos))
			return false;
		at->block = binary_block_of(b, at->pos);
		return at->block != NONE;
	}
	return false;
}

void binary_learn_pending(struct binary_view *v)
{
	size_t n = 0;
	resolve_imports(v);
	for (size_t i = 0; i < v->pending.n; i++) {
		struct fact fact = v->pending.p[i];
		struct ref at, to;
		if (!fact_ref(v, fact.file, fact.at, &at) ||
		    (fact.kind != 'p' && !fact_ref(v, fact.to_file, fact.to, &to))) {
			v->pending.p[n++] = fact;
			continue;
		}
		if (fact.kind == 'p')
			apply_store(v, &at);
		else
			apply_lead(v, (char)fact.kind, &at, &to);
		VEC_PUSH(&v->fact, fact);
		v->nsaved++;
	}
	v->pending.n = n;
}

/* --- where a block leads --- */

/* The targets learnt for a block: *state is 0 at first, then one more than the next's index. */
static bool next_target(const struct binary_view *v, uint32_t file, uint32_t block, bool own,
			uint64_t *state, struct ref *to)
{
	const struct file *f = &v->file.p[file];
	const struct ref at = { file, 0, block };
	uint64_t i = NONE;
	if (*state)
		i = *state - 1;
	else if (!f->learnt.n || !hmap_get(&f->learnt, block, &i))
		i = NONE;
	for (; i != NONE; i = v->target.p[i].next) {
		const struct target *t = &v->target.p[i];
		bool inside = f->b->block.p[block].tail &&
			      binary_view_unit(v, &t->to) == binary_view_unit(v, &at);
		if (inside != own)
			continue;
		*to = t->to;
		*state = (uint64_t)t->next + 1;
		return true;
	}
	*state = (uint64_t)NONE + 1;
	return false;
}

bool binary_learn_callee(const struct binary_view *v, uint32_t file, uint32_t block,
			 uint64_t *state, struct ref *to)
{
	const struct file *f = &v->file.p[file];
	const struct block *b = &f->b->block.p[block];
	uint64_t end = (uint64_t)NONE + 1;
	switch (b->call) {
	case BLOCK_CALLS:
		if (*state)
			return false;
		*state = end;
		*to = (struct ref){ file, f->b->block.p[b->callee].pos, b->callee };
		return true;
	case BLOCK_IMPORT:
		if (*state || f->import[b->callee].file == NONE)
			return false;
		*state = end;
		*to = f->import[b->callee];
		return true;
	case BLOCK_UNKNOWN: return next_target(v, file, block, false, state, to);
	default: return false;
	}
}

bool binary_learn_way(const struct binary_view *v, uint32_t file, uint32_t block, uint64_t *state,
		      uint32_t *to)
{
	const struct binary *b = v->file.p[file].b;
	const struct block *at = &b->block.p[block];
	uint64_t learnt;
	struct ref ref;
	if (*state < at->nedge) {
		*to = b->edge.p[at->edge + (*state)++];
		return true;
	}
	if (at->call != BLOCK_UNKNOWN || !at->tail)
		return false;
	/* learnt ones are counted on from the edges */
	learnt = *state == at->nedge ? 0 : *state - at->nedge;
	if (!next_target(v, file, block, true, &learnt, &ref))
		return false;
	*state = at->nedge + learnt;
	*to = ref.block;
	return true;
}
