/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A chained hash table whose entries come from a heap with boundary words.
 *
 *	line 0		magic
 *	line 1..8	bucket heads, one word each: offset of an entry's payload, or 0
 *	4096 + 48	the heap: glue, payload, glue, payload, ...
 *
 * The glue before each payload is 16 bytes: one word says how large the payload is and whether it is in use, the
 * other is of use only while the program runs. Payloads begin with a cache line, so the glue is at the end of the line
 * before, which belongs to somebody else.
 *
 * An entry is linked when it is complete and persistent. What is in use but not linked after a crash is given
 * back when the pool is opened. The heap ends where a glue word is zero.
 */
#include "common/corpus.h"
#include "common/pm.h"

#include <stdlib.h>
#include <string.h>

#include "holdfast.h"

#define GLUE_MAGIC	0x3165756c67676c75ull
#define NR_BUCKETS	64u
#define HEAP_START	(4096u + 48u)
#define HEAP_SIZE	(96u * 1024u)
#define POOL_SIZE	(4096u + HEAP_SIZE)

#define GLUE_USED	1u
#define SMALL_PAYLOAD	48u
#define LARGE_PAYLOAD	112u	/* reaches into a second line */

struct glue {
	uint64_t size_flags;
	uint64_t hits;		/* since the pool was opened; only in a variant */
};

struct entry {
	uint64_t key;
	uint64_t value;
	uint64_t next;		/* payload offset */
	uint64_t nr_copies;
	uint64_t copy[];	/* of the value: an entry is as long as its key wants */
};

struct pool_head {
	struct PM_ALIGNED {
		uint64_t magic;
	} id;
	uint64_t bucket[NR_BUCKETS] PM_ALIGNED;
	struct PM_ALIGNED {
		uint64_t nr_used;	/* only in a variant */
	} stat;
	struct PM_ALIGNED {
		uint64_t heap;		/* only in variants: where the heap ends, 0 if it is empty */
	} end;
};

struct heap {
	struct pool_head *head;
	char *base;
	uint64_t end;		/* only in variants */
};

static struct glue *glue_at(struct heap *h, uint64_t off)
{
	return (struct glue *)(h->base + off);
}

static struct glue *glue_of(struct heap *h, uint64_t payload)
{
	return glue_at(h, payload - sizeof(struct glue));
}

static struct entry *entry_at(struct heap *h, uint64_t payload)
{
	return (struct entry *)(h->base + payload);
}

static uint64_t glue_size(const struct glue *g)
{
	return g->size_flags & ~15ull;
}

static int glue_used(const struct glue *g)
{
	return g->size_flags & GLUE_USED;
}

/* Is there room for this glue and its payload, and is the size one of ours? */
static int glue_sane(struct heap *h, uint64_t off)
{
	uint64_t size = glue_size(glue_at(h, off));

	return (size == SMALL_PAYLOAD || size == LARGE_PAYLOAD) && off + sizeof(struct glue) + size <= POOL_SIZE;
}

static uint64_t glue_next(struct heap *h, uint64_t off)
{
	return off + sizeof(struct glue) + glue_size(glue_at(h, off));
}

static void count_used(struct heap *h, uint64_t n)
{
#if defined(TRAP_GLUE_NR_USED)
	h->head->stat.nr_used += n;	/* TRAP(glue-nr-used) */
#else
	(void)h;
	(void)n;
#endif
}

#if defined(BUG_GLUE_END_LATE) || defined(TRAP_GLUE_END)
#define HEAP_HAS_END	1
#else
#define HEAP_HAS_END	0
#endif

/* Remembers where the heap ends. */
static void heap_save_end(struct heap *h)
{
	if (!HEAP_HAS_END || h->head->end.heap == h->end)
		return;
	pm_store64(&h->head->end.heap, h->end);	/* BUG(glue-end-late) TRAP(glue-end) */
	pm_persist(&h->head->end.heap, sizeof(uint64_t));
}

/*
 * heap_alloc - find room, or make it at the end of the heap
 *
 * The glue word is stored, flushed and fenced before anything relies on it; no other word of the heap changes.
 */
