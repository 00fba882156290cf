/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cache-line hash table: a bucket is one line, so that an item and what makes it valid persist in order.
 *
 *   line 0   magic        line 1   level: the table has 2^level buckets
 *   4096     table of level 1 (2 buckets), table of level 2 (4 buckets), ..., then overflow buckets
 *
 *   bucket   lock | key 0 1 2 | value 0 1 2 | next            8 words, one line
 *
 * A key of 0 is a free place. Everything is decided by one eight-byte store:
 *   insert   the value, then the key, in one line; in a full chain, into a new overflow bucket, which is
 *            persistent before it is linked
 *   update   the value
 *   delete   a key of 0
 *   rehash   write the table of the next level, one half by this thread and one by a helper thread (each
 *            makes its own half persistent); then one store of the level
 * Tables of other levels mean nothing, and an overflow bucket that no chain reaches is free.
 *
 * A chain's lock is in its first bucket. Locks are marked volatile: they are flushed with their line, but
 * nobody cares, for recovery releases them all.
 */
#include "common/corpus.h"
#include "common/pm.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "holdfast.h"

#define MAGIC 0x3174686c63746c63ull
#define FIRST_LEVEL 1u
#define LAST_LEVEL 6u
#define BUCKETS_START 4096u
#define TABLES_SIZE ((2u << LAST_LEVEL) - 2)
#define OVERFLOWS 64u
#define BUCKETS (TABLES_SIZE + OVERFLOWS)
#define POOL_SIZE (BUCKETS_START + BUCKETS * sizeof(struct bucket))
#define SLOTS 3u
#define CHAIN 2u /* longest chain before a rehash, except in the last table */

struct PM_ALIGNED bucket {
	uint64_t lock;
	uint64_t key[SLOTS];
	uint64_t value[SLOTS];
	uint64_t next; /* offset of an overflow bucket, or 0 */
};

struct header {
	struct PM_ALIGNED {
		uint64_t magic;
	} id;
	struct PM_ALIGNED {
		uint64_t level;
		uint64_t mask; /* only in a variant */
		uint64_t top;  /* only in variants: overflow buckets from here on were never used */
	} shape;
};

typedef uint32_t __attribute__((may_alias)) half_word; /* only in a variant */

/* A thread that does one piece of work at a time. It is handed over by plain stores and futex calls, so that
 * no locked instruction fences on anybody's behalf. */
struct helper {
	pthread_t thread;
	int started;
	uint32_t posted; /* pieces of work handed over; UINT32_MAX to end */
	uint32_t done;
	uint64_t level;
};

struct table {
	struct header *header;
	char *base;
	struct bucket *buckets;
	char overflow_used[OVERFLOWS];
	struct helper helper;
};

struct place {
	struct bucket *bucket;
	unsigned slot;
};

static uint64_t hash(uint64_t key)
{
	uint64_t h = key * 0x9e3779b97f4a7c15ull;

	return (h ^ h >> 32) * 0xd6e8feb86659fd93ull >> 24;
}

static struct bucket *table_of(const struct table *t, uint64_t level)
{
	return t->buckets + (1u << level) - 2;
}

static uint64_t mask_of(const struct table *t)
{
#ifdef BUG_CLHT_TWO_WORDS
	return t->header->shape.mask;
#else
	return (1u << t->header->shape.level) - 1;
#endif
}

static struct bucket *head_of(const struct table *t, uint64_t key)
{
	return table_of(t, t->header->shape.level) + (hash(key) & mask_of(t));
}

static struct bucket *next_of(const struct table *t, const struct bucket *b)
{
	return b->next ? (struct bucket *)(t->base + b->next) : NULL;
}

/* Where a key (or, with key 0, a free slot) is in a chain. */
static struct place find(const struct table *t, struct bucket *b, uint64_t key)
{
	for (; b; b = next_of(t, b))
		for (unsigned j = 0; j < SLOTS; j++)
			if (b->key[j] == key)
				return (struct place){b, j};
	return (struct place){NULL, 0};
}

static void lock(struct bucket *b)
{
	while (__atomic_exchange_n(&b->lock, 1, __ATOMIC_ACQUIRE))
		;
}

static void unlock(struct bucket *b)
{
	__atomic_store_n(&b->lock, 0, __ATOMIC_RELEASE); /* BUG(clht-lock-unmarked) */ /* BUG(clht-lock-kept) */
}

static struct bucket *new_overflow(struct table *t)
{
	unsigned i = 0;

	while (i < OVERFLOWS && t->overflow_used[i])
		i++;
	if (i == OVERFLOWS)
		return NULL;
	t->overflow_used[i] = 1;
	return t->buckets + TABLES_SIZE + i;
}

