/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of strategies, and what most of them need. */
#include <stdlib.h>
#include <string.h>

#include "crash/strategy.h"

static const struct crash_strategy *const table[] = {
	&crash_strategy_prefix, &crash_strategy_lost,   &crash_strategy_ahead,
	&crash_strategy_behind, &crash_strategy_random, &crash_strategy_exhaustive,
};

const struct crash_strategy *crash_strategy_row(size_t i)
{
	return i < sizeof table / sizeof *table ? table[i] : NULL;
}

const struct crash_strategy *crash_strategy_find(const char *name)
{
	for (size_t i = 0; crash_strategy_row(i); i++)
		if (strcmp(table[i]->name, name) == 0)
			return table[i];
	return NULL;
}

const char *const *crash_strategy_auto(void)
{
	static const char *const names[] = { "prefix", "lost", "ahead", "behind", "random", NULL };
	return names;
}

const char *crash_strategy_at(size_t i, const char **about)
{
	const struct crash_strategy *s = i ? crash_strategy_row(i - 1) : NULL;

	*about = i ? s ? s->about : NULL
		   : "prefix, lost, ahead, behind and random, one after the other";
	return i ? s ? s->name : NULL : "auto";
}

/* ---- from point to point ---- */

bool crash_gen_point(struct crash_gen *gen, struct crash_state *out,
		     bool (*at_point)(struct crash_gen *, struct crash_state *out))
{
	for (; gen->point < gen->points->v.n; gen->point++, gen->step = 0) {
		out->event = gen->points->v.p[gen->point].event;
		crash_cursor_move(gen->cursor, out->event);
		if (at_point(gen, out)) {
			gen->step++;
			return true;
		}
		out->at.n = 0;
	}
	return false;
}

uint64_t crash_gen_random(struct crash_gen *gen)
{
	return splitmix64(&gen->rng);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static bool is_sorted(const uint32_t *p, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (p[i - 1] > p[i])
			return false;
	return true;
}

/* Any order is as good as another to the cursor, so its own list is sorted. */
const uint32_t *crash_gen_open(struct crash_gen *gen, size_t *n)
{
	struct crash_cursor *c = gen->cursor;

	*n = c->open.n;
	if (is_sorted(c->open.p, c->open.n))
		return c->open.p;
	qsort(c->open.p, c->open.n, sizeof *c->open.p, by_number);
	for (size_t i = 0; i < c->open.n; i++)
		c->slot[c->open.p[i]] = (uint32_t)i + 1;
	return c->open.p;
}

/* ---- a few for many ---- */

#define FEW_LINES 24u /* so many are all taken */
#define MOST_LINES 64u
#define PER_PLACE 3u /* the first, the last, and one between them */

struct group {
	uint32_t place, line;
};

static int by_place(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

/* Takes PER_PLACE of group[from .. to). */
static void take_some(struct crash_gen *gen, const struct group *group, size_t from, size_t to)
{
	size_t n = to - from, take = n < PER_PLACE ? n : PER_PLACE;

	for (size_t i = 0; i < take; i++)
		VEC_PUSH(&gen->some, group[from + (take == 1 ? 0 : i * (n - 1) / (take - 1))].line);
}

static void thin_out(struct crash_gen *gen, const uint32_t *open, size_t n)
{
	struct group *group = xmalloc(n * sizeof *group);

	for (size_t i = 0; i < n; i++)
		group[i] = (struct group){
			crash_piece_of(gen->h, open[i], gen->cursor->lo[open[i]] + 1)->place,
			open[i]
		};
	qsort(group, n, sizeof *group, by_place);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i; k < n && group[k].place == group[i].place; k++)
			;
		take_some(gen, group, i, k);
	}
	free(group);
	qsort(gen->some.p, gen->some.n, sizeof *gen->some.p, by_number);
	if (gen->some.n <= MOST_LINES)
		return;
	for (size_t i = 0; i < MOST_LINES; i++)
		gen->some.p[i] = gen->some.p[i * (gen->some.n - 1) / (MOST_LINES - 1)];
	gen->some.n = MOST_LINES;
}

const uint32_t *crash_gen_some(struct crash_gen *gen, size_t *n)
{
	const uint32_t *open;

	if (gen->some_at != gen->cursor->at + 1) {
		gen->some_at = gen->cursor->at + 1;
		gen->some.n = 0;
		open = crash_gen_open(gen, n);
		if (*n > FEW_LINES)
			thin_out(gen, open, *n);
		else
			for (size_t i = 0; i < *n; i++)
				VEC_PUSH(&gen->some, open[i]);
	}
	*n = gen->some.n;
	return gen->some.p;
}

void crash_gen_lost(struct crash_gen *gen, struct crash_state *out)
{
	size_t n;
	const uint32_t *open = crash_gen_open(gen, &n);

	VEC_RESERVE(&out->at, n);
	for (size_t i = 0; i < n; i++)
		out->at.p[i] = (struct crash_at){ open[i], gen->cursor->lo[open[i]] };
	out->at.n = n;
}

/* ---- picking versions ---- */

static bool same_event(const struct crash_history *h, uint32_t line, uint32_t a, uint32_t b)
{
	return crash_piece_of(h, line, a)->event == crash_piece_of(h, line, b)->event;
}

unsigned crash_gen_pick(const struct crash_gen *gen, uint32_t line, uint32_t out[CRASH_PICK])
{
	uint32_t lo = gen->cursor->lo[line], hi = gen->cursor->hi[line];
	bool every = hi - lo < CRASH_PICK;
	uint64_t last = crash_contents_hash(gen->h, line, lo);
	VEC(uint32_t) v = { 0 };
	unsigned n;

	VEC_PUSH(&v, lo);
	for (uint32_t i = lo + 1; i <= hi; i++) {
		uint64_t hash;

		if (!every && i < hi && same_event(gen->h, line, i, i + 1))
			continue;
		hash = crash_contents_hash(gen->h, line, i);
		if (hash != last)
			VEC_PUSH(&v, i);
		else if (i == hi && v.n > 1)
			v.p[v.n - 1] = hi;
		last = hash;
	}
	n = v.n < CRASH_PICK ? (unsigned)v.n : CRASH_PICK;
	for (unsigned i = 0; i < n; i++)
		out[i] = n == 1 ? lo : v.p[i * (v.n - 1) / (n - 1)];
	VEC_FREE(&v);
	return n;
}

bool crash_walk_next(struct crash_gen *gen, struct crash_walk *w, enum crash_walk_kind kind,
		     struct crash_at *out)
{
	size_t n;
	const uint32_t *open = crash_gen_some(gen, &n);

	while (w->k >= w->end) {
		if (w->line >= n)
			return false;
		w->end = crash_gen_pick(gen, open[w->line++], w->version);
		w->k = kind == CRASH_WALK_NOT_LO;
		w->end -= kind == CRASH_WALK_NOT_HI;
	}
	*out = (struct crash_at){ open[w->line - 1], w->version[w->k++] };
	return true;
}
