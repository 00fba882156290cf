/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a failing state to the few stores that explain it.
 *
 * If recovery fails although nothing is lost out of order, the program's own order of stores
 * passes through a state that it cannot handle: the window between the store that opens it and
 * the one that closes it. Otherwise lines are brought up to date, as many as possible, then the
 * rest store by store, then the crash is moved back, while recovery goes on failing: what is
 * left is a store that is lost, and the first later one whose persistence makes that fatal.
 */
#include <stdlib.h>
#include <string.h>

#include "crash/minimise.h"
#include "crash/window.h"

#define MOST_BESIDE 16u /* states in a window that are tried outside of it */

bool crash_search_spent(const struct search *s)
{
	return s->runs >= MOST_RUNS;
}

/* Does it fail, for whatever reason? */
static bool fails_how(struct search *s, const struct crash_state *state, struct crash_verdict *v)
{
	uint64_t before = s->c->counts.tested;
	if (s->broken || crash_search_spent(s))
		return false;
	if (crash_try(s->c, state, false, v, NULL, s->err)) {
		s->broken = true;
		return false;
	}
	/* neither what an earlier run knows nor what is under way by chance makes a difference */
	s->runs += crash_asked(s->c, state);
	s->c->counts.minimising += s->c->counts.tested > before;
	return crash_failed(s->c, state, *v);
}

bool crash_search_fails(struct search *s, const struct crash_state *state)
{
	struct crash_verdict v;
	uint32_t opens;
	if (s->apart && crash_window_open(s->c, &s->c->cause.p[s->apart - 1], state, &opens))
		return false;
	return fails_how(s, state, &v) && crash_same_way(&v, &s->verdict);
}

bool crash_search_prefix_fails(struct search *s, uint64_t event)
{
	struct crash_state p = { .event = event };
	return crash_search_fails(s, &p);
}

/* ---- lost lines ---- */

/* Brings lines up to date, first many at a time, then one by one. */
static void fewer_lines(struct search *s)
{
	struct crash_state less = { 0 };
	for (size_t chunk = s->state.at.n / 2; chunk; chunk /= 2)
		for (size_t i = 0; i < s->state.at.n && s->state.at.n > 1;) {
			size_t to = i + chunk < s->state.at.n ? i + chunk : s->state.at.n;
			crash_state_without(&s->state, i, to, &less);
			if (less.at.n && crash_search_fails(s, &less))
				crash_state_copy(&s->state, &less);
			else
				i = to;
		}
	crash_state_free(&less);
}

/* Loses as few stores of a line as possible: some version fails, the next one does not. */
static void newer_version(struct search *s, size_t i)
{
	struct crash_state more = { 0 };
	uint32_t line = s->state.at.p[i].line, bad = s->state.at.p[i].version, good;
	crash_cursor_move(&s->c->searching, s->state.event);
	good = s->c->searching.hi[line];
	crash_state_copy(&more, &s->state);
	while (good - bad > 1) {
		uint32_t mid = bad + (good - bad) / 2;
		more.at.p[i].version = mid;
		if (crash_search_fails(s, &more))
			bad = mid;
		else
			good = mid;
	}
	s->state.at.p[i].version = bad;
	crash_state_free(&more);
}

/* The same lines lost, but the crash before an earlier event; false if one is not lost yet. */
static bool earlier(struct search *s, uint64_t event, struct crash_state *out)
{
	out->event = event;
	out->at.n = 0;
	for (size_t i = 0; i < s->state.at.n; i++) {
		uint32_t line = s->state.at.p[i].line;
		if (crash_version_at(s->c->h, line, event) <= s->state.at.p[i].version)
			continue;
		VEC_PUSH(&out->at, s->state.at.p[i]);
	}
	return out->at.n > 0;
}

/* It fails as soon as the operation that made the first lost store has ended: nothing else need happen. */
static bool fails_at_end(struct search *s, struct crash_state *back)
{
	const struct crash_history *h = s->c->h;
	uint32_t lost;
	crash_first_loss(s->c->h, &s->state, &lost);
	uint64_t end = lost == UINT32_MAX ? UINT64_MAX : crash_operation_end(h, lost);
	return s->c->opts.listen && end < s->state.event && earlier(s, end + 1, back) &&
	       crash_search_fails(s, back);
}

