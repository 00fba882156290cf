/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flushes with nothing to flush: the line is clean, was flushed already by the same thread,
 * was written by non-temporal stores only, or is not in persistent memory.
 *
 * A flush of what another thread has flushed is not redundant: each thread's fence only waits
 * for its own flushes.
 */
#include <inttypes.h>

#include "check/internal.h"

/* Counters of a place: flushes of use, and of none, by reason. */
enum { USEFUL, CLEAN, PENDING, NON_TEMPORAL };

static void hit(struct oracle_state *f, enum finding_kind kind, const struct model_step *s)
{
	bool fresh;
	struct cause *k = check_cause_hit(f, kind, s->where, &fresh);
	if (fresh)
		check_cause_example(f->check, k, s, -1);
}

static void flush(struct oracle_state *f, const struct model_step *s)
{
	const struct model_line *l = s->line;
	uint64_t own;
	if (s->ev->flags & TRACE_F_VOLATILE) {
		hit(f, FINDING_FLUSH_OF_VOLATILE, s);
		return;
	}
	if (s->effect == MODEL_NOTHING)
		return;
	own = l ? model_pending_by(f->check->model, l, s->thread_id) : 0;
	if (l && l->open & ~own) {
		oracle_tally(f, s->where)[USEFUL]++;
		return;
	}
	oracle_tally(f, s->where)[!l || !l->open         ? CLEAN
				  : (own & l->nt) == own ? NON_TEMPORAL
							 : PENDING]++;
	hit(f, FINDING_REDUNDANT_FLUSH, s);
}

/* With files on disks, msync is the flush. */
static void sync_range(struct oracle_state *f, const struct model_step *s)
{
	struct model_step whole = *s;
	whole.line = NULL;
	if (model_flushes(model_ops(f->check->model)))
		return;
	if (s->mask) {
		oracle_tally(f, s->where)[USEFUL]++;
		return;
	}
	oracle_tally(f, s->where)[CLEAN]++;
	hit(f, FINDING_REDUNDANT_FLUSH, &whole);
}

static struct finding *redundant(struct oracle_state *f, const struct cause *k)
{
	const uint32_t *t = oracle_tally(f, k->where);
	uint64_t all = t[USEFUL] + k->count;
	const char *what =
		t[CLEAN] >= t[PENDING] + t[NON_TEMPORAL]
			? "nothing was stored there since it was last persisted"
		: t[PENDING] >= t[NON_TEMPORAL]
			? "the same thread has flushed the line already"
			: "the line was written with non-temporal stores only, which need no flush";
	struct finding *r = check_cause_finding(
		f->check, k, "%s; %" PRIu64 " of %" PRIu64 " flushes here are in vain", what,
		k->count, all);
	r->advice = xstrdup(t[USEFUL] ? "Flush only the lines that were stored to."
				      : "Remove the flush.");
	return r;
}

static void report(struct oracle_state *f, struct finding_set *out)
{
	for (size_t i = 0; i < f->causes.v.n; i++) {
		const struct cause *k = f->causes.v.p[i];
		struct finding *r;
		if (check_foreign(f->check, k->where))
			continue;
		if (k->kind == FINDING_REDUNDANT_FLUSH) {
			r = redundant(f, k);
		} else {
			r = check_cause_finding(f->check, k,
						"the flushed address is not in persistent memory");
			r->advice = xstrdup("Remove the flush.");
		}
		finding_add(out, r);
	}
}

const struct check_oracle check_oracle_flush = {
	.name = "flush",
	.flush = flush,
	.sync = sync_range,
	.report = report,
};
