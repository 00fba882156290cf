/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flushes with nothing to flush: the line is clean, was flushed already by the same thread,
 * was written by non-temporal stores only, or is not in persistent memory.
 *
 * A flush of what another thread has flushed is not redundant: each thread's fence only waits
 * for its own flushes.
 *
 * To say "remove it" takes two things: every execution of the statement was in vain, and the reason
 * lies in the code that leads there. It does if the same thread flushed the line before without
 * a fence or a store in between, if the line was written with non-temporal stores only, if nothing was
 * ever stored there, or if the flush that made it clean was made by the same function or on its
 * behalf, and was not asked for other bytes only. Otherwise another object's persist happened to cover the line, or only some
 * executions were in vain: that depends on the layout and the data, and is a note.
 */
#include <inttypes.h>

#include "check/internal.h"

/* Counters of a place: flushes of use, and of none, by reason. */
enum { USEFUL, CLEAN, PENDING, NON_TEMPORAL, CHANCE };

static void hit(struct oracle_state *f, enum finding_kind kind, const struct model_step *s)
{
	bool fresh;
	struct cause *k = check_cause_hit(f, kind, s->where, &fresh);
	if (fresh)
		check_cause_example(f->check, k, s, -1);
}

/* A flush of a clean line: which flush made it clean? */
static void note_cleaner(struct oracle_state *f, const struct model_step *s)
{
	const struct model_line *l = s->line;
	struct check *c = f->check;
	while (c->vain.n <= s->thread_id)
		VEC_PUSH(&c->vain, (struct runtime_lock){ 0 });
	c->vain.p[s->thread_id] = (struct runtime_lock){ s->ev->num + 1, s->where };
	if (l && l->ever && l->flush_when)
		check_pair_hit(&f->pairs, s->where, l->flush, 1);
}

/* All of these bytes were stored non-temporally. */
static bool is_nt(struct oracle_state *f, const struct model_line *l, uint64_t mask)
{
	for (int w = 0; w < MODEL_WORDS; w++)
		if (mask >> (w * 8) & 0xff &&
		    model_place(f->check->model, l->store[w])->class != TRACE_SITE_NT_STORE)
			return false;
	return true;
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
	bool clean = !l || !l->open;
	oracle_tally(f, s->where)[clean ? CLEAN : is_nt(f, l, own) ? NON_TEMPORAL : PENDING]++;
	if (clean)
		note_cleaner(f, s);
	oracle_tally(f, s->where)[CHANCE] += clean && check_asked_is_chance(f->check, s);
	hit(f, FINDING_REDUNDANT_FLUSH, s);
}

/* With files on disks, msync is the flush. */
static void sync_range(struct oracle_state *f, const struct model_step *s)
{
	struct model_step whole = *s;
	whole.line = NULL;
	if (model_flushes(model_ops(f->check->model)) || s->effect != MODEL_PERSISTS)
		return;
	if (s->mask) {
		oracle_tally(f, s->where)[USEFUL]++;
		return;
	}
	oracle_tally(f, s->where)[CLEAN]++;
	hit(f, FINDING_REDUNDANT_FLUSH, &whole);
}

static const char *reason(const uint32_t *t)
{
	return t[CLEAN] >= t[PENDING] + t[NON_TEMPORAL]
		       ? "nothing was stored there since it was last persisted"
	       : t[PENDING] >= t[NON_TEMPORAL]
		       ? "the same thread has flushed the line already"
		       : "the line was written with non-temporal stores only, which need no flush";
}

/* Lines of the group's flushes that code which has nothing to do with them had made clean. */
static bool covered_by_chance(struct oracle_state *f, const struct check_group *g)
{
	uint32_t statement = f->check->statement.p[g->k.where];
	if (g->tally[CHANCE])
		return true;
	for (size_t i = 0; i < f->pairs.v.n; i++) {
		const struct pair *p = &f->pairs.v.p[i];
		if (f->check->statement.p[p->a] == statement &&
		    !check_related(f->check, p->a, p->b))
			return true;
	}
	return false;
}

