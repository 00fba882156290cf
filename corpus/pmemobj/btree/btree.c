/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A B-tree on libpmemobj's transactions: items in all nodes, two to five in each but the root.
 *
 *   root     ready, root node, count
 *   node     number of items, leaf or not, items, children
 *
 * Every operation is one transaction. On the way down an insertion splits each full node and a deletion
 * refills each minimal one (from a sibling, or by merging with it), so nothing is changed on the way up.
 * A node may be changed several times in a transaction but is added to the undo log once, before the
 * first time; `touched` remembers which are, or need not be because they are new. Links are offsets in the
 * pool, 0 is none. The library undoes what was interrupted; recovery has nothing else to repair.
 */
#include "common/corpus.h"
#include "common/pm.h"
#include "common/pobj.h"

#include <string.h>

#define READY 0x3165657274626f70ull
#define LAYOUT "corpus-btree"
#define MIN 2u
#define MAX (2 * MIN + 1)
#define TOUCHED_MAX 128u
#define HEIGHT_MAX 32u

enum { TYPE_NODE = 1 };

struct node {
	uint64_t n;
	uint64_t leaf;
	struct corpus_pair items[MAX];
	uint64_t child[MAX + 1]; /* not in a leaf */
};

struct root {
	uint64_t ready;
	uint64_t node;
	uint64_t count;
};

struct tree {
	PMEMobjpool *pop;
	struct root *root;
	uint64_t uuid;
	uint64_t touched[TOUCHED_MAX];
	unsigned int n_touched;
	uint64_t later; /* a node to be put in after the transaction: only in a buggy variant */
	uint64_t freed[32]; /* nodes to be freed after it: likewise */
	unsigned nfreed;
};

static struct node *at(struct tree *tree, uint64_t offset)
{
	return (struct node *)((char *)tree->pop + offset);
}

static size_t node_size(int leaf)
{
	return leaf ? offsetof(struct node, child) : sizeof(struct node);
}

