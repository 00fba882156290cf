/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watched functions (all named w_…): watch POOL LOG SCENARIO
 * The log has a line for each call and return that should be recorded, in order:
 *	call NAME A0 … A5        return NAME RESULT        unwound NAME
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>

#include "expect.h"
#include "watch.h"

static jmp_buf away;
static sigjmp_buf from_handler;
static volatile uint64_t *pm;

void saw_call(const char *name, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
	      uint64_t f)
{
	fprintf(expect_file, "call %s %lx %lx %lx %lx %lx %lx\n", name, a, b, c, d, e, f);
}

void saw_return(const char *name, uint64_t result)
{
	fprintf(expect_file, "return %s %lx\n", name, result);
}

static void saw_unwound(const char *name)
{
	fprintf(expect_file, "unwound %s\n", name);
}

/* Calls f with six arguments that are known, and logs it. */
static uint64_t six(const char *name, six_fn *f, uint64_t a)
{
	saw_call(name, a, ~a, a << 32, 3, 4, 5);
	uint64_t r = f(a, ~a, a << 32, 3, 4, 5);
	saw_return(name, r);
	return r;
}

NOINLINE uint64_t w_sum(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	pm[0] = a;
	return a * 3 + b * 5 + c * 7 + d * 11 + e * 13 + f;
}

NOINLINE uint64_t w_outer(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	uint64_t r = six("w_sum", w_sum, a + 1);
	return r ^ b ^ c ^ d ^ e ^ six("w_sum", w_sum, f);
}

NOINLINE uint64_t w_fact(uint64_t n, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	(void)b, (void)c, (void)d, (void)e, (void)f;
	return n < 2 ? 1 : n * six("w_fact", w_fact, n - 1);
}

NOINLINE uint64_t w_leap_in(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	if (a == 77)
		longjmp(away, 1);
	return b + c + d + e + f;
}

NOINLINE uint64_t w_leap(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	(void)b, (void)c, (void)d, (void)e, (void)f;
	return six("w_leap_in", w_leap_in, a) + 1;
}

static void simple(void)
{
	six("w_sum", w_sum, 1);
	six("w_sum", w_sum, 0xfedcba9876543210);
	six("w_outer", w_outer, 5);
	six("w_fact", w_fact, 6);
	for (volatile int i = 0; i < 3; i++) {
		six("w_leap", w_leap, 7);
		if (!setjmp(away)) {
			six("w_leap", w_leap, 77);
		} else {
			saw_unwound("w_leap_in");
			saw_unwound("w_leap");
		}
		six("w_sum", w_sum, 8);
	}
}

static void tail(void)
{
	six("w_before", w_before, 3); /* logs the call that it jumps to, and its return */
	six("w_sum", w_sum, 9);
}

/* ---- handlers and threads ---- */

NOINLINE uint64_t w_in_handler(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			       uint64_t f)
{
	if (a == 99)
		siglongjmp(from_handler, 1);
	return b ^ c ^ d ^ e ^ f;
}

static volatile uint64_t handler_arg;

static void handler(int sig)
{
	(void)sig;
	six("w_in_handler", w_in_handler, handler_arg);
}

NOINLINE uint64_t w_raise(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	handler_arg = a;
	raise(SIGUSR1);
	return b * 3 + c + d + e + f;
}

/* The handler jumps back into the very function that it interrupted. */
NOINLINE uint64_t w_stay(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	if (!sigsetjmp(from_handler, 1)) {
		handler_arg = 99;
		raise(SIGUSR1);
	}
	saw_unwound("w_in_handler");
	return a + b + c + d + e + f;
}

static void handlers(int flags)
{
	static char stack[65536];
	stack_t st = { .ss_sp = stack, .ss_size = sizeof stack };
	struct sigaction sa = { .sa_handler = handler, .sa_flags = flags };
	must(!sigaltstack(&st, NULL) && !sigaction(SIGUSR1, &sa, NULL), "sigaction");
	for (volatile int i = 0; i < 3; i++) {
		six("w_raise", w_raise, 5);
		if (!sigsetjmp(from_handler, 1)) {
			six("w_raise", w_raise, 99);
		} else {
			saw_unwound("w_in_handler");
			saw_unwound("w_raise");
		}
		six("w_sum", w_sum, 6);
		six("w_stay", w_stay, 7);
	}
}

/* A thread that ends inside a watched function; the next one must not inherit its frames. */
NOINLINE uint64_t w_gone(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	syscall(SYS_exit, 0);
	return a + b + c + d + e + f;
}

static void *thread(void *arg)
{
	six("w_sum", w_sum, 4);
	if (arg)
		six("w_gone", w_gone, 2);
	six("w_fact", w_fact, 3);
	return NULL;
}

static void threads(void)
{
	for (long i = 0; i < 4; i++) {
		pthread_t t;
		must(!pthread_create(&t, NULL, thread, (void *)((i + 1) % 2)), "pthread_create");
		must(!pthread_join(t, NULL), "pthread_join");
	}
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	pm = (volatile uint64_t *)pool_map(argv[1], 65536, NULL);
	expect_open(argv[2]);
	if (!strcmp(argv[3], "simple"))
		simple();
	else if (!strcmp(argv[3], "tail"))
		tail();
	else if (!strcmp(argv[3], "handlers"))
		handlers(0);
	else if (!strcmp(argv[3], "alternate"))
		handlers(SA_ONSTACK);
	else if (!strcmp(argv[3], "threads"))
		threads();
	else
		return 2;
	return 0;
}
