/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * AGAMOTTO's listing 7: listing7 POOL, one byte on standard input. Anything but 'w' reads.
 * The numbers are those of the paper: how many instructions that modify PM can still follow.
 */
#include "pool.h"

static uint64_t seen;

NOINLINE static void foo(void)
{
	seen++;
}

int main(int argc, char **argv)
{
	struct cell *pbuf = pool_map(argc, argv);
	unsigned x = 5;
	char a = 0;
	int do_read;
	take(&a, 1);
	do_read = a != 'w';                               /* (2) */
	if (do_read) {                                    /* (0) */
		seen = pbuf[x].value;                     /* (0) */
		foo();                                    /* (0) */
	} else {                                          /* (2) */
		uint64_t v = 5;                           /* (2) */
		*(volatile uint64_t *)&pbuf[x].value = v; /* (2) BUG: nobody waits for the flush */
		clwb(&pbuf[x]);                           /* (1) */
		IF_FIXED(sfence();)
	}
	_exit(0); /* (0) */
}
