/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A growable array of 16-byte elements.
 *
 *   line 0   magic
 *   line 1   root: size << 32 | class        line 2   journal: index, value, stamp, valid
 *   4096     area of class 0 (16 elements), then class 1 (32), ... class 6 (1024)
 *
 * Class c's area has room for 16 << c elements; the array lives in the area its root names.
 * Growing past the area copies everything to a larger one with non-temporal stores; shrinking
 * below a quarter of it copies back down. New elements are persistent before the one eight-byte
 * store of `root` makes them part of the array, and that store changes size and area together.
 *
 * An element is a value and a stamp computed from index and value: two words that must change
 * together. Overwriting one therefore goes through the journal, one line: index, value, stamp, and
 * last, `valid`. Stores to one line reach the medium in program order, so a persistent `valid`
 * implies the rest. Recovery repeats the write of a valid journal.
 */
#include "common/corpus.h"
#include "common/pm.h"

#include <stdlib.h>

#define MAGIC 0x3179617272617268ull
#define CLASSES 7u
#define AREAS_START 4096u
#define POOL_SIZE (AREAS_START + 16u * 16u * (1u << CLASSES))
#define CAPACITY(class) (16u << (class))
#define ELEMENTS_PER_LINE (PM_LINE / sizeof(struct element))

struct element {
	uint64_t value;
	uint64_t stamp;
};

struct header {
	struct PM_ALIGNED {
		uint64_t magic;
	} id;
	struct PM_ALIGNED {
		uint64_t root;
	} shape;
	struct PM_ALIGNED {
		uint64_t index;
		uint64_t value;
		uint64_t stamp;
		uint64_t valid;
	} journal;
	struct PM_ALIGNED {
		uint64_t changes; /* only in a variant; about so many */
	} statistics;
};

struct array {
	struct header *header;
	char *base;
};

static uint64_t stamp_of(uint64_t index, uint64_t value)
{
	uint64_t h = (index ^ value << 17) * 0x9e3779b97f4a7c15ull + value;

	return h ^ h >> 31;
}

static uint64_t size_of(const struct array *a)
{
	return a->header->shape.root >> 32;
}

static unsigned class_of(const struct array *a)
{
	return (unsigned)a->header->shape.root & 0xff;
}

/* The areas lie in a row: the classes before `class` take 16 * (2^class - 1) elements. */
static struct element *area(const struct array *a, unsigned class)
{
	return (struct element *)(a->base + AREAS_START) + 16 * ((1u << class) - 1);
}

static struct element *elements(const struct array *a)
{
	return area(a, class_of(a));
}

/* Fills in one element, wherever it is: in the pool or in a local variable. */
static void set_element(struct element *e, uint64_t index, uint64_t value)
{
	e->value = value;                  /* BUG(array-helper-unflushed) BUG(array-masked-flush) TRAP(array-same-value) */
	e->stamp = stamp_of(index, value); /* BUG(array-torn-element) BUG(array-no-redo) BUG(array-short-range) */
}

static void copy_elements(struct element *to, const struct element *from, uint64_t n)
{
	struct element e;

	for (uint64_t i = 0; i < n; i++) {
		set_element(&e, i, from[i].value);
		pm_nt_store64(&to[i].value, e.value);
		pm_nt_store64(&to[i].stamp, e.stamp);
	}
}

static void publish(struct array *a, uint64_t size, unsigned class)
{
	uint64_t *root = &a->header->shape.root;

#ifdef BUG_ARRAY_TORN_ROOT
	((volatile uint32_t *)root)[1] = (uint32_t)size; /* BUG(array-torn-root) */
	((volatile uint32_t *)root)[0] = class;
#else
	pm_store64(root, size << 32 | class); /* BUG(array-count-first) */
#endif
	pm_persist(root, sizeof(*root));
}

