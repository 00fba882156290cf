/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Level hashing: two levels of buckets, the bottom one half as large as the top one.
 *
 *   line 0   magic
 *   line 1   top: the number t of the top level (and more in some variants)
 *   line 2   journal: slot, key, value, tag, valid
 *   4096     level 1 (2 buckets), level 2 (4 buckets), level 3 (8), ...
 *
 *   bucket   tokens | slot 0 | slot 1 | slot 2 | slot 3        8 + 4 * 24 bytes, two lines
 *
 * Level n has 2^n buckets. A key has two hashes, hence two buckets in level t and two in level t-1.
 * Byte j of `tokens` says whether slot j is taken. There is no log where one store can decide:
 *   insert   write the slot, persist; then one store of the tokens
 *   update   write a free slot of the same bucket, persist; one store clears the old token and sets
 *            the new one. In a full bucket the slot is overwritten under a journal: one line whose
 *            `valid` is stored last
 *   delete   one store of the tokens
 *   move     (to make room) copy an item to its other bucket, set that token, clear the old one; a
 *            crash in between leaves the item twice, and recovery removes one of the two
 *   rehash   copy the items of level t-1 into level t+1, persist; then one store of t+1 makes the
 *            old top level the bottom level. Whatever is in levels above t means nothing
 */
#include "common/corpus.h"
#include "common/pm.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "holdfast.h"

#define MAGIC 0x316c6576656c7268ull
#define LEVELS_START 4096u
#define FIRST_TOP 2u
#define LAST_TOP 8u
#define SLOTS 4u
#define POOL_SIZE (LEVELS_START + sizeof(struct bucket) * (1u << (LAST_TOP + 1)))

struct slot {
	uint64_t key;
	uint64_t value;
	uint64_t tag; /* computed from key and value: detects a torn slot */
};

struct PM_ALIGNED bucket {
	uint64_t tokens;
	struct slot slot[SLOTS];
};

struct header {
	struct PM_ALIGNED {
		uint64_t magic;
	} id;
	struct PM_ALIGNED {
		uint64_t top;
		uint64_t bottom; /* these two only in variants */
		uint64_t items;
	} shape;
	struct PM_ALIGNED {
		uint64_t offset;
		struct slot slot;
		uint64_t valid;
	} journal;
};

struct table {
	struct header *header;
	char *base;
};

/* Where an item is. */
struct place {
	struct bucket *bucket;
	unsigned slot;
};

static uint64_t hash(uint64_t key, unsigned which)
{
	uint64_t h = (key + which * 0x632be59bd9b4e019ull) * 0x9e3779b97f4a7c15ull;

	return (h ^ h >> 32) * 0xd6e8feb86659fd93ull >> 20;
}

static uint64_t tag_of(uint64_t key, uint64_t value)
{
	return hash(key ^ value << 1, 2) + value;
}

static uint64_t top_of(const struct table *t)
{
	return t->header->shape.top;
}

static uint64_t bottom_of(const struct table *t)
{
#ifdef BUG_LEVEL_SWAP_TWO_WORDS
	return t->header->shape.bottom;
#else
	return t->header->shape.top - 1;
#endif
}

static struct bucket *level_start(const struct table *t, uint64_t level)
{
	return (struct bucket *)(t->base + LEVELS_START) + (1u << level);
}

static struct bucket *bucket_of(const struct table *t, uint64_t level, uint64_t key, unsigned which)
{
	return level_start(t, level) + (hash(key, which) & ((1u << level) - 1));
}

/* The four buckets a key may be in: by both hashes in the top level, then in the bottom level. */
static struct bucket *candidate(const struct table *t, uint64_t key, unsigned i)
{
	return bucket_of(t, i < 2 ? top_of(t) : bottom_of(t), key, i & 1);
}

static uint64_t token_bit(unsigned slot)
{
	return 1ull << 8 * slot;
}

static int taken(const struct bucket *b, unsigned slot)
{
	return (b->tokens & token_bit(slot)) != 0;
}

