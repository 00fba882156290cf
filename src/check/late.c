/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores that are not persistent when their operation or transaction ends, although the
 * stores of the same place are in most other instances. What is made persistent later by
 * habit (a group commit, say) is late every time, and is nothing to report; unless other
 * statements, whose stores are in time, store the very same words: then it is the habit of one
 * statement, and not that of the data. Nor is it a habit to hand a range to the kernel with MS_ASYNC, which
 * waits for nothing, and to go on as if it were written. What a transaction of libpmemobj leaves open is not in
 * its log: its oracles say so.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "check/internal.h"

enum { LATE, IN_TIME, HANDED, IN_TX };

/* Was this word stored during the operation that ends? */
static bool stored_in(const struct model_step *s, unsigned w)
{
	return s->line->op == s->thread->op && s->line->in_op >> w & 1;
}

/* Who stores what somebody else had stored, and that was persistent: either may be late. */
static void store(struct oracle_state *l, const struct model_step *s)
{
	uint64_t old = s->mask & s->line->ever & ~s->line->open;
	if (s->thread->tx)
		oracle_tally(l, s->where)[IN_TX] = 1;
	if (!old || !s->thread->op_begin || s->thread->tx)
		return;
	MODEL_EACH_WORD (w, old)
		if (s->line->store[w] != s->where)
			check_pair_hit(&l->pairs, s->line->store[w], s->where, 1);
}

/* msync that does not wait; the newest of the run is enough, for it follows the store that it is meant for. */
static void sync_range(struct oracle_state *l, const struct model_step *s)
{
	if (s->effect == MODEL_PERSISTS || !s->mask || model_flushes(model_ops(l->check->model)))
		return;
	struct model_range r = model_covers(s->ev);
	uint64_t loc = model_location(l->check->model, s->ev->process, r.lo);
	l->handed = (struct check_handed){ loc, loc + r.hi - r.lo, s->ev->num, s->where };
}

static bool is_handed(const struct oracle_state *l, const struct model_step *s, int w)
{
	uint64_t loc = s->line->key * TRACE_LINE + (uint64_t)w * 8;
	return loc >= l->handed.lo && loc < l->handed.hi &&
	       l->handed.num > model_when(s->line->when[w], s->ev->num);
}

static void op_end(struct oracle_state *l, const struct model_step *s)
{
	if (s->line->storer != s->thread_id)
		return;
	MODEL_EACH_WORD (w, s->line->open | s->line->ever) {
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
		t[HANDED] += is_handed(l, s, w);
		struct cause *k =
			check_cause_hit(l, FINDING_LATE_PERSIST, s->line->store[w], &fresh);
		if (fresh) {
			check_cause_example(l->check, k, s, (int)w);
			check_cause_ends(l->check, k, s);
		}
	}
}

/* By author: the place + 1 of another one who stores the same words, and is in time; 0: there is none. */
static uint64_t *others(struct oracle_state *l)
{
	const struct check *c = l->check;
	const uint32_t *of = c->author.p;
	uint32_t *sum = check_tallies(l, of, c->authors);
	uint64_t *other = xcalloc((size_t)c->authors + 1, sizeof *other);
	for (size_t i = 0; i < 2 * l->pairs.v.n; i++) {
		const struct pair *p = &l->pairs.v.p[i / 2];
		model_where mine = i % 2 ? p->b : p->a, with = i % 2 ? p->a : p->b;
		const uint32_t *t = sum + (size_t)of[with] * TALLY;
		if (of[mine] != of[with] && !other[of[mine]] && t[IN_TIME] > t[LATE])
			other[of[mine]] = (uint64_t)with + 1;
	}
	free(sum);
	return other;
}

/* What speaks against it being a habit; NULL: nothing. */
static struct finding *judge(struct oracle_state *l, const struct check_group *g, uint64_t other,
			     const struct finding_set *found)
{
	static const char text[] = "the operation ended before the store was persistent";
	uint32_t late = g->tally[LATE], in_time = g->tally[IN_TIME];
	bool handed = g->tally[HANDED] == late;
	uint64_t with = handed ? (uint64_t)l->handed.where + 1 : other;
	struct finding *f;
	if (g->tally[IN_TX] && l->check->library & CHECK_PMEMOBJ)
		return NULL;
	if (in_time > late)
		return check_group_finding(
			l->check, g, "%s; in %" PRIu32 " of %" PRIu32 " instances it was in time",
			text, in_time, in_time + late);
	if (!with || check_is_reported(l->check, g->k.where, found))
		return NULL;
	f = check_group_finding(l->check, g, "%s%s", text,
				handed ? ": msync with MS_ASYNC does not wait until it is"
				       : "; others who store the same bytes persist them in time");
	check_cause_relate(l->check, f, handed ? "sync" : "other",
			   handed ? "does not wait" : "stores the same bytes, in time", with);
	return f;
}

static void report(struct oracle_state *l, struct finding_set *out)
{
	check_groups groups = check_group(l);
	uint64_t *other = others(l);
	for (size_t i = 0; i < groups.n; i++) {
		const struct check_group *g = &groups.p[i];
		uint64_t with = 0;
		for (size_t k = 0; k < g->member.n && !with; k++)
			with = other[l->check->author.p[g->member.p[k].where]];
		struct finding *f = judge(l, g, with, out);
		if (!f)
			continue;
		f->advice = xstrdup(check_advice(l->check, FINDING_LATE_PERSIST));
		finding_add(out, f);
	}
	free(other);
	check_groups_free(&groups);
}

const struct check_oracle check_oracle_late = {
	.name = "late",
	.store = store,
	.sync = sync_range,
	.op_end = op_end,
	.report = report,
};