static uint64_t heap_alloc(struct heap *h, uint64_t size)
{
	uint64_t off = HEAP_START;
	struct glue *g;

	while (off + sizeof(*g) + size <= POOL_SIZE) {
		g = glue_at(h, off);
		if (HEAP_HAS_END && off == h->end)
			break;
		if (!g->size_flags || (!glue_used(g) && glue_size(g) == size))
			break;
		off = glue_next(h, off);
	}
	if (off + sizeof(*g) + size > POOL_SIZE)
		return 0;
	g = glue_at(h, off);
	pm_store64(&g->size_flags, size | GLUE_USED);	/* BUG(glue-word-unflushed) TRAP(glue-one-fence) */
#if defined(BUG_GLUE_WORD_UNFLUSHED)
	pm_fence();
#elif defined(TRAP_GLUE_ONE_FENCE)
	pm_flush(&g->size_flags, sizeof(g->size_flags));
#else
	pm_persist(&g->size_flags, sizeof(g->size_flags));
#endif
	if (HEAP_HAS_END && off == h->end)
		h->end = glue_next(h, off);
#ifdef TRAP_GLUE_END
	heap_save_end(h);
#endif
	count_used(h, 1);
	return off + sizeof(*g);
}

static void heap_free(struct heap *h, uint64_t payload)
{
	struct glue *g = glue_of(h, payload);

	pm_store64(&g->size_flags, glue_size(g));	/* BUG(glue-free-unfenced) BUG(glue-free-early) */
#ifdef BUG_GLUE_FREE_UNFENCED
	pm_flush(&g->size_flags, sizeof(g->size_flags));
#else
	pm_persist(&g->size_flags, sizeof(g->size_flags));
#endif
#ifdef BUG_GLUE_FREE_FENCE
	pm_fence();	/* BUG(glue-free-fence) */
#endif
	count_used(h, -1ull);
}

static uint64_t *bucket_of(struct heap *h, uint64_t key)
{
	return &h->head->bucket[key * 0x9e3779b97f4a7c15ull >> 58];
}

static uint64_t *link_of(struct heap *h, uint64_t key)
{
	uint64_t *link = bucket_of(h, key);

	while (*link && entry_at(h, *link)->key != key)
		link = &entry_at(h, *link)->next;
	return link;
}

static uint64_t copies_of(uint64_t key)
{
	return key % 3 ? 2 : 10;
}

static uint64_t payload_of(uint64_t copies)
{
	return sizeof(struct entry) + copies * sizeof(uint64_t);
}

static void entry_init(struct entry *e, uint64_t key, uint64_t value, uint64_t next)
{
	uint64_t i, n = copies_of(key);

	e->key = key;
	e->value = value;
	e->next = next;
	e->nr_copies = n;
	for (i = 0; i < n; i++)
		pm_store64(&e->copy[i], value + i);	/* BUG(glue-entry-short) */
}

static int entry_add(struct heap *h, uint64_t key, uint64_t value, uint64_t *link, uint64_t next)
{
	uint64_t size = payload_of(copies_of(key)), payload = heap_alloc(h, size);
	struct entry *e;

	if (!payload)
		return 0;
	e = entry_at(h, payload);
	entry_init(e, key, value, next);
#if defined(BUG_GLUE_ENTRY_SHORT)
	pm_persist(e, sizeof(*e));
#elif defined(BUG_GLUE_WHOLE_BLOCK)
	pm_persist(glue_of(h, payload), sizeof(struct glue) + size);	/* BUG(glue-whole-block) */
#else
	pm_persist(e, size);
#endif
	pm_store64(link, payload);
	pm_persist(link, sizeof(*link));
	heap_save_end(h);
	return 1;
}

/* ---- operations ---- */

static enum corpus_result glue_get(void *store, uint64_t key, uint64_t *out)
{
	struct heap *h = store;
	uint64_t at = *link_of(h, key);

	if (!at)
		return CORPUS_NONE;
	*out = entry_at(h, at)->value;
#ifdef TRAP_GLUE_HITS
	glue_of(h, at)->hits++;	/* TRAP(glue-hits) */
#endif
	return CORPUS_VALUE;
}

/* A new entry takes the place of the old one, and of its link to the next. */
static enum corpus_result glue_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct heap *h = store;
	uint64_t *link = link_of(h, key), old = *link;

	if (!old)
		return CORPUS_NONE;
	*out = entry_at(h, old)->value;
	if (!entry_add(h, key, value, link, entry_at(h, old)->next))
		return CORPUS_FULL;
	heap_free(h, old);
	return CORPUS_OLD;
}

static enum corpus_result glue_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct heap *h = store;
	enum corpus_result result = glue_upd(h, key, value, out);

	if (result != CORPUS_NONE)
		return result;
	return entry_add(h, key, value, bucket_of(h, key), *bucket_of(h, key)) ? CORPUS_NEW : CORPUS_FULL;
}

static enum corpus_result glue_del(void *store, uint64_t key, uint64_t *out)
{
	struct heap *h = store;
	uint64_t *link = link_of(h, key), old = *link;

