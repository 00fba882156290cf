/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hash map on libpmemobj's atomic API: no transactions, each call is atomic by itself.
 *
 *   root     in lines of their own: ready, seed, two tables, `current` (the one in use), count, dirty
 *   table    generation, number of buckets, the buckets, each an atomic list
 *   entry    key, seven words computed from the key, value, links
 *
 * An insertion or deletion is one call of the list API. The count cannot change with it; so `dirty` is
 * set before and cleared after, and recovery counts anew when it finds it set. A rehash allocates a larger
 * table of the next generation in the other place, moves the entries one by one, changes `current` and
 * frees the old table. When recovery finds two tables and the one not in use is the younger, it goes on
 * moving; when it is the older, it has been emptied and is freed.
 */
#include "common/corpus.h"
#include "common/pm.h"
#include "common/pobj.h"

#include <string.h>

#include "holdfast.h"

#define READY 0x316d7461686d6f70ull
#define SEED 0x5bd1e9955bd1e995ull
#define LAYOUT "corpus-hashmap-atomic"
#define BUCKETS_MIN 2u
#define WORDS 7u

POBJ_LAYOUT_BEGIN(map);
POBJ_LAYOUT_ROOT(map, struct root);
POBJ_LAYOUT_TOID(map, struct table);
POBJ_LAYOUT_TOID(map, struct entry);
POBJ_LAYOUT_END(map);

struct entry {
	uint64_t key;
	uint64_t words[WORDS];
	uint64_t value;
	POBJ_LIST_ENTRY(struct entry) links;
};

POBJ_LIST_HEAD(bucket, struct entry);

struct table {
	uint64_t generation;
	uint64_t size;
	struct bucket buckets[];
};

struct root {
	uint64_t ready;
	uint64_t room0[8];
	uint64_t seed;
	uint64_t room1[8];
	TOID(struct table) tables[2];
	uint64_t room2[8];
	uint64_t current;
	uint64_t room3[8];
	uint64_t count;
	uint64_t room4[8];
	uint64_t dirty; /* count may be wrong */
};

struct map {
	PMEMobjpool *pop;
	struct root *root;
};

static __attribute__((noinline)) uint64_t word_of(uint64_t key, uint64_t i)
{
	uint64_t h = (key + i) * 0x9e3779b97f4a7c15ull;

	return (h ^ h >> 29) | 1;
}

static struct table *table_of(struct map *map, uint64_t which)
{
	return D_RW(map->root->tables[which]);
}

static struct bucket *bucket_of(struct map *map, struct table *table, uint64_t key)
{
	return &table->buckets[word_of(key, map->root->seed) >> 20 & (table->size - 1)];
}

static TOID(struct entry) find(struct map *map, uint64_t key, struct bucket **bucket)
{
	TOID(struct entry) entry;

	*bucket = bucket_of(map, table_of(map, map->root->current), key);
	POBJ_LIST_FOREACH(entry, *bucket, links)
		if (D_RO(entry)->key == key)
			return entry;
	return TOID_NULL(struct entry);
}

static int construct_entry(PMEMobjpool *pop, void *object, void *arg)
{
	struct entry *entry = object;
	const struct corpus_pair *pair = arg;

	entry->key = pair->key;
	for (unsigned int i = 0; i < WORDS; i++)
		entry->words[i] = word_of(pair->key, i); /* BUG(hashmap-atomic-entry-drained) */
	entry->value = pair->value;
#ifdef BUG_HASHMAP_ATOMIC_ENTRY_DRAINED
	pmemobj_drain(pop);
#else
	pmemobj_persist(pop, entry, offsetof(struct entry, links));
#endif
	return 0;
}

static int construct_table(PMEMobjpool *pop, void *object, void *arg)
{
	struct table *table = object, *model = arg;

	table->generation = model->generation;
	table->size = model->size;
	memset(table->buckets, 0, table->size * sizeof(struct bucket));
	pmemobj_persist(pop, table, sizeof(*table) + table->size * sizeof(struct bucket));
	return 0;
}

static int create_table(struct map *map, uint64_t which, uint64_t generation, uint64_t size)
{
	struct table model = { .generation = generation, .size = size };

	return POBJ_ALLOC(map->pop, &map->root->tables[which], struct table,
			  sizeof(struct table) + size * sizeof(struct bucket), construct_table, &model);
}

static void move_entries(struct map *map, struct table *from, struct table *to)
{
	for (uint64_t i = 0; i < from->size; i++) {
		struct bucket *bucket = &from->buckets[i];

		while (!POBJ_LIST_EMPTY(bucket)) {
			TOID(struct entry) entry = POBJ_LIST_FIRST(bucket);
			struct bucket *other = bucket_of(map, to, D_RO(entry)->key);

			POBJ_LIST_MOVE_ELEMENT_HEAD(map->pop, bucket, other, entry, links, links); /* BUG(hashmap-atomic-rehash-dropped) */
		}
	}
}

