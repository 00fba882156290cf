/* SPDX-License-Identifier: BSD-3-Clause */
/* A small program on Debian's libpmemobj and libpmem: pmdk POOL RAWPOOL */
#include <libpmem.h>
#include <libpmemobj.h>
#include <stdio.h>
#include <stdlib.h>

struct root {
	uint64_t counter;
	PMEMoid list;
	uint64_t direct;
};

struct entry {
	uint64_t value;
	PMEMoid next;
};

static void insert(PMEMobjpool *pop, struct root *root, uint64_t value)
{
	TX_BEGIN(pop)
	{
		pmemobj_tx_add_range_direct(root, sizeof *root);
		PMEMoid oid = pmemobj_tx_zalloc(sizeof(struct entry), 1);
		struct entry *e = pmemobj_direct(oid);
		e->value = value;     /* insert: value */
		e->next = root->list; /* insert: next */
		root->list = oid;
		root->counter++; /* insert: counter */
	}
	TX_ONABORT
	{
		exit(3);
	}
	TX_END
}

static void set_direct(PMEMobjpool *pop, struct root *root, uint64_t value)
{
	root->direct = value; /* set_direct: store */
	pmemobj_persist(pop, &root->direct, sizeof root->direct);
}

static void raw(const char *path)
{
	size_t length;
	int is_pmem;
	char *p = pmem_map_file(path, 65536, PMEM_FILE_CREATE, 0666, &length, &is_pmem);
	if (!p)
		exit(4);
	printf("is_pmem %d\n", is_pmem);
	pmem_memset_persist(p, 0x5a, 5000);
	pmem_memcpy(p + 8192, p, 100, PMEM_F_MEM_NONTEMPORAL);
	pmem_drain();
	p[20000] = 1; /* raw: store */
	is_pmem ? pmem_persist(p + 20000, 1) : pmem_msync(p + 20000, 1);
	pmem_unmap(p, length);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	PMEMobjpool *pop = pmemobj_create(argv[1], "test", PMEMOBJ_MIN_POOL, 0666);
	if (!pop) {
		perror(argv[1]);
		return 1;
	}
	struct root *root = pmemobj_direct(pmemobj_root(pop, sizeof(struct root)));
	for (uint64_t i = 0; i < 20; i++)
		insert(pop, root, i * 1000003);
	set_direct(pop, root, 0x1122334455667788);
	pmemobj_close(pop);
	raw(argv[2]);
	return 0;
}
