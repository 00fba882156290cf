/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers by trying values. Most questions of a parser are about a few bytes, and running a few
 * dozen steps of compiled code is a thousand times cheaper than a question to Z3.
 *
 *   1. Repair: begin with the input and, while a condition fails, set the byte that makes it hold
 *      and breaks the fewest others (min-conflicts, Minton et al. 1992). A sum is right again
 *      after one byte. Can only find a model.
 *   2. Search: give bytes values one after the other, those with the fewest first; when a condition
 *      has one open byte left, drop the values of it that fail (forward checking). If the search
 *      ends, the answer is certain, also that there is none.
 *
 * Both count the steps that they run, and give up at a limit.
 */
#include <stdlib.h>
#include <string.h>

#include "solve/internal.h"

#define REPAIR_STEPS 150000
#define SEARCH_STEPS 600000
#define MAX_VARS 64
#define MAX_ROUNDS 24
#define MAX_COMPILED 200000

struct cond {
	struct program program;
	VEC(uint32_t) var; /* numbers of its variables */
	bool holds;
};

struct search {
	struct stage stage;
	struct problem *p;
	VEC(struct cond) cond; /* slots are used again: ncond of them count */
	size_t ncond;
	VEC(struct domain) dom;   /* of each variable, now */
	VEC(struct domain) trail; /* … before each choice */
	VEC(uint8_t) open;        /* variable has no value yet */
	long left;                /* steps */
	size_t compiled;
};

static void set_byte(struct problem *p, uint32_t byte, unsigned v)
{
	if (byte < p->ninput)
		p->out[byte] = (uint8_t)v;
}

/* ---- conditions as programs ---- */

static void compile_cond(struct search *t, struct cond *c, expr e)
{
	struct pool *pool = t->stage.solver->pool;
	const struct set *s = set_of(pool, e);
	solve_program_compile(&c->program, pool, e);
	t->compiled += c->program.step.n;
	c->var.n = 0;
	for (uint32_t i = 0; i < t->p->var.n; i++)
		if (solve_pool_set_has(pool, s, t->p->var.p[i].byte))
			VEC_PUSH(&c->var, i);
}

static bool compile_all(struct search *t)
{
	const struct problem *p = t->p;
	t->compiled = 0;
	t->ncond = 0;
	for (size_t i = 0; i < p->cond.n; i++) {
		if (t->cond.n == i)
			VEC_PUSH(&t->cond, (struct cond){ 0 });
		compile_cond(t, &t->cond.p[i], p->cond.p[i]);
		t->ncond++;
		if (t->compiled > MAX_COMPILED)
			return false;
	}
	return true;
}

static bool run(struct search *t, struct cond *c)
{
	t->left -= (long)c->program.step.n;
	return solve_program_run(&c->program, t->p->out, t->p->ninput);
}

static bool has_var(const struct cond *c, uint32_t var)
{
	for (size_t i = 0; i < c->var.n; i++)
		if (c->var.p[i] == var)
			return true;
	return false;
}

/* ---- repair ---- */

/* Values that the domains do not allow become the nearest that they do. */
static void into_domains(struct problem *p)
{
	for (size_t i = 0; i < p->var.n; i++) {
		const struct var *v = &p->var.p[i];
		int now = solve_problem_byte(p, v->byte);
		for (int d = 0; d < 256; d++) {
			if (now + d < 256 && domain_has(&v->dom, (unsigned)(now + d))) {
				set_byte(p, v->byte, (unsigned)(now + d));
				break;
			}
			if (now >= d && domain_has(&v->dom, (unsigned)(now - d))) {
				set_byte(p, v->byte, (unsigned)(now - d));
				break;
			}
		}
	}
}

/* Conditions other than c that would fail if var had the value that it has in out. */
static unsigned conflicts(struct search *t, const struct cond *c, uint32_t var, unsigned best)
{
	unsigned n = 0;
	for (size_t i = 0; i < t->ncond && n < best; i++) {
		struct cond *d = &t->cond.p[i];
		if (d != c)
			n += has_var(d, var) ? !run(t, d) : !d->holds;
	}
	return n;
}

struct move {
	uint32_t var;
	uint8_t value;
	unsigned conflicts;
};

