/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A B+-tree whose nodes are sorted arrays that are shifted in place, in the way of FAST & FAIR.
 *
 *   line 0   magic        line 1   root
 *   4096     records: key, value                     (16 bytes each, what leaf entries point to)
 *   16384    nodes: low, leftmost, sibling, level | 8 entries (key, pointer)      (three lines each)
 *
 * Entries end at the first pointer 0. An entry whose pointer equals the pointer to its left (`leftmost` for
 * the first one) is no entry; this is what makes shifting by eight-byte stores safe:
 *   insert   shift entries right, pointer before key, each line persistent before the line to its left is
 *            changed; then make the freed place "no entry", and at last store its pointer
 *   delete   make the place "no entry", persist; then shift entries left in the same manner
 *   split    write the upper half to a new node; link it as sibling; cut the lower half with one store of
 *            0; then insert the new node into the parent, or make a new root
 * Entries not below the sibling's `low` count for nothing, and a search goes right to the sibling when its
 * key is not below that. So every moment is a correct tree; recovery only tidies up: it removes places that
 * are no entry, cuts what a sibling has, and inserts into the parents what is missing there.
 *
 * What is in use is not recorded in the pool: a node or record that the tree does not reach is free.
 */
#include "common/corpus.h"
#include "common/pm.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "holdfast.h"

#define MAGIC 0x31726961667361ffull
#define RECORDS 512u
#define RECORDS_START 4096u
#define NODES 160u
#define NODES_START 16384u
#define POOL_SIZE (NODES_START + NODES * sizeof(struct node))
#define SLOTS 8u
#define PER_LINE (PM_LINE / sizeof(struct entry))
#define LEVELS 12u
#define LEAF_LEFT 1u /* `leftmost` of a leaf: no valid pointer */

struct record {
	uint64_t key;
	uint64_t value;
};

struct entry {
	uint64_t key;
	uint64_t pointer;
};

struct PM_ALIGNED node {
	uint64_t low; /* the smallest key that belongs here; never changes */
	uint64_t leftmost;
	uint64_t sibling;
	uint64_t level;
	uint64_t switches; /* only in variants */
	struct entry PM_ALIGNED entry[SLOTS];
};

struct header {
	struct PM_ALIGNED {
		uint64_t magic;
	} id;
	struct PM_ALIGNED {
		uint64_t root;
	} top;
};

struct tree {
	struct header *header;
	char *base;
	char record_used[RECORDS];
	char node_used[NODES];
	unsigned free_nodes;
};

/* ---- nodes ---- */

static struct node *node_at(const struct tree *t, uint64_t offset)
{
	return (struct node *)(t->base + offset);
}

static struct record *record_at(const struct tree *t, uint64_t offset)
{
	return (struct record *)(t->base + offset);
}

static uint64_t offset_of(const struct tree *t, const void *p)
{
	return (uint64_t)((const char *)p - t->base);
}

static int is_node(uint64_t offset)
{
	return offset >= NODES_START && offset < POOL_SIZE && (offset - NODES_START) % sizeof(struct node) == 0;
}

static int is_record(uint64_t offset)
{
	return offset >= RECORDS_START && offset < RECORDS_START + RECORDS * sizeof(struct record) &&
	       offset % sizeof(struct record) == 0;
}

static struct node *root_of(const struct tree *t)
{
	return node_at(t, t->header->top.root);
}

static unsigned count_of(const struct node *n)
{
	unsigned count = 0;

	while (count < SLOTS && n->entry[count].pointer)
		count++;
	return count;
}

static uint64_t left_of(const struct node *n, unsigned i)
{
	return i ? n->entry[i - 1].pointer : n->leftmost;
}

static int is_entry(const struct node *n, unsigned i)
{
	return n->entry[i].pointer != left_of(n, i);
}

/* The node of a level that a key belongs to. */
static struct node *find_node(const struct tree *t, uint64_t level, uint64_t key)
{
	struct node *n = root_of(t);

	for (;;) {
		uint64_t child = n->leftmost;

		if (n->sibling && key >= node_at(t, n->sibling)->low) {
			n = node_at(t, n->sibling);
			continue;
		}
		if (n->level == level)
			return n;
		for (unsigned i = 0; i < count_of(n); i++)
			if (is_entry(n, i) && n->entry[i].key <= key)
				child = n->entry[i].pointer;
		n = node_at(t, child);
	}
}

static struct entry *find_entry(struct node *n, uint64_t key)
{
	for (unsigned i = 0; i < count_of(n); i++)
		if (is_entry(n, i) && n->entry[i].key == key)
			return &n->entry[i];
	return NULL;
}

