/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that is there before the input is read: threads POOL, one byte on standard input. */
#include <pthread.h>

#include "pool.h"

static int go[2];

static void *wait_for_it(void *pool)
{
	char c = 0;
	if (read(go[0], &c, 1) == 1)
		persist(&((struct cell *)pool)[0]);
	return NULL;
}

int main(int argc, char **argv)
{
	struct cell *pool = pool_map(argc, argv);
	pthread_t thread;
	char c = 0;
	if (pipe(go) || pthread_create(&thread, NULL, wait_for_it, pool))
		return 2;
	take(&c, 1);
	*(volatile uint64_t *)&pool[0].value = 1;
	*(volatile uint64_t *)&pool[1].value = 2; /* BUG */
	if (c != 'q' IF_FIXED(|| 1))
		clwb(&pool[1]);
	sfence();
	if (write(go[1], "", 1) != 1)
		return 2;
	pthread_join(thread, NULL);
	return 0;
}
