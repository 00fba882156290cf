/* SPDX-License-Identifier: BSD-3-Clause */
/* Call paths in and after signal handlers: signals POOL LOG SCENARIO… */
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#include "mark.h"

static sigjmp_buf away;
static volatile int leave; /* the handler jumps out */

static NOINLINE void in_handler(int sig)
{
	MARK(sig == SIGUSR1 ? "in_handler<handler<<signal 10><…"
			    : "in_handler<handler<<signal 12><…");
	if (leave)
		siglongjmp(away, 1);
}

static void handler(int sig)
{
	MARK(sig == SIGUSR1 ? "handler<<signal 10><…" : "handler<<signal 12><…");
	in_handler(sig);
	MARK(sig == SIGUSR1 ? "handler<<signal 10><…" : "handler<<signal 12><…");
}

/* A handler in which another signal comes. */
static void outer(int sig)
{
	(void)sig;
	MARK("outer<<signal 1><inner_work<work<…");
	raise(SIGUSR1);
	MARK("outer<<signal 1><inner_work<work<…");
}

static void set(int sig, void (*f)(int), int flags)
{
	struct sigaction sa = { .sa_handler = f, .sa_flags = flags };
	must(!sigaction(sig, &sa, NULL), "sigaction");
}

static NOINLINE void inner_work(int sig)
{
	MARK("inner_work<work<…");
	raise(sig);
	MARK("inner_work<work<…");
}

static NOINLINE void work(int sig)
{
	inner_work(sig);
	MARK("work<…");
}

static void normal(void)
{
	set(SIGUSR1, handler, 0);
	set(SIGUSR2, handler, SA_NODEFER);
	set(SIGHUP, outer, 0);
	for (int i = 0; i < 5; i++) {
		work(SIGUSR1);
		MARK("normal<main");
		work(SIGUSR2);
		MARK("normal<main");
		work(SIGHUP);
		MARK("normal<main");
	}
}

static void jumps(void)
{
	set(SIGUSR1, handler, 0);
	leave = 1;
	for (volatile int i = 0; i < 20; i++) {
		if (!sigsetjmp(away, 1))
			work(SIGUSR1);
		MARK("jumps<main");
	}
	leave = 0;
	work(SIGUSR1);
	MARK("jumps<main");
}

/* Handlers on an alternate stack at `at`, returning and jumping out. */
static NOINLINE void on_alternate(void *at, size_t size)
{
	stack_t st = { .ss_sp = at, .ss_size = size };
	must(!sigaltstack(&st, NULL), "sigaltstack");
	set(SIGUSR1, handler, SA_ONSTACK);
	set(SIGUSR2, handler, 0);
	for (volatile int i = 0; i < 10; i++) {
		leave = 0;
		work(SIGUSR1);
		MARK("on_alternate<…");
		work(SIGUSR2);
		leave = 1;
		if (!sigsetjmp(away, 1))
			work(SIGUSR1);
		MARK("on_alternate<…");
		if (!sigsetjmp(away, 1))
			work(SIGUSR2);
		MARK("on_alternate<…");
	}
	leave = 0;
}

static void alternate_low(void)
{
	static char stack[65536];
	on_alternate(stack, sizeof stack);
	MARK("alternate_low<main");
}

/* The alternate stack lies above what runs, where frames of callers would be. */
static void alternate_high(void)
{
	char stack[65536];
	on_alternate(stack, sizeof stack);
	MARK("alternate_high<main");
}

/* ---- at any time ---- */

static volatile sig_atomic_t ticks;

static NOINLINE void tick_work(void)
{
	MARK("tick_work<tick<<signal 14><…");
}

static void tick(int sig)
{
	(void)sig;
	tick_work();
	ticks++;
}

/* No stdio here: the handler may come in the middle of it. */
static uint64_t quiet_mark(void)
{
	uint64_t n = __atomic_add_fetch(&mark_count, 1, __ATOMIC_RELAXED);
	mark_pm[n % (MARK_BYTES / 8)] = n;
	return n;
}

static uint64_t quiet[20000];

static NOINLINE void leaf(int i)
{
	quiet[i] = quiet_mark();
}

static NOINLINE void branch(int i)
{
	leaf(i);
}

static void timer(void)
{
	struct itimerval t = { { 0, 500 }, { 0, 500 } }, off = { 0 };
	int n = 0;
	set(SIGALRM, tick, 0);
	setitimer(ITIMER_REAL, &t, NULL);
	while (ticks < 100 && n < 20000)
		branch(n++);
	setitimer(ITIMER_REAL, &off, NULL);
	for (int i = 0; i < n; i++)
		fprintf(expect_file, "%lu quiet_mark<leaf<branch<timer<main\n", quiet[i]);
	MARK("timer<main");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = { { "normal", normal },
		    { "jumps", jumps },
		    { "alternate_low", alternate_low },
		    { "alternate_high", alternate_high },
		    { "timer", timer } };
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
