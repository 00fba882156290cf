/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A radix tree over the sixteen hexadecimal digits of a key, with path compression, in the way of WORT and WOART.
 *
 *   line 0   magic
 *   4096     leaves: key, value                                          (16 bytes each)
 *   12288    nodes of 4: head, map, 4 children                           (one line each)
 *   20480    nodes of 16: head | 16 children; the first one is the root  (three lines each)
 *
 * A pointer is an offset and, in its low bits, what it points to. A node's head is one word: the depth at
 * which its prefix starts, the prefix's length, and up to 14 digits of prefix. The map of a node of 4 has a
 * byte for each child: 0, or 16 + its digit.
 *
 * Everything is decided by one eight-byte store, of a pointer, a map or a value, after all that it makes
 * visible is persistent:
 *   insert   a leaf into a free place; a leaf in a new node of 4 in the place of another leaf; or, where the
 *            key leaves a node's prefix, a new node above that node
 *   grow     a full node of 4 is copied to a node of 16, which takes its place
 *   delete   one store removes the leaf together with the nodes that would be left empty
 * Only a new node above another needs a second store, to shorten the lower one's prefix. Until then that
 * node's head says that it starts higher up than it is, which tells how many digits to skip: readers do
 * so, and recovery writes the head that should be there.
 *
 * What is in use is not recorded: leaves and nodes that the tree does not reach are free.
 */
#include "common/corpus.h"
#include "common/pm.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC 0x3178696461727277ull
#define LEAVES_START 4096u
#define LEAVES 512u
#define NODES4_START 12288u
#define NODES4 128u
#define NODES16_START 20480u
#define NODES16 64u
#define POOL_SIZE (NODES16_START + NODES16 * sizeof(struct node16))
#define DIGITS 16u

enum kind { LEAF = 1, NODE4 = 2, NODE16 = 3, KIND_MASK = 7 };

struct leaf {
	uint64_t key;
	uint64_t value;
};

struct PM_ALIGNED node4 {
	uint64_t head;
	uint64_t map;
	uint64_t child[4];
};

struct PM_ALIGNED node16 {
	uint64_t head;
	uint64_t PM_ALIGNED child[16];
};

struct tree {
	char *base;
	char leaf_used[LEAVES];
	char node4_used[NODES4];
	char node16_used[NODES16];
};

#define ROOT ((uint64_t)NODES16_START | NODE16)

/* ---- keys and heads ---- */

static unsigned digit(uint64_t key, unsigned depth)
{
	return key >> (60 - 4 * depth) & 15;
}

/* The head of a node whose prefix is `length` digits of `key` from `start` on. */
static uint64_t make_head(uint64_t key, unsigned start, unsigned length)
{
	uint64_t prefix = length ? (key << 4 * start) >> (64 - 4 * length) : 0;

	return (uint64_t)start << 60 | (uint64_t)length << 56 | prefix << (56 - 4 * length);
}

static unsigned head_start(uint64_t head)
{
	return head >> 60;
}

static unsigned head_length(uint64_t head)
{
	return head >> 56 & 15;
}

static unsigned head_digit(uint64_t head, unsigned i)
{
	return head >> (52 - 4 * i) & 15;
}

/* A head without the digits before `depth`. */
static uint64_t cut_head(uint64_t head, unsigned depth)
{
	unsigned skip = depth - head_start(head);

	return (uint64_t)depth << 60 | (uint64_t)(head_length(head) - skip) << 56 |
	       ((head << 4 * skip) & 0x00ffffffffffffffull);
}

/* The head that a node at `depth` should have, given the one it has. */
static uint64_t head_at(uint64_t head, unsigned depth)
{
#ifdef BUG_RADIX_NO_REPAIR
	(void)depth;
	return head;
#else
	return cut_head(head, depth);
#endif
}

/* ---- nodes ---- */

static void *at(const struct tree *t, uint64_t pointer)
{
	return t->base + (pointer & ~(uint64_t)KIND_MASK);
}

static enum kind kind_of(uint64_t pointer)
{
	return (enum kind)(pointer & KIND_MASK);
}

