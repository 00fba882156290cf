/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who wrote the bytes of a line that are still open.
 *
 * A line remembers one number: that of a set of (place, bytes). Sets never
 * change; adding a writer, or taking away bytes that have become persistent, leads to another
 * set. Lines that hold objects of one type go through the same few sets, so there are far fewer sets than
 * lines, and the step from one to the next is nearly always found among the recent ones.
 *
 *     line 17 ──┐                    ┌──────────────────────────┐
 *     line 23 ──┼──▶ set 5: ────────▶│ init:12  bytes 8-15      │  overwritten …
 *     line 99 ──┘                    │ init:12  bytes 0-7       │
 *                                    │ link:40  bytes 8-15      │  … by this one
 *                                    └──────────────────────────┘
 *
 * A set has what was overwritten first, by the numbers of the places, then what belongs to each, by
 * theirs: in what order the former came does not matter. So places that take turns come to a few sets again and again.
 * Sets are bounded: of those that were overwritten some are forgotten when there are too many, of a line or in all.
 */
#include <stdlib.h>
#include <string.h>

#include "model/internal.h"

#define MOST 32u           /* entries of one set */
#define ENTRIES_FREE 4096u /* entries of all sets: so many in any case … */
#define PER_LINE 1u        /* … and so many for each line */
#define RECENT_HASH 0x9e3779b97f4a7c15ull

const struct model_writer *model_writers(const struct model *m, const struct model_line *l,
					 size_t *n)
{
	uint32_t set = model_flight(m, l)->writers;
	*n = set ? m->writers.set.p[set].n : 0;
	return *n ? &m->writers.entry.p[m->writers.set.p[set].first] : NULL;
}

void model_writers_free(struct writers *w)
{
	VEC_FREE(&w->entry);
	VEC_FREE(&w->set);
	hmap_free(&w->known);
}

size_t model_writers_memory(const struct writers *w)
{
	return w->entry.cap * sizeof *w->entry.p + w->set.cap * sizeof *w->set.p +
	       w->known.cap * 17;
}

/* The number of the set with these entries. */
static uint32_t intern(struct model *m, const struct model_writer *e, size_t n)
{
	struct writers *w = &m->writers;
	uint64_t hash = hash_bytes(e, n * sizeof *e), i;
	if (!n)
		return 0;
	if (hmap_get(&w->known, hash, &i) && w->set.p[i].n == n &&
	    memcmp(&w->entry.p[w->set.p[i].first], e, n * sizeof *e) == 0)
		return (uint32_t)i;
	if (!w->set.n)
		VEC_PUSH(&w->set, ((struct writer_set){ 0, 0 })); /* 0 is the empty one */
	if (w->entry.n + n > ENTRIES_FREE + PER_LINE * m->nlines)
		return 0;
	VEC_PUSH(&w->set, ((struct writer_set){ (uint32_t)w->entry.n, (uint32_t)n }));
	for (size_t k = 0; k < n; k++)
		VEC_PUSH(&w->entry, e[k]);
	hmap_put(&w->known, hash, w->set.n - 1);
	return (uint32_t)(w->set.n - 1);
}

/* Whose bytes are how many of a line, and which it wrote before another did. */
struct author {
	model_where where;
	uint64_t own, old;
};
struct authors {
	struct author a[MOST + 1]; /* by place */
	size_t n;
};

static struct author *author_of(struct authors *all, model_where where)
{
	size_t i = 0;
	while (i < all->n && all->a[i].where < where)
		i++;
	if (i == all->n || all->a[i].where != where) {
		memmove(all->a + i + 1, all->a + i, (all->n - i) * sizeof *all->a);
		all->a[i] = (struct author){ .where = where };
		all->n++;
	}
	return &all->a[i];
}

static void take_apart(const struct model *m, uint32_t set, struct authors *out)
{
	const struct writer_set *s = &m->writers.set.p[set];
	uint64_t taken = 0;
	for (uint32_t i = s->n; i-- > 0;) {
		const struct model_writer *e = &m->writers.entry.p[s->first + i];
		struct author *a = author_of(out, e->where);
		a->own |= e->mask & ~taken;
		a->old |= e->mask & taken;
		taken |= e->mask;
	}
}

/* The place writes these bytes, or, if it is MODEL_NOBODY, they are persistent. */
static void pass_on(struct authors *all, uint64_t mask, model_where where)
{
	for (size_t i = 0; i < all->n; i++) {
		struct author *a = &all->a[i];
		uint64_t lost = where == MODEL_NOBODY || a->where == where ? 0 : a->own & mask;
		a->old = (a->where == where || where == MODEL_NOBODY ? a->old & ~mask : a->old) |
			 lost;
		a->own &= ~mask;
	}
	if (where != MODEL_NOBODY)
		author_of(all, where)->own |= mask;
}

/* The step from one set to another. */
static uint32_t step(struct model *m, uint32_t set, uint64_t mask, model_where where)
{
	struct authors all = { .n = 0 };
	struct model_writer e[2 * (MOST + 1)];
	size_t n = 0;
	if (set)
		take_apart(m, set, &all);
	pass_on(&all, mask, where);
	for (size_t i = 0; i < all.n; i++)
		if (all.a[i].old)
			e[n++] = (struct model_writer){ .mask = all.a[i].old,
							.where = all.a[i].where };
	for (size_t i = 0; i < all.n; i++)
		if (all.a[i].own)
			e[n++] = (struct model_writer){ .mask = all.a[i].own,
							.where = all.a[i].where };
	return n > MOST ? intern(m, e + (n - MOST), MOST) : intern(m, e, n);
}

static void change(struct model *m, struct model_flight *f, uint64_t mask, model_where where)
{
	uint64_t hash = (mask ^ (uint64_t)where << 21 ^ (uint64_t)f->writers << 42) * RECENT_HASH;
	struct writer_step *r =
		&m->writers.recent[(hash ^ hash >> 32) >> 13 & (WRITERS_RECENT - 1)];
	if (!r->used || r->from != f->writers || r->where != where || r->mask != mask) {
		uint32_t to = step(m, f->writers, mask, where);
		*r = (struct writer_step){ mask, where, f->writers, to, true };
	}
	f->writers = r->to;
}

void model_writers_add(struct model *m, struct model_flight *f, uint64_t mask, model_where where)
{
	change(m, f, mask, where);
}

void model_writers_persisted(struct model *m, struct model_line *l, uint64_t mask)
{
	struct model_flight *f = model_flight_of(m, l);
	if (!l->open)
		f->writers = 0;
	else if (f->writers)
		change(m, f, mask, MODEL_NOBODY);
}
