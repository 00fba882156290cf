/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the programs for `explore` share: a pool of cells, one cache line each.
 * A line with a "BUG" comment is where the finding is expected; built with -DFIXED there is none.
 */
#ifndef TESTS_EXPLORE_POOL_H
#define TESTS_EXPLORE_POOL_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CELLS 64
#define UNUSED __attribute__((unused))
#define NOINLINE __attribute__((noinline, noclone))
#ifdef FIXED
#define IF_FIXED(...) __VA_ARGS__
#else
#define IF_FIXED(...)
#endif

struct cell {
	uint64_t value;
	uint64_t room[7];
};

UNUSED static void clwb(const volatile void *p)
{
	__asm__ volatile("clwb %0" : "+m"(*(volatile char *)(uintptr_t)p) : : "memory");
}

UNUSED static void sfence(void)
{
	__asm__ volatile("sfence" : : : "memory");
}

UNUSED static void persist(const volatile void *p)
{
	clwb(p);
	sfence();
}

/*
 * Maps the file named by the first argument, made if need be; ends the program if it cannot. All
 * cells of a new one are persisted: what is lost later was there before.
 */
NOINLINE UNUSED static struct cell *pool_map(int argc, char **argv)
{
	size_t size = CELLS * sizeof(struct cell);
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0666) : -1;
	int fresh = fd >= 0 && lseek(fd, 0, SEEK_END) == 0;
	struct cell *pool = MAP_FAILED;
	if (fd >= 0 && !ftruncate(fd, (off_t)size))
		pool = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (pool == MAP_FAILED) {
		fprintf(stderr, "usage: %s POOL …\n", argv[0]);
		exit(2);
	}
	close(fd);
	for (int i = 0; fresh && i < CELLS; i++) {
		*(volatile uint64_t *)&pool[i].value = 0;
		clwb(&pool[i]);
	}
	if (fresh)
		sfence();
	return pool;
}

/* Takes what there is of standard input, without stdio; returns how much. */
UNUSED static size_t take(void *to, size_t n)
{
	size_t got = 0;
	ssize_t more;
	while (got < n && (more = read(0, (char *)to + got, n - got)) > 0)
		got += (size_t)more;
	return got;
}

#endif
