/* SPDX-License-Identifier: BSD-3-Clause */
/* A function that fills in records, most of them ordinary memory: it is worth a copy for one of its stores, not for the other one alone. */
#include <stdio.h>

#include "pool.h"

struct record {
	uint64_t word[120];
	uint64_t last;
};

static __attribute__((noinline)) void fill(struct record *r, unsigned n, uint64_t value)
{
	for (unsigned i = 0; i < n; i++)
		r->word[9 * i] = value + (r->word[9 * i + 1] == value);
	if (n < 8)
		r->last = value;
}

struct pool {
	uint64_t used;
	struct record r[4];
};

static __attribute__((noinline)) void put(struct pool *p, uint64_t value)
{
	struct record *r = &p->r[p->used % 4];
	fill(r, 2, value);
	fence();
	p->used++;
	flush(&p->used, sizeof(p->used));
	fence();
}

int main(int argc, char **argv)
{
	static struct record own;
	struct pool *p = argc > 1 ? (struct pool *)pool_open(argv[1]) : NULL;
	if (!p)
		return 2;
	for (uint64_t i = 0; i < 10; i++) {
		fill(&own, 12, i);
		put(p, i);
	}
	printf("%llu\n", (unsigned long long)own.last);
	return 0;
}
