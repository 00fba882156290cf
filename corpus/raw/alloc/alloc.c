/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pool with a header, a block allocator and a directory of named objects.
 *
 *   line 0     magic
 *   line 1     geometry: where directory and heap are, and how large
 *   line 2     search hint (only in some variants)
 *   line 3     redo log: committed count        line 4   its entries, up to 4 (offset, value)
 *   512        bitmap: one bit per heap block
 *   1024       directory: the number of objects, then one offset per key
 *   4096       heap: blocks of 64 bytes
 *
 * An object takes 1-4 blocks in a row, all covered by one bitmap word. put writes the object into
 * free blocks; then the bitmap words, the directory slot and the number of objects must change
 * together. That is what the redo log is for: the new words are written to the log, made persistent
 * together with the object, and the log's count is set (the commit); then the words are written to
 * their places, and the count cleared. Recovery repeats a committed log.
 */
#include "common/corpus.h"
#include "common/pm.h"

#include <stdlib.h>
#include <string.h>

#include "holdfast.h"

#define MAGIC 0x31636f6c6c617268ull
#define BITMAP_START 512u
#define DIRECTORY_START 1024u
#define SLOTS 256u
#define HEAP_START 4096u
#define BLOCK 64u
#define BLOCKS 2048u
#define POOL_SIZE (HEAP_START + BLOCKS * BLOCK)
#define OBJECT_BLOCKS_MAX 4u
#define LOG_MAX 4u

struct header {
	struct PM_ALIGNED {
		uint64_t magic;
	} id;
	struct PM_ALIGNED {
		uint64_t directory;
		uint64_t slots;
		uint64_t heap;
		uint64_t blocks;
	} geometry;
	struct PM_ALIGNED {
		uint64_t word; /* bitmap word to start the search at; any value will do */
	} hint;
	struct PM_ALIGNED {
		uint64_t committed;
	} log;
	struct {
		uint64_t offset;
		uint64_t value;
	} entry[LOG_MAX] PM_ALIGNED;
};

_Static_assert(sizeof(struct header) == 5 * PM_LINE, "as drawn above");

struct object {
	uint64_t key;
	uint64_t value;
	uint64_t blocks;
	uint64_t payload[]; /* the rest of the blocks */
};

struct heap {
	struct header *header;
	char *base;
	uint64_t *bitmap;
	uint64_t *directory; /* [0] is the number of objects, [key] an object's offset or 0 */
	unsigned logged;     /* entries of the operation under way */
};

static uint64_t payload_word(uint64_t key, uint64_t value, uint64_t i)
{
	return (key << 32 ^ value) * (2 * i + 0x9e3779b97f4a7c15ull);
}

static uint64_t payload_words(uint64_t blocks)
{
	return (blocks * BLOCK - sizeof(struct object)) / 8;
}

static struct object *object_at(const struct heap *h, uint64_t offset)
{
	return (struct object *)(h->base + offset);
}

/* The bits of `blocks` blocks from the one at `offset`, within their bitmap word. */
static uint64_t bits_of(uint64_t offset, uint64_t blocks)
{
	return ((1ull << blocks) - 1) << ((offset - HEAP_START) / BLOCK % 64);
}

static uint64_t *word_of(const struct heap *h, uint64_t offset)
{
	return &h->bitmap[(offset - HEAP_START) / BLOCK / 64];
}

/* ---- redo log ---- */

static void log_word(struct heap *h, const uint64_t *word, uint64_t value)
{
	h->header->entry[h->logged].offset = (uint64_t)((const char *)word - h->base);
	h->header->entry[h->logged].value = value;
	h->logged++;
}

static void log_apply(struct heap *h, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t *word = (uint64_t *)(h->base + h->header->entry[i].offset);

		pm_store64(word, h->header->entry[i].value); /* BUG(alloc-no-redo) */
		if (i + 1 == n || h->header->entry[i + 1].offset / PM_LINE !=
					  h->header->entry[i].offset / PM_LINE)
			pm_flush(word, sizeof(*word));
	}
