/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which states lose the stores that are suspected, and as little else as possible.
 *
 * A store can be lost from its event on until something guarantees it, which may be never. In a state of
 * the plan its line lacks it, and what was stored to the line since, because a line persists in
 * order; every other line is up to date. So the best moments to crash are those before
 * anything else is stored to the line:
 *
 *	the line     a   S   S'      b            a: persistent, S and S': suspected, b: another store
 *	time         ────────────▲───────▲──▶
 *	                         │       └ here b is lost as well
 *	                         └ the last moment at which just S and S' are
 *
 * For each suspicion there is one state that loses all its stores, at the end of the run; then a
 * few stores are lost one at a time, chosen from all call paths, the first and the last of each
 * and some between. Ranks are the moments, and all suspicions get their first before any gets its second.
 */
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"

#define MOST_STORES 12u /* that are lost one at a time */
#define NOBODY UINT32_MAX

enum { RANK_ALL, RANK_ALONE, RANK_LAST, RANK_OPERATION, RANK_NEXT, RANK_MIDDLE };

/* Stores of one suspicion. */
struct stores {
	crash_stores open; /* that nothing guarantees in time */
	crash_stores chosen;
};

/* A state to be made. */
struct wish {
	uint64_t event;
	uint32_t piece; /* RANK_ALL: none in particular */
	uint32_t suspect;
	uint8_t rank;
};

struct planner {
	struct crash_suspects *all;
	const struct crash_history *h;
	const struct crash_points *points;
	struct crash_cursor at_state;
	struct stores *stores; /* by suspect */
	VEC(struct wish) wish;
	VEC(struct crash_at) at; /* of the state that is being made */
};

/* ---- which stores ---- */

/* The suspicions by place: lists, of which first[place] is the beginning, from 1. */
struct link {
	uint32_t suspect, next;
};
struct links {
	uint32_t *first;
	VEC(struct link) v;
};

static struct links link_places(const struct crash_suspects *all, size_t places)
{
	struct links l = { .first = xcalloc(places + 1, sizeof *l.first) };
	for (uint32_t i = 0; i < all->v.n; i++)
		for (size_t k = 0; k < all->v.p[i].place.n; k++) {
			uint32_t *first = &l.first[all->v.p[i].place.p[k]];
			VEC_PUSH(&l.v, ((struct link){ i, *first }));
			*first = (uint32_t)l.v.n;
		}
	return l;
}

/* Those that matter: nothing guarantees them, or only by chance; and the one that was named. */
static void collect(struct planner *p)
{
	struct links l = link_places(p->all, p->h->place.n);
	crash_stores all = { 0 };
	crash_stores_of(p->h, l.first, &all);
	for (size_t i = 0; i < all.n; i++) {
		const struct crash_store *s = &all.p[i];
		uint64_t event = crash_piece_at(p->h, s->piece).event;
		bool open = crash_is_abandoned(p->h, s->piece, s->cover);
		for (uint32_t at = l.first[s->place]; at; at = l.v.p[at - 1].next) {
			uint32_t suspect = l.v.p[at - 1].suspect;
			if (open || event == p->all->v.p[suspect].event)
				VEC_PUSH(&p->stores[suspect].open, *s);
		}
	}
	free(l.first);
	VEC_FREE(&l.v);
	VEC_FREE(&all);
}

/* Index i of `take` that lie evenly in n, the first and the last among them. */
static size_t evenly(size_t i, size_t take, size_t n)
{
	return take < 2 ? 0 : i * (n - 1) / (take - 1);
}

static int by_place(const void *a, const void *b)
{
	const struct crash_store *x = a, *y = b;
	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return (x->piece > y->piece) - (x->piece < y->piece);
}

/* Stores of one place, from `from` on: where they end. */
static size_t place_end(const crash_stores *s, size_t from)
{
	size_t to = from;
	while (to < s->n && s->p[to].place == s->p[from].place)
		to++;
	return to;
}

/* How many to take of each place, so that there are enough in all, if there are as many. */
static size_t share_of(const crash_stores *s)
{
	for (size_t share = 2;; share++) {
		size_t sum = 0;
		for (size_t i = 0, to; i < s->n; i = to) {
			to = place_end(s, i);
			sum += to - i < share ? to - i : share;
		}
		if (sum >= MOST_STORES || sum == s->n)
			return share;
	}
}

