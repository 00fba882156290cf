/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool with a few fields; each -D leaves out a flush, a fence or both, or has too many. What it prints does not
 * depend on it. With a second argument it checks the pool. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

struct pool {
	uint64_t count;
	char gap[56];
	uint64_t value[8];
	uint64_t sum;
	uint64_t more[8];
};

static void flush(const void *at, size_t n)
{
	uintptr_t line = (uintptr_t)at & ~(uintptr_t)63;
	for (; line < (uintptr_t)at + n; line += 64)
		__asm__ volatile("clwb %0" : "+m"(*(volatile char *)line) : : "memory");
}

static void fence(void)
{
	__asm__ volatile("sfence" : : : "memory");
}

static void persist(const void *at, size_t n)
{
	flush(at, n);
	fence();
}

static void put(struct pool *p, uint64_t v)
{
	p->value[p->count] = v;
#ifdef TWICE
	persist(&p->value[p->count], sizeof(p->value[0]));
	persist(&p->value[p->count], sizeof(p->value[0]));
	fence();
#elif defined NO_ORDER
	flush(&p->value[p->count], sizeof(p->value[0]));
#else
	persist(&p->value[p->count], sizeof(p->value[0]));
#endif
	p->count++; /* the value comes first */
	persist(&p->count, sizeof(p->count));
}

static void set(struct pool *p, uint64_t i, uint64_t v)
{
	p->value[i] = v;
#ifdef NO_FLUSH
	fence();
#elif defined NO_FENCE
	flush(&p->value[i], sizeof(p->value[i]));
#elif !defined NO_PERSIST
	persist(&p->value[i], sizeof(p->value[i]));
#endif
}

static void clear(struct pool *p)
{
	for (uint64_t i = 0; i < 8; i++)
		p->more[i] = 0;
#ifndef NO_CLEAR
	flush(p->more, sizeof(p->more));
#endif
	fence();
}

static void add_up(struct pool *p)
{
	p->sum = 0;
	for (uint64_t i = 0; i < p->count; i++)
		p->sum += p->value[i];
	persist(&p->sum, sizeof(p->sum));
}

/* What is counted is there. */
static int check(const struct pool *p)
{
	for (uint64_t i = 0; i < p->count; i++)
		if (p->value[i] != i * i + 1 && p->value[i] != 40)
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	if (fd < 0 || ftruncate(fd, 4096))
		return 2;
	struct pool *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return 2;
	if (argc > 2)
		return check(p);
	for (uint64_t i = 0; i < 4; i++)
		put(p, i * i + 1);
	p->more[7] = 1;
	persist(&p->more[7], sizeof(p->more[7])); /* these bytes are persisted at other times */
	clear(p);
	add_up(p);
	set(p, 2, 40);
	printf("%llu values\n", (unsigned long long)p->count);
	munmap(p, 4096);
	return 0;
}