/* Sees to it that an overflow bucket is below the top. */
static void raise_top(struct table *t, const struct bucket *b)
{
#if defined(BUG_CLHT_TOP_LATE) || defined(TRAP_CLHT_TOP)
	uint64_t *top = &t->header->shape.top, above = (uint64_t)(b - t->buckets) - TABLES_SIZE + 1;

	if (above <= *top)
		return;
	pm_store64(top, above); /* BUG(clht-top-late) */ /* TRAP(clht-top) */
	pm_persist(top, sizeof(*top));
#else
	(void)t;
	(void)b;
#endif
}

static uint64_t offset_of(const struct table *t, const struct bucket *b)
{
	return (uint64_t)((const char *)b - t->base);
}

/* ---- rehash ---- */

static void flush_bucket(const struct bucket *b, int helping)
{
#ifdef TRAP_CLHT_CLFLUSH
	if (helping) {
		pm_clflush(b);
		return;
	}
#else
	(void)helping;
#endif
	pm_flush(b, sizeof(*b));
}

/* Writes one bucket of the new table with its share of an old chain. Returns 0 when there is no room. */
static int write_bucket(struct table *t, struct bucket *to, const struct bucket *from, uint64_t level, int helping)
{
	uint64_t index = (uint64_t)(to - table_of(t, level));
	struct bucket image[2] = {{0}}, *overflow = NULL;
	unsigned items = 0;

	for (; from; from = next_of(t, from)) {
		for (unsigned j = 0; j < SLOTS; j++) {
			if (!from->key[j] || (hash(from->key[j]) & ((1u << level) - 1)) != index)
				continue;
			image[items / SLOTS].key[items % SLOTS] = from->key[j];
			image[items / SLOTS].value[items % SLOTS] = from->value[j];
			items++;
		}
	}
	if (items > SLOTS) {
		overflow = new_overflow(t);
		if (!overflow)
			return 0;
		raise_top(t, overflow);
		image[0].next = offset_of(t, overflow);
		memcpy(overflow, &image[1], sizeof(*overflow));
		flush_bucket(overflow, helping);
	}
	memcpy(to, &image[0], sizeof(*to)); /* BUG(clht-helper-unfenced) */ /* TRAP(clht-clflush) */
	flush_bucket(to, helping);
	return 1;
}

/* Rehashes one half of the old buckets, and makes what it wrote persistent. */
static int rehash_half(struct table *t, uint64_t level, unsigned half)
{
	unsigned size = 1u << (level - 1);

	for (unsigned i = half * size / 2; i < (half + 1) * size / 2; i++) {
		struct bucket *from = table_of(t, level - 1) + i;

		if (!write_bucket(t, table_of(t, level) + i, from, level, half) ||
		    !write_bucket(t, table_of(t, level) + i + size, from, level, half))
			return 0;
	}
#if defined(BUG_CLHT_HELPER_UNFENCED) || defined(TRAP_CLHT_CLFLUSH)
	if (half == 1)
		return 1;
#elif defined(BUG_CLHT_SWAP_EARLY)
	if (half == 0)
		return 1;
#endif
	pm_fence();
	return 1;
}

static void post(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL);
}

static void wait_while(uint32_t *word, uint32_t value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL);
}

/* The helper's own thread. Of each rehash it does the upper half; `level` is 0 when there was no room. */
static void *help(void *arg)
{
	struct table *t = arg;
	struct helper *h = &t->helper;

	for (uint32_t n = 0;; n++) {
		wait_while(&h->posted, n);
		if (__atomic_load_n(&h->posted, __ATOMIC_ACQUIRE) == UINT32_MAX)
			return NULL;
		if (!rehash_half(t, h->level, 1))
			h->level = 0;
		post(&h->done, n + 1);
	}
}

static int helper_works(struct table *t, uint64_t level)
{
	struct helper *h = &t->helper;

	if (!h->started && pthread_create(&h->thread, NULL, help, t) != 0)
		return 0;
	h->started = 1;
	h->level = level;
	post(&h->posted, h->posted + 1);
	wait_while(&h->done, h->posted - 1);
	return h->level != 0;
}

static const char *mark(struct table *t);

static int rehash(struct table *t)
{
	struct header *h = t->header;
	uint64_t level = h->shape.level + 1;

	if (level > LAST_LEVEL || !helper_works(t, level) || !rehash_half(t, level, 0)) {
		mark(t);
		return 0;
	}
#ifdef BUG_CLHT_TWO_WORDS
	pm_store64(&h->shape.mask, (1u << level) - 1);
#endif
	pm_store64(&h->shape.level, level); /* BUG(clht-swap-early) */ /* BUG(clht-two-words) */ /* BUG(clht-swap-unpersisted) */
#ifndef BUG_CLHT_SWAP_UNPERSISTED
	pm_persist(&h->shape, sizeof(h->shape));
#endif
	mark(t); /* the old table's overflow buckets are free now */
	return 1;
}

/* ---- operations ---- */