/* The first free slot, or SLOTS. */
static unsigned free_slot(const struct bucket *b)
{
	unsigned slot = 0;

	while (slot < SLOTS && taken(b, slot))
		slot++;
	return slot;
}

static struct place find_from(const struct table *t, uint64_t key, struct place after)
{
	int passed = after.bucket == NULL;

	for (unsigned i = 0; i < 4; i++) {
		struct bucket *b = candidate(t, key, i);

		for (unsigned j = 0; j < SLOTS; j++) {
			if (passed && taken(b, j) && b->slot[j].key == key &&
			    (b != after.bucket || j != after.slot))
				return (struct place){ b, j };
			passed |= b == after.bucket && j == after.slot;
		}
	}
	return (struct place){ NULL, 0 };
}

static struct place find(const struct table *t, uint64_t key)
{
	return find_from(t, key, (struct place){ NULL, 0 });
}

static void count_items(struct table *t, uint64_t change)
{
#if defined(BUG_LEVEL_COUNT_UNFLUSHED) || defined(TRAP_LEVEL_COUNT)
	t->header->shape.items += change; /* BUG(level-count-unflushed) TRAP(level-count) */
#else
	(void)t;
	(void)change;
#endif
}

/* Stores an item into a slot whose token is not set, and makes it persistent. */
static void write_slot(struct slot *s, uint64_t key, uint64_t value)
{
	s->key = key;
#ifdef BUG_LEVEL_INSERT_HALF
	pm_persist(&s->key, sizeof(s->key));
#endif
	s->value = value;
	s->tag = tag_of(key, value); /* BUG(level-slot-one-line) */
#if defined(BUG_LEVEL_SLOT_ONE_LINE)
	pm_clwb(s);
	pm_fence();
#elif !defined(BUG_LEVEL_TOKEN_FIRST) && !defined(BUG_LEVEL_INSERT_HALF)
	pm_persist(s, sizeof(*s));
#endif
}

static void set_tokens(struct bucket *b, uint64_t tokens)
{
	pm_store64(&b->tokens, tokens); /* BUG(level-replace-unordered) */
#ifdef BUG_LEVEL_FLUSH_BUCKET
	pm_flush(b, sizeof(*b)); /* BUG(level-flush-bucket) */
	pm_fence();
#else
	pm_persist(&b->tokens, sizeof(b->tokens));
#endif
}

static int insert_into(struct bucket *b, uint64_t key, uint64_t value)
{
	unsigned slot = free_slot(b);

	if (slot == SLOTS)
		return 0;
	write_slot(&b->slot[slot], key, value);
#if defined(BUG_LEVEL_TOKEN_FIRST) || defined(BUG_LEVEL_INSERT_HALF)
	pm_store64(&b->tokens, b->tokens | token_bit(slot)); /* BUG(level-token-first) BUG(level-insert-half) */
	pm_flush(b, offsetof(struct bucket, slot[slot + 1]));
	pm_fence();
#else
	set_tokens(b, b->tokens | token_bit(slot));
#endif
	return 1;
}

/* Moves some item of bucket b, in level `level`, to that item's other bucket there. */
static int make_room(struct table *t, struct bucket *b, uint64_t level)
{
	for (unsigned j = 0; j < SLOTS; j++) {
		uint64_t key = b->slot[j].key, value = b->slot[j].value;
		struct bucket *first = bucket_of(t, level, key, 0),
			      *second = bucket_of(t, level, key, 1);
		struct bucket *other = first == b ? second : first;

		if (other == b || free_slot(other) == SLOTS)
			continue;
#ifdef BUG_LEVEL_MOVE_CLEAR_FIRST
		set_tokens(b, b->tokens & ~token_bit(j)); /* BUG(level-move-clear-first) */
		insert_into(other, key, value);
#else
		insert_into(other, key, value); /* BUG(level-duplicate) TRAP(level-duplicate-tolerated) */
		set_tokens(b, b->tokens & ~token_bit(j));
#endif
		return 1;
	}
	return 0;
}

/* ---- rehash ---- */