static void begin(struct tree *tree)
{
	if (pmemobj_tx_begin(tree->pop, NULL, TX_PARAM_NONE) != 0)
		abort();
	tree->n_touched = 0;
	tree->later = 0;
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

static int is_touched(struct tree *tree, uint64_t offset)
{
	for (unsigned int i = 0; i < tree->n_touched; i++)
		if (tree->touched[i] == offset)
			return 1;
	return 0;
}

/* The node is about to be changed. */
static void touch(struct tree *tree, uint64_t offset)
{
	if (is_touched(tree, offset))
		return;
	if (tree->n_touched == TOUCHED_MAX)
		abort();
	tree->touched[tree->n_touched++] = offset;
	add(at(tree, offset), node_size((int)at(tree, offset)->leaf));
}

/* A new node, or 0. */
static uint64_t new_node(struct tree *tree, int leaf)
{
	PMEMoid oid = pmemobj_tx_xalloc(node_size(leaf), TYPE_NODE, POBJ_XALLOC_NO_ABORT);

	if (!OID_IS_NULL(oid)) {
		tree->touched[tree->n_touched++] = oid.off;
		at(tree, oid.off)->leaf = (uint64_t)leaf;
		at(tree, oid.off)->n = 0;
	}
	return oid.off;
}

static void free_node(struct tree *tree, uint64_t offset)
{
	pmemobj_tx_free((PMEMoid){ tree->uuid, offset });
}

static void set_root(struct tree *tree, uint64_t offset)
{
	add(&tree->root->node, sizeof(tree->root->node));
	tree->root->node = offset;
}

static void set_count(struct tree *tree, uint64_t count)
{
	add(&tree->root->count, sizeof(tree->root->count));
	tree->root->count = count;
}

/* The first item whose key is not below this one. */
static unsigned int position(const struct node *node, uint64_t key)
{
	unsigned int i = 0;

	while (i < node->n && node->items[i].key < key)
		i++;
	return i;
}

static void insert_item(struct node *node, unsigned int i, struct corpus_pair item)
{
	memmove(&node->items[i + 1], &node->items[i], (node->n - i) * sizeof(item));
	node->items[i] = item; /* BUG(btree-insert-short) */
	node->n++;
}

static void remove_item(struct node *node, unsigned int i)
{
	node->n--;
	memmove(&node->items[i], &node->items[i + 1], (node->n - i) * sizeof(node->items[0]));
}

/* Splits the full i-th child of a node that is not full. Returns 0 when there is no memory. */
static int split_child(struct tree *tree, uint64_t parent, unsigned int i)
{
	uint64_t left = at(tree, parent)->child[i], right = new_node(tree, (int)at(tree, left)->leaf);
	struct node *p = at(tree, parent), *l = at(tree, left), *r = at(tree, right);

	if (!right)
		return 0;
	memcpy(r->items, &l->items[MIN + 1], MIN * sizeof(r->items[0]));
	if (!l->leaf)
		memcpy(r->child, &l->child[MIN + 1], (MIN + 1) * sizeof(r->child[0]));
	r->n = MIN;
	touch(tree, parent);
	memmove(&p->child[i + 2], &p->child[i + 1], (p->n - i) * sizeof(p->child[0]));
	p->child[i + 1] = right;
	insert_item(p, i, l->items[MIN]);
#ifndef BUG_BTREE_SPLIT_UNLOGGED
	touch(tree, left);
#endif
	l->n = MIN; /* BUG(btree-split-unlogged) */
	return 1;
}

/* Puts a new root with no items over the full one, and splits that. */
static int grow(struct tree *tree)
{
	uint64_t offset = new_node(tree, 0);

	if (!offset)
		return 0;
	at(tree, offset)->child[0] = tree->root->node;
	if (!split_child(tree, offset, 0))
		return 0;
#ifdef BUG_BTREE_ROOT_OUTSIDE
	tree->later = offset;
#else
	set_root(tree, offset);
#endif
	return 1;
}

static void insert_into_leaf(struct tree *tree, uint64_t offset, struct corpus_pair item)
{
	struct node *node = at(tree, offset);
	unsigned int i = position(node, item.key);

#if defined(BUG_BTREE_ADD_TWICE)
	touch(tree, offset);
	if (i < node->n)
		add(&node->items[i], (node->n - i) * sizeof(item)); /* BUG(btree-add-twice) */
#elif defined(BUG_BTREE_INSERT_SHORT)
	if (!is_touched(tree, offset))
		add(node, offsetof(struct node, items) + node->n * sizeof(item));
#elif defined(TRAP_BTREE_NO_SNAPSHOT)
	if (i == node->n && !is_touched(tree, offset)) {
		/* Behind the last item there is nothing that would have to be restored. */
		add(&node->n, sizeof(node->n));
		if (pmemobj_tx_xadd_range_direct(&node->items[i], sizeof(item), POBJ_XADD_NO_SNAPSHOT) != 0)
			abort();
		node->items[i] = item; /* TRAP(btree-no-snapshot) */
		node->n++;
		return;
	}
	touch(tree, offset);
#else
	touch(tree, offset);
#endif
	insert_item(node, i, item);
}

static int insert(struct tree *tree, struct corpus_pair item)
{
	uint64_t offset = tree->root->node;

	if (!offset) {
		offset = new_node(tree, 1);
		if (!offset)
			return 0;
		set_root(tree, offset);
	} else if (at(tree, offset)->n == MAX) {
		if (!grow(tree))
			return 0;
		offset = tree->later ? tree->later : tree->root->node;
	}
	while (!at(tree, offset)->leaf) {
		unsigned int i = position(at(tree, offset), item.key);

		if (at(tree, at(tree, offset)->child[i])->n == MAX) {
			if (!split_child(tree, offset, i))
				return 0;
			i += item.key > at(tree, offset)->items[i].key;
		}
		offset = at(tree, offset)->child[i];
	}
	insert_into_leaf(tree, offset, item);
	return 1;
}

/* Appends to the i-th child the i-th item and the next child's contents. The root may become empty. */
static void merge(struct tree *tree, uint64_t parent, unsigned int i)
{
	uint64_t left = at(tree, parent)->child[i], right = at(tree, parent)->child[i + 1];
	struct node *p = at(tree, parent), *l = at(tree, left), *r = at(tree, right);

	touch(tree, left);
	l->items[l->n] = p->items[i];
	memcpy(&l->items[l->n + 1], r->items, r->n * sizeof(r->items[0]));
	if (!l->leaf)
		memcpy(&l->child[l->n + 1], r->child, (r->n + 1) * sizeof(r->child[0]));
	l->n += r->n + 1;
#ifdef BUG_BTREE_MERGE_TWO
	commit(); /* BUG(btree-merge-two) */
	begin(tree);
#endif
#ifdef BUG_BTREE_MERGE_LEAK
	tree->freed[tree->nfreed++] = right;
#else
	free_node(tree, right);
#endif
	if (parent == tree->root->node && p->n == 1) {
		set_root(tree, left);
		free_node(tree, parent);
		return;
	}
	touch(tree, parent);
	memmove(&p->child[i + 1], &p->child[i + 2], (p->n - i - 1) * sizeof(p->child[0]));
	remove_item(p, i);
}

static void borrow_left(struct tree *tree, uint64_t parent, unsigned int i)
{
	uint64_t to = at(tree, parent)->child[i], from = at(tree, parent)->child[i - 1];
	struct node *p = at(tree, parent), *c = at(tree, to), *s = at(tree, from);

	touch(tree, parent);
	touch(tree, to);
	if (!c->leaf) {
		memmove(&c->child[1], &c->child[0], (c->n + 1) * sizeof(c->child[0]));
		c->child[0] = s->child[s->n];
	}
	insert_item(c, 0, p->items[i - 1]);
	p->items[i - 1] = s->items[s->n - 1];
#ifdef BUG_BTREE_BORROW_LATE
	s->n--; /* BUG(btree-borrow-late) */
	touch(tree, from);
#else
	touch(tree, from);
	s->n--;
#endif
}

static void borrow_right(struct tree *tree, uint64_t parent, unsigned int i)
{
	uint64_t to = at(tree, parent)->child[i], from = at(tree, parent)->child[i + 1];
	struct node *p = at(tree, parent), *c = at(tree, to), *s = at(tree, from);

	touch(tree, parent);
	touch(tree, to);
	touch(tree, from);
	if (!c->leaf) {
		c->child[c->n + 1] = s->child[0];
		memmove(&s->child[0], &s->child[1], s->n * sizeof(s->child[0]));
	}
	insert_item(c, (unsigned int)c->n, p->items[i]);
	p->items[i] = s->items[0];
	remove_item(s, 0);
}

/* Makes sure that the i-th child is not minimal, and returns what that child is now. */
static uint64_t refill(struct tree *tree, uint64_t parent, unsigned int i)
{
	struct node *p = at(tree, parent);
	uint64_t child = p->child[i];

	if (at(tree, child)->n > MIN)
		return child;
	if (i > 0 && at(tree, p->child[i - 1])->n > MIN) {
		borrow_left(tree, parent, i);
	} else if (i < p->n && at(tree, p->child[i + 1])->n > MIN) {
		borrow_right(tree, parent, i);
	} else if (i < p->n) {
		merge(tree, parent, i);
	} else {
		child = p->child[i - 1];
		merge(tree, parent, i - 1);
	}
	return child;
}

/* The largest or smallest item below a node. */
static struct corpus_pair outermost(struct tree *tree, uint64_t offset, int largest)
{
	struct node *node = at(tree, offset);

	while (!node->leaf)
		node = at(tree, node->child[largest ? node->n : 0]);
	return node->items[largest ? node->n - 1 : 0];
}

static void erase(struct tree *tree, uint64_t key)
{
	uint64_t offset = tree->root->node;

	while (!at(tree, offset)->leaf) {
		struct node *node = at(tree, offset);
		unsigned int i = position(node, key);
		int here = i < node->n && node->items[i].key == key;
		uint64_t left = node->child[i], right = here ? node->child[i + 1] : 0;

		if (!here) {
			offset = refill(tree, offset, i);
		} else if (at(tree, left)->n > MIN || at(tree, right)->n > MIN) {
			int from_left = at(tree, left)->n > MIN;

#ifdef BUG_BTREE_ERASE_VALUE
			if (!is_touched(tree, offset))
				add(&node->items[i].key, sizeof(uint64_t));
#else
			touch(tree, offset);
#endif
			offset = from_left ? left : right;
			node->items[i] = outermost(tree, offset, from_left); /* BUG(btree-erase-value) */
			key = node->items[i].key;
		} else {
			merge(tree, offset, i);
			offset = left;
		}
	}
	if (offset == tree->root->node && at(tree, offset)->n == 1) {
		set_root(tree, 0);
		free_node(tree, offset);
		return;
	}
	touch(tree, offset);
	remove_item(at(tree, offset), position(at(tree, offset), key));
}

static struct corpus_pair *find(struct tree *tree, uint64_t key)
{
	for (uint64_t offset = tree->root->node; offset;) {
		struct node *node = at(tree, offset);
		unsigned int i = position(node, key);

		if (i < node->n && node->items[i].key == key)
			return &node->items[i];
		offset = node->leaf ? 0 : node->child[i];
	}
	return NULL;
}

static enum corpus_result btree_get(void *store, uint64_t key, uint64_t *out)
{
	struct corpus_pair *item = find(store, key);

	if (!item)
		return CORPUS_NONE;
	*out = item->value;
	return CORPUS_VALUE;
}

static enum corpus_result btree_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct corpus_pair *item = find(store, key);

	if (!item)
		return CORPUS_NONE;
	*out = item->value;
	begin(store);
	add(&item->value, sizeof(item->value));
#ifdef BUG_BTREE_UPD_AFTER
	commit();
	item->value = value; /* BUG(btree-upd-after) */
#else
	item->value = value;
	commit();
#endif
	return CORPUS_OLD;
}

