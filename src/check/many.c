/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notes, off by default: one flush that covers several stores to its line, one fence that
 * orders several lines. Right in most programs; where an order between them matters, wrong.
 */
#include <inttypes.h>

#include "check/internal.h"

static void hit(struct oracle_state *m, enum finding_kind kind, const struct model_step *s,
		uint64_t size)
{
	bool fresh;
	struct cause *k = check_cause_hit(m, kind, s->where, &fresh);
	if (fresh)
		check_cause_example(m->check, k, s, -1);
	if (size > k->extra)
		k->extra = size;
}

static bool is_open(const struct model_line *l, int w)
{
	return l->open >> (w * 8) & 0xff;
}

static void flush(struct oracle_state *m, const struct model_step *s)
{
	uint64_t places = 0;
	if (!m->check->notes || !s->line)
		return;
	for (int w = 0; w < MODEL_WORDS; w++)
		places += is_open(s->line, w) && !(w && is_open(s->line, w - 1) &&
						   s->line->when[w] == s->line->when[w - 1]);
	if (places > 1)
		hit(m, FINDING_FLUSH_COVERS_MANY, s, places);
}

static void fence(struct oracle_state *m, const struct model_step *s)
{
	if (m->check->notes && s->thread->waiting.n > 1)
		hit(m, FINDING_FENCE_ORDERS_MANY, s, s->thread->waiting.n);
}

static void report(struct oracle_state *m, struct finding_set *out)
{
	check_groups groups = check_group(m);
	for (size_t i = 0; i < groups.n; i++) {
		const struct check_group *g = &groups.p[i];
		bool flush_kind = g->k.kind == FINDING_FLUSH_COVERS_MANY;
		finding_add(out, check_group_finding(
					 m->check, g,
					 flush_kind ? "up to %" PRIu64
						      " stores become persistent by one flush"
						    : "up to %" PRIu64
						      " lines become persistent under one fence",
					 g->most));
	}
	check_groups_free(&groups);
}

const struct check_oracle check_oracle_many = {
	.name = "many",
	.flush = flush,
	.fence = fence,
	.report = report,
};
