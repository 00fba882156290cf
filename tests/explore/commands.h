/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the programs with a table in PM share: three commands of four bytes each.
 *
 *   what (1 put, 2 get, 3 delete, 4 add, 5 swap if larger)  key  value  checksum: xor of the three
 *
 * A command that is none ends the program. Every decision that depends on the input is written
 * BRANCH(…), one for each jump: -DENUMERATE makes a program of its own, which prints the sequences
 * of decisions, each once, of the inputs in the files named, or else of all inputs of a reduced
 * alphabet. These paths `explore` has to find, and no others.
 */
#ifndef TESTS_EXPLORE_COMMANDS_H
#define TESTS_EXPLORE_COMMANDS_H

#include "pool.h"
#include <stdbool.h>

#define COMMANDS 3
#define BUCKETS 16
#define LARGEST 255

enum { PUT = 1, GET, DELETE, ADD, SWAP };

#ifdef ENUMERATE
static uint64_t signature;

static int decided(int yes)
{
	signature = signature << 1 | (yes != 0);
	return yes;
}
#define BRANCH(...) decided(__VA_ARGS__)
#else
#define BRANCH(...) (__VA_ARGS__)
#endif

/* The whole program: 0 if it is not a command. */
static int execute(void *table, uint8_t what, uint8_t key, uint8_t value);

static void run(void *table, const uint8_t *c)
{
	for (int i = 0; i < COMMANDS; i++, c += 4) {
		if (BRANCH((c[0] ^ c[1] ^ c[2]) != c[3]))
			return;
		if (!execute(table, c[0], c[1], c[2]))
			return;
	}
}

#ifdef ENUMERATE

/* Keys that are the same, that only fall into the same bucket, and into the next ones; values
 * that are less, equal, greater, and too large when they are added. */
static const uint8_t keys[] = { 0, 1, 2, 16, 17, 32, 33 };
static const uint8_t values[] = { 0, 1, 2, 255 };

#define SEEN (1u << 20)
static uint64_t seen[SEEN];

static void try_one(void *table, size_t size, const uint8_t *c)
{
	size_t i;
	memset(table, 0, size);
	signature = 1;
	run(table, c);
	i = (signature * 0x9e3779b97f4a7c15u) >> 44;
	while (seen[i] && seen[i] != signature)
		i = (i + 1) % SEEN;
	if (!seen[i])
		printf("%llx\n", (unsigned long long)signature);
	seen[i] = signature;
}

/* One command out of all, by number; false: there are no more. */
static bool choose(uint8_t *c, size_t i)
{
	uint8_t key = keys[i % sizeof(keys)], value = values[i / sizeof(keys) % sizeof(values)];
	size_t what = PUT + i / sizeof(keys) / sizeof(values);
	if (what > SWAP + 2)
		return false;
	c[0] = what > SWAP ? 0 : (uint8_t)what; /* unknown, or the checksum is wrong */
	c[1] = key;
	c[2] = value;
	c[3] = (uint8_t)((c[0] ^ c[1] ^ c[2]) + (what == SWAP + 2));
	return true;
}

static void try_all(void *table, size_t size)
{
	uint8_t c[4 * COMMANDS];
	for (size_t i = 0; choose(c, i); i++)
		for (size_t j = 0; choose(c + 4, j); j++)
			for (size_t k = 0; choose(c + 8, k); k++)
				try_one(table, size, c);
}

static void try_file(void *table, size_t size, const char *path)
{
	uint8_t c[4 * COMMANDS];
	FILE *f = fopen(path, "rb");
	if (f && fread(c, 1, sizeof(c), f) == sizeof(c))
		try_one(table, size, c);
	if (f)
		fclose(f);
}

#endif

/* Runs it on the pool; or, enumerated, on memory. */
static int commands(int argc, char **argv, size_t size)
{
#ifdef ENUMERATE
	void *table = calloc(1, size);
	for (int i = 1; i < argc; i++)
		try_file(table, size, argv[i]);
	if (argc < 2)
		try_all(table, size);
	free(table);
#else
	void *table = pool_map(argc, argv);
	uint8_t c[4 * COMMANDS];
	(void)size;
	if (take(c, sizeof(c)) == sizeof(c))
		run(table, c);
#endif
	return 0;
}

#endif
