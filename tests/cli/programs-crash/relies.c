/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A table whose entries are read only if their token is set: what it relies on can be seen from how it reads.
 *
 *	relies POOL dump             prints what is in it
 *	relies POOL WAY PUTS         makes so many entries, and reads them all
 *
 * ways: good; hasty: the token of each is stored before the entry is persistent; once: that of one in the middle.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <holdfast.h>

#define SLOTS 64u

struct slot {
	uint64_t token;
	char pad[56];
	uint64_t key, value;
	char more[48];
};

static void flush(const void *p)
{
	__asm__ volatile("clflushopt %0" : "+m"(*(volatile char *)(uintptr_t)p));
}

static void fence(void)
{
	__asm__ volatile("sfence" ::: "memory");
}

static void put(struct slot *s, uint64_t key, int hasty)
{
	s->key = key;         /* @key */
	s->value = key * 100; /* @value */
	if (!hasty) {
		flush(&s->key);
		fence();
	}
	s->token = 1; /* @token */
	if (hasty)
		flush(&s->key);
	flush(&s->token);
	fence();
}

static uint64_t get(const struct slot *s, uint64_t key)
{
	if (s->token)
		if (s->key == key)
			return s->value;
	return 0;
}

static int dump(const struct slot *slot)
{
	for (unsigned i = 0; i < SLOTS; i++)
		if (slot[i].token)
			printf("%llu=%llu\n", (unsigned long long)slot[i].key,
			       (unsigned long long)slot[i].value);
	return 0;
}

static int work(struct slot *slot, const char *way, unsigned puts)
{
	int hasty = !strcmp(way, "hasty"), once = !strcmp(way, "once");
	uint64_t sum = 0;
	for (unsigned i = 0; i < puts; i++) {
		HOLDFAST_OP_BEGIN(i);
		put(&slot[i % SLOTS], i + 1, hasty || (once && i == puts / 2));
		HOLDFAST_OP_END(i);
	}
	for (unsigned i = 0; i < puts; i++) {
		HOLDFAST_OP_BEGIN(puts + i);
		sum += get(&slot[i % SLOTS], i + 1);
		HOLDFAST_OP_END(puts + i);
	}
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	int fd = open(argv[1], O_RDWR | O_CREAT, 0644);
	if (fd < 0 || ftruncate(fd, SLOTS * sizeof(struct slot)))
		return 2;
	struct slot *slot =
		mmap(NULL, SLOTS * sizeof *slot, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (slot == MAP_FAILED)
		return 2;
	return argc == 3 ? dump(slot) : work(slot, argv[2], (unsigned)atoi(argv[3]));
}