static void set_current(struct map *map, uint64_t current)
{
	pm_store64(&map->root->current, current); /* BUG(hashmap-atomic-switch-early) */ /* BUG(hashmap-atomic-switch-unpersisted) */ /* BUG(hashmap-atomic-old-table-leak) */
#ifndef BUG_HASHMAP_ATOMIC_SWITCH_UNPERSISTED
	pmemobj_persist(map->pop, &map->root->current, sizeof(map->root->current));
#endif
}

/* Moves the entries from the table in use to the other one, and uses that. */
static void finish_rehash(struct map *map)
{
	uint64_t old = map->root->current;

#ifdef BUG_HASHMAP_ATOMIC_SWITCH_EARLY
	set_current(map, !old);
	move_entries(map, table_of(map, old), table_of(map, !old));
#else
	move_entries(map, table_of(map, old), table_of(map, !old));
	set_current(map, !old);
#endif
	POBJ_FREE(&map->root->tables[old]);
}

static void set_dirty(struct map *map)
{
#ifdef TRAP_HASHMAP_ATOMIC_COUNT
	return;
#endif
	map->root->dirty = 1; /* BUG(hashmap-atomic-dirty-unpersisted) */
#ifndef BUG_HASHMAP_ATOMIC_DIRTY_UNPERSISTED
	pmemobj_persist(map->pop, &map->root->dirty, sizeof(map->root->dirty));
#endif
}

/* Sets the count and then says that it is right again. */
static void set_count(struct map *map, uint64_t count)
{
	map->root->count = count; /* BUG(hashmap-atomic-count-wrong-field) */ /* TRAP(hashmap-atomic-count) */
#if defined(BUG_HASHMAP_ATOMIC_COUNT_WRONG_FIELD)
	pmemobj_persist(map->pop, &map->root->dirty, sizeof(map->root->dirty));
#elif !defined(TRAP_HASHMAP_ATOMIC_COUNT)
	pmemobj_persist(map->pop, &map->root->count, sizeof(map->root->count));
#endif
#ifndef TRAP_HASHMAP_ATOMIC_COUNT
	map->root->dirty = 0;
	pmemobj_persist(map->pop, &map->root->dirty, sizeof(map->root->dirty));
#endif
}

static enum corpus_result map_get(void *store, uint64_t key, uint64_t *out)
{
	struct bucket *bucket;
	TOID(struct entry) entry = find(store, key, &bucket);

	if (TOID_IS_NULL(entry))
		return CORPUS_NONE;
	*out = D_RO(entry)->value;
	return CORPUS_VALUE;
}

static enum corpus_result map_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct map *map = store;
	struct bucket *bucket;
	TOID(struct entry) entry = find(map, key, &bucket);

	if (TOID_IS_NULL(entry))
		return CORPUS_NONE;
	*out = D_RO(entry)->value;
	pm_store64(&D_RW(entry)->value, value);
#ifdef BUG_HASHMAP_ATOMIC_UPD_WHOLE
	pmemobj_persist(map->pop, D_RW(entry), sizeof(struct entry)); /* BUG(hashmap-atomic-upd-whole) */
#else
	pmemobj_persist(map->pop, &D_RW(entry)->value, sizeof(uint64_t));
#endif
	return CORPUS_OLD;
}

static enum corpus_result map_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct map *map = store;
	struct root *root = map->root;
	struct table *table = table_of(map, root->current);
	struct corpus_pair pair = { key, value };
	struct bucket *bucket;
	PMEMoid oid;

	if (!TOID_IS_NULL(find(map, key, &bucket)))
		return map_upd(store, key, value, out);
	if (root->count >= 3 * table->size &&
	    create_table(map, !root->current, table->generation + 1, table->size * 2) == 0) {
		finish_rehash(map);
		bucket = bucket_of(map, table_of(map, root->current), key);
	}
#ifdef BUG_HASHMAP_ATOMIC_COUNT_FIRST
	root->count++; /* BUG(hashmap-atomic-count-first) */
	pmemobj_persist(map->pop, &root->count, sizeof(root->count));
#else
	set_dirty(map);
#endif
	oid = POBJ_LIST_INSERT_NEW_HEAD(map->pop, bucket, links, sizeof(struct entry), construct_entry, &pair); /* BUG(hashmap-atomic-no-recount) */
#ifndef BUG_HASHMAP_ATOMIC_COUNT_FIRST
	set_count(map, root->count + !OID_IS_NULL(oid));
#endif
	return OID_IS_NULL(oid) ? CORPUS_FULL : CORPUS_NEW;
}

static enum corpus_result map_del(void *store, uint64_t key, uint64_t *out)
{
	struct map *map = store;
	struct bucket *bucket;
	TOID(struct entry) entry = find(map, key, &bucket);

	if (TOID_IS_NULL(entry))
		return CORPUS_NONE;
	*out = D_RO(entry)->value;
	set_dirty(map);
	POBJ_LIST_REMOVE_FREE(map->pop, bucket, entry, links);
	set_count(map, map->root->count - 1);
	return CORPUS_OLD;
}

static uint64_t count_entries(struct map *map)
{
	struct table *table = table_of(map, map->root->current);
	TOID(struct entry) entry;
	uint64_t count = 0;

	for (uint64_t i = 0; i < table->size; i++)
		POBJ_LIST_FOREACH(entry, &table->buckets[i], links)
			count++;
	return count;
}