/* Distributes the items of the bottom level over `fresh`, an image of the new top level in DRAM. */
static int distribute(struct table *t, struct bucket *fresh, uint64_t level)
{
	struct bucket *bottom = level_start(t, bottom_of(t));

	for (uint64_t i = 0; i < (1u << bottom_of(t)) * SLOTS; i++) {
		struct slot *s = &bottom[i / SLOTS].slot[i % SLOTS];
		struct bucket *to;
		unsigned slot;

		if (!taken(&bottom[i / SLOTS], i % SLOTS))
			continue;
		to = &fresh[hash(s->key, 0) & ((1u << level) - 1)];
		if (free_slot(to) == SLOTS)
			to = &fresh[hash(s->key, 1) & ((1u << level) - 1)];
		slot = free_slot(to);
		if (slot == SLOTS)
			return 0;
		to->slot[slot] = *s;
		to->tokens |= token_bit(slot);
	}
	return 1;
}

/* Brings the image to the pool, clearing tokens that an interrupted rehash may have left there. */
static void write_level(struct table *t, const struct bucket *fresh, uint64_t level)
{
	for (uint64_t i = 0; i < 1u << level; i++) {
		struct bucket *b = level_start(t, level) + i;
		size_t used = offsetof(struct bucket, slot[free_slot(&fresh[i])]);

		if (fresh[i].tokens) {
			memcpy(b, &fresh[i], used);
			pm_flush(b, used);
		} else if (b->tokens) {
			pm_store64(&b->tokens, 0);
			pm_flush(&b->tokens, sizeof(b->tokens));
		}
#ifdef BUG_LEVEL_FENCE_EACH
		pm_fence(); /* BUG(level-fence-each) */
#endif
	}
#if !defined(BUG_LEVEL_FENCE_EACH) && !defined(BUG_LEVEL_REHASH_UNFENCED)
	pm_fence();
#endif
}

static int rehash(struct table *t)
{
	struct header *h = t->header;
	uint64_t level = top_of(t) + 1;
	struct bucket *fresh;
	int done;

	if (level > LAST_TOP)
		return 0;
	fresh = aligned_alloc(PM_LINE, sizeof(*fresh) << level);
	memset(fresh, 0, sizeof(*fresh) << level);
	done = distribute(t, fresh, level);
	if (done)
		write_level(t, fresh, level);
	free(fresh);
	if (!done)
		return 0;
#ifdef BUG_LEVEL_SWAP_TWO_WORDS
	pm_store64(&h->shape.bottom, level - 1); /* BUG(level-swap-two-words) */
#endif
	pm_store64(&h->shape.top, level); /* BUG(level-rehash-unfenced) */
	pm_persist(&h->shape, sizeof(h->shape));
	return 1;
}

/* ---- operations ---- */

#ifdef TRAP_LEVEL_DUPLICATE_TOLERATED
/* An interrupted move leaves two equal copies of an item. Whoever comes across them removes one. */
static void remove_second_copy(struct table *t, uint64_t key)
{
	struct place first = find(t, key), second = { NULL, 0 };

	if (first.bucket)
		second = find_from(t, key, first);
	if (second.bucket)
		set_tokens(second.bucket, second.bucket->tokens & ~token_bit(second.slot));
}
#else
static void remove_second_copy(struct table *t, uint64_t key)
{
	(void)t;
	(void)key;
}
#endif

static int insert(struct table *t, uint64_t key, uint64_t value)
{
	for (;;) {
		for (unsigned i = 0; i < 4; i++)
			if (insert_into(candidate(t, key, i), key, value))
				return 1;
		for (unsigned i = 0; i < 4; i++)
			if (make_room(t, candidate(t, key, i), i < 2 ? top_of(t) : bottom_of(t)))
				return insert_into(candidate(t, key, i), key, value);
		if (!rehash(t))
			return 0;
	}
}