bool check_flush_by_chance(struct check *c, model_where w)
{
	struct oracle_state *f = check_state_of(c, &check_oracle_flush);
	for (size_t i = 0; i < f->pairs.v.n; i++) {
		const struct pair *p = &f->pairs.v.p[i];
		if (p->a == w && !check_related(c, p->a, p->b))
			return true;
	}
	return oracle_tally(f, w)[CHANCE] != 0;
}

static struct finding *redundant(struct oracle_state *f, const struct check_group *g)
{
	uint64_t vain = g->tally[CLEAN] + g->tally[PENDING] + g->tally[NON_TEMPORAL];
	uint64_t all = g->tally[USEFUL] + vain;
	char text[96];
	bool chance = vain == all && covered_by_chance(f, g);
	struct finding *r = check_group_finding(
		f->check, g, "%s; %s in vain",
		chance ? "a flush of something else in the same line came before it"
		       : reason(g->tally),
		check_count_text(vain, all, "flushes", text, sizeof text));
	if (vain == all && !chance) {
		r->advice = xstrdup("Remove the flush.");
	} else {
		r->level = FINDING_NOTE;
		r->advice = xstrdup(
			"Flush only the lines that were stored to, if that is easy to tell.");
	}
	return r;
}

/* The function stores there, or calls the one that does. */
static bool is_from(const struct finding_place *store, const struct srcloc_frame *at)
{
	const struct srcloc_frame *main = finding_main_frame(store);
	return main && (check_same_function(at, main) ||
			(main + 1 < store->frame + store->n && check_same_function(at, main + 1)));
}

static bool loses(const struct finding *f, const struct srcloc_frame *at)
{
	if (f->kind != finding_kind_info(FINDING_MISSING_FLUSH) &&
	    f->kind != finding_kind_info(FINDING_MISSING_FLUSH_AND_FENCE))
		return false;
	for (size_t i = 0; i < f->paths.n; i++)
		if (is_from(&f->paths.p[i].place, at))
			return true;
	return is_from(&f->place, at);
}

/* A store of the function that nobody flushes on purpose: the flush was meant for that. */
static const struct srcloc_frame *meant_for(const struct oracle_state *o, const struct finding *r,
					    const struct finding_set *found)
{
	const struct srcloc_frame *at = finding_main_frame(&r->place);
	if (!at || !at->function)
		return NULL;
	for (size_t i = 0; i < found->v.n; i++)
		if (loses(found->v.p[i], at))
			return finding_main_frame(&found->v.p[i]->place);
	return check_by_chance(check_unpersisted(o->check), at);
}

static struct finding *volatile_flush(struct oracle_state *f, const struct check_group *g,
				      const struct finding_set *found)
{
	struct finding *r =
		check_group_finding(f->check, g, "the flushed address is not in persistent memory");
	const struct srcloc_frame *store = meant_for(f, r, found);
	if (!store) {
		r->advice = xstrdup("Remove the flush.");
		return r;
	}
	char where[512];
	r->level = FINDING_WARNING;
	r->advice = xasprintf("Flush what %s stores instead, which nobody flushes.",
			      srcloc_text(store, where, sizeof where));
	return r;
}

static void report(struct oracle_state *f, struct finding_set *out)
{
	check_groups groups = check_group(f);
	for (size_t i = 0; i < groups.n; i++) {
		const struct check_group *g = &groups.p[i];
		struct finding *r;
		if (check_foreign(f->check, g->k.where))
			continue;
		r = g->k.kind == FINDING_REDUNDANT_FLUSH ? redundant(f, g)
							 : volatile_flush(f, g, out);
		finding_add(out, r);
	}
	check_groups_free(&groups);
}

const struct check_oracle check_oracle_flush = {
	.name = "flush",
	.flush = flush,
	.sync = sync_range,
	.report = report,
	.blames_helpers = true,
};
