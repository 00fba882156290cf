// SPDX-License-Identifier: BSD-3-Clause
/*
 * A list of numbers that grows by one in each operation, in several ways; nothing checks it. A line that
 * is to be found bears @WAY KIND.
 *
 * usage: said POOL WAY [WORD]    three operations; none has marks with the word "unmarked"
 *        said POOL dump [WORD]   prints the numbers; and what differs each time, or without end, by word;
 *                                 with "head" nothing if there is none
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

struct list {
	uint64_t n, gap[7];
	uint64_t left, right, more[6]; /* a pair of accounts: their sum stays */
	uint64_t number[24][8];        /* a line each */
};
static struct list *list;

static void persist(const void *p)
{
	_mm_clflushopt((void *)p);
	_mm_sfence();
}

static void good(uint64_t i)
{
	list->number[list->n][0] = i;
	persist(list->number[list->n]);
	list->n++;
	persist(&list->n);
}

/* It is not there for sure when the operation ends. */
static void forgets(uint64_t i)
{
	list->number[list->n][0] = i;
	persist(list->number[list->n]);
	list->n++; /* @forgets lost-operation */
}

/* The list is longer before the number is there. */
static void hasty(uint64_t i)
{
	list->number[list->n][0] = i; /* lost */
	list->n++;                    /* @hasty half-operation */
	persist(&list->n);
	persist(list->number[list->n - 1]);
}

/* Each step is persistent, but a crash can come between the two. */
static void transfers(uint64_t i)
{
	list->left -= i; /* @transfers half-operation */
	persist(&list->left);
	list->right += i;
	persist(&list->right);
}

/* The last operation does not wait; the next fence is the exit's. */
static void impatient(uint64_t i)
{
	list->number[list->n][0] = i;
	persist(list->number[list->n]);
	list->n++; /* @impatient lost-operation */
	_mm_clflushopt(&list->n);
	if (i < 43)
		_mm_sfence();
}

/* One call, three operations. */
static void batch(uint64_t i)
{
	for (uint64_t k = 0; k < 3; k++)
		good(10 * i + k);
}

static void sloppy(uint64_t i)
{
	list->number[list->n][0] = i;
	list->n++; /* @careless half-operation */
	persist(&list->n);
	persist(list->number[list->n - 1]);
}

static void careless(uint64_t i)
{
	for (uint64_t k = 0; k < 3; k++)
		sloppy(10 * i + k);
}

/* Says that it is at work, so that whoever comes after a crash knows. */
static void tidy(uint64_t i)
{
	list->more[0] = 1;
	persist(&list->more[0]);
	good(i);
	list->more[0] = 0;
	persist(&list->more[0]);
}

/* It is listed from the other end afterwards, as after a rebuild. */
static void rebuild(uint64_t i)
{
	good(i);
	list->more[1] = !list->more[1];
	persist(&list->more[1]);
}

/* Changes nothing but the order, once there are two. */
static void sort(uint64_t i)
{
	if (i < 43) {
		good(i);
		return;
	}
	list->more[1] = !list->more[1]; /* @sort lost-operation */
}

/* The last one begins the list anew, and too early: no number is counted until all are there. */
static void renew(uint64_t i)
{
	uint64_t n = list->n;
	if (i == 43) {
		list->n = 0; /* @renew lost-operation */
		persist(&list->n);
		list->n = n;
	}
	good(i);
}

/* What a crash has left is repaired, and that is said, or something else is, which is wrong. */
static void repair(const char *word)
{
	uint64_t was = list->more[0];
	if (strcmp(word, "keeps") != 0)
		list->more[0] = 0;
	if (was && strcmp(word, "ghost") != 0)
		printf("a crash was repaired: %lu\n", was);
	else if (was)
		printf("number 99\n");
}

static const struct {
	const char *word;
	void (*go)(uint64_t);
} ways[] = { { "good", good },           { "forgets", forgets },     { "hasty", hasty },
	     { "transfers", transfers }, { "impatient", impatient }, { "batch", batch },
	     { "careless", careless },   { "tidy", tidy },           { "rebuild", rebuild },
	     { "sort", sort },           { "headless", good },       { "renew", renew } };

static int dump(const char *word)
{
	if (!strcmp(word, "fails") && list->n == 3)
		return 5;
	for (unsigned long k = 0; !strcmp(word, "endless"); k++)
		printf("%lu\n", k);
	if (!strcmp(word, "writes"))
		list->n = 0;
	if (!strcmp(word, "repairs") || !strcmp(word, "keeps") || !strcmp(word, "ghost"))
		repair(word);
	if (!strcmp(word, "head") && !list->more[2])
		return 0;
	printf("%lu + %lu\n", list->left, list->right);
	for (uint64_t i = 0; i < list->n && i < 24; i++)
		printf("number %lu\n", list->number[list->more[1] ? list->n - 1 - i : i][0]);
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (!strcmp(word, "time"))
		printf("printed at %ld.%09ld\n", now.tv_sec, now.tv_nsec);
	return 0;
}

static void *other(void *go)
{
	HOLDFAST_OP_BEGIN(100);
	pthread_barrier_wait(go);
	list->left = list->right = 7;
	pthread_barrier_wait(go);
	HOLDFAST_OP_END(100);
	return NULL;
}

/* Two operations at the same time, of which one is not persistent when it ends. */
static void overlap(void)
{
	pthread_barrier_t go;
	pthread_t thread;
	pthread_barrier_init(&go, NULL, 2);
	pthread_create(&thread, NULL, other, &go);
	HOLDFAST_OP_BEGIN(1);
	pthread_barrier_wait(&go);
	good(41);
	pthread_barrier_wait(&go);
	HOLDFAST_OP_END(1);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	const char *word = argc > 3 ? argv[3] : "";
	if (fd < 0 || ftruncate(fd, sizeof *list))
		return 99;
	list = mmap(NULL, sizeof *list, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!strcmp(argv[2], "dump"))
		return dump(word);
	if (!strcmp(argv[2], "overlap"))
		overlap();
	if (!strcmp(argv[2], "headless"))
		list->more[2] = 1; /* never persistent: @headless half-operation */
	for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
		for (uint64_t i = 1; !strcmp(argv[2], ways[k].word) && i <= 3; i++) {
			if (strcmp(word, "unmarked") != 0)
				HOLDFAST_OP_BEGIN(10 * i);
			ways[k].go(i + 40);
			if (strcmp(word, "unmarked") != 0)
				HOLDFAST_OP_END(10 * i);
		}
	for (uint64_t i = 1; !strcmp(argv[2], "lopsided") && i <= 3; i++) {
		HOLDFAST_OP_BEGIN(10 * i);
		list->number[0][0] = i + 40; /* @lopsided lost-operation */
		if (i != 2) {
			list->n = 1;
			persist(&list->n);
		}
		HOLDFAST_OP_END(10 * i);
	}
	return 0;
}
