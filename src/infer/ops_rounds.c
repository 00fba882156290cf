/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that are rounds of a loop: the work is inlined into the function that repeats it, so that no call tells one from
 * the next.
 *
 *	for (;;) {              a round
 *		r->key = …;     stores of the function itself, …
 *		persist(r);     … and events in its calls: all have a place in the loop's code
 *		g->n++;
 *	}
 *
 * Which loop: that of a function which is called once (by each thread), whose own stores in it come again and again, are made persistent
 * there, mostly, and cover more stores of the run than the calls that would be taken otherwise (ops_inferred.c), if these
 * do not come later. Where these calls are made in this very loop, the round has them and the stores beside them, and covers what
 * both do; unless they are so many for each store that the round looks like a phase of the program.
 *
 * A round ends where the next event's place cannot come behind the last one's without the loop's begin in between, by the
 * flow of control (binary/loop.c). Where both may be, it goes on, and that moment is noted: it may be several.
 */
#include <stdlib.h>
#include <string.h>

#include "binary/binary.h"
#include "infer/internal.h"
#include "infer/walk.h"

/* An instruction that stores. A *burst* of it, by an inner loop that copies, say, ends with the next thing that makes something
 * persistent: what counts is how often it comes again, not how much it stores. */
struct own {
	uint64_t ip, function;
	uint64_t call;             /* in which it did, and only there */
	uint64_t count, persisted; /* bursts; after so many, something was made persistent */
	uint64_t persists;         /* of the thread until the last burst, and 1 */
	uint64_t before, after;    /* stores of its thread */
	uint64_t first, last;      /* events */
	uint32_t process;
	bool several; /* … which is not so */
};

/* A loop of a function, or all that fit. */
struct loop {
	uint32_t process;
	uint64_t function;
	VEC(uint64_t) head;
	uint64_t before, after, first, last; /* of its own stores */
	uint64_t most, persisted;            /* of one of them; after all */
	VEC(uint64_t) ip;                    /* of them */
};

typedef VEC(struct loop) loops;

struct rounds {
	struct infer_collect collect; /* first, for those who are given it */
	struct infer_walk walk;
	struct infer_control *control;
	struct hmap at; /* process, thread and instruction -> own */
	VEC(struct own) own;
	struct loop best;
	struct hmap in;    /* process and instruction -> 1: it is in the loop, 2: not */
	struct hmap round; /* two instructions -> enum binary_round */
	VEC(struct open *) open;
};

/* The round that a thread is in. */
struct open {
	struct infer_thread *thread;
	struct infer_op op;
	bool any, changes;
	uint64_t ip, call; /* where its last event was: in the loop, and in which call */
	uint64_t to;       /* … and where what it stored ends */
	VEC(uint64_t) part;
};

/* ---- who stores ---- */

static uint64_t ip_of(const struct infer_walk *w, const struct trace_event *e)
{
	const struct trace_site_def *site = trace_site(w->defs, e->process, e->site);
	return site ? site->ip : 0;
}

static void note_store(struct rounds *r, struct infer_thread *t, const struct trace_event *e)
{
	const struct infer_call *c = &t->call.p[t->call.n - 1];
	uint64_t ip = ip_of(&r->walk, e), i;
	uint64_t key = hash_mix((uint64_t)e->process << 32 | e->thread, ip);
	if (!hmap_get(&r->at, key, &i)) {
		hmap_put(&r->at, key, i = r->own.n);
		VEC_PUSH(&r->own, ((struct own){ .ip = ip,
						 .function = c->target,
						 .call = c->number,
						 .before = t->stores,
						 .first = e->num,
						 .process = e->process }));
	}
	struct own *o = &r->own.p[i];
	o->several |= o->call != c->number;
	o->count += o->persists != t->persists + 1;
	o->persists = t->persists + 1;
	o->after = t->stores + 1;
	o->last = e->num;
	t->own = i + 1;
}

