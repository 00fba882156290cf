/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What becomes persistent on purpose, and what only by chance: together with something else in its line.
 *
 * A statement's stores are forgotten if none of them is ever persisted on purpose, and the program's
 * own flushes that do cover them are made for other stores in the line, by functions that have
 * nothing to do with it, after the thread has gone through a fence with the store still open. Where
 * a function that has to do with both is on the way to the flush, it may rely on the line; unless a fence right after
 * the store waits for nothing: it is its own flush that is missing, whatever the function flushes later.
 */
#include "check/internal.h"

#define SELDOM 8
#define REPEATED 2

bool check_fenced_since(struct check *c, const struct model_step *s, int w)
{
	const struct model_thread *t = model_thread(c->model, s->line->storer);
	return t->fence_num && t->fence_num - 1 > model_when(s->line->when[w], s->ev->num);
}

bool check_is_alone(const struct model_line *l)
{
	int first = __builtin_ctzll(l->open) / 8;
	for (int w = first + 1; w < MODEL_WORDS; w++)
		if (l->open >> (w * 8) & 0xff && l->store[w] != l->store[first])
			return false;
	return true;
}

/* One statement wrote all of the bytes. */
static bool has_one_writer(struct check *c, const struct model_step *s)
{
	size_t n;
	const struct model_writer *writer = model_writers(c->model, s->line, &n), *one = NULL;
	uint64_t left = s->mask;
	for (size_t i = n; i-- > 0 && left; left &= ~writer[i].mask) {
		if (!(writer[i].mask & left))
			continue;
		if (one && one->where != writer[i].where)
			return false;
		one = &writer[i];
	}
	return true;
}

/* A fence came between the word's newest store and what persists it now, which may be a fence itself. */
static bool was_passed_by(struct check *c, const struct model_step *s, unsigned w)
{
	const struct model_thread *t = model_thread(c->model, s->line->storer);
	uint64_t fence = t->fence_num == s->ev->num + 1 ? t->fence_before : t->fence_num;
	return fence && fence - 1 > model_when(s->line->when[w], s->ev->num);
}

/* Bytes whose newest writer has a function in common with the flush, on the path of both. Where that comes to the flush
 * before it stores some of them, these are left from the last time; but for a loop that has no others. */
static uint64_t near_bytes(struct oracle_state *u, const struct model_step *s)
{
	size_t n;
	const struct model_writer *writer = model_writers(u->check->model, s->line, &n);
	uint64_t near = 0, after = 0, left = s->mask;
	for (size_t i = n; i-- > 0 && left; left &= ~writer[i].mask) {
		if (!(writer[i].mask & left) || !check_near(u, writer[i].where, s->line->flush))
			continue;
		near |= writer[i].mask & left;
		if (check_near_after(u, writer[i].where, s->line->flush))
			after |= writer[i].mask & left;
	}
	MODEL_EACH_WORD (w, left) /* of writers that are no longer known */
		if (check_near(u, s->line->store[w], s->line->flush))
			near |= left & 0xffull << (w * 8);
	return near & ~after ? near & ~after : near;
}

void check_note_round(struct oracle_state *u, const struct model_step *s)
{
	while (u->rounds.n <= s->where)
		VEC_PUSH(&u->rounds, (struct check_round){ 0 });
	struct check_round *r = &u->rounds.p[s->where];
	if (r->key != s->line->key)
		r->elsewhere = r->here;
	r->key = s->line->key;
	r->here = (uint32_t)s->ev->num + 1;
	r->stores++;
	r->anew += (s->line->meant & ~s->line->open & s->mask) != 0;
}

uint64_t check_stores(const struct oracle_state *u, uint32_t statement)
{
	uint64_t stores = 0;
	for (size_t w = 0; w < u->rounds.n; w++)
		stores += u->check->statement.p[w] == statement ? u->rounds.p[w].stores : 0;
	return stores;
}

/* Of all stores of the statement, one in `times` at most is to bytes that had been persisted on purpose. */
static bool is_one_in(const struct oracle_state *u, uint32_t statement, uint64_t times)
{
	uint64_t anew = 0;
	for (size_t w = 0; w < u->rounds.n; w++)
		anew += u->check->statement.p[w] == statement ? u->rounds.p[w].anew : 0;
	return anew * times < check_stores(u, statement);
}

bool check_is_seldom(const struct oracle_state *u, uint32_t statement)
{
	return is_one_in(u, statement, SELDOM);
}

bool check_is_repeated(const struct oracle_state *u, uint32_t statement)
{
	return is_one_in(u, statement, REPEATED);
}

