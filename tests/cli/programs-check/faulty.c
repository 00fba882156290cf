/* SPDX-License-Identifier: BSD-3-Clause */
/* An oracle that fails in the way that its FAULT, in the callback that its IN says. */
#include <holdfast/oracle.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef API
#define API HOLDFAST_ORACLE_API
#endif
#ifndef NAME
#define NAME "faulty"
#endif

enum { START, STORE, FLUSH, END, LOADING, UNLOADING, NOWHERE };
enum { SEGV, ABORT, LOOP, OVERFLOW, EXIT, LEAVE, BLOCK };

static const struct holdfast_host *host;
static int stores;

static const struct holdfast_kind kinds[] = {
	{ "before-the-fault", HOLDFAST_WARNING, "seen before the fault", "It must not be lost." },
	{ 0 },
};

static volatile int zero;

static int deep(volatile char *above)
{
	volatile char here[4096];
	here[0] = above[0];
	return zero ? 0 : deep(here) + here[0];
}

static void fail(int in)
{
	volatile char c = 0;
	if (in != IN)
		return;
	if (FAULT == SEGV)
		*(volatile int *)8 = 1;
	if (FAULT == ABORT)
		abort();
	if (FAULT == LEAVE) {
		if (!fork())
			_exit(0); /* that is nobody's business */
		_exit(0);
	}
	if (FAULT == EXIT)
		exit(0);
	while (FAULT == BLOCK)
		pause();
	if (FAULT == OVERFLOW)
		deep(&c);
	while (FAULT == LOOP)
		zero = 0;
}

__attribute__((constructor)) static void loading(void)
{
	fail(LOADING);
}

__attribute__((destructor)) static void unloading(void)
{
	fail(UNLOADING);
}

static void *start(const struct holdfast_host *h)
{
	host = h;
	fail(START);
	return &stores;
}

static void store(void *state, const struct holdfast_event *e)
{
	if (state != &stores)
		exit(98);
	if (stores++ == 0)
		host->report(0, host->where(e), 0, "the first store");
	else
		fail(STORE);
}

static void flush(void *state, const struct holdfast_event *e)
{
	(void)state, (void)e;
	fail(FLUSH);
}

static void end(void *state)
{
	(void)state;
	fail(END);
}

const struct holdfast_oracle holdfast_oracle = {
	.api = API,
	.name = NAME,
	.kinds = kinds,
	.start = start,
	.store = store,
	.flush = flush,
	.end = end,
};