	if (!old)
		return CORPUS_NONE;
	*out = entry_at(h, old)->value;
#ifdef BUG_GLUE_FREE_EARLY
	heap_free(h, old);
#endif
	pm_store64(link, entry_at(h, old)->next);
	pm_persist(link, sizeof(*link));
#ifndef BUG_GLUE_FREE_EARLY
	heap_free(h, old);
#endif
	return CORPUS_OLD;
}

/* ---- recovery and check ---- */

/* Is this a payload that the heap has, in use, and large enough for what it says? */
static int payload_sane(struct heap *h, uint64_t payload)
{
	const struct entry *e;
	uint64_t off = HEAP_START;

	while (off + sizeof(struct glue) < POOL_SIZE && off + sizeof(struct glue) < payload && glue_sane(h, off))
		off = glue_next(h, off);
	if (off + sizeof(struct glue) != payload || !glue_sane(h, off) || !glue_used(glue_at(h, off)))
		return 0;
	e = entry_at(h, payload);
	return e->nr_copies == copies_of(e->key) && payload_of(e->nr_copies) == glue_size(glue_at(h, off));
}

static void check_entry(struct heap *h, uint64_t payload, unsigned bucket)
{
	const struct entry *e = entry_at(h, payload);

	if (bucket_of(h, e->key) != &h->head->bucket[bucket])
		corpus_wrong("key %lu is in bucket %u", e->key, bucket);
	for (uint64_t i = 0; i < e->nr_copies; i++)
		if (e->copy[i] != e->value + i)
			corpus_wrong("copy %lu of key %lu is damaged", i, e->key);
}

/* Visits all entries, and marks them in a table by payload. 0: something is wrong. */
static int walk(struct heap *h, char *seen, int report)
{
	for (unsigned i = 0; i < NR_BUCKETS; i++) {
		for (uint64_t at = h->head->bucket[i]; at; at = entry_at(h, at)->next) {
			if (!payload_sane(h, at) || seen[at / 16]) {
				if (report)
					corpus_wrong("bucket %u leads to 0x%lx", i, at);
				return 0;
			}
			seen[at / 16] = 1;
			if (report)
				check_entry(h, at, i);
		}
	}
	return 1;
}

static void glue_check(void *store)
{
	struct heap *h = store;
	char *seen = calloc(1, POOL_SIZE / 16);
	uint64_t off = HEAP_START;

	if (walk(h, seen, 1))
		for (; off + sizeof(struct glue) < POOL_SIZE && glue_at(h, off)->size_flags; off = glue_next(h, off)) {
			if (!glue_sane(h, off)) {
				corpus_wrong("the heap is broken at 0x%lx", off);
				break;
			}
			if (glue_used(glue_at(h, off)) && !seen[off / 16 + 1])
				corpus_wrong("the payload at 0x%lx is lost", off + sizeof(struct glue));
		}
	free(seen);
}

/* Gives back what nothing leads to. */
static void recover(struct heap *h)
{
	char *seen = calloc(1, POOL_SIZE / 16);
	uint64_t off = HEAP_START;

	if (walk(h, seen, 0))
		for (; off + sizeof(struct glue) < POOL_SIZE && glue_sane(h, off); off = glue_next(h, off)) {
			struct glue *g = glue_at(h, off);

			if (glue_used(g) && !seen[off / 16 + 1]) {
				pm_store64(&g->size_flags, glue_size(g));
				pm_persist(&g->size_flags, sizeof(g->size_flags));
			} else if (glue_used(g)) {
				count_used(h, 1);
#ifdef TRAP_GLUE_HITS
				g->hits = 0;
#endif
			}
		}
	free(seen);
}

static void *glue_open(const char *path)
{
	struct heap *h = calloc(1, sizeof(*h));
	int fresh;

	h->base = corpus_pool_map(path, POOL_SIZE, GLUE_MAGIC, NULL, &fresh);
	if (!h->base) {
		free(h);
		return NULL;
	}
	h->head = (struct pool_head *)h->base;
	if (fresh) {
		pm_store64(&h->head->id.magic, GLUE_MAGIC);
		pm_persist(&h->head->id.magic, sizeof(h->head->id.magic));
	}
#ifdef TRAP_GLUE_NR_USED
	h->head->stat.nr_used = 0;
#endif
	h->end = h->head->end.heap ? h->head->end.heap : HEAP_START;
	recover(h);
	return h;
}

static void glue_close(void *store)
{
	struct heap *h = store;

	corpus_pool_unmap(h->base, POOL_SIZE);
	free(h);
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		.name = "glue",
		.open = glue_open,
		.close = glue_close,
		.check = glue_check,
		.put = glue_put,
		.get = glue_get,
		.del = glue_del,
		.upd = glue_upd,
	};

	return corpus_main(&program, argc, argv);
}
