/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads: threads POOL LOG SCENARIO
 *
 *   work    four threads store, flush and fence, each in its own part, and log what they do
 *   shared  four threads store to the same few words, and take turns at random
 *   many    fifty threads that live for one store, one after the other, then all at once
 *   leave   threads that end in odd ways
 *   pending one has stored non-temporally when the other does something atomic
 */
#include <pthread.h>
#include <sys/syscall.h>

#include <immintrin.h>

#include "expect.h"

#define POOL_BYTES (1ul << 20)
#define THREADS 4
#define ROUNDS 300

static char *pm;
static FILE *logs[64];

/* Each thread logs into a file of its own, so that logging does not order the threads. */
static void begin(long number, const char *path)
{
	char name[4096];
	snprintf(name, sizeof name, "%s.%ld", path, number);
	logs[number] = fopen(name, "w");
	must(logs[number] != NULL, name);
}

static void log_store(FILE *f, const volatile uint64_t *at, uint64_t value, const char *flags)
{
	fprintf(f, "store %p 8 ", (const void *)(uintptr_t)at);
	for (int i = 0; i < 8; i++)
		fprintf(f, "%02x", (unsigned)(value >> 8 * i & 255));
	fprintf(f, " %s\n", flags);
}

/* One round; every thread does something else at a given time. */
static void step(FILE *f, volatile uint64_t *at, uint64_t value)
{
	*at = value;
	log_store(f, at, value, "plain");
	switch (value % 4) {
	case 0:
		_mm_clflush((void *)(uintptr_t)at);
		fprintf(f, "flush %p clflush\n", (void *)(uintptr_t)at);
		break;
	case 1:
		_mm_stream_si64((long long *)(uintptr_t)(at + 1), (long long)value);
		log_store(f, at + 1, value, "nt");
		_mm_mfence();
		fprintf(f, "fence mfence\n");
		break;
	case 2:
		_mm_sfence();
		fprintf(f, "fence sfence\n");
		break;
	default:
		__atomic_fetch_add((uint64_t *)(uintptr_t)(at + 2), value, __ATOMIC_SEQ_CST);
		log_store(f, at + 2, at[2], "atomic");
	}
}

static NOINLINE void *work(void *arg)
{
	long number = (long)arg;
	char *mine = pm + (size_t)number * 65536;
	for (uint64_t i = 0; i < ROUNDS; i++) {
		step(logs[number], (uint64_t *)(mine + i % 700 * 64), i * 16 + (uint64_t)number);
		if (i % 50 == (uint64_t)number)
			sched_yield();
	}
	return NULL;
}

static NOINLINE void *contend(void *arg)
{
	uint64_t state = (uint64_t)arg * 7919 + 1;
	for (int i = 0; i < 5000; i++) {
		state = state * 6364136223846793005ull + 1;
		((volatile uint64_t *)pm)[(state >> 40) % 16] = state;
		if (state >> 58 == 0)
			sched_yield();
	}
	return NULL;
}

static NOINLINE void *short_lived(void *arg)
{
	((volatile uint64_t *)pm)[(long)arg] = (uint64_t)arg + 1;
	return NULL;
}

static NOINLINE void *leaver(void *arg)
{
	((volatile uint64_t *)pm)[(long)arg] = 100 + (uint64_t)arg;
	if ((long)arg == 1)
		pthread_exit(NULL);
	if ((long)arg == 2)
		syscall(SYS_exit, 0);
	if ((long)arg == 3)
		_mm_stream_si64((long long *)pm + 8, 3); /* pending when it ends */
	return NULL;
}

static void start(pthread_t *t, void *(*f)(void *), long arg)
{
	must(!pthread_create(t, NULL, f, (void *)arg), "pthread_create");
}

static void all(void *(*f)(void *), long first, long n, int at_once)
{
	pthread_t t[64];
	for (long i = 0; i < n; i++) {
		start(&t[i], f, first + i);
		if (!at_once)
			pthread_join(t[i], NULL);
	}
	for (long i = 0; at_once && i < n; i++)
		pthread_join(t[i], NULL);
}

static void leave(void)
{
	all(leaver, 0, 4, 0);
	/* Nothing is pending in a thread that takes over the place of one that left. */
	__atomic_fetch_add((uint64_t *)pm + 20, 1, __ATOMIC_SEQ_CST);
	all(short_lived, 30, 3, 0);
}

static volatile int turn;

static void pass_to(int number)
{
	turn = number; /* nothing atomic here: that is the point */
	while (turn != 3 - number)
		sched_yield();
}

static void *partner(void *arg)
{
	while (turn != 2)
		sched_yield();
	__atomic_fetch_add((uint64_t *)pm + 64, 2, __ATOMIC_SEQ_CST);
	_mm_stream_si64((long long *)pm + 72, 3);
	pass_to(1);
	__atomic_fetch_add((uint64_t *)pm + 64, 6, __ATOMIC_SEQ_CST);
	turn = 1;
	return arg;
}

static void pending(void)
{
	pthread_t t;
	start(&t, partner, 0);
	_mm_stream_si64((long long *)pm + 8, 1);
	pass_to(2);
	__atomic_fetch_add((uint64_t *)pm + 16, 4, __ATOMIC_SEQ_CST);
	__atomic_fetch_add((uint64_t *)pm + 16, 5, __ATOMIC_SEQ_CST);
	pass_to(2);
	pthread_join(t, NULL);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	pm = pool_map(argv[1], POOL_BYTES, NULL);
	for (long i = 0; i <= THREADS; i++)
		begin(i, argv[2]);
	if (!strcmp(argv[3], "work")) {
		all(work, 1, THREADS, 1);
	} else if (!strcmp(argv[3], "shared")) {
		all(contend, 1, THREADS, 1);
	} else if (!strcmp(argv[3], "many")) {
		all(short_lived, 0, 50, 0);
		all(short_lived, 50, 50, 1);
	} else if (!strcmp(argv[3], "pending")) {
		pending();
	} else {
		leave();
	}
	return 0;
}
