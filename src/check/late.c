/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores that are not persistent when their operation or transaction ends, although the
 * stores of the same place are in most other instances. What is made persistent later by
 * habit (a group commit, say) is late every time, and is nothing to report.
 */
#include <inttypes.h>

#include "check/internal.h"

enum { LATE, IN_TIME };

/* Was this word stored during the operation that ends? */
static bool stored_in(const struct model_step *s, int w)
{
	const struct model_line *l = s->line;
	return ((l->open | l->ever) >> (w * 8) & 0xff) && l->storer == s->thread_id &&
	       model_when(l->when[w], s->ev->num) >= s->thread->op_begin - 1;
}

static void op_end(struct oracle_state *l, const struct model_step *s)
{
	for (int w = 0; w < MODEL_WORDS; w++) {
		bool fresh;
		if (!stored_in(s, w))
			continue;
		uint32_t *t = oracle_tally(l, s->line->store[w]);
		uint64_t open = s->line->open & 0xffull << (w * 8);
		if (open && !(open & ~model_flight(l->check->model, s->line)
					      ->same)) /* it has the value that is persistent */
			continue;
		if (!open) {
			t[IN_TIME]++;
			continue;
		}
		if (check_by_pmdk(l->check, s->line->store[w]))
			continue;
		t[LATE]++;
		struct cause *k =
			check_cause_hit(l, FINDING_LATE_PERSIST, s->line->store[w], &fresh);
		if (fresh) {
			check_cause_example(l->check, k, s, w);
			check_cause_ends(l->check, k, s);
		}
	}
}

static void report(struct oracle_state *l, struct finding_set *out)
{
	check_groups groups = check_group(l);
	for (size_t i = 0; i < groups.n; i++) {
		const struct check_group *g = &groups.p[i];
		const uint32_t *t = g->tally;
		if (t[IN_TIME] <= t[LATE])
			continue;
		struct finding *f = check_group_finding(
			l->check, g,
			"the operation ended before the store was persistent; in %" PRIu32
			" of %" PRIu32 " instances it was in time",
			t[IN_TIME], t[IN_TIME] + t[LATE]);
		f->advice = xstrdup(check_advice(l->check, FINDING_LATE_PERSIST));
		finding_add(out, f);
	}
	check_groups_free(&groups);
}

const struct check_oracle check_oracle_late = {
	.name = "late",
	.op_end = op_end,
	.report = report,
};