/* A share for each call path, evenly in time. */
static void choose(struct stores *s)
{
	const struct crash_store *open = s->open.p;
	size_t n = s->open.n, share;
	qsort(s->open.p, n, sizeof *s->open.p, by_place);
	share = share_of(&s->open);
	for (size_t i = 0, to; i < n; i = to) {
		to = place_end(&s->open, i);
		size_t take = to - i < share ? to - i : share;
		for (size_t k = 0; k < take; k++)
			VEC_PUSH(&s->chosen, open[i + evenly(k, take, to - i)]);
	}
	if (s->chosen.n <= MOST_STORES)
		return;
	for (size_t i = 0; i < MOST_STORES; i++)
		s->chosen.p[i] = s->chosen.p[evenly(i, MOST_STORES, s->chosen.n)];
	s->chosen.n = MOST_STORES;
}

/* ---- when ---- */

static bool has_place(const struct crash_suspect *s, uint32_t place)
{
	size_t i = BISECT(k, s->place.n, s->place.p[k] < place);
	return i < s->place.n && s->place.p[i] == place;
}

/* The next store to the piece's line that is not suspected. */
static uint64_t next_other(const struct planner *p, const struct crash_suspect *s, uint32_t piece)
{
	uint32_t line = crash_piece_at(p->h, piece).line;
	for (uint32_t k = crash_number_of(p->h, piece) + 1; k <= p->h->line.p[line].n; k++) {
		struct crash_piece at = crash_piece_of(p->h, line, k);
		if (!has_place(s, at.place))
			return at.event;
	}
	return UINT64_MAX;
}

static void wish(struct planner *p, uint64_t event, uint32_t piece, uint32_t suspect, int rank)
{
	VEC_PUSH(&p->wish, ((struct wish){ event, piece, suspect, (uint8_t)rank }));
}

/* Failure points in (from, to) with a store of another event before them: the first, and the middle one. */
static void wish_points(struct planner *p, uint32_t piece, uint32_t suspect, uint64_t to)
{
	size_t after = crash_event_end(p->h, piece);
	uint64_t from = after < p->h->pieces ? crash_piece_at(p->h, after).event : UINT64_MAX;
	size_t first = BISECT(k, p->points->v.n, p->points->v.p[k].event <= from);
	size_t last = BISECT(k, p->points->v.n, p->points->v.p[k].event < to);
	if (first >= last)
		return;
	wish(p, p->points->v.p[first].event, piece, suspect, RANK_NEXT);
	if (last - first > 1)
		wish(p, p->points->v.p[first + (last - first) / 2].event, piece, suspect,
		     RANK_MIDDLE);
}

static void wish_moments(struct planner *p, const struct crash_store *s, uint32_t suspect)
{
	const struct crash_history *h = p->h;
	uint64_t last = s->cover, alone = h->events, end;
	uint32_t piece = s->piece;
	for (size_t i = piece, to = crash_event_end(h, piece); i < to; i++) {
		uint64_t other = next_other(p, &p->all->v.p[suspect], (uint32_t)i);
		alone = other < alone ? other : alone;
	}
	if (alone < last)
		wish(p, alone, piece, suspect, RANK_ALONE);
	wish(p, last, piece, suspect, RANK_LAST);
	end = crash_operation_end(h, piece);
	if (end < last)
		wish(p, end, piece, suspect, RANK_OPERATION);
	wish_points(p, piece, suspect, last);
}

/* ---- states ---- */

static int by_line(const void *a, const void *b)
{
	const struct crash_at *x = a, *y = b;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return (x->version > y->version) - (x->version < y->version);
}

/* The store's lines lack it. What is guaranteed by now, or not made yet, cannot be lost. */
static void lose(struct planner *p, uint32_t piece)
{
	for (size_t i = piece, to = crash_event_end(p->h, piece); i < to; i++) {
		uint32_t line = crash_piece_at(p->h, i).line,
			 number = crash_number_of(p->h, (uint32_t)i);
		if (number > p->at_state.lo[line] && number <= p->at_state.hi[line])
			VEC_PUSH(&p->at, ((struct crash_at){ line, number - 1 }));
	}
}