static void look(void *arg, struct infer_thread *t, const struct trace_event *e)
{
	struct rounds *r = arg;
	if (e->kind == TRACE_STORE)
		note_store(r, t, e);
	if (!infer_persists(e) || !t->own)
		return;
	r->own.p[t->own - 1].persisted++;
	t->own = 0;
}

/* ---- which loop ---- */

static void add_own(struct loop *l, const struct own *o)
{
	l->before = o->before < l->before ? o->before : l->before;
	l->after = o->after > l->after ? o->after : l->after;
	l->first = o->first < l->first ? o->first : l->first;
	l->last = o->last > l->last ? o->last : l->last;
	l->most = o->count > l->most ? o->count : l->most;
	l->persisted += o->persisted;
	VEC_PUSH(&l->ip, o->ip);
}

static bool fits(const struct loop *l)
{
	return l->most >= 2 && 2 * l->persisted >= l->most;
}

static uint64_t covers(const struct loop *l)
{
	return l->after - l->before;
}

/* A loop of another function follows: this one has made things ready. */
static bool is_opening(const loops *all, const struct loop *l)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->p[i].function != l->function && fits(&all->p[i]) &&
		    all->p[i].first > l->last)
			return true;
	return false;
}

static void find_loops(struct rounds *r, loops *all)
{
	for (size_t i = 0; i < r->own.n; i++) {
		const struct own *o = &r->own.p[i];
		const struct binary_view *view = infer_control_view(r->control, o->process, o->ip);
		uint64_t head = o->several ? BINARY_NO_BLOCK : binary_view_loop(view, o->ip);
		size_t k = 0;
		if (head == BINARY_NO_BLOCK)
			continue;
		while (k < all->n &&
		       (all->p[k].head.p[0] != head || all->p[k].process != o->process))
			k++;
		if (k == all->n) {
			VEC_PUSH(all, ((struct loop){ .process = o->process,
						      .function = o->function,
						      .before = UINT64_MAX,
						      .first = UINT64_MAX }));
			VEC_PUSH(&all->p[k].head, head);
		}
		add_own(&all->p[k], o);
	}
}

static void free_loop(struct loop *l)
{
	VEC_FREE(&l->ip);
	VEC_FREE(&l->head);
}

static void join(struct loop *to, const struct loop *l)
{
	to->before = l->before < to->before ? l->before : to->before;
	to->after = l->after > to->after ? l->after : to->after;
	to->last = l->last > to->last ? l->last : to->last;
	to->most = l->most > to->most ? l->most : to->most;
	VEC_PUSH(&to->head, l->head.p[0]);
	for (size_t i = 0; i < l->ip.n; i++)
		VEC_PUSH(&to->ip, l->ip.p[i]);
}

/* The function whose loop covers the most, with all of its loops. */
static void choose(struct rounds *r)
{
	loops all = { 0 };
	const struct loop *best = NULL;
	find_loops(r, &all);
	for (size_t i = 0; i < all.n; i++)
		if (fits(&all.p[i]) && !is_opening(&all, &all.p[i]) &&
		    (!best || covers(&all.p[i]) > covers(best)))
			best = &all.p[i];
	if (best)
		r->best = (struct loop){ .process = best->process,
					 .function = best->function,
					 .before = UINT64_MAX };
	for (size_t i = 0; i < all.n; i++) {
		if (best && fits(&all.p[i]) && all.p[i].function == r->best.function &&
		    all.p[i].process == r->best.process)
			join(&r->best, &all.p[i]);
		free_loop(&all.p[i]);
	}
	VEC_FREE(&all);
}

/* ---- its rounds ---- */

static void end_round(struct rounds *r, struct open *o)
{
	if (o->any && o->changes) {
		o->op.nparts = (uint32_t)o->part.n;
		o->op.parts = o->part.n ? xmalloc(o->part.n * sizeof *o->op.parts) : NULL;
		if (o->part.n)
			memcpy(o->op.parts, o->part.p, o->part.n * sizeof *o->op.parts);
		VEC_PUSH(&r->collect.ops->op, o->op);
	}
	o->part.n = 0;
	o->any = o->changes = false;
}

