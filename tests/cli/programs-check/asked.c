/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of few, known events, for the oracle asks.c. */
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <immintrin.h>

uint64_t watched_sum(uint64_t a, uint64_t b);
__attribute__((noinline)) uint64_t watched_sum(uint64_t a, uint64_t b)
{
	return a + b;
}

static volatile uint64_t *pm;

static void first_step(void)
{
	pm[8] = 0x1122334455667788;                /* @first */
	_mm_clflushopt((void *)(uintptr_t)&pm[8]); /* @flush */
	_mm_sfence();
}

static void second_step(void)
{
	((volatile uint8_t *)pm)[68] = 0xab;                 /* @second */
	_mm_stream_si64((long long *)(uintptr_t)&pm[10], 1); /* @third */
	_mm_sfence();
}

int main(int argc, char **argv)
{
	int fd = open(argv[argc - 1], O_RDWR | O_CREAT, 0666);
	if (fd < 0 || ftruncate(fd, 8192))
		return 99;
	pm = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	first_step();
	if (watched_sum(40, 2) != 42) /* @call */
		return 98;
	second_step();
	munmap((void *)(uintptr_t)pm, 8192);
	return 0;
}
