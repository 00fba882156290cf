/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Strategies make states, cells test them side by side, and verdicts are dealt with in the
 * order of generation: what is found does not depend on which recovery was quicker.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"

#define TRY_TAG UINT64_MAX
#define HASTY 0x80u

static uint64_t pack(struct crash_verdict v)
{
	return (uint64_t)(uint32_t)v.status << 8 | (v.hasty ? HASTY : 0) | v.verdict;
}

static struct crash_verdict unpack(uint64_t v)
{
	return (struct crash_verdict){ .verdict = (enum runner_verdict)(v & (HASTY - 1)),
				       .status = (int)(uint32_t)(v >> 8),
				       .hasty = v & HASTY };
}

/* There is no time for more than what is under way, if that takes as long as what was done so far; which the first states
 * tell badly, so that it is never taken for more than a twentieth of the time. */
static bool is_late(const struct crash *c)
{
	double now = now_seconds(), pending = (double)(c->job.n - c->head);
	double settled = (double)c->seq - pending, most = (c->until - c->started) / 20;
	double rest = settled > 0 ? pending * (now - c->started) / settled : 0;
	return c->until > 0 && now + (rest < most ? rest : most) >= c->until;
}

static bool wants_stop(struct crash *c)
{
	uint64_t most = c->opts.budget_states;
	if (!c->stopping)
		c->stopping = (c->hooks->stop && c->hooks->stop(c->hooks->arg)) ||
			      (most && c->counts.tested - c->trials + c->inflight >= most) ||
			      is_late(c);
	return c->stopping;
}

void crash_until(struct crash *c, double when)
{
	c->until = when;
	if (c->started > 0)
		runner_until(c->runner, when);
}

static int tick(struct crash *c, struct err *err)
{
	return c->hooks->progress ? c->hooks->progress(c->hooks->arg, &c->counts, err) : 0;
}

bool crash_known(struct crash *c, uint64_t key, struct crash_verdict *v)
{
	uint64_t packed;
	if (hmap_get(&c->verdict, key, &packed)) {
		*v = unpack(packed);
		hmap_get(&c->said, key, &v->said);
		return !v->hasty || !c->patient;
	}
	if (!c->hooks->known || !c->hooks->known(c->hooks->arg, key, v) || (v->hasty && c->patient))
		return false;
	c->counts.resumed++;
	hmap_put(&c->verdict, key, pack(*v));
	if (v->said)
		hmap_put(&c->said, key, v->said);
	return true;
}

bool crash_known_state(struct crash *c, const struct crash_state *s, uint64_t hash,
		       struct crash_verdict *v)
{
	uint64_t key = crash_suffix_key(c, hash, crash_ops_begun(c->h, s->event));
	return crash_known(c, key, v) && !crash_judge(c, s, false, v, NULL);
}

static struct crash_verdict verdict_of(const struct runner_result *r)
{
	return (struct crash_verdict){
		.verdict = r->verdict, .status = r->status, .said = r->said, .hasty = r->hasty
	};
}

/* A verdict has come: keep it. */
static int keep(struct crash *c, uint64_t key, uint64_t event, const char *strategy,
		const struct runner_result *r, struct err *err)
{
	struct crash_tested t = { .key = key,
				  .event = event,
				  .strategy = strategy ? strategy : "",
				  .verdict = verdict_of(r),
				  .output = r->verdict == RUNNER_OK ? NULL : r->output,
				  .spent = r->spent };
	if (r->verdict == RUNNER_BROKEN)
		return err_set(err, EXIT_PROGRAM, "the recovery command could not be run: %s",
			       r->why);
	c->counts.tested++;
	c->counts.recovery += r->spent;
	crash_patience_learn(c, r);
	hmap_put(&c->verdict, key, pack(t.verdict));
	if (r->said) {
		hmap_put(&c->said, key, r->said);
		crash_said_keep(c, r->said, r->output, r->noutput);
	}
	return c->hooks->tested ? c->hooks->tested(c->hooks->arg, &t, err) : 0;
}