static struct open *open_of(struct rounds *r, struct infer_thread *t)
{
	if (!t->own) {
		VEC_PUSH(&r->open, xcalloc(1, sizeof(struct open)));
		r->open.p[r->open.n - 1]->thread = t;
		t->own = r->open.n;
	}
	return r->open.p[t->own - 1];
}

static bool is_in(struct rounds *r, uint64_t ip)
{
	uint64_t known;
	if (!hmap_get(&r->in, ip, &known)) {
		const struct binary_view *v = infer_control_view(r->control, r->best.process, ip);
		uint64_t head = binary_view_loop(v, ip);
		known = 2;
		for (size_t i = 0; i < r->best.head.n; i++)
			known = r->best.head.p[i] == head ? 1 : known;
		hmap_put(&r->in, ip, known);
	}
	return known == 1;
}

static enum binary_round round_of(struct rounds *r, uint64_t from, uint64_t to)
{
	uint64_t key = hash_mix(from, to), known;
	if (!hmap_get(&r->round, key, &known)) {
		const struct binary_view *v = infer_control_view(r->control, r->best.process, from);
		known = binary_view_round(v, from, to, r->best.ip.p, r->best.ip.n);
		hmap_put(&r->round, key, known);
	}
	return (enum binary_round)known;
}

/* Where in the function the event is, and in which of its calls; false: it is not below the function. */
static bool place_in(const struct rounds *r, const struct infer_thread *t,
		     const struct trace_event *e, uint64_t *ip, uint64_t *call)
{
	size_t i = 0;
	while (i < t->call.n && t->call.p[i].target != r->best.function)
		i++;
	if (i == t->call.n || t->process != r->best.process)
		return false;
	bool own = i + 1 == t->call.n;
	*ip = own ? ip_of(&r->walk, e) : t->call.p[i + 1].site;
	*call = own ? 0 : t->call.p[i + 1].number;
	return true;
}

/* Has the very instruction been executed again, behind the loop's begin? One execution may store several times, piece by piece,
 * and an inner loop may repeat it. */
static bool comes_again(struct rounds *r, const struct open *o, const struct trace_event *e,
			uint64_t ip)
{
	return e->kind == TRACE_STORE && !o->call && e->arg[0] != o->to &&
	       round_of(r, ip, ip) == BINARY_ROUND_NEXT;
}

/* An event at a place of the loop: does it belong to the round? */
static void go_on(struct rounds *r, struct open *o, const struct trace_event *e, uint64_t ip,
		  uint64_t call)
{
	if (o->any && (ip != o->ip || call != o->call)) {
		enum binary_round now = round_of(r, o->ip, ip);
		bool answered = o->op.said != INFER_NO_END && e->kind != TRACE_OUTPUT;
		if (now == BINARY_ROUND_NEXT || (now == BINARY_ROUND_MAYBE && answered))
			end_round(r, o);
		else if (now == BINARY_ROUND_MAYBE && o->changes)
			VEC_PUSH(&o->part, e->num);
	} else if (o->any && comes_again(r, o, e, ip)) {
		end_round(r, o);
	}
	o->ip = ip;
	o->call = call;
	o->to = e->kind == TRACE_STORE ? e->arg[0] + e->size : 0;
}

static void take(struct rounds *r, struct open *o, const struct infer_thread *t,
		 const struct trace_event *e)
{
	bool changes = infer_changes(e);
	if (e->kind == TRACE_OUTPUT) {
		if (o->any && o->changes)
			o->op.said = e->num;
		return;
	}
	if (!o->any)
		o->op = (struct infer_op){ .begin = e->num,
					   .said = INFER_NO_END,
					   .process = t->process,
					   .thread = t->thread,
					   .name = infer_collect_name(&r->collect, t->process,
								      r->best.function) };
	o->any = true;
	o->changes |= changes;
	o->op.end = e->num;
	if (changes)
		o->op.said = INFER_NO_END;
}

