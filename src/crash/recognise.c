/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Known causes in new states.
 *
 * A failing state is first compared with what is known: if it contains a cause, and no longer fails when the lines that the cause
 * loses are up to date, it is the same again; if it goes on failing, what is left is looked at. A cause that was seen three times is
 * taken out of the states that `auto` makes before they are tested: they are tested for what else is wrong.
 *
 * A window, in which the program's own order of stores fails, may hide what else is wrong between its two stores. So a state
 * there which loses something is tried at the window's end as well, and once the window is proved to be open there, nowhere else:
 *
 *	      opens               closes
 *	────────┃────────●───────────┃─▲──▶        ● fails, and so does everything in program order
 *	                 lost: a       └ does it fail here, where program order does not? Then the loss of a is another cause
 */
#include <stdlib.h>

#include "crash/window.h"

/* ---- the same cause ---- */

/* Stores that the same statement flushes are one object: losing any of them is one cause. */
static bool same_lost(struct crash *c, const struct crash_cause *a, const struct crash_cause *b)
{
	uint32_t fa, fb;
	if (!a->lost.n || !b->lost.n) /* where a window ends is not always found */
		return a->lost.n == b->lost.n || (a->prefix && a->persisted != UINT32_MAX);
	if (crash_same_statement(c, crash_piece_at(c->h, a->lost.p[0]).place,
				 crash_piece_at(c->h, b->lost.p[0]).place))
		return true;
	fa = crash_flush_of(c->h, a->lost.p[0]);
	fb = crash_flush_of(c->h, b->lost.p[0]);
	return !a->prefix && fa != UINT32_MAX && fb != UINT32_MAX &&
	       crash_same_statement(c, fa, fb);
}

static bool same_persisted(struct crash *c, const struct crash_cause *a,
			   const struct crash_cause *b)
{
	if (a->persisted == UINT32_MAX || b->persisted == UINT32_MAX)
		return a->persisted == b->persisted;
	return crash_same_statement(c, crash_piece_at(c->h, a->persisted).place,
				    crash_piece_at(c->h, b->persisted).place);
}

bool crash_cause_fails_so(const struct crash_cause *a, struct crash_verdict v)
{
	return a->verdict.verdict == v.verdict && a->verdict.status == v.status;
}

void crash_cause_count(struct crash *c, size_t i)
{
	struct crash_cause *cause = &c->cause.p[i];
	if (++cause->count == CRASH_SURE)
		cause->sure = c->settling + 1;
}

/* One object, of which now this, now that is lost: the place that was not known yet is told as well, as it was made before `old`'s crash. */
static void add_lost(struct crash *c, struct crash_cause *old, const struct crash_cause *cause)
{
	size_t i = old->persisted;
	if (old->prefix || i == UINT32_MAX || !cause->lost.n ||
	    crash_same_statement(c, crash_piece_at(c->h, cause->lost.p[0]).place,
				 crash_piece_at(c->h, old->lost.p[0]).place))
		return;
	size_t far = i < CRASH_NEAR_PIECES ? 0 : i - CRASH_NEAR_PIECES;
	while (i-- > far)
		if (crash_same_statement(c, crash_piece_at(c->h, i).place,
					 crash_piece_at(c->h, cause->lost.p[0]).place)) {
			VEC_PUSH(&old->also, (uint32_t)i); /* those of a statement are told once */
			return;
		}
}

/* A window whose end was not known yet. */
static void add_end(struct crash_cause *old, const struct crash_cause *cause)
{
	if (!old->prefix || old->lost.n || !cause->lost.n)
		return;
	VEC_PUSH(&old->lost, cause->lost.p[0]);
	old->wrong_order = cause->wrong_order;
}

size_t crash_cause_add(struct crash *c, struct crash_cause *cause)
{
	for (size_t i = 0; i < c->cause.n; i++) {
		struct crash_cause *old = &c->cause.p[i];
		if (old->prefix == cause->prefix && crash_cause_fails_so(old, cause->verdict) &&
		    same_lost(c, old, cause) && same_persisted(c, old, cause)) {
			crash_cause_count(c, i);
			add_lost(c, old, cause);
			add_end(old, cause);
			old->recoveries += cause->recoveries;
			crash_cause_free(cause);
			return i;
		}
	}
	VEC_PUSH(&c->cause, *cause);
	c->counts.causes = c->cause.n;
	return c->cause.n - 1;
}

/* ---- before a state is tested ---- */

/* Whatever was settled by the time that state `seq` is made, however quick recovery was; `when` is the number of the state
 * that settled it, and 1. */
static bool is_certain(const struct crash *c, uint64_t when, uint64_t seq)
{
	return when <= c->certain || when + CRASH_WINDOW < seq;
}

static bool is_sure(const struct crash *c, const struct crash_cause *cause, uint64_t seq)
{
	return cause->sure && is_certain(c, cause->sure, seq);
}