static struct record *find(const struct tree *t, uint64_t key)
{
	struct entry *e = find_entry(find_node(t, 0, key), key);

	return e ? record_at(t, e->pointer) : NULL;
}

static uint64_t new_record(struct tree *t)
{
	unsigned i = 0;

	while (i < RECORDS && t->record_used[i])
		i++;
	if (i == RECORDS)
		return 0;
	t->record_used[i] = 1;
	return RECORDS_START + i * sizeof(struct record);
}

/* The caller has made sure that there is one. */
static struct node *new_node(struct tree *t)
{
	unsigned i = 0;

	while (t->node_used[i])
		i++;
	t->node_used[i] = 1;
	t->free_nodes--;
	return node_at(t, NODES_START + i * sizeof(struct node));
}

static void count_switch(struct node *n)
{
#if defined(BUG_FASTFAIR_SWITCHES) || defined(TRAP_FASTFAIR_SWITCHES)
	n->switches++; /* BUG(fastfair-switches) */ /* TRAP(fastfair-switches-volatile) */
#else
	(void)n;
#endif
}

/* ---- shifting ---- */

/* Closes the gap at i, which is no entry. */
static void shift_left(struct node *n, unsigned i)
{
	unsigned last = count_of(n) - 1;

	for (; i < last; i++) {
		pm_store64(&n->entry[i].key, n->entry[i + 1].key);
		pm_store64(&n->entry[i].pointer, n->entry[i + 1].pointer);
		if ((i + 1) % PER_LINE == 0)
			pm_persist(&n->entry[i], sizeof(n->entry[i]));
	}
	pm_store64(&n->entry[last].pointer, 0); /* BUG(fastfair-cut-short) */
#ifdef BUG_FASTFAIR_CUT_SHORT
	pm_persist(&n->entry[0], sizeof(n->entry[0]));
#else
	pm_persist(&n->entry[last], sizeof(n->entry[last]));
#endif
}

/* Opens a gap at `to`, leaving there a second copy of what is now to the right. */
static void shift_right(struct node *n, unsigned count, unsigned to)
{
	for (unsigned i = count; i > to; i--) {
#ifdef BUG_FASTFAIR_KEY_FIRST
		pm_store64(&n->entry[i].key, n->entry[i - 1].key); /* BUG(fastfair-key-first) */
		pm_store64(&n->entry[i].pointer, n->entry[i - 1].pointer);
#else
		pm_store64(&n->entry[i].pointer, n->entry[i - 1].pointer); /* BUG(fastfair-shift-unordered) BUG(fastfair-dup-left) */
		pm_store64(&n->entry[i].key, n->entry[i - 1].key);
#endif
		if (i % PER_LINE)
			continue;
		pm_flush(&n->entry[i], sizeof(n->entry[i]));
#ifndef BUG_FASTFAIR_SHIFT_UNORDERED
		pm_fence();
#endif
	}
}

/* Removes the places that are no entry. */
static void repair(struct node *n)
{
#ifdef BUG_FASTFAIR_DUP_LEFT
	if (n->entry[0].pointer)
		return;
#endif
	for (unsigned i = 0; i < count_of(n);) {
		if (is_entry(n, i))
			i++;
		else
			shift_left(n, i);
	}
}

static void insert_entry(struct node *n, uint64_t key, uint64_t pointer)
{
	unsigned count, to;
	struct entry *e;

#ifdef TRAP_FASTFAIR_DUPLICATE
	repair(n);
#endif
	count_switch(n);
	to = count = count_of(n);
	if (count + 1 < SLOTS && n->entry[count + 1].pointer) { /* left over from before a split */
		pm_store64(&n->entry[count + 1].pointer, 0);
		if ((count + 1) % PER_LINE == 0)
			pm_persist(&n->entry[count + 1], sizeof(struct entry));
	}
	while (to > 0 && n->entry[to - 1].key > key)
		to--;
	e = &n->entry[to];
	shift_right(n, count, to);
	if (to < count) {
		pm_store64(&e->pointer, left_of(n, to)); /* TRAP(fastfair-duplicate) */
		pm_store64(&e->key, key);
#ifndef TRAP_FASTFAIR_ONE_PERSIST
		pm_persist(e, sizeof(*e));
#endif
	} else {
		pm_store64(&e->key, key);
	}
	pm_store64(&e->pointer, pointer); /* BUG(fastfair-record-late) */ /* TRAP(fastfair-one-persist) */
#ifdef BUG_FASTFAIR_FLUSH_NODE
	pm_persist(n, sizeof(*n)); /* BUG(fastfair-flush-node) */
#else
	pm_persist(e, sizeof(*e));
#endif
}

