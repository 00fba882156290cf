/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A libpmemobj program: a hash table of lists in one pool, one transaction per change.
 * Inserts, deletes and look-ups in equal parts. usage: objtree POOL OPERATIONS
 */
#include <libpmemobj.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BUCKETS 4096

POBJ_LAYOUT_BEGIN(bench);
POBJ_LAYOUT_ROOT(bench, struct root);
POBJ_LAYOUT_TOID(bench, struct entry);
POBJ_LAYOUT_END(bench);

struct entry {
	uint64_t key, value;
	TOID(struct entry) next;
};
struct root {
	uint64_t count;
	TOID(struct entry) bucket[BUCKETS];
};

static PMEMobjpool *pool;

static TOID(struct entry) * bucket_of(uint64_t key)
{
	TOID(struct root) r = POBJ_ROOT(pool, struct root);
	return &D_RW(r)->bucket[key * 0x9E3779B97F4A7C15ull >> 52];
}

static void insert(uint64_t key, uint64_t value)
{
	TOID(struct root) r = POBJ_ROOT(pool, struct root);
	TOID(struct entry) *b = bucket_of(key);
	TX_BEGIN(pool)
	{
		TOID(struct entry) e = TX_NEW(struct entry);
		D_RW(e)->key = key;
		D_RW(e)->value = value;
		D_RW(e)->next = *b;
		pmemobj_tx_add_range_direct(b, sizeof *b);
		*b = e;
		TX_ADD_FIELD(r, count);
		D_RW(r)->count++;
	}
	TX_END
}

static void erase(uint64_t key)
{
	TOID(struct root) r = POBJ_ROOT(pool, struct root);
	TOID(struct entry) *b = bucket_of(key);
	while (!TOID_IS_NULL(*b) && D_RO(*b)->key != key)
		b = &D_RW(*b)->next;
	if (TOID_IS_NULL(*b))
		return;
	TX_BEGIN(pool)
	{
		TOID(struct entry) e = *b;
		pmemobj_tx_add_range_direct(b, sizeof *b);
		*b = D_RO(e)->next;
		TX_FREE(e);
		TX_ADD_FIELD(r, count);
		D_RW(r)->count--;
	}
	TX_END
}

static int lookup(uint64_t key)
{
	TOID(struct entry) e = *bucket_of(key);
	while (!TOID_IS_NULL(e) && D_RO(e)->key != key)
		e = D_RO(e)->next;
	return !TOID_IS_NULL(e);
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000, seed = 7, hits = 0;
	if (argc < 2)
		return 2;
	unlink(argv[1]);
	pool = pmemobj_create(argv[1], POBJ_LAYOUT_NAME(bench), 64 << 20, 0600);
	if (pool == NULL)
		return perror(argv[1]), 1;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t key;
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		key = (seed >> 33) % 10000;
		switch (i % 3) {
		case 0: insert(key, i); break;
		case 1: erase(key); break;
		default: hits += (uint64_t)lookup(key);
		}
	}
	printf("%llu\n", (unsigned long long)hits);
	pmemobj_close(pool);
	return 0;
}
