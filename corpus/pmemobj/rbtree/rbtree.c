/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A red-black tree on libpmemobj's transactions.
 *
 *   root     ready, top node, count
 *   node     key, value, parent, two children, colour
 *
 * An insertion or deletion is one transaction, rotations and recolouring included. A node may be changed
 * several times in it but is added to the undo log once, before the first time; `touched` remembers which
 * are, or need not be because they are new. A value is replaced by one eight-byte store, without a
 * transaction. Links are offsets in the pool, 0 is none. The library undoes what was interrupted; recovery
 * has nothing else to repair.
 */
#include "common/corpus.h"
#include "common/pm.h"
#include "common/pobj.h"

#define READY 0x3165657262726f70ull
#define LAYOUT "corpus-rbtree"
#define TOUCHED_MAX 256u
#define HEIGHT_MAX 64u

enum { TYPE_NODE = 1 };

struct node {
	uint64_t key;
	uint64_t value;
	uint64_t parent;
	uint64_t child[2];
	uint64_t red;
};

struct root {
	uint64_t ready;
	uint64_t top;
	uint64_t count;
#ifdef TRAP_RBTREE_MUTEX
	PMEMmutex mutex;
#endif
};

struct tree {
	PMEMobjpool *pop;
	struct root *root;
	uint64_t uuid;
	uint64_t touched[TOUCHED_MAX];
	unsigned int n_touched;
};

static struct node *at(struct tree *tree, uint64_t offset)
{
	return (struct node *)((char *)tree->pop + offset);
}

static int is_red(struct tree *tree, uint64_t offset)
{
	return offset && at(tree, offset)->red;
}

/* Which child of its parent a node is. */
static int side_of(struct tree *tree, uint64_t parent, uint64_t offset)
{
	return parent && at(tree, parent)->child[1] == offset;
}