static void follow(void *arg, struct infer_thread *t, const struct trace_event *e)
{
	struct rounds *r = arg;
	uint64_t ip, call;
	if (!infer_changes(e) && !infer_persists(e) && e->kind != TRACE_OUTPUT &&
	    e->kind != TRACE_INPUT)
		return;
	if (!place_in(r, t, e, &ip, &call))
		return;
	struct open *o = open_of(r, t);
	if (!is_in(r, ip)) {
		end_round(r, o);
		return;
	}
	go_on(r, o, e, ip, call);
	if (e->kind != TRACE_INPUT)
		take(r, o, t, e);
}

/* ---- both ---- */

static void walk(struct rounds *r, struct trace_reader *reader,
		 void (*seen)(void *, struct infer_thread *, const struct trace_event *))
{
	struct trace_event e;
	struct err ignored = { 0 }; /* a damaged trace is read as far as it goes */
	r->walk = (struct infer_walk){ .defs = trace_defs(reader), .seen = seen, .arg = r };
	infer_walk_begin(&r->walk);
	r->collect.src = r->walk.src;
	bool first = !r->control; /* its code stays, and so do the numbers of blocks */
	r->control = first ? infer_control_new(r->walk.defs) : r->control;
	while (trace_next(reader, &e, &ignored) == 1) {
		if (first)
			infer_control_event(r->control, &e);
		infer_walk_event(&r->walk, &e);
	}
}

static void free_rounds(struct rounds *r)
{
	infer_control_free(r->control);
	hmap_free(&r->at);
	hmap_free(&r->in);
	hmap_free(&r->round);
	hmap_free(&r->collect.name);
	VEC_FREE(&r->own);
	free_loop(&r->best);
	for (size_t i = 0; i < r->open.n; i++) {
		VEC_FREE(&r->open.p[i]->part);
		free(r->open.p[i]);
	}
	VEC_FREE(&r->open);
}

/* How far the loop reaches with what is stored in its calls. */
static void widen(void *arg, struct infer_thread *t, const struct trace_event *e)
{
	struct rounds *r = arg;
	struct loop *l = &r->best;
	uint64_t ip, call;
	if (!infer_changes(e) || !place_in(r, t, e, &ip, &call) || !is_in(r, ip))
		return;
	l->before = t->stores < l->before ? t->stores : l->before;
	l->after = t->stores + 1 > l->after ? t->stores + 1 : l->after;
	l->last = e->num > l->last ? e->num : l->last;
}

#define MOST_CALLS 16u /* in a round, on an average */

/* 1: the loop covers more than the calls, or as much together with them. */
static int beats(struct rounds *r, struct trace_reader *reader, struct err *err)
{
	struct infer_covered calls = infer_ops_covered(reader);
	if (trace_seek(reader, 0, err))
		return -1;
	if (calls.stores < covers(&r->best) && calls.last <= r->best.last)
		return 1;
	if (calls.function != r->best.function || calls.calls / MOST_CALLS > r->best.most)
		return 0;
	walk(r, reader, widen);
	infer_walk_end(&r->walk);
	return trace_seek(reader, 0, err)
		       ? -1
		       : calls.stores <= covers(&r->best) && calls.last <= r->best.last;
}

static int find(struct rounds *r, struct trace_reader *reader, struct err *err)
{
	walk(r, reader, look);
	choose(r);
	infer_walk_end(&r->walk);
	if (!r->best.ip.n)
		return 0;
	if (trace_seek(reader, 0, err))
		return -1;
	int better = beats(r, reader, err);
	if (better <= 0)
		return better;
	walk(r, reader, follow);
	for (size_t i = 0; i < r->open.n; i++)
		end_round(r, r->open.p[i]);
	infer_walk_end(&r->walk);
	return 0;
}

int infer_ops_rounds(struct infer_ops *ops, struct trace_reader *reader,
		     const struct infer_ops_opts *opts, struct err *err)
{
	struct rounds r = { .collect = { .ops = ops } };
	(void)opts;
	int bad = find(&r, reader, err);
	free_rounds(&r);
	return bad;
}