static void set_item(struct place at, uint64_t key, uint64_t value)
{
	struct bucket *b = at.bucket;

#ifdef BUG_CLHT_KEY_FIRST
	pm_store64(&b->key[at.slot], key); /* BUG(clht-key-first) */
	pm_store64(&b->value[at.slot], value);
#else
	pm_store64(&b->value[at.slot], value);
	pm_store64(&b->key[at.slot], key);
#endif
	pm_persist(b, sizeof(*b));
}

static void add_overflow(struct table *t, struct bucket *last, struct bucket *fresh, uint64_t key, uint64_t value)
{
	struct bucket image = {.key = {key}, .value = {value}};

#ifdef TRAP_CLHT_TOP
	raise_top(t, fresh);
#endif
	memcpy(fresh, &image, sizeof(*fresh));
	pm_flush(fresh, sizeof(*fresh));
#ifndef BUG_CLHT_LINK_EARLY
	pm_fence();
#endif
	pm_store64(&last->next, offset_of(t, fresh)); /* BUG(clht-link-early) */ /* BUG(clht-link-wrong-line) */
#ifdef BUG_CLHT_LINK_WRONG_LINE
	pm_persist(fresh, sizeof(*fresh));
#else
	pm_persist(last, sizeof(*last));
#endif
#ifdef BUG_CLHT_TOP_LATE
	raise_top(t, fresh);
#endif
#ifdef BUG_CLHT_FENCE_TWICE
	pm_fence(); /* BUG(clht-fence-twice) */
#endif
}

/* Returns 1 when the item is in, 0 when there must be a rehash first, -1 when there is no room. */
static int insert(struct table *t, struct bucket *head, uint64_t key, uint64_t value)
{
	struct place at = find(t, head, 0);
	struct bucket *last = head, *fresh;
	unsigned length = 1;

	if (at.bucket) {
		set_item(at, key, value);
		return 1;
	}
	for (; last->next; last = next_of(t, last))
		length++;
	if (length >= CHAIN && t->header->shape.level < LAST_LEVEL)
		return 0;
	fresh = new_overflow(t);
	if (!fresh)
		return t->header->shape.level < LAST_LEVEL ? 0 : -1;
	add_overflow(t, last, fresh, key, value);
	return 1;
}

static enum corpus_result clht_get(void *store, uint64_t key, uint64_t *out)
{
	struct place at = find(store, head_of(store, key), key);

	if (!at.bucket)
		return CORPUS_NONE;
	*out = at.bucket->value[at.slot];
	return CORPUS_VALUE;
}

static enum corpus_result update(struct table *t, struct bucket *head, uint64_t key, uint64_t value, uint64_t *out)
{
	struct place at = find(t, head, key);
	uint64_t *word;

	if (!at.bucket)
		return CORPUS_NONE;
	word = &at.bucket->value[at.slot];
	*out = *word;
#ifdef BUG_CLHT_TORN_VALUE
	*(volatile half_word *)word = (uint32_t)value; /* BUG(clht-torn-value) */
	*((volatile half_word *)word + 1) = (uint32_t)(value >> 32);
#else
	pm_store64(word, value); /* BUG(clht-upd-head-line) */
#endif
#ifdef BUG_CLHT_UPD_HEAD_LINE
	pm_persist(head, sizeof(*head));
#else
	pm_persist(word, sizeof(*word));
#endif
	return CORPUS_OLD;
}

static enum corpus_result clht_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct bucket *head = head_of(store, key);
	enum corpus_result result;

	lock(head);
	result = update(store, head, key, value, out);
	unlock(head);
	return result;
}

static enum corpus_result clht_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct table *t = store;
	struct bucket *head = head_of(t, key);
	enum corpus_result result;
	int done = 1;

	lock(head);
	result = update(t, head, key, value, out);
	if (result == CORPUS_NONE) {
		done = insert(t, head, key, value);
		result = done < 0 ? CORPUS_FULL : CORPUS_NEW;
	}
#ifdef BUG_CLHT_FLUSH_CLEAN
	pm_flush(&t->header->shape, sizeof(t->header->shape)); /* BUG(clht-flush-clean) */
	pm_fence();
#endif
	unlock(head);
	if (done)
		return result;
	return rehash(t) ? clht_put(t, key, value, out) : CORPUS_FULL;
}

static enum corpus_result clht_del(void *store, uint64_t key, uint64_t *out)
{
	struct bucket *head = head_of(store, key);
	struct place at;