/* Both kinds of nodes begin with their head. */
static uint64_t *head_of(const struct tree *t, uint64_t pointer)
{
	return at(t, pointer);
}

/* Where a node's child for a digit is, or NULL. */
static uint64_t *child_of(const struct tree *t, uint64_t pointer, unsigned d)
{
	struct node16 *n16 = at(t, pointer);
	struct node4 *n4 = at(t, pointer);

	if (kind_of(pointer) == NODE16)
		return n16->child[d] ? &n16->child[d] : NULL;
	for (unsigned i = 0; i < 4; i++)
		if ((n4->map >> 8 * i & 255) == 16 + d)
			return &n4->child[i];
	return NULL;
}

static unsigned count_children(const struct tree *t, uint64_t pointer)
{
	unsigned count = 0;

	for (unsigned d = 0; d < 16; d++)
		count += child_of(t, pointer, d) != NULL;
	return count;
}

static uint64_t find_free(char *used, unsigned count, uint64_t start, size_t size, enum kind kind)
{
	unsigned i = 0;

	while (i < count && used[i])
		i++;
	if (i == count)
		return 0;
	used[i] = 1;
	return (start + i * size) | kind;
}

static struct leaf *find(const struct tree *t, uint64_t key)
{
	uint64_t pointer = ROOT, *child;
	unsigned depth = 0;

	while (kind_of(pointer) != LEAF) {
		uint64_t head = head_at(*head_of(t, pointer), depth);

		for (unsigned i = 0; i < head_length(head); i++)
			if (depth == DIGITS - 1 || digit(key, depth++) != head_digit(head, i))
				return NULL;
		child = child_of(t, pointer, digit(key, depth++));
		if (!child)
			return NULL;
		pointer = *child;
	}
	return ((struct leaf *)at(t, pointer))->key == key ? at(t, pointer) : NULL;
}

/* ---- insert ---- */

/* Stores a pointer where it takes effect. */
static void publish(uint64_t *place, uint64_t pointer)
{
	pm_store64(place, pointer); /* BUG(radix-leaf-late) */ /* BUG(radix-above-early) */ /* BUG(radix-grow-early) */
	pm_persist(place, sizeof(*place));
}

/* Writes a node of 4 with two children. The caller fences. */
static void write_node4(struct node4 *n, uint64_t head, unsigned d0, uint64_t child0, unsigned d1, uint64_t child1)
{
#ifdef BUG_RADIX_DIRTY_OVERWRITE
	pm_store64(&n->map, 0);
#endif
	n->head = head;
	n->child[0] = child0;
	n->child[1] = child1;
	pm_store64(&n->map, (16 + d0) | (uint64_t)(16 + d1) << 8); /* BUG(radix-dirty-overwrite) */
	pm_flush(n, sizeof(*n));
}

/* The key leaves the prefix of the node in *place after i digits: puts a new node above it. */
static int insert_above(struct tree *t, uint64_t *place, unsigned depth, unsigned i, uint64_t key, uint64_t leaf)
{
	uint64_t fresh = find_free(t->node4_used, NODES4, NODES4_START, sizeof(struct node4), NODE4);
	uint64_t *head = head_of(t, *place), lower = head_at(*head, depth);

	if (!fresh)
		return 0;
	write_node4(at(t, fresh), make_head(key, depth, i), head_digit(lower, i), *place, digit(key, depth + i), leaf);
#ifndef BUG_RADIX_ABOVE_EARLY
	pm_fence();
#endif
#ifdef BUG_RADIX_HEAD_FIRST
	pm_store64(head, cut_head(lower, depth + i + 1)); /* BUG(radix-head-first) */
	pm_persist(head, sizeof(*head));
	publish(place, fresh);
#else
	publish(place, fresh);
	pm_store64(head, cut_head(lower, depth + i + 1)); /* BUG(radix-no-repair) */ /* BUG(radix-head-unpersisted) */ /* TRAP(radix-stale-head) */
#ifndef BUG_RADIX_HEAD_UNPERSISTED
	pm_persist(head, sizeof(*head));
#endif
#endif
	return 1;
}

