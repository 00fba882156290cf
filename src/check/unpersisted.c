/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores that are not persistent when their mapping goes away.
 *
 * At munmap and at the end of the process every open byte is looked at. It is an error if the
 * program cares: the same location was persistent at some other time, or other stores of the
 * same place in the same context were. What was left open decides the name:
 *
 *   flushed, not fenced            missing-fence
 *   fenced after, not flushed      missing-flush
 *   neither                        missing-flush-and-fence
 *
 * A place none of whose stores ever became persistent, at locations that never were either,
 * keeps data in PM that does not need it: transient-data.
 *
 * Where nothing of a whole file is ever persistent, that is said once for the file: it may be
 * shared memory, such as a lock file.
 *
 * A flush that was still waiting when its operation ended, and then is completed by a LOCK-
 * prefixed instruction somewhere else, was completed by accident: missing-fence too.
 *
 * Whether a fence came "after" is decided at the end of the operation, where there are
 * operations: a fence of a later operation does not make a missing one good.
 */
#include "check/internal.h"

/* Counters of a place: words that became persistent; words that were open at the end of an
 * operation, with and without a fence since. */
enum { PERSISTED, FENCED, UNFENCED };

/* Has the storing thread fenced since it stored this word? */
static bool fenced_since(struct check *c, const struct model_step *s, int w)
{
	const struct model_thread *t = model_thread(c->model, s->line->storer);
	return t->fence_num && t->fence_num - 1 > model_when(s->line->when[w], s->ev->num);
}

static void op_end(struct oracle_state *u, const struct model_step *s)
{
	for (int w = 0; w < MODEL_WORDS; w++) {
		if (!(s->mask >> (w * 8) & 0xff))
			continue;
		oracle_tally(u,
			     s->line->store[w])[fenced_since(u->check, s, w) ? FENCED : UNFENCED]++;
	}
}

/* A thread that was killed, or that another thread's exit or its own signal handler's cut off,
 * had no time to finish what it was doing. */
static bool excused(struct check *c, const struct model_step *s, int w)
{
	const struct trace_event *e = s->ev;
	bool killed = e->kind == TRACE_EXIT ? e->arg[1] != 0
					    : e->kind != TRACE_UNMAP && e->kind != TRACE_EXEC;
	const struct model_thread *t = model_thread(c->model, s->line->storer);
	uint64_t since = t->op_begin ? t->op_begin : t->fence_num;
	bool interrupted = e->kind != TRACE_UNMAP && (t->cut || t->signal_num > t->pm_num);
	return (killed || interrupted) && model_when(s->line->when[w], e->num) + 1 >= since;
}

/* Counts a word that is lost, or nearly was; the best example is one at a location that matters. */
static void hit(struct oracle_state *u, enum finding_kind kind, const struct model_step *s, int w)
{
	bool fresh, cared = (s->line->ever >> (w * 8) & s->mask >> (w * 8) & 0xff) != 0;
	struct cause *k = check_cause_hit(u, kind, s->line->store[w], &fresh);
	if (fresh || (cared && !k->extra)) {
		check_cause_example(u->check, k, s, w);
		check_cause_ends(u->check, k, s);
	}
	k->extra += cared;
}

static void persist(struct oracle_state *u, const struct model_step *s)
{
	bool implied = s->ev->kind == TRACE_FENCE && s->ev->flags & TRACE_F_ATOMIC;
	for (int w = 0; w < MODEL_WORDS; w++) {
		uint64_t word = s->mask & 0xffull << (w * 8);
		if (word && implied && s->line->late & word)
			hit(u, FINDING_MISSING_FENCE, s, w);
		else if (word)
			oracle_tally(u, s->line->store[w])[PERSISTED]++;
	}
	check_file_persisted(u->check, s->line->key);
}