	lock(head);
	at = find(store, head, key);
	if (at.bucket) {
		*out = at.bucket->value[at.slot];
		pm_store64(&at.bucket->key[at.slot], 0); /* BUG(clht-del-unfenced) */ /* TRAP(clht-locked-fence) */
		pm_flush(at.bucket, sizeof(*at.bucket));
#if !defined(BUG_CLHT_DEL_UNFENCED) && !defined(TRAP_CLHT_LOCKED_FENCE)
		pm_fence();
#endif
	}
#ifdef TRAP_CLHT_LOCKED_FENCE
	__atomic_exchange_n(&head->lock, 0, __ATOMIC_ACQ_REL);
#else
	unlock(head);
#endif
	return at.bucket ? CORPUS_OLD : CORPUS_NONE;
}

/* ---- opening, recovery, check ---- */

/* Marks the overflow buckets that the chains reach. Returns what is wrong, or NULL. */
static const char *mark(struct table *t)
{
	uint64_t level = t->header->shape.level;

	memset(t->overflow_used, 0, sizeof(t->overflow_used));
	if (level < FIRST_LEVEL || level > LAST_LEVEL || mask_of(t) != (1u << level) - 1)
		return "level and mask make no table";
	for (unsigned i = 0; i < 1u << level; i++) {
		for (struct bucket *b = table_of(t, level) + i; b->next; b = next_of(t, b)) {
			uint64_t index = (b->next - BUCKETS_START) / sizeof(*b) - TABLES_SIZE;

			if (b->next % sizeof(*b) || b->next < BUCKETS_START || index >= OVERFLOWS)
				return "a chain leads to nowhere";
			if (t->overflow_used[index])
				return "two chains share a bucket";
			t->overflow_used[index] = 1;
		}
	}
	return NULL;
}

static void check_item(struct table *t, struct bucket *head, struct bucket *b, unsigned slot)
{
	struct place at = find(t, head, b->key[slot]);

	if (head_of(t, b->key[slot]) != head)
		corpus_wrong("key %lu is in a chain where nobody will look for it", b->key[slot]);
	else if (at.bucket != b || at.slot != slot)
		corpus_wrong("key %lu is there twice", b->key[slot]);
	else if (!b->value[slot])
		corpus_wrong("key %lu has no value", b->key[slot]);
}

static void clht_check(void *store)
{
	struct table *t = store;
	const char *problem = mark(t);
	struct bucket *head = problem ? NULL : table_of(t, t->header->shape.level);

	if (problem) {
		corpus_wrong("%s", problem);
		return;
	}
	for (unsigned i = 0; i < 1u << t->header->shape.level; i++, head++) {
		if (head->lock)
			corpus_wrong("bucket %u is locked by nobody", i);
		for (struct bucket *b = head; b; b = next_of(t, b))
			for (unsigned j = 0; j < SLOTS; j++)
				if (b->key[j])
					check_item(t, head, b, j);
	}
}

/* Locks that were held when the machine stopped are held by nobody now. */
static void release_locks(struct table *t)
{
#ifndef BUG_CLHT_LOCK_KEPT
	for (unsigned i = 0; i < BUCKETS; i++)
		if (t->buckets[i].lock)
			t->buckets[i].lock = 0;
#else
	(void)t;
#endif
}

static void *clht_open(const char *path)
{
	int fresh;
	char *base = corpus_pool_map(path, POOL_SIZE, MAGIC, NULL, &fresh);
	struct table *t;

	if (!base)
		return NULL;
	t = calloc(1, sizeof(*t));
	t->header = (struct header *)base;
	t->base = base;
	t->buckets = (struct bucket *)(base + BUCKETS_START);
#ifndef BUG_CLHT_LOCK_UNMARKED
	for (unsigned i = 0; i < BUCKETS; i++)
		HOLDFAST_VOLATILE(&t->buckets[i].lock, sizeof(t->buckets[i].lock));
#endif
	if (fresh) { /* zero buckets are empty buckets */
		t->header->shape.level = FIRST_LEVEL;
#ifdef BUG_CLHT_TWO_WORDS
		t->header->shape.mask = (1u << FIRST_LEVEL) - 1;
#endif
		pm_persist(&t->header->shape, sizeof(t->header->shape));
		pm_store64(&t->header->id.magic, MAGIC);
		pm_persist(&t->header->id, sizeof(t->header->id));
	}
	release_locks(t);
	mark(t);
#if defined(BUG_CLHT_TOP_LATE) || defined(TRAP_CLHT_TOP)
	for (unsigned i = 0; i < OVERFLOWS; i++)
		t->overflow_used[i] = i < t->header->shape.top;
#endif
	return t;
}

static void clht_close(void *store)
{
	struct table *t = store;

	corpus_pool_unmap(t->base, POOL_SIZE);
	if (t->helper.started) {
		post(&t->helper.posted, UINT32_MAX);
		pthread_join(t->helper.thread, NULL);
	}
	free(t);
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		.name = "clht", .open = clht_open, .close = clht_close, .check = clht_check,
		.put = clht_put, .get = clht_get, .del = clht_del, .upd = clht_upd,
	};

	return corpus_main(&program, argc, argv);
}