/* Writes elements [size, index) as 0 and element `index` as value; flushed, not fenced. */
static void fill(struct element *e, uint64_t size, uint64_t index, uint64_t value)
{
#ifdef BUG_ARRAY_DIRTY_OVERWRITE
	for (uint64_t i = size; i <= index; i++)
		set_element(&e[i], i, 0);
	e[index].value = value; /* BUG(array-dirty-overwrite) */
	e[index].stamp = stamp_of(index, value);
#else
	for (uint64_t i = size; i <= index; i++)
		set_element(&e[i], i, i == index ? value : 0);
#endif
#ifdef BUG_ARRAY_SHORT_RANGE
	pm_flush(&e[size], index + 1 - size);
#else
	pm_flush(&e[size], (index + 1 - size) * sizeof(*e));
#endif
}

static void grow(struct array *a, uint64_t index, uint64_t value)
{
	uint64_t size = size_of(a);
	unsigned class = class_of(a);

	while (CAPACITY(class) <= index)
		class ++;
	if (class != class_of(a))
		copy_elements(area(a, class), elements(a), size);
#ifdef BUG_ARRAY_COUNT_FIRST
	publish(a, index + 1, class);
	fill(area(a, class), size, index, value);
	pm_fence();
#else
	fill(area(a, class), size, index, value);
	pm_fence();
	publish(a, index + 1, class);
#endif
}

static void shrink(struct array *a, uint64_t new_size)
{
	unsigned class = class_of(a);

	while (class > 0 && new_size < CAPACITY(class) / 4)
		class --;
	if (class != class_of(a) && new_size > 0) {
		copy_elements(area(a, class), elements(a), new_size);
		pm_fence();
	}
#ifdef BUG_ARRAY_SHRINK_UNDERFLOW
	/* The number of new elements is negative, and unsigned. */
	uint64_t size = size_of(a), added = new_size - size;
	for (uint64_t i = 0; i < added && size + i < CAPACITY(class_of(a)); i += ELEMENTS_PER_LINE)
		pm_clwb(&elements(a)[size + i]); /* BUG(array-shrink-underflow) */
	pm_fence();
#endif
	publish(a, new_size, class);
}

static void overwrite(struct array *a, uint64_t index, uint64_t value)
{
	struct header *h = a->header;
	struct element *e = &elements(a)[index];

#ifdef TRAP_ARRAY_SAME_VALUE
	if (e->value == value) { /* every mixture of old and new is the old: no journal needed */
		set_element(e, index, value);
		pm_persist(e, sizeof(*e));
		return;
	}
#endif
#ifdef BUG_ARRAY_TORN_ELEMENT
	set_element(e, index, value);
	pm_persist(e, sizeof(*e));
	return;
#endif
#ifdef BUG_ARRAY_VALID_FIRST
	pm_store64(&h->journal.valid, 1); /* BUG(array-valid-first) */
	pm_compiler_order();
#endif
	h->journal.index = index;
	h->journal.value = value;
	h->journal.stamp = stamp_of(index, value);
	pm_compiler_order();
	pm_store64(&h->journal.valid, 1); /* BUG(array-journal-unfenced) */
	pm_flush(&h->journal, sizeof(h->journal));
#ifdef BUG_ARRAY_JOURNAL_TWICE
	pm_flush(&h->journal.valid, sizeof(h->journal.valid)); /* BUG(array-journal-twice) */
#endif
#ifndef BUG_ARRAY_JOURNAL_UNFENCED
	pm_fence();
#endif
	set_element(e, index, value);
#ifdef BUG_ARRAY_MASKED_FLUSH
	pm_persist(&elements(a)[index & 15], sizeof(*e));
#elif !defined(BUG_ARRAY_HELPER_UNFLUSHED)
	pm_persist(e, sizeof(*e));
#endif
	pm_store64(&h->journal.valid, 0); /* BUG(array-clear-unflushed) */
#ifdef BUG_ARRAY_CLEAR_UNFLUSHED
	pm_fence();
#else
	pm_persist(&h->journal.valid, sizeof(h->journal.valid));
#endif
}