/* It fails without the event at piece `i` as well, though not before it: that only marks when an operation was under way. */
static bool only_marks(struct search *s, size_t i)
{
	const struct crash_history *h = s->c->h;
	struct crash_state less = { 0 };
	size_t end = crash_event_end(h, i);
	crash_cursor_move(&s->c->searching, s->state.event);
	crash_state_copy(&less, &s->state);
	for (; i < end; i++) {
		uint32_t line = crash_piece_at(h, i).line;
		uint32_t version = crash_version_at(h, line, crash_piece_at(h, i).event);
		if (version < crash_state_get(&less, &s->c->searching, line))
			crash_state_set(&less, &s->c->searching, line, version);
	}
	bool marks = less.at.n > s->state.at.n && crash_search_fails(s, &less);
	crash_state_free(&less);
	return marks;
}

/*
 * Moves the crash back: `bad` pieces are there when it fails, `good` when it does not. Returns
 * the first piece of the event that makes the difference; UINT32_MAX if there is none, because
 * it fails as soon as the first store is lost.
 */
static uint32_t move_back(struct search *s)
{
	const struct crash_history *h = s->c->h;
	struct crash_state back = { 0 };
	size_t good, bad;
	if (fails_at_end(s, &back)) {
		crash_state_copy(&s->state, &back);
		crash_state_free(&back);
		return UINT32_MAX;
	}
	crash_cursor_move(&s->c->searching, crash_first_loss(s->c->h, &s->state, NULL) + 1);
	good = s->c->searching.piece;
	crash_cursor_move(&s->c->searching, s->state.event);
	bad = s->c->searching.piece;
	if (!earlier(s, crash_search_moment(h, good), &back) || crash_search_fails(s, &back)) {
		if (back.at.n)
			crash_state_copy(&s->state, &back);
		crash_state_free(&back);
		return UINT32_MAX;
	}
	if (good >= bad) { /* it is not a store that makes it fail */
		crash_state_free(&back);
		return UINT32_MAX;
	}
	bool close = false; /* nothing lies between the two */
	while (!crash_search_spent(s)) {
		size_t mid = crash_event_begin(h, good + (bad - good) / 2);
		if (mid <= good)
			mid = crash_event_end(h, good);
		close = mid >= bad;
		if (close)
			break;
		if (earlier(s, crash_search_moment(h, mid), &back) && crash_search_fails(s, &back))
			bad = mid;
		else
			good = mid;
	}
	/* where an operation must have ended first, it does not fail that early */
	bool early = close && earlier(s, crash_search_moment(h, bad), &back) &&
		     (!s->c->opts.listen || crash_search_fails(s, &back));
	if (early)
		crash_state_copy(&s->state, &back);
	crash_state_free(&back);
	return early && !(s->c->opts.listen && only_marks(s, good)) ? (uint32_t)good : UINT32_MAX;
}

/*
 * The stores of a line that matter. The first lost one is that without which it does not fail;
 * those after it are lost as well, by order of the line. If it fails too when the line lacks
 * everything that is not guaranteed, so are those before it; if not, it is their presence
 * that makes it fail.
 */
static void list_lost(struct search *s, struct crash_cause *cause, size_t i)
{
	const struct crash_history *h = s->c->h;
	struct crash_at at = s->state.at.p[i];
	struct crash_state all = { 0 };
	uint32_t lo, hi;
	VEC_PUSH(&cause->lost, crash_piece_index(h, at.line, at.version + 1));
	crash_cursor_move(&s->c->searching, s->state.event);
	lo = s->c->searching.lo[at.line];
	hi = s->c->searching.hi[at.line];
	crash_state_copy(&all, &s->state);
	all.at.p[i].version = lo;
	if (lo < at.version && crash_search_fails(s, &all))
		for (uint32_t k = lo; k < at.version; k++)
			VEC_PUSH(&cause->also, crash_piece_index(h, at.line, k + 1));
	else if (lo < at.version)
		VEC_PUSH(&cause->with, crash_piece_index(h, at.line, at.version));
	for (uint32_t k = at.version + 1; k < hi; k++)
		VEC_PUSH(&cause->also, crash_piece_index(h, at.line, k + 1));
	crash_state_free(&all);
}

