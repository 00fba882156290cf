// SPDX-License-Identifier: BSD-3-Clause
/*
 * Threads that work for each other.
 *
 * usage: served POOL leader     one thread counts what another one wants counted, too, which then notes its own; marked
 *        served POOL queue      a producer and a consumer, without marks
 *        served POOL hasty      likewise; the line that is to be found bears @hasty
 *        served POOL group      threads take turns to write what is asked, one or two entries with one fence; without marks
 *        served POOL wrong      likewise; an entry is something else for a moment
 *        served POOL dump       prints what is counted, what is in the queue, and the entries
 */
#include <fcntl.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "holdfast.h"

struct pool {
	uint64_t n, gap[7], number[2], more[6];
	uint64_t note[2][8]; /* a line each, from here on */
	uint64_t head[8], tail[8], slot[4][8];
	uint64_t entry[32][8];
};
static struct pool *pool;
static pthread_barrier_t queued, counted;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static bool hasty, wrong;

static void persist(const void *p)
{
	_mm_clflushopt((void *)p);
	_mm_sfence();
}

/* One after the other is there, and a crash may come between them. */
static void count_all(void)
{
	pool->number[0] = 41;
	pool->number[1] = 42;
	persist(pool->number);
	pool->n++;
	pool->n++;
	persist(&pool->n);
}

static void *ask(void *leads)
{
	uint64_t i = leads ? 0 : 1;
	HOLDFAST_OP_BEGIN(i);
	pthread_barrier_wait(&queued);
	if (leads)
		count_all();
	pthread_barrier_wait(&counted);
	pool->note[i][0] = 1;
	persist(pool->note[i]);
	HOLDFAST_OP_END(i);
	return NULL;
}

static void push(uint64_t value)
{
	pthread_mutex_lock(&lock);
	while (*pool->tail - *pool->head == 4)
		pthread_cond_wait(&moved, &lock);
	uint64_t *slot = pool->slot[*pool->tail % 4];
	*slot = value;
	if (!hasty)
		persist(slot);
	++*pool->tail; /* @hasty: what was in the slot before */
	persist(pool->tail);
	persist(slot);
	pthread_cond_signal(&moved);
	pthread_mutex_unlock(&lock);
}

static void pop(void)
{
	pthread_mutex_lock(&lock);
	while (*pool->tail == *pool->head)
		pthread_cond_wait(&moved, &lock);
	++*pool->head;
	persist(pool->head);
	pthread_cond_signal(&moved);
	pthread_mutex_unlock(&lock);
}

static void *produce(void *unused)
{
	for (uint64_t i = 1; i <= 9; i++)
		push(i);
	return unused;
}

static void *consume(void *unused)
{
	for (int i = 0; i < 7; i++)
		pop();
	return unused;
}

__attribute__((noinline)) static void submit(bool leads, int asked)
{
	static int at;
	pthread_barrier_wait(&queued);
	for (int i = 0; leads && i < asked; i++, at++) {
		if (wrong) {
			*pool->entry[at] = 7; /* @wrong */
			persist(pool->entry[at]);
		}
		*pool->entry[at] = 100 + at;
		_mm_clflushopt(pool->entry[at]);
	}
	if (leads)
		_mm_sfence();
	pthread_barrier_wait(&counted);
}

static void *take_turns(void *first)
{
	for (int i = 0; i < 9; i++)
		submit((i % 3 != 2) == !!first, i % 3 ? 1 : 2);
	return NULL;
}

static void both(void *(*first)(void *), void *(*second)(void *))
{
	pthread_t a, b;
	pthread_create(&a, NULL, first, pool);
	pthread_create(&b, NULL, second, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}

static void dump(void)
{
	for (uint64_t i = 0; i < pool->n; i++)
		printf("%lu\n", pool->number[i]);
	for (uint64_t i = *pool->head; i < *pool->tail; i++)
		printf("%lu\n", *pool->slot[i % 4]);
	for (int i = 0; i < 32 && *pool->entry[i]; i++)
		printf("%lu\n", *pool->entry[i]);
}

int main(int argc, char **argv)
{
	int fd = argc > 2 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	if (fd < 0 || ftruncate(fd, sizeof *pool))
		return 99;
	pool = mmap(NULL, sizeof *pool, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	pthread_barrier_init(&queued, NULL, 2);
	pthread_barrier_init(&counted, NULL, 2);
	hasty = !strcmp(argv[2], "hasty");
	wrong = !strcmp(argv[2], "wrong");
	if (!strcmp(argv[2], "dump"))
		dump();
	else if (!strcmp(argv[2], "leader"))
		both(ask, ask);
	else if (wrong || !strcmp(argv[2], "group"))
		both(take_turns, take_turns);
	else
		both(produce, consume);
	return 0;
}
