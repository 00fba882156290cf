/* SPDX-License-Identifier: BSD-3-Clause */
/* What is known of stores that are not persistent: the facts that evidence.c weighs. */
#include <string.h>

#include "check/internal.h"

#define REACH 4096u /* so far before a byte its object may begin */
#define FAR 65536u  /* … if it is an array */
#define MANY 4      /* pieces of data that are lost */
#define SEVERAL 3   /* stores to tell that a statement never stores to the same place twice */

static void await(struct oracle_state *u, model_where store, model_where fence)
{
	check_pair_hit(&u->awaited, store, fence, 1);
	while (u->expected.n <= store)
		VEC_PUSH(&u->expected, 0);
	u->expected.p[store] = 1;
}

bool check_is_expected(const struct oracle_state *u, model_where store)
{
	return store < u->expected.n && u->expected.p[store];
}

/*
 * A store fence that has nothing to wait for was meant for the store before it, and for what the thread has
 * stored in the same line since its last fence.
 */
void check_note_awaited(struct oracle_state *u, const struct model_step *s)
{
	const struct model_thread *t = s->thread;
	if (model_place(u->check->model, s->where)->class != TRACE_SITE_SFENCE ||
	    s->effect == MODEL_NOTHING || t->waiting.n || t->flush_num > t->fence_num ||
	    t->store_num <= t->fence_num)
		return;
	await(u, t->store, s->where);
	const struct model_line *l = model_line_of_key(u->check->model, u->newest);
	if (!l || l->storer != s->thread_id)
		return;
	MODEL_EACH_WORD (w, l->open)
		if (model_when(l->when[w], s->ev->num) + 1 > t->fence_num)
			await(u, l->store[w], s->where);
}

/* A fence in vain follows the statement, in its function or in one that works with it. */
static bool is_awaited(struct oracle_state *u, uint32_t statement)
{
	for (size_t i = 0; i < u->awaited.v.n; i++) {
		const struct pair *p = &u->awaited.v.p[i];
		if (u->check->statement.p[p->a] == statement && check_related(u->check, p->a, p->b))
			return true;
	}
	return false;
}

/* Something between the two locations, in the same file, is persisted on purpose. */
static bool is_meant_between(struct check *c, uint64_t lo, uint64_t hi)
{
	bool meant = false;
	for (uint64_t at = lo / TRACE_LINE; at <= hi / TRACE_LINE && !meant; at++) {
		const struct model_line *l = model_line_of_key(c->model, at);
		meant = l && l->meant;
	}
	return meant;
}

/* Is the object that holds the example's bytes pointed to, and is something of it persisted? */
static void look_at_object(struct check *c, const struct cause *k, struct check_facts *f)
{
	uint64_t loc = k->key * TRACE_LINE + k->byte, target;
	f->published = check_targets_find(c, loc, REACH, &target);
	f->perhaps = !f->published && (check_targets_offset(c, loc, REACH, &target) ||
				       check_targets_find(c, loc, FAR, &target));
	if (!f->published && !f->perhaps)
		return;
	f->object = is_meant_between(c, target, loc);
}

/* Is a word persisted that touches the example's? */
static bool is_beside(struct check *c, const struct cause *k)
{
	const struct model_line *l = model_line_of_key(c->model, k->key);
	uint64_t word = 0xffull << k->byte / 8 * 8;
	return l && l->meant & (word << 8 | word >> 8) & ~word;
}

/*
 * A restart finds what a file begins with without any pointer to it: a header, a superblock. A block there that is not
 * persisted, beside what is, was forgotten.
 */
static bool is_header(struct check *c, const struct cause *k)
{
	uint64_t loc = k->key * TRACE_LINE + k->byte;
	uint64_t begin = loc >> MODEL_FILE_SHIFT << MODEL_FILE_SHIFT;
	return k->whole * 2 > k->count && loc - begin < REACH &&
	       is_meant_between(c, begin, begin + REACH - 1);
}

