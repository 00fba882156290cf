/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small key-value store: a cache in ordinary memory, and behind it a table in PM, written through one function. Nine of ten
 * updates stay in the cache. What is written to PM is persisted only with -DHAND, as a person would do it.
 *
 * usage: mixed POOL OPERATIONS
 */
#include <emmintrin.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SLOTS 4096u
#define WORDS 6
#define THROUGH 10 /* one update in so many goes to PM as well */

struct slot {
	uint64_t key;
	uint64_t word[WORDS];
	uint64_t version;
};

static void flush(const void *at, size_t size)
{
	uintptr_t line = (uintptr_t)at & ~(uintptr_t)63;
	for (; line < (uintptr_t)at + size; line += 64)
		_mm_clflush((const void *)line);
}

static void fence(void)
{
	_mm_sfence();
}

static __attribute__((noinline)) void copy(void *to, const void *from, size_t size)
{
	uint64_t *t = to;
	const uint64_t *f = from;
	for (size_t i = 0; i < size / sizeof(*t); i++)
		t[i] = f[i];
}

static void format(struct slot *table)
{
	memset(table, 0, SLOTS * sizeof(*table));
	flush(table, SLOTS * sizeof(*table));
	fence();
}

static void *map(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, SLOTS * sizeof(struct slot)))
		exit(3);
	void *at =
		mmap(NULL, SLOTS * sizeof(struct slot), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

int main(int argc, char **argv)
{
	uint64_t seed = 1, n = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	struct slot *pm = argc > 2 ? map(argv[1]) : NULL;
	struct slot *cache = aligned_alloc(64, SLOTS * sizeof(*cache));
	if (!pm || !cache)
		return 3;
	format(pm);
	memset(cache, 0, SLOTS * sizeof(*cache));
	for (uint64_t i = 0; i < n; i++) {
		uint64_t key = (seed = seed * 6364136223846793005u + 1442695040888963407u) >> 40;
		struct slot new = { .key = key, .word = { i, i + 1, i + 2 }, .version = i };
		copy(&cache[key % SLOTS], &new, sizeof(new));
		if (i % THROUGH == 0) {
			copy(&pm[key % SLOTS], &new, sizeof(new));
#ifdef HAND
			flush(&pm[key % SLOTS], sizeof(new));
			fence();
#endif
		}
	}
	printf("%llu\n", (unsigned long long)cache[1].version);
	return 0;
}