/* The store that closes a window may be lost as well as come late, which a recovery that can do with the window would not make good. */
static bool is_forgotten(const struct search *s, uint64_t event)
{
	uint32_t lost;
	crash_first_loss(s->c->h, &s->state, &lost);
	return lost != UINT32_MAX && event > crash_forgotten_at(s->c->h, lost);
}

static void find_pair(struct search *s, struct crash_cause *cause)
{
	struct crash_state late = { 0 };
	uint64_t first;
	fewer_lines(s);
	for (size_t i = 0; i < s->state.at.n; i++)
		newer_version(s, i);
	crash_state_copy(&late, &s->state);
	cause->persisted = move_back(s);
	fewer_lines(s);
	first = crash_first_loss(s->c->h, &s->state, NULL);
	if (cause->persisted == UINT32_MAX && crash_search_prefix_fails(s, first)) {
		if (!is_forgotten(s, late.event)) {
			s->state.event = first;
			crash_search_window(s, cause);
			crash_state_free(&late);
			return;
		}
		if (!is_forgotten(s, s->state.event))
			crash_state_copy(&s->state, &late);
	}
	crash_state_free(&late);
	for (size_t i = 0; i < s->state.at.n; i++)
		list_lost(s, cause, i);
	if (cause->persisted == UINT32_MAX && cause->with.n)
		cause->persisted = cause->with.p[0]; /* a store that is torn, or part of a line */
	else if (cause->persisted != UINT32_MAX)
		cause->neither = crash_search_prefix_fails(
			s, crash_piece_at(s->c->h, cause->persisted).event);
}

/* ---- known causes ---- */

/*
 * Is it a known cause again? If it contains one, and no longer fails when that one's lost lines are up to date, it is:
 * its number, or SIZE_MAX. The search then has what is left to explain otherwise.
 */
static size_t recognise(struct search *s)
{
	struct crash *c = s->c;
	struct crash_state healed = { 0 };
	size_t found = SIZE_MAX;
	for (size_t i = 0; i < c->cause.n && found == SIZE_MAX && !s->broken; i++) {
		const struct crash_cause *cause = &c->cause.p[i];
		struct crash_verdict v;
		if (!crash_cause_fails_so(cause, s->verdict))
			continue;
		if (cause->prefix && s->apart)
			continue;
		if (cause->prefix) {
			if (crash_in_window(c, cause, &s->state) &&
			    (!s->state.at.n || crash_search_prefix_fails(s, s->state.event)))
				found = i;
			continue;
		}
		if (!crash_cause_in(c, cause, &s->state) ||
		    !crash_heal(c, cause, &s->state, &healed))
			continue;
		if (!fails_how(s, &healed, &v) || !crash_cause_fails_so(cause, v)) {
			found = i;
			continue;
		}
		crash_state_copy(&s->state, &healed);
		s->verdict = v;
	}
	crash_state_free(&healed);
	return found;
}

/* ---- all together ---- */

static int confirm(struct search *s, struct crash_cause *cause)
{
	struct crash_verdict v;
	if (crash_try(s->c, &cause->state, true, &v, &cause->output, s->err))
		return -1;
	if ((s->hasty = crash_was_hasty(s->c, s->verdict, v)))
		return 0;
	cause->flaky = v.verdict != s->verdict.verdict || v.status != s->verdict.status;
	cause->verdict.said = v.said;
	s->c->counts.flaky += cause->flaky;
	if (v.verdict == RUNNER_DIFFERS)
		return crash_judge_explain(s->c, &cause->state, &cause->output, s->err);
	return 0;
}

