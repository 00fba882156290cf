/* SPDX-License-Identifier: BSD-3-Clause */
/* A libpmemobj program: tx POOL WAY…; lines to be reported bear "@WAY KIND". */
#include <libpmemobj.h>
#include <stdlib.h>
#include <string.h>

struct root {
	uint64_t count, sum;
	PMEMoid head;
};

struct node {
	uint64_t value;
	PMEMoid next;
};

static PMEMobjpool *pop;
static struct root *root;

static void push(uint64_t value)
{
	TX_BEGIN(pop)
	{
		pmemobj_tx_add_range_direct(root, sizeof *root);
		PMEMoid oid = pmemobj_tx_alloc(sizeof(struct node), 1);
		struct node *n = pmemobj_direct(oid);
		n->value = value;
		n->next = root->head;
		root->head = oid;
		root->count++;
		root->sum += value;
	}
	TX_ONABORT
	{
		exit(3);
	}
	TX_END
}

static void pop_one(void)
{
	struct node *n = pmemobj_direct(root->head);
	TX_BEGIN(pop)
	{
		PMEMoid oid = root->head;
		pmemobj_tx_add_range_direct(&root->count, sizeof root->count);
		pmemobj_tx_add_range_direct(&root->head, sizeof root->head);
		root->count--;
		root->head = n->next;
		pmemobj_tx_free(oid);
	}
	TX_END
}

/* By hand, without a transaction, is right too. */
static void direct(uint64_t value)
{
	root->sum = value;
	pmemobj_persist(pop, &root->sum, sizeof root->sum);
}

/* An abort puts everything back. */
static void aborted(void)
{
	TX_BEGIN(pop)
	{
		pmemobj_tx_add_range_direct(&root->sum, sizeof root->sum);
		root->sum = 0;
		pmemobj_tx_abort(1);
	}
	TX_END
}

static void unlogged(void)
{
	TX_BEGIN(pop)
	{
		pmemobj_tx_add_range_direct(&root->count, sizeof root->count);
		root->count++;
		root->sum = 77; /* @unlogged unlogged-store */
	}
	TX_END
}

static void twice(void)
{
	TX_BEGIN(pop)
	{
		pmemobj_tx_add_range_direct(root, sizeof *root);
		root->count++;
		uint64_t *sum = &root->sum;
		pmemobj_tx_add_range_direct(sum, sizeof *sum); /* @twice redundant-log */
		*sum += 1;
	}
	TX_END
}

static void outside(void)
{
	root->sum = 5; /* @outside store-outside-tx */
}

int main(int argc, char **argv)
{
	pop = pmemobj_create(argv[1], "tx", PMEMOBJ_MIN_POOL, 0666);
	if (!pop)
		return 99;
	root = pmemobj_direct(pmemobj_root(pop, sizeof *root));
	for (uint64_t i = 0; i < 3; i++)
		push(i);
	pop_one();
	direct(5);
	aborted();
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "unlogged"))
			unlogged();
		if (!strcmp(argv[i], "twice"))
			twice();
		if (!strcmp(argv[i], "outside"))
			outside();
	}
	pmemobj_close(pop);
	return 0;
}
