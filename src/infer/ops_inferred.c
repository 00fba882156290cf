/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inferred operations: calls that are made again and again.
 *
 * A *loop* is a function that makes calls from one place again and again, below which stores to PM
 * happen; these calls are the operations:
 *
 *	main ──▶ open ──▶ format_bucket ×64         opens PM, and another loop follows: initialisation
 *	     ──▶ put, put, del, put, …              the loop's phase: from its first repeated call to the last
 *	     │     └─▶ write_level ×3               a loop, too, but it covers less
 *	     ──▶ close ──▶ free_lane ×8             once, behind the phase; it unmaps PM: closing
 *
 * What the program answers, one call after another, belongs to the phase, too, even if it is called once.
 *
 * Of all loops that is taken whose phases cover the most stores, the outermost of equal ones. Calls of one
 * function from several places (put(); put(); del(); in a row) make a loop as well, a *weak* one, which must cover twice
 * as much as the best of the others. Which functions these are, and what they are called, does not matter.
 *
 * A thread in which that function does not run may have operations of another kind, a consumer beside producers, say: the best loop of
 * such threads is taken, too, if it is at work while the others are.
 *
 * An operation begins with the first event of the call that matters. Until the next begins, all that its loop does is
 * its part, too: what persists it may be called behind it. It counts as acknowledged where the program then
 * says something; otherwise nobody knows, and a program may well persist many at a time.
 */
#include <stdlib.h>

#include "infer/internal.h"
#include "infer/walk.h"

struct loop {
	uint64_t function; /* address */
	uint64_t
		opened; /* the end of a call in which it is and which maps PM before; 0: none yet */
	uint64_t strong, weak; /* stores that its phases cover */
	uint64_t first, last;  /* begins of its first and its last operation */
	uint64_t calls;        /* in its phases */
	size_t depth;
	bool closing; /* it is in a call that unmaps PM, and maps none */
};
#define NEVER UINT64_MAX /* `opened`: its own operations map PM */
typedef VEC(struct loop) loops;

/* A loop of one thread, and what is taken of whom. */
struct of_thread {
	uint64_t thread; /* process and thread */
	struct loop loop;
};
struct found {
	loops all;
	VEC(struct of_thread) each;
	struct hmap also; /* thread -> function, of those in which the first one does not run */
};

struct phase {
	size_t from, to; /* children; none if from >= to */
	bool strong;     /* some are made from one place */
};

struct seen {
	uint64_t key;
	size_t at;
};

static int by_key(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* From the first of the children with a key that others have, too, to the last. */
static bool widen(struct phase *p, struct seen *s, size_t n)
{
	bool any = false;
	qsort(s, n, sizeof *s, by_key);
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && s[j].key == s[i].key;)
			j++;
		if (j - i < 2)
			continue;
		any = true;
		p->from = s[i].at < p->from ? s[i].at : p->from;
		p->to = s[j - 1].at >= p->to ? s[j - 1].at + 1 : p->to;
	}
	return any;
}

/* The children after which the program said something, unless they open or close PM. */
static size_t answered(const struct infer_call *c, struct seen *s)
{
	size_t n = 0;
	for (size_t i = 0; i < c->child.n; i++)
		if (c->child.p[i].said != UINT64_MAX && !c->child.p[i].maps)
			s[n++] = (struct seen){ 0, i };
	return n;
}

static struct phase phase_of(const struct infer_call *c)
{
	struct phase p = { SIZE_MAX, 0, false };
	size_t n = c->child.n;
	if (n < 2)
		return p;
	struct seen *s = xmalloc(n * sizeof *s);
	for (size_t i = 0; i < n; i++)
		s[i] = (struct seen){ c->child.p[i].site, i };
	p.strong = widen(&p, s, n);
	for (size_t i = 0; i < n; i++)
		s[i] = (struct seen){ c->child.p[i].target, i };
	widen(&p, s, n);
	widen(&p, s, answered(c, s));
	free(s);
	return p;
}

/* Is the innermost call one of its own function's, further out? */
static bool recurs(const struct infer_thread *t)
{
	for (size_t i = 0; i + 1 < t->call.n; i++)
		if (t->call.p[i].target == t->call.p[t->call.n - 1].target)
			return true;
	return false;
}

static void add_loop(loops *to, const struct loop *l)
{
	for (size_t i = 0; i < to->n; i++) {
		struct loop *x = &to->p[i];
		if (x->function != l->function || x->opened != l->opened ||
		    x->closing != l->closing)
			continue;
		x->strong += l->strong;
		x->weak += l->weak;
		x->calls += l->calls;
		x->first = l->first < x->first ? l->first : x->first;
		x->last = l->last > x->last ? l->last : x->last;
		x->depth = l->depth < x->depth ? l->depth : x->depth;
		return;
	}
	VEC_PUSH(to, *l);
}

static uint64_t thread_key(const struct infer_thread *t)
{
	return (uint64_t)t->process << 32 | t->thread;
}