static void overwrite_journaled(struct table *t, struct slot *s, uint64_t key, uint64_t value)
{
	struct header *h = t->header;

	h->journal.offset = (uint64_t)((char *)s - t->base);
	h->journal.slot = (struct slot){ key, value, tag_of(key, value) };
	pm_compiler_order();
	pm_store64(&h->journal.valid, 1);
	pm_persist(&h->journal, sizeof(h->journal));
	*s = h->journal.slot;
	pm_persist(s, sizeof(*s));
	pm_store64(&h->journal.valid, 0);
	pm_persist(&h->journal, sizeof(h->journal));
}

static void update(struct table *t, struct place at, uint64_t key, uint64_t value)
{
	struct bucket *b = at.bucket;
	unsigned slot = free_slot(b);

	if (slot == SLOTS) {
		overwrite_journaled(t, &b->slot[at.slot], key, value);
		return;
	}
#if defined(BUG_LEVEL_REPLACE_UNORDERED)
	b->slot[slot] = (struct slot){ key, value, tag_of(key, value) };
	if ((offsetof(struct bucket, slot[slot + 1]) - 1) / PM_LINE > 0)
		pm_flush((char *)b + PM_LINE, 1);
#else
	b->slot[slot] = (struct slot){ key, value, tag_of(key, value) };
	pm_persist(&b->slot[slot], sizeof(b->slot[slot]));
#endif
#ifdef BUG_LEVEL_TWO_TOKENS
	((volatile uint8_t *)&b->tokens)[at.slot] = 0; /* BUG(level-two-tokens) */
	((volatile uint8_t *)&b->tokens)[slot] = 1;
	pm_persist(&b->tokens, sizeof(b->tokens));
#else
	set_tokens(b, (b->tokens & ~token_bit(at.slot)) | token_bit(slot));
#endif
}

static enum corpus_result level_get(void *store, uint64_t key, uint64_t *out)
{
	struct place at = find(store, key);

	if (!at.bucket)
		return CORPUS_NONE;
	*out = at.bucket->slot[at.slot].value;
	return CORPUS_VALUE;
}

static enum corpus_result level_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	remove_second_copy(store, key);
	if (level_get(store, key, out) == CORPUS_NONE)
		return CORPUS_NONE;
	update(store, find(store, key), key, value);
	return CORPUS_OLD;
}

static enum corpus_result level_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	if (level_upd(store, key, value, out) == CORPUS_OLD)
		return CORPUS_OLD;
	if (!insert(store, key, value))
		return CORPUS_FULL;
	count_items(store, 1);
	return CORPUS_NEW;
}

static enum corpus_result level_del(void *store, uint64_t key, uint64_t *out)
{
	struct place at;

	remove_second_copy(store, key);
	at = find(store, key);
	if (!at.bucket)
		return CORPUS_NONE;
	*out = at.bucket->slot[at.slot].value;
	pm_store64(&at.bucket->tokens, at.bucket->tokens & ~token_bit(at.slot)); /* BUG(level-del-unfenced) */
	pm_flush(&at.bucket->tokens, sizeof(at.bucket->tokens));
#ifndef BUG_LEVEL_DEL_UNFENCED
	pm_fence();
#endif
	count_items(store, (uint64_t)-1);
	return CORPUS_OLD;
}

/* ---- opening, recovery, check ---- */

static int shape_ok(const struct table *t)
{
	return top_of(t) >= FIRST_TOP && top_of(t) <= LAST_TOP && bottom_of(t) == top_of(t) - 1;
}

/* Calls `visit` for every taken slot of both levels and returns how many there are. */
static uint64_t for_each_item(struct table *t,
			      void (*visit)(struct table *, struct bucket *, unsigned))
{
	struct bucket *b = level_start(t, bottom_of(t)), *end = level_start(t, top_of(t) + 1);
	uint64_t items = 0;

	for (; b < end; b++) {
		for (unsigned j = 0; j < SLOTS; j++) {
			if (!taken(b, j))
				continue;
			visit(t, b, j);
			items += taken(b, j); /* what is left */
		}
	}
	return items;
}

