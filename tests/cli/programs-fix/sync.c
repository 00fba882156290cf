/* SPDX-License-Identifier: BSD-3-Clause */
/* A mapped file that msync makes persistent; once it is forgotten. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

struct pool {
	uint64_t count, value;
};

__attribute__((noinline)) static void keep(const void *at, size_t n)
{
	uintptr_t page = (uintptr_t)at & ~(uintptr_t)4095;
	msync((void *)page, (uintptr_t)at + n - page, MS_SYNC);
}

__attribute__((noinline)) static void put(struct pool *p, uint64_t v)
{
	p->value = v;
	p->count++;
	keep(p, sizeof(*p));
}

__attribute__((noinline)) static void set(struct pool *p, uint64_t v)
{
	p->value = v;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	if (fd < 0 || ftruncate(fd, 4096))
		return 2;
	struct pool *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return 2;
	put(p, 1);
	put(p, 2);
	set(p, 3);
	munmap(p, 4096);
	return 0;
}