/* Adds the state to the plan; false: it would be the image with nothing lost. */
static bool add_state(struct planner *p, const struct wish *w)
{
	struct crash_plan plan = { .suspect = w->suspect,
				   .rank = w->rank,
				   .state.event = w->event };
	if (p->at.n)
		qsort(p->at.p, p->at.n, sizeof *p->at.p, by_line);
	for (size_t i = 0; i < p->at.n; i++)
		if (!i || p->at.p[i].line != p->at.p[i - 1].line)
			VEC_PUSH(&plan.state.at, p->at.p[i]);
	plan.hash = crash_state_hash(&plan.state, &p->at_state);
	if (plan.hash == p->at_state.hash) {
		crash_state_free(&plan.state);
		return false;
	}
	VEC_PUSH(&p->all->plan, plan);
	return true;
}

static int by_moment(const void *a, const void *b)
{
	const struct wish *x = a, *y = b;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->suspect != y->suspect)
		return x->suspect < y->suspect ? -1 : 1;
	return x->rank != y->rank ? x->rank - y->rank
				  : (x->piece > y->piece) - (x->piece < y->piece);
}

static void make_states(struct planner *p)
{
	struct hmap lost = { 0 };
	if (p->wish.n)
		qsort(p->wish.p, p->wish.n, sizeof *p->wish.p, by_moment);
	for (size_t i = 0; i < p->wish.n; i++) {
		const struct wish *w = &p->wish.p[i];
		const struct stores *s = &p->stores[w->suspect];
		uint64_t key = hash_mix(w->piece, w->suspect);
		p->at.n = 0;
		crash_cursor_move(&p->at_state, w->event);
		for (size_t k = 0; w->rank == RANK_ALL && k < s->open.n; k++)
			lose(p, s->open.p[k].piece);
		if (w->rank != RANK_ALL)
			lose(p, w->piece);
		if (add_state(p, w) && w->rank != RANK_ALL && !hmap_get(&lost, key, NULL)) {
			hmap_put(&lost, key, 1);
			p->all->v.p[w->suspect].lost++;
		}
	}
	hmap_free(&lost);
}

static int by_rank(const void *a, const void *b)
{
	const struct crash_plan *x = a, *y = b;
	if (x->rank != y->rank)
		return x->rank - y->rank;
	if (x->state.event != y->state.event)
		return x->state.event < y->state.event ? -1 : 1;
	if (x->suspect != y->suspect)
		return x->suspect < y->suspect ? -1 : 1;
	return (x->hash > y->hash) - (x->hash < y->hash);
}

/* Sorts the plan, and drops what a suspicion has twice. */
static void order_plan(struct crash_suspects *all)
{
	struct hmap seen = { 0 };
	size_t n = 0;
	if (all->plan.n)
		qsort(all->plan.p, all->plan.n, sizeof *all->plan.p, by_rank);
	for (size_t i = 0; i < all->plan.n; i++) {
		struct crash_plan *plan = &all->plan.p[i];
		uint64_t key = hash_mix(plan->hash, plan->suspect);
		if (hmap_get(&seen, key, NULL)) {
			crash_state_free(&plan->state);
			continue;
		}
		hmap_put(&seen, key, 1);
		all->plan.p[n++] = *plan;
	}
	all->plan.n = n;
	hmap_free(&seen);
}

void crash_suspects_plan(struct crash_suspects *all, const struct crash_history *h,
			 const struct crash_points *points)
{
	struct planner p = { .all = all, .h = h, .points = points };
	if (!all->v.n || all->plan.n)
		return;
	p.stores = xcalloc(all->v.n, sizeof *p.stores);
	crash_cursor_init(&p.at_state, h);
	collect(&p);
	for (uint32_t i = 0; i < all->v.n; i++) {
		all->v.p[i].stores = p.stores[i].open.n;
		if (p.stores[i].open.n)
			choose(&p.stores[i]);
		if (p.stores[i].open.n > 1)
			wish(&p, h->events, NOBODY, i, RANK_ALL);
		for (size_t k = 0; k < p.stores[i].chosen.n; k++)
			wish_moments(&p, &p.stores[i].chosen.p[k], i);
	}
	make_states(&p);
	order_plan(all);
	for (size_t i = 0; i < all->v.n; i++) {
		VEC_FREE(&p.stores[i].open);
		VEC_FREE(&p.stores[i].chosen);
	}
	free(p.stores);
	VEC_FREE(&p.wish);
	VEC_FREE(&p.at);
	crash_cursor_free(&p.at_state);
}
