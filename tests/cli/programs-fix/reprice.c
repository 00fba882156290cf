/* SPDX-License-Identifier: BSD-3-Clause */
/* A transaction of libpmemobj changes what an earlier one has made, and does not log it. */
#include <libpmemobj.h>
#include <stdint.h>

struct item {
	uint64_t id, price;
};
struct root {
	PMEMoid item;
};

static void make(PMEMobjpool *pop, struct root *r)
{
	TX_BEGIN(pop)
	{
		pmemobj_tx_add_range_direct(&r->item, sizeof(r->item));
		r->item = pmemobj_tx_zalloc(sizeof(struct item), 1);
		struct item *new = pmemobj_direct(r->item);
		new->id = 1;
		new->price = 10;
	}
	TX_END
}

static void reprice(PMEMobjpool *pop, struct item *i, uint64_t price)
{
	TX_BEGIN(pop)
	{
		i->price = price;
	}
	TX_END
}

int main(int argc, char **argv)
{
	PMEMobjpool *pop = pmemobj_create(argv[argc - 1], "shop", PMEMOBJ_MIN_POOL, 0600);
	if (!pop)
		return 2;
	struct root *r = pmemobj_direct(pmemobj_root(pop, sizeof(struct root)));
	make(pop, r);
	reprice(pop, pmemobj_direct(r->item), 11);
	pmemobj_close(pop);
	return 0;
}