#if !defined(BUG_LEVEL_DUPLICATE) && !defined(TRAP_LEVEL_DUPLICATE_TOLERATED)
/* If an interrupted move has left this item at two places, drop the one find() does not see. */
static void remove_duplicate(struct table *t, struct bucket *b, unsigned slot)
{
	struct place at = find(t, b->slot[slot].key);

	if (at.bucket && (at.bucket != b || at.slot != slot))
		set_tokens(b, b->tokens & ~token_bit(slot));
}
#else
static void remove_duplicate(struct table *t, struct bucket *b, unsigned slot)
{
	(void)t;
	(void)b;
	(void)slot;
}
#endif

static void recover(struct table *t)
{
	struct header *h = t->header;
	uint64_t items;

	if (h->journal.valid && h->journal.offset >= LEVELS_START &&
	    h->journal.offset <= POOL_SIZE - sizeof(struct slot)) {
		memcpy(t->base + h->journal.offset, &h->journal.slot, sizeof(struct slot));
		pm_persist(t->base + h->journal.offset, sizeof(struct slot));
		pm_store64(&h->journal.valid, 0);
		pm_persist(&h->journal, sizeof(h->journal));
	}
	items = shape_ok(t) ? for_each_item(t, remove_duplicate) : 0;
#ifdef TRAP_LEVEL_COUNT
	h->shape.items = items;
#else
	(void)items;
#endif
}

static void check_item(struct table *t, struct bucket *b, unsigned slot)
{
	struct slot *s = &b->slot[slot];
	struct place at = find(t, s->key);

	if (s->tag != tag_of(s->key, s->value))
		corpus_wrong("slot %u of bucket %lu holds a damaged item (key %lu)", slot,
			     (uint64_t)(b - level_start(t, 0)), s->key);
	else if (!at.bucket)
		corpus_wrong("key %lu is in a bucket where nobody will look for it", s->key);
#ifdef TRAP_LEVEL_DUPLICATE_TOLERATED
	else if (at.bucket->slot[at.slot].value != s->value)
		corpus_wrong("key %lu has two values", s->key);
#else
	else if (at.bucket != b || at.slot != slot)
		corpus_wrong("key %lu is there twice", s->key);
#endif
}

static void level_check(void *store)
{
	struct table *t = store;
	uint64_t items;

	if (!shape_ok(t)) {
		corpus_wrong("levels %lu and %lu make no table", top_of(t), bottom_of(t));
		return;
	}
	items = for_each_item(t, check_item);
#if defined(BUG_LEVEL_COUNT_UNFLUSHED) || defined(TRAP_LEVEL_COUNT)
	if (items != t->header->shape.items)
		corpus_wrong("%lu items, but the count is %lu", items, t->header->shape.items);
#else
	(void)items;
#endif
	if (t->header->journal.valid)
		corpus_wrong("journal still valid after recovery");
}

static void *level_open(const char *path)
{
	int fresh;
	char *base = corpus_pool_map(path, POOL_SIZE, MAGIC, NULL, &fresh);
	struct table *t;

	if (!base)
		return NULL;
	t = malloc(sizeof(*t));
	*t = (struct table){ (struct header *)base, base };
#ifdef TRAP_LEVEL_COUNT
	HOLDFAST_VOLATILE(&t->header->shape.items, sizeof(t->header->shape.items));
#endif
	if (fresh) { /* zero tokens are empty buckets */
		t->header->shape.top = FIRST_TOP;
#ifdef BUG_LEVEL_SWAP_TWO_WORDS
		t->header->shape.bottom = FIRST_TOP - 1;
#endif
		pm_persist(&t->header->shape, sizeof(t->header->shape));
		pm_store64(&t->header->id.magic, MAGIC);
		pm_persist(&t->header->id, sizeof(t->header->id));
	}
	recover(t);
	return t;
}

static void level_close(void *store)
{
	struct table *t = store;

	corpus_pool_unmap(t->base, POOL_SIZE);
	free(t);
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		.name = "level",
		.open = level_open,
		.close = level_close,
		.check = level_check,
		.put = level_put,
		.get = level_get,
		.del = level_del,
		.upd = level_upd,
	};

	return corpus_main(&program, argc, argv);
}
