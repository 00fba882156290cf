/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the libpmemobj programs share: opening a pool that may never have been finished, and a census of
 * its objects for the consistency checks. Everything is `static inline`; nothing here changes a pool's
 * contents except creating it.
 */
#ifndef CORPUS_POBJ_H
#define CORPUS_POBJ_H

#include "common/corpus.h"

#include <errno.h>
#include <libpmemobj.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Does the file hold the word `ready`? A program stores it in its root object last of all. */
static inline int pobj_was_ready(const char *path, uint64_t ready)
{
	FILE *in = fopen(path, "rb");
	uint64_t words[512];
	size_t n;
	int found = 0;

	if (!in)
		return 0;
	while (!found && (n = fread(words, sizeof(words[0]), 512, in)) > 0)
		for (size_t i = 0; i < n; i++)
			found |= words[i] == ready;
	fclose(in);
	return found;
}

/*
 * Opens the pool, or creates it. A pool that cannot be opened was either never finished, and is created
 * anew, or has been damaged since: then the word `ready` is still somewhere in the file, and that is an
 * error. (The library gives no better hint: the pool's header is valid long before the pool is.)
 */
static inline PMEMobjpool *pobj_open(const char *path, const char *layout, uint64_t ready)
{
	PMEMobjpool *pop = NULL;
	struct stat st;

	/* The library reads beyond the end of a file that is too short. */
	if (stat(path, &st) == 0 && st.st_size >= (off_t)PMEMOBJ_MIN_POOL)
		pop = pmemobj_open(path, layout);
	if (pop)
		return pop;
	if (pobj_was_ready(path, ready)) {
		errno = EINVAL;
		return NULL;
	}
	if (unlink(path) != 0 && errno != ENOENT)
		return NULL;
	return pmemobj_create(path, layout, PMEMOBJ_MIN_POOL, 0644);
}

/* All allocated objects but the root, in the order of their offsets. */
struct pobj_census {
	struct pobj_object {
		uint64_t offset;
		uint64_t type;
		size_t size;
		int visited;
	} *objects;
	size_t count;
};

static inline int pobj_compare(const void *a, const void *b)
{
	const struct pobj_object *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

static inline void pobj_census_take(struct pobj_census *census, PMEMobjpool *pop)
{
	size_t room = 0;

	census->objects = NULL;
	census->count = 0;
	for (PMEMoid oid = pmemobj_first(pop); !OID_IS_NULL(oid); oid = pmemobj_next(oid)) {
		if (census->count == room) {
			room = room ? room * 2 : 64;
			census->objects = realloc(census->objects, room * sizeof(struct pobj_object));
		}
		census->objects[census->count++] = (struct pobj_object){
			oid.off, pmemobj_type_num(oid), pmemobj_alloc_usable_size(oid), 0 };
	}
	if (census->count)
		qsort(census->objects, census->count, sizeof(struct pobj_object), pobj_compare);
}

/* Is there an object of this type and at least this size, and is this the first way that leads to it? If
 * so it may be read; if not, that is reported. */
static inline int pobj_census_visit(struct pobj_census *census, uint64_t offset, uint64_t type, size_t size)
{
	struct pobj_object wanted = { offset, 0, 0, 0 }, *found = NULL;

	if (census->count)
		found = bsearch(&wanted, census->objects, census->count, sizeof(wanted), pobj_compare);
	if (!found || found->type != type || found->size < size)
		corpus_wrong("no object of type %lu at 0x%lx", type, offset);
	else if (found->visited)
		corpus_wrong("the object at 0x%lx is reachable twice", offset);
	else
		return found->visited = 1;
	return 0;
}

/* Reports the objects that nothing leads to. */
static inline void pobj_census_finish(struct pobj_census *census)
{
	for (size_t i = 0; i < census->count; i++)
		if (!census->objects[i].visited)
			corpus_wrong("the object of type %lu at 0x%lx is leaked", census->objects[i].type,
				     census->objects[i].offset);
	free(census->objects);
}

#endif
