/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A libpmemobj program: a B-tree, three to seven items in every node but the root. Puts, gets and
 * deletes of random keys in equal parts, one transaction each.
 *
 * usage: objbtree POOL OPERATIONS [SIZE-MIB]    objbtree POOL recover
 *
 * On the way down a put splits every full node and a delete refills every minimal one, so that
 * nothing is changed on the way up. `recover` opens the pool, which undoes what was interrupted,
 * and looks at the whole tree: order, fill, depth and the number of items. Status 1: cannot be
 * opened; 2: wrong usage; 3: the tree is wrong.
 */
#include <libpmemobj.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAYOUT "bench-btree"
#define MIN 3u
#define MAX (2 * MIN + 1)
#define KEYS 10000u

struct item {
	uint64_t key, value;
};
struct node {
	uint64_t n, leaf;
	struct item item[MAX];
	uint64_t child[MAX + 1]; /* offsets in the pool */
};
struct root {
	uint64_t node, count; /* node 0: empty */
};

static PMEMobjpool *pool;
static struct root *root;
static uint64_t uuid;

static struct node *at(uint64_t off)
{
	return (struct node *)((char *)pool + off);
}

static void add(const void *p, size_t n)
{
	if (pmemobj_tx_add_range_direct(p, n))
		abort();
}

static struct node *change(uint64_t off)
{
	add(at(off), sizeof(struct node));
	return at(off);
}

static void set(uint64_t *p, uint64_t value)
{
	add(p, sizeof *p);
	*p = value;
}

static uint64_t new_node(uint64_t leaf)
{
	uint64_t off = pmemobj_tx_zalloc(sizeof(struct node), 1).off;
	at(off)->leaf = leaf;
	return off;
}

static unsigned position(const struct node *x, uint64_t key)
{
	unsigned i = 0;
	while (i < x->n && x->item[i].key < key)
		i++;
	return i;
}

static void insert_item(struct node *x, unsigned i, struct item it)
{
	memmove(x->item + i + 1, x->item + i, (x->n++ - i) * sizeof it);
	x->item[i] = it;
}

static struct item remove_item(struct node *x, unsigned i)
{
	struct item it = x->item[i];
	memmove(x->item + i, x->item + i + 1, (--x->n - i) * sizeof it);
	return it;
}

/* Children are moved while x->n counts the items as they were before. */
static void insert_child(struct node *x, unsigned i, uint64_t off)
{
	memmove(x->child + i + 1, x->child + i, (x->n + 1 - i) * sizeof off);
	x->child[i] = off;
}

static uint64_t remove_child(struct node *x, unsigned i)
{
	uint64_t off = x->child[i];
	memmove(x->child + i, x->child + i + 1, (x->n - i) * sizeof off);
	return off;
}

/* Child i of x is full: its middle item goes up, what is behind that becomes a node of its own. */
static void split(struct node *x, unsigned i)
{
	struct node *y = change(x->child[i]);
	uint64_t off = new_node(y->leaf);
	struct node *z = at(off);
	z->n = MIN;
	memcpy(z->item, y->item + MIN + 1, MIN * sizeof *z->item);
	if (!y->leaf)
		memcpy(z->child, y->child + MIN + 1, (MIN + 1) * sizeof *z->child);
	y->n = MIN;
	insert_child(x, i + 1, off);
	insert_item(x, i, y->item[MIN]);
}

static void put(uint64_t key, uint64_t value)
{
	uint64_t off = root->node;
	if (!off) {
		set(&root->node, off = new_node(1));
	} else if (at(off)->n == MAX) {
		uint64_t top = new_node(0);
		at(top)->child[0] = off;
		split(at(top), 0);
		set(&root->node, off = top);
	}
	for (;;) {
		struct node *x = at(off);
		unsigned i = position(x, key);
		if (i < x->n && x->item[i].key == key) {
			set(&x->item[i].value, value);
			return;
		}
		if (x->leaf) {
			insert_item(change(off), i, (struct item){ key, value });
			set(&root->count, root->count + 1);
			return;
		}
		if (at(x->child[i])->n == MAX) {
			split(change(off), i);
			continue;
		}
		off = x->child[i];
	}
}

static uint64_t get(uint64_t key)
{
	for (uint64_t off = root->node; off;) {
		const struct node *x = at(off);
		unsigned i = position(x, key);
		if (i < x->n && x->item[i].key == key)
			return x->item[i].value;
		off = x->leaf ? 0 : x->child[i];
	}
	return 0;
}

/* Child i of x, item i and child i + 1 become child i. */
static void merge(uint64_t off, unsigned i)
{
	struct node *x = change(off), *y = change(x->child[i]), *z = at(x->child[i + 1]);
	uint64_t gone = remove_child(x, i + 1);
	y->item[y->n] = remove_item(x, i);
	memcpy(y->item + y->n + 1, z->item, z->n * sizeof *z->item);
	if (!y->leaf)
		memcpy(y->child + y->n + 1, z->child, (z->n + 1) * sizeof *z->child);
	y->n += z->n + 1;
	pmemobj_tx_free((PMEMoid){ uuid, gone });
	if (x->n)
		return;
	set(&root->node, x->child[0]); /* only the root may become empty */
	pmemobj_tx_free((PMEMoid){ uuid, off });
}

