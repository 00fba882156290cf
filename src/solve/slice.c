/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slicing: only conditions that share bytes with the goal, directly or through others, can stand in
 * its way; the rest hold for the input and their bytes stay as they are.
 *
 * First, conditions on a single byte (most are) become sets of the values that they leave to it:
 * 256 bits each, worked out once per condition and kept. A byte that has only the value of the
 * input left is fixed and connects nothing: behind a magic number, slices are small.
 */
#include <stdlib.h>
#include <string.h>

#include "solve/internal.h"

struct byte_state {
	uint32_t question; /* of which the rest is */
	uint32_t parent;   /* union-find over bytes */
	bool fixed, wanted, listed;
	struct domain dom;
};

struct slice {
	struct stage stage;
	uint32_t now;
	VEC(struct byte_state) byte;
	VEC(uint32_t) set_seen;
	struct hmap domain_of; /* condition on one byte -> index of its values */
	VEC(struct domain) domain;
	struct program program;
};

/* ---- values left to a byte ---- */

static const struct domain *unary(struct slice *t, struct pool *pool, expr e, uint32_t byte)
{
	struct domain d = { { 0 } };
	uint64_t at;
	if (hmap_get(&t->domain_of, e, &at))
		return &t->domain.p[at];
	solve_program_compile(&t->program, pool, e);
	solve_program_run(&t->program, NULL, 0);
	solve_program_vary(&t->program, byte);
	for (unsigned v = 0; v < 256; v++)
		if (solve_program_rerun(&t->program, (uint8_t)v))
			d.w[v >> 6] |= (uint64_t)1 << (v & 63);
	VEC_PUSH(&t->domain, d);
	hmap_put(&t->domain_of, e, t->domain.n - 1);
	return &t->domain.p[t->domain.n - 1];
}

static bool only(const struct domain *d, unsigned v)
{
	struct domain one = { { 0 } };
	one.w[v >> 6] = (uint64_t)1 << (v & 63);
	return !memcmp(d, &one, sizeof one);
}

static struct byte_state *state(struct slice *t, const struct problem *p, uint32_t byte)
{
	struct byte_state *b;
	if (byte >= t->byte.n) {
		size_t had = t->byte.n;
		VEC_RESERVE(&t->byte, byte + 1);
		memset(t->byte.p + had, 0, (byte + 1 - had) * sizeof *t->byte.p);
		t->byte.n = byte + 1;
	}
	b = &t->byte.p[byte];
	if (b->question == t->now)
		return b;
	*b = (struct byte_state){ .question = t->now, .parent = byte };
	b->dom = solve_solver_range(t->stage.solver, byte, p->ninput);
	b->fixed = only(&b->dom, solve_problem_byte(p, byte));
	return b;
}

/* Conditions on one byte restrict it; false: nothing is left. */
static bool restrict_byte(struct slice *t, struct problem *p, expr e, bool goal)
{
	struct pool *pool = t->stage.solver->pool;
	uint32_t byte = pool->run.p[set_of(pool, e)->at].from;
	const struct domain *d = unary(t, pool, e, byte);
	struct byte_state *b = state(t, p, byte);
	uint64_t any = 0;
	for (unsigned i = 0; i < 4; i++)
		any |= b->dom.w[i] &= d->w[i];
	if (!goal)
		b->fixed = only(&b->dom, solve_problem_byte(p, byte));
	return any;
}

static bool restrict_bytes(struct slice *t, struct problem *p)
{
	struct pool *pool = t->stage.solver->pool;

	/* The goal last: what it leaves is not what the input has. */
	for (size_t i = p->cond.n; i--;)
		if (set_of(pool, p->cond.p[i])->size == 1 &&
		    !restrict_byte(t, p, p->cond.p[i], i < p->ngoal))
			return false;
	return true;
}

/* ---- what is connected ---- */

static uint32_t find(struct slice *t, uint32_t byte)
{
	struct byte_state *b = t->byte.p;
	while (b[byte].parent != byte) {
		b[byte].parent = b[b[byte].parent].parent;
		byte = b[byte].parent;
	}
	return byte;
}

/* Joins the bytes of a set that may change; gives one of them, or UINT32_MAX. */
static uint32_t connect(struct slice *t, struct problem *p, expr e)
{
	const struct pool *pool = t->stage.solver->pool;
	const struct set *s = set_of(pool, e);
	uint32_t first = UINT32_MAX;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct run *r = &pool->run.p[s->at + i];
		for (uint32_t byte = r->from; byte <= r->to; byte++) {
			if (state(t, p, byte)->fixed)
				continue;
			if (first == UINT32_MAX)
				first = byte;
			else
				t->byte.p[find(t, byte)].parent = find(t, first);
		}
	}
	return first;
}