static void remove_entry(struct node *n, unsigned i)
{
	count_switch(n);
#ifdef BUG_FASTFAIR_DELETE_IN_PLACE
	if (i + 1 < count_of(n))
		pm_store64(&n->entry[i].pointer, n->entry[i + 1].pointer); /* BUG(fastfair-delete-in-place) */
#else
	pm_store64(&n->entry[i].pointer, left_of(n, i));
	pm_persist(&n->entry[i], sizeof(n->entry[i]));
#endif
	shift_left(n, i);
}

/* ---- growing ---- */

static void split(struct tree *t, struct node *n);

static void grow_root(struct tree *t, uint64_t key, uint64_t child)
{
	struct node *r = new_node(t);

	r->low = root_of(t)->low;
	r->leftmost = t->header->top.root;
	r->sibling = 0;
	r->level = root_of(t)->level + 1;
	r->entry[0] = (struct entry){key, child};
	r->entry[1].pointer = 0;
	pm_flush(r, offsetof(struct node, entry[2]));
#ifndef BUG_FASTFAIR_ROOT_EARLY
	pm_fence();
#endif
	pm_store64(&t->header->top.root, offset_of(t, r)); /* BUG(fastfair-root-early) */ /* BUG(fastfair-root-sibling) */
	pm_persist(&t->header->top, sizeof(t->header->top));
}

static void insert_into_parent(struct tree *t, uint64_t level, uint64_t key, uint64_t child)
{
	struct node *n;

	if (root_of(t)->level < level) {
		grow_root(t, key, child);
		return;
	}
	n = find_node(t, level, key);
	if (count_of(n) == SLOTS) {
		split(t, n);
		n = find_node(t, level, key);
	}
	insert_entry(n, key, child);
}

static void split(struct tree *t, struct node *n)
{
	unsigned middle = SLOTS / 2, from = n->level ? middle + 1 : middle;
	struct node *s;

#ifdef TRAP_FASTFAIR_DUPLICATE
	repair(n);
	if (count_of(n) < SLOTS)
		return;
#endif
	s = new_node(t);
	s->low = n->entry[middle].key;
	s->leftmost = n->level ? n->entry[middle].pointer : LEAF_LEFT;
	s->sibling = n->sibling;
	s->level = n->level;
	for (unsigned i = from; i < SLOTS; i++) {
		pm_store64(&s->entry[i - from].key, n->entry[i].key);
		pm_store64(&s->entry[i - from].pointer, n->entry[i].pointer); /* BUG(fastfair-half-flush) */
	}
	pm_store64(&s->entry[SLOTS - from].pointer, 0);
#ifdef BUG_FASTFAIR_HALF_FLUSH
	pm_flush(s, offsetof(struct node, entry));
	pm_flush(&s->entry[SLOTS - from], s->level ? 0 : sizeof(struct entry));
#else
	pm_flush(s, offsetof(struct node, entry[SLOTS - from + 1]));
#endif
#ifdef BUG_FASTFAIR_CUT_FIRST
	pm_fence();
	pm_store64(&n->entry[middle].pointer, 0); /* BUG(fastfair-cut-first) */
	pm_persist(&n->entry[middle], sizeof(struct entry));
#elif !defined(BUG_FASTFAIR_SIBLING_EARLY)
	pm_fence();
#endif
	pm_store64(&n->sibling, offset_of(t, s)); /* BUG(fastfair-sibling-early) */
	pm_persist(n, offsetof(struct node, entry));
#ifndef BUG_FASTFAIR_CUT_FIRST
	pm_store64(&n->entry[middle].pointer, 0); /* BUG(fastfair-no-cut) */
	pm_persist(&n->entry[middle], sizeof(struct entry));
#endif
	insert_into_parent(t, n->level + 1, s->low, offset_of(t, s)); /* TRAP(fastfair-blink) */
}

/* ---- operations ---- */

static enum corpus_result fastfair_get(void *store, uint64_t key, uint64_t *out)
{
	struct record *r = find(store, key);

	if (!r)
		return CORPUS_NONE;
	*out = r->value;
	return CORPUS_VALUE;
}

static enum corpus_result fastfair_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct record *r = find(store, key);

	if (!r)
		return CORPUS_NONE;
	*out = r->value;
	pm_store64(&r->value, value); /* BUG(fastfair-upd-unpersisted) */
