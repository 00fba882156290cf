/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fences with nothing to order: the thread has neither flushed nor stored non-temporally since its
 * last fence. A flush by clflush is complete by itself, but people fence it all the same: such a
 * fence is taken to order it. Atomic instructions are not fences for their own sake.
 *
 * A fence that comes after a store whose flush is missing has nothing to order either: where that
 * very store is reported, the fence is not. Nor is one to be removed whose flush found the line clean by chance (flush.c). An mfence also orders volatile memory, which matters
 * where there are several threads: a note.
 */
#include <inttypes.h>

#include "check/internal.h"

enum { USEFUL, VAIN, THREADED };

static bool is_mfence(struct check *c, model_where w)
{
	return model_place(c->model, w)->class == TRACE_SITE_MFENCE;
}

static void fence(struct oracle_state *f, const struct model_step *s)
{
	bool fresh;
	if (s->ev->flags & TRACE_F_ATOMIC || s->effect == MODEL_NOTHING)
		return;
	uint32_t *t = oracle_tally(f, s->where);
	if (!s->thread->store_num && is_mfence(f->check, s->where))
		return; /* a thread that has nothing to do with PM */
	if (s->thread->waiting.n || s->thread->flush_num > s->thread->fence_num) {
		t[USEFUL]++;
		return;
	}
	t[VAIN]++;
	if (s->thread_id < f->check->vain.n &&
	    f->check->vain.p[s->thread_id].num > s->thread->fence_num)
		check_pair_hit(&f->kin, s->where, f->check->vain.p[s->thread_id].where, 1);
	t[THREADED] += model_threads(f->check->model) > 1;
	if (s->thread->store_num > s->thread->fence_num)
		check_pair_hit(&f->pairs, s->where, s->thread->store, 1);
	struct cause *k = check_cause_hit(f, FINDING_REDUNDANT_FENCE, s->where, &fresh);
	if (fresh)
		check_cause_example(f->check, k, s, -1);
}

/* A store just before the fence, or in the same line, is reported: what is missing is its flush. */
static bool explained(struct oracle_state *f, const struct check_group *g,
		      const struct finding_set *others)
{
	const uint32_t *statement = f->check->statement.p;
	for (size_t i = 0; i < f->pairs.v.n; i++) {
		const struct pair *p = &f->pairs.v.p[i];
		if (statement[p->a] == statement[g->k.where] &&
		    check_is_reported(f->check, p->b, others))
			return true;
	}
	const struct pairs *awaited = &check_unpersisted(f->check)->awaited;
	for (size_t i = 0; i < awaited->v.n; i++) {
		const struct pair *p = &awaited->v.p[i];
		if (statement[p->b] == statement[g->k.where] &&
		    check_is_reported(f->check, p->a, others))
			return true;
	}
	return false;
}

/* It was meant for a flush that found its line clean by chance. */
static bool is_by_chance(struct oracle_state *f, const struct check_group *g)
{
	const uint32_t *statement = f->check->statement.p;
	for (size_t i = 0; i < f->kin.v.n; i++) {
		const struct pair *p = &f->kin.v.p[i];
		if (statement[p->a] == statement[g->k.where] &&
		    check_flush_by_chance(f->check, p->b))
			return true;
	}
	return false;
}

static struct finding *redundant(struct oracle_state *f, const struct check_group *g)
{
	uint64_t all = g->k.count + g->tally[USEFUL];
	bool threaded = is_mfence(f->check, g->k.where) && g->tally[THREADED];
	bool some = g->tally[USEFUL] || is_by_chance(f, g);
	char text[96];
	struct finding *r = check_group_finding(
		f->check, g,
		"no flush or non-temporal store of this thread waits for it; %s in vain%s",
		check_count_text(g->k.count, all, "fences", text, sizeof text),
		threaded ? "; it may order volatile memory between the threads" : "");
	if (threaded || some)
		r->level = FINDING_NOTE;
	r->advice = xstrdup(
		threaded ? "For volatile memory, an atomic operation with the order that is "
			   "needed says more."
		: some   ? "Fence only where something was flushed."
			 : "Remove the fence.");
	return r;
}

static void report(struct oracle_state *f, struct finding_set *out)
{
	check_groups groups = check_group(f);
	for (size_t i = 0; i < groups.n; i++) {
		const struct check_group *g = &groups.p[i];
		if (!check_foreign(f->check, g->k.where) && !explained(f, g, out))
			finding_add(out, redundant(f, g));
	}
	check_groups_free(&groups);
}

const struct check_oracle check_oracle_fence = {
	.name = "fence",
	.fence = fence,
	.report = report,
	.blames_helpers = true,
};
