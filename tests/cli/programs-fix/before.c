/* SPDX-License-Identifier: BSD-3-Clause */
/* b may never be persistent before a: a fence that follows both does not hold to that. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>
struct db {
	_Alignas(64) uint64_t a;
	_Alignas(64) uint64_t b;
	_Alignas(64) uint64_t c;
};
static void flush(const void *p, unsigned long n)
{
	for (uintptr_t l = (uintptr_t)p & ~63ul; l < (uintptr_t)p + n; l += 64)
		__asm__ volatile("clwb %0" : "+m"(*(volatile char *)l));
}
static void persist(const void *p, unsigned long n)
{
	flush(p, n);
	_mm_sfence();
}
static void set(struct db *d, uint64_t v)
{
	d->a = v;
#ifndef UNORDERED
	persist(&d->a, sizeof(d->a));
#endif
	d->b = v;
	persist(&d->b, sizeof(d->b));
	d->c = v;
	persist(&d->c, sizeof(d->c));
}
int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, 4096))
		return 3;
	struct db *d = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (argc > 2)
		return d->b > d->a;
	d->a = 0;
	persist(&d->a, 8);
	flush(&d->a, 8);
	_mm_sfence();
	for (uint64_t i = 1; i < 4; i++)
		set(d, i);
	return 0;
}
