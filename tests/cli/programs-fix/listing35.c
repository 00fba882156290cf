/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HIPPOCRATES, listings 3.5 and 3.6: one function writes volatile memory very often, and PM once. A flush in it would run
 * in vain each time; the call for PM alone gets a copy that flushes.
 */
#include "pool.h"

static void start(char *pm)
{
	memset(pm, 1, 128);
	flush(pm, 128);
	fence();
}

static __attribute__((noinline)) void update(char *addr, int idx, char val)
{
	addr[idx] = val;
}

static __attribute__((noinline)) void modify(char *addr)
{
	update(addr, 3, 5);
}

static void foo(char *vol_addr, char *pm_addr)
{
	for (int i = 0; i < 1000; i++) {
		modify(vol_addr);
	}
	modify(pm_addr);
}

int main(int argc, char **argv)
{
	char *pm = pool_open(argv[argc - 1]), *vol = malloc(4096);
	if (!vol)
		return 3;
	start(pm);
	foo(vol, pm);
	free(vol);
	return 0;
}
