/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fences with nothing to order: the thread has neither flushed nor stored non-temporally
 * since its last fence. Atomic instructions are not fences for their own sake, and mfence
 * often orders volatile memory; only a place of it that orders flushes at other times counts.
 */
#include <inttypes.h>

#include "check/internal.h"

static void fence(struct oracle_state *f, const struct model_step *s)
{
	bool fresh;
	if (s->ev->flags & TRACE_F_ATOMIC || s->effect == MODEL_NOTHING)
		return;
	if (s->thread->waiting.n) {
		++*oracle_tally(f, s->where);
		return;
	}
	struct cause *k = check_cause_hit(f, FINDING_REDUNDANT_FENCE, s->where, &fresh);
	if (fresh)
		check_cause_example(f->check, k, s, -1);
}

static bool is_mfence(struct check *c, model_where w)
{
	const struct model_place *p = model_place(c->model, w);
	const struct trace_site_def *d = trace_site(c->defs, p->process, p->site);
	return d && d->class == TRACE_SITE_MFENCE;
}

/* Where the flush before it is missing a fence has nothing to order: that is said already. */
static bool explained(const struct finding *fence, const struct finding_set *others)
{
	const struct srcloc_frame *at = finding_main_frame(&fence->place), *f;
	for (size_t i = 0; i < others->v.n; i++) {
		const struct finding_kind_info *kind = others->v.p[i]->kind;
		if (kind != finding_kind_info(FINDING_MISSING_FLUSH) &&
		    kind != finding_kind_info(FINDING_LATE_PERSIST) &&
		    kind != finding_kind_info(FINDING_TRANSIENT_DATA))
			continue;
		f = finding_main_frame(&others->v.p[i]->place);
		if (at && f && at->function && f->function &&
		    strcmp(at->function, f->function) == 0)
			return true;
	}
	return false;
}

static void report(struct oracle_state *f, struct finding_set *out)
{
	for (size_t i = 0; i < f->causes.v.n; i++) {
		const struct cause *k = f->causes.v.p[i];
		uint32_t good = *oracle_tally(f, k->where);
		if ((is_mfence(f->check, k->where) && !good) || check_foreign(f->check, k->where))
			continue;
		struct finding *r = check_cause_finding(
			f->check, k,
			"no flush or non-temporal store of this thread waits for it; %" PRIu64
			" of %" PRIu64 " fences here are in vain",
			k->count, k->count + good);
		r->advice = xstrdup("Remove the fence.");
		if (explained(r, out))
			finding_free(r);
		else
			finding_add(out, r);
	}
}

const struct check_oracle check_oracle_fence = {
	.name = "fence",
	.fence = fence,
	.report = report,
};
