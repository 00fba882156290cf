/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sorted list on libpmemobj's atomic lists, used as an ordered key-value store.
 *
 *   root     ready, active list, spare list, (hits)
 *   item     key, thirteen words computed from the key, value, links
 *
 * There are no transactions here: each call of the list API is atomic by itself, and everything else is
 * written and made persistent by hand. A new item is filled in by its constructor, before the list
 * shows it. A deleted item goes over to the spare list, and from there back to the active one when a key
 * is inserted; while it is spare its contents mean nothing, so it can be filled in at leisure. When there
 * are enough spare items a deleted item is freed. A value is replaced by one eight-byte store.
 */
#include "common/corpus.h"
#include "common/pm.h"
#include "common/pobj.h"

#include "holdfast.h"

#define READY 0x3174736c6a626f70ull
#define LAYOUT "corpus-list"
#define SPARE_MAX 3u
#define EXTRA 13u

POBJ_LAYOUT_BEGIN(list);
POBJ_LAYOUT_ROOT(list, struct root);
POBJ_LAYOUT_TOID(list, struct item);
POBJ_LAYOUT_END(list);

struct item {
	uint64_t key;
	uint64_t extra[EXTRA];
	uint64_t value;
	POBJ_LIST_ENTRY(struct item) links;
};

POBJ_LIST_HEAD(items, struct item);

struct root {
	uint64_t ready;
	struct items active;
	struct items spare;
#if defined(BUG_LIST_HITS) || defined(TRAP_LIST_HITS)
	uint64_t room[8];
	uint64_t hits[8];
	uint64_t more_room[8];
#endif
};

struct list {
	PMEMobjpool *pop;
	struct root *root;
	uint64_t last_key; /* of the last upd */
};

static __attribute__((noinline)) uint64_t extra_of(uint64_t key, unsigned int i)
{
	uint64_t h = (key + i) * 0x9e3779b97f4a7c15ull;

	return (h ^ h >> 29) | 1;
}

/* The last item with a key not above this one, or null. */
static TOID(struct item) find_place(struct list *list, uint64_t key)
{
	TOID(struct item) item, place = TOID_NULL(struct item);

	POBJ_LIST_FOREACH(item, &list->root->active, links) {
		if (D_RO(item)->key > key)
			break;
		place = item;
	}
	return place;
}

static struct item *find(struct list *list, uint64_t key, TOID(struct item) *place)
{
	*place = find_place(list, key);
	return !TOID_IS_NULL(*place) && D_RO(*place)->key == key ? D_RW(*place) : NULL;
}

static void fill(struct item *item, const struct corpus_pair *pair)
{
	item->key = pair->key;
	for (unsigned int i = 0; i < EXTRA; i++)
		item->extra[i] = extra_of(pair->key, i);
	item->value = pair->value;
}

static int construct(PMEMobjpool *pop, void *object, void *arg)
{
	struct item *item = object;
	const struct corpus_pair *pair = arg;

	item->key = pair->key; /* BUG(list-construct-unpersisted) */
	for (unsigned int i = 0; i < EXTRA; i++)
		item->extra[i] = extra_of(pair->key, i); /* BUG(list-construct-short) */
	item->value = pair->value;
#if defined(BUG_LIST_CONSTRUCT_UNPERSISTED)
	(void)pop;
#elif defined(BUG_LIST_CONSTRUCT_SHORT)
	pmemobj_persist(pop, item, sizeof(item->key));
#else
	pmemobj_persist(pop, item, offsetof(struct item, links));
#endif
#ifdef BUG_LIST_DRAIN_TWICE
	pmemobj_drain(pop); /* BUG(list-drain-twice) */
#endif
	return 0;
}

static void move_to_active(struct list *list, TOID(struct item) item, TOID(struct item) place)
{
	struct root *root = list->root;

	if (TOID_IS_NULL(place))
		POBJ_LIST_MOVE_ELEMENT_HEAD(list->pop, &root->spare, &root->active, item, links, links);
	else
		POBJ_LIST_MOVE_ELEMENT_AFTER(list->pop, &root->spare, &root->active, place, item, links,
					     links);
}

