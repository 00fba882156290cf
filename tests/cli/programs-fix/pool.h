/* SPDX-License-Identifier: BSD-3-Clause */
/* A small PM program's surroundings: the pool, and how it is made persistent. */
#ifndef POOL_H
#define POOL_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define POOL_BYTES 65536

static inline void flush(const void *at, size_t size)
{
	uintptr_t line = (uintptr_t)at & ~(uintptr_t)63;
	for (; line < (uintptr_t)at + size; line += 64)
		__asm__ volatile("clwb %0" : "+m"(*(volatile char *)line));
}

static inline void fence(void)
{
	__asm__ volatile("sfence" ::: "memory");
}

static inline char *pool_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, POOL_BYTES))
		exit(3);
	void *at = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		exit(3);
	return at;
}

#endif