/* Takes one result in. `tried` gets the one of crash_try. 1: something came, 0: nothing. */
static int collect(struct crash *c, bool block, struct runner_result *tried, struct err *err)
{
	struct runner_result r = { 0 };
	struct crash_job *job;
	uint64_t tag;
	unsigned cell;
	int got = runner_wait(c->runner, block, &tag, &cell, &r, err);
	if (got <= 0)
		return got;
	if (tag == TRY_TAG) {
		*tried = r;
		return 1;
	}
	job = (struct crash_job *)(uintptr_t)tag;
	got = keep(c, job->key, job->state.event, job->strategy, &r, err) ? -1 : 1;
	job->verdict = verdict_of(&r);
	job->done = true;
	c->inflight--;
	runner_result_free(&r);
	return got;
}

static int start(struct crash *c, const struct crash_state *s, size_t ended, uint64_t tag,
		 unsigned patience, struct err *err)
{
	int cell = runner_idle(c->runner, err);
	double before = now_seconds();
	if (cell < 0 || crash_materialise(c, (unsigned)cell, s, err) ||
	    crash_suffix_put(c, (unsigned)cell, ended, err))
		return -1;
	c->counts.build += now_seconds() - before;
	if (c->again)
		runner_again(c->runner, (unsigned)cell);
	runner_patience(c->runner, (unsigned)cell, patience);
	return runner_start(c->runner, (unsigned)cell, tag, err);
}

int crash_run_state(struct crash *c, const struct crash_state *s, size_t ended, bool fresh,
		    struct crash_verdict *v, char **output, struct err *err)
{
	struct runner_result r = { .verdict = RUNNER_BROKEN };
	bool mine = false;
	uint64_t key;
	crash_cursor_move(&c->building, s->event);
	key = crash_suffix_key(c, crash_state_hash(s, &c->building), ended);
	if (!fresh && !output && crash_known(c, key, v))
		return 0;
	if (start(c, s, ended, TRY_TAG, fresh || output ? 0 : crash_patience(c), err))
		return -1;
	while (!mine) {
		int got = collect(c, true, &r, err);
		mine = r.verdict != RUNNER_BROKEN || r.why[0];
		if (got < 0 || (got == 0 && !mine))
			return -1;
	}
	*v = verdict_of(&r);
	int bad = keep(c, key, s->event, c->counts.strategy, &r, err);
	if (output && !bad) {
		*output = r.output;
		r.output = NULL;
	}
	runner_result_free(&r);
	return bad || tick(c, err) ? -1 : 0;
}

int crash_try(struct crash *c, const struct crash_state *s, bool fresh, struct crash_verdict *v,
	      char **output, struct err *err)
{
	if (crash_run_state(c, s, crash_ops_begun(c->h, s->event), fresh, v, output, err))
		return -1;
	return crash_judge(c, s, true, v, err);
}

bool crash_failed(const struct crash *c, const struct crash_state *s, struct crash_verdict v)
{
	if (v.verdict == RUNNER_OK)
		return false;
	/* The pool is not complete yet, and recovery says what it says of an empty one. */
	return s->event >= c->created || v.verdict != c->empty.verdict ||
	       v.status != c->empty.status;
}

bool crash_asked(struct crash *c, const struct crash_state *s)
{
	crash_cursor_move(&c->building, s->event);
	uint64_t key = crash_suffix_key(c, crash_state_hash(s, &c->building),
					crash_ops_begun(c->h, s->event));
	bool known = hmap_get(&c->asked, key, NULL);
	hmap_put(&c->asked, key, 1);
	return !known;
}

/* ---- one state after the other ---- */

static void free_job(struct crash_job *job)
{
	crash_state_free(&job->state);
	free(job);
}

/* Deals with the oldest states, as far as their verdicts are there. */
static int settle(struct crash *c, struct err *err)
{
	int bad = 0;
	while (!bad && c->head < c->job.n && c->job.p[c->head]->done) {
		struct crash_job *job = c->job.p[c->head++];
		if (crash_judge(c, &job->state, true, &job->verdict, err)) {
			free_job(job);
			return -1;
		}
		c->counts.unjudged += !crash_judge_can(c, &job->state);
		bool failed = crash_failed(c, &job->state, job->verdict);
		uint64_t causes = c->counts.causes;
		c->settling = job->seq;
		hmap_put(&c->asked, job->key, 1);
		if (failed) {
			c->counts.failed++;
			bad = crash_explain_state(c, &job->state, job->verdict, err);
			c->counts.unexplained += bad != 0;
		} else if (job->verdict.verdict != RUNNER_OK) {
			c->counts.created++;
		}
		crash_gen_learn(c->gen, job->ticket,
				&(struct crash_news){ .causes = c->counts.causes - causes });
		free_job(job);
	}
	if (c->head == c->job.n)
		c->head = c->job.n = 0;
	return bad;
}

