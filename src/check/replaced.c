/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores that nobody persists before others overwrite them: a field that is set when its object is made, say, and
 * not flushed with it. In the end the file is right, for those who change the field later persist it; until then a
 * crash loses it.
 *
 * The thread has gone through a fence with the store open; whoever overwrites it is neither the function that
 * stored, nor works for it or for its caller; and persists what it stores there. Within such a circle
 * it may be that a value is first made and then replaced, in a new object, say. Not so with one word at a
 * fixed place that had been persisted before, and that those who overwrite it flush for its own sake: the flag or the
 * count of a log.
 */
#include "check/internal.h"

#define OFTEN 3

void check_note_replaced(struct oracle_state *u, const struct model_step *s)
{
	const struct model_line *l = s->line;
	uint64_t old = l->open & ~model_flight(u->check->model, l)->same & s->mask;
	if (!old || s->ev->flags & TRACE_F_ATOMIC || s->thread->tx ||
	    model_ops(u->check->model)->unit > TRACE_LINE)
		return;
	MODEL_EACH_WORD (w, old) {
		bool fresh;
		if (l->store[w] == s->where ||
		    model_pending(u->check->model, l) & 0xffull << (w * 8) ||
		    !check_fenced_since(u->check, s, (int)w) ||
		    check_by_pmdk(u->check, l->store[w]))
			continue;
		struct cause *k = check_cause_hit(u, FINDING_DIRTY_OVERWRITE, l->store[w], &fresh);
		check_pair_hit(&u->replaced, l->store[w], s->where, 1);
		k->extra += (l->meant >> (w * 8) & 0xff) != 0;
		if (fresh) {
			check_cause_example(u->check, k, s, (int)w);
			k->store_where = l->store[w];
		}
		k->elsewhere |= k->key != l->key || k->byte / 8 != w;
	}
}

/* On some call path the statement's stores are; on others they may well be persisted. */
static bool ever_persisted(struct oracle_state *u, const struct check_group *g)
{
	for (size_t i = 0; i < g->member.n; i++) {
		const uint32_t *t = oracle_tally(u, g->member.p[i].where);
		if (t[PERSISTED] || t[BY_CHANCE])
			return true;
	}
	return false;
}

/* A word of its own, which the overwriting statement persists with flushes that are for nothing else. */
static bool is_fixed(struct oracle_state *u, const struct check_group *g, model_where by)
{
	const uint32_t *statement = u->check->statement.p;
	if (g->k.elsewhere || g->k.extra < OFTEN ||
	    model_place(u->check->model, g->k.where)->class == TRACE_SITE_ATOMIC)
		return false;
	for (model_where w = 0; w < model_places(u->check->model); w++)
		if (statement[w] == statement[by] && oracle_tally(u, w)[ALONE])
			return true;
	return false;
}

/* The overwriting function works with the one that stored: it may be that a value is made in steps. Not where a fence
 * right after the store waits for nothing, and the store is another function's. */
static bool in_steps(struct check *c, const struct pair *p, bool awaited)
{
	size_t n;
	const struct srcloc_frame *f = check_author(c, p->a, &n), *g = check_author(c, p->b, &n);
	return check_shares_path(c, p->a, p->b) &&
	       (!awaited || !f || !g || check_same_function(f, g));
}

uint64_t check_was_replaced(struct oracle_state *u, const struct check_group *g, bool awaited)
{
	const uint32_t *author = u->check->author.p;
	const struct model_line *l = model_line_of_key(u->check->model, g->k.key);
	uint64_t by = 0;
	if (!l || !(l->meant >> g->k.byte & 1) || ever_persisted(u, g))
		return 0;
	for (size_t i = 0; i < u->replaced.v.n; i++) {
		const struct pair *p = &u->replaced.v.p[i];
		if (author[p->a] != author[g->k.where] || author[p->b] == author[p->a] ||
		    !check_persists(u, author[p->b]))
			continue;
		if (in_steps(u->check, p, awaited) && !is_fixed(u, g, p->b))
			return 0;
		by = by ? by : (uint64_t)p->b + 1;
	}
	return by;
}