/* The best value of one byte that makes c hold. */
static void try_var(struct search *t, struct cond *c, uint32_t var, struct move *best)
{
	struct problem *p = t->p;
	const struct var *v = &p->var.p[var];
	uint8_t was = solve_problem_byte(p, v->byte);
	if (v->byte >= p->ninput)
		return;
	run(t, c);
	solve_program_vary(&c->program, v->byte);
	for (unsigned x = 0; x < 256 && t->left > 0 && best->conflicts; x++) {
		unsigned n;
		if (!domain_has(&v->dom, x))
			continue;
		t->left -= (long)c->program.redo.n;
		if (!solve_program_rerun(&c->program, (uint8_t)x))
			continue;
		p->out[v->byte] = (uint8_t)x;
		n = conflicts(t, c, var, best->conflicts);
		if (n < best->conflicts)
			*best = (struct move){ var, (uint8_t)x, n };
	}
	p->out[v->byte] = was;
}

static struct cond *first_failing(struct search *t)
{
	struct cond *c = NULL;
	for (size_t i = 0; i < t->ncond; i++) {
		t->cond.p[i].holds = run(t, &t->cond.p[i]);
		if (!t->cond.p[i].holds && !c)
			c = &t->cond.p[i];
	}
	return c;
}

static bool repair(struct search *t)
{
	uint32_t last = UINT32_MAX;
	into_domains(t->p);
	t->left = REPAIR_STEPS + 32 * (long)t->compiled;
	for (unsigned round = 0; round < MAX_ROUNDS && t->left > 0; round++) {
		struct move best = { .conflicts = UINT32_MAX };
		struct cond *c = first_failing(t);
		if (!c)
			return true;
		for (size_t i = c->var.n; i-- && best.conflicts;)
			if (c->var.p[i] != last)
				try_var(t, c, c->var.p[i], &best);
		if (best.conflicts == UINT32_MAX)
			return false;
		set_byte(t->p, t->p->var.p[best.var].byte, best.value);
		last = best.var;
	}
	return false;
}

/* ---- search ---- */

/* The only open variable of c; UINT32_MAX: there are more, UINT32_MAX - 1: none. */
#define SEVERAL UINT32_MAX
#define NONE (UINT32_MAX - 1)
static uint32_t open_var(const struct search *t, const struct cond *c)
{
	uint32_t found = NONE;
	for (size_t i = 0; i < c->var.n; i++)
		if (t->open.p[c->var.p[i]]) {
			if (found != NONE)
				return SEVERAL;
			found = c->var.p[i];
		}
	return found;
}

static void close_var(struct search *t, uint32_t var, unsigned value)
{
	t->open.p[var] = 0;
	set_byte(t->p, t->p->var.p[var].byte, value);
}

static unsigned first_value(const struct domain *d)
{
	for (unsigned i = 0; i < 4; i++)
		if (d->w[i])
			return i * 64 + (unsigned)__builtin_ctzll(d->w[i]);
	return 256;
}

/* Drops the values of var for which c fails; how many are left, 2 if the steps are used up. */
static unsigned filter(struct search *t, struct cond *c, uint32_t var)
{
	struct domain *d = &t->dom.p[var];
	unsigned left = 0;
	run(t, c);
	solve_program_vary(&c->program, t->p->var.p[var].byte);
	for (unsigned x = 0; x < 256; x++) {
		if (!domain_has(d, x))
			continue;
		t->left -= (long)c->program.redo.n;
		if (t->left < 0)
			return 2;
		if (solve_program_rerun(&c->program, (uint8_t)x))
			left++;
		else
			domain_drop(d, x);
	}
	return left;
}

/* After var got a value: follows what that leaves to others. False: a condition cannot hold. */
static bool propagate(struct search *t, uint32_t var)
{
	uint32_t queue[MAX_VARS + 1], n = 0;
	queue[n++] = var;
	while (n) {
		var = queue[--n];
		for (size_t i = 0; i < t->ncond; i++) {
			struct cond *c = &t->cond.p[i];
			uint32_t open;
			if (var != SEVERAL && !has_var(c, var))
				continue;
			open = open_var(t, c);
			if (open == SEVERAL)
				continue;
			if (open == NONE) {
				if (!run(t, c))
					return false;
				continue;
			}
			switch (filter(t, c, open)) {
			case 0: return false;
			case 1: close_var(t, open, first_value(&t->dom.p[open])); queue[n++] = open;
			}
		}
	}
	return true;
}