static int add_job(struct crash *c, const struct crash_state *s, uint64_t hash, size_t ticket,
		   struct err *err)
{
	struct crash_job *job = xcalloc(1, sizeof *job);
	size_t ended = crash_ops_begun(c->h, s->event);
	crash_state_copy(&job->state, s);
	job->key = crash_suffix_key(c, hash, ended);
	job->strategy = c->counts.strategy;
	job->ticket = ticket;
	job->seq = c->seq++;
	VEC_PUSH(&c->job, job);
	if (crash_known(c, job->key, &job->verdict)) {
		job->done = true;
		return 0;
	}
	c->inflight++;
	return start(c, &job->state, ended, (uintptr_t)job, crash_patience(c), err);
}

/* Waits until no more than `most` states are without a verdict. */
static int drain(struct crash *c, size_t most, struct err *err)
{
	for (;;) {
		int got;
		if (settle(c, err))
			return -1;
		if (c->job.n - c->head <= most)
			return 0;
		got = collect(c, true, NULL, err);
		if (got <= 0)
			return got < 0 ? -1 : err_set(err, EXIT_INTERNAL, "a verdict is missing");
		if (tick(c, err))
			return -1;
	}
}

/* ---- from the first state to the last ---- */

/* Notes who made a state, and returns its ticket. */
static size_t note_progress(struct crash *c)
{
	struct crash_progress p;
	crash_gen_progress(c->gen, &p);
	c->counts.strategy = p.strategy;
	c->counts.point = p.point;
	c->counts.phase = p.phase;
	c->counts.phases = p.phases;
	return p.ticket;
}

/* It is made already, or need not be run. */
static bool is_needless(struct crash *c, const struct crash_state *s, uint64_t hash)
{
	uint64_t key = crash_judge_key(c, s, hash);
	c->counts.generated++;
	if (hmap_get(&c->made, key, NULL)) {
		c->counts.same++;
		return true;
	}
	hmap_put(&c->made, key, 1);
	/* Only what is settled for sure, however quick recovery was, may count here. */
	if (!crash_contains_hang(c, s, c->seq))
		return false;
	c->counts.hangs++;
	return true;
}

static int take_state(struct crash *c, const struct crash_state *s, uint64_t hash, size_t ticket,
		      struct err *err)
{
	if (is_needless(c, s, hash)) {
		crash_gen_learn(c->gen, ticket, &(struct crash_news){ .same = true });
		return 0;
	}
	struct crash_verdict ignored;
	uint64_t key = crash_suffix_key(c, hash, crash_ops_begun(c->h, s->event));
	if (!crash_is_mine(c, key) && !crash_known(c, key, &ignored)) {
		c->counts.elsewhere++;
		crash_gen_learn(c->gen, ticket, &(struct crash_news){ 0 });
		return 0;
	}
	return add_job(c, s, hash, ticket, err) || drain(c, CRASH_WINDOW, err) ? -1 : 0;
}

/* All verdicts are there, and what they told counts from now on, however quick recovery was. */
static int drain_all(struct crash *c, struct err *err)
{
	int bad = drain(c, 0, err);
	c->certain = c->seq;
	return bad;
}

/* For crash_gen_settle. */
static bool wait_for_all(void *arg)
{
	struct crash *c = arg;
	c->failed = drain_all(c, c->err);
	if (!c->failed)
		crash_feedback_give(c, true);
	return !c->failed && !wants_stop(c);
}

/* The next state; where the strategy has none, it may have once it knows all verdicts. 1, 0: there are no more, -1. */
static int make_state(struct crash *c, struct crash_gen *gen, struct crash_state *s,
		      struct err *err)
{
	do {
		s->at.n = 0;
		if (crash_feedback_full(c) && drain_all(c, err))
			return -1;
		crash_feedback_give(c, crash_feedback_full(c));
		if (crash_gen_next(gen, s))
			return 1;
		if (c->failed || drain_all(c, err))
			return -1;
	} while (crash_feedback_give(c, true));
	return 0;
}