#ifndef BUG_ALLOC_CLEAR_EARLY
	pm_fence();
#endif
	pm_store64(&h->header->log.committed, 0); /* BUG(alloc-clear-unfenced) BUG(alloc-clear-early) */
	pm_flush(&h->header->log, sizeof(h->header->log));
}

/* The entries and all that is flushed, the object included, become persistent; then the commit. */
static void log_commit(struct heap *h)
{
	pm_flush(h->header->entry, h->logged * sizeof(h->header->entry[0]));
#ifndef BUG_ALLOC_COMMIT_UNFENCED
	pm_fence();
#endif
	pm_store64(&h->header->log.committed, h->logged); /* BUG(alloc-commit-unfenced) */
	pm_persist(&h->header->log, sizeof(h->header->log));
	log_apply(h, h->logged);
#ifndef BUG_ALLOC_CLEAR_UNFENCED
	pm_fence();
#endif
	h->logged = 0;
}

/* ---- allocator ---- */

/* Finds `blocks` free blocks in a row within one bitmap word; 0 when there are none. */
static uint64_t find_blocks(struct heap *h, uint64_t blocks)
{
	uint64_t start = 0;

#if defined(BUG_ALLOC_HINT) || defined(TRAP_ALLOC_HINT) || defined(TRAP_ALLOC_HINT_FLUSHED)
	start = h->header->hint.word % (BLOCKS / 64);
#endif
	for (uint64_t i = 0; i < BLOCKS / 64; i++) {
		uint64_t index = (start + i) % (BLOCKS / 64), word = h->bitmap[index];

		for (uint64_t bit = 0; bit + blocks <= 64; bit++) {
			if (word >> bit & ((1ull << blocks) - 1))
				continue;
#if defined(BUG_ALLOC_HINT) || defined(TRAP_ALLOC_HINT) || defined(TRAP_ALLOC_HINT_FLUSHED)
			h->header->hint.word = index; /* BUG(alloc-hint) TRAP(alloc-hint-volatile) */
#endif
#ifdef TRAP_ALLOC_HINT_FLUSHED
			pm_flush(&h->header->hint, sizeof(h->header->hint)); /* TRAP(alloc-hint-flushed) */
#endif
			return HEAP_START + (index * 64 + bit) * BLOCK;
		}
	}
	return 0;
}

/* Writes an object into free blocks (flushed, not fenced) and returns its offset, or 0. */
static uint64_t create_object(struct heap *h, uint64_t key, uint64_t value)
{
	uint64_t blocks = value % OBJECT_BLOCKS_MAX + 1, offset = find_blocks(h, blocks);
	struct object *o = object_at(h, offset);

	if (!offset)
		return 0;
	o->key = key;
	o->value = value;
	o->blocks = blocks;
	for (uint64_t i = 0; i < payload_words(blocks); i++)
		o->payload[i] = payload_word(key, value, i); /* BUG(alloc-object-late) BUG(alloc-large-short) */
#ifdef BUG_ALLOC_LARGE_SHORT
	pm_flush(o, blocks < OBJECT_BLOCKS_MAX ? blocks * BLOCK : (blocks - 1) * BLOCK);
#elif !defined(BUG_ALLOC_OBJECT_LATE)
	pm_flush(o, blocks * BLOCK);
#endif
#ifdef BUG_ALLOC_FLUSH_VOLATILE
	pm_flush(&h->logged, sizeof(h->logged)); /* BUG(alloc-flush-volatile) */
#endif
	return offset;
}

static uint64_t bits_of_object(const struct heap *h, uint64_t offset)
{
	return offset ? bits_of(offset, object_at(h, offset)->blocks) : 0;
}

/* Logs the bitmap words for taking the object at `taken` and freeing that at `freed`; 0 is none. */
static void log_bitmap(struct heap *h, uint64_t taken, uint64_t freed)
{
	uint64_t *set = taken ? word_of(h, taken) : NULL, *clear = freed ? word_of(h, freed) : NULL;
	uint64_t set_bits = bits_of_object(h, taken), clear_bits = bits_of_object(h, freed);

	if (set == clear) {
		log_word(h, set, (*set | set_bits) & ~clear_bits);
		return;
	}
	if (set)
		log_word(h, set, *set | set_bits);
	if (clear)
		log_word(h, clear, *clear & ~clear_bits);
}

