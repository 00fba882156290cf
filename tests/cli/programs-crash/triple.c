/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A list of entries in three lines each, without any mark: `triple POOL add N` reads nothing, and adds N of them, each with an answer;
 * `triple POOL dump` prints them. Nothing orders an entry before the number of entries, which is ahead of all three lines.
 */
#include <fcntl.h>
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST 200
struct pool {
	unsigned long entries, pad[7];
	struct {
		unsigned long word[8];
	} part[MOST][3];
};

int main(int argc, char **argv)
{
	int fd = argc > 2 ? open(argv[1], O_RDWR | O_CREAT, 0666) : -1;
	struct pool *p;
	char line[32];
	if (fd < 0 || ftruncate(fd, sizeof *p))
		return 2;
	p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return 2;
	for (unsigned long i = 0; !strcmp(argv[2], "dump") && i < p->entries; i++)
		printf("%lu %lu %lu\n", p->part[i][0].word[0], p->part[i][1].word[0],
		       p->part[i][2].word[0]);
	while (!strcmp(argv[2], "add") && p->entries < MOST && fgets(line, sizeof line, stdin)) {
		unsigned long n = p->entries, value = strtoul(line, NULL, 10);
		for (int k = 0; k < 3; k++) {
			p->part[n][k].word[0] = value; /* @lost */
			_mm_clflushopt(&p->part[n][k]);
		}
		p->entries = n + 1; /* @persisted */
		_mm_clflushopt(p);
		_mm_sfence();
		printf("added %lu\n", value);
		fflush(stdout);
	}
	return 0;
}