/* The image of a state, which may be at another moment than the strategy is: healing moves some to the end of a window. */
static uint64_t image_of(struct crash *c, const struct crash_gen *gen, const struct crash_state *s)
{
	if (s->event == crash_gen_event(gen))
		return crash_gen_image(gen, s);
	crash_cursor_move(&c->searching, s->event);
	return crash_state_hash(s, &c->searching);
}

static int run_strategy(struct crash *c, struct crash_gen *gen, struct err *err)
{
	struct crash_state s = { 0 };
	int bad = 0;
	c->gen = gen;
	c->err = err;
	c->failed = false;
	note_progress(c);
	while (!bad && !wants_stop(c)) {
		int made = make_state(c, gen, &s, err);
		if (made <= 0) {
			bad = made;
			break;
		}
		size_t ticket = note_progress(c);
		if (gen->strategy->heal)
			crash_heal_known(c, &s, c->seq);
		uint64_t hash = image_of(c, gen, &s);
		bad = take_state(c, &s, hash, ticket, err) || tick(c, err);
		crash_feedback_add(c, gen->w, &s, hash);
	}
	bad = bad || c->failed || drain(c, 0, err);
	crash_state_free(&s);
	crash_feedback_forget(c);
	c->gen = NULL;
	return bad ? -1 : 0;
}

static void forget_jobs(struct crash *c)
{
	while (c->head < c->job.n) {
		struct crash_job *job = c->job.p[c->head++];
		bool failed = job->done && crash_failed(c, &job->state, job->verdict);
		c->counts.failed += failed;
		c->counts.unexplained += failed;
		free_job(job);
	}
	c->head = c->job.n = 0;
}

struct crash_world crash_look(struct crash *c)
{
	struct crash_world w = { .h = c->h,
				 .points = &c->points,
				 .wishes = { .random = c->opts.random,
					     .few = c->opts.few,
					     .no_reduce = c->opts.no_reduce,
					     .budget = c->opts.endless,
					     .narrow = c->opts.nonly || c->opts.after },
				 .seed = c->opts.seed,
				 .suspects = &c->suspects,
				 .breaches = &c->breaches,
				 .reads = c->runner && runner_calls(c->runner) && !c->opts.several
						  ? crash_reads_lines
						  : NULL,
				 .reads_arg = c,
				 .src = c->src,
				 .opts = &c->opts,
				 .told = &c->counts.behaviour,
				 .settle = wait_for_all,
				 .settle_arg = c };
	crash_cursor_init(&w.cursor, c->h);
	return w;
}

static int run_named(struct crash *c, struct crash_world *world, const char *name, struct err *err)
{
	struct crash_gen *gen = crash_gen_new(world, name);
	int bad = run_strategy(c, gen, err);
	crash_gen_free(gen);
	return bad;
}

int crash_run(struct crash *c, struct runner *r, const struct crash_hooks *hooks, struct err *err)
{
	const struct crash_strategy *proof = crash_strategy_find("proof");
	struct crash_world world;
	int bad = 0;
	c->runner = r;
	c->hooks = hooks;
	c->trials = c->counts.tested;
	c->started = now_seconds();
	crash_until(c, c->until);
	world = crash_look(c);
	crash_suspects_plan(&c->suspects, c->h, &c->points);
	if (c->suspects.plan.n && crash_strategy_find(c->opts.strategy) != proof)
		bad = run_named(c, &world, proof->name, err) || crash_suspects_confirm(c, err);
	if (!bad)
		bad = run_named(c, &world, c->opts.strategy, err) || crash_look_also(c, err);
	crash_cursor_free(&world.cursor);
	bool late = c->until > 0 && now_seconds() >= c->until;
	runner_until(r, 0);
	if (bad && (late || (hooks->stop && hooks->stop(hooks->arg)))) {
		c->stopping = true; /* what was in flight is given up */
		bad = 0;
	}
	c->counts.cut = c->stopping;
	crash_judge_hears(c);
	forget_jobs(c);
	return bad;
}
