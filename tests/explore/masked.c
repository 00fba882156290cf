/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An index from the input: masked POOL, one byte on standard input. No branch depends on which of
 * 32 cells is stored to, but the flush keeps four bits of five: above 15 it misses.
 */
#include "pool.h"

int main(int argc, char **argv)
{
	struct cell *pool = pool_map(argc, argv);
	unsigned char c = 0;
	unsigned index;
	take(&c, 1);
	index = c & 31;
	*(volatile uint64_t *)&pool[index].value = 7; /* BUG */
#ifdef FIXED
	persist(&pool[index]);
#else
	persist(&pool[index & 15]);
#endif
	return 0;
}
