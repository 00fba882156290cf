/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores that are suspected to be missing a flush or a fence, and what their loss showed.
 *
 * A cause proves a suspicion if all that it takes to fail is the loss of suspected stores that nothing
 * made persistent by the end of their operation. It does not matter which strategy made the state
 * that led to it. A state of the plan (suspect_plan.c) proves it, too, if it lacks suspected stores and no
 * others, recovery fails, and with nothing lost it does not; its cause may be called an atomicity, where a
 * crash before the store was made fails as well. A suspicion is refuted only by states of
 * the plan: each that was tested loses these stores, and recovery handles it.
 */
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"

#define MOST_NAMED 8u /* lost stores of a state */

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

void crash_suspects_add(struct crash_suspects *all, const struct crash_history *h,
			const struct finding_store *store, size_t n, uint64_t event)
{
	struct crash_suspect s = { .event = event };
	for (size_t i = 0; i < n; i++) {
		uint32_t place = crash_place_find(h, store[i].process, store[i].site, store[i].ctx);
		if (place != UINT32_MAX)
			VEC_PUSH(&s.place, place);
	}
	if (s.place.n)
		qsort(s.place.p, s.place.n, sizeof *s.place.p, by_number);
	VEC_PUSH(&all->v, s);
}

void crash_suspects_free(struct crash_suspects *all)
{
	for (size_t i = 0; i < all->v.n; i++) {
		VEC_FREE(&all->v.p[i].place);
		VEC_FREE(&all->v.p[i].statement);
		if (all->v.p[i].own)
			crash_cause_free(all->v.p[i].own);
		free(all->v.p[i].own);
	}
	for (size_t i = 0; i < all->plan.n; i++)
		crash_state_free(&all->plan.p[i].state);
	VEC_FREE(&all->v);
	VEC_FREE(&all->plan);
}

void crash_suspect(struct crash *c, const struct finding_store *store, size_t n, uint64_t event)
{
	crash_suspects_add(&c->suspects, c->h, store, n, event);
}

/* ---- what came of it ---- */

/* One place stands for all of its statement. */
static void find_statements(struct crash *c, struct crash_suspect *s)
{
	for (size_t i = 0, k; i < s->place.n; i++) {
		for (k = 0; k < s->statement.n; k++)
			if (crash_same_statement(c, s->statement.p[k], s->place.p[i]))
				break;
		if (k == s->statement.n)
			VEC_PUSH(&s->statement, s->place.p[i]);
	}
}

static bool is_suspected(struct crash *c, struct crash_suspect *s, uint32_t place)
{
	if (!s->statement.n)
		find_statements(c, s);
	for (size_t i = 0; i < s->statement.n; i++)
		if (crash_same_statement(c, place, s->statement.p[i]))
			return true;
	return false;
}

static bool proves(struct crash *c, const struct crash_cause *cause, struct crash_suspect *s)
{
	if (cause->prefix || cause->flaky || !cause->lost.n)
		return false;
	for (size_t i = 0; i < cause->lost.n; i++) {
		struct crash_piece p = crash_piece_at(c->h, cause->lost.p[i]);
		if (!is_suspected(c, s, p.place) ||
		    (p.event != s->event &&
		     !crash_is_abandoned(c->h, cause->lost.p[i],
					 crash_cover_of(c->h, cause->lost.p[i]))))
			return false;
	}
	return true;
}

/* ---- states that are proof enough ---- */

/* Lists the first lost store of each line; false: some that is lost is not suspected. */
static bool list_lost(struct crash *c, struct crash_suspect *s, const struct crash_state *state,
		      struct crash_cause *out)
{
	crash_cursor_move(&c->searching, state->event);
	for (size_t i = 0; i < state->at.n; i++) {
		const struct crash_at *at = &state->at.p[i];
		for (uint32_t k = at->version + 1; k <= c->searching.hi[at->line]; k++)
			if (!is_suspected(c, s, crash_piece_of(c->h, at->line, k).place))
				return false;
		if (out->lost.n < MOST_NAMED)
			VEC_PUSH(&out->lost, crash_piece_index(c->h, at->line, at->version + 1));
	}
	return true;
}

