/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Floating point on the input, which is not followed: floats POOL, two bytes on standard input. The
 * first decides by arithmetic on doubles, the second by an ordinary comparison, which is followed.
 */
#include "pool.h"

int main(int argc, char **argv)
{
	struct cell *pool = pool_map(argc, argv);
	unsigned char c[2] = { 0, 0 };
	double half;
	take(c, 2);
	half = c[0] / 2.0;
	*(volatile uint64_t *)&pool->value = half > 100.25 ? 2 : 1; /* BUG */
	if (c[1] != 'z' IF_FIXED(|| 1))
		clwb(pool);
	sfence();
	return 0;
}
