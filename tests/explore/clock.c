/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time and random numbers beside the input: clock POOL, one byte on standard input. How often the
 * input is compared depends on them, so that no two runs are alike unless they are pinned.
 */
#include <sys/random.h>
#include <time.h>

#include "pool.h"

int main(int argc, char **argv)
{
	struct cell *pool = pool_map(argc, argv);
	struct timespec now;
	unsigned char c = 0;
	uint32_t chance = 0;
	volatile unsigned equal = 0;
	if (getrandom(&chance, sizeof(chance), 0) != sizeof(chance) ||
	    clock_gettime(CLOCK_REALTIME, &now))
		return 2;
	chance += (uint32_t)now.tv_nsec;
	take(&c, 1);
	for (unsigned i = 0; i < chance % 61; i++)
		if (c == i)
			equal++;
	*(volatile uint64_t *)&pool->value = 1; /* BUG */
	if (c != 200 IF_FIXED(|| 1))
		clwb(pool);
	sfence();
	return 0;
}
