/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * May a flush miss the line that was stored?
 *
 * On this path, a store went to line L and a flush (or sync) of L followed; but the address of one of them (or of
 * both) came out of the input. The question: is there an input with the same conditional jumps
 * for which the line of the store is none of the lines that are flushed after it?
 *
 *      table[i & 15] = v;  flush(&table[i & 7]);       i = 3 is fine, i = 11 is not
 *
 *   store at a (symbolic), then flushes of [lo, hi) … and of the lines of f1, f2 … (symbolic):
 *
 *      goal = miss(a) ∨ miss(a + size - 1)
 *      miss(x) = ⋀ ¬(x - lo < hi - lo)  ∧  ⋀ x / 64 ≠ f / 64
 *
 * It is AGAMOTTO's "may be dirty", but with an input to show for it: that is run, and what happens
 * is judged like any other run. The same two instructions are asked about MAX_ASKED times at most, or
 * until a few inputs were found.
 */
#include <stdlib.h>

#include "symbolic/internal.h"

#define MAX_ASKED 16u
#define FOUND_COSTS 4u    /* an input that was found counts as so many questions */
#define MAX_PAIRS 8u      /* questions of one run */
#define MAX_RANGES 64u    /* in one question, the nearest to the store */
#define MAX_STORES 65536u /* kept of one run */
#define MAX_FLUSHES (1u << 20)
#define LINE_SHIFT 6u

void symbolic_miss_free(struct miss *m)
{
	VEC_FREE(&m->store);
	VEC_FREE(&m->flush);
	VEC_FREE(&m->pair);
	hmap_free(&m->asked);
}

void symbolic_miss_store(struct symbolic_run *run, const struct trace_event *e,
			 enum model_effect effect, expr node)
{
	struct miss *m = &run->miss;
	uint32_t size = e->size ? e->size : 1, unit = run->behave.unit;
	struct miss_store st = { e->ip, e->arg[0], m->order++, size, node };
	bool flushed = effect != MODEL_OPENS; /* needs no flush */
	if (m->store.n < MAX_STORES && !flushed)
		VEC_PUSH(&m->store, st);
	else
		flushed = true;
	for (uint64_t i = st.addr / unit; i <= (st.addr + size - 1) / unit; i++) {
		struct line *l = symbolic_behave_line(&run->behave, i);

		/* A store with a symbolic address is not forgotten for a later one without. */
		if (flushed)
			l->store = 0;
		else if (!l->store || node || !m->store.p[l->store - 1].node)
			l->store = (uint32_t)m->store.n;
	}
}

static bool asked_enough(struct symbolic *s, uint64_t key)
{
	uint64_t times;
	return hmap_get(&s->candidates.asked, key, &times) && times >= MAX_ASKED;
}

void symbolic_miss_found(struct symbolic *s, const struct candidate *c)
{
	uint64_t times = 0;
	hmap_get(&s->candidates.asked, c->pair, &times);
	hmap_put(&s->candidates.asked, c->pair, times + FOUND_COSTS - 1);
}

static void note_pair(struct symbolic_run *run, uint32_t store, uint32_t flush)
{
	struct miss *m = &run->miss;
	struct miss_pair pair = { store, flush };
	uint64_t key = hash_mix(m->store.p[store].ip, m->flush.p[flush].ip), i;
	if (!m->store.p[store].node && !m->flush.p[flush].node)
		return;
	if (hmap_get(&m->asked, key, &i)) {
		/* The last flush of that store counts: later ones cover it, too. */
		if (m->pair.p[i].store == store)
			m->pair.p[i].flush = flush;
		return;
	}
	if (m->pair.n == MAX_PAIRS || asked_enough(run->s, key))
		return;
	hmap_put(&m->asked, key, m->pair.n);
	VEC_PUSH(&m->pair, pair);
}

static void flush_line(struct symbolic_run *run, struct line *l)
{
	uint32_t store = l->store;
	if (!store || model_unit_state(&l->unit) != MODEL_DIRTY)
		return;
	l->store = 0;
	note_pair(run, store - 1, (uint32_t)run->miss.flush.n - 1);
}

void symbolic_miss_flush(struct symbolic_run *run, const struct trace_event *e,
			 enum model_effect effect, expr node)
{
	struct miss *m = &run->miss;
	struct behave *b = &run->behave;
	struct model_range r = model_covers(e);
	struct miss_flush f = { .ip = e->ip,
				.lo = r.lo,
				.hi = r.hi,
				.order = m->order++,
				.node = node,
				.decisions = (uint32_t)run->path.n };
	if (effect == MODEL_NOTHING || m->flush.n == MAX_FLUSHES)
		return;
	VEC_PUSH(&m->flush, f);
	symbolic_behave_covered(b, e);
	for (size_t i = 0; i < b->covered.n; i++)
		flush_line(run, &b->line.p[b->covered.p[i]]);
}

/* ---- the question ---- */

struct ranges {
	struct range r[MAX_RANGES];
	size_t n;
};

static int by_low(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	return (x->lo > y->lo) - (x->lo < y->lo);
}

