/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often beliefs hold: a second pass, with the model of what is persistent.
 *
 * A case of "the first is persistent before the second is stored" is a store of the second in an operation in
 * which the first has stored before, or, if it had not, does so later:
 *
 *	store first   flush, fence   store second      it holds
 *	store first   store second   in one line       it holds: a line's stores persist in order
 *	store first   store second                     it is broken
 *	store second  store first                      it is broken
 *
 * Where an order is kept nearly always, those who do not keep it are odd (struct infer_belief). What counts as
 * the habit is what the same two instructions do, called in the same way, on different lines.
 */
#include <stdlib.h>
#include <string.h>

#include "infer/internal.h"

#define RECENT 8u /* stores of a statement that are looked at */

struct stored {
	uint64_t key, mask; /* of the line */
	uint64_t event;
	uint64_t word;
	uint32_t where;
};
/* What a statement has stored in an operation. */
struct stores {
	struct stored v[RECENT]; /* number n is at n % RECENT */
	uint64_t n;
	uint32_t op;
};
/* A belief while it is looked for: its operation, and that the second was stored before the first. */
struct now {
	uint32_t op;
	bool waits;
};
/* How two instructions of a belief keep the order. */
struct habit {
	uint32_t belief;
	uint64_t held, broken;
	uint64_t odd, first, second; /* of those broken; events of the first of them */
};
/* The beliefs about each statement. */
struct about {
	uint32_t *first; /* by statement: list[first[s] .. first[s + 1]) */
	uint32_t *list;
};

struct support {
	struct infer_beliefs *b;
	struct model *model;
	struct infer_inside inside;
	struct about as_first, as_second;
	struct stores *stores; /* by statement */
	struct now *now;       /* by belief */
	VEC(struct habit) habit;
	struct hmap habit_at; /* belief and both places -> habit */
	struct hmap value;    /* byte -> hash of what was last stored there */
	VEC(uint32_t) where;  /* by model_where, and 1 */
	uint32_t op;          /* of the event */
	uint64_t event;       /* … that was counted last, and 1 */
};

/* ---- what is open ---- */

static bool is_open(const struct support *s, const struct stored *x)
{
	const struct model_line *l = model_line_of_key(s->model, x->key);
	return l && (l->open & ~model_flight(s->model, l)->same & x->mask);
}

/* The newest store to its word is still this one. */
static bool is_newest(const struct support *s, const struct stored *x)
{
	const struct model_line *l = model_line_of_key(s->model, x->key);
	return l && l->when[(unsigned)__builtin_ctzll(x->mask) / 8] == (uint32_t)x->event;
}

/* One of the first's stores that is not persistent, in another line; NULL: there is none. */
static const struct stored *find_open(const struct support *s, const struct stores *first,
				      uint64_t key)
{
	uint64_t least = first->n > RECENT ? first->n - RECENT : 0;
	for (uint64_t i = first->n; i > least; i--) {
		const struct stored *x = &first->v[(i - 1) % RECENT];
		if (x->key != key && is_open(s, x))
			return x;
	}
	return NULL;
}

/* ---- cases ---- */

static struct habit *habit_of(struct support *s, uint32_t belief, uint32_t first, uint32_t second)
{
	uint64_t key = hash_mix((uint64_t)first << 32 | second, belief), at;
	if (!hmap_get(&s->habit_at, key, &at)) {
		hmap_put(&s->habit_at, key, at = s->habit.n);
		VEC_PUSH(&s->habit, ((struct habit){ .belief = belief }));
	}
	return &s->habit.p[at];
}

/* The words depend on each other, and what was stored is new: the order matters here. */
static bool matters(const struct support *s, const struct infer_belief *b, const struct stored *x,
		    const struct stored *y, bool changed)
{
	bool swapped = infer_rule(b->rule)->swapped;
	return changed && is_newest(s, x) &&
	       infer_depend_has(&s->b->depend, b->rule, swapped ? y->word : x->word,
				swapped ? x->word : y->word);
}

/* The second of a belief stores y. */
static void count_order(struct support *s, uint32_t belief, const struct stored *y, bool changed)
{
	struct infer_belief *b = &s->b->v.p[belief];
	const struct stores *first = &s->stores[b->first];
	const struct stored *last, *x;
	struct habit *h;
	if (first->op != s->op) {
		s->now[belief] = (struct now){ s->op, true };
		return;
	}
	last = &first->v[(first->n - 1) % RECENT];
	x = find_open(s, first, y->key);
	h = habit_of(s, belief, x ? x->where : last->where, y->where);
	if (!x) {
		b->held++;
		h->held += last->key != y->key;
		return;
	}
	b->broke = b->broken++ ? b->broke : y->event;
	h->broken++;
	if (!matters(s, b, x, y, changed))
		return;
	h->first = h->odd ? h->first : x->event;
	h->second = h->odd ? h->second : y->event;
	h->odd++;
}

/* Both are stored in one operation, which is never at once. */
static void count_both(struct support *s, uint32_t belief, uint32_t other, uint64_t event)
{
	struct infer_belief *b = &s->b->v.p[belief];
	if (s->now[belief].op == s->op || s->stores[other].op != s->op)
		return;
	s->now[belief].op = s->op;
	b->broke = b->broken++ ? b->broke : event;
}

