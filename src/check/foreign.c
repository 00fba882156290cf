/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a library does on its own account is not the program's to mend: a transaction's commit
 * flushes and fences as libpmemobj sees fit. What the program asks of a library in so many
 * words (pmem_flush, pmemobj_persist) is the program's doing, wherever the instruction is.
 *
 * So a place is foreign if its instruction lies in such a library and the library was entered
 * through anything but a persist primitive. Only performance findings and warnings care.
 */
#include "check/internal.h"

static const char *const libraries[] = { "libpmem*.so*", "libc.so*",    "libc-*.so",
					 "ld-linux*",    "libpthread*", NULL };
static const char *const primitives[] = { "pmem_*",         "pmem2_*",       "pmemobj_persist",
					  "pmemobj_flush",  "pmemobj_drain", "pmemobj_xpersist",
					  "pmemobj_xflush", "pmemobj_mem*",  "mem*",
					  "str*",           "*sync",         NULL };

/* Functions of libpmemobj that allocate: what they persist is zeros and what they keep themselves. */
static const char *const allocating[] = { "pmemobj_*alloc*",         "pmemobj_*strdup",
					  "pmemobj_*wcsdup",         "pmemobj_reserve",
					  "pmemobj_xreserve",        "pmemobj_root*",
					  "pmemobj_create*",         "pmemobj_open*",
					  "pmemobj_list_insert_new", NULL };

/* The frame through which the program entered the library that the place is in; the number of
 * frames: it is in none. */
static size_t entry_of(const struct finding_place *p)
{
	size_t i = 0;
	while (i < p->n && check_in_module(&p->frame[i], libraries))
		i++;
	while (i > 1 && p->frame[i - 1].plt)
		i--;
	return i ? i - 1 : p->n;
}

enum check_persister check_persister(struct check *c, model_where w)
{
	while (c->persister.n <= w)
		VEC_PUSH(&c->persister, 0);
	if (!c->persister.p[w]) {
		const struct finding_place *p = check_place(c, w);
		size_t i = entry_of(p);
		c->persister.p[w] = i == p->n || check_named(primitives, p->frame[i].function)
					    ? CHECK_BY_PROGRAM
				    : check_named(allocating, p->frame[i].function)
					    ? CHECK_BY_ALLOCATOR
					    : CHECK_BY_LIBRARY;
	}
	return (enum check_persister)c->persister.p[w];
}

bool check_foreign(struct check *c, model_where w)
{
	const struct finding_place *p = check_place(c, w);
	size_t i = 0;
	while (i < p->n && check_in_module(&p->frame[i], libraries))
		i++;
	if (i == 0 || i == p->n) /* the program's own; or nothing but the library */
		return i != 0;
	while (i > 1 && p->frame[i - 1].plt)
		i--;
	return !check_named(primitives, p->frame[i - 1].function);
}