/* What was stored is the number of the process: who has the file open, which tells a restart nothing. */
static bool is_own_number(struct check *c, const struct cause *k)
{
	const struct model_line *l = model_line_of_key(c->model, k->key);
	uint64_t pid = trace_process(c->defs, model_place(c->model, k->where)->process)->pid;
	uint8_t data[8];
	memcpy(data, &pid, sizeof data);
	for (unsigned n = 4; l && n <= 8; n += 4) {
		uint64_t mask = 0xff >> (8 - n); /* one bit for each byte */
		if (k->byte % 8 + n <= 8 &&
		    l->newest[k->byte / 8] == model_value_hash(mask << k->byte, data, k->byte / 8))
			return true;
	}
	return false;
}

/* As a magic number or a version: a word that a file begins with, stored but once (by two
 * overlapping moves, as copies have it), beside what is persisted. */
static bool is_field_of_header(struct oracle_state *u, const struct check_group *g)
{
	const struct cause *k = &g->k;
	return !is_own_number(u->check, k) &&
	       k->key * TRACE_LINE % (1ull << MODEL_FILE_SHIFT) < TRACE_LINE &&
	       check_stores(u, u->check->statement.p[k->where]) < SEVERAL && is_beside(u->check, k);
}

/*
 * Data, and not the state of a run: blocks that are written once, each to lines of its own, by code that persists
 * something else that it stores. Locks, counters and hints are words, and written again and again.
 */
static bool is_data(struct oracle_state *u, const struct check_group *g)
{
	const uint32_t *of = u->check->statement.p;
	const struct cause *k = &g->k;
	if (k->count < MANY || k->blocks * 2 <= k->count)
		return false;
	for (model_where w = 0; w < model_places(u->check->model); w++)
		if (of[w] && of[w] != of[k->where] && oracle_tally(u, w)[PERSISTED] &&
		    check_related(u->check, w, k->where))
			return true;
	return false;
}

#define CLOSE 2u /* the function that stores, and its caller */

/* On the paths of both there is a function, close to both and not the outermost, which comes to the second later. */
static bool is_before(struct check *c, model_where a, model_where b)
{
	size_t n, k;
	const struct srcloc_frame *f = check_author(c, a, &n), *g = check_author(c, b, &k);
	for (size_t i = 0; i < CLOSE && i + 1 < n; i++)
		for (size_t j = 0; j < k && g[j].line; j++)
			if (check_same_function(&f[i], &g[j]))
				return f[i].line < g[j].line;
	return false;
}

/* What the same code stores next, elsewhere, is persisted: as an object is filled first and then linked. */
static bool is_followed(struct oracle_state *u, const struct check_group *g)
{
	const uint32_t *author = u->check->author.p;
	for (model_where w = 0; w < model_places(u->check->model); w++)
		if (author[w] != author[g->k.where] && oracle_tally(u, w)[PERSISTED] &&
		    is_before(u->check, g->k.where, w))
			return true;
	return false;
}

/* Functions on the way to a flush or a fence. */
static void learn_persisting(struct oracle_state *u)
{
	for (model_where w = 0; w < model_places(u->check->model); w++) {
		const struct model_place *p = model_place(u->check->model, w);
		enum finding_act act;
		if (!p->ip || !finding_act_of(p->class, p->stores, &act) || act == FINDING_STORES)
			continue;
		const struct finding_place *at = check_place(u->check, w);
		for (size_t i = 0; i < at->n; i++)
			hmap_put(&u->persisting, check_function_key(&at->frame[i]), 1);
	}
}

/* The function that stores and its caller never come to a flush or a fence, as if all they did was to look things up. */
static bool is_idle(struct oracle_state *u, const struct check_group *g)
{
	const struct finding_place *p = check_place(u->check, g->k.where);
	const struct srcloc_frame *f = finding_main_frame(p);
	size_t n = f ? (size_t)(p->frame + p->n - f) : 0;
	uint64_t is;
	if (!model_flushes(model_ops(u->check->model)))
		return false;
	if (!u->persisting.n)
		learn_persisting(u);
	for (size_t i = 0; i < CLOSE && i < n && (!i || i + 1 < n); i++)
		if (!f[i].function || hmap_get(&u->persisting, check_function_key(&f[i]), &is))
			return false;
	return n && u->persisting.n;
}

