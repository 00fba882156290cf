/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that overlap: what may be there after a crash is made by running them.
 *
 *	thread 1      ├──── put 3 ────┤
 *	thread 2           ├──────✕ put 4 ─────┤        ✕: 3 has ended or not, 4 is in flight
 *	            ▲ base: none in flight      ▲ quiet: none in flight again
 *
 * From the base, any of those that have begun may have happened, in any order: with M in flight, the sum of
 * M!/(M-k)! over k (WITCHER, section 4.4). The history has no image of most of these, but --continue can make each:
 * it is given their lines first, and then once more what follows. Which line belongs to which of them is not
 * known for sure, so only their number counts: at least as many as have ended. That all of them lead to what is said
 * at the quiet moment, in some order, shows that the lines are theirs; else nothing is judged.
 */
#include <stdlib.h>

#include "crash/internal.h"

#define MOST 4u /* operations that overlap: 65 ways */

struct group {
	size_t first, begun,
		all;  /* the first of them; how many have begun at the crash, and in the end */
	size_t ended; /* at the crash */
	uint64_t base, quiet;
};

/* False: too many, or one never ends. */
static bool group_of(const struct crash_history *h, uint64_t event, struct group *g)
{
	size_t n = crash_ops_begun(h, event), i = n;
	*g = (struct group){ 0 };
	while (i && n - i <= MOST && h->op.p[i - 1].latest >= h->op.p[i - 1].begin)
		i--;
	if (!i || n - i >= MOST)
		return false;
	g->first = i - 1;
	g->begun = n - g->first;
	g->base = h->op.p[g->first].begin;
	for (i = g->first; i < h->op.n && (i < n || h->op.p[i].begin < g->quiet); i++) {
		if (h->op.p[i].end == UINT64_MAX)
			return false;
		g->ended += h->op.p[i].end < event;
		if (h->op.p[i].end >= g->quiet)
			g->quiet = h->op.p[i].end + 1;
	}
	g->all = i - g->first;
	return g->all <= MOST;
}

bool crash_overlap_can(const struct crash *c, uint64_t event)
{
	struct group g;
	uint64_t known;
	if (!c->suffix || !group_of(c->h, event, &g))
		return false;
	return !hmap_get(&c->group, g.base, &known) || known == 1;
}

uint64_t crash_overlap_key(const struct crash_history *h, uint64_t event)
{
	struct group g;
	return group_of(h, event, &g) ? hash_mix(g.base, g.begun * (MOST + 1) + g.ended) : 0;
}

/* ---- every subset, in every order ---- */

struct walk {
	struct crash *c;
	const struct group *g;
	size_t line[MOST], n; /* so far */
	size_t from, least, most,
		of; /* lengths that count, of so many lines; what follows after them */
	uint64_t said;
	struct err *err;
	bool run;    /* what is not known */
	bool unsure; /* one fails, or is not known */
};

/* 1: this is what is said after these, 0: it is not, -1. */
static int try_these(struct walk *w)
{
	struct crash_state base = { .event = w->g->base };
	struct crash *c = w->c;
	struct crash_verdict v;
	crash_suffix_before(c, w->line, w->n);
	crash_cursor_move(&c->judging, base.event);
	uint64_t key = crash_suffix_key(c, crash_state_hash(&base, &c->judging), w->from);
	bool known = crash_known(c, key, &v);
	int bad =
		!known && w->run ? crash_run_state(c, &base, w->from, false, &v, NULL, w->err) : 0;
	crash_suffix_before(c, NULL, 0);
	if (bad)
		return -1;
	bool ok = (known || w->run) && v.verdict == RUNNER_OK;
	w->unsure = w->unsure || !ok;
	return ok && v.said == w->said;
}

static int find(struct walk *w)
{
	int found = w->n >= w->least ? try_these(w) : 0;
	for (size_t i = 0; !found && i < w->of && w->n < w->most; i++) {
		bool used = false;
		for (size_t k = 0; k < w->n; k++)
			used = used || w->line[k] == w->g->first + i;
		if (used)
			continue;
		w->line[w->n++] = w->g->first + i;
		found = find(w);
		w->n--;
	}
	return found;
}

/* All of them lead to what is said when they have ended: 1, 0 or -1; asked once. */
static int verified(struct crash *c, const struct group *g, bool run, struct err *err)
{
	struct crash_state quiet = { .event = g->quiet };
	struct walk w = { .c = c, .g = g, .from = g->first + g->all, .run = true, .err = err };
	struct crash_verdict v;
	uint64_t known;
	if (hmap_get(&c->group, g->base, &known))
		return known == 1;
	if (!run)
		return 0;
	if (crash_run_state(c, &quiet, w.from, false, &v, NULL, err))
		return -1;
	w.least = w.most = w.of = g->all;
	w.said = v.said;
	int ok = v.verdict == RUNNER_OK ? find(&w) : 0;
	if (ok >= 0)
		hmap_put(&c->group, g->base, ok == 1 ? 1 : 2);
	return ok;
}

int crash_overlap_judge(struct crash *c, const struct crash_state *s, bool run,
			struct crash_verdict *v, struct err *err)
{
	struct group g;
	if (!c->suffix || !group_of(c->h, s->event, &g))
		return 0;
	struct walk w = { .c = c,
			  .g = &g,
			  .from = g.first + g.begun,
			  .least = g.ended,
			  .most = g.begun,
			  .of = g.begun,
			  .said = v->said,
			  .run = run,
			  .err = err };
	int ok = verified(c, &g, run, err);
	int found = ok == 1 ? find(&w) : ok;
	if (found < 0)
		return -1;
	if (ok == 1 && !found && !w.unsure) {
		v->verdict = RUNNER_DIFFERS;
		v->status = CRASH_HALF;
		v->where = crash_overlap_key(c->h, s->event);
	}
	return 0;
}

bool crash_overlap_which(const struct crash_history *h, uint64_t event, size_t *first, size_t *last)
{
	struct group g;
	if (!group_of(h, event, &g))
		return false;
	*first = g.first + 1;
	*last = g.first + g.begun;
	return true;
}

char *crash_overlap_what(const struct crash_history *h, uint64_t event)
{
	size_t first, last;
	if (!crash_overlap_which(h, event, &first, &last))
		return NULL;
	return xasprintf("of operations %zu to %zu, which overlap, no part that may have happened "
			 "explains what is printed",
			 first, last);
}

/* With none of them, or all, in their order. */
char *crash_overlap_said(struct crash *c, uint64_t event, bool happened, struct err *err)
{
	struct crash_verdict v;
	struct group g;
	size_t line[MOST];
	char *text = NULL;
	if (!group_of(c->h, event, &g))
		return xstrdup("");
	struct crash_state base = { .event = g.base };
	for (size_t i = 0; i < g.begun; i++)
		line[i] = g.first + i;
	crash_suffix_before(c, line, happened ? g.begun : g.ended);
	int bad = crash_run_state(c, &base, g.first + g.begun, true, &v, &text, err);
	crash_suffix_before(c, NULL, 0);
	return bad ? NULL : text ? text : xstrdup("");
}