static uint64_t distance(const struct range *r, uint64_t addr)
{
	return addr < r->lo ? r->lo - addr : addr >= r->hi ? addr - r->hi + 1 : 0;
}

/* Fixed lines flushed after the store, joined; of many, those around its address. */
static void fixed_lines(const struct miss *m, const struct miss_store *st, struct ranges *out)
{
	VEC(struct range) v = { 0 };
	size_t n = 0, from = 0;
	out->n = 0;
	for (size_t i = 0; i < m->flush.n; i++)
		if (m->flush.p[i].order > st->order && !m->flush.p[i].node)
			VEC_PUSH(&v, ((struct range){ m->flush.p[i].lo, m->flush.p[i].hi }));
	if (!v.n)
		return;
	qsort(v.p, v.n, sizeof *v.p, by_low);
	for (size_t i = 1; i < v.n; i++)
		if (v.p[i].lo > v.p[n].hi)
			v.p[++n] = v.p[i];
		else if (v.p[i].hi > v.p[n].hi)
			v.p[n].hi = v.p[i].hi;
	n++;
	for (size_t i = 1; i < n; i++)
		if (distance(&v.p[i], st->addr) <= distance(&v.p[from], st->addr))
			from = i;
	from = from > MAX_RANGES / 2 ? from - MAX_RANGES / 2 : 0;
	for (size_t i = from; i < n && out->n < MAX_RANGES; i++)
		out->r[out->n++] = v.p[i];
	VEC_FREE(&v);
}

static expr node2(struct pool *p, enum expr_op op, unsigned w, unsigned aw, expr a, expr b)
{
	return solve_pool_node(p, EXPR_WORD(op, w, aw, 0), a, b, 0);
}

static expr both(struct pool *p, expr a, expr b)
{
	return a ? node2(p, EXPR_AND, 1, 1, a, b) : b;
}

expr symbolic_line_of(struct pool *p, expr addr)
{
	return node2(p, EXPR_LSHR, 64, 64, addr, solve_pool_const(p, 64, LINE_SHIFT));
}

/* The byte at `addr` is in no line that is flushed after the store. */
static expr misses(struct symbolic *s, const struct miss *m, const struct miss_store *st, expr addr,
		   const struct ranges *fixed)
{
	struct pool *p = s->pool;
	expr goal = 0;
	for (size_t i = 0; i < fixed->n; i++) {
		const struct range *r = &fixed->r[i];
		expr from = node2(p, EXPR_SUB, 64, 64, addr, solve_pool_const(p, 64, r->lo));
		expr in = node2(p, EXPR_ULT, 1, 64, from, solve_pool_const(p, 64, r->hi - r->lo));
		goal = both(p, goal, solve_pool_not(p, in));
	}
	for (size_t i = 0, n = 0; i < m->flush.n && n < MAX_RANGES; i++)
		if (m->flush.p[i].node && m->flush.p[i].order > st->order) {
			expr line = symbolic_line_of(p, m->flush.p[i].node);
			goal = both(p, goal,
				    solve_pool_not(
					    p, solve_pool_eq(p, symbolic_line_of(p, addr), line)));
			n++;
		}
	return goal;
}

static expr question(struct symbolic *s, const struct miss *m, const struct miss_store *st)
{
	struct pool *p = s->pool;
	expr addr = st->node ? st->node : solve_pool_const(p, 64, st->addr), last, goal;
	struct ranges fixed;
	fixed_lines(m, st, &fixed);
	goal = misses(s, m, st, addr, &fixed);
	if (st->size == 1 || !st->node)
		return goal;
	last = node2(p, EXPR_ADD, 64, 64, addr, solve_pool_const(p, 64, st->size - 1));
	return node2(p, EXPR_OR, 1, 1, goal, misses(s, m, st, last, &fixed));
}

void symbolic_miss_candidates(struct symbolic_run *run, uint32_t leaf, uint32_t base)
{
	struct symbolic *s = run->s;
	struct miss *m = &run->miss;
	for (size_t i = 0; i < m->pair.n; i++) {
		const struct miss_store *st = &m->store.p[m->pair.p[i].store];
		const struct miss_flush *f = &m->flush.p[m->pair.p[i].flush];
		struct candidate c = { .why = SYMBOLIC_MISS, .ip = st->ip, .base = base };
		uint64_t key = hash_mix(st->ip, f->ip), times = 0, value;
		hmap_get(&s->candidates.asked, key, &times);
		if (times >= MAX_ASKED)
			continue;
		c.goal = question(s, m, st);
		if (!c.goal || (solve_pool_is_const(s->pool, c.goal, &value) && !value))
			continue;
		hmap_put(&s->candidates.asked, key, times + 1);
		c.pair = key;
		c.step = symbolic_tree_above(&s->tree, leaf, f->decisions);
		c.depth = s->tree.step.p[c.step].depth;
		c.way = c.round = c.line =
			symbolic_cover_way(s, st->ip, SYM_PM_STORE, WAY_OTHER, st->ip);
		symbolic_candidate_add(s, &c);
	}
}
