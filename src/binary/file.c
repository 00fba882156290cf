/* SPDX-License-Identifier: BSD-3-Clause */
/* One decoded file: opening, and finding functions, blocks and instructions by address. */
#include <stdlib.h>
#include <string.h>

#include "binary/internal.h"

uint32_t binary_pos(const struct binary *b, uint64_t addr)
{
	for (size_t i = 0; i < b->text.n; i++) {
		const struct text *t = &b->text.p[i];
		if (addr - t->addr < t->len)
			return t->pos + (uint32_t)(addr - t->addr);
	}
	return NONE;
}

uint64_t binary_addr(const struct binary *b, uint32_t pos)
{
	for (size_t i = 0; i < b->text.n; i++) {
		const struct text *t = &b->text.p[i];
		if (pos - t->pos < t->len)
			return t->addr + (pos - t->pos);
	}
	return 0;
}

uint32_t binary_func_of(const struct binary *b, uint32_t pos)
{
	size_t i = BISECT(k, b->func.n, b->func.p[k].pos <= pos);
	return i && pos - b->func.p[i - 1].pos < b->func.p[i - 1].len ? (uint32_t)(i - 1) : NONE;
}

uint32_t binary_block_of(const struct binary *b, uint32_t pos)
{
	size_t i = BISECT(k, b->block.n, b->block.p[k].pos <= pos);
	return i && pos - b->block.p[i - 1].pos < b->block.p[i - 1].len ? (uint32_t)(i - 1) : NONE;
}

uint32_t binary_block_from(const struct binary *b, uint32_t pos)
{
	uint32_t i = binary_block_of(b, pos);
	return i != NONE && b->block.p[i].pos == pos ? i : NONE;
}

uint32_t binary_last_pos(const struct binary *b, const struct block *block)
{
	uint32_t pos = block->pos + block->len - 1;
	while (pos > block->pos && !bit_get(b->code, pos))
		pos--;
	return pos;
}

void binary_show(struct binary *b)
{
	b->shown = xcalloc(b->func.n ? b->func.n : 1, sizeof *b->shown);
	for (size_t i = 0; i < b->func.n; i++) {
		const struct func *f = &b->func.p[i];
		b->shown[i] = (struct binary_function){ binary_addr(b, f->pos), f->len,
							b->names.p + f->name };
	}
}

uint8_t *binary_code_bytes(const struct elf *e, const struct binary *b)
{
	uint8_t *bytes = xmalloc(b->ncode ? b->ncode : 1);
	for (size_t i = 0; i < b->text.n; i++) {
		const struct text *t = &b->text.p[i];
		memcpy(bytes + t->pos, binary_elf_at(e, t->addr, t->len), t->len);
	}
	return bytes;
}

static void decode_file(struct binary *b, struct elf *e)
{
	struct build build = { .elf = e, .out = b };
	uint8_t *bytes;
	for (size_t i = 0; i < b->text.n; i++)
		b->ncode += b->text.p[i].len;
	b->code = xcalloc(BITS_WORDS(b->ncode) + 1, sizeof *b->code);
	b->pm = xcalloc(BITS_WORDS(b->ncode) + 1, sizeof *b->pm);
	bytes = binary_code_bytes(e, b);
	build.bytes = bytes;
	binary_decode_start(&build);
	binary_symbols_functions(&build);
	for (size_t i = 0; i < b->func.n; i++)
		binary_decode_function(&build, &b->func.p[i]);
	binary_graph_build(&build);
	binary_decode_end(&build);
	VEC_FREE(&build.insn);
	VEC_FREE(&build.way);
	VEC_FREE(&build.work);
	VEC_FREE(&build.unknown_jumps);
	hmap_free(&build.import_of);
	free(build.slot);
	free(bytes);
}

static void identify(struct binary *b, const struct elf *e)
{
	b->id = hash_bytes(e->p, e->n);
	for (size_t i = 0; i < e->nid; i++)
		snprintf(b->build_id + 2 * i, 3, "%02x", e->id[i]);
	if (!e->nid)
		snprintf(b->build_id, sizeof b->build_id, "%016llx", (unsigned long long)b->id);
}

struct binary *binary_open(const char *path, const char *cache, struct err *err)
{
	struct elf e;
	if (binary_elf_open(&e, path, err))
		return NULL;
	struct binary *b = xcalloc(1, sizeof *b);
	identify(b, &e);
	if (!cache || !binary_cache_load(b, cache)) {
		b->flags = (e.libc ? BINARY_LIBC : 0) | (e.linker ? BINARY_LINKER : 0);
		for (size_t i = 0; i < e.load.n; i++)
			VEC_PUSH(&b->load, e.load.p[i]);
		for (size_t i = 0; i < e.text.n; i++)
			VEC_PUSH(&b->text, e.text.p[i]);
		decode_file(b, &e);
		if (cache)
			binary_cache_save(b, cache);
	}
	binary_elf_close(&e);
	binary_show(b);
	return b;
}

void binary_drop(struct binary *b)
{
	VEC_FREE(&b->load);
	VEC_FREE(&b->text);
	VEC_FREE(&b->func);
	VEC_FREE(&b->block);
	VEC_FREE(&b->edge);
	VEC_FREE(&b->import);
	VEC_FREE(&b->export);
	buf_free(&b->names);
	free(b->code);
	free(b->pm);
	free(b->shown);
	b->code = b->pm = NULL;
	b->shown = NULL;
}

void binary_free(struct binary *b)
{
	if (!b)
		return;
	binary_drop(b);
	free(b);
}

size_t binary_functions(const struct binary *b)
{
	return b->func.n;
}

const struct binary_function *binary_function(const struct binary *b, size_t i)
{
	return i < b->func.n ? &b->shown[i] : NULL;
}

const struct binary_function *binary_function_at(const struct binary *b, uint64_t addr)
{
	uint32_t pos = binary_pos(b, addr);
	uint32_t i = pos == NONE ? NONE : binary_func_of(b, pos);
	return i == NONE ? NULL : &b->shown[i];
}

size_t binary_blocks(const struct binary *b)
{
	return b->block.n;
}

size_t binary_instructions(const struct binary *b)
{
	return b->ninsn;
}

size_t binary_pm_instructions(const struct binary *b)
{
	return b->npm;
}

bool binary_is_code(const struct binary *b, uint64_t addr)
{
	uint32_t pos = binary_pos(b, addr);
	return pos != NONE && bit_get(b->code, pos);
}