#ifndef BUG_FASTFAIR_UPD_UNPERSISTED
	pm_persist(r, sizeof(*r));
#endif
	return CORPUS_OLD;
}

static enum corpus_result fastfair_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct tree *t = store;
	struct node *n = find_node(t, 0, key);
	struct record *r;
	uint64_t offset;

	if (fastfair_upd(t, key, value, out) == CORPUS_OLD)
		return CORPUS_OLD;
	if (t->free_nodes < root_of(t)->level + 2)
		return CORPUS_FULL;
	offset = new_record(t);
	if (!offset)
		return CORPUS_FULL;
	r = record_at(t, offset);
	*r = (struct record){key, value};
	pm_flush(r, sizeof(*r));
#ifndef BUG_FASTFAIR_RECORD_LATE
	pm_fence();
#endif
	if (count_of(n) == SLOTS) {
		split(t, n);
		n = find_node(t, 0, key);
	}
	insert_entry(n, key, offset);
	return CORPUS_NEW;
}

static enum corpus_result fastfair_del(void *store, uint64_t key, uint64_t *out)
{
	struct tree *t = store;
	struct node *n = find_node(t, 0, key);
	struct entry *e;
	uint64_t offset;

#ifdef TRAP_FASTFAIR_DUPLICATE
	repair(n);
#endif
	e = find_entry(n, key);
	if (!e)
		return CORPUS_NONE;
	offset = e->pointer;
	*out = record_at(t, offset)->value;
	remove_entry(n, (unsigned)(e - n->entry));
	t->record_used[(offset - RECORDS_START) / sizeof(struct record)] = 0;
	return CORPUS_OLD;
}

static size_t fastfair_scan(void *store, uint64_t key, size_t n, struct corpus_pair *out)
{
	struct tree *t = store;
	struct node *leaf = find_node(t, 0, key);
	size_t found = 0;

	for (;;) {
		for (unsigned i = 0; i < count_of(leaf) && found < n; i++)
			if (is_entry(leaf, i) && leaf->entry[i].key >= key)
				out[found++] = (struct corpus_pair){leaf->entry[i].key,
								    record_at(t, leaf->entry[i].pointer)->value};
		if (found == n || !leaf->sibling)
			return found;
		leaf = node_at(t, leaf->sibling);
	}
}

/* ---- recovery and check ---- */

/* Marks what the tree reaches, level by level along the siblings. Returns what is wrong, or NULL when every
 * pointer leads where it should and nothing goes in circles. */
static const char *mark(struct tree *t)
{
	uint64_t offset = t->header->top.root, next;
	unsigned nodes = 0;

	memset(t->record_used, 0, sizeof(t->record_used));
	memset(t->node_used, 0, sizeof(t->node_used));
	if (!is_node(offset) || node_at(t, offset)->level >= LEVELS)
		return "there is no root";
	for (uint64_t level = node_at(t, offset)->level;; level--, offset = next) {
		next = node_at(t, offset)->leftmost;
		if (level && (!is_node(next) || node_at(t, next)->level != level - 1))
			return "leftmost child is wrong";
		for (; offset; offset = node_at(t, offset)->sibling) {
			struct node *n = node_at(t, offset);

			if (!is_node(offset) || n->level != level || t->node_used[(offset - NODES_START) / sizeof(*n)])
				return "sibling is wrong";
			t->node_used[(offset - NODES_START) / sizeof(*n)] = 1;
			nodes++;
			for (unsigned i = 0; i < count_of(n); i++) {
				uint64_t to = n->entry[i].pointer;

				if (level ? !is_node(to) || node_at(t, to)->level != level - 1
					  : !is_record(to) && to != LEAF_LEFT)
					return "entry points to nowhere";
				if (!level && to != LEAF_LEFT)
					t->record_used[(to - RECORDS_START) / sizeof(struct record)] = 1;
			}
		}
		if (level == 0)
			break;
	}
	t->free_nodes = NODES - nodes;
	return NULL;
}

static void cut(const struct tree *t, struct node *n)
{
#ifdef BUG_FASTFAIR_NO_CUT
	if (n->sibling)
		return;
#endif
	for (unsigned i = 0; n->sibling && i < count_of(n); i++) {
		if (n->entry[i].key < node_at(t, n->sibling)->low)
			continue;
		pm_store64(&n->entry[i].pointer, 0);
		pm_persist(&n->entry[i], sizeof(struct entry));
	}
}

static struct node *first_of(const struct tree *t, uint64_t level)
{
	struct node *n = root_of(t);

	while (n->level > level)
		n = node_at(t, n->leftmost);
	return n;
}