bool check_persists(struct oracle_state *u, uint32_t author)
{
	uint64_t stores = 0, persisted = 0;
	for (model_where w = 0; w < u->rounds.n; w++) {
		bool mine = u->check->author.p[w] == author;
		stores += mine ? u->rounds.p[w].stores : 0;
		persisted += mine ? oracle_tally(u, w)[PERSISTED] : 0;
	}
	return persisted * 2 >= stores;
}

bool check_is_left(struct oracle_state *u, const struct model_step *s, unsigned w)
{
	const struct model_line *l = s->line;
	if (l->store[w] >= u->rounds.n)
		return false;
	const struct check_round *r = &u->rounds.p[l->store[w]];
	uint32_t newest = r->key == l->key ? r->elsewhere : r->here;
	return was_passed_by(u->check, s, w) && newest &&
	       model_when(newest - 1, s->ev->num) > model_when(l->when[w], s->ev->num);
}

/* The two stores are made by one function, which comes to the second later. */
static bool are_kin(struct oracle_state *u, model_where a, model_where b)
{
	struct pair *p = check_pair_hit(&u->kin, a, b, 1);
	if (!p->near) {
		const struct srcloc_frame *f = finding_main_frame(check_place(u->check, a));
		const struct srcloc_frame *g = finding_main_frame(check_place(u->check, b));
		p->near = f && g && check_same_function(f, g) && f->line <= g->line ? 2 : 1;
	}
	return p->near == 2;
}

void check_note_fence(struct oracle_state *u, const struct model_step *s)
{
	while (u->fences.n <= s->thread_id)
		VEC_PUSH(&u->fences, (struct check_fences){ 0 });
	struct check_fences *f = &u->fences.p[s->thread_id];
	f->num[f->n % CHECK_FENCES] = s->ev->num + 1;
	f->where[f->n++ % CHECK_FENCES] = s->where;
}

/* The function that stored the word has returned since: a fence came that it did not ask for. */
static bool has_returned(struct oracle_state *u, const struct model_step *s, unsigned w)
{
	const struct model_line *l = s->line;
	uint64_t since = model_when(l->when[w], s->ev->num) + 1, oldest = UINT64_MAX;
	if (l->storer >= u->fences.n)
		return false;
	const struct check_fences *f = &u->fences.p[l->storer];
	for (unsigned i = 0; i < CHECK_FENCES && i < f->n; i++) {
		oldest = f->num[i] < oldest ? f->num[i] : oldest;
		if (f->num[i] > since && !check_inside(u, l->store[w], f->where[i]))
			return true;
	}
	return f->n > CHECK_FENCES && oldest > since;
}

/* The function that stored the word has stored one of these as well. */
static bool has_kin(struct oracle_state *u, const struct model_line *l, unsigned w, uint64_t words)
{
	MODEL_EACH_WORD (k, words)
		if (are_kin(u, l->store[w], l->store[k]))
			return true;
	return false;
}

/*
 * Where some of the near bytes were stored since the thread's newest fence, the flush is made for these: what an
 * earlier fence has passed by was left open then. But a function that stores to a line, fences, stores to it again and
 * flushes it once relies on the order of stores in a line, and means all of them: if that fence is of use, or an mfence,
 * as some use for the order alone. An sfence has no use but to wait for flushes.
 */
static uint64_t recent_words(struct oracle_state *u, const struct model_step *s, uint64_t near)
{
	uint64_t recent = 0, kin = 0;
	MODEL_EACH_WORD (w, near)
		recent |= was_passed_by(u->check, s, w) ? 0 : near & 0xffull << (w * 8);
	MODEL_EACH_WORD (w, recent ? near & ~recent : 0)
		if (has_kin(u, s->line, w, recent) && !has_returned(u, s, w) &&
		    !check_is_expected(u, s->line->store[w]) && !check_is_left(u, s, w))
			kin |= near & 0xffull << (w * 8);
	return recent ? recent | kin : near;
}

/* What the flush is made for. */
static uint64_t near_words(struct oracle_state *u, const struct model_step *s)
{
	uint64_t near = recent_words(u, s, near_bytes(u, s));
	uint64_t first = UINT64_MAX, last = 0, when;
	MODEL_EACH_WORD (w, near) {
		when = model_when(s->line->when[w], s->ev->num);
		first = when < first ? when : first;
		last = when > last ? when : last;
	}
	/* What was stored between two of these belongs to them: compilers mix statements, and then say of a
	 * store that it is in another inlined function. */
	for (int w = 0; w < MODEL_WORDS; w++) {
		when = model_when(s->line->when[w], s->ev->num);
		if (when > first && when < last && !was_passed_by(u->check, s, (unsigned)w))
			near |= s->mask & 0xffull << (w * 8);
	}
	return near;
}