static void begin(struct tree *tree)
{
	if (pmemobj_tx_begin(tree->pop, NULL, TX_PARAM_NONE) != 0)
		abort();
	tree->n_touched = 0;
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

/* Returns 1 for the first call with this offset in a transaction. */
static int remember(struct tree *tree, uint64_t offset)
{
	for (unsigned int i = 0; i < tree->n_touched; i++)
		if (tree->touched[i] == offset)
			return 0;
	if (tree->n_touched == TOUCHED_MAX)
		abort();
	tree->touched[tree->n_touched++] = offset;
	return 1;
}

/* The node is about to be changed. */
static void touch(struct tree *tree, uint64_t offset)
{
	if (remember(tree, offset))
		add(at(tree, offset), sizeof(struct node));
}

static void paint(struct tree *tree, uint64_t offset, uint64_t red)
{
	if (at(tree, offset)->red == red)
		return;
	touch(tree, offset);
	at(tree, offset)->red = red;
}

/* Hangs a node, or none, under a parent, or at the top (which is remembered as 0). */
static void hang(struct tree *tree, uint64_t parent, int side, uint64_t offset)
{
	if (parent) {
		touch(tree, parent);
		at(tree, parent)->child[side] = offset;
	} else {
		if (remember(tree, 0))
			add(&tree->root->top, sizeof(tree->root->top));
		tree->root->top = offset;
	}
}

/* Rotates a node down to the given side; its child on the other side takes its place. */
static void rotate(struct tree *tree, uint64_t down, int side)
{
	uint64_t up = at(tree, down)->child[!side], parent = at(tree, down)->parent;
	uint64_t inner = at(tree, up)->child[side];
	int where = side_of(tree, parent, down);

	touch(tree, down);
	touch(tree, up);
#ifdef BUG_RBTREE_ROTATE_TWICE
	add(&at(tree, down)->child[!side], sizeof(uint64_t)); /* BUG(rbtree-rotate-twice) */
#endif
	at(tree, down)->child[!side] = inner;
	if (inner) {
#ifndef BUG_RBTREE_ROTATE_UNLOGGED
		touch(tree, inner);
#endif
		at(tree, inner)->parent = down; /* BUG(rbtree-rotate-unlogged) */
	}
	at(tree, up)->parent = parent;
	hang(tree, parent, where, up);
	at(tree, up)->child[side] = down;
	at(tree, down)->parent = up;
}

/* A red node was inserted; its parent may be red as well. */
static void fix_insert(struct tree *tree, uint64_t offset)
{
	uint64_t parent;

	while ((parent = at(tree, offset)->parent) != 0 && is_red(tree, parent)) {
		uint64_t grand = at(tree, parent)->parent;
		int side = side_of(tree, grand, parent);
		uint64_t uncle = at(tree, grand)->child[!side];

		if (is_red(tree, uncle)) {
			paint(tree, parent, 0);
			paint(tree, uncle, 0);
			paint(tree, grand, 1);
			offset = grand;
			continue;
		}
		if (at(tree, parent)->child[!side] == offset) {
			rotate(tree, parent, side);
			parent = offset;
		}
		paint(tree, parent, 0);
		paint(tree, grand, 1);
		rotate(tree, grand, !side);
		break;
	}
}

/* On this side of the parent there is one black node too few. */
static void fix_delete(struct tree *tree, uint64_t parent, int side)
{
	while (parent) {
		uint64_t sibling = at(tree, parent)->child[!side], offset;

		if (is_red(tree, sibling)) {
			paint(tree, sibling, 0);
			paint(tree, parent, 1);
			rotate(tree, parent, side);
			sibling = at(tree, parent)->child[!side];
		}
		if (is_red(tree, at(tree, sibling)->child[0]) || is_red(tree, at(tree, sibling)->child[1])) {
			if (!is_red(tree, at(tree, sibling)->child[!side])) {
				paint(tree, at(tree, sibling)->child[side], 0);
				paint(tree, sibling, 1);
				rotate(tree, sibling, !side);
				sibling = at(tree, parent)->child[!side];
			}
			paint(tree, sibling, at(tree, parent)->red);
			paint(tree, parent, 0);
			paint(tree, at(tree, sibling)->child[!side], 0);
			rotate(tree, parent, side);
			return;
		}
		paint(tree, sibling, 1);
		offset = parent;
		if (is_red(tree, offset)) {
			paint(tree, offset, 0);
			return;
		}
		parent = at(tree, offset)->parent;
		side = side_of(tree, parent, offset);
	}
}

/* The node with this key, or 0 and where it belongs. */
static uint64_t find(struct tree *tree, uint64_t key, uint64_t *parent, int *side)
{
	uint64_t offset = tree->root->top;

	*parent = 0;
	*side = 0;
	while (offset && at(tree, offset)->key != key) {
		*parent = offset;
		*side = key > at(tree, offset)->key;
		offset = at(tree, offset)->child[*side];
	}
	return offset;
}

static void set_count(struct tree *tree, uint64_t count)
{
#ifndef TRAP_RBTREE_COUNT
	add(&tree->root->count, sizeof(tree->root->count));
#endif
	tree->root->count = count; /* TRAP(rbtree-count-anew) */
}

#ifdef TRAP_RBTREE_COUNT
static uint64_t count_nodes(struct tree *tree, uint64_t offset)
{
	return offset ? 1 + count_nodes(tree, at(tree, offset)->child[0]) + count_nodes(tree, at(tree, offset)->child[1]) : 0;
}
#endif

static void lock(struct tree *tree)
{
#ifdef TRAP_RBTREE_MUTEX
	/* The library forgets a lock when the pool is opened: it needs no persistence. */
	pmemobj_mutex_lock(tree->pop, &tree->root->mutex); /* TRAP(rbtree-mutex) */
#else
	(void)tree;
#endif
}

static void unlock(struct tree *tree)
{
#ifdef TRAP_RBTREE_MUTEX
	pmemobj_mutex_unlock(tree->pop, &tree->root->mutex);
#else
	(void)tree;
#endif
}

static enum corpus_result rbtree_get(void *store, uint64_t key, uint64_t *out)
{
	uint64_t parent, offset;
	int side;

	offset = find(store, key, &parent, &side);
	if (!offset)
		return CORPUS_NONE;
	*out = at(store, offset)->value;
	return CORPUS_VALUE;
}

static enum corpus_result rbtree_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct tree *tree = store;
	uint64_t parent, offset;
	int side;

	offset = find(tree, key, &parent, &side);
	if (!offset)
		return CORPUS_NONE;
	*out = at(tree, offset)->value;
	pm_store64(&at(tree, offset)->value, value); /* BUG(rbtree-upd-unpersisted) */
#ifndef BUG_RBTREE_UPD_UNPERSISTED
	pmemobj_persist(tree->pop, &at(tree, offset)->value, sizeof(value));
#endif
	return CORPUS_OLD;
}