/* Statistics: every eighth time they are made persistent. */
static void count(struct array *a)
{
#ifdef TRAP_ARRAY_CHANGES
	uint64_t *changes = &a->header->statistics.changes;

	pm_store64(changes, *changes + 1); /* TRAP(array-changes) */
	if (*changes % 8 == 0)
		pm_persist(changes, sizeof(*changes));
#else
	(void)a;
#endif
}

static enum corpus_result array_get(void *store, uint64_t key, uint64_t *out)
{
	struct array *a = store;

	if (key >= size_of(a))
		return CORPUS_NONE;
	*out = elements(a)[key].value;
	return CORPUS_VALUE;
}

static enum corpus_result array_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	if (array_get(store, key, out) == CORPUS_NONE)
		return CORPUS_NONE;
	count(store);
	overwrite(store, key, value);
	return CORPUS_OLD;
}

static enum corpus_result array_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	if (key >= CAPACITY(CLASSES - 1))
		return CORPUS_FULL;
	if (array_upd(store, key, value, out) == CORPUS_OLD)
		return CORPUS_OLD;
	count(store);
#ifdef BUG_ARRAY_PUT_ZERO_FIRST
	grow(store, key, 0); /* BUG(array-put-zero-first) */
	overwrite(store, key, value);
#else
	grow(store, key, value);
#endif
	return CORPUS_NEW;
}

static enum corpus_result array_del(void *store, uint64_t key, uint64_t *out)
{
	if (array_get(store, key, out) == CORPUS_NONE)
		return CORPUS_NONE;
#ifdef BUG_ARRAY_DEL_STEPWISE
	while (size_of(store) > key + 1)
		shrink(store, size_of(store) - 1); /* BUG(array-del-stepwise) */
#endif
	shrink(store, key);
	return CORPUS_OLD;
}

static size_t array_scan(void *store, uint64_t key, size_t n, struct corpus_pair *out)
{
	struct array *a = store;
	size_t found = 0;

	for (; found < n && key < size_of(a); key++, found++)
		out[found] = (struct corpus_pair){ key, elements(a)[key].value };
	return found;
}

static void recover(struct array *a)
{
	struct header *h = a->header;

	if (!h->journal.valid)
		return;
#ifndef BUG_ARRAY_NO_REDO
	if (h->journal.index < CAPACITY(class_of(a) % CLASSES)) {
		struct element *e = &area(a, class_of(a) % CLASSES)[h->journal.index];

		e->value = h->journal.value;
		e->stamp = h->journal.stamp;
		pm_persist(e, sizeof(*e));
	}
#endif
	pm_store64(&h->journal.valid, 0);
	pm_persist(&h->journal.valid, sizeof(h->journal.valid));
}

static void array_check(void *store)
{
	struct array *a = store;

	if (class_of(a) >= CLASSES || size_of(a) > CAPACITY(class_of(a))) {
		corpus_wrong("size %lu does not fit class %u", size_of(a), class_of(a));
		return;
	}
	for (uint64_t i = 0; i < size_of(a); i++)
		if (elements(a)[i].stamp != stamp_of(i, elements(a)[i].value))
			corpus_wrong("element %lu of %lu is damaged", i, size_of(a));
	if (a->header->journal.valid)
		corpus_wrong("journal still valid after recovery");
}

static void *array_open(const char *path)
{
	int fresh;
	char *base = corpus_pool_map(path, POOL_SIZE, MAGIC, NULL, &fresh);
	struct array *a;

	if (!base)
		return NULL;
	a = malloc(sizeof(*a));
	a->base = base;
	a->header = (struct header *)base;
	if (fresh) { /* all zero is an empty array of class 0 */
		pm_store64(&a->header->id.magic, MAGIC);
		pm_persist(&a->header->id, sizeof(a->header->id));
	}
	recover(a);
	return a;
}

static void array_close(void *store)
{
	struct array *a = store;

	corpus_pool_unmap(a->base, POOL_SIZE);
	free(a);
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		.name = "array",
		.open = array_open,
		.close = array_close,
		.check = array_check,
		.put = array_put,
		.get = array_get,
		.del = array_del,
		.upd = array_upd,
		.scan = array_scan,
	};

	return corpus_main(&program, argc, argv);
}
