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

#include "crash/internal.h"

#define FAR 200000u     /* pieces to look at for the end of a window */
#define MOST_RUNS 40u   /* recoveries for one cause; what is not known by then stays unknown */
#define MOST_BESIDE 16u /* states in a window that are tried outside of it */

/* The search for one cause. */
struct search {
	struct crash *c;
	struct crash_state state; /* the smallest failing one so far */
	struct crash_verdict verdict;
	uint64_t runs;
	struct err *err;
	bool broken;
	bool hasty; /* it does not hang at all */
};

/* It must make do with what it knows: from now on nothing is run, and everything seems fine. */
static bool is_spent(const struct search *s)
{
	return s->runs >= MOST_RUNS;
}

/* Does it fail, for whatever reason? */
static bool fails_how(struct search *s, const struct crash_state *state, struct crash_verdict *v)
{
	uint64_t before = s->c->counts.tested;
	if (s->broken || is_spent(s))
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

/* Does it fail in the same way? */
static bool fails(struct search *s, const struct crash_state *state)
{
	struct crash_verdict v;
	return fails_how(s, state, &v) && crash_same_way(&v, &s->verdict);
}

static bool prefix_fails(struct search *s, uint64_t event)
{
	struct crash_state p = { .event = event };
	return fails(s, &p);
}

/* ---- the window ---- */

/* The earliest moment at which n pieces are there: no later fence has guaranteed any of them. Before
 * there is PM nothing is crashed, though files may have been written. */
static uint64_t moment(const struct crash_history *h, size_t n)
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
	while (!is_spent(s)) {
		size_t lo = good < bad ? good : bad, hi = good < bad ? bad : good;
		size_t mid = crash_event_begin(h, lo + (hi - lo) / 2);
		if (mid <= lo)
			mid = crash_event_end(h, lo);
		if (mid >= hi)
			return lo;
		if (prefix_fails(s, moment(h, mid)))
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
		if (!prefix_fails(s, moment(h, good)))
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
		if (!prefix_fails(s, moment(h, good)))
			return (uint32_t)boundary(s, good, bad);
		bad = good;
	}
	return UINT32_MAX;
}

/* With n pieces there, except that one is lost, and what follows it in its line. */
static bool fails_without(struct search *s, uint32_t piece, size_t n)
{
	struct crash_state state = { .event = moment(s->c->h, n) };
	uint32_t line = crash_piece_at(s->c->h, piece).line;
	bool bad;
	crash_cursor_move(&s->c->searching, state.event);
	crash_state_set(&state, &s->c->searching, line,
			crash_version_at(s->c->h, line, crash_piece_at(s->c->h, piece).event));
	bad = fails(s, &state);
	crash_state_free(&state);
	return bad;
}

static void find_window(struct search *s, struct crash_cause *cause)
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
	s->state.event = moment(h, n);
	s->state.at.n = 0;
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
			if (less.at.n && fails(s, &less))
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
		if (fails(s, &more))
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
	       fails(s, back);
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
	bool marks = less.at.n > s->state.at.n && fails(s, &less);
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
	if (!earlier(s, moment(h, good), &back) || fails(s, &back)) {
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
	while (!is_spent(s)) {
		size_t mid = crash_event_begin(h, good + (bad - good) / 2);
		if (mid <= good)
			mid = crash_event_end(h, good);
		close = mid >= bad;
		if (close)
			break;
		if (earlier(s, moment(h, mid), &back) && fails(s, &back))
			bad = mid;
		else
			good = mid;
	}
	/* where an operation must have ended first, it does not fail that early */
	bool early = close && earlier(s, moment(h, bad), &back) &&
		     (!s->c->opts.listen || fails(s, &back));
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
	if (lo < at.version && fails(s, &all))
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
	if (cause->persisted == UINT32_MAX && prefix_fails(s, first)) {
		if (!is_forgotten(s, late.event)) {
			s->state.event = first;
			find_window(s, cause);
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
		cause->neither = prefix_fails(s, crash_piece_at(s->c->h, cause->persisted).event);
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
		if (cause->prefix) {
			if (crash_in_window(c, cause, &s->state) &&
			    (!s->state.at.n || prefix_fails(s, s->state.event)))
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
	if (!s->state.at.n || prefix_fails(s, s->state.event))
		find_window(s, &cause);
	else
		find_pair(s, &cause);
	cause.state = s->state;
	s->state = (struct crash_state){ 0 };
	cause.recoveries = s->runs;
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
		if (fails_how(&s, &s.state, &s.verdict) && !prefix_fails(&s, s.state.event))
			explain(&s);
	}
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
	return state->at.n && c->cause.p[cause].prefix ? look_beside(c, cause, state, err) : 0;
}