bool check_is_lazy(struct check *c, const struct check_group *g)
{
	struct oracle_state *u = check_unpersisted(c);
	uint32_t statement = c->statement.p[g->k.where];
	uint64_t persisted = check_tallied(u, statement, PERSISTED);
	return (persisted && check_counts(u, statement, persisted, true)) || is_idle(u, g);
}

/* The program persists what other atomic instructions store, which are no lock's. */
static bool is_atomics_persisted(const struct oracle_state *u, uint32_t statement)
{
	const struct check *c = u->check;
	for (model_where w = 0; w < u->tally.n / TALLY; w++) {
		const uint32_t *t = u->tally.p + (size_t)w * TALLY;
		if (t[PERSISTED] && !t[TURNS] && c->statement.p[w] != statement &&
		    model_place(c->model, w)->class == TRACE_SITE_ATOMIC)
			return true;
	}
	return false;
}

/* What atomic instructions store: a small number, or only what may be offsets of something in the file? */
static void look_at_atomic(struct oracle_state *u, const struct check_group *g,
			   struct check_facts *f)
{
	for (size_t i = 0; i < g->member.n; i++) {
		model_where w = g->member.p[i].where;
		uint64_t values = 0;
		f->pointer |= check_targets_pointer(u->check, w);
		if (model_place(u->check->model, w)->class != TRACE_SITE_ATOMIC)
			continue;
		hmap_get(&u->atomics, w, &values);
		f->offset |= values == CHECK_OFFSETS;
		f->atomic |= !(values & CHECK_WIDE) && values != CHECK_OFFSETS;
	}
	f->atomic &=
		!f->pointer && !g->tally[TURNS]; /* what goes back and on again is no counter */
	f->atomics = f->atomic && is_atomics_persisted(u, u->check->statement.p[g->k.where]);
}

/* A function that has to do with the statement flushes what it stores, if only by chance. */
static bool is_covered(const struct oracle_state *u, uint32_t statement)
{
	for (size_t i = 0; i < u->pairs.v.n; i++)
		if (u->pairs.v.p[i].near >= CHECK_NEAR &&
		    u->check->statement.p[u->pairs.v.p[i].a] == statement)
			return true;
	return false;
}

/* What the compiler has made of several statements, by one instruction, says nothing of any of them. */
static bool is_one_statement(struct check *c, const struct check_group *g)
{
	const struct srcloc_frame *f = finding_main_frame(check_place(c, g->k.where));
	return f && !f->unsure;
}

struct check_facts check_facts_of(struct oracle_state *u, const struct check_group *g)
{
	uint32_t statement = u->check->statement.p[g->k.where];
	bool idle = is_idle(u, g);
	struct check_facts f = {
		.same_bytes = g->k.extra != 0,
		.same_statement = g->tally[PERSISTED] && is_one_statement(u->check, g),
		.by_chance = g->tally[BY_CHANCE] || g->tally[STRAY],
		.stray = g->tally[STRAY] && !g->tally[PERSISTED] && !g->tally[BY_CHANCE],
		.lock = g->tally[TURNS] && g->tally[TURNS] >= g->tally[ONWARD],
		.mark = check_takes_marks(u, statement),
		.awaited = is_awaited(u, statement),
		.beside = is_beside(u->check, &g->k),
		.data = is_data(u, g),
		.flushed = g->k.kind == FINDING_MISSING_FENCE && g->k.wanted,
		.once = g->k.count >= SEVERAL && g->k.once * 2 > g->k.count,
		.header = is_header(u->check, &g->k) || is_field_of_header(u, g),
		.covered = is_covered(u, statement),
		.counter = check_counts(u, statement, g->tally[PERSISTED], idle),
		.seldom = check_is_seldom(u, statement),
		.idle = idle && check_is_repeated(u, statement),
	};
	f.unasked = f.same_bytes && !f.seldom && g->tally[UNASKED] &&
		    g->tally[UNASKED] >= g->tally[STRAY];
	f.left = f.stray && g->tally[LEFT] * 2 > g->tally[STRAY];
	f.link = g->tally[LINKS] != 0;
	f.followed = f.once && is_followed(u, g);
	look_at_atomic(u, g, &f);
	look_at_object(u->check, &g->k, &f);
	return f;
}
