/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tail calls and inlining, compiled with -O2: tail POOL LOG
 * A function that was called and then left by a jump is marked "tail:" in the path; the ones
 * in between, which were only jumped to, leave no trace, as on the real stack.
 */
#include "mark.h"

static volatile uint64_t zero;

static NOINLINE uint64_t last(uint64_t x)
{
	MARK("last<tail:first<both<main");
	return x + zero;
}

static NOINLINE uint64_t middle(uint64_t x)
{
	return last(x * 3);
}

static NOINLINE uint64_t first(uint64_t x)
{
	return middle(x + 1);
}

static uint64_t (*volatile pointer)(uint64_t);

static NOINLINE uint64_t aimed(uint64_t x)
{
	MARK("aimed<tail:by_pointer<both<main");
	return x * 2;
}

static NOINLINE uint64_t by_pointer(uint64_t x)
{
	return pointer(x + 7);
}

static inline __attribute__((always_inline)) void inlined_deep(void)
{
	MARK("inlined_deep<inlined<both<main");
}

static inline __attribute__((always_inline)) void inlined(void)
{
	inlined_deep();
}

static NOINLINE uint64_t even(uint64_t n);

static NOINLINE uint64_t odd(uint64_t n)
{
	if (n == 0)
		return 1 + zero;
	return even(n - 1);
}

/* A thousand jumps to and fro in one frame. */
static NOINLINE uint64_t even(uint64_t n)
{
	if (n == 0) {
		MARK("even<tail:odd<both<main");
		return zero;
	}
	return odd(n - 1);
}

static NOINLINE uint64_t both(uint64_t x)
{
	uint64_t sum = first(x);
	MARK("both<main");
	sum += by_pointer(x);
	inlined();
	sum += odd(1001 + x);
	MARK("both<main");
	return sum;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	mark_open(argv[1], argv[2]);
	pointer = aimed;
	uint64_t sum = both(zero);
	MARK("main");
	return sum == 12345;
}
