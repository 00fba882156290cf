/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands on a hash table with open addressing: slots POOL, 12 bytes on standard input. Correct.
 *
 * Which of the 16 slots is read and stored to depends on the key, and no branch says which: a tool
 * that tries addresses value by value does not come to an end. commands.h has the commands.
 *
 * There are 574 paths, by hand. The last command, on a table with
 *   nothing                     2 (no command, wrong checksum) + 5 (not found)                    7
 *   one key                     2 + 2 × 5 (free at once, or behind the key) + 8 (found:
 *                               put 2, get 1, delete 1, add 2, swap 2)                           20
 *   one that was deleted        2 + 2 × 5                                                        12
 *   two side by side, by chance 2 + 3 × 5 + 8 (the key before it is another)                     25
 *   two of the same slot        2 + 3 × 5 + 2 × 8                                                33
 * the last two of them, on an empty table, 2 + 20 + 4 × 7 = 50; on one with a key
 * 2 + (25 + 4 × 20) + (33 + 4 × 20) + 7 × 20 + 12 = 372; and all three, 2 + 372 + 4 × 50 = 574.
 */
#include "commands.h"

enum { FREE, USED, GONE };

struct slot {
	uint32_t state;
	uint32_t key;
	uint64_t value;
};

/* The slot of the key, or the free one where it is to go. */
NOINLINE static struct slot *find(struct slot *table, uint8_t key)
{
	for (unsigned i = 0; i < BUCKETS; i++) {
		struct slot *s = &table[(key + i) % BUCKETS];
		if (BRANCH(s->state == FREE))
			return s;
		if (BRANCH(s->state == USED))
			if (BRANCH(s->key == key))
				return s;
	}
	return NULL;
}

static void set(struct slot *s, uint64_t value)
{
	s->value = value;
	persist(s);
}

static void put(struct slot *table, uint8_t key, uint64_t value)
{
	struct slot *s = find(table, key);
	if (BRANCH(s->state == USED)) {
		if (BRANCH(s->value != value))
			set(s, value);
		return;
	}
	s->key = key;
	s->value = value;
	persist(s);
	s->state = USED;
	persist(s);
}

/* The slot behind the table takes what was read. */
static void answer(struct slot *table, uint64_t value)
{
	set(&table[BUCKETS], value);
}

static void get(struct slot *table, uint8_t key)
{
	struct slot *s = find(table, key);
	if (BRANCH(s->state == USED))
		answer(table, s->value);
	else
		answer(table, 0);
}

static void delete (struct slot *table, uint8_t key)
{
	struct slot *s = find(table, key);
	if (BRANCH(s->state == USED)) {
		s->state = GONE;
		persist(s);
	}
}

static void add(struct slot *table, uint8_t key, uint8_t value)
{
	struct slot *s = find(table, key);
	if (BRANCH(s->state == USED))
		if (BRANCH(s->value + value <= LARGEST))
			set(s, s->value + value);
}

static void swap(struct slot *table, uint8_t key, uint8_t value)
{
	struct slot *s = find(table, key);
	if (BRANCH(s->state == USED))
		if (BRANCH(value > s->value)) {
			answer(table, s->value);
			set(s, value);
		}
}

NOINLINE static int execute(void *table, uint8_t what, uint8_t key, uint8_t value)
{
	if (BRANCH((uint8_t)(what - PUT) > SWAP - PUT))
		return 0;
	if (BRANCH(what == PUT))
		put(table, key, value);
	else if (BRANCH(what == GET))
		get(table, key);
	else if (BRANCH(what == DELETE))
		delete (table, key);
	else if (BRANCH(what == ADD))
		add(table, key, value);
	else
		swap(table, key, value);
	return 1;
}

int main(int argc, char **argv)
{
	return commands(argc, argv, (BUCKETS + 1) * sizeof(struct slot));
}
