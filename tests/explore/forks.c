/* SPDX-License-Identifier: BSD-3-Clause */
/* A program with a child: forks POOL, one byte on standard input. */
#include <sys/wait.h>

#include "pool.h"

int main(int argc, char **argv)
{
	struct cell *pool = pool_map(argc, argv);
	int status = 0;
	char c = 0;
	take(&c, 1);
	*(volatile uint64_t *)&pool->value = 3; /* BUG */
	if (c != 'f' IF_FIXED(|| 1))
		clwb(pool);
	sfence();
	if (fork() == 0)
		_exit(0);
	wait(&status);
	return status ? 1 : 0;
}