static uint32_t choose(const struct search *t)
{
	uint32_t best = NONE;
	unsigned size = 257;
	for (uint32_t i = 0; i < t->p->var.n; i++)
		if (t->open.p[i] && domain_size(&t->dom.p[i]) < size) {
			size = domain_size(&t->dom.p[i]);
			best = i;
		}
	return best;
}

/* UNSAT: not with the choices made; TIMEOUT: no steps left. Recurses at most once a variable. */
static enum solve_answer descend(struct search *t)
{
	size_t n = t->p->var.n, base = t->trail.n;
	uint32_t var = choose(t);
	struct domain todo;
	uint8_t open[MAX_VARS];
	enum solve_answer a;
	if (var == NONE)
		return SOLVE_SAT;
	todo = t->dom.p[var];
	VEC_RESERVE(&t->trail, base + n);
	memcpy(t->trail.p + base, t->dom.p, n * sizeof *t->dom.p);
	t->trail.n += n;
	memcpy(open, t->open.p, n);
	for (unsigned tries = 0; tries < 257; tries++) {
		unsigned v = t->p->var.p[var].byte < t->p->ninput
				     ? t->p->input[t->p->var.p[var].byte]
				     : 0;
		if (!domain_has(&todo, v)) /* the input's value first */
			v = first_value(&todo);
		if (v == 256)
			break;
		domain_drop(&todo, v);
		close_var(t, var, v);
		if (t->left < 0)
			return SOLVE_TIMEOUT;
		a = propagate(t, var) ? descend(t) : SOLVE_UNSAT;
		if (a != SOLVE_UNSAT)
			return a;
		memcpy(t->dom.p, t->trail.p + base, n * sizeof *t->dom.p);
		memcpy(t->open.p, open, n);
	}
	t->trail.n = base;
	return SOLVE_UNSAT;
}

static enum solve_answer search(struct search *t)
{
	struct problem *p = t->p;
	if (p->var.n > MAX_VARS)
		return SOLVE_TIMEOUT;
	t->left = SEARCH_STEPS;
	t->dom.n = t->open.n = t->trail.n = 0;
	for (uint32_t i = 0; i < p->var.n; i++) {
		unsigned size = domain_size(&p->var.p[i].dom);
		if (!size)
			return SOLVE_UNSAT;
		VEC_PUSH(&t->dom, p->var.p[i].dom);
		VEC_PUSH(&t->open, size > 1);
		if (size == 1)
			set_byte(p, p->var.p[i].byte, first_value(&p->var.p[i].dom));
	}
	if (!propagate(t, SEVERAL))
		return SOLVE_UNSAT;
	return descend(t);
}

static void put_back(struct problem *p)
{
	for (size_t i = 0; i < p->var.n; i++)
		if (p->var.p[i].byte < p->ninput)
			p->out[p->var.p[i].byte] = p->input[p->var.p[i].byte];
}

static enum solve_answer enumerate_ask(struct stage *stage, struct problem *p)
{
	struct search *t = (struct search *)stage;
	enum solve_answer a = SOLVE_TIMEOUT;
	t->p = p;
	if (compile_all(t)) {
		if (repair(t)) {
			a = SOLVE_SAT;
		} else {
			put_back(p);
			a = search(t);
		}
	}
	if (a == SOLVE_SAT && !solve_problem_holds(stage->solver->pool, p))
		a = SOLVE_TIMEOUT;
	if (a == SOLVE_TIMEOUT) {
		put_back(p);
		return solve_stage_next(stage, p);
	}
	stage->solver->stats.enumerated++;
	return a;
}

static void enumerate_stop(struct stage *stage)
{
	struct search *t = (struct search *)stage;
	for (size_t i = 0; i < t->cond.n; i++) {
		solve_program_free(&t->cond.p[i].program);
		VEC_FREE(&t->cond.p[i].var);
	}
	VEC_FREE(&t->cond);
	VEC_FREE(&t->dom);
	VEC_FREE(&t->trail);
	VEC_FREE(&t->open);
}

const struct stage_ops solve_stage_enumerate = {
	.name = "enumerate",
	.size = sizeof(struct search),
	.ask = enumerate_ask,
	.stop = enumerate_stop,
};