#if defined(BUG_ALLOC_FREE_LATER) || defined(BUG_ALLOC_TWO_WORDS)
/* Frees at once, without the log. */
static void free_now(struct heap *h, uint64_t offset)
{
	uint64_t *word = word_of(h, offset);

	pm_store64(word, *word & ~bits_of_object(h, offset)); /* BUG(alloc-free-later) */
	pm_persist(word, sizeof(*word));
}
#endif

/* ---- operations ---- */

static enum corpus_result alloc_get(void *store, uint64_t key, uint64_t *out)
{
	struct heap *h = store;

	if (key == 0 || key >= SLOTS || !h->directory[key])
		return CORPUS_NONE;
	*out = object_at(h, h->directory[key])->value;
	return CORPUS_VALUE;
}

static enum corpus_result alloc_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct heap *h = store;
	int existed = alloc_get(store, key, out) == CORPUS_VALUE;
	uint64_t offset = key && key < SLOTS ? create_object(h, key, value) : 0;
	uint64_t old = existed ? h->directory[key] : 0;

	if (!offset)
		return CORPUS_FULL;
#ifdef BUG_ALLOC_FREE_LATER
	log_bitmap(h, offset, 0);
#else
	log_bitmap(h, offset, old);
#endif
	log_word(h, &h->directory[key], offset);
	if (!existed)
		log_word(h, &h->directory[0], h->directory[0] + 1);
	log_commit(h);
#ifdef BUG_ALLOC_OBJECT_LATE
	pm_persist(object_at(h, offset), object_at(h, offset)->blocks * BLOCK);
#endif
#ifdef BUG_ALLOC_FREE_LATER
	if (existed)
		free_now(h, old);
#endif
#ifdef BUG_ALLOC_FLUSH_CLEAN
	pm_flush(&h->header->geometry, sizeof(h->header->geometry)); /* BUG(alloc-flush-clean) */
#endif
	return existed ? CORPUS_OLD : CORPUS_NEW;
}

static enum corpus_result alloc_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	if (alloc_get(store, key, out) == CORPUS_NONE)
		return CORPUS_NONE;
	return alloc_put(store, key, value, out);
}

static enum corpus_result alloc_del(void *store, uint64_t key, uint64_t *out)
{
	struct heap *h = store;

	if (alloc_get(store, key, out) == CORPUS_NONE)
		return CORPUS_NONE;
#ifdef BUG_ALLOC_TWO_WORDS
	uint64_t offset = h->directory[key];

	pm_store64(&h->directory[key], 0); /* BUG(alloc-two-words) */
	pm_persist(&h->directory[key], sizeof(uint64_t));
	pm_store64(&h->directory[0], h->directory[0] - 1);
	pm_persist(&h->directory[0], sizeof(uint64_t));
	free_now(h, offset);
#else
	log_bitmap(h, 0, h->directory[key]);
	log_word(h, &h->directory[key], 0);
	log_word(h, &h->directory[0], h->directory[0] - 1);
	log_commit(h);
#endif
	return CORPUS_OLD;
}

/* ---- opening, recovery, check ---- */

static void format(struct heap *h)
{
	struct header *header = h->header;

#ifdef BUG_ALLOC_HEADER_FIRST
	pm_store64(&header->id.magic, MAGIC); /* BUG(alloc-header-first) */
	pm_persist(&header->id, sizeof(header->id));
#endif
	header->geometry.directory = DIRECTORY_START;
	header->geometry.slots = SLOTS;
	header->geometry.heap = HEAP_START;
	header->geometry.blocks = BLOCKS;
	pm_persist(&header->geometry, sizeof(header->geometry));
#ifndef BUG_ALLOC_HEADER_FIRST
	pm_store64(&header->id.magic, MAGIC);
	pm_persist(&header->id, sizeof(header->id));
#endif
}