static uint64_t check_bucket(struct map *map, struct pobj_census *census, struct table *table,
			     struct bucket *bucket)
{
	TOID(struct entry) entry;
	uint64_t count = 0;

	POBJ_LIST_FOREACH(entry, bucket, links) {
		if (!pobj_census_visit(census, entry.oid.off, TOID_TYPE_NUM(struct entry), sizeof(struct entry)))
			break;
		if (bucket_of(map, table, D_RO(entry)->key) != bucket)
			corpus_wrong("key %lu is in the wrong bucket", D_RO(entry)->key);
		if (D_RO(entry)->key == 0 || D_RO(entry)->value == 0)
			corpus_wrong("key %lu has value %lu", D_RO(entry)->key, D_RO(entry)->value);
		for (unsigned int i = 0; i < WORDS; i++)
			if (D_RO(entry)->words[i] != word_of(D_RO(entry)->key, i))
				corpus_wrong("key %lu: word %u is damaged", D_RO(entry)->key, i);
		count++;
	}
	return count;
}

static void map_check(void *store)
{
	struct map *map = store;
	struct root *root = map->root;
	TOID(struct table) table = root->tables[root->current & 1];
	struct pobj_census census;
	uint64_t count = 0;

	pobj_census_take(&census, map->pop);
	if (root->current > 1)
		corpus_wrong("the current table is %lu", root->current);
	if (pobj_census_visit(&census, table.oid.off, TOID_TYPE_NUM(struct table), sizeof(struct table))) {
		size_t room = (pmemobj_alloc_usable_size(table.oid) - sizeof(struct table)) / sizeof(struct bucket);

		if (D_RO(table)->size < BUCKETS_MIN || D_RO(table)->size > room)
			corpus_wrong("the table has %lu buckets", D_RO(table)->size);
		else
			for (uint64_t i = 0; i < D_RO(table)->size; i++)
				count += check_bucket(map, &census, D_RW(table), &D_RW(table)->buckets[i]);
	}
	if (count != root->count)
		corpus_wrong("count is %lu but there are %lu", root->count, count);
	pobj_census_finish(&census);
}

static void recover(struct map *map)
{
	struct root *root = map->root;

	if (root->current > 1 || TOID_IS_NULL(root->tables[root->current]))
		return; /* nothing can be done; the check will say so */
	if (!TOID_IS_NULL(root->tables[!root->current])) {
#if defined(BUG_HASHMAP_ATOMIC_REHASH_DROPPED)
		POBJ_FREE(&root->tables[!root->current]);
#else
		if (table_of(map, !root->current)->generation > table_of(map, root->current)->generation)
			finish_rehash(map);
#ifdef BUG_HASHMAP_ATOMIC_OLD_TABLE_LEAK
		else
			TOID_ASSIGN(root->tables[!root->current], OID_NULL);
#else
		else
			POBJ_FREE(&root->tables[!root->current]);
#endif
#endif
	}
#if defined(TRAP_HASHMAP_ATOMIC_COUNT)
	HOLDFAST_VOLATILE(&root->count, sizeof(root->count));
	root->count = count_entries(map);
#else
	if (root->dirty) {
		uint64_t count = count_entries(map);

#ifdef BUG_HASHMAP_ATOMIC_NO_RECOUNT
		count = root->count;
#endif
		set_count(map, count);
	}
#endif
}

static int format(struct map *map)
{
	struct root *root = map->root;

	root->seed = SEED; /* BUG(hashmap-atomic-seed-unpersisted) */
#ifndef BUG_HASHMAP_ATOMIC_SEED_UNPERSISTED
	pmemobj_persist(map->pop, &root->seed, sizeof(root->seed));
#endif
	if (TOID_IS_NULL(root->tables[0]) && create_table(map, 0, 1, BUCKETS_MIN) != 0)
		return -1;
#if defined(TRAP_HASHMAP_ATOMIC_COUNT)
	HOLDFAST_VOLATILE(&root->count, sizeof(root->count));
#endif
	pm_store64(&root->ready, READY);
	pmemobj_persist(map->pop, &root->ready, sizeof(root->ready));
	return 0;
}

static void map_close(void *store)
{
	struct map *map = store;

	pmemobj_close(map->pop);
	free(map);
}

static void *map_open(const char *path)
{
	PMEMobjpool *pop = pobj_open(path, LAYOUT, READY);
	struct map *map;

	if (!pop)
		return NULL;
	map = malloc(sizeof(*map));
	map->pop = pop;
	map->root = pmemobj_direct(pmemobj_root(pop, sizeof(struct root)));
	if (map->root->ready == READY) {
		recover(map);
	} else if (format(map) != 0) {
		map_close(map);
		return NULL;
	}
	return map;
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		.name = "hashmap_atomic", .open = map_open, .close = map_close, .check = map_check,
		.put = map_put, .get = map_get, .del = map_del, .upd = map_upd,
	};

	return corpus_main(&program, argc, argv);
}
