/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values that are overwritten before they were persistent, again and again: either a place
 * that keeps storing to the same location (a counter in a loop), or a place that time after
 * time replaces what another scalar store has just put there. Filling a structure with zeros
 * or copying it first is usual and cheap; block stores are not held against anybody. Nor are
 * stores in a transaction: they are persisted together when it commits. An atomic instruction reads what
 * it overwrites: that was of use, to other threads. Where it is said already that what is overwritten is
 * lost, that is all there is to say. Statistics that are written back now and then are a note.
 */
#include <inttypes.h>

#include "check/internal.h"

#define OFTEN 3

/* Is the newest store to this word one that the new one makes pointless? */
static bool wasted(struct oracle_state *o, const struct model_step *s, int w)
{
	const struct model_line *l = s->line;
	uint64_t word = s->mask & 0xffull << (w * 8);
	const struct model_place *p;
	const struct trace_site_def *old;
	if ((l->open & word) != word || model_pending(o->check->model, l) & word ||
	    (model_flight(o->check->model, l)->same & word) ==
		    word) /* the last: it is persistent, and was stored again */
		return false;
	if (l->store[w] == s->where)
		return model_again(model_flight(o->check->model, l), w) + 1 >= OFTEN;
	if (!s->thread->op_begin || model_when(l->when[w], s->ev->num) < s->thread->op_begin - 1)
		return false;
	p = model_place(o->check->model, l->store[w]);
	old = trace_site(o->check->defs, p->process, p->site);
	return old && old->class == TRACE_SITE_STORE && old->size == s->ev->size;
}

static void store(struct oracle_state *o, const struct model_step *s)
{
	if (!(s->line->open & s->mask) || s->ev->flags & TRACE_F_ATOMIC || s->thread->tx ||
	    s->ev->size > 8)
		return;
	if (model_ops(o->check->model)->unit > TRACE_LINE)
		return; /* where a sync persists whole pages, pages are filled at leisure */
	MODEL_EACH_WORD (w, s->mask) {
		bool fresh;
		if (!wasted(o, s, (int)w))
			continue;
		struct cause *k = check_cause_hit(o, FINDING_DIRTY_OVERWRITE, s->where, &fresh);
		if (fresh) {
			check_cause_example(o->check, k, s, (int)w);
			k->store_where = s->line->store[w];
		}
	}
}

/* The compiler's own way to copy a block: one statement that stores some bytes twice. */
static bool one_statement(struct check *c, const struct cause *k)
{
	const struct srcloc_frame *a = finding_main_frame(check_place(c, k->where));
	const struct srcloc_frame *b = finding_main_frame(check_place(c, k->store_where));
	return k->where != k->store_where && a->file && b->file && a->line == b->line &&
	       strcmp(a->file, b->file) == 0;
}

static void report(struct oracle_state *o, struct finding_set *out)
{
	check_groups groups = check_group(o);
	for (size_t i = 0; i < groups.n; i++) {
		const struct check_group *g = &groups.p[i];
		if (g->k.count < OFTEN || one_statement(o->check, &g->k) ||
		    check_by_pmdk(o->check, g->k.where) || check_foreign(o->check, g->k.where) ||
		    check_is_reported(o->check, g->k.store_where, out))
			continue;
		struct finding *f = check_group_finding(
			o->check, g,
			"the value that it overwrites was never persistent, %" PRIu64 " times",
			g->k.count);
		f->advice = xstrdup(
			"Keep the value in DRAM and store it once, or persist it in between.");
		if (check_is_lazy(o->check, g))
			f->level = FINDING_NOTE;
		finding_add(out, f);
	}
	check_groups_free(&groups);
}

const struct check_oracle check_oracle_overwrite = {
	.name = "overwrite",
	.store = store,
	.report = report,
};