static void gone(struct oracle_state *u, const struct model_step *s)
{
	uint64_t pending = model_pending(u->check->model, s->line);
	for (int w = 0; w < MODEL_WORDS; w++) {
		uint64_t word = s->mask & 0xffull << (w * 8);
		if (!word || excused(u->check, s, w))
			continue;
		hit(u,
		    (word & ~pending) == 0         ? FINDING_MISSING_FENCE
		    : fenced_since(u->check, s, w) ? FINDING_MISSING_FLUSH
						   : FINDING_MISSING_FLUSH_AND_FENCE,
		    s, w);
	}
}

static const char *end_text(const struct cause *k)
{
	return k->end_kind == TRACE_UNMAP   ? "when it was unmapped"
	       : k->end_kind == TRACE_FENCE ? "when its operation ended"
					    : "when the program ended";
}

static struct finding *transient(struct oracle_state *u, struct cause k)
{
	k.kind = FINDING_TRANSIENT_DATA;
	struct finding *f = check_cause_finding(
		u->check, &k, "what is stored here is never made persistent in this run");
	f->advice = xstrdup("Keep it in DRAM, mark it HOLDFAST_VOLATILE, or persist it.");
	return f;
}

/* The fence that follows within the operation counts; where there are none, any that follows. */
static enum finding_kind final_kind(const struct cause *k, const uint32_t *t)
{
	if (k->kind == FINDING_MISSING_FENCE || t[FENCED] + t[UNFENCED] == 0)
		return k->kind;
	return t[FENCED] >= t[UNFENCED] ? FINDING_MISSING_FLUSH : FINDING_MISSING_FLUSH_AND_FENCE;
}

static struct finding *missing(struct oracle_state *u, struct cause k, const uint32_t *t)
{
	const char *why = k.extra ? "the same location is persisted at another time"
				  : "other stores of this statement are persisted";
	struct finding *f;
	k.kind = final_kind(&k, t);
	if (k.kind == FINDING_MISSING_FENCE) {
		f = check_cause_finding(u->check, &k, "the store was flushed but not fenced %s; %s",
					end_text(&k), why);
		f->advice = xstrdup(
			"Add a fence (sfence, pmem_drain) by the same thread after the flush.");
	} else if (k.kind == FINDING_MISSING_FLUSH) {
		f = check_cause_finding(u->check, &k, "the store was not flushed %s; %s",
					end_text(&k), why);
		f->advice = xstrdup(
			"Flush its cache line between the store and the fence that follows.");
	} else {
		f = check_cause_finding(u->check, &k,
					"the store was neither flushed nor fenced %s; %s",
					end_text(&k), why);
		f->advice =
			xstrdup("Persist it after the store: flush its cache line, then fence.");
	}
	return f;
}

/* One finding for the file of this cause, with all that was stored there; NULL: it has one. */
static struct finding *whole_file(struct oracle_state *u, size_t i)
{
	struct cause k = *u->causes.v.p[i];
	for (size_t j = 0; j < u->causes.v.n; j++) {
		const struct cause *other = u->causes.v.p[j];
		if (j == i || !check_same_file(other->key, k.key))
			continue;
		if (j < i)
			return NULL;
		k.count += other->count;
	}
	k.kind = FINDING_FILE_NEVER_PERSISTED;
	struct finding *f = check_cause_finding(
		u->check, &k, "no store to this file is ever made persistent in this run");
	f->advice = xstrdup(
		"If the file is shared memory, leave it out with --pm; else persist what must survive.");
	return f;
}

static void report(struct oracle_state *u, struct finding_set *out)
{
	for (size_t i = 0; i < u->causes.v.n; i++) {
		struct cause *k = u->causes.v.p[i];
		const uint32_t *t = oracle_tally(u, k->where);
		bool error = k->extra || t[PERSISTED];
		struct finding *f = error                                        ? missing(u, *k, t)
				    : check_file_was_persisted(u->check, k->key) ? transient(u, *k)
										 : whole_file(u, i);
		if (f)
			finding_add(out, f);
	}
}

const struct check_oracle check_oracle_unpersisted = {
	.name = "unpersisted",
	.persist = persist,
	.op_end = op_end,
	.gone = gone,
	.report = report,
};
