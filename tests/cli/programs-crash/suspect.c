/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores that are never persisted, and recoveries to which that matters or not.
 *
 *   suspect run POOL WAY…    each on two lines of its own; a line that a finding must name bears "@WAY"
 *   suspect check POOL       valid cells must have their data; "note" cells may have any
 *   suspect forget POOL      overwrites all data without a look, and checks nothing
 *   suspect blind            looks at nothing
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <immintrin.h>

#define CELLS 64u
#define DATA 42u

struct cell {
	volatile uint64_t data;
	volatile uint64_t more[7]; /* of the same line */
	volatile uint64_t valid;
	volatile uint64_t rest[7];
};

static struct cell *pool;
static unsigned next;

static void persist(volatile void *p)
{
	_mm_clflushopt((void *)p);
	_mm_sfence();
}

/* The program persists data in general. */
static void good(struct cell *c)
{
	c->data = DATA;
	persist(&c->data);
	c->valid = 1;
	persist(&c->valid);
}

/* Recovery finds a valid cell without data. */
static void lost(struct cell *c)
{
	c->data = DATA; /* @lost */
	c->valid = 1;
	persist(&c->valid);
}

/* Recovery reads it, and takes any value. */
static void note(struct cell *c)
{
	good(c);
	c->more[0] = 1;
	persist(&c->more[0]);
	c->more[0] = 7; /* @note */
}

/* Nobody ever asks for it. */
static void scratch(struct cell *c)
{
	good(c);
	c->rest[0] = 9; /* @scratch */
}

/* Of the same line: with the first, the second is lost, and that is what fails. */
static void pair(struct cell *c)
{
	c->more[1] = 5;
	persist(&c->more[1]);
	c->more[1] = 6; /* @pair harmless */
	c->data = DATA; /* @pair fatal */
	c->valid = 1;
	persist(&c->valid);
}

/* Nothing of the file is ever persisted. */
static void raw(struct cell *c)
{
	c->data = DATA; /* @raw */
}

static void many(void)
{
	for (int i = 0; i < 40; i++)
		note(&pool[next++]);
}

static int run(char **ways)
{
	for (; *ways; ways++)
		if (!strcmp(*ways, "many"))
			many();
		else if (!strcmp(*ways, "good"))
			good(&pool[next++]);
		else if (!strcmp(*ways, "lost"))
			lost(&pool[next++]);
		else if (!strcmp(*ways, "note"))
			note(&pool[next++]);
		else if (!strcmp(*ways, "scratch"))
			scratch(&pool[next++]);
		else if (!strcmp(*ways, "raw"))
			raw(&pool[next++]);
		else if (!strcmp(*ways, "pair"))
			pair(&pool[next++]);
		else
			return 2;
	return 0;
}

static int check(void)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < CELLS; i++) {
		sum += pool[i].more[0];
		if (pool[i].valid && pool[i].data != DATA)
			return printf("cell %u has no data\n", i), 1;
	}
	return sum == UINT64_MAX;
}

static int forget(void)
{
	for (unsigned i = 0; i < CELLS; i++)
		pool[i].data = 0;
	return pool[0].valid > 1;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return argc == 2 && !strcmp(argv[1], "blind") ? 0 : 2;
	int fd = open(argv[2], O_RDWR | O_CREAT, 0666);
	if (fd < 0 || ftruncate(fd, CELLS * sizeof(struct cell)))
		return 99;
	pool = mmap(NULL, CELLS * sizeof *pool, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!strcmp(argv[1], "run"))
		return run(argv + 3);
	return strcmp(argv[1], "forget") ? check() : forget();
}
