/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A few open lines for many, in the order in which it pays to lose them, or to have only them; and those that one event stored to together.
 *
 * A system call that writes is one event and many blocks. Losing one of them is like losing another, so that each event has its first line
 * looked at before any has its second:
 *
 *	event 12   a b c d e f g h        a p   b q   c r   …
 *	event 14   p q r s t u v w
 *
 * And what is told most of all by what is there without the rest is a whole write: of a part of it, a sum says that it is one.
 */
#include <stdlib.h>

#include "crash/internal.h"

#define FEW_LINES 24u /* so many are all taken */
#define MOST_LINES 64u
#define PER_PLACE 3u /* the first, the last, and one between them */

struct group {
	uint64_t event;
	uint32_t place, line, turn;
};

static int by_place(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

static int by_line(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	return (x->line > y->line) - (x->line < y->line);
}

static int by_event(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	return x->event != y->event ? (x->event < y->event ? -1 : 1) : by_line(a, b);
}

static int by_turn(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	return x->turn != y->turn ? (x->turn < y->turn ? -1 : 1) : by_line(a, b);
}

/* Keeps PER_PLACE of each place's. */
static size_t thin_out(struct group *group, size_t n)
{
	size_t kept = 0;
	qsort(group, n, sizeof *group, by_place);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i; k < n && group[k].place == group[i].place; k++)
			;
		size_t of = k - i, take = of < PER_PLACE ? of : PER_PLACE;
		for (size_t t = 0; t < take; t++)
			group[kept++] = group[i + (take == 1 ? 0 : t * (of - 1) / (take - 1))];
	}
	qsort(group, kept, sizeof *group, by_line);
	for (size_t i = 0; i < MOST_LINES && kept > MOST_LINES; i++)
		group[i] = group[i * (kept - 1) / (MOST_LINES - 1)];
	return kept < MOST_LINES ? kept : MOST_LINES;
}

/* The first lines of all events, then their second ones, and so on. */
static void take_turns(struct group *group, size_t n)
{
	qsort(group, n, sizeof *group, by_event);
	for (size_t i = 1; i < n; i++)
		group[i].turn = group[i].event == group[i - 1].event ? group[i - 1].turn + 1 : 0;
	qsort(group, n, sizeof *group, by_turn);
}

static struct group group_of(const struct crash_gen *gen, uint32_t line, uint32_t version)
{
	struct crash_piece p = crash_piece_of(gen->w->h, line, version);
	return (struct group){ p.event, p.place, line, 0 };
}

static void choose(struct crash_gen *gen, const uint32_t *open, size_t n)
{
	struct group *group = xmalloc((n + 1) * sizeof *group);
	for (size_t i = 0; i < n; i++)
		group[i] = group_of(gen, open[i], crash_gen_lo(gen, open[i]) + 1);
	if (n > FEW_LINES)
		n = thin_out(group, n);
	if (n)
		take_turns(group, n);
	for (size_t i = 0; i < n; i++)
		VEC_PUSH(&gen->some, group[i].line);
	free(group);
}

const uint32_t *crash_gen_some(struct crash_gen *gen, size_t *n)
{
	if (gen->some_at != gen->w->cursor.at + 1) {
		gen->some_at = gen->w->cursor.at + 1;
		gen->some.n = 0;
		const uint32_t *open = crash_gen_open(gen, n);
		choose(gen, open, *n);
	}
	*n = gen->some.n;
	return gen->some.p;
}

/* ---- what one event stored ---- */

#define MOST_EVENTS 16u
#define MOST_LOOKED 4096u /* open lines */

/* It is written by system calls, many of them at once. */
static bool is_written(const struct crash_history *h, uint32_t line)
{
	return crash_is_meta(h, line) || h->file.p[h->line.p[line].file].unit > TRACE_LINE;
}

/* Keeps those that are not alone, by event; returns how many. */
static size_t keep_several(struct group *group, size_t n)
{
	size_t kept = 0;
	if (n)
		qsort(group, n, sizeof *group, by_event);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i; k < n && group[k].event == group[i].event; k++)
			;
		for (size_t j = i; k - i > 1 && j < k; j++)
			group[kept++] = group[j];
	}
	return kept;
}

/* The lines of written files that have something to lose, by the event that stored the newest, or the oldest, of that. */
static size_t by_whole_event(struct crash_gen *gen, bool newest, struct group **group)
{
	size_t n, found = 0;
	const uint32_t *open = crash_gen_open(gen, &n);
	*group = xmalloc((n + 1) * sizeof **group);
	for (size_t i = 0; i < n && n <= MOST_LOOKED; i++)
		if (is_written(gen->w->h, open[i]))
			(*group)[found++] = group_of(gen, open[i],
						     newest ? crash_gen_hi(gen, open[i])
							    : crash_gen_lo(gen, open[i]) + 1);
	return keep_several(*group, found);
}

/* Where the k-th of at most MOST_EVENTS begins; n: there are no more. */
static size_t find_event(const struct group *group, size_t n, size_t k, bool backwards)
{
	size_t at = n;
	VEC(size_t) first = { 0 };
	for (size_t i = 0; i < n; i++)
		if (!i || group[i].event != group[i - 1].event)
			VEC_PUSH(&first, i);
	size_t take = first.n < MOST_EVENTS ? first.n : MOST_EVENTS;
	if (k < take) {
		k = take == 1 ? 0 : k * (first.n - 1) / (take - 1);
		at = first.p[backwards ? first.n - 1 - k : k];
	}
	VEC_FREE(&first);
	return at;
}

bool crash_gen_whole(struct crash_gen *gen, enum crash_walk_kind kind, size_t k,
		     struct crash_state *out)
{
	bool ahead = kind == CRASH_WALK_NOT_LO;
	struct group *group;
	size_t n = by_whole_event(gen, ahead, &group), from = find_event(group, n, k, ahead);
	if (from < n && ahead)
		crash_gen_lost(gen, out);
	for (size_t i = from; i < n && group[i].event == group[from].event; i++) {
		uint32_t line = group[i].line;
		crash_gen_set(gen, out, line,
			      ahead ? crash_gen_hi(gen, line) : crash_gen_lo(gen, line));
	}
	free(group);
	return from < n;
}
