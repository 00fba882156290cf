/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A recovery that believes what it finds: recover POOL; `recover POOL make` writes a valid pool.
 *
 *   header   magic, where the log ends
 *   log      records: length, where the value goes in the table, value; one after another
 *   table    16 values
 *
 * Log and lengths are checked; the place in the table is not, and the old value is read from there.
 */
#include "pool.h"

#define MAGIC 0x7265636f766572ull
#define LOG 64u
#define LOG_END 1024u
#define TABLE 16u

struct header {
	uint64_t magic;
	uint64_t end;
};

struct record {
	uint32_t length;
	uint32_t place;
	uint64_t value;
};

static uint64_t *table(char *pool)
{
	return (uint64_t *)(pool + LOG_END);
}

static void make(char *pool)
{
	struct header *h = (struct header *)pool;
	for (uint32_t i = 0; i < 2; i++) {
		struct record *r = (struct record *)(pool + LOG) + i;
		*r = (struct record){ sizeof(*r), 3 * i + 1, 11 * (i + 1) };
	}
	persist(pool + LOG);
	h->end = LOG + 2 * sizeof(struct record);
	h->magic = MAGIC;
	persist(h);
}

/* Does what a record says, once; 0: it cannot be one. */
NOINLINE static int redo(char *pool, const struct record *r)
{
	IF_FIXED(if (r->place >= TABLE) return 0;)
	if (table(pool)[r->place] != r->value) { /* BUG */
		table(pool)[r->place] = r->value;
		persist(&table(pool)[r->place]);
	}
	return 1;
}

int main(int argc, char **argv)
{
	char *pool = (char *)pool_map(argc, argv);
	const struct header *h = (struct header *)pool;
	const struct record *r;
	if (argc > 2)
		make(pool);
	if (h->magic != MAGIC)
		return 0;
	if (h->end < LOG || h->end > LOG_END)
		return 1;
	for (uint64_t at = LOG; at + sizeof(*r) <= h->end; at += r->length) {
		r = (const struct record *)(pool + at);
		if (r->length < sizeof(*r) || r->length % 8 || r->length > h->end - at)
			return 1;
		if (!redo(pool, r))
			return 1;
	}
	return 0;
}