static void recover(struct heap *h)
{
	uint64_t n = h->header->log.committed;

	if (n == 0)
		return;
	if (n > LOG_MAX) {
		corpus_wrong("redo log claims %lu entries", n);
		return;
	}
	for (uint64_t i = 0; i < n; i++) {
		if (h->header->entry[i].offset >= BITMAP_START &&
		    h->header->entry[i].offset < HEAP_START)
			continue;
		corpus_wrong("redo log entry %lu points to %lu", i, h->header->entry[i].offset);
		return;
	}
#ifdef BUG_ALLOC_NO_REDO
	pm_store64(&h->header->log.committed, 0);
	pm_flush(&h->header->log, sizeof(h->header->log));
#else
	log_apply(h, n);
#endif
	pm_fence();
}

static int object_ok(const struct heap *h, uint64_t key, uint64_t offset)
{
	const struct object *o;

	if (offset < HEAP_START || offset >= POOL_SIZE || offset % BLOCK)
		return 0;
	o = object_at(h, offset);
	if (o->key != key || o->blocks != o->value % OBJECT_BLOCKS_MAX + 1 ||
	    offset + o->blocks * BLOCK > POOL_SIZE)
		return 0;
	for (uint64_t i = 0; i < payload_words(o->blocks); i++)
		if (o->payload[i] != payload_word(key, o->value, i))
			return 0;
	return 1;
}

static void alloc_check(void *store)
{
	struct heap *h = store;
	uint64_t used[BLOCKS / 64] = { 0 }, objects = 0, bits, *word;

	if (h->header->geometry.directory != DIRECTORY_START ||
	    h->header->geometry.slots != SLOTS || h->header->geometry.heap != HEAP_START ||
	    h->header->geometry.blocks != BLOCKS)
		corpus_wrong("geometry in the header is wrong");
	for (uint64_t key = 1; key < SLOTS; key++) {
		if (!h->directory[key])
			continue;
		objects++;
		if (!object_ok(h, key, h->directory[key])) {
			corpus_wrong("object of key %lu is damaged", key);
			continue;
		}
		bits = bits_of(h->directory[key], object_at(h, h->directory[key])->blocks);
		word = &used[word_of(h, h->directory[key]) - h->bitmap];
		if (*word & bits)
			corpus_wrong("object of key %lu overlaps another", key);
		*word |= bits;
	}
	if (objects != h->directory[0])
		corpus_wrong("%lu objects, but the count is %lu", objects, h->directory[0]);
	for (uint64_t i = 0; i < BLOCKS / 64; i++)
		if (used[i] != h->bitmap[i])
			corpus_wrong("bitmap word %lu is %lx, the objects there take %lx", i,
				     h->bitmap[i], used[i]);
}

static void *alloc_open(const char *path)
{
	int fresh;
	char *base = corpus_pool_map(path, POOL_SIZE, MAGIC, NULL, &fresh);
	struct heap *h;

	if (!base)
		return NULL;
	h = malloc(sizeof(*h));
	*h = (struct heap){ (struct header *)base, base, (uint64_t *)(base + BITMAP_START),
			    (uint64_t *)(base + DIRECTORY_START), 0 };
#if defined(TRAP_ALLOC_HINT) || defined(TRAP_ALLOC_HINT_FLUSHED)
	HOLDFAST_VOLATILE(&h->header->hint, sizeof(h->header->hint));
#endif
	if (fresh)
		format(h);
	recover(h);
	return h;
}

static void alloc_close(void *store)
{
	struct heap *h = store;

	corpus_pool_unmap(h->base, POOL_SIZE);
	free(h);
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		.name = "alloc",
		.open = alloc_open,
		.close = alloc_close,
		.check = alloc_check,
		.put = alloc_put,
		.get = alloc_get,
		.del = alloc_del,
		.upd = alloc_upd,
	};

	return corpus_main(&program, argc, argv);
}
