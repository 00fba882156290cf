/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores that are not persistent when their mapping goes away.
 *
 * At munmap and at the end of the process every open byte is looked at, and charged to the
 * statement that wrote it last; those that wrote it before, and whose value was not persistent
 * either, are named with it. What was left open decides the name:
 *
 *   flushed, not fenced            missing-fence
 *   fenced after, not flushed      missing-flush
 *   neither                        missing-flush-and-fence
 *
 * How grave it is, evidence.c says: an error takes evidence that the program needs the bytes.
 * Without any it is transient-data. A byte that was stored anew with the value that is
 * guaranteed already is not lost.
 *
 * Evidence that a statement's stores or some bytes are persisted counts only where it is on purpose:
 * by a library's transaction; by a flush of the program's own that the function which stored, or one
 * that works with it, has made; or where nothing else in the line was open. What an allocator
 * persists, or a neighbour's flush, proves nothing.
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
#include <stdlib.h>

#include "check/internal.h"

#define BLOCK 24       /* bytes of a line that are more than a word or two */
#define MOST_WRITERS 8 /* that a finding names */

static void op_end(struct oracle_state *u, const struct model_step *s)
{
	MODEL_EACH_WORD (w, s->mask)
		oracle_tally(
			u, s->line->store[w])[check_fenced_since(u->check, s, (int)w) ? FENCED
										      : UNFENCED]++;
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

static void store(struct oracle_state *u, const struct model_step *s)
{
	check_note_lock(u, s);
	check_note_replaced(u, s);
	check_note_count(u, s);
	check_note_round(u, s);
	if (check_targets_link(u->check, s->ev))
		oracle_tally(u, s->where)[LINKS]++;
	u->newest = s->line->key;
}

static void fence(struct oracle_state *u, const struct model_step *s)
{
	check_note_fence(u, s);
	check_note_awaited(u, s);
}

/* ---- what becomes persistent ---- */

/* Counts words that are lost, or nearly were; the best example is one at a location that matters. */
static struct cause *hit(struct oracle_state *u, enum finding_kind kind, const struct model_step *s,
			 model_where where)
{
	bool fresh, cared = (s->line->meant & s->mask) != 0;
	int w = __builtin_ctzll(s->mask) / 8;
	struct cause *k = check_cause_hit(u, kind, where, &fresh);
	if (fresh || (cared && !k->extra)) {
		check_cause_example(u->check, k, s, w);
		k->store_where = where;
		if (kind != FINDING_LATE_PERSIST)
			check_cause_ends(u->check, k, s);
	}
	k->extra += cared;
	return k;
}

/* Those that wrote some of these bytes of a line before its writer i, in vain. */
static void note_writers(struct oracle_state *u, const struct model_writer *writer, size_t i,
			 uint64_t mask)
{
	for (size_t k = 0; k < i; k++)
		if (writer[k].mask & mask && writer[k].where != writer[i].where)
			check_pair_hit(&u->writers, writer[i].where, writer[k].where, 1);
}

typedef void charge_one(struct oracle_state *, const struct model_step *, model_where);

/* Charges bytes of a line to the statements that wrote them last, and notes those that did before. */
static void charge(struct oracle_state *u, const struct model_step *s, uint64_t bytes,
		   charge_one *one)
{
	size_t n;
	const struct model_writer *writer = model_writers(u->check->model, s->line, &n);
	struct model_step part = *s;
	for (size_t i = n; i-- > 0 && bytes;) {
		part.mask = writer[i].mask & bytes;
		if (!part.mask)
			continue;
		bytes &= ~part.mask;
		one(u, &part, writer[i].where);
		note_writers(u, writer, i, part.mask);
	}
	for (int w = 0; w < MODEL_WORDS; w++) { /* of writers that are no longer known */
		part.mask = bytes & 0xffull << (w * 8);
		if (part.mask)
			one(u, &part, s->line->store[w]);
	}
}

/* The program goes on as if these bytes were persistent, and they become so by the flush of something else. */
static void stray(struct oracle_state *u, const struct model_step *s, model_where where)
{
	hit(u, FINDING_LATE_PERSIST, s, where);
}

static void persist(struct oracle_state *u, const struct model_step *s)
{
	struct model_line *l = s->line;
	bool implied = s->ev->kind == TRACE_FENCE && s->ev->flags & TRACE_F_ATOMIC;
	uint64_t purpose = check_purpose(u, s);
	uint64_t unasked = s->mask & ~check_asked_bytes(u->check, l);
	check_asked_persisted(u->check, s);
	bool alone = purpose && check_is_alone(l);
	uint64_t meant = 0, strayed = 0;
	struct model_flight flight = *model_flight(u->check->model, l);
	MODEL_EACH_WORD (w, s->mask) {
		uint64_t word = s->mask & 0xffull << (w * 8);
		if (implied && flight.late & word && !check_by_pmdk(u->check, l->store[w])) {
			struct model_step one = *s;
			one.mask = word;
			hit(u, FINDING_MISSING_FENCE, &one, l->store[w]);
			continue;
		}
		bool on_purpose = (purpose & word) != 0;
		bool is_stray =
			!on_purpose && word & ~flight.same && check_is_stray(u, s, w, purpose);
		oracle_tally(u, l->store[w])[on_purpose       ? PERSISTED
					     : is_stray       ? STRAY
					     : unasked & word ? UNASKED
							      : BY_CHANCE]++;
		oracle_tally(u, l->store[w])[ALONE] += alone;
		oracle_tally(u, l->store[w])[LEFT] += is_stray && check_is_left(u, s, w);
		oracle_tally(u, l->store[w])[UNASKED] += is_stray && unasked & word;
		meant |= purpose & word;
		strayed |= is_stray ? word & ~flight.same : 0;
	}
	if (strayed)
		charge(u, s, strayed, stray);
	l->meant |= meant;
	check_file_persisted(u->check, l->key);
}

/* ---- what does not ---- */

/* Only a lock of the C library came after the flush. */
static void note_runtime(struct oracle_state *u, const struct model_step *s, struct cause *k)
{
	struct check *c = u->check;
	uint32_t thread = model_flight(c->model, s->line)->flusher;
	if (thread < c->lock.n &&
	    c->lock.p[thread].num > model_when(s->line->flush_when, s->ev->num)) {
		k->runtime++;
		k->runtime_where = c->lock.p[thread].where;
	}
}

/* Part of a block of data: much of the line is lost, and nobody but the function that stored it, nor this one a second
 * time, wrote these bytes since they were last persistent. */
static bool is_block(struct oracle_state *u, const struct model_step *s, model_where where)
{
	struct model *m = u->check->model;
	const struct model_flight *flight = model_flight(m, s->line);
	size_t n;
	const struct model_writer *writer = model_writers(m, s->line, &n);
	bool once = !model_again(flight, __builtin_ctzll(s->mask) / 8);
	for (size_t i = 0; i < n; i++)
		once &= !(writer[i].mask & s->mask) ||
			model_place(m, writer[i].where)->ctx == model_place(m, where)->ctx;
	return once && __builtin_popcountll(s->line->open & ~flight->same) >= BLOCK;
}

/* A line of source makes both stores. */
static bool is_one_line(struct oracle_state *u, model_where a, model_where b)
{
	struct pair *p = check_pair_hit(&u->lines, a, b, 1);
	if (!p->near) {
		const struct srcloc_frame *f = finding_main_frame(check_place(u->check, a));
		const struct srcloc_frame *g = finding_main_frame(check_place(u->check, b));
		bool same = f && g && f->line && f->line == g->line && check_same_function(f, g);
		p->near = same ? 2 : 1;
	}
	return p->near == 2;
}

/* One statement stored a whole block of what is lost in this line: a structure, say. Locks and counters are words. */
static bool is_whole(struct oracle_state *u, const struct model_step *s, model_where where)
{
	const struct model_line *l = s->line;
	uint64_t lost = l->open & ~model_flight(u->check->model, l)->same, own = s->mask;
	MODEL_EACH_WORD (w, lost & ~s->mask)
		if (is_one_line(u, where, l->store[w]))
			own |= lost & 0xffull << (w * 8);
	return __builtin_popcountll(own) >= BLOCK;
}

/* Nobody has stored to these bytes before. */
static bool is_once(struct oracle_state *u, const struct model_step *s, model_where where)
{
	struct model *m = u->check->model;
	size_t n;
	const struct model_writer *writer = model_writers(m, s->line, &n);
	bool once = !(s->line->ever & s->mask) &&
		    !model_again(model_flight(m, s->line), __builtin_ctzll(s->mask) / 8);
	for (size_t i = 0; i < n; i++)
		once &= !(writer[i].mask & s->mask) || writer[i].where == where;
	return once;
}

static void lose(struct oracle_state *u, const struct model_step *s, model_where where)
{
	if (check_by_pmdk(u->check, where))
		return;
	uint64_t pending = model_pending(u->check->model, s->line);
	int w = __builtin_ctzll(s->mask) / 8;
	bool flushed = (s->mask & ~pending) == 0;
	struct cause *k = hit(u, flushed ? FINDING_MISSING_FENCE : FINDING_MISSING_FLUSH, s, where);
	k->fenced += check_fenced_since(u->check, s, w);
	k->blocks += is_block(u, s, where);
	k->whole += is_whole(u, s, where);
	k->once += is_once(u, s, where);
	if (flushed) {
		k->wanted += check_near(u, where, s->line->flush);
		note_runtime(u, s, k);
	}
}

/* The bytes of the words that nobody excuses, without those that lose nothing. */
static uint64_t lost_bytes(struct oracle_state *u, const struct model_step *s)
{
	uint64_t lost = 0, same = model_flight(u->check->model, s->line)->same;
	for (int w = 0; w < MODEL_WORDS; w++) {
		uint64_t word = s->mask & ~same & 0xffull << (w * 8);
		if (word && !excused(u->check, s, w))
			lost |= word;
	}
	return lost;
}

static void gone(struct oracle_state *u, const struct model_step *s)
{
	charge(u, s, lost_bytes(u, s), lose);
}

/* ---- findings ---- */

static const char *end_text(const struct cause *k)
{
	return k->end_kind == TRACE_UNMAP   ? "when it was unmapped"
	       : k->end_kind == TRACE_FENCE ? "when its operation ended"
					    : "when the program ended";
}

/* The fence that follows within the operation counts; where there are none, any that follows. */
static enum finding_kind final_kind(const struct cause *k, const uint32_t *t)
{
	if (k->kind == FINDING_MISSING_FENCE)
		return k->kind;
	bool fenced =
		t[FENCED] + t[UNFENCED] ? t[FENCED] >= t[UNFENCED] : 2 * k->fenced >= k->count;
	return fenced ? FINDING_MISSING_FLUSH : FINDING_MISSING_FLUSH_AND_FENCE;
}

static struct finding *missing(struct oracle_state *u, struct check_group *g)
{
	struct check *c = u->check;
	struct finding *f;
	char buf[128];
	g->k.kind = final_kind(&g->k, g->tally);
	if (g->k.kind == FINDING_MISSING_FENCE && g->k.runtime) {
		f = check_group_finding(
			c, g,
			"the store was flushed but not fenced: the flush was completed only "
			"by the lock in %s",
			check_runtime_text(c, g->k.runtime_where, buf, sizeof buf));
	} else {
		f = check_group_finding(
			c, g, "the store was %s %s",
			g->k.kind == FINDING_MISSING_FENCE   ? "flushed but not fenced"
			: g->k.kind == FINDING_MISSING_FLUSH ? "not flushed"
							     : "neither flushed nor fenced",
			end_text(&g->k));
	}
	f->advice = xstrdup(check_advice(c, g->k.kind));
	return f;
}

/* Locks lie in the nodes that they protect, and cannot be moved out: nothing to act upon but recovery. */
static struct finding *transient(struct oracle_state *u, struct check_group *g, bool lock)
{
	g->k.kind = FINDING_TRANSIENT_DATA;
	struct finding *f = check_group_finding(
		u->check, g,
		lock ? "a lock that is not persisted: recovery must release it"
		     : "what is stored here is never made persistent on purpose in this run");
	if (lock)
		f->level = FINDING_NOTE;
	f->advice = xstrdup(lock ? "Release it in recovery, and mark it HOLDFAST_VOLATILE."
				 : "Keep it in DRAM, mark it HOLDFAST_VOLATILE, or persist it.");
	return f;
}

/* How much a group says: stores that are lost, that are persistent by chance, that were overwritten. */
static int says(const struct check_group *g)
{
	return g->k.kind == FINDING_DIRTY_OVERWRITE ? 0 : g->k.kind == FINDING_LATE_PERSIST ? 1 : 2;
}

/* One finding for the file of this group, with all that was stored there; NULL: it has one. */
static struct finding *whole_file(struct oracle_state *u, const check_groups *groups, size_t i)
{
	struct check_group g = groups->p[i];
	for (size_t j = 0; j < groups->n; j++) {
		const struct cause *other = &groups->p[j].k;
		if (j == i || says(&groups->p[j]) < 2 || !check_same_file(other->key, g.k.key))
			continue;
		if (j < i)
			return NULL;
		g.k.count += other->count;
	}
	g.k.kind = FINDING_FILE_NEVER_PERSISTED;
	struct finding *f = check_cause_finding(
		u->check, &g.k, "no store to this file is ever made persistent in this run");
	f->advice = xstrdup(
		"If the file is shared memory, leave it out with --pm; else persist what must survive.");
	return f;
}

/* ---- why ---- */

static void add_store(struct check *c, struct finding *f, model_where w)
{
	const struct model_place *p = model_place(c->model, w);
	finding_add_store(f, (struct finding_store){ p->process, p->site, p->ctx });
}

/* Those whose value was overwritten before it was persistent. */
static void add_writers(struct oracle_state *u, const struct check_group *g, struct finding *f)
{
	const uint32_t *statement = u->check->statement.p;
	VEC(uint32_t) named = { 0 };
	for (size_t i = 0; i < u->writers.v.n && named.n < MOST_WRITERS; i++) {
		const struct pair *p = &u->writers.v.p[i];
		bool old = statement[p->a] != statement[g->k.where] ||
			   statement[p->b] == statement[g->k.where];
		if (!old)
			add_store(u->check, f, p->b);
		for (size_t k = 0; k < named.n; k++)
			old |= named.p[k] == statement[p->b];
		if (old)
			continue;
		VEC_PUSH(&named, statement[p->b]);
		check_cause_relate(u->check, f, "writer",
				   "wrote the same bytes before, and was not persisted either",
				   (uint64_t)p->b + 1);
	}
	VEC_FREE(&named);
}

/* Adds to a finding why it is one, and whose stores are meant. */
static struct finding *explain(struct oracle_state *u, const struct check_group *g,
			       const struct check_facts *facts, struct finding *f)
{
	check_evidence_add(facts, f);
	for (size_t k = 0; k < g->member.n; k++)
		add_store(u->check, f, g->member.p[k].where);
	add_writers(u, g, f);
	return f;
}

/* That it became persistent by chance is no finding of its own where that may be meant. */
static bool is_found(struct oracle_state *u, const struct check_group *g)
{
	return g->k.kind != FINDING_LATE_PERSIST ||
	       check_was_forgotten(u, g, check_facts_of(u, g).awaited);
}

/* Another group of the same statement says more. */
static bool is_said(struct oracle_state *u, const check_groups *groups, const struct check_group *g)
{
	const uint32_t *statement = u->check->statement.p;
	for (size_t i = 0; i < groups->n; i++)
		if (says(&groups->p[i]) > says(g) &&
		    statement[groups->p[i].k.where] == statement[g->k.where] &&
		    is_found(u, &groups->p[i]))
			return true;
	return false;
}

/* What was overwritten although nobody had persisted it; NULL: little speaks for it. */
static struct finding *replaced(struct oracle_state *u, const check_groups *groups,
				struct check_group *g)
{
	struct check_facts facts = check_facts_of(u, g);
	uint64_t by = check_was_replaced(u, g, facts.awaited);
	facts.replaced = true;
	check_recovery_look(u->check, &g->k, &facts);
	if (!by || is_said(u, groups, g) || check_evidence(&facts) == CHECK_TRANSIENT)
		return NULL;
	g->k.kind = FINDING_MISSING_FLUSH;
	struct finding *f = check_group_finding(
		u->check, g, "the store was not flushed before something else was stored there");
	check_cause_relate(u->check, f, "overwritten", "by a store that is persisted", by);
	f->level = FINDING_WARNING;
	f->advice = xstrdup(check_advice(u->check, g->k.kind));
	return explain(u, g, &facts, f);
}

/* What was forgotten, and is persistent by chance; NULL: it was not, or is a lock. */
static struct finding *forgotten(struct oracle_state *u, const check_groups *groups,
				 struct check_group *g)
{
	struct check_facts facts = check_facts_of(u, g);
	if (is_said(u, groups, g) || !check_was_forgotten(u, g, facts.awaited) || facts.lock ||
	    facts.atomic)
		return NULL;
	check_recovery_look(u->check, &g->k, &facts);
	if (check_evidence(&facts) == CHECK_TRANSIENT)
		return explain(u, g, &facts, transient(u, g, false));
	g->k.kind = FINDING_MISSING_FLUSH;
	struct finding *f = check_group_finding(
		u->check, g,
		"the store became persistent only when something else in its line was flushed");
	f->level = FINDING_WARNING;
	f->advice = xstrdup(check_advice(u->check, g->k.kind));
	return explain(u, g, &facts, f);
}

static struct finding *judge(struct oracle_state *u, const check_groups *groups, size_t i)
{
	struct check_group *g = &groups->p[i];
	if (g->k.kind == FINDING_LATE_PERSIST)
		return forgotten(u, groups, g);
	if (g->k.kind == FINDING_DIRTY_OVERWRITE)
		return replaced(u, groups, g);
	struct check_facts facts = check_facts_of(u, g);
	if (check_evidence(&facts) == CHECK_TRANSIENT &&
	    !check_file_was_persisted(u->check, g->k.key))
		return whole_file(u, groups, i); /* whatever recovery does with it */
	check_recovery_look(u->check, &g->k, &facts);
	enum check_verdict verdict = check_evidence(&facts);
	if (facts.mark && verdict == CHECK_TRANSIENT)
		return NULL; /* it need not be persistent, nor can it be elsewhere */
	struct finding *f =
		verdict == CHECK_TRANSIENT ? transient(u, g, facts.lock) : missing(u, g);
	if (verdict == CHECK_SUSPICION)
		f->level = FINDING_WARNING;
	return explain(u, g, &facts, f);
}

static void report(struct oracle_state *u, struct finding_set *out)
{
	check_groups groups = check_group(u);
	hmap_free(&u->persisting); /* of an earlier report */
	for (size_t i = 0; i < groups.n; i++) {
		struct finding *f = judge(u, &groups, i);
		if (f)
			finding_add(out, f);
	}
	check_groups_free(&groups);
}

const struct check_oracle check_oracle_unpersisted = {
	.name = "unpersisted",
	.store = store,
	.flush = check_asked_flush,
	.fence = fence,
	.persist = persist,
	.op_end = op_end,
	.gone = gone,
	.report = report,
};