static enum corpus_result btree_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct tree *tree = store;

	if (find(tree, key))
		return btree_upd(store, key, value, out);
	begin(tree);
	if (!insert(tree, (struct corpus_pair){ key, value })) {
		pmemobj_tx_abort(ENOMEM);
		pmemobj_tx_end();
		return CORPUS_FULL;
	}
	set_count(tree, tree->root->count + 1);
	commit();
#ifdef BUG_BTREE_ROOT_OUTSIDE
	if (tree->later) {
		pm_store64(&tree->root->node, tree->later); /* BUG(btree-root-outside) */
		pmemobj_persist(tree->pop, &tree->root->node, sizeof(tree->root->node));
	}
#endif
	return CORPUS_NEW;
}

static enum corpus_result btree_del(void *store, uint64_t key, uint64_t *out)
{
	struct tree *tree = store;

	if (btree_get(store, key, out) == CORPUS_NONE)
		return CORPUS_NONE;
	begin(tree);
	erase(tree, key);
	set_count(tree, tree->root->count - 1);
	commit();
#ifdef BUG_BTREE_MERGE_LEAK
	while (tree->nfreed) {
		PMEMoid oid = { tree->uuid, tree->freed[--tree->nfreed] };

		pmemobj_free(&oid); /* BUG(btree-merge-leak) */
	}
#endif
	return CORPUS_OLD;
}

