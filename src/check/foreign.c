/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a library does on its own account is not the program's to mend: a transaction's commit
 * flushes and fences as libpmemobj sees fit. What the program asks of a library in so many
 * words (pmem_flush, pmemobj_persist) is the program's doing, wherever the instruction is.
 *
 * So a place is foreign if its instruction lies in such a library and the library was entered
 * through anything but a persist primitive. Performance findings leave it out, without --include-libs.
 *
 * What libpmemobj stores on its own account it persists where it must: much of it is state of this run
 * only (locks, lanes, what it rebuilds when a pool is opened). No store of its own is reported as lost.
 */
#include "check/internal.h"

static const char *const libraries[] = { "libpmem*.so*", "libc.so*",    "libc-*.so",
					 "ld-linux*",    "libpthread*", NULL };
static const char *const primitives[] = { "pmem_*",         "pmem2_*",       "pmemobj_persist",
					  "pmemobj_flush",  "pmemobj_drain", "pmemobj_xpersist",
					  "pmemobj_xflush", "pmemobj_mem*",  "mem*",
					  "str*",           "*sync",         NULL };

/* Functions of libpmemobj that allocate: what they persist is zeros and what they keep themselves. */
static const char *const allocating[] = { "pmemobj_*alloc*", "pmemobj_*strdup",  "pmemobj_*wcsdup",
					  "pmemobj_reserve", "pmemobj_xreserve", "pmemobj_root*",
					  "pmemobj_create*", "pmemobj_open*",    NULL };

/* Those that link what the program has made: they persist the words that they store. */
static const char *const linking[] = { "pmemobj_publish", "pmemobj_list_*", NULL };

/* PMDK's own libraries; and what they export, to know them where they are linked statically. */
static const char *const pmdk[] = { "libpmem*.so*", NULL };
static const char *const exported[] = { "pmemobj_*", NULL };

enum { FOREIGN = 8, OF_PMDK = 16 }; /* beside the enum check_persister, in check.persister */

/* How many of the innermost frames are a library's. */
static size_t library_frames(const struct check *c, const struct finding_place *p)
{
	size_t n = 0;
	while (n < p->n && check_in_module(&p->frame[n], libraries))
		n++;
	for (size_t i = n; i < p->n && !(c->library & CHECK_PMEMOBJ); i++)
		if (check_named(exported, p->frame[i].function))
			n = i + 1;
	return n;
}

static uint8_t classify(struct check *c, model_where w)
{
	const struct finding_place *p = check_place(c, w);
	size_t n = library_frames(c, p), entry = n;
	uint8_t what = CHECK_BY_LIBRARY | FOREIGN;
	if (n == 0)
		return CHECK_BY_PROGRAM;
	while (entry > 1 && p->frame[entry - 1].plt)
		entry--;
	const char *name = p->frame[entry - 1].function;
	if (check_named(primitives, name))
		what = n < p->n ? CHECK_BY_PROGRAM : CHECK_BY_PROGRAM | FOREIGN;
	else if (check_named(allocating, name))
		what = CHECK_BY_ALLOCATOR | FOREIGN;
	else if (check_named(linking, name))
		what = CHECK_BY_LINK | FOREIGN;
	for (size_t i = 0; i < n && what & FOREIGN; i++)
		if (check_in_module(&p->frame[i], pmdk) ||
		    check_named(exported, p->frame[i].function))
			what |= OF_PMDK;
	return what;
}

static uint8_t known(struct check *c, model_where w)
{
	while (c->persister.n <= w)
		VEC_PUSH(&c->persister, 0);
	if (!c->persister.p[w])
		c->persister.p[w] = classify(c, w);
	return c->persister.p[w];
}

enum check_persister check_persister(struct check *c, model_where w)
{
	return (enum check_persister)(known(c, w) & 7);
}

/* In PMDK the innermost library does what it is told to: libpmem flushes and copies for libpmemobj. */
static void blame(struct check *c, model_where w)
{
	static const char *const told[] = { "libpmem.so*", "libpmem2.so*", "libc.so*", NULL };
	const struct finding_place *p = check_place(c, w);
	size_t n = library_frames(c, p), i = 0;
	while (i + 1 < n && (p->frame[i].plt || check_in_module(&p->frame[i], told)))
		i++;
	if (i < n)
		p->frame[i].blamed = true;
}

bool check_foreign(struct check *c, model_where w)
{
	return (known(c, w) & FOREIGN) && !c->include_libs;
}

void check_blame_libraries(struct check *c)
{
	for (model_where w = 0; c->include_libs && w < model_places(c->model); w++)
		if (model_place(c->model, w)->ip && known(c, w) & FOREIGN &&
		    model_place(c->model, w)->class != TRACE_SITE_STORE)
			blame(c, w);
}

bool check_by_pmdk(struct check *c, model_where w)
{
	return (known(c, w) & OF_PMDK) != 0;
}