static void count_second(struct support *s, uint32_t statement, const struct stored *y,
			 bool changed)
{
	const struct about *a = &s->as_second;
	for (uint32_t i = a->first[statement]; i < a->first[statement + 1]; i++) {
		const struct infer_belief *b = &s->b->v.p[a->list[i]];
		if (infer_rule(b->rule)->atomic)
			count_both(s, a->list[i], b->first, y->event);
		else
			count_order(s, a->list[i], y, changed);
	}
}

static void count_first(struct support *s, uint32_t statement, uint64_t event)
{
	const struct about *a = &s->as_first;
	for (uint32_t i = a->first[statement]; i < a->first[statement + 1]; i++) {
		struct infer_belief *b = &s->b->v.p[a->list[i]];
		struct now *now = &s->now[a->list[i]];
		if (infer_rule(b->rule)->atomic) {
			count_both(s, a->list[i], b->second, event);
		} else if (now->op == s->op && now->waits) {
			now->waits = false;
			b->broke = b->broken++ ? b->broke : event;
		}
	}
}

/* ---- events ---- */

static uint32_t where_of(struct support *s, const struct model_step *step)
{
	while (s->where.n <= step->where)
		VEC_PUSH(&s->where, 0);
	if (!s->where.p[step->where]) {
		const struct trace_event *e = step->ev;
		s->where.p[step->where] =
			infer_where_find(&s->b->statements, e->process, e->site, e->ctx) + 1;
	}
	return s->where.p[step->where] - 1;
}

/* Is it another value than the one that was stored there before? */
static bool changes(struct support *s, const struct trace_event *e, uint64_t byte)
{
	uint64_t hash = hash_seeded(e->data, e->size, e->size), before = 0;
	bool known = hmap_get(&s->value, byte, &before);
	hmap_put(&s->value, byte, hash);
	return !known || hash != before;
}

static void on_store(void *arg, const struct model_step *step)
{
	struct support *s = arg;
	const struct trace_event *e = step->ev;
	uint32_t where = where_of(s, step), statement;
	struct stored y = { .key = step->line->key, .mask = step->mask, .event = e->num };
	struct infer_words words;
	struct stores *mine;
	if (where == UINT32_MAX || !s->op)
		return;
	statement = s->b->statements.where.p[where].statement;
	infer_words(model_location(s->model, e->process, e->arg[0]), e->size, &words);
	y.where = where;
	y.word = words.n ? words.v[0] : 0;
	if (s->event != e->num + 1) { /* not another line of the same */
		count_second(s, statement, &y, changes(s, e, y.word));
		count_first(s, statement, e->num);
	}
	s->event = e->num + 1;
	mine = &s->stores[statement];
	if (mine->op != s->op)
		mine->n = 0;
	mine->op = s->op;
	mine->v[mine->n++ % RECENT] = y;
}

/* ---- both ends ---- */

static void list_about(const struct infer_beliefs *b, bool second, struct about *out)
{
	size_t n = b->statements.v.n;
	uint32_t *first = xcalloc(n + 2, sizeof *first);
	out->list = xcalloc(b->v.n + 1, sizeof *out->list);
	for (size_t i = 0; i < b->v.n; i++)
		first[second ? b->v.p[i].second : b->v.p[i].first]++;
	for (size_t i = 1; i <= n; i++)
		first[i] += first[i - 1];
	for (size_t i = b->v.n; i-- > 0;)
		out->list[--first[second ? b->v.p[i].second : b->v.p[i].first]] = (uint32_t)i;
	out->first = first;
}

static void conclude(struct support *s)
{
	for (size_t i = 0; i < s->habit.n; i++) {
		const struct habit *h = &s->habit.p[i];
		struct infer_belief *b = &s->b->v.p[h->belief];
		if (!h->odd || h->held < INFER_MANY || h->broken * INFER_RARE > h->held + h->broken)
			continue;
		if (!b->odd || h->second < b->odd_second) {
			b->odd_first = h->first;
			b->odd_second = h->second;
		}
		b->odd += h->odd;
		b->usual += h->held;
	}
}

static void stop(struct support *s)
{
	model_free(s->model);
	infer_inside_free(&s->inside);
	free(s->as_first.first);
	free(s->as_first.list);
	free(s->as_second.first);
	free(s->as_second.list);
	free(s->stores);
	free(s->now);
	VEC_FREE(&s->habit);
	VEC_FREE(&s->where);
	hmap_free(&s->habit_at);
	hmap_free(&s->value);
}

int infer_support(struct infer_beliefs *b, struct trace_reader *r, const struct infer_ops *ops,
		  const struct model_ops *model, struct err *err)
{
	struct support s = { .b = b };
	struct model_watch watch = { .arg = &s, .store = on_store };
	struct trace_event e;
	uint64_t begin;
	bool alone;
	if (trace_seek(r, 0, err))
		return -1;
	s.model = model_new(model, trace_defs(r), &watch);
	model_rest_after(s.model, UINT32_MAX);
	infer_inside_init(&s.inside, ops);
	list_about(b, false, &s.as_first);
	list_about(b, true, &s.as_second);
	s.stores = xcalloc(b->statements.v.n + 1, sizeof *s.stores);
	s.now = xcalloc(b->v.n + 1, sizeof *s.now);
	while (trace_next(r, &e, err) == 1) {
		s.op = infer_inside_at(&s.inside, &e, &begin, &alone);
		model_feed(s.model, &e);
	}
	conclude(&s);
	stop(&s);
	return 0;
}