/* Inserts a spare item behind `place`. */
static void insert_spare(struct list *list, TOID(struct item) place, const struct corpus_pair *pair)
{
	TOID(struct item) spare = POBJ_LIST_FIRST(&list->root->spare);
	struct item *item = D_RW(spare);

#ifdef BUG_LIST_REUSE_LATE
	move_to_active(list, spare, place); /* BUG(list-reuse-late) */
#endif
	fill(item, pair); /* BUG(list-reuse-wrong-object) */
#ifdef BUG_LIST_REUSE_WRONG_OBJECT
	if (!TOID_IS_NULL(place))
		pmemobj_persist(list->pop, D_RW(place), offsetof(struct item, links));
	else
#endif
		pmemobj_persist(list->pop, item, offsetof(struct item, links));
#ifndef BUG_LIST_REUSE_LATE
	move_to_active(list, spare, place);
#endif
}

static int insert_new(struct list *list, TOID(struct item) place, struct corpus_pair *pair)
{
	struct items *active = &list->root->active;
	PMEMoid oid;

	if (TOID_IS_NULL(place))
		oid = POBJ_LIST_INSERT_NEW_HEAD(list->pop, active, links, sizeof(struct item), construct, pair);
	else
		oid = POBJ_LIST_INSERT_NEW_AFTER(list->pop, active, place, links, sizeof(struct item),
						 construct, pair);
	return !OID_IS_NULL(oid);
}

static void set_value(struct list *list, struct item *item, uint64_t value)
{
#ifdef BUG_LIST_TORN_VALUE
	typedef uint32_t half_word __attribute__((may_alias));

	*(volatile half_word *)&item->value = (uint32_t)value; /* BUG(list-torn-value) */
	*((volatile half_word *)&item->value + 1) = (uint32_t)(value >> 32);
#else
	pm_store64(&item->value, value);
#endif
	pmemobj_persist(list->pop, &item->value, sizeof(item->value));
#ifdef BUG_LIST_PERSIST_TWICE
	pmemobj_persist(list->pop, &item->value, sizeof(item->value)); /* BUG(list-persist-twice) */
#endif
}

static enum corpus_result list_get(void *store, uint64_t key, uint64_t *out)
{
	struct list *list = store;
	TOID(struct item) place;
	struct item *item = find(list, key, &place);

	if (!item)
		return CORPUS_NONE;
#if defined(BUG_LIST_HITS) || defined(TRAP_LIST_HITS)
	list->root->hits[key % 8]++; /* BUG(list-hits) */ /* TRAP(list-hits-volatile) */
#endif
	*out = item->value;
	return CORPUS_VALUE;
}

static enum corpus_result list_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct list *list = store;
	TOID(struct item) place;
	struct item *item = find(list, key, &place);
	struct corpus_pair pair = { key, value };

#ifdef BUG_LIST_ASSIGN_LATER
	pair.value = key; /* so that there is something */
#endif
	if (item) {
		*out = item->value;
		set_value(list, item, value);
		return CORPUS_OLD;
	}
	if (!POBJ_LIST_EMPTY(&list->root->spare))
		insert_spare(list, place, &pair);
	else if (!insert_new(list, place, &pair)) /* BUG(list-assign-later) */
		return CORPUS_FULL;
#ifdef BUG_LIST_ASSIGN_LATER
	set_value(list, find(list, key, &place), value);
#endif
	return CORPUS_NEW;
}

static enum corpus_result list_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct list *list = store;
	TOID(struct item) place;
	struct item *item = find(list, key, &place);

	if (!item)
		return CORPUS_NONE;
	*out = item->value;
	list->last_key = key;
#ifdef BUG_LIST_FLUSH_VOLATILE
	pmemobj_flush(list->pop, &list->last_key, sizeof(list->last_key)); /* BUG(list-flush-volatile) */
#endif
	pm_store64(&item->value, value); /* BUG(list-upd-unfenced) */ /* BUG(list-upd-unflushed) */
#ifndef BUG_LIST_UPD_UNFLUSHED
	pmemobj_flush(list->pop, &item->value, sizeof(item->value));
#endif
#ifndef BUG_LIST_UPD_UNFENCED
	pmemobj_drain(list->pop);
#endif
	return CORPUS_OLD;
}

static unsigned int count_spare(struct list *list)
{
	TOID(struct item) item;
	unsigned int n = 0;

	POBJ_LIST_FOREACH(item, &list->root->spare, links)
		n++;
	return n;
}

