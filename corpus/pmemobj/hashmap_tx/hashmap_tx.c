/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A chained hash map on libpmemobj's transactions.
 *
 *   root     ready, table, count
 *   table    number of buckets (a power of two), the buckets
 *   entry    next, key, value, a sum of key and value
 *
 * Every operation is one transaction: each range is added to the undo log before it is first changed, and
 * only once; objects allocated in the transaction are not added. When there are too many or too few
 * entries for the table, a transaction of its own moves all entries to a table of twice or half the
 * size. Links are offsets in the pool, 0 is none. The library undoes what was interrupted; recovery has
 * nothing else to repair.
 */
#include "common/corpus.h"
#include "common/pm.h"
#include "common/pobj.h"

#define READY 0x3178746d68626f70ull
#define LAYOUT "corpus-hashmap-tx"
#define BUCKETS_MIN 4u

enum { TYPE_TABLE = 1, TYPE_ENTRY = 2 };

struct entry {
	uint64_t next;
	uint64_t key;
	uint64_t value;
	uint64_t sum;
};

struct table {
	uint64_t size;
	uint64_t buckets[];
};

struct root {
	uint64_t ready;
	uint64_t table;
	uint64_t count;
#ifdef TRAP_HASHMAP_TX_SAME_VALUE
	uint64_t room[8];
	uint64_t flags;
#endif
};

struct map {
	PMEMobjpool *pop;
	struct root *root;
	uint64_t uuid;
};

static uint64_t mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

static __attribute__((noinline)) uint64_t sum_of(uint64_t key, uint64_t value)
{
	return mix(mix(READY, key), value);
}

static struct entry *entry_at(struct map *map, uint64_t offset)
{
	return (struct entry *)((char *)map->pop + offset);
}

static struct table *table_at(struct map *map, uint64_t offset)
{
	return (struct table *)((char *)map->pop + offset);
}

static PMEMoid oid_of(struct map *map, uint64_t offset)
{
	return (PMEMoid){ map->uuid, offset };
}

static uint64_t *bucket_of(struct table *table, uint64_t key)
{
	return &table->buckets[mix(0, key) & (table->size - 1)];
}

/* The word that leads to the entry with this key, or the 0 at the end of its chain. */
static uint64_t *find(struct map *map, uint64_t key)
{
	uint64_t *link = bucket_of(table_at(map, map->root->table), key);

	while (*link && entry_at(map, *link)->key != key)
		link = &entry_at(map, *link)->next;
	return link;
}

static void begin(struct map *map)
{
	if (pmemobj_tx_begin(map->pop, NULL, TX_PARAM_NONE) != 0)
		abort();
}

static void commit(void)
{
	pmemobj_tx_commit();
	pmemobj_tx_end();
}

static void add(const void *range, size_t size)
{
	if (pmemobj_tx_add_range_direct(range, size) != 0)
		abort();
}

static void fill(struct entry *entry, uint64_t key, uint64_t value)
{
	entry->key = key;
	entry->value = value;
	entry->sum = sum_of(key, value);
}

static __attribute__((noinline)) void set_count(struct map *map, uint64_t count)
{
#if !defined(BUG_HASHMAP_TX_COUNT_UNLOGGED)
	add(&map->root->count, sizeof(map->root->count));
#endif
	map->root->count = count; /* BUG(hashmap-tx-count-unlogged) */
}

static void move_entries(struct map *map, struct table *from, struct table *to)
{
	for (uint64_t i = 0; i < from->size; i++) {
		for (uint64_t next, offset = from->buckets[i]; offset; offset = next) {
			struct entry *entry = entry_at(map, offset);
			uint64_t *bucket = bucket_of(to, entry->key);

			next = entry->next;
			if (next != *bucket) {
#ifdef BUG_HASHMAP_TX_MOVE_LATE
				entry->next = *bucket; /* BUG(hashmap-tx-move-late) */
				add(&entry->next, sizeof(entry->next));
#else
				add(&entry->next, sizeof(entry->next));
				entry->next = *bucket;
#endif
			}
			*bucket = offset;
		}
	}
}

