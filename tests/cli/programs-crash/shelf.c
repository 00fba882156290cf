// SPDX-License-Identifier: BSD-3-Clause
/*
 * A stack of numbers that does what a file says, a line each, and prints the results; nothing checks it. A
 * line that is to be found bears @WAY KIND.
 *
 * usage: shelf POOL WAY OPS    "put N", "del", "list", "stop"; lines without a word are no operations
 *                              a way that begins with "two" runs two at a time, in threads
 *
 *	head ──▶ node ──▶ node ──▶ node      what is there
 *	free ──▶ node ──▶ node               for the next ones
 */
#include <fcntl.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "holdfast.h"

#define NODES 64

struct line {
	uint64_t next, value, gap[6]; /* numbers of nodes, from 1 */
};
struct shelf {
	struct line head, free, used, node[NODES + 1];
};
static struct shelf *s;
static const char *way;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void persist(const void *p)
{
	_mm_clflushopt((void *)p);
	_mm_sfence();
}

static uint64_t take_node(void)
{
	uint64_t i = s->free.next;
	if (i) {
		s->free.next = s->node[i].next;
		persist(&s->free);
		return i;
	}
	i = ++s->used.next;
	persist(&s->used);
	return i < NODES ? i : NODES;
}

static void put(uint64_t value)
{
	uint64_t i = take_node();
	s->node[i].value = value;
	s->node[i].next = s->head.next;
	if (!strstr(way, "hasty"))
		persist(&s->node[i]);
	s->head.next = i; /* @hasty half-operation */
	if (strcmp(way, "forgets") != 0)
		persist(&s->head);
	if (strstr(way, "hasty"))
		persist(&s->node[i]);
	puts("ok");
}

/* In the latent way, the free list may continue where the stack did: only later operations meet that. */
static void del(void)
{
	uint64_t i = s->head.next;
	if (!i) {
		puts("empty");
		return;
	}
	uint64_t value = s->node[i].value;
	s->head.next = s->node[i].next;
	persist(&s->head);
	s->node[i].next = s->free.next; /* lost */
	if (strcmp(way, "latent") != 0)
		persist(&s->node[i]);
	s->free.next = i; /* @latent half-operation */
	persist(&s->free);
	if (!strcmp(way, "latent"))
		persist(&s->node[i]);
	printf("%lu\n", value);
}

static void list(void)
{
	uint64_t n = 0;
	for (uint64_t i = s->head.next; i && n < NODES; i = s->node[i].next, n++)
		printf("%lu ", s->node[i].value);
	puts("end");
}

static void perform(const char *line)
{
	unsigned long value = 0;
	if (sscanf(line, "put %lu", &value) == 1)
		put(value);
	else if (!strncmp(line, "del", 3))
		del();
	else if (!strncmp(line, "list", 4))
		list();
}

static void one(const char *line, uint64_t number)
{
	struct timespec now;
	HOLDFAST_OP_BEGIN(100 + number);
	perform(line);
	HOLDFAST_OP_END(100 + number);
	clock_gettime(CLOCK_REALTIME, &now);
	if (!strcmp(way, "clock"))
		printf("at %ld.%09ld\n", now.tv_sec, now.tv_nsec);
}

struct task {
	char line[256];
	uint64_t number;
};

/* Both have begun before either does anything, and neither has ended before both have. */
static void *in_thread(void *arg)
{
	const struct task *t = arg;
	HOLDFAST_OP_BEGIN(100 + t->number);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&lock);
	perform(t->line);
	pthread_mutex_unlock(&lock);
	pthread_barrier_wait(&both);
	HOLDFAST_OP_END(100 + t->number);
	return NULL;
}

static void two(struct task *a, struct task *b)
{
	pthread_t thread;
	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&thread, NULL, in_thread, a);
	in_thread(b);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	char line[256], word[64];
	static struct task task[2];
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	FILE *ops = argc > 3 ? fopen(argv[3], "r") : NULL;
	if (fd < 0 || !ops || ftruncate(fd, sizeof *s))
		return 99;
	way = argv[2];
	s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!strcmp(way, "steps"))
		for (int i = 3; i && s->head.gap[1] != 3; i--) {
			s->head.gap[1]++;
			persist(&s->head);
		}
	for (uint64_t n = 1; fgets(line, sizeof line, ops);) {
		if (sscanf(line, "%60s", word) != 1 || *word == '#')
			continue;
		if (!strcmp(word, "stop"))
			break;
		if (strncmp(way, "two", 3) != 0) {
			one(line, n++);
			continue;
		}
		struct task *t = &task[(n - 1) % 2];
		strcpy(t->line, line);
		t->number = n++;
		if (t == &task[1])
			two(&task[0], &task[1]);
	}
	return 0;
}