/* There is another leaf where the key would go: puts a node with both in its place. */
static int insert_beside(struct tree *t, uint64_t *place, unsigned depth, uint64_t key, uint64_t leaf)
{
	uint64_t fresh = find_free(t->node4_used, NODES4, NODES4_START, sizeof(struct node4), NODE4);
	uint64_t other = ((struct leaf *)at(t, *place))->key;
	unsigned i = depth;

	if (!fresh)
		return 0;
	while (digit(other, i) == digit(key, i))
		i++;
	write_node4(at(t, fresh), make_head(key, depth, i - depth), digit(other, i), *place, digit(key, i), leaf);
	pm_fence();
	publish(place, fresh);
	return 1;
}

/* The node of 4 in *place is full: a node of 16 takes its place. */
static int grow(struct tree *t, uint64_t *place, unsigned depth, unsigned d, uint64_t leaf)
{
	uint64_t fresh = find_free(t->node16_used, NODES16, NODES16_START, sizeof(struct node16), NODE16), old = *place;
	struct node16 *n = at(t, fresh);

	if (!fresh)
		return 0;
	n->head = head_at(*head_of(t, old), depth);
	for (unsigned i = 0; i < 16; i++)
		n->child[i] = i == d ? leaf : child_of(t, old, i) ? *child_of(t, old, i) : 0; /* BUG(radix-grow-short) */
#ifdef BUG_RADIX_GROW_SHORT
	pm_flush(n, offsetof(struct node16, child[8]));
#else
	pm_flush(n, sizeof(*n));
#endif
#ifndef BUG_RADIX_GROW_EARLY
	pm_fence();
#endif
	publish(place, fresh);
	t->node4_used[((old & ~(uint64_t)KIND_MASK) - NODES4_START) / sizeof(struct node4)] = 0;
	return 1;
}

/* Adds a leaf to the node in *place, which has no child for digit d. */
static int add_child(struct tree *t, uint64_t *place, uint64_t pointer, unsigned depth, unsigned d, uint64_t leaf)
{
	struct node16 *n16 = at(t, pointer);
	struct node4 *n4 = at(t, pointer);
	unsigned i = 0;

	while (kind_of(pointer) == NODE4 && i < 4 && n4->map >> 8 * i & 255)
		i++;
	if (i == 4)
		return grow(t, place, depth, d, leaf);
#ifndef BUG_RADIX_LEAF_LATE
	pm_fence();
#endif
	if (kind_of(pointer) == NODE16) {
		publish(&n16->child[d], leaf);
#ifdef BUG_RADIX_FLUSH_NODE
		pm_flush(n16, sizeof(*n16)); /* BUG(radix-flush-node) */
		pm_fence();
#endif
		return 1;
	}
#ifdef BUG_RADIX_MAP_FIRST
	pm_store64(&n4->map, n4->map | (uint64_t)(16 + d) << 8 * i); /* BUG(radix-map-first) */
	pm_store64(&n4->child[i], leaf);
#else
	pm_store64(&n4->child[i], leaf);
	pm_store64(&n4->map, n4->map | (uint64_t)(16 + d) << 8 * i);
#endif
	pm_persist(n4, sizeof(*n4));
	return 1;
}

static int insert(struct tree *t, uint64_t key, uint64_t leaf)
{
	uint64_t pointer = ROOT, *place = NULL, *child;
	unsigned depth = 0;

	for (;;) {
		uint64_t head = head_at(*head_of(t, pointer), depth);
		unsigned start = depth;

		for (unsigned i = 0; i < head_length(head); i++)
			if (digit(key, depth++) != head_digit(head, i))
				return insert_above(t, place, start, i, key, leaf);
		child = child_of(t, pointer, digit(key, depth));
		if (!child)
			return add_child(t, place, pointer, start, digit(key, depth), leaf);
		place = child;
		pointer = *child;
		depth++;
		if (kind_of(pointer) == LEAF)
			return insert_beside(t, place, depth, key, leaf);
	}
}

/* ---- operations ---- */

static enum corpus_result radix_get(void *store, uint64_t key, uint64_t *out)
{
	struct leaf *leaf = find(store, key);

	if (!leaf)
		return CORPUS_NONE;
	*out = leaf->value;
	return CORPUS_VALUE;
}