/* Moves everything to a table of another size. When there is no memory for it, the old one will do. */
static void resize(struct map *map, uint64_t size)
{
	uint64_t old = map->root->table;
	PMEMoid oid;

	begin(map);
	oid = pmemobj_tx_xalloc(sizeof(struct table) + size * 8, TYPE_TABLE, POBJ_XALLOC_ZERO |
				POBJ_XALLOC_NO_ABORT);
	if (OID_IS_NULL(oid)) {
		commit();
		return;
	}
	table_at(map, oid.off)->size = size;
	move_entries(map, table_at(map, old), table_at(map, oid.off));
#ifdef BUG_HASHMAP_TX_RESIZE_TWO
	commit(); /* BUG(hashmap-tx-resize-two) */
	begin(map);
#endif
	add(&map->root->table, sizeof(map->root->table));
	map->root->table = oid.off;
#ifdef BUG_HASHMAP_TX_TABLE_LEAK
	commit();
	oid = oid_of(map, old);
	pmemobj_free(&oid); /* BUG(hashmap-tx-table-leak) */
#else
	pmemobj_tx_free(oid_of(map, old));
	commit();
#endif
}

static enum corpus_result map_get(void *store, uint64_t key, uint64_t *out)
{
	struct map *map = store;
	uint64_t offset = *find(map, key);

	if (!offset)
		return CORPUS_NONE;
	*out = entry_at(map, offset)->value;
	return CORPUS_VALUE;
}

#ifdef TRAP_HASHMAP_TX_FRONT
/* What was used last is found first. */
static void to_front(struct map *map, uint64_t *link)
{
	struct entry *entry = entry_at(map, *link);
	uint64_t offset = *link, *bucket = bucket_of(table_at(map, map->root->table), entry->key);

	if (link == bucket)
		return;
	add(link, sizeof(*link));
	*link = entry->next;
	add(&entry->next, sizeof(entry->next));
	entry->next = *bucket;
	add(bucket, sizeof(*bucket));
	*bucket = offset; /* TRAP(hashmap-tx-front) */
}
#endif

static enum corpus_result map_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct map *map = store;
	uint64_t offset = *find(map, key);
	struct entry *entry = entry_at(map, offset);

	if (!offset)
		return CORPUS_NONE;
	*out = entry->value;
	begin(map);
#if defined(BUG_HASHMAP_TX_UPD_LATE)
	entry->value = value; /* BUG(hashmap-tx-upd-late) */
	add(&entry->value, 2 * sizeof(entry->value));
#elif defined(BUG_HASHMAP_TX_NO_FLUSH)
	if (pmemobj_tx_xadd_range_direct(&entry->value, 2 * sizeof(entry->value), POBJ_XADD_NO_FLUSH) != 0)
		abort();
	entry->value = value; /* BUG(hashmap-tx-no-flush) */
#elif defined(BUG_HASHMAP_TX_UPD_SHORT)
	add(&entry->value, sizeof(entry->value));
	entry->value = value;
#else
	add(&entry->value, 2 * sizeof(entry->value));
	entry->value = value;
#endif
	entry->sum = sum_of(key, value); /* BUG(hashmap-tx-upd-short) */
#ifdef TRAP_HASHMAP_TX_FRONT
	to_front(map, find(map, key));
#endif
	commit();
	return CORPUS_OLD;
}

static enum corpus_result map_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct map *map = store;
	uint64_t *bucket;
	struct entry *entry;
	PMEMoid oid;

	if (*find(map, key))
		return map_upd(store, key, value, out);
	if (map->root->count >= 2 * table_at(map, map->root->table)->size)
		resize(map, 2 * table_at(map, map->root->table)->size);
	bucket = bucket_of(table_at(map, map->root->table), key);
	begin(map);
	oid = pmemobj_tx_xalloc(sizeof(*entry), TYPE_ENTRY, POBJ_XALLOC_NO_ABORT);
	if (OID_IS_NULL(oid)) {
		commit();
		return CORPUS_FULL;
	}
	entry = entry_at(map, oid.off);
#ifdef BUG_HASHMAP_TX_ENTRY_ADDED
	add(entry, sizeof(*entry)); /* BUG(hashmap-tx-entry-added) */
#endif
#ifndef TRAP_HASHMAP_TX_FRESH
	fill(entry, key, value);
#endif
	entry->next = *bucket;
	add(bucket, sizeof(*bucket));
#ifdef BUG_HASHMAP_TX_BUCKET_TWICE
	if (*bucket)
		add(bucket, sizeof(*bucket)); /* BUG(hashmap-tx-bucket-twice) */
#endif
	*bucket = oid.off;
#ifdef TRAP_HASHMAP_TX_FRESH
	/* Bucket and entry become valid together, at the commit: their order before it does not matter. */
	fill(entry, key, value); /* TRAP(hashmap-tx-fresh) */