static size_t scan_node(struct tree *tree, uint64_t offset, uint64_t key, size_t n, struct corpus_pair *out)
{
	struct node *node = at(tree, offset);
	size_t found = 0;

	for (unsigned int i = position(node, key); i <= node->n && found < n; i++) {
		if (!node->leaf)
			found += scan_node(tree, node->child[i], key, n - found, out + found);
		if (i < node->n && found < n)
			out[found++] = node->items[i];
	}
	return found;
}

static size_t btree_scan(void *store, uint64_t key, size_t n, struct corpus_pair *out)
{
	struct tree *tree = store;

	return tree->root->node ? scan_node(tree, tree->root->node, key, n, out) : 0;
}

struct check {
	struct tree *tree;
	struct pobj_census census;
	uint64_t count;
	uint64_t key; /* the last one seen */
	unsigned int leaf_depth;
};

static void check_node(struct check *check, uint64_t offset, unsigned int depth)
{
	struct node *node = at(check->tree, offset);

	if (!pobj_census_visit(&check->census, offset, TYPE_NODE, node_size(1)))
		return;
	if (node->n < (depth ? MIN : 1) || node->n > MAX || node->leaf > 1 || depth == HEIGHT_MAX) {
		corpus_wrong("a node at depth %u has %lu items", depth, node->n);
		return;
	}
	if (node->leaf && check->leaf_depth && check->leaf_depth != depth)
		corpus_wrong("there are leaves at depth %u and %u", check->leaf_depth, depth);
	if (node->leaf)
		check->leaf_depth = depth;
	for (unsigned int i = 0; i <= node->n; i++) {
		if (!node->leaf)
			check_node(check, node->child[i], depth + 1);
		if (i == node->n)
			break;
		if (node->items[i].key <= check->key || node->items[i].value == 0)
			corpus_wrong("key %lu with value %lu behind key %lu", node->items[i].key,
				     node->items[i].value, check->key);
		check->key = node->items[i].key;
		check->count++;
	}
}

static void btree_check(void *store)
{
	struct check check = { .tree = store };
	struct root *root = check.tree->root;

	pobj_census_take(&check.census, check.tree->pop);
	if (root->node)
		check_node(&check, root->node, 0);
	if (root->count != check.count)
		corpus_wrong("count is %lu but there are %lu", root->count, check.count);
	pobj_census_finish(&check.census);
}

static void *btree_open(const char *path)
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
	return tree;
}

static void btree_close(void *store)
{
	struct tree *tree = store;

	pmemobj_close(tree->pop);
	free(tree);
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		.name = "btree", .open = btree_open, .close = btree_close, .check = btree_check,
		.put = btree_put, .get = btree_get, .del = btree_del, .upd = btree_upd, .scan = btree_scan,
	};

	return corpus_main(&program, argc, argv);
}
