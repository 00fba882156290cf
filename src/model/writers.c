/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who wrote the bytes of a line that are still open.
 *
 * A line remembers one number: that of a set of (place, bytes), in the order of writing. Sets never
 * change; adding a writer, or taking away bytes that have become persistent, leads to another
 * set. Lines that hold objects of one type go through the same few sets, so there are far fewer sets than
 * lines, and the step from one to the next is nearly always found among the recent ones.
 *
 *     line 17 ──┐                    ┌──────────────────────────┐
 *     line 23 ──┼──▶ set 5: ────────▶│ init:12  bytes 0-15      │  the first writer
 *     line 99 ──┘                    │ link:40  bytes 8-15      │  … whose bytes 8-15 it overwrote
 *                                    └──────────────────────────┘
 *
 * Sets are bounded: the oldest writers are forgotten when there are too many, of a line or in all.
 */
#include <stdlib.h>
#include <string.h>

#include "model/internal.h"

#define MOST 12u           /* writers of one set */
#define ENTRIES_FREE 4096u /* writers of all sets: so many in any case … */
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

/* What is left of a set without these bytes; the place `again` writes them once more. */
static size_t without(const struct model *m, uint32_t set, uint64_t mask, model_where again,
		      struct model_writer out[MOST])
{
	const struct writer_set *s = set ? &m->writers.set.p[set] : NULL;
	size_t n = 0;
	for (size_t i = 0; s && i < s->n; i++) {
		const struct model_writer *e = &m->writers.entry.p[s->first + i];
		bool less = again == MODEL_NOBODY || e->where == again;
		uint64_t left = less ? e->mask & ~mask : e->mask;
		if (left)
			out[n++] = (struct model_writer){ .mask = left, .where = e->where };
	}
	return n;
}

/* The step from one set to another; `where` MODEL_NOBODY: the bytes are persistent. */
static uint32_t step(struct model *m, uint32_t set, uint64_t mask, model_where where)
{
	struct model_writer e[MOST + 1];
	size_t n = without(m, set, mask, where, e);
	if (where == MODEL_NOBODY)
		return intern(m, e, n);
	if (n && e[n - 1].where == where) {
		e[n - 1].mask |= mask;
	} else {
		e[n++] = (struct model_writer){ .mask = mask, .where = where };
	}
	return n > MOST ? intern(m, e + 1, n - 1) : intern(m, e, n);
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