static void from_left(uint64_t off, unsigned i)
{
	struct node *x = change(off), *y = change(x->child[i]), *s = change(x->child[i - 1]);
	if (!y->leaf)
		insert_child(y, 0, s->child[s->n]);
	insert_item(y, 0, x->item[i - 1]);
	x->item[i - 1] = remove_item(s, (unsigned)s->n - 1);
}

static void from_right(uint64_t off, unsigned i)
{
	struct node *x = change(off), *y = change(x->child[i]), *s = change(x->child[i + 1]);
	if (!y->leaf) {
		y->child[y->n + 1] = s->child[0];
		remove_child(s, 0);
	}
	insert_item(y, (unsigned)y->n, x->item[i]);
	x->item[i] = remove_item(s, 0);
}

/* Makes sure that child i of a node has more than MIN items; returns where to go on. */
static uint64_t refill(uint64_t off, unsigned i)
{
	const struct node *x = at(off);
	uint64_t to = x->child[i];
	if (at(to)->n > MIN)
		return to;
	if (i > 0 && at(x->child[i - 1])->n > MIN) {
		from_left(off, i);
	} else if (i < x->n && at(x->child[i + 1])->n > MIN) {
		from_right(off, i);
	} else {
		i -= i == x->n;
		to = x->child[i];
		merge(off, i);
	}
	return to;
}

/* Takes the last (or first) item out of the subtree, which has one to spare. */
static struct item take_edge(uint64_t off, int last)
{
	while (!at(off)->leaf)
		off = refill(off, last ? (unsigned)at(off)->n : 0);
	return remove_item(change(off), last ? (unsigned)at(off)->n - 1 : 0);
}

static void erase(uint64_t key)
{
	uint64_t off = root->node;
	while (off) {
		struct node *x = at(off);
		unsigned i = position(x, key);
		int here = i < x->n && x->item[i].key == key;
		if (x->leaf && here) {
			remove_item(change(off), i);
			set(&root->count, root->count - 1);
		}
		if (x->leaf)
			return;
		if (here && (at(x->child[i])->n > MIN || at(x->child[i + 1])->n > MIN)) {
			int left = at(x->child[i])->n > MIN;
			struct item it = take_edge(x->child[left ? i : i + 1], left);
			change(off)->item[i] = it;
			set(&root->count, root->count - 1);
			return;
		}
		if (here) {
			uint64_t to = x->child[i];
			merge(off, i);
			off = to;
		} else {
			off = refill(off, i);
		}
	}
}

static uint64_t operate(uint64_t i, uint64_t key)
{
	uint64_t found = 0;
	if (pmemobj_tx_begin(pool, NULL, TX_PARAM_NONE))
		abort();
	if (i % 3 == 0)
		put(key, i + 1);
	else if (i % 3 == 1)
		found = get(key) != 0;
	else
		erase(key);
	pmemobj_tx_commit();
	if (pmemobj_tx_end())
		abort();
	return found;
}

static void run(uint64_t n)
{
	uint64_t seed = 7, found = 0;
	for (uint64_t i = 0; i < n; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		found += operate(i, (seed >> 33) % KEYS);
	}
	printf("%llu found, %llu left\n", (unsigned long long)found,
	       (unsigned long long)root->count);
}

/* ---- recovery ---- */

static void wrong(const char *what)
{
	printf("wrong: %s\n", what);
	exit(3);
}

/* The number of items; keys are to lie in (from, to). */
static uint64_t walk(uint64_t off, uint64_t from, uint64_t to, unsigned depth, unsigned *leaves)
{
	const struct node *x = at(off);
	uint64_t count = x->n;
	if (x->n > MAX || (depth && x->n < MIN) || (!depth && !x->n && !x->leaf))
		wrong("the fill of a node");
	for (unsigned i = 0; i <= x->n; i++) {
		uint64_t end = i < x->n ? x->item[i].key + 1 : to;
		if (end <= from || end > to)
			wrong("the order of keys");
		if (!x->leaf)
			count += walk(x->child[i], from, end, depth + 1, leaves);
		from = end;
	}
	if (x->leaf && *leaves && *leaves != depth)
		wrong("the depth of a leaf");
	if (x->leaf)
		*leaves = depth;
	return count;
}

static int recover(const char *path)
{
	unsigned leaves = 0;
	pool = pmemobj_open(path, LAYOUT);
	if (!pool)
		return perror(path), 1;
	root = pmemobj_direct(pmemobj_root(pool, sizeof *root));
	if (root->node && walk(root->node, 0, KEYS + 1, 0, &leaves) != root->count)
		wrong("the number of items");
	printf("%llu items, depth %u\n", (unsigned long long)root->count, leaves);
	pmemobj_close(pool);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	if (strcmp(argv[2], "recover") == 0)
		return recover(argv[1]);
	unlink(argv[1]);
	pool = pmemobj_create(argv[1], LAYOUT, (argc > 3 ? strtoull(argv[3], NULL, 10) : 64) << 20,
			      0600);
	if (!pool)
		return perror(argv[1]), 1;
	PMEMoid oid = pmemobj_root(pool, sizeof *root);
	uuid = oid.pool_uuid_lo;
	root = pmemobj_direct(oid);
	run(strtoull(argv[2], NULL, 10));
	pmemobj_close(pool);
	return 0;
}