static uint32_t first_free(struct slice *t, struct problem *p, expr e)
{
	const struct pool *pool = t->stage.solver->pool;
	const struct set *s = set_of(pool, e);
	for (uint32_t i = 0; i < s->n; i++)
		for (uint32_t b = pool->run.p[s->at + i].from; b <= pool->run.p[s->at + i].to; b++)
			if (!state(t, p, b)->fixed)
				return b;
	return UINT32_MAX;
}

static void connect_all(struct slice *t, struct problem *p)
{
	const struct pool *pool = t->stage.solver->pool;
	while (t->set_seen.n < pool->set.n)
		VEC_PUSH(&t->set_seen, 0);
	for (size_t i = 0; i < p->cond.n; i++) {
		uint32_t set = pool_at(pool, p->cond.p[i])->set;
		if (pool->set.p[set].size < 2 || t->set_seen.p[set] == t->now)
			continue;
		t->set_seen.p[set] = t->now;
		connect(t, p, p->cond.p[i]);
	}
}

static void list_bytes(struct slice *t, struct problem *p, expr e)
{
	const struct pool *pool = t->stage.solver->pool;
	const struct set *s = set_of(pool, e);
	for (uint32_t i = 0; i < s->n; i++)
		for (uint32_t b = pool->run.p[s->at + i].from; b <= pool->run.p[s->at + i].to;
		     b++) {
			struct byte_state *st = state(t, p, b);
			if (st->listed)
				continue;
			st->listed = true;
			if (st->fixed)
				VEC_PUSH(&p->fixed, b);
			else
				VEC_PUSH(&p->var, ((struct var){ b, st->dom }));
		}
}

static int var_order(const void *a, const void *b)
{
	const struct var *x = a, *y = b;
	return x->byte < y->byte ? -1 : x->byte > y->byte;
}

static int number_order(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static bool is_wanted(struct slice *t, struct problem *p, expr e)
{
	uint32_t b = first_free(t, p, e);
	return b != UINT32_MAX && t->byte.p[find(t, b)].wanted;
}

/* Keeps what the goal is connected with; conditions on one byte live on as its values. */
static void keep(struct slice *t, struct problem *p)
{
	const struct pool *pool = t->stage.solver->pool;
	size_t n = 0, goals = 0;
	for (size_t i = 0; i < p->cond.n; i++) {
		expr e = p->cond.p[i];
		if (!is_wanted(t, p, e))
			continue;
		list_bytes(t, p, e);
		if (set_of(pool, e)->size == 1)
			continue;
		p->cond.p[n++] = e;
		goals += i < p->ngoal;
	}
	p->cond.n = n;
	p->ngoal = goals;
	if (p->var.n)
		qsort(p->var.p, p->var.n, sizeof *p->var.p, var_order);
	if (p->fixed.n)
		qsort(p->fixed.p, p->fixed.n, sizeof *p->fixed.p, number_order);
}

static enum solve_answer slice_ask(struct stage *stage, struct problem *p)
{
	struct slice *t = (struct slice *)stage;
	struct pool *pool = stage->solver->pool;
	if (!++t->now) { /* wrapped round: forget all marks */
		t->byte.n = t->set_seen.n = 0;
		t->now = 1;
	}
	if (!restrict_bytes(t, p)) {
		stage->solver->stats.enumerated++;
		return SOLVE_UNSAT;
	}
	connect_all(t, p);
	for (size_t i = 0; i < p->ngoal; i++) {
		uint32_t b = first_free(t, p, p->cond.p[i]);
		if (b != UINT32_MAX)
			t->byte.p[find(t, b)].wanted = true;
		else if (!solve_pool_eval(pool, p->cond.p[i], p->out, p->ninput))
			goto unsat; /* and no byte of it may change */
	}
	keep(t, p);
	return solve_stage_next(stage, p);
unsat:
	stage->solver->stats.trivial++;
	return SOLVE_UNSAT;
}

static void slice_stop(struct stage *stage)
{
	struct slice *t = (struct slice *)stage;
	VEC_FREE(&t->byte);
	VEC_FREE(&t->set_seen);
	VEC_FREE(&t->domain);
	hmap_free(&t->domain_of);
	solve_program_free(&t->program);
}

const struct stage_ops solve_stage_slice = {
	.name = "slice",
	.size = sizeof(struct slice),
	.ask = slice_ask,
	.stop = slice_stop,
};
