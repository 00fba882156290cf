/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Three commands of four bytes: parser POOL, 12 bytes on standard input. Correct.
 *
 *   what ('P'ut, 'A'dd, 'G'et, 'D'elete)  key ('a' or 'b')  value  checksum
 *
 * A command that is none ends the program. This is what the speed of `explore` is measured with.
 */
#include "pool.h"

#define COMMANDS 3
#define LIMIT 200

static int is_whole(const uint8_t *c)
{
	return c[3] == (uint8_t)((c[0] ^ c[1] << 1) + 3 * c[2]);
}

static void set(struct cell *cell, uint64_t value)
{
	cell->value = value;
	persist(cell);
}

/* 0: not a command. */
NOINLINE static int execute(struct cell *pool, const uint8_t *c)
{
	struct cell *cell;
	if (!is_whole(c))
		return 0;
	if (c[1] == 'a')
		cell = &pool[0];
	else if (c[1] == 'b')
		cell = &pool[1];
	else
		return 0;
	if (c[0] == 'P') {
		set(cell, c[2] > LIMIT ? LIMIT : c[2]);
	} else if (c[0] == 'A') {
		if (c[2] == 0 || c[2] > LIMIT)
			return 0;
		set(cell, cell->value + c[2]);
	} else if (c[0] == 'G') {
		set(&pool[2], cell->value);
	} else if (c[0] == 'D') {
		set(cell, 0);
	} else {
		return 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	struct cell *pool = pool_map(argc, argv);
	uint8_t bytes[4 * COMMANDS];
	size_t n = take(bytes, sizeof(bytes));
	for (size_t at = 0; at + 4 <= n && execute(pool, bytes + at);)
		at += 4;
	return 0;
}