static enum corpus_result list_del(void *store, uint64_t key, uint64_t *out)
{
	struct list *list = store;
	struct root *root = list->root;
	TOID(struct item) place;
	struct item *item = find(list, key, &place);

	if (!item)
		return CORPUS_NONE;
	*out = item->value;
	if (count_spare(list) < SPARE_MAX) {
		POBJ_LIST_MOVE_ELEMENT_HEAD(list->pop, &root->active, &root->spare, place, links, links);
		return CORPUS_OLD;
	}
#ifdef BUG_LIST_FREE_LATER
	POBJ_LIST_REMOVE(list->pop, &root->active, place, links);
	POBJ_FREE(&place); /* BUG(list-free-later) */
#else
	POBJ_LIST_REMOVE_FREE(list->pop, &root->active, place, links);
#endif
	return CORPUS_OLD;
}

static size_t list_scan(void *store, uint64_t key, size_t n, struct corpus_pair *out)
{
	struct list *list = store;
	TOID(struct item) item;
	size_t found = 0;

	POBJ_LIST_FOREACH(item, &list->root->active, links) {
		if (found == n)
			break;
		if (D_RO(item)->key >= key)
			out[found++] = (struct corpus_pair){ D_RO(item)->key, D_RO(item)->value };
	}
	return found;
}

static void check_item(const struct item *item, uint64_t previous_key)
{
	if (item->key <= previous_key)
		corpus_wrong("key %lu behind key %lu", item->key, previous_key);
	if (item->value == 0)
		corpus_wrong("key %lu has no value", item->key);
	for (unsigned int i = 0; i < EXTRA; i++)
		if (item->extra[i] != extra_of(item->key, i))
			corpus_wrong("key %lu: word %u is damaged", item->key, i);
}

/* Walks around one of the lists, forwards, and looks whether the links backwards agree. */
static void check_items(struct pobj_census *census, const struct items *items, int active)
{
	PMEMoid oid = items->pe_first.oid, previous = OID_NULL;
	uint64_t key = 0;
	TOID(struct item) item;

	while (!OID_IS_NULL(oid)) {
		if (!pobj_census_visit(census, oid.off, TOID_TYPE_NUM(struct item), sizeof(struct item)))
			return;
		TOID_ASSIGN(item, oid);
		if (previous.off && D_RO(item)->links.pe_prev.oid.off != previous.off)
			corpus_wrong("the link back from 0x%lx is wrong", oid.off);
		if (active) {
			check_item(D_RO(item), key);
			key = D_RO(item)->key;
		}
		previous = oid;
		oid = D_RO(item)->links.pe_next.oid;
		if (oid.off != items->pe_first.oid.off)
			continue;
		if (D_RO(items->pe_first)->links.pe_prev.oid.off != previous.off)
			corpus_wrong("the first item does not lead back to the last");
		return;
	}
	if (previous.off)
		corpus_wrong("the list is cut off behind 0x%lx", previous.off);
}

static void list_check(void *store)
{
	struct list *list = store;
	struct pobj_census census;

	pobj_census_take(&census, list->pop);
	check_items(&census, &list->root->active, 1);
	check_items(&census, &list->root->spare, 0);
	pobj_census_finish(&census);
}

static void *list_open(const char *path)
{
	PMEMobjpool *pop = pobj_open(path, LAYOUT, READY);
	struct list *list;

	if (!pop)
		return NULL;
	list = calloc(1, sizeof(*list));
	list->pop = pop;
	list->root = pmemobj_direct(pmemobj_root(pop, sizeof(struct root)));
	if (list->root->ready != READY) {
		pm_store64(&list->root->ready, READY);
		pmemobj_persist(pop, &list->root->ready, sizeof(list->root->ready));
	}
#ifdef TRAP_LIST_HITS
	HOLDFAST_VOLATILE(list->root->hits, sizeof(list->root->hits));
#endif
	return list;
}

static void list_close(void *store)
{
	struct list *list = store;

	pmemobj_close(list->pop);
	free(list);
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		.name = "list", .open = list_open, .close = list_close, .check = list_check,
		.put = list_put, .get = list_get, .del = list_del, .upd = list_upd, .scan = list_scan,
	};

	return corpus_main(&program, argc, argv);
}
