/* SPDX-License-Identifier: BSD-3-Clause */
/* What else programs do with libpmemobj pools: pool POOL WAY…; lines to be reported bear "@WAY KIND". */
#include <immintrin.h>
#include <libpmemobj.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct root {
	uint64_t by_hand, logged;
	char apart[112];
	_Atomic uint64_t size; /* as libpmemobj++'s containers have it: good for one run */
	char far[120];
	uint64_t kept;
};

static PMEMobjpool *pop;
static struct root *root;

static void persist(const void *p)
{
	_mm_clflushopt((void *)p);
	_mm_sfence();
}

/* Outside of transactions and inside, the program flushes and fences itself. */
static void raw(void)
{
	for (uint64_t i = 0; i < 3; i++) {
		root->by_hand = i;
		persist(&root->by_hand);
		TX_BEGIN(pop)
		{
			pmemobj_tx_add_range_direct(&root->logged, sizeof root->logged);
			root->logged = i;
			root->kept = i;
			persist(&root->kept);
		}
		TX_END
	}
}

/* The first time it is not persisted. */
static void forgotten(void)
{
	root->kept = 1; /* @forgotten store-outside-tx */
	TX_BEGIN(pop)
	{
		pmemobj_tx_add_range_direct(&root->kept, sizeof root->kept);
		root->kept = 2;
	}
	TX_END
}

static void size(void)
{
	atomic_store_explicit(&root->size, 0, memory_order_relaxed);
	for (uint64_t i = 0; i < 3; i++) {
		TX_BEGIN(pop)
		{
			pmemobj_tx_add_range_direct(&root->logged, sizeof root->logged);
			root->logged = i;
			root->size++;
		}
		TX_END
		root->size++;
	}
}

int main(int argc, char **argv)
{
	pop = pmemobj_create(argv[1], "pool", PMEMOBJ_MIN_POOL, 0666);
	if (!pop)
		return 1;
	root = pmemobj_direct(pmemobj_root(pop, sizeof *root));
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "raw"))
			raw();
		else if (!strcmp(argv[i], "forgotten"))
			forgotten();
		else if (!strcmp(argv[i], "size"))
			size();
	}
	pmemobj_close(pop);
	return 0;
}
