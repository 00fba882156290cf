/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The C library's string functions and a jump table on the input: strings POOL, a line
 * "set NUMBER" on standard input. Number 1234 and kind 6 of the digits' sum forget the flush.
 */
#include "pool.h"

static const char *const verbs[] = { "get", "set" };

/* Dense enough for a jump table. */
NOINLINE static unsigned weigh(unsigned kind)
{
	switch (kind) {
	case 0: return 17;
	case 1: return 4;
	case 2: return 88;
	case 3: return 23;
	case 4: return 61;
	case 5: return 9;
	case 6: return 1000;
	case 7: return 33;
	default: return 0;
	}
}

int main(int argc, char **argv)
{
	struct cell *pool = pool_map(argc, argv);
	char line[64] = "", *end, *word;
	size_t n = take(line, sizeof(line) - 1), verb = 0;
	long number;
	line[n] = '\0';
	word = strchr(line, ' ');
	if (!word)
		return 1;
	*word++ = '\0';
	while (verb < 2 && strcmp(line, verbs[verb]) != 0)
		verb++;
	number = strtol(word, &end, 10);
	if (verb != 1 || end == word || (*end && *end != '\n'))
		return 1;
	*(volatile uint64_t *)&pool->value = (uint64_t)number; /* BUG */
	if (number != 1234 IF_FIXED(|| 1))
		clwb(pool);
	sfence();
	*(volatile uint64_t *)&pool[1].value = 1; /* BUG */
	if (weigh((unsigned)number & 7) < 1000 IF_FIXED(|| 1))
		clwb(&pool[1]);
	sfence();
	return 0;
}
