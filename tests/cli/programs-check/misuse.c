/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * misuse POOL WAY…: ways to misuse persistent memory, and to use it well.
 *
 * A line that must be reported bears "@WAY"; the kind is what stands behind it. Ways run one
 * after the other, each on cache lines of its own.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <immintrin.h>

#define BYTES 65536

struct line {
	volatile uint64_t word[8];
};

static struct line *pm, *at; /* the pool; the next unused line */
static volatile int turn;

static void *map(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0666);
	if (fd < 0 || ftruncate(fd, BYTES))
		exit(99);
	void *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return p == MAP_FAILED ? exit(99), NULL : p;
}

static void pm_flush(struct line *l)
{
	_mm_clflushopt(l);
}

static void pm_persist(struct line *l)
{
	pm_flush(l);
	_mm_sfence();
}

static void clean(struct line *l)
{
	for (uint64_t i = 0; i < 20; i++) {
		l->word[i % 8] = i + 1;
		pm_persist(l);
	}
}

static void missing_flush(struct line *l)
{
	l->word[0] = 1;
	pm_persist(l);
	l->word[0] = 2; /* @missing-flush missing-flush */
	l[1].word[0] = 3;
	pm_persist(&l[1]);
}

static void missing_fence(struct line *l)
{
	l->word[0] = 1;
	pm_persist(l);
	l->word[0] = 2; /* @missing-fence missing-fence */
	pm_flush(l);
}

static void missing_both(struct line *l)
{
	l->word[0] = 1;
	pm_persist(l);
	l->word[0] = 2; /* @missing-both missing-flush-and-fence */
}

static void transient(struct line *l)
{
	l->word[0] = 1; /* @transient transient-data */
}

static void flush_clean(struct line *l)
{
	l->word[0] = 1;
	pm_persist(l);
	pm_flush(l); /* @flush-clean redundant-flush */
	l[1].word[0] = 1;
	pm_persist(&l[1]);
}

static void flush_twice(struct line *l)
{
	l->word[0] = 1;
	pm_flush(l);
	pm_flush(l); /* @flush-twice redundant-flush */
	_mm_sfence();
}

static void flush_nt(struct line *l)
{
	_mm_stream_si64((long long *)(uintptr_t)&l->word[0], 1);
	pm_flush(l); /* @flush-nt redundant-flush */
	_mm_sfence();
}

static void flush_dram(struct line *l)
{
	static struct line dram;
	dram.word[0] = 1;
	pm_flush(&dram); /* @flush-dram flush-of-volatile */
	l->word[0] = 1;
	pm_persist(l);
}

static void fence_twice(struct line *l)
{
	l->word[0] = 1;
	pm_persist(l);
	_mm_sfence(); /* @fence-twice redundant-fence */
}

static void *wait_forever(void)
{
	for (turn = 1; turn;)
		sched_yield();
	return NULL;
}

/* By the other thread: its atomic instructions would be fences, so it has none until the end. */
static void *flusher(void *arg)
{
	struct line *l = arg;
	l->word[0] = 2; /* @cross missing-fence */
	pm_flush(l);
	return wait_forever();
}

static void *flusher_with_fence(void *arg)
{
	struct line *l = arg;
	l->word[0] = 2;
	pm_persist(l);
	return wait_forever();
}

static void start(void *(*f)(void *), struct line *l)
{
	pthread_t t;
	l->word[0] = 1;
	pm_persist(l);
	turn = 0;
	sched_yield(); /* bound here: binding it late takes atomic instructions */
	if (pthread_create(&t, NULL, f, l))
		exit(99);
	while (!turn)
		sched_yield();
}

static void cross(struct line *l)
{
	start(flusher, l);
	l[1].word[0] = 1;
	pm_persist(&l[1]); /* a fence of use, by the wrong thread */
}

static void own(struct line *l)
{
	start(flusher_with_fence, l);
	l[1].word[0] = 1;
	pm_persist(&l[1]);
}

/* Several threads, all with the same mistake. */
static void *careless(void *arg)
{
	struct line *l = arg;
	for (int i = 0; i < 50; i++) {
		l->word[0] = (uint64_t)i;
		pm_persist(l);
	}
	l->word[0] = 99; /* @team missing-flush-and-fence */
	return NULL;
}

static void team(struct line *l)
{
	pthread_t t[4];
	for (int i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, careless, &l[i]))
			exit(99);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

/* Takes its time between a store and its flush: that is where it will be cut off. */
static void *busy(void *arg)
{
	struct line *l = arg;
	for (uint64_t i = 0;; i++) {
		l->word[0] = i;
		for (volatile int k = 0; k < 50; k++)
			;
		pm_persist(l);
	}
	return NULL;
}

/* The threads are cut off in the middle of something, and are right. */
static void quit_while_busy(struct line *l)
{
	pthread_t t;
	for (int i = 0; i < 4; i++)
		if (pthread_create(&t, NULL, busy, &l[i]))
			exit(99);
	usleep(100000);
	exit(0);
}

static void sync_it(struct line *l)
{
	l->word[0] = 1;
	msync((void *)((uintptr_t)l & ~4095ul), BYTES - ((uintptr_t)l & 4095), MS_SYNC);
}

static void ready(struct line *l)
{
	(void)l;
	close(open("ready", O_CREAT | O_WRONLY, 0666));
}

/* Established at once: the mapping goes away. */
static void lose(struct line *l)
{
	struct line *other = map("lost-pool");
	other->word[0] = 1;
	pm_persist(other);
	other->word[0] = 2; /* @lose missing-flush-and-fence */
	munmap(other, BYTES);
	clean(l);
	ready(l);
}

static void forever(struct line *l)
{
	for (;;)
		clean(l);
}

static void crash(struct line *l)
{
	l->word[0] = 7; /* had no time to persist it */
	*(volatile int *)(uintptr_t)(l->word[7]) = 1;
}

static void crash_by_kill(struct line *l)
{
	l->word[0] = 7;
	kill(getpid(), SIGKILL);
}

static void on_term(int sig)
{
	(void)sig;
	puts("told to end");
	exit(0);
}

static void polite(struct line *l)
{
	(void)l;
	signal(SIGTERM, on_term);
}

static void say(struct line *l)
{
	(void)l;
	puts("hello");
	fputs("to stderr\n", stderr);
	fflush(stdout);
}

static void fail(struct line *l)
{
	(void)l;
	exit(7);
}

static const struct {
	const char *name;
	void (*run)(struct line *);
} ways[] = {
	{ "clean", clean },
	{ "missing-flush", missing_flush },
	{ "missing-fence", missing_fence },
	{ "missing-both", missing_both },
	{ "transient", transient },
	{ "flush-clean", flush_clean },
	{ "flush-twice", flush_twice },
	{ "flush-nt", flush_nt },
	{ "flush-dram", flush_dram },
	{ "fence-twice", fence_twice },
	{ "cross", cross },
	{ "own", own },
	{ "team", team },
	{ "quit-while-busy", quit_while_busy },
	{ "sync", sync_it },
	{ "lose", lose },
	{ "ready", ready },
	{ "forever", forever },
	{ "crash", crash },
	{ "crash-by-kill", crash_by_kill },
	{ "polite", polite },
	{ "say", say },
	{ "fail", fail },
};

int main(int argc, char **argv)
{
	at = pm = map(argv[1]);
	for (int i = 2; i < argc; i++, at += 8)
		for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
			if (strcmp(argv[i], ways[w].name) == 0)
				ways[w].run(at);
	munmap(pm, BYTES);
	_exit(0); /* some threads never end */
}
