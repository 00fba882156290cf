/* SPDX-License-Identifier: BSD-3-Clause */
/* HIPPOCRATES, listing 3.3: flushed, but no fence waits for it. */
#include "pool.h"

static void start(char *pm)
{
	pm[0] = 1;
	flush(pm, 1);
	fence();
}

static void foo(char *pm)
{
	pm[0] = 2;
	flush(pm, 1);
}

int main(int argc, char **argv)
{
	char *pm = pool_open(argv[argc - 1]);
	start(pm);
	foo(pm);
	return 0;
}
