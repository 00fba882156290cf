/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A list of entries in three lines each, without any mark: `triple POOL WAY` reads numbers, and answers each;
 * `triple POOL dump` prints what there is.
 */
#include <fcntl.h>
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST 200
static struct pool {
	unsigned long entries, hidden, pad[6];
	struct {
		unsigned long word[8];
	} part[MOST][3];
} * p;

static void persist(void *at)
{
	_mm_clflushopt(at);
	_mm_sfence();
}

/* Nothing orders an entry before the number of entries. */
static void hasty(unsigned long value)
{
	for (int k = 0; k < 3; k++) {
		p->part[p->entries][k].word[0] = value;
		_mm_clflushopt(&p->part[p->entries][k]);
	}
	p->entries++; /* @hasty */
	persist(p);
}

static void add(unsigned long value)
{
	for (int k = 0; k < 3; k++) {
		p->part[p->entries][k].word[0] = value;
		persist(&p->part[p->entries][k]);
	}
	p->entries++;
	persist(p);
}

/* One request, and several additions: well. */
static void batch(unsigned long value)
{
	for (int i = 0; i < 3; i++)
		add(value + 1000 * i);
}

/* One after the other, entries are not to be seen for a while. */
static void shuffle(unsigned long value)
{
	for (unsigned long i = 1; i <= p->entries; i++) {
		p->hidden = i; /* @shuffle */
		persist(p);
	}
	p->hidden = 0;
	persist(p);
	add(value);
}

int main(int argc, char **argv)
{
	int fd = argc > 2 ? open(argv[1], O_RDWR | O_CREAT, 0666) : -1;
	char line[32];
	if (fd < 0 || ftruncate(fd, sizeof *p))
		return 2;
	p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return 2;
	for (unsigned long i = 0; !strcmp(argv[2], "dump") && i < p->entries; i++)
		if (p->hidden != i + 1)
			printf("%lu %lu %lu\n", p->part[i][0].word[0], p->part[i][1].word[0],
			       p->part[i][2].word[0]);
	while (strcmp(argv[2], "dump") != 0 && fgets(line, sizeof line, stdin)) {
		unsigned long value = strtoul(line, NULL, 10);
		(*argv[2] == 'h' ? hasty : *argv[2] == 'b' ? batch : shuffle)(value);
		printf("added %lu\n", value);
		fflush(stdout);
	}
	return 0;
}
