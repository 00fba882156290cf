/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that are a table of scenarios on a pool: PROGRAM POOL SCENARIO, or "PROGRAM list" for their names.
 * No log: what was recorded must make the file that is there at the end.
 */
#ifndef TESTS_TRACER_SCENARIOS_H
#define TESTS_TRACER_SCENARIOS_H

#include <stdbool.h>

#include "expect.h"

#define PAGE 4096ul
#define RW (PROT_READ | PROT_WRITE)

static const char *path; /* of the pool */
static char **self;      /* the arguments */
static int fd;
static char *pm;

struct scenario {
	const char *name;
	void (*run)(void);
	bool part; /* of another one, which executes it: not listed, and the pool is there already */
};

/* A new pool that holds something before it is mapped, with a number every 512 bytes. */
static void scenario_pool(size_t bytes)
{
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
	must(fd >= 0 && !ftruncate(fd, (off_t)bytes), path);
	must(pwrite(fd, "here before", 11, 5 * PAGE) == 11, "pwrite");
	pm = mmap(NULL, bytes, RW, MAP_SHARED, fd, 0);
	must(pm != MAP_FAILED, "mmap");
	for (size_t i = 0; i < bytes; i += 512)
		*(volatile uint64_t *)(pm + i) = 0x1111111111111111 + i;
}

static int scenario_main(int argc, char **argv, const struct scenario *all, size_t n, size_t bytes)
{
	for (size_t i = 0; argc == 2 && i < n; i++)
		if (!all[i].part)
			puts(all[i].name);
	if (argc < 3)
		return argc != 2;
	path = argv[1];
	self = argv;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(argv[2], all[i].name)) {
			if (!all[i].part)
				scenario_pool(bytes);
			all[i].run();
			return 0;
		}
	return 2;
}

#endif