/* A call has ended: its loop, and those in it, are its caller's. */
static void gather(void *arg, struct infer_thread *t)
{
	struct infer_call *c = &t->call.p[t->call.n - 1];
	struct phase p = phase_of(c);
	struct found *found = arg;
	loops *inside = c->own, *up = &found->all;
	if (p.from < p.to && !recurs(t)) {
		uint64_t covers = c->child.p[p.to - 1].after - c->child.p[p.from].before;
		struct loop l = { .function = c->target,
				  .opened = c->mapped > c->child.p[p.from].begin ? NEVER : 0,
				  .strong = p.strong ? covers : 0,
				  .weak = covers,
				  .calls = p.to - p.from,
				  .first = c->child.p[p.from].begin,
				  .last = c->child.p[p.to - 1].begin,
				  .depth = t->call.n };
		inside = inside ? inside : xcalloc(1, sizeof *inside);
		add_loop(inside, &l);
	}
	if (!inside)
		return;
	if (t->call.n > 1) {
		up = c[-1].own ? c[-1].own : xcalloc(1, sizeof *up);
		c[-1].own = up;
	}
	for (size_t i = 0; i < inside->n; i++) {
		struct loop *l = &inside->p[i];
		if (c->mapped && !l->opened)
			l->opened = c->end + 1;
		l->closing |= c->unmaps && !c->mapped;
		add_loop(up, l);
		if (t->call.n == 1)
			VEC_PUSH(&found->each, ((struct of_thread){ thread_key(t), *l }));
	}
	VEC_FREE(inside);
	free(inside);
}

static bool is_opening(const loops *all, const struct loop *l)
{
	for (size_t i = 0; l->opened && i < all->n; i++)
		if (!all->p[i].closing && all->p[i].last > l->opened)
			return true;
	return false;
}

/* The loop that makes the operations; NULL: none. */
static const struct loop *choose(const loops *all)
{
	const struct loop *strong = NULL, *weak = NULL;
	for (size_t i = 0; i < all->n; i++) {
		const struct loop *l = &all->p[i];
		if (l->closing || is_opening(all, l))
			continue;
		if (l->strong && (!strong || l->strong > strong->strong ||
				  (l->strong == strong->strong && l->depth < strong->depth)))
			strong = l;
		if (!weak || l->weak > weak->weak ||
		    (l->weak == weak->weak && l->depth < weak->depth))
			weak = l;
	}
	return strong && weak->weak / 2 <= strong->strong ? strong : weak;
}

/* Loops of the threads of which nothing is taken yet, while others are at work: what is said of the first one is true of them. */
static void take_others(struct found *f, uint64_t function, uint64_t first, uint64_t last)
{
	struct hmap taken = { 0 };
	loops rest = { 0 };
	for (size_t i = 0; i < f->each.n; i++)
		if (f->each.p[i].loop.function == function)
			hmap_put(&taken, f->each.p[i].thread, 1);
	for (size_t i = 0; i < f->each.n; i++) {
		const struct of_thread *e = &f->each.p[i];
		if (!hmap_get(&taken, e->thread, NULL) && !hmap_get(&f->also, e->thread, NULL) &&
		    e->loop.strong && e->loop.first < last && first < e->loop.last)
			add_loop(&rest, &e->loop);
	}
	const struct loop *l = choose(&rest);
	for (size_t i = 0; l && i < f->each.n; i++)
		if (f->each.p[i].loop.function == l->function &&
		    !hmap_get(&taken, f->each.p[i].thread, NULL) &&
		    !hmap_get(&f->also, f->each.p[i].thread, NULL))
			hmap_put(&f->also, f->each.p[i].thread, l->function);
	bool more = l;
	VEC_FREE(&rest);
	hmap_free(&taken);
	if (more)
		take_others(f, function, first, last);
}

static struct infer_covered find(struct trace_reader *r, struct found *f)
{
	struct infer_walk w = { .defs = trace_defs(r), .closed = gather, .arg = f };
	struct infer_covered best = { 0 };
	struct trace_event e;
	struct err ignored = { 0 };
	infer_walk_begin(&w);
	while (trace_next(r, &e, &ignored) == 1)
		infer_walk_event(&w, &e);
	infer_walk_end(&w);
	const struct loop *l = choose(&f->all);
	if (l) {
		best = (struct infer_covered){ l->function, l->calls,
					       l->strong ? l->strong : l->weak, l->last };
		take_others(f, l->function, l->first, l->last);
	}
	VEC_FREE(&f->all);
	VEC_FREE(&f->each);
	return best;
}

struct infer_covered infer_ops_covered(struct trace_reader *r)
{
	struct found f = { 0 };
	struct infer_covered best = find(r, &f);
	hmap_free(&f.also);
	return best;
}

/* ---- its operations ---- */

struct taken {
	uint64_t function;
	const struct hmap *also;
};

static void take_phase(void *arg, struct infer_thread *t)
{
	struct infer_collect *c = arg;
	const struct taken *of = c->arg;
	uint64_t function = of->function;
	const struct infer_call *call = &t->call.p[t->call.n - 1];
	(void)hmap_get(of->also, thread_key(t), &function);
	if (call->target != function || recurs(t))
		return;
	struct phase p = phase_of(call);
	for (size_t i = p.from; i < p.to; i++)
		infer_collect_op(c, t, &call->child.p[i]);
}

int infer_ops_inferred(struct infer_ops *ops, struct trace_reader *r,
		       const struct infer_ops_opts *opts, struct err *err)
{
	struct found f = { 0 };
	struct taken of = { find(r, &f).function, &f.also };
	(void)opts;
	int bad = of.function ? trace_seek(r, 0, err) : 0;
	if (of.function && !bad)
		infer_collect(&(struct infer_collect){ .ops = ops, .arg = &of }, r, take_phase);
	hmap_free(&f.also);
	return bad;
}
