/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * AGAMOTTO's listings, each as a function of one small store. The clean program has all of them right.
 *
 *   line 0   magic ("header")        line 1   number of cells ("pool")        line 2   size of the array
 *   4096     the array: one line per key, holding its object id (an offset into the pool), 0 if none
 *   8192     the cells: one line each, key and value
 *
 *   listing 1   put of a new key: the cell (x) is persistent before the id that names it (y) is stored
 *   listing 2   del of a key that is not the last: its id is cleared, and persisted
 *   listing 3   the array grows and shrinks in place: new elements are cleared and flushed, one line each,
 *               under one fence
 *   listing 4   creation: the pool's data is persistent before its header makes it valid
 *   listing 7   upd (and put of a known key): store, clwb, sfence, at an index the input decides
 *
 * Every change takes effect with one eight-byte store: of an id, of the size, or of a value. Which
 * cells are free is not stored; opening the pool finds out.
 */
#include "common/corpus.h"
#include "common/pm.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC 0x7473696c77617268ull
#define CELLS 64u
#define ARRAY_START 4096u
#define CELLS_START (ARRAY_START + CELLS * PM_LINE)
#define POOL_SIZE (CELLS_START + CELLS * PM_LINE)

struct PM_ALIGNED word {
	uint64_t v;
};

struct PM_ALIGNED cell {
	uint64_t key;
	uint64_t value;
};

struct header {
	struct word magic;
	struct word pool;
	struct word size;
};

struct store {
	char *base;
	struct header *header;
	struct word *array; /* of object ids; key K has element K - 1 */
	unsigned char taken[CELLS];
};

static struct cell *cell_of(const struct store *s, uint64_t oid)
{
	return (struct cell *)(s->base + oid);
}

static uint64_t oid_at(uint64_t index)
{
	return CELLS_START + index * PM_LINE;
}

static uint64_t index_of(uint64_t oid)
{
	return (oid - CELLS_START) / PM_LINE;
}

/* The key's object id, 0 when there is none. */
static uint64_t find(const struct store *s, uint64_t key)
{
	return key <= s->header->size.v ? s->array[key - 1].v : 0;
}

/* Listing 1: x, then y. */
static void insert(struct store *s, uint64_t oid, uint64_t *y, uint64_t key, uint64_t value)
{
	struct cell *x = cell_of(s, oid);

	x->key = key;
	x->value = value;
	pm_clwb(x);
#ifndef BUG_LISTINGS_1
	pm_sfence();
#endif
	pm_store64(y, oid); /* BUG(listings-1) */
	pm_clwb(y);
	pm_sfence();
}

/* Listing 2. */
static void clear(uint64_t *oid, int if_free)
{
	if (if_free != 0) {
		pm_store64(oid, 0); /* BUG(listings-2) */
#ifndef BUG_LISTINGS_2
		pm_clwb(oid);
		pm_sfence();
#endif
	}
}

/* Listing 3. */
static void resize(struct store *s, size_t new_size)
{
	size_t size = s->header->size.v;

	/* if size >= new_size, nothing is written */
	for (size_t i = size; i < new_size; i++)
		pm_store64(&s->array[i].v, 0);
#ifdef BUG_LISTINGS_3
	/* when new_size < size, the difference is negative, and unsigned */
	for (size_t i = 0; i < new_size - size && i + size < CELLS; i++)
		pm_clwb(&s->array[i + size]); /* BUG(listings-3) */
	pm_sfence();
#else
	for (size_t i = size; i < new_size; i++)
		pm_clwb(&s->array[i]);
	if (size < new_size)
		pm_sfence();
#endif
	pm_store64(&s->header->size.v, new_size);
	pm_clwb(&s->header->size);
	pm_sfence();
}

/* Listing 4. */
static void create(struct header *h)
{
#ifdef BUG_LISTINGS_4
	pm_store64(&h->magic.v, MAGIC); /* BUG(listings-4) */
	pm_clwb(&h->magic);
	pm_sfence();
#endif
	pm_store64(&h->pool.v, CELLS);
	pm_clwb(&h->pool);
	pm_sfence();
#ifndef BUG_LISTINGS_4
	pm_store64(&h->magic.v, MAGIC);
	pm_clwb(&h->magic);
	pm_sfence();
#endif
}