static enum corpus_result radix_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct leaf *leaf = find(store, key);

	if (!leaf)
		return CORPUS_NONE;
	*out = leaf->value;
	pm_store64(&leaf->value, value); /* BUG(radix-upd-unfenced) */
	pm_flush(leaf, sizeof(*leaf));
#ifndef BUG_RADIX_UPD_UNFENCED
	pm_fence();
#endif
	return CORPUS_OLD;
}

static enum corpus_result radix_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct tree *t = store;
	uint64_t pointer;
	struct leaf *leaf;

	if (radix_upd(t, key, value, out) == CORPUS_OLD)
		return CORPUS_OLD;
	pointer = find_free(t->leaf_used, LEAVES, LEAVES_START, sizeof(struct leaf), LEAF);
	if (!pointer)
		return CORPUS_FULL;
	leaf = at(t, pointer);
	*leaf = (struct leaf){key, value};
	pm_flush(leaf, sizeof(*leaf)); /* the fence comes before the leaf is published */
	return insert(t, key, pointer) ? CORPUS_NEW : CORPUS_FULL;
}

static void remove_child(struct tree *t, uint64_t pointer, unsigned d)
{
	uint64_t *child = child_of(t, pointer, d), *map = &((struct node4 *)at(t, pointer))->map;

	if (kind_of(pointer) == NODE16) {
		pm_store64(child, 0);
		pm_persist(child, sizeof(*child));
	} else {
		pm_store64(map, *map & ~(255ull << 8 * (child - ((struct node4 *)at(t, pointer))->child)));
		pm_persist(map, sizeof(*map));
	}
}

static int walk(struct tree *t, int repair);

static enum corpus_result radix_del(void *store, uint64_t key, uint64_t *out)
{
	struct tree *t = store;
	uint64_t pointer = ROOT, from = ROOT;
	unsigned depth = 0, d = 0;

	if (radix_get(t, key, out) == CORPUS_NONE)
		return CORPUS_NONE;
	while (kind_of(pointer) != LEAF) {
		depth += head_length(head_at(*head_of(t, pointer), depth));
#ifdef BUG_RADIX_EMPTY_NODE
		if (from != pointer && count_children(t, pointer) == 1 && kind_of(*child_of(t, pointer, digit(key, depth))) == LEAF)
			remove_child(t, pointer, digit(key, depth)); /* BUG(radix-empty-node) */
#endif
		if (pointer == ROOT || count_children(t, pointer) > 1) {
			from = pointer;
			d = digit(key, depth);
		}
		if (!child_of(t, pointer, digit(key, depth)))
			break;
		pointer = *child_of(t, pointer, digit(key, depth));
		depth++;
	}
	remove_child(t, from, d);
	walk(t, 0); /* finds what is free now */
#ifdef BUG_RADIX_FENCE_TWICE
	pm_fence(); /* BUG(radix-fence-twice) */
#endif
	return CORPUS_OLD;
}

static size_t collect(const struct tree *t, uint64_t pointer, uint64_t key, size_t n, struct corpus_pair *out)
{
	size_t found = 0;

	if (kind_of(pointer) == LEAF) {
		struct leaf *leaf = at(t, pointer);

		if (n && leaf->key >= key)
			out[found++] = (struct corpus_pair){leaf->key, leaf->value};
		return found;
	}
	for (unsigned d = 0; d < 16; d++)
		if (child_of(t, pointer, d))
			found += collect(t, *child_of(t, pointer, d), key, n - found, out + found);
	return found;
}

static size_t radix_scan(void *store, uint64_t key, size_t n, struct corpus_pair *out)
{
	return collect(store, ROOT, key, n, out);
}

/* ---- opening, recovery, check ---- */

