/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hash table in persistent memory with raw flushes and fences: inserts, updates, deletes
 * and look-ups in equal parts. usage: rawhash POOL OPERATIONS [noflush]
 *
 * Stock Valgrind cannot decode clwb, so its run, the baseline, leaves that instruction out.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define BUCKETS (1u << 16)

struct slot {
	uint64_t key, value; /* key 0: free */
};
struct bucket { /* one cache line */
	struct slot slot[4];
};

static struct bucket *table;
static int flush = 1;

static void persist(void *p)
{
	if (flush)
		__asm__ volatile("clwb %0" : "+m"(*(volatile char *)p));
	__asm__ volatile("sfence" ::: "memory");
}

static struct slot *find(uint64_t key, uint64_t want)
{
	uint64_t h = key * 0x9E3779B97F4A7C15ull >> 48;
	for (unsigned probe = 0; probe < 8; probe++) {
		struct bucket *b = &table[(h + probe) % BUCKETS];
		for (unsigned i = 0; i < 4; i++)
			if (b->slot[i].key == want)
				return &b->slot[i];
	}
	return NULL;
}

static __attribute__((noinline)) void put(uint64_t key, uint64_t value)
{
	struct slot *s = find(key, key);
	if (s == NULL && (s = find(key, 0)) == NULL)
		return;
	s->value = value;
	if (s->key != key) {
		persist(s);
		s->key = key;
	}
	persist(s);
}

static __attribute__((noinline)) void del(uint64_t key)
{
	struct slot *s = find(key, key);
	if (s) {
		s->key = 0;
		persist(s);
	}
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000, seed = 7, hits = 0;
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	flush = argc < 4;
	if (fd < 0 || ftruncate(fd, BUCKETS * sizeof *table) != 0)
		return perror("rawhash"), 1;
	table = mmap(NULL, BUCKETS * sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (table == MAP_FAILED)
		return perror("rawhash"), 1;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t key;
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		key = (seed >> 33) % 100000 + 1;
		switch (i % 4) {
		case 0:
		case 1: put(key, i); break;
		case 2: del(key); break;
		default: hits += find(key, key) != NULL;
		}
	}
	printf("%llu\n", (unsigned long long)hits);
	return 0;
}
