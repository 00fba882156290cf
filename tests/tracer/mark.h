/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores that know their own call path: MARK("leaf<caller<main") stores a number that is never
 * the same, and logs it with the functions that should be on the path, innermost first.
 * Functions of libraries do not count. A path that ends in "…" says nothing about the rest.
 */
#ifndef TESTS_TRACER_MARK_H
#define TESTS_TRACER_MARK_H

#include "expect.h"

#define MARK_BYTES (1ul << 20)

static volatile uint64_t *mark_pm;
static volatile uint64_t mark_count;

UNUSED static void mark_open(const char *pool, const char *log)
{
	mark_pm = (volatile uint64_t *)pool_map(pool, MARK_BYTES, NULL);
	expect_open(log);
}

#define MARK(path)                                                                                 \
	do {                                                                                       \
		uint64_t mark_ = ++mark_count;                                                     \
		mark_pm[mark_ % (MARK_BYTES / 8)] = mark_;                                         \
		fprintf(expect_file, "%lu %s\n", mark_, path);                                     \
	} while (0)

#endif
