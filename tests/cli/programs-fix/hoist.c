/* SPDX-License-Identifier: BSD-3-Clause */
/* HIPPOCRATES, listing 3.5: update works mostly on memory that is not persistent. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

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

__attribute__((noinline)) static void update(char *addr, int idx, char val)
{
	addr[idx] = val;
}

__attribute__((noinline)) static void modify(char *addr)
{
	update(addr, 3, 'x');
}

__attribute__((noinline)) static void foo(char *vol_addr, char *pm_addr)
{
	for (int i = 0; i < 1000; i++)
		modify(vol_addr);

	modify(pm_addr);
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	char *volatile_memory = calloc(1, 64);
	if (fd < 0 || ftruncate(fd, 4096))
		return 2;
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return 2;
	p[3] = 'a'; /* these bytes are persisted at other times */
	flush(p, 4);
	fence();
	foo(volatile_memory, p);
	printf("%c\n", p[3]);
	munmap(p, 4096);
	free(volatile_memory);
	return 0;
}
