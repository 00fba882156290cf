/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers used again. Paths of one program ask much the same: a slice that was asked about on
 * another path has the same conditions and the same values left to its bytes.
 *
 *   the same question       its answer
 *   a recent model          tried by evaluation: it often fits a neighbouring question, too
 *   a contradiction         stands if more conditions are added or fewer values are left
 *
 * The cache is dropped as a whole when it has grown large.
 */
#include <stdlib.h>
#include <string.h>

#include "solve/internal.h"

#define MAX_BYTES (64u << 20)
#define RECENT 24
#define MAX_CHAIN 16

struct entry {
	enum solve_answer answer;
	uint32_t ncond, nvar, nfixed;
	struct entry *next; /* contradictions with the same newest condition */
	uint8_t *value;     /* SAT: of the variables */
	expr *cond;         /* sorted */
	struct var *var, *fixed;
};

struct cache {
	struct stage stage;
	struct hmap by_key;    /* hash of the question -> entry */
	struct hmap by_newest; /* condition -> first contradiction where it is the newest one */
	VEC(struct entry *) all;
	struct entry *recent[RECENT];
	unsigned at;
	size_t bytes;
	VEC(expr) sorted;
	VEC(struct var) fixed;
	VEC(uint8_t) saved;
};

static void drop_all(struct cache *t)
{
	for (size_t i = 0; i < t->all.n; i++)
		free(t->all.p[i]);
	t->all.n = 0;
	t->bytes = 0;
	hmap_free(&t->by_key);
	hmap_free(&t->by_newest);
	memset(t->recent, 0, sizeof t->recent);
}

static int order(const void *a, const void *b)
{
	const expr *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

/* The question in a form that does not depend on the order of conditions. */
static uint64_t prepare(struct cache *t, const struct problem *p)
{
	uint64_t h;
	t->sorted.n = t->fixed.n = 0;
	for (size_t i = 0; i < p->cond.n; i++)
		VEC_PUSH(&t->sorted, p->cond.p[i]);
	if (t->sorted.n)
		qsort(t->sorted.p, t->sorted.n, sizeof *t->sorted.p, order);
	for (size_t i = 0; i < p->fixed.n; i++) {
		unsigned v = solve_problem_byte(p, p->fixed.p[i]);
		struct var f = { p->fixed.p[i], { { 0 } } };
		f.dom.w[v >> 6] = (uint64_t)1 << (v & 63);
		VEC_PUSH(&t->fixed, f);
	}
	h = t->sorted.n ? hash_bytes(t->sorted.p, t->sorted.n * sizeof *t->sorted.p) : 0;
	for (size_t i = 0; i < p->var.n; i++)
		h = hash_mix(h ^ p->var.p[i].byte,
			     hash_bytes(&p->var.p[i].dom, sizeof p->var.p[i].dom));
	for (size_t i = 0; i < p->fixed.n; i++)
		h = hash_mix(h,
			     (uint64_t)p->fixed.p[i] << 8 | solve_problem_byte(p, p->fixed.p[i]));
	return h;
}

/* ---- models ---- */

static bool try_model(struct cache *t, struct problem *p, const struct entry *e)
{
	struct pool *pool = t->stage.solver->pool;
	bool any = false;
	for (uint32_t i = 0; i < e->nvar; i++) {
		struct var *v = solve_problem_var(p, e->var[i].byte);
		if (!v || v->byte >= p->ninput)
			continue;
		p->out[v->byte] = e->value[i];
		any = true;
	}
	if (any && solve_problem_holds(pool, p)) {
		solve_problem_restore(pool, p);
		return true;
	}
	for (size_t i = 0; any && i < p->var.n; i++)
		if (p->var.p[i].byte < p->ninput)
			p->out[p->var.p[i].byte] = t->saved.p[i];
	return false;
}

static void save(struct cache *t, const struct problem *p)
{
	t->saved.n = 0;
	for (size_t i = 0; i < p->var.n; i++)
		VEC_PUSH(&t->saved, solve_problem_byte(p, p->var.p[i].byte));
}

static bool try_recent(struct cache *t, struct problem *p)
{
	for (unsigned i = 1; i <= RECENT; i++) {
		const struct entry *e = t->recent[(t->at + RECENT - i) % RECENT];
		if (e && try_model(t, p, e))
			return true;
	}
	return false;
}

/* ---- contradictions ---- */

static bool conds_within(const struct cache *t, const struct entry *e)
{
	size_t j = 0;
	for (uint32_t i = 0; i < e->ncond; i++, j++) {
		while (j < t->sorted.n && t->sorted.p[j] < e->cond[i])
			j++;
		if (j == t->sorted.n || t->sorted.p[j] != e->cond[i])
			return false;
	}
	return true;
}

static bool narrower(const struct domain *a, const struct domain *b)
{
	for (unsigned i = 0; i < 4; i++)
		if (a->w[i] & ~b->w[i])
			return false;
	return true;
}

/* Has each of these bytes only values here that it had there? */
static bool vars_within(struct cache *t, struct problem *p, const struct var *v, uint32_t n)
{
	size_t j = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct var *here = solve_problem_var(p, v[i].byte);
		if (!here) {
			while (j < t->fixed.n && t->fixed.p[j].byte < v[i].byte)
				j++;
			if (j == t->fixed.n || t->fixed.p[j].byte != v[i].byte)
				return false;
			here = &t->fixed.p[j];
		}
		if (!narrower(&here->dom, &v[i].dom))
			return false;
	}
	return true;
}