/* Is s a child of the level above? */
static int has_parent(const struct tree *t, const struct node *s)
{
	struct node *p;

#ifdef TRAP_FASTFAIR_BLINK
	return 1; /* those to its left will do */
#endif
	if (s->level >= root_of(t)->level)
		return 0; /* the root has a sibling */
	p = find_node(t, s->level + 1, s->low);
	for (unsigned i = 0; i < count_of(p); i++)
		if (is_entry(p, i) && p->entry[i].pointer == offset_of(t, s))
			return 1;
	return p->leftmost == offset_of(t, s);
}

static void recover_level(struct tree *t, uint64_t level)
{
	struct node *n = first_of(t, level);

	for (; n; n = n->sibling ? node_at(t, n->sibling) : NULL) {
#ifndef TRAP_FASTFAIR_DUPLICATE
		repair(n);
#endif
		cut(t, n);
#ifdef BUG_FASTFAIR_ROOT_SIBLING
		if (level == root_of(t)->level)
			continue;
#endif
		if (n->sibling && !has_parent(t, node_at(t, n->sibling)))
			insert_into_parent(t, level + 1, node_at(t, n->sibling)->low, n->sibling);
	}
}

static void check_node(const struct tree *t, const struct node *n)
{
	uint64_t least = n->low, offset = offset_of(t, n);
	uint64_t end = n->sibling ? node_at(t, n->sibling)->low : UINT64_MAX;

	if (n->level && node_at(t, n->leftmost)->low != n->low)
		corpus_wrong("node %lu: leftmost child begins at another key", offset);
	for (unsigned i = 0; i < count_of(n); i++) {
		const struct entry *e = &n->entry[i];

		if (!is_entry(n, i)) {
#ifndef TRAP_FASTFAIR_DUPLICATE
			corpus_wrong("node %lu: place %u is no entry", offset, i);
#endif
			continue;
		}
		if (e->key < least || e->key >= end)
			corpus_wrong("node %lu: key %lu is out of order", offset, e->key);
		else if ((n->level ? node_at(t, e->pointer)->low : record_at(t, e->pointer)->key) != e->key)
			corpus_wrong("node %lu: key %lu points to another key", offset, e->key);
		least = e->key + 1;
	}
	if (n->sibling && node_at(t, n->sibling)->low <= n->low)
		corpus_wrong("node %lu: sibling is not to the right", offset);
	if (n->sibling && !has_parent(t, node_at(t, n->sibling)))
		corpus_wrong("node %lu has no parent", n->sibling);
}

static void fastfair_check(void *store)
{
	struct tree *t = store;
	const char *problem = mark(t);

	if (problem) {
		corpus_wrong("%s", problem);
		return;
	}
	for (uint64_t level = root_of(t)->level + 1; level-- > 0;)
		for (struct node *n = first_of(t, level); n; n = n->sibling ? node_at(t, n->sibling) : NULL)
			check_node(t, n);
}

static void *fastfair_open(const char *path)
{
	int fresh;
	char *base = corpus_pool_map(path, POOL_SIZE, MAGIC, NULL, &fresh);
	struct tree *t;

	if (!base)
		return NULL;
	t = calloc(1, sizeof(*t));
	t->header = (struct header *)base;
	t->base = base;
#ifdef TRAP_FASTFAIR_SWITCHES
	for (unsigned i = 0; i < NODES; i++)
		HOLDFAST_VOLATILE(&node_at(t, NODES_START + i * sizeof(struct node))->switches, sizeof(uint64_t));
#endif
	if (fresh) {
		t->header->top.root = NODES_START;
		root_of(t)->leftmost = LEAF_LEFT;
		pm_flush(root_of(t), offsetof(struct node, entry));
		pm_persist(&t->header->top, sizeof(t->header->top));
		pm_store64(&t->header->id.magic, MAGIC);
		pm_persist(&t->header->id, sizeof(t->header->id));
	}
	if (!mark(t) && t->free_nodes > LEVELS)
		for (uint64_t level = root_of(t)->level + 1; level-- > 0;)
			recover_level(t, level);
	mark(t);
	return t;
}

static void fastfair_close(void *store)
{
	struct tree *t = store;

	corpus_pool_unmap(t->base, POOL_SIZE);
	free(t);
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		.name = "fastfair", .open = fastfair_open, .close = fastfair_close, .check = fastfair_check,
		.put = fastfair_put, .get = fastfair_get, .del = fastfair_del, .upd = fastfair_upd,
		.scan = fastfair_scan,
	};

	return corpus_main(&program, argc, argv);
}