static enum corpus_result insert(struct tree *tree, uint64_t key, uint64_t value, uint64_t parent, int side)
{
	PMEMoid oid;

	begin(tree);
	oid = pmemobj_tx_xalloc(sizeof(struct node), TYPE_NODE, POBJ_XALLOC_NO_ABORT);
	if (OID_IS_NULL(oid)) {
		commit();
		return CORPUS_FULL;
	}
	remember(tree, oid.off);
	*at(tree, oid.off) = (struct node){ .key = key, .value = value, .parent = parent, .red = 1 };
	hang(tree, parent, side, oid.off);
	fix_insert(tree, oid.off);
#ifndef BUG_RBTREE_TOP_OUTSIDE
	paint(tree, tree->root->top, 0);
#endif
#ifndef BUG_RBTREE_COUNT_OUTSIDE
	set_count(tree, tree->root->count + 1);
#endif
	commit();
#ifdef BUG_RBTREE_COUNT_OUTSIDE
	tree->root->count++; /* BUG(rbtree-count-outside) */
#endif
#ifdef BUG_RBTREE_TOP_OUTSIDE
	if (is_red(tree, tree->root->top)) {
		at(tree, tree->root->top)->red = 0; /* BUG(rbtree-top-outside) */
		pmemobj_persist(tree->pop, &at(tree, tree->root->top)->red, sizeof(uint64_t));
	}
#endif
	return CORPUS_NEW;
}

static enum corpus_result rbtree_del(void *store, uint64_t key, uint64_t *out);

static enum corpus_result rbtree_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct tree *tree = store;
	enum corpus_result result;
	uint64_t parent;
	int side;

	lock(tree);
#ifdef BUG_RBTREE_PUT_ERASES
	if (rbtree_del(tree, key, out) == CORPUS_OLD) { /* BUG(rbtree-put-erases) */
		find(tree, key, &parent, &side);
		return insert(tree, key, value, parent, side) == CORPUS_NEW ? CORPUS_OLD : CORPUS_FULL;
	}
#endif
	if (find(tree, key, &parent, &side))
		result = rbtree_upd(tree, key, value, out);
	else
		result = insert(tree, key, value, parent, side);
	unlock(tree);
	return result;
}

/* Copies a node's contents over those of another, higher one. */
static void move_up(struct tree *tree, uint64_t from, uint64_t to)
{
#ifdef BUG_RBTREE_MOVE_LATE
	at(tree, to)->key = at(tree, from)->key; /* BUG(rbtree-move-late) */
	touch(tree, to);
#elif defined(BUG_RBTREE_MOVE_VALUE)
	add(&at(tree, to)->key, sizeof(uint64_t));
	at(tree, to)->key = at(tree, from)->key;
#else
	touch(tree, to);
	at(tree, to)->key = at(tree, from)->key;
#endif
	at(tree, to)->value = at(tree, from)->value; /* BUG(rbtree-move-value) */
}

/* Takes off a node that has at most one child, and frees it. */
static void take_off(struct tree *tree, uint64_t offset)
{
	struct node *node = at(tree, offset);
	uint64_t parent = node->parent, child = node->child[0] ? node->child[0] : node->child[1];
	int side = side_of(tree, parent, offset), was_red = is_red(tree, offset);

	hang(tree, parent, side, child);
	if (child) {
		touch(tree, child);
		at(tree, child)->parent = parent;
	}
	pmemobj_tx_free((PMEMoid){ tree->uuid, offset });
#ifdef BUG_RBTREE_FREED_NODE
	node->parent = offset; /* BUG(rbtree-freed-node) */
#endif
#ifdef BUG_RBTREE_DELETE_TWO
	commit(); /* BUG(rbtree-delete-two) */
	begin(tree);
#endif
	if (is_red(tree, child))
		paint(tree, child, 0);
	else if (!was_red)
		fix_delete(tree, parent, side);
}

static enum corpus_result rbtree_del(void *store, uint64_t key, uint64_t *out)
{
	struct tree *tree = store;
	uint64_t parent, offset, next;
	int side;