/* Marks what a pointer leads to as used; returns 0 if it leads nowhere, or where another has led before. */
static int mark(struct tree *t, uint64_t pointer)
{
	static const struct { uint64_t start, count, size; } area[] = {
		[LEAF] = {LEAVES_START, LEAVES, sizeof(struct leaf)},
		[NODE4] = {NODES4_START, NODES4, sizeof(struct node4)},
		[NODE16] = {NODES16_START, NODES16, sizeof(struct node16)},
	};
	enum kind kind = kind_of(pointer);
	uint64_t offset = pointer & ~(uint64_t)KIND_MASK, i;
	char *used = kind == LEAF ? t->leaf_used : kind == NODE4 ? t->node4_used : t->node16_used;

	if (kind < LEAF || kind > NODE16 || offset < area[kind].start)
		return 0;
	i = (offset - area[kind].start) / area[kind].size;
	if (i >= area[kind].count || (offset - area[kind].start) % area[kind].size || used[i])
		return 0;
	used[i] = 1;
	return 1;
}

/* Walks the part of the tree below `pointer`, which is at `depth`; `path` has the digits up to there. */
static int walk_below(struct tree *t, uint64_t pointer, unsigned depth, uint64_t path, int repair)
{
	struct leaf *leaf = at(t, pointer);
	uint64_t head;
	int good = 1;

	if (!mark(t, pointer)) {
		corpus_wrong("a pointer at depth %u leads to nowhere", depth);
		return 0;
	}
	if (kind_of(pointer) == LEAF) {
		if (!leaf->value || (depth < DIGITS ? (leaf->key ^ path) >> (64 - 4 * depth) : leaf->key ^ path))
			corpus_wrong("the leaf of key %lu is damaged or in a wrong place", leaf->key);
		return 1;
	}
	head = *head_of(t, pointer);
	if (depth < head_start(head) || depth - head_start(head) > head_length(head) ||
	    head_start(head) + head_length(head) >= DIGITS || (depth == 0 && head)) {
		corpus_wrong("a node at depth %u has a wrong prefix", depth);
		return 0;
	}
	if (head_start(head) != depth && repair) {
		pm_store64(head_of(t, pointer), head_at(head, depth));
		pm_persist(head_of(t, pointer), sizeof(head));
	}
	head = head_at(head, depth);
#ifndef TRAP_RADIX_STALE_HEAD
	if (head_start(*head_of(t, pointer)) != depth)
		corpus_wrong("a node at depth %u has a prefix that starts at %u", depth, head_start(head));
#endif
	if (pointer != ROOT && count_children(t, pointer) == 0)
		corpus_wrong("a node at depth %u is empty", depth);
	for (unsigned i = 0; i < head_length(head) && depth < DIGITS - 1; i++, depth++)
		path |= (uint64_t)head_digit(head, i) << (60 - 4 * depth);
	for (unsigned d = 0; d < 16; d++)
		if (child_of(t, pointer, d))
			good &= walk_below(t, *child_of(t, pointer, d), depth + 1,
					   path | (uint64_t)d << (60 - 4 * depth), repair);
	return good;
}

static int walk(struct tree *t, int repair)
{
	memset(t->leaf_used, 0, sizeof(t->leaf_used));
	memset(t->node4_used, 0, sizeof(t->node4_used));
	memset(t->node16_used, 0, sizeof(t->node16_used));
	return walk_below(t, ROOT, 0, 0, repair);
}

static void radix_check(void *store)
{
	walk(store, 0);
}

static void *radix_open(const char *path)
{
	int fresh, repair = 1;
	char *base = corpus_pool_map(path, POOL_SIZE, MAGIC, NULL, &fresh);
	struct tree *t;

	if (!base)
		return NULL;
	t = calloc(1, sizeof(*t));
	t->base = base;
	if (fresh) { /* zero is an empty root */
		pm_store64((uint64_t *)base, MAGIC);
		pm_persist(base, sizeof(uint64_t));
	}
#if defined(BUG_RADIX_NO_REPAIR) || defined(TRAP_RADIX_STALE_HEAD)
	repair = 0;
#endif
	walk(t, repair);
	return t;
}

static void radix_close(void *store)
{
	struct tree *t = store;

	corpus_pool_unmap(t->base, POOL_SIZE);
	free(t);
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		.name = "radix", .open = radix_open, .close = radix_close, .check = radix_check,
		.put = radix_put, .get = radix_get, .del = radix_del, .upd = radix_upd, .scan = radix_scan,
	};

	return corpus_main(&program, argc, argv);
}
