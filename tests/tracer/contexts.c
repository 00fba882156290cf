/* SPDX-License-Identifier: BSD-3-Clause */
/* Call paths that are known: contexts POOL LOG SCENARIO… (calls stay calls, see meson.build) */
#include <alloca.h>
#include <setjmp.h>
#include <ucontext.h>

#include "mark.h"

static volatile int zero; /* what the compiler cannot know */

/* ---- ordinary calls ---- */

static NOINLINE void c(void)
{
	MARK("c<b<a<calls<main");
}

static NOINLINE void b(void)
{
	c();
	MARK("b<a<calls<main");
	c();
}

static NOINLINE void a(void)
{
	MARK("a<calls<main");
	b();
	MARK("a<calls<main");
}

static NOINLINE int f1(int x)
{
	MARK("f1<indirect<calls<main");
	return x + 1;
}

static NOINLINE int f2(int x)
{
	MARK("f2<indirect<calls<main");
	return x + 2;
}

static int (*volatile table[])(int) = { f1, f2, f1 };

static NOINLINE int indirect(void)
{
	int sum = 0;
	for (int i = 0; i < 3; i++)
		sum += table[i](i);
	MARK("indirect<calls<main");
	return sum;
}

static NOINLINE void recurse(int n)
{
	static const char *const path[] = { "recurse<calls<main", "recurse<recurse<calls<main",
					    "recurse<recurse<recurse<calls<main",
					    "recurse<recurse<recurse<recurse<calls<main" };
	MARK(path[n]);
	if (n < 3)
		recurse(n + 1);
	MARK(path[n]);
}

static NOINLINE int compare(const void *x, const void *y)
{
	MARK("compare<sort<calls<main");
	return *(const int *)x - *(const int *)y;
}

static NOINLINE void sort(void)
{
	int v[] = { 5, 3, 9, 1, 7 };
	qsort(v, 5, sizeof *v, compare);
	MARK("sort<calls<main");
}

/* The stores of a C library function: the log has only the first word of what it stores. */
static NOINLINE void copy(void)
{
	uint64_t v[64];
	volatile size_t size = sizeof v; /* or it would not be a call */
	for (int i = 0; i < 64; i++)
		v[i] = 0x7000000000000000 + (uint64_t)i;
	memcpy((char *)(uintptr_t)mark_pm + MARK_BYTES - 4096, v, size);
	MARK("copy<calls<main");
}

static void calls(void)
{
	MARK("calls<main");
	a();
	indirect();
	recurse(0);
	sort();
	copy();
	MARK("calls<main");
}

/* ---- longjmp ---- */

static jmp_buf far, near;

static NOINLINE void leap3(int how)
{
	MARK("leap3<leap2<leap1<…");
	if (how)
		longjmp(how == 1 ? far : near, 1);
	MARK("leap3<leap2<leap1<…");
}

static NOINLINE void leap2(int how)
{
	leap3(how);
	MARK("leap2<leap1<…");
}

static NOINLINE void leap1(int how)
{
	if (!setjmp(near))
		leap2(how);
	MARK("leap1<leaps<main");
}

static NOINLINE void after_leap(void)
{
	MARK("after_leap<leaps<main");
}

static void leaps(void)
{
	for (volatile int i = 0; i < 20; i++) {
		if (!setjmp(far))
			leap1(i % 3);
		MARK("leaps<main");
		after_leap();
	}
}

/* ---- very deep, and wide ---- */

static NOINLINE int deep(int n)
{
	if (n == 0 || n == 50000 || n == 99500)
		MARK("deep<deep<deep<deep<deep<…");
	return n ? deep(n - 1) + 1 : zero;
}

static void depths(void)
{
	deep(100);
	MARK("depths<main");
	deep(100000);
	MARK("depths<main");
	deep(10);
	MARK("depths<main");
}

/* Each leaf has a way of its own, left or right at each level; beyond the first levels they are folded. */
static NOINLINE int branch(int n)
{
	if (n == 0)
		MARK("branch<branch<branch<branch<branch<branches<main");
	return n ? branch(n - 1) + 2 * branch(n - 1) : zero;
}

static NOINLINE int odd_turn(int n);

static NOINLINE int even_turn(int n)
{
	MARK("even_turn<…");
	return n ? odd_turn(n - 1) + 1 : zero;
}

static NOINLINE int odd_turn(int n)
{
	MARK("odd_turn<even_turn<…");
	return n ? even_turn(n - 1) + even_turn(n - 1) : zero;
}

static void branches(void)
{
	branch(12);
	even_turn(20);
	MARK("branches<main");
}

static NOINLINE void on_top(void)
{
	MARK("on_top<wide<growth<main");
}

static NOINLINE void wide(size_t n)
{
	MARK("wide<growth<main");
	volatile char *p = alloca(n);
	p[0] = p[n - 1] = 1;
	on_top();
	MARK("wide<growth<main");
}

static void growth(void)
{
	for (size_t n = 100; n < 4000000; n *= 6)
		wide(n);
	MARK("growth<main");
}

/* ---- returns that are none ---- */

/* push; ret: a jump */
static NOINLINE void jumped(void)
{
	__asm__ volatile(
		"sub $128, %%rsp; lea 1f(%%rip), %%rax; push %%rax; ret; 1: add $128, %%rsp" ::
			: "rax", "memory");
	MARK("jumped<odd<main");
}

static void odd(void)
{
	jumped();
	MARK("odd<main");
}

/* ---- coroutines: whatever happens, the innermost function is right ---- */

static ucontext_t here, there[3];
static char stacks[3][65536];

static NOINLINE void inside(void)
{
	MARK("inside<…");
	swapcontext(&there[0], &here);
	MARK("inside<…");
}

static void coroutine(void)
{
	for (int i = 0; i < 50; i++) {
		inside();
		MARK("coroutine<…");
	}
}

static NOINLINE void second(void)
{
	for (;;) {
		MARK("second<…");
		swapcontext(&there[1], &here);
	}
}

static NOINLINE void resume(int which)
{
	swapcontext(&here, &there[which]);
	MARK("resume<…");
}

static void coroutines(void)
{
	void (*f[])(void) = { coroutine, second };
	for (int i = 0; i < 2; i++) {
		getcontext(&there[i]);
		there[i].uc_stack.ss_sp = stacks[i];
		there[i].uc_stack.ss_size = sizeof stacks[i];
		there[i].uc_link = &here;
		makecontext(&there[i], f[i], 0);
	}
	for (int i = 0; i < 50; i++) {
		resume(0);
		if (i % 3 == 0)
			resume(1);
	}
	MARK("coroutines<…");
	resume(1);
	MARK("coroutines<…");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = { { "calls", calls },          { "leaps", leaps },   { "depths", depths },
		    { "branches", branches },    { "growth", growth }, { "odd", odd },
		    { "coroutines", coroutines } };
	if (argc < 4)
		return 2;
	mark_open(argv[1], argv[2]);
	for (int i = 3; i < argc; i++)
		for (size_t k = 0; k < sizeof all / sizeof *all; k++)
			if (!strcmp(argv[i], all[k].name))
				all[k].run();
	MARK("main");
	return 0;
}
