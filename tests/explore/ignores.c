/* SPDX-License-Identifier: BSD-3-Clause */
/* Never looks at its input: ignores POOL. Correct. */
#include "pool.h"

int main(int argc, char **argv)
{
	struct cell *pool = pool_map(argc, argv);
	*(volatile uint64_t *)&pool->value = 1;
	persist(pool);
	return 0;
}