/* Finds the cause, and adds it to what is known: its number, or SIZE_MAX: it is broken, or a hang is none. */
static size_t find_cause(struct search *s)
{
	struct crash_cause cause = { .verdict = s->verdict, .count = 1 };
	if (!s->state.at.n || crash_search_prefix_fails(s, s->state.event))
		crash_search_window(s, &cause);
	else
		find_pair(s, &cause);
	cause.state = s->state;
	s->state = (struct crash_state){ 0 };
	cause.recoveries = s->runs;
	if (s->apart && !cause.prefix &&
	    !crash_stands_apart(s->c, &s->c->cause.p[s->apart - 1], &cause)) {
		crash_cause_free(&cause);
		return SIZE_MAX;
	}
	s->broken = s->broken || confirm(s, &cause);
	if (s->broken || s->hasty) {
		crash_cause_free(&cause);
		return SIZE_MAX;
	}
	if (s->verdict.verdict == RUNNER_CRASHED && !cause.flaky)
		cause.backtrace = crash_backtrace(s->c, &cause.state, s->err);
	return crash_cause_add(s->c, &cause);
}

static size_t explain_once(struct search *s)
{
	size_t known = recognise(s);
	if (s->broken || known == SIZE_MAX)
		return s->broken ? SIZE_MAX : find_cause(s);
	crash_cause_count(s->c, known);
	return known;
}

/* The cause's number; SIZE_MAX: it is broken, or recovery was only slow, and does not fail. */
static size_t explain(struct search *s)
{
	struct crash_state state = { 0 };
	crash_state_copy(&state, &s->state);
	s->hasty = s->verdict.hasty && s->c->patient;
	size_t cause = s->hasty ? SIZE_MAX : explain_once(s);
	if (s->hasty) { /* from the beginning, and nothing that was hasty counts */
		s->hasty = false;
		s->runs = 0;
		crash_state_copy(&s->state, &state);
		s->broken = crash_try(s->c, &state, true, &s->verdict, NULL, s->err);
		if (!s->broken && crash_failed(s->c, &state, s->verdict))
			cause = explain_once(s);
	}
	crash_state_free(&state);
	return cause;
}

/* Is there more than the window in a state that loses something? */
static int look_beside(struct crash *c, size_t window, const struct crash_state *state,
		       struct err *err)
{
	struct search s = { .c = c, .err = err };
	struct crash_cause *cause = &c->cause.p[window];
	if (cause->beside < MOST_BESIDE && crash_leave_window(c, cause, state, &s.state)) {
		cause->beside++;
		if (fails_how(&s, &s.state, &s.verdict) &&
		    !crash_search_prefix_fails(&s, s.state.event))
			explain(&s);
	}
	crash_state_free(&s.state);
	return s.broken ? -1 : 0;
}

/* A state at a time when the window is open, but without the store that opens it: something else is wrong. */
static int look_apart(struct crash *c, size_t window, const struct crash_state *state,
		      struct crash_verdict v, struct err *err)
{
	struct search s = { .c = c, .verdict = v, .apart = window + 1, .err = err };
	if (c->cause.p[window].beside >= MOST_BESIDE)
		return 0;
	crash_state_copy(&s.state, state);
	if (explain(&s) == SIZE_MAX)
		c->cause.p[window].beside++;
	crash_state_free(&s.state);
	return s.broken ? -1 : 0;
}

int crash_explain_state(struct crash *c, const struct crash_state *state, struct crash_verdict v,
			struct err *err)
{
	struct search s = { .c = c, .verdict = v, .err = err };
	crash_state_copy(&s.state, state);
	size_t cause = explain(&s);
	crash_state_free(&s.state);
	if (s.broken)
		return -1;
	if (cause == SIZE_MAX) {
		c->counts.failed--;
		return 0;
	}
	if (!c->cause.p[cause].prefix)
		return 0;
	uint32_t opens;
	crash_window_proved(c, cause, state->event);
	if (crash_window_open(c, &c->cause.p[cause], state, &opens))
		return state->at.n ? look_beside(c, cause, state, err) : 0;
	return opens != UINT32_MAX ? look_apart(c, cause, state, v, err) : 0;
}
