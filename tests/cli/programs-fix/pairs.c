// SPDX-License-Identifier: BSD-3-Clause
/*
 * A table of pairs; both halves of one are always equal. A change is logged, made, and the log emptied.
 *	pairs POOL fill     four changes; with EARLY the log may be empty before the change is persistent, with
 *	                    BARE nothing is logged
 *	pairs POOL dump     prints the pairs
 */
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct pair {
	uint64_t a, pad[7], b, more[7]; /* in two lines */
};
struct table {
	uint64_t logged, gap[7];
	struct pair old, pair[4];
};
static struct table *t;

static void persist(const void *p, size_t n)
{
	for (size_t i = 0; i < n; i += 64)
		_mm_clflushopt((char *)p + i);
	_mm_sfence();
}

__attribute__((noinline)) static void change(unsigned i, uint64_t v)
{
	struct pair *p = &t->pair[i];
#ifndef BARE
	t->old = *p;
	persist(&t->old, sizeof t->old);
	t->logged = i + 1;
	persist(&t->logged, sizeof t->logged);
#endif
	p->a = v;
	p->b = v;
#ifndef EARLY
	persist(p, sizeof *p);
#endif
	t->logged = 0;
	persist(&t->logged, sizeof t->logged);
#ifdef EARLY
	persist(p, sizeof *p);
#endif
}

static void recover(void)
{
	if (!t->logged)
		return;
	t->pair[t->logged - 1] = t->old;
	persist(&t->pair[t->logged - 1], sizeof t->old);
	t->logged = 0;
	persist(&t->logged, sizeof t->logged);
}

int main(int argc, char **argv)
{
	int fd = argc > 2 ? open(argv[1], O_RDWR | O_CREAT, 0666) : -1;
	if (fd < 0 || ftruncate(fd, sizeof *t))
		return 2;
	t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	recover();
	for (unsigned i = 0; i < 4 && !strcmp(argv[2], "fill"); i++)
		change(i, i + 10);
	for (unsigned i = 0; i < 4 && !strcmp(argv[2], "dump"); i++)
		printf("%lu %lu\n", t->pair[i].a, t->pair[i].b);
	return 0;
}
