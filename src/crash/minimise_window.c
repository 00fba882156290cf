/* SPDX-License-Identifier: BSD-3-Clause */
/* The window in which everything in program order fails: the store that opens it, and the one that closes it. */
#include "crash/minimise.h"

#define FAR 200000u /* pieces to look at for the end of a window */

uint64_t crash_search_moment(const struct crash_history *h, size_t n)
{
	uint64_t at = n ? crash_piece_at(h, n - 1).event + 1 : 0;
	return at > h->start ? at : h->start;
}

/*
 * Pieces [0, n) are there in a prefix. From one n to another, of which exactly one fails, find
 * neighbouring events between which it changes. Returns the first piece of the later event; UINT32_MAX: not known.
 */
static size_t boundary(struct search *s, size_t good, size_t bad)
{
	const struct crash_history *h = s->c->h;
	while (!crash_search_spent(s)) {
		size_t lo = good < bad ? good : bad, hi = good < bad ? bad : good;
		size_t mid = crash_event_begin(h, lo + (hi - lo) / 2);
		if (mid <= lo)
			mid = crash_event_end(h, lo);
		if (mid >= hi)
			return lo;
		if (crash_search_prefix_fails(s, crash_search_moment(h, mid)))
			bad = mid;
		else
			good = mid;
	}
	return UINT32_MAX;
}

static uint32_t window_begin(struct search *s, size_t n)
{
	const struct crash_history *h = s->c->h;
	size_t step = 1, good = n;
	while (good) {
		good = crash_event_begin(h, good > step ? good - step : 0);
		if (!crash_search_prefix_fails(s, crash_search_moment(h, good)))
			break;
		n = good;
		step *= 2;
	}
	return n == good ? UINT32_MAX : (uint32_t)boundary(s, good, n);
}

static uint32_t window_end(struct search *s, size_t n)
{
	const struct crash_history *h = s->c->h;
	size_t step = 1, bad = n, good;
	for (; step < FAR; step *= 2) {
		if (bad >= h->pieces)
			return UINT32_MAX;
		good = bad + step < h->pieces ? crash_event_end(h, bad + step - 1) : h->pieces;
		if (!crash_search_prefix_fails(s, crash_search_moment(h, good)))
			return (uint32_t)boundary(s, good, bad);
		bad = good;
	}
	return UINT32_MAX;
}

/* With n pieces there, except that one is lost, and what follows it in its line. */
static bool fails_without(struct search *s, uint32_t piece, size_t n)
{
	struct crash_state state = { .event = crash_search_moment(s->c->h, n) };
	uint32_t line = crash_piece_at(s->c->h, piece).line;
	bool bad;
	crash_cursor_move(&s->c->searching, state.event);
	crash_state_set(&state, &s->c->searching, line,
			crash_version_at(s->c->h, line, crash_piece_at(s->c->h, piece).event));
	bad = crash_search_fails(s, &state);
	crash_state_free(&state);
	return bad;
}

void crash_search_window(struct search *s, struct crash_cause *cause)
{
	const struct crash_history *h = s->c->h;
	uint32_t end;
	size_t n;
	crash_cursor_move(&s->c->searching, s->state.event);
	n = s->c->searching.piece;
	cause->prefix = true;
	cause->persisted = window_begin(s, n);
	if (cause->persisted != UINT32_MAX)
		n = crash_event_end(h, cause->persisted);
	end = window_end(s, n);
	if (end != UINT32_MAX)
		VEC_PUSH(&cause->lost, end);
	if (end != UINT32_MAX && cause->persisted != UINT32_MAX &&
	    crash_piece_at(h, cause->persisted).line != crash_piece_at(h, end).line &&
	    crash_own_store(s->c, cause->persisted) && crash_own_store(s->c, end))
		cause->wrong_order = !fails_without(s, cause->persisted, crash_event_end(h, end));
	s->state.event = crash_search_moment(h, n);
	s->state.at.n = 0;
}