/* Those of a line's words that non-temporal stores wrote, which need no flush, and not to allocate. */
static uint64_t streamed_words(struct check *c, const struct model_step *s, uint64_t *all)
{
	uint64_t meant = 0;
	MODEL_EACH_WORD (w, s->mask) {
		uint64_t word = s->mask & 0xffull << (w * 8);
		model_where store = s->line->store[w];
		if (model_place(c->model, store)->class != TRACE_SITE_NT_STORE)
			continue;
		*all |= word;
		meant |= check_persister(c, store) == CHECK_BY_ALLOCATOR ? 0 : word;
	}
	return meant;
}

/* What libpmemobj stores, and what the program has stored since its newest fence: the flush may be known to cover it. */
static uint64_t linked_words(struct oracle_state *u, const struct model_step *s)
{
	uint64_t linked = 0;
	MODEL_EACH_WORD (w, s->mask)
		if (check_by_pmdk(u->check, s->line->store[w]) || !was_passed_by(u->check, s, w))
			linked |= s->mask & 0xffull << (w * 8);
	return linked;
}

uint64_t check_purpose(struct oracle_state *u, const struct model_step *s)
{
	const struct model_line *l = s->line;
	uint64_t streamed = 0, meant;
	if (s->ev->kind != TRACE_FENCE && s->ev->kind != TRACE_FLUSH)
		return s->mask; /* a file is synchronised */
	meant = streamed_words(u->check, s, &streamed);
	if (s->mask == streamed)
		return meant;
	enum check_persister by =
		l->flush_when ? check_persister(u->check, l->flush) : CHECK_BY_LIBRARY;
	uint64_t flushed =
		by == CHECK_BY_LIBRARY ? s->mask
		: by == CHECK_BY_PROGRAM && check_is_alone(l) && has_one_writer(u->check, s)
			? s->mask
		: by == CHECK_BY_PROGRAM ? near_words(u, s)
		: by == CHECK_BY_LINK    ? linked_words(u, s)
					 : 0;
	if (by == CHECK_BY_PROGRAM && flushed & check_asked_bytes(u->check, l))
		flushed &= check_asked_bytes(u->check, l);
	return meant | (flushed & ~streamed);
}

const struct srcloc_frame *check_by_chance(struct oracle_state *u, const struct srcloc_frame *at)
{
	for (model_where w = 0; w < model_places(u->check->model); w++) {
		const uint32_t *t = oracle_tally(u, w);
		if (t[PERSISTED] || !(t[BY_CHANCE] || t[STRAY]))
			continue;
		const struct srcloc_frame *store = finding_main_frame(check_place(u->check, w));
		if (store && check_same_function(at, store))
			return store;
	}
	return NULL;
}

bool check_is_stray(struct oracle_state *u, const struct model_step *s, unsigned w,
		    uint64_t purpose)
{
	const struct model_line *l = s->line;
	enum check_persister by =
		l->flush_when ? check_persister(u->check, l->flush) : CHECK_BY_LIBRARY;
	return purpose && (by == CHECK_BY_PROGRAM || by == CHECK_BY_LINK) &&
	       (was_passed_by(u->check, s, w) || (oracle_tally(u, l->store[w])[LINKS] &&
						  check_near_after(u, l->store[w], l->flush))) &&
	       !check_by_pmdk(u->check, l->store[w]);
}

/* The flush is made in the very function that stores, or, if nothing waits for it there, on behalf of that. */
static bool may_be_meant(struct check *c, const struct pair *p, bool awaited)
{
	if (!check_shares_path(c, p->a, p->b))
		return false;
	size_t n;
	const struct srcloc_frame *f = check_author(c, p->a, &n);
	const struct srcloc_frame *g = finding_main_frame(check_place(c, p->b));
	return !awaited || !f || !g || check_same_function(f, g);
}

bool check_was_forgotten(struct oracle_state *u, const struct check_group *g, bool awaited)
{
	const uint32_t *author = u->check->author.p;
	if (awaited && g->tally[STRAY])
		return true; /* that others lie in lines which its function flushes next is luck */
	if (g->tally[PERSISTED] || g->tally[BY_CHANCE])
		return false;
	if (g->tally[UNASKED] && g->tally[UNASKED] >= g->tally[STRAY] && g->k.extra &&
	    !check_is_seldom(u, u->check->statement.p[g->k.where]))
		return true;
	if (g->tally[STRAY] && g->tally[LEFT] >= g->tally[STRAY])
		return true;
	for (size_t i = 0; i < u->pairs.v.n; i++) {
		const struct pair *p = &u->pairs.v.p[i];
		if (author[p->a] != author[g->k.where])
			continue;
		if (p->near == CHECK_NEAR_AFTER && g->tally[LINKS])
			continue; /* … in the next call */
		if (may_be_meant(u->check, p, awaited))
			return false;
	}
	return true;
}
