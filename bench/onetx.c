/* SPDX-License-Identifier: BSD-3-Clause */
/* A libpmemobj B-tree (of a kind) with all inserts in one transaction. usage: onetx POOL INSERTS */
#include <libpmemobj.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FULL 8

POBJ_LAYOUT_BEGIN(onetx);
POBJ_LAYOUT_ROOT(onetx, struct root);
POBJ_LAYOUT_TOID(onetx, struct node);
POBJ_LAYOUT_END(onetx);

struct node {
	uint64_t n;
	uint64_t key[FULL], value[FULL];
	TOID(struct node) child[FULL + 1];
};
struct root {
	TOID(struct node) top;
};

/* Inserts into a leaf, splitting full nodes on the way down. */
static void split_child(TOID(struct node) parent, uint64_t at)
{
	TOID(struct node) left = D_RO(parent)->child[at], right = TX_ZNEW(struct node);
	struct node *l = D_RW(left), *r = D_RW(right), *p = D_RW(parent);
	const uint64_t half = FULL / 2;
	TX_ADD(left);
	TX_ADD(parent);
	r->n = FULL - half - 1;
	memcpy(r->key, l->key + half + 1, r->n * sizeof *r->key);
	memcpy(r->value, l->value + half + 1, r->n * sizeof *r->value);
	memcpy(r->child, l->child + half + 1, (r->n + 1) * sizeof *r->child);
	l->n = half;
	memmove(p->key + at + 1, p->key + at, (p->n - at) * sizeof *p->key);
	memmove(p->value + at + 1, p->value + at, (p->n - at) * sizeof *p->value);
	memmove(p->child + at + 2, p->child + at + 1, (p->n - at) * sizeof *p->child);
	p->key[at] = l->key[half];
	p->value[at] = l->value[half];
	p->child[at + 1] = right;
	p->n++;
}

static void insert(TOID(struct root) root, uint64_t key, uint64_t value)
{
	TOID(struct node) n = D_RO(root)->top;
	if (D_RO(n)->n == FULL) {
		TOID(struct node) top = TX_ZNEW(struct node);
		D_RW(top)->child[0] = n;
		TX_ADD(root);
		D_RW(root)->top = top;
		split_child(top, 0);
		n = top;
	}
	for (;;) {
		uint64_t i = 0;
		while (i < D_RO(n)->n && D_RO(n)->key[i] < key)
			i++;
		if (TOID_IS_NULL(D_RO(n)->child[0])) {
			struct node *w = D_RW(n);
			TX_ADD(n);
			memmove(w->key + i + 1, w->key + i, (w->n - i) * sizeof *w->key);
			memmove(w->value + i + 1, w->value + i, (w->n - i) * sizeof *w->value);
			w->key[i] = key;
			w->value[i] = value;
			w->n++;
			return;
		}
		if (D_RO(D_RO(n)->child[i])->n == FULL) {
			split_child(n, i);
			if (D_RO(n)->key[i] < key)
				i++;
		}
		n = D_RO(n)->child[i];
	}
}

int main(int argc, char **argv)
{
	static uint64_t seed = 7;
	static int failed;
	const uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
	PMEMobjpool *pool;
	if (argc < 2)
		return 2;
	unlink(argv[1]);
	pool = pmemobj_create(argv[1], POBJ_LAYOUT_NAME(onetx), 256 << 20, 0600);
	if (pool == NULL)
		return perror(argv[1]), 1;
	TOID(struct root) root = POBJ_ROOT(pool, struct root);
	TX_BEGIN(pool)
	{
		TX_ADD(root);
		D_RW(root)->top = TX_ZNEW(struct node);
		for (uint64_t i = 0; i < n; i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			insert(root, seed >> 20, i);
		}
	}
	TX_ONABORT
	{
		failed = 1;
	}
	TX_END
	pmemobj_close(pool);
	if (failed)
		fprintf(stderr, "onetx: the transaction was aborted\n");
	return failed;
}
