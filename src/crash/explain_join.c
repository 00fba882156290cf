/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One bug shows in several ways where what is said is judged: what a store loses is missing in one place, and in another what
 * relies on it is wrong. Two causes are one bug if the same would mend both:
 *
 *	evidence                                                               what mends both
 *	both lose the same statement, and nothing persists it on purpose       persisting it
 *	both lose the same statement, and the same is wrong with it            likewise
 *	the same two statements make the difference, whichever is lost         making them take effect together
 *	one loses the store that ends the other, a window, and so shows again
 *	what began it, and the same is wrong                                   likewise
 *
 * A store that is persisted on purpose in one place, but late, and forgotten in another, is two: so are different statements,
 * though what is said may be the same.
 */
#include <stdlib.h>
#include <string.h>

#include "crash/explain.h"

#define MOST_SHOWN 4u /* of the other ways */

static bool is_said(const struct crash *c, const struct crash_cause *a)
{
	return a->verdict.verdict == RUNNER_DIFFERS && !a->flaky && a->lost.n &&
	       c->h->meta == CRASH_NO_FILE;
}

static bool same(struct crash *c, uint32_t piece, uint32_t other)
{
	return crash_same_statement(c, crash_piece_at(c->h, piece).place,
				    crash_piece_at(c->h, other).place);
}

/* Nothing persists what it loses on purpose. */
static bool forgets(const struct crash *c, const struct crash_cause *a)
{
	uint32_t lost = a->lost.p[0];
	return crash_is_abandoned(c->h, lost, crash_cover_of(c->h, lost));
}

static bool lose_the_same(struct crash *c, size_t i, size_t k, struct finding *const *f)
{
	const struct crash_cause *a = &c->cause.p[i], *b = &c->cause.p[k];
	if (a->prefix || b->prefix || !same(c, a->lost.p[0], b->lost.p[0]))
		return false;
	return f[i]->crash->because == f[k]->crash->because || (forgets(c, a) && forgets(c, b));
}

/* One that loses a store, whatever persists, has that one only. */
static bool same_two(struct crash *c, const struct crash_cause *a, const struct crash_cause *b)
{
	if (a->verdict.status != b->verdict.status)
		return false;
	uint32_t lost[] = { a->lost.p[0], b->lost.p[0] }, there[] = { a->persisted, b->persisted };
	for (int i = 0; i < 2; i++)
		there[i] = there[i] == UINT32_MAX ? lost[i] : there[i];
	return (same(c, lost[0], lost[1]) && same(c, there[0], there[1])) ||
	       (same(c, lost[0], there[1]) && same(c, there[0], lost[1]));
}

/* What is lost shows again what it replaced. */
static bool reopens(struct crash *c, const struct crash_cause *window,
		    const struct crash_cause *other)
{
	if (!window->prefix || other->prefix || window->persisted == UINT32_MAX ||
	    other->persisted != UINT32_MAX || window->verdict.status != other->verdict.status ||
	    !same(c, window->lost.p[0], other->lost.p[0]))
		return false;
	struct crash_piece began = crash_piece_at(c->h, window->persisted);
	struct crash_piece lost = crash_piece_at(c->h, other->lost.p[0]);
	return began.line == lost.line && began.off < lost.off + lost.len &&
	       lost.off < began.off + began.len;
}

/* Which of two ways tells more: of an operation that is gone; of a window, for those who open it again; of a store by itself; the first
 * that was found. */
static bool tells_more(struct crash *c, const struct crash_cause *a, const struct crash_cause *b)
{
	bool gone = a->verdict.status == CRASH_LOST, other = b->verdict.status == CRASH_LOST;
	if (gone != other)
		return gone;
	if (a->prefix != b->prefix)
		return a->prefix ? reopens(c, a, b) : !reopens(c, b, a);
	return a->persisted == UINT32_MAX && b->persisted != UINT32_MAX;
}

static bool are_one(struct crash *c, size_t i, size_t k, struct finding *const *f)
{
	const struct crash_cause *a = &c->cause.p[i], *b = &c->cause.p[k];
	return lose_the_same(c, i, k, f) || same_two(c, a, b) || reopens(c, a, b) ||
	       reopens(c, b, a);
}

/* All of a group have the number of its first. */
static void group(struct crash *c, struct finding *const *f, size_t *first)
{
	for (size_t i = 0; i < c->cause.n; i++) {
		first[i] = i;
		for (size_t k = 0; k < i && is_said(c, &c->cause.p[i]); k++) {
			if (first[k] == first[i] || !is_said(c, &c->cause.p[k]) ||
			    !are_one(c, i, k, f))
				continue;
			size_t from = first[i] > first[k] ? first[i] : first[k];
			size_t to = first[i] < first[k] ? first[i] : first[k];
			for (size_t m = 0; m <= i; m++)
				first[m] = first[m] == from ? to : first[m];
		}
	}
}

static void add_way(struct finding *kept, const struct finding *f)
{
	struct finding_related r = { .role = "also-shows", .event = f->event };
	size_t shown = 0;
	for (size_t i = 0; i < kept->related.n; i++)
		shown += !strcmp(kept->related.p[i].role, r.role);
	kept->crash->states += f->crash->states;
	kept->crash->recoveries += f->crash->recoveries;
	if (shown >= MOST_SHOWN || !strcmp(kept->message, f->message))
		return;
	r.message = xasprintf("%s: %s", f->kind->name, f->message);
	r.place = finding_place_clone(&f->place);
	VEC_PUSH(&kept->related, r);
}

void crash_join(struct crash *c, struct finding **f, size_t *best)
{
	size_t n = c->cause.n, *first = xcalloc(n + 1, sizeof *first);
	group(c, f, first);
	for (size_t i = 0; i < n; i++)
		best[i] = i;
	for (size_t i = 0; i < n; i++)
		if (tells_more(c, &c->cause.p[i], &c->cause.p[best[first[i]]]))
			best[first[i]] = i;
	for (size_t i = n; i-- > 0;)
		best[i] = best[first[i]];
	for (size_t i = 0; i < n; i++)
		if (best[i] != i)
			add_way(f[best[i]], f[i]);
	free(first);
}