/* Is the state a proof? It is run once more, for what recovery says, and to be sure. */
static int try_state(struct crash *c, struct crash_suspect *s, const struct crash_plan *p,
		     struct err *err)
{
	struct crash_cause own = { .persisted = UINT32_MAX, .count = 1, .recoveries = 1 };
	struct crash_state prefix = { .event = p->state.event };
	struct crash_verdict before, whole;
	int bad = 0;
	if (!crash_known_state(c, &p->state, p->hash, &before) ||
	    !crash_failed(c, &p->state, before) || !list_lost(c, s, &p->state, &own)) {
		crash_cause_free(&own);
		return 0;
	}
	crash_state_copy(&own.state, &p->state);
	bad = crash_try(c, &prefix, false, &whole, NULL, err) ||
	      crash_try(c, &own.state, true, &own.verdict, &own.output, err);
	if (bad || whole.verdict != RUNNER_OK || own.verdict.verdict != before.verdict ||
	    own.verdict.status != before.status) {
		crash_cause_free(&own);
		return bad ? -1 : 0;
	}
	s->own = xmalloc(sizeof *s->own);
	*s->own = own;
	return 0;
}

static bool has_cause(struct crash *c, struct crash_suspect *s)
{
	for (size_t i = 0; i < c->cause.n; i++)
		if (proves(c, &c->cause.p[i], s))
			return true;
	return false;
}

int crash_suspects_confirm(struct crash *c, struct err *err)
{
	for (size_t i = 0; i < c->suspects.v.n; i++) {
		struct crash_suspect *s = &c->suspects.v.p[i];
		if (has_cause(c, s))
			continue;
		for (size_t k = c->suspects.plan.n; k-- > 0 && !s->own;)
			if (c->suspects.plan.p[k].suspect == i &&
			    try_state(c, s, &c->suspects.plan.p[k], err))
				return -1;
	}
	return 0;
}

/* ---- all together ---- */

/* Suspected stores are lost in a cause that does not prove the suspicion. */
static bool has_part(struct crash *c, const struct crash_cause *cause, struct crash_suspect *s)
{
	for (size_t i = 0; i < cause->lost.n && !cause->prefix; i++)
		if (is_suspected(c, s, crash_piece_at(c->h, cause->lost.p[i]).place))
			return true;
	return false;
}

/* What else made a planned state fail. */
static const struct finding *explanation(struct crash *c, const struct crash_state *state)
{
	for (size_t i = 0; i < c->told.n && i < c->cause.n; i++)
		if (crash_cause_in(c, &c->cause.p[i], state))
			return c->told.p[i];
	return NULL;
}

static void count_states(struct crash *c, size_t suspect, struct crash_proof *out)
{
	for (size_t i = 0; i < c->suspects.plan.n; i++) {
		const struct crash_plan *p = &c->suspects.plan.p[i];
		struct crash_verdict v;
		if (p->suspect != suspect)
			continue;
		out->planned++;
		if (!crash_known_state(c, &p->state, p->hash, &v))
			continue;
		out->tested++;
		out->accepted += v.verdict == RUNNER_OK;
		if (!crash_failed(c, &p->state, v))
			continue;
		out->failed++;
		if (!out->other)
			out->other = explanation(c, &p->state);
	}
}

void crash_proof(struct crash *c, size_t suspect, struct crash_proof *out)
{
	struct crash_suspect *s = &c->suspects.v.p[suspect];
	*out = (struct crash_proof){ .stores = s->stores, .lost = s->lost };
	count_states(c, suspect, out);
	for (size_t i = 0; i < c->told.n && i < c->cause.n; i++)
		if (proves(c, &c->cause.p[i], s))
			VEC_PUSH(&out->finding, c->told.p[i]);
		else if (!out->part && has_part(c, &c->cause.p[i], s))
			out->part = c->told.p[i];
	if (s->own && !out->finding.n)
		out->own = crash_cause_finding(c, s->own);
}
