/* SPDX-License-Identifier: BSD-3-Clause */
/* A setting from the environment: env POOL; MODE=x9 forgets the flush. */
#include "pool.h"

int main(int argc, char **argv)
{
	struct cell *pool = pool_map(argc, argv);
	const char *mode = getenv("MODE");
	*(volatile uint64_t *)&pool->value = 1; /* BUG */
	if (!mode || mode[0] != 'x' || mode[1] != '9' IF_FIXED(|| 1))
		clwb(pool);
	sfence();
	return 0;
}
