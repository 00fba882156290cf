/* SPDX-License-Identifier: BSD-3-Clause */
/* Watched functions that end in a tail call; compiled with -O2. */
#include "watch.h"

#define NOINLINE __attribute__((noinline, noclone))

NOINLINE uint64_t w_behind(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	uint64_t r = a * b + c * d + e * f;
	saw_return("w_behind", r);
	return r;
}

NOINLINE uint64_t w_before(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	saw_call("w_behind", f, e, d, c, b, a);
	return w_behind(f, e, d, c, b, a);
}
