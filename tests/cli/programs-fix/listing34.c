/* SPDX-License-Identifier: BSD-3-Clause */
/* HIPPOCRATES, listing 3.4: a fence, but nothing that it could wait for. */
#include "pool.h"

static void start(char *pm)
{
	pm[0] = 1;
	pm[64] = 1;
	flush(pm, 65);
	fence();
}

static void foo(char *pm)
{
	pm[0] = 2;
	pm[64] = 3;
	flush(pm + 64, 1);
	fence();
}

int main(int argc, char **argv)
{
	char *pm = pool_open(argv[argc - 1]);
	start(pm);
	foo(pm);
	return 0;
}