bool crash_contains_hang(struct crash *c, const struct crash_state *s, uint64_t seq)
{
	for (size_t i = 0; i < c->cause.n; i++) {
		const struct crash_cause *cause = &c->cause.p[i];
		if (cause->verdict.verdict == RUNNER_HUNG && is_sure(c, cause, seq) &&
		    (crash_cause_in(c, cause, s) || crash_has_opened(c, cause, s)))
			return true;
	}
	return false;
}

/* ---- beside a window ---- */

/* The first store of a statement among the next pieces, from `from` on; UINT32_MAX: none. */
static uint32_t next_of(struct crash *c, size_t from, uint32_t example)
{
	size_t end =
		c->h->pieces - from < CRASH_NEAR_PIECES ? c->h->pieces : from + CRASH_NEAR_PIECES;
	for (size_t i = from; i < end; i++)
		if (crash_same_statement(c, crash_piece_at(c->h, i).place,
					 crash_piece_at(c->h, example).place))
			return (uint32_t)i;
	return UINT32_MAX;
}

bool crash_leave_window(struct crash *c, const struct crash_cause *window,
			const struct crash_state *s, struct crash_state *out)
{
	uint32_t closes;
	if (!window->prefix || !window->lost.n)
		return false;
	crash_cursor_move(&c->searching, s->event);
	closes = next_of(c, c->searching.piece, window->lost.p[0]);
	if (closes == UINT32_MAX)
		return false;
	out->event = crash_piece_at(c->h, closes).event + 1;
	out->at.n = 0;
	crash_cursor_move(&c->searching, out->event);
	for (size_t i = 0; i < s->at.n; i++) {
		struct crash_at at = s->at.p[i];
		if (at.version >= c->searching.lo[at.line] && at.version < c->searching.hi[at.line])
			VEC_PUSH(&out->at, at);
	}
	return out->at.n > 0;
}

/* A lost store of the statement that closes the window, where this state has opened one before it. */
static bool leaves_open(struct crash *c, const struct crash_cause *window,
			const struct crash_cause *cause, uint32_t piece)
{
	struct crash_state then = cause->state;
	uint32_t opens;
	then.event = crash_piece_at(c->h, piece).event;
	return window->lost.n &&
	       crash_same_statement(c, crash_piece_at(c->h, piece).place,
				    crash_piece_at(c->h, window->lost.p[0]).place) &&
	       crash_window_open(c, window, &then, &opens);
}

bool crash_stands_apart(struct crash *c, const struct crash_cause *window,
			struct crash_cause *cause)
{
	uint32_t opens, line = UINT32_MAX;
	size_t left = 0;
	crash_window_open(c, window, &cause->state, &opens);
	if (opens != UINT32_MAX)
		line = crash_piece_at(c->h, opens).line;
	for (size_t i = 0; i < cause->lost.n; i++) {
		uint32_t piece = cause->lost.p[i];
		if (crash_piece_at(c->h, piece).line == line)
			cause->apart = piece + UINT64_C(1);
		else if (!leaves_open(c, window, cause, piece))
			cause->lost.p[left++] = piece;
	}
	cause->lost.n = left;
	return left && cause->persisted != UINT32_MAX && cause->lost.p[0] < cause->persisted;
}

/* ---- healing ---- */

static uint64_t window_key(size_t window, uint32_t opens)
{
	return hash_mix(window, opens);
}

void crash_window_proved(struct crash *c, size_t window, uint64_t event)
{
	struct crash_state prefix = { .event = event };
	uint32_t opens;
	if (crash_window_open(c, &c->cause.p[window], &prefix, &opens) &&
	    !hmap_get(&c->window, window_key(window, opens), NULL))
		hmap_put(&c->window, window_key(window, opens), c->settling + 1);
}

/* Where this window is known to be open everything fails, and shows nothing: the state is tried where it has just closed. */
static bool heal_window(struct crash *c, size_t window, struct crash_state *s, uint64_t seq,
			struct crash_state *healed)
{
	uint32_t opens;
	uint64_t proved;
	healed->event = 0;
	if (!crash_window_open(c, &c->cause.p[window], s, &opens) ||
	    !hmap_get(&c->window, window_key(window, opens), &proved) ||
	    !is_certain(c, proved, seq))
		return false;
	return crash_leave_window(c, &c->cause.p[window], s, healed) || healed->event;
}

static bool heal_one(struct crash *c, size_t i, struct crash_state *s, uint64_t seq,
		     struct crash_state *healed)
{
	const struct crash_cause *cause = &c->cause.p[i];
	if (cause->flaky)
		return false;
	if (cause->prefix)
		return heal_window(c, i, s, seq, healed);
	return s->at.n && is_sure(c, cause, seq) && crash_cause_in(c, cause, s) &&
	       crash_heal(c, cause, s, healed);
}

void crash_heal_known(struct crash *c, struct crash_state *s, uint64_t seq)
{
	struct crash_state healed = { 0 };
	for (size_t i = 0; i < c->cause.n; i++)
		if (heal_one(c, i, s, seq, &healed))
			crash_state_copy(s, &healed);
	crash_state_free(&healed);
}