	offset = find(tree, key, &parent, &side);
	if (!offset)
		return CORPUS_NONE;
	*out = at(tree, offset)->value;
	begin(tree);
	if (at(tree, offset)->child[0] && at(tree, offset)->child[1]) {
		for (next = at(tree, offset)->child[1]; at(tree, next)->child[0];)
			next = at(tree, next)->child[0];
		move_up(tree, next, offset);
		offset = next;
	}
	set_count(tree, tree->root->count - 1);
	take_off(tree, offset);
	commit();
	return CORPUS_OLD;
}

static size_t scan_node(struct tree *tree, uint64_t offset, uint64_t key, size_t n, struct corpus_pair *out)
{
	struct node *node = at(tree, offset);
	size_t found = 0;

	if (!offset || n == 0)
		return 0;
	if (node->key > key)
		found = scan_node(tree, node->child[0], key, n, out);
	if (node->key >= key && found < n)
		out[found++] = (struct corpus_pair){ node->key, node->value };
	return found + scan_node(tree, node->child[1], key, n - found, out + found);
}

static size_t rbtree_scan(void *store, uint64_t key, size_t n, struct corpus_pair *out)
{
	struct tree *tree = store;

	return scan_node(tree, tree->root->top, key, n, out);
}

struct check {
	struct tree *tree;
	struct pobj_census census;
	uint64_t count;
	uint64_t key; /* the last one seen */
};

/* Returns the number of black nodes on the way down. */
static int check_node(struct check *check, uint64_t offset, uint64_t parent, unsigned int depth)
{
	struct node *node = at(check->tree, offset);
	int left, right;

	if (!offset)
		return 1;
	if (depth == HEIGHT_MAX) {
		corpus_wrong("the tree is too high");
		return 0;
	}
	if (!pobj_census_visit(&check->census, offset, TYPE_NODE, sizeof(*node)))
		return 0;
	left = check_node(check, node->child[0], offset, depth + 1);
	if (node->key <= check->key || node->value == 0)
		corpus_wrong("key %lu with value %lu behind key %lu", node->key, node->value, check->key);
	check->key = node->key;
	check->count++;
	right = check_node(check, node->child[1], offset, depth + 1);
	if (node->parent != parent)
		corpus_wrong("key %lu has a wrong parent", node->key);
	if (node->red > 1 || (node->red && (!parent || is_red(check->tree, parent))))
		corpus_wrong("key %lu must not be red", node->key);
	if (left != right)
		corpus_wrong("key %lu has %d black nodes on the left and %d on the right", node->key, left, right);
	return left + !node->red;
}

static void rbtree_check(void *store)
{
	struct check check = { .tree = store };
	struct root *root = check.tree->root;

	pobj_census_take(&check.census, check.tree->pop);
	check_node(&check, root->top, 0, 0);
	if (root->count != check.count)
		corpus_wrong("count is %lu but there are %lu", root->count, check.count);
	pobj_census_finish(&check.census);
}

static void *rbtree_open(const char *path)
{
	PMEMobjpool *pop = pobj_open(path, LAYOUT, READY);
	struct tree *tree;
	PMEMoid root;

	if (!pop)
		return NULL;
	tree = calloc(1, sizeof(*tree));
	tree->pop = pop;
	root = pmemobj_root(pop, sizeof(struct root));
	tree->root = pmemobj_direct(root);
	tree->uuid = root.pool_uuid_lo;
	if (tree->root->ready != READY) {
		pm_store64(&tree->root->ready, READY);
		pmemobj_persist(pop, &tree->root->ready, sizeof(tree->root->ready));
	}
#ifdef TRAP_RBTREE_COUNT
	tree->root->count = count_nodes(tree, tree->root->top);
#endif
	return tree;
}

static void rbtree_close(void *store)
{
	struct tree *tree = store;

	pmemobj_close(tree->pop);
	free(tree);
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		.name = "rbtree", .open = rbtree_open, .close = rbtree_close, .check = rbtree_check,
		.put = rbtree_put, .get = rbtree_get, .del = rbtree_del, .upd = rbtree_upd, .scan = rbtree_scan,
	};

	return corpus_main(&program, argc, argv);
}