#endif
#ifdef BUG_HASHMAP_TX_COUNT_OUTSIDE
	commit();
	map->root->count++; /* BUG(hashmap-tx-count-outside) */
	pmemobj_persist(map->pop, &map->root->count, sizeof(map->root->count));
#else
	set_count(map, map->root->count + 1);
	commit();
#endif
	return CORPUS_NEW;
}

static enum corpus_result map_del(void *store, uint64_t key, uint64_t *out)
{
	struct map *map = store;
	uint64_t *link = find(map, key), size = table_at(map, map->root->table)->size, offset = *link;
	PMEMoid oid = oid_of(map, offset);

	if (!offset)
		return CORPUS_NONE;
	*out = entry_at(map, offset)->value;
	begin(map);
	add(link, sizeof(*link));
	*link = entry_at(map, offset)->next;
#ifdef BUG_HASHMAP_TX_FREE_ATOMIC
	pmemobj_free(&oid); /* BUG(hashmap-tx-free-atomic) */
#else
	pmemobj_tx_free(oid);
#endif
	set_count(map, map->root->count - 1);
	commit();
	if (size > BUCKETS_MIN && map->root->count < size / 2)
		resize(map, size / 2);
	return CORPUS_OLD;
}

static uint64_t check_chain(struct map *map, struct pobj_census *census, struct table *table, uint64_t *bucket)
{
	uint64_t count = 0;

	for (uint64_t offset = *bucket; offset; offset = entry_at(map, offset)->next) {
		struct entry *entry = entry_at(map, offset);

		if (!pobj_census_visit(census, offset, TYPE_ENTRY, sizeof(*entry)))
			break;
		if (entry->sum != sum_of(entry->key, entry->value))
			corpus_wrong("the entry of key %lu is damaged", entry->key);
		if (bucket_of(table, entry->key) != bucket)
			corpus_wrong("key %lu is in the wrong bucket", entry->key);
		count++;
	}
	return count;
}

static void map_check(void *store)
{
	struct map *map = store;
	struct root *root = map->root;
	struct table *table = table_at(map, root->table);
	struct pobj_census census;
	uint64_t count = 0;

	pobj_census_take(&census, map->pop);
	if (pobj_census_visit(&census, root->table, TYPE_TABLE, sizeof(*table))) {
		size_t room = pmemobj_alloc_usable_size(oid_of(map, root->table)) / 8 - 1;

		if (table->size < BUCKETS_MIN || table->size & (table->size - 1) || table->size > room)
			corpus_wrong("the table has %lu buckets", table->size);
		else
			for (uint64_t i = 0; i < table->size; i++)
				count += check_chain(map, &census, table, &table->buckets[i]);
	}
	if (count != root->count)
		corpus_wrong("count is %lu but there are %lu", root->count, count);
	pobj_census_finish(&census);
}

/* The first table and the word that says so appear in one transaction. */
static void format(struct map *map)
{
	PMEMoid oid;

	begin(map);
	oid = pmemobj_tx_zalloc(sizeof(struct table) + BUCKETS_MIN * 8, TYPE_TABLE);
	if (OID_IS_NULL(oid))
		abort();
	table_at(map, oid.off)->size = BUCKETS_MIN;
	add(map->root, 2 * sizeof(uint64_t));
	map->root->ready = READY;
	map->root->table = oid.off;
	commit();
}

static void *map_open(const char *path)
{
	PMEMobjpool *pop = pobj_open(path, LAYOUT, READY);
	struct map *map;
	PMEMoid root;

	if (!pop)
		return NULL;
	map = malloc(sizeof(*map));
	map->pop = pop;
	root = pmemobj_root(pop, sizeof(struct root));
	map->root = pmemobj_direct(root);
	map->uuid = root.pool_uuid_lo;
#ifdef TRAP_HASHMAP_TX_SAME_VALUE
	/* No transaction: a new root object is zero already. */
	map->root->flags = 0; /* TRAP(hashmap-tx-same-value) */
	pmemobj_persist(pop, &map->root->flags, sizeof(map->root->flags));
#endif
	if (map->root->ready != READY)
		format(map);
	return map;
}

static void map_close(void *store)
{
	struct map *map = store;

	pmemobj_close(map->pop);
	free(map);
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		.name = "hashmap_tx", .open = map_open, .close = map_close, .check = map_check,
		.put = map_put, .get = map_get, .del = map_del, .upd = map_upd,
	};

	return corpus_main(&program, argc, argv);
}