static bool contradicts(struct cache *t, struct problem *p, const struct entry *e)
{
	return conds_within(t, e) && vars_within(t, p, e->var, e->nvar) &&
	       vars_within(t, p, e->fixed, e->nfixed);
}

static bool is_contradiction(struct cache *t, struct problem *p)
{
	for (size_t i = 0; i < t->sorted.n; i++) {
		unsigned n = 0;
		uint64_t at;
		if (!hmap_get(&t->by_newest, t->sorted.p[i], &at))
			continue;
		for (const struct entry *e = t->all.p[at]; e && n < MAX_CHAIN; e = e->next, n++)
			if (contradicts(t, p, e))
				return true;
	}
	return false;
}

/* ---- keeping ---- */

static struct entry *entry_new(struct cache *t, const struct problem *p)
{
	size_t nvar = p->var.n, nfixed = t->fixed.n, ncond = t->sorted.n;
	size_t size = sizeof(struct entry) + (nvar + nfixed) * sizeof(struct var) +
		      ncond * sizeof(expr) + nvar;
	struct entry *e = xmalloc(size);
	t->bytes += size;
	e->ncond = (uint32_t)ncond;
	e->nvar = (uint32_t)nvar;
	e->nfixed = (uint32_t)nfixed;
	e->next = NULL;
	e->var = (struct var *)(e + 1);
	e->fixed = e->var + nvar;
	e->cond = (expr *)(e->fixed + nfixed);
	e->value = (uint8_t *)(e->cond + ncond);
	if (nvar)
		memcpy(e->var, p->var.p, nvar * sizeof *e->var);
	if (nfixed)
		memcpy(e->fixed, t->fixed.p, nfixed * sizeof *e->fixed);
	if (ncond)
		memcpy(e->cond, t->sorted.p, ncond * sizeof *e->cond);
	for (size_t i = 0; i < nvar; i++)
		e->value[i] = solve_problem_byte(p, p->var.p[i].byte);
	return e;
}

static void keep(struct cache *t, const struct problem *p, uint64_t key, enum solve_answer a)
{
	struct entry *e;
	uint64_t first;
	if (t->bytes > MAX_BYTES)
		drop_all(t);
	e = entry_new(t, p);
	e->answer = a;
	VEC_PUSH(&t->all, e);
	hmap_put(&t->by_key, key, t->all.n - 1);
	if (a == SOLVE_SAT) {
		t->recent[t->at++ % RECENT] = e;
	} else if (e->ncond) {
		expr newest = e->cond[e->ncond - 1];
		if (hmap_get(&t->by_newest, newest, &first))
			e->next = t->all.p[first];
		hmap_put(&t->by_newest, newest, t->all.n - 1);
	}
}

static enum solve_answer cache_ask(struct stage *stage, struct problem *p)
{
	struct cache *t = (struct cache *)stage;
	uint64_t key = prepare(t, p), at;
	enum solve_answer a;
	save(t, p);
	stage->solver->stats.cache_hits++;
	if (hmap_get(&t->by_key, key, &at)) {
		const struct entry *e = t->all.p[at];
		if (e->answer == SOLVE_SAT && try_model(t, p, e))
			return SOLVE_SAT;
		if (e->answer == SOLVE_UNSAT && contradicts(t, p, e))
			return SOLVE_UNSAT;
	}
	if (try_recent(t, p))
		return SOLVE_SAT;
	if (is_contradiction(t, p))
		return SOLVE_UNSAT;
	stage->solver->stats.cache_hits--;
	a = solve_stage_next(stage, p);
	if (a != SOLVE_TIMEOUT)
		keep(t, p, key, a);
	return a;
}

static void cache_stop(struct stage *stage)
{
	struct cache *t = (struct cache *)stage;
	drop_all(t);
	VEC_FREE(&t->all);
	VEC_FREE(&t->sorted);
	VEC_FREE(&t->fixed);
	VEC_FREE(&t->saved);
}

const struct stage_ops solve_stage_cache = {
	.name = "cache",
	.size = sizeof(struct cache),
	.ask = cache_ask,
	.stop = cache_stop,
};
