/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The solver: decorators around Z3, put together here. Each one answers what it can and hands the
 * rest on, mostly a smaller question:
 *
 *   assign      an equation for plain bytes, all others as they are           (assign.c)
 *   simplify    conjunctions apart, duplicates and contradictions by look     (question.c)
 *   slice       only what is connected with the goal; values left to bytes    (slice.c)
 *   cache       answers given before, models and contradictions used again    (cache.c)
 *   enumerate   repair of the input, search over few bytes                    (enumerate.c)
 *   z3          everything else                                               (z3.c)
 *
 * Whoever found it, a model goes out only if evaluation agrees with it.
 */
#include <stdlib.h>
#include <string.h>

#include "solve/internal.h"

#define DEFAULT_TIMEOUT_MS 2000

static const struct stage_ops *const chain[STAGES] = {
	&solve_stage_assign, &solve_stage_simplify,  &solve_stage_slice,
	&solve_stage_cache,  &solve_stage_enumerate, &solve_stage_z3,
};

static struct stage *stage_new(struct solver *s, const struct stage_ops *ops)
{
	struct stage *t = xcalloc(1, ops->size);
	t->ops = ops;
	t->solver = s;
	if (ops->start)
		ops->start(t);
	return t;
}

static void stage_free(struct stage *t)
{
	if (!t)
		return;
	if (t->ops->stop)
		t->ops->stop(t);
	free(t);
}

enum solve_answer solve_stage_next(struct stage *t, struct problem *p)
{
	return t->next ? t->next->ops->ask(t->next, p) : SOLVE_TIMEOUT;
}

static uint8_t *copy(const uint8_t *p, size_t n)
{
	return p && n ? memcpy(xmalloc(n), p, n) : NULL;
}

struct solver *solve_solver_new(struct pool *pool, const struct solve_opts *opts)
{
	struct solver *s = xcalloc(1, sizeof *s);
	s->pool = pool;
	s->timeout_ms = opts && opts->timeout_ms ? opts->timeout_ms : DEFAULT_TIMEOUT_MS;
	if (opts) {
		s->validate = opts->validate;
		s->lo = copy(opts->lo, opts->nrange);
		s->hi = copy(opts->hi, opts->nrange);
		s->nrange = opts->nrange;
	}
	for (unsigned i = STAGES; i--;) {
		s->stage[i] = stage_new(s, chain[i]);
		s->stage[i]->next = i + 1 < STAGES ? s->stage[i + 1] : NULL;
	}
	if (s->validate)
		s->twin = stage_new(s, &solve_stage_z3);
	return s;
}

void solve_solver_free(struct solver *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < STAGES; i++)
		stage_free(s->stage[i]);
	stage_free(s->twin);
	solve_problem_free(&s->problem);
	solve_problem_free(&s->whole);
	VEC_FREE(&s->spare);
	free(s->lo);
	free(s->hi);
	free(s);
}

void solve_stats_add(struct solve_stats *to, const struct solve_stats *more)
{
	to->queries += more->queries;
	to->sat += more->sat;
	to->unsat += more->unsat;
	to->timeouts += more->timeouts;
	to->trivial += more->trivial;
	to->cache_hits += more->cache_hits;
	to->enumerated += more->enumerated;
	to->z3 += more->z3;
	to->wrong += more->wrong;
	to->seconds += more->seconds;
	to->z3_seconds += more->z3_seconds;
}

const struct solve_stats *solve_solver_stats(const struct solver *s)
{
	return &s->stats;
}

/* ---- the twin ---- */

/* All bytes of all conditions, each once. */
static void whole_vars(struct solver *s, struct problem *w)
{
	uint32_t all = 0;
	size_t n;
	w->var.n = w->fixed.n = 0;
	for (size_t i = 0; i < w->cond.n; i++)
		all = solve_pool_set_join(s->pool, all, pool_at(s->pool, w->cond.p[i])->set);
	n = s->pool->set.p[all].size;
	for (size_t i = 0; i < n; i++) {
		uint32_t byte = solve_pool_set_bytes(s->pool, all)[i];
		VEC_PUSH(&w->var, ((struct var){ byte, solve_solver_range(s, byte, w->ninput) }));
	}
}

/* Does the model break what the input kept? */
static bool breaks(struct solver *s, const struct solve_query *q, const uint8_t *out)
{
	if (!(solve_pool_eval(s->pool, q->goal, out, q->ninput) & 1))
		return true;
	for (size_t i = 0; i < q->nmust; i++)
		if (!solve_pool_eval(s->pool, q->must[i], out, q->ninput) &&
		    solve_pool_eval(s->pool, q->must[i], q->input, q->ninput))
			return true;
	return false;
}

/* The same question to Z3 alone, as it was put: is the answer the same? */
static void compare(struct solver *s, const struct solve_query *q, enum solve_answer got,
		    const uint8_t *out)
{
	struct problem *w = &s->whole;
	struct solve_stats kept = s->stats;
	enum solve_answer want;
	if (got == SOLVE_SAT && breaks(s, q, out)) {
		s->stats.wrong++;
		return;
	}
	if (!solve_available() || got == SOLVE_TIMEOUT)
		return;
	w->cond.n = 0;
	VEC_PUSH(&w->cond, q->goal);
	for (size_t i = 0; i < q->nmust; i++)
		VEC_PUSH(&w->cond, q->must[i]);
	w->ngoal = 1;
	w->input = q->input;
	w->ninput = q->ninput;
	VEC_RESERVE(&s->spare, q->ninput + 1);
	w->out = s->spare.p;
	memcpy(w->out, q->input, q->ninput);
	whole_vars(s, w);
	want = s->twin->ops->ask(s->twin, w);
	kept.wrong = s->stats.wrong;
	s->stats = kept;
	if (want != SOLVE_TIMEOUT && want != got)
		s->stats.wrong++;
}

/* ---- asking ---- */

static void put(struct problem *p, const struct solve_query *q, uint8_t *out)
{
	p->cond.n = p->var.n = p->fixed.n = 0;
	VEC_PUSH(&p->cond, q->goal);
	VEC_RESERVE(&p->cond, q->nmust + 1);
	if (q->nmust)
		memcpy(p->cond.p + 1, q->must, q->nmust * sizeof *q->must);
	p->cond.n = q->nmust + 1;
	p->ngoal = 1;
	p->input = q->input;
	p->ninput = q->ninput;
	p->out = out;
	memmove(out, q->input, q->ninput);
}

enum solve_answer solve_solver_ask(struct solver *s, const struct solve_query *q, uint8_t *out)
{
	double start = now_seconds();
	enum solve_answer a;
	s->stats.queries++;
	put(&s->problem, q, out);
	a = s->stage[0]->ops->ask(s->stage[0], &s->problem);
	s->stats.seconds += now_seconds() - start;
	if (s->validate)
		compare(s, q, a, out);
	if (a != SOLVE_SAT)
		memmove(out, q->input, q->ninput);
	if (a == SOLVE_SAT)
		s->stats.sat++;
	else if (a == SOLVE_UNSAT)
		s->stats.unsat++;
	else
		s->stats.timeouts++;
	return a;
}
