/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two files that belong together: A has an absolute pointer to data in B.
 *
 *   apart run A B good|early [ADDRESS]   ADDRESS: where B is to be mapped, otherwise anywhere
 *   apart check A B                      maps both anywhere, and follows the pointer
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <immintrin.h>

#define BYTES 4096u
#define DATA 42u

static void *map(const char *path, int flags, uintptr_t address)
{
	int fd = open(path, O_RDWR | flags, 0666);
	if (fd < 0)
		return NULL;
	if (lseek(fd, 0, SEEK_END) < BYTES && ftruncate(fd, BYTES))
		exit(99);
	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	void *p = mmap((void *)address, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return p == MAP_FAILED ? exit(99), NULL : p;
}

static int run(const char *a, const char *b, const char *way, const char *address)
{
	volatile uint64_t **link = map(a, O_CREAT, 0);
	volatile uint64_t *data =
		map(b, O_CREAT, address ? (uintptr_t)strtoull(address, NULL, 0) : 0);
	*data = DATA; /* @early lost */
	_mm_clflushopt((void *)(uintptr_t)data);
	if (strcmp(way, "good") == 0)
		_mm_sfence();
	*link = data; /* @early persisted */
	_mm_clflushopt((void *)link);
	_mm_sfence();
	return 0;
}

static int check(const char *a, const char *b)
{
	volatile uint64_t **link = map(a, 0, 0), *data = map(b, 0, 0);
	if (!link || !*link)
		return 0;
	if (!data || *link != data) {
		printf("B was at %p and is at %p\n", (void *)(uintptr_t)*link,
		       (void *)(uintptr_t)data);
		return 3;
	}
	return **link != DATA;
}

int main(int argc, char **argv)
{
	if (argc >= 5 && strcmp(argv[1], "run") == 0)
		return run(argv[2], argv[3], argv[4], argv[5]);
	return argc == 4 ? check(argv[2], argv[3]) : 2;
}