/* Listing 7: reading changes nothing, writing must fence. */
static uint64_t use(struct cell *pbuf, uint64_t x, int do_read, uint64_t a)
{
	if (do_read) {
		a = pbuf[x].value;
	} else {
		pm_store64(&pbuf[x].value, a); /* BUG(listings-7) */
		pm_clwb(&pbuf[x]);
#ifndef BUG_LISTINGS_7
		pm_sfence();
#endif
	}
	return a;
}

static enum corpus_result listings_get(void *store, uint64_t key, uint64_t *out)
{
	struct store *s = store;
	uint64_t oid = find(s, key);

	if (!oid)
		return CORPUS_NONE;
	*out = use(cell_of(s, CELLS_START), index_of(oid), 1, 0);
	return CORPUS_VALUE;
}

static enum corpus_result listings_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct store *s = store;

	if (listings_get(store, key, out) == CORPUS_NONE)
		return CORPUS_NONE;
	use(cell_of(s, CELLS_START), index_of(find(s, key)), 0, value);
	return CORPUS_OLD;
}

static enum corpus_result listings_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct store *s = store;
	uint64_t i = 0;

	if (listings_upd(store, key, value, out) == CORPUS_OLD)
		return CORPUS_OLD;
	while (i < CELLS && s->taken[i])
		i++;
	if (key > CELLS || i == CELLS)
		return CORPUS_FULL;
	if (key > s->header->size.v)
		resize(s, key);
	insert(s, oid_at(i), &s->array[key - 1].v, key, value);
	s->taken[i] = 1;
	return CORPUS_NEW;
}

/* The last element goes by making the array shorter, any other by clearing its id. */
static enum corpus_result listings_del(void *store, uint64_t key, uint64_t *out)
{
	struct store *s = store;
	uint64_t oid = find(s, key);
	int is_last = key == s->header->size.v;

	if (listings_get(store, key, out) == CORPUS_NONE)
		return CORPUS_NONE;
	if (is_last)
		resize(s, key - 1);
	clear(&s->array[key - 1].v, !is_last);
	s->taken[index_of(oid)] = 0;
	return CORPUS_OLD;
}

static size_t listings_scan(void *store, uint64_t key, size_t n, struct corpus_pair *out)
{
	struct store *s = store;
	size_t found = 0;

	for (; found < n && key <= s->header->size.v; key++)
		if (find(s, key))
			out[found++] = (struct corpus_pair){key, cell_of(s, find(s, key))->value};
	return found;
}

/* Is this an object id at all? */
static int plausible(uint64_t oid)
{
	return oid % PM_LINE == 0 && oid >= CELLS_START && oid < POOL_SIZE;
}

static void find_taken(struct store *s)
{
	memset(s->taken, 0, sizeof(s->taken));
	for (uint64_t i = 0; i < s->header->size.v && i < CELLS; i++)
		if (plausible(s->array[i].v))
			s->taken[index_of(s->array[i].v)] = 1;
}

static void listings_check(void *store)
{
	struct store *s = store;
	unsigned char seen[CELLS] = {0};

	if (s->header->pool.v != CELLS)
		corpus_wrong("the pool has %lu cells", s->header->pool.v);
	if (s->header->size.v > CELLS) {
		corpus_wrong("size %lu is out of range", s->header->size.v);
		return;
	}
	for (uint64_t key = 1; key <= s->header->size.v; key++) {
		uint64_t oid = find(s, key);

		if (!oid)
			continue;
		if (!plausible(oid)) {
			corpus_wrong("key %lu has the object id %lu", key, oid);
			continue;
		}
		if (seen[index_of(oid)]++)
			corpus_wrong("key %lu shares its cell", key);
		if (cell_of(s, oid)->key != key || !cell_of(s, oid)->value)
			corpus_wrong("the cell of key %lu is not its own", key);
	}
}

static void *listings_open(const char *path)
{
	int fresh;
	char *base = corpus_pool_map(path, POOL_SIZE, MAGIC, NULL, &fresh);
	struct store *s;

	if (!base)
		return NULL;
	s = malloc(sizeof(*s));
	s->base = base;
	s->header = (struct header *)base;
	s->array = (struct word *)(base + ARRAY_START);
	if (fresh)
		create(s->header);
	find_taken(s);
	return s;
}

static void listings_close(void *store)
{
	struct store *s = store;

	corpus_pool_unmap(s->base, POOL_SIZE);
	free(s);
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		.name = "listings", .open = listings_open, .close = listings_close, .check = listings_check,
		.put = listings_put, .get = listings_get, .del = listings_del, .upd = listings_upd,
		.scan = listings_scan,
	};

	return corpus_main(&program, argc, argv);
}
