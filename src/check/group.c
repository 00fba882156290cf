/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Causes by statement. While events go by, an oracle counts by place, which is an instruction in
 * its calling context: cheap, and exact. People think in statements. So before it reports, what
 * belongs to one statement is added up: the causes of a kind, and the counters of its places.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "check/internal.h"

/* Statements are told apart by file and line of the main frame; without source, by address. */
static uint64_t statement_key(const struct srcloc_frame *f)
{
	if (!f)
		return 0;
	return f->file && f->line ? hash_mix((uintptr_t)f->file, f->line)
				  : hash_mix((uintptr_t)f->module, f->offset + 1);
}

/* The innermost frames of the program that are helpers'. */
static struct srcloc_frame *helper_frames(struct check *c, model_where w, size_t *n)
{
	const struct finding_place *p = check_place(c, w);
	size_t i = 0;
	while (i < p->n && finding_is_library(&p->frame[i]))
		i++;
	for (*n = 0; i + *n < p->n && p->frame[i + *n].helper;)
		++*n;
	return &p->frame[i];
}

/* What is known of a statement in a helper. */
struct blame {
	struct hmap useful;  /* it was of use, for some caller */
	struct hmap caller;  /* one of those that use the helper */
	struct hmap several; /* there are others */
};

static void note_blame(struct check *c, struct blame *b, model_where w, bool useful)
{
	uint64_t from = statement_key(finding_main_frame(check_place(c, w))), old;
	size_t n;
	struct srcloc_frame *f = helper_frames(c, w, &n);
	for (size_t i = 0; i < n; i++) {
		uint64_t key = statement_key(&f[i]);
		if (useful)
			hmap_put(&b->useful, key, 1);
		if (hmap_get(&b->caller, key, &old) && old != from)
			hmap_put(&b->several, key, 1);
		hmap_put(&b->caller, key, from);
	}
}

static void put_blame(struct check *c, const struct blame *b, model_where w)
{
	uint64_t old;
	size_t n;
	struct srcloc_frame *f = helper_frames(c, w, &n);
	for (size_t i = 0; i < n; i++) {
		uint64_t key = statement_key(&f[i]);
		if (!hmap_get(&b->useful, key, &old) && hmap_get(&b->several, key, &old)) {
			f[i].helper = false;
			return;
		}
	}
}

/*
 * Where a helper's own instruction is in vain whoever calls it, the reason lies in the helper, and one
 * finding there says it all: its frame is no longer passed over. Several callers must show it.
 */
static void blame_helpers(struct check *c, const struct oracle_state *o)
{
	struct blame b = { 0 };
	for (int pass = 0; pass < 2; pass++)
		for (model_where w = 0; w < o->tally.n / TALLY; w++) {
			const uint32_t *t = o->tally.p + (size_t)w * TALLY;
			uint32_t any = 0;
			for (size_t i = 0; i < TALLY; i++)
				any |= t[i];
			if (!any)
				continue;
			if (pass)
				put_blame(c, &b, w);
			else
				note_blame(c, &b, w, t[0] != 0);
		}
	hmap_free(&b.useful);
	hmap_free(&b.caller);
	hmap_free(&b.several);
}

/* ---- setters ---- */

#define ABOVE 4u /* functions above a flush or a fence that have to do with it */

/* The function stores with this statement; 0: it does something else as well. */
static void note_function(struct hmap *setters, const struct srcloc_frame *f, uint32_t statement)
{
	uint64_t key = check_function_key(f), old;
	bool other = hmap_get(setters, key, &old) && old != statement;
	hmap_put(setters, key, other ? 0 : statement);
}

static void note_setters(struct check *c, struct hmap *setters)
{
	for (model_where w = 0; w < model_places(c->model); w++) {
		const struct model_place *p = model_place(c->model, w);
		enum finding_act act;
		if (!p->acts || !p->ip || !finding_act_of(p->class, p->stores, &act))
			continue;
		const struct finding_place *at = check_place(c, w);
		const struct srcloc_frame *main = finding_main_frame(at);
		if (!main)
			continue;
		if (act == FINDING_STORES)
			note_function(setters, main, c->statement.p[w]);
		for (size_t i = 0; act != FINDING_STORES && i < at->n && i < ABOVE; i++)
			note_function(setters, &at->frame[i], 0);
	}
}

/* Statements, those of setters once for each that uses them. */
static void number_authors(struct check *c)
{
	struct hmap seen = { 0 };
	c->author.n = 0;
	c->authors = 0;
	for (model_where w = 0; w < model_places(c->model); w++) {
		uint64_t key = hash_mix(c->statement.p[w], c->user.p[w]), number;
		if (!hmap_get(&seen, key, &number))
			hmap_put(&seen, key, number = ++c->authors);
		VEC_PUSH(&c->author, (uint32_t)number);
	}
	hmap_free(&seen);
}

/*
 * A setter does nothing to PM but store with one statement, and its callers flush, or do not: that some of them
 * persist what it stored says nothing of the others. So what is counted for its statement is counted
 * for each statement that calls it.
 */
static void find_users(struct check *c)
{
	struct hmap setters = { 0 };
	note_setters(c, &setters);
	c->user.n = 0;
	for (model_where w = 0; w < model_places(c->model); w++) {
		bool acts = model_place(c->model, w)->acts;
		const struct finding_place *at = acts ? check_place(c, w) : NULL;
		const struct srcloc_frame *f = at ? finding_main_frame(at) : NULL;
		uint64_t statement = 0, user = 0;
		if (f && hmap_get(&setters, check_function_key(f), &statement) &&
		    statement == c->statement.p[w])
			while (!user && ++f < at->frame + at->n)
				user = finding_is_library(f) ? 0 : statement_key(f);
		VEC_PUSH(&c->user, user);
	}
	hmap_free(&setters);
	number_authors(c);
}

const struct srcloc_frame *check_author(struct check *c, model_where w, size_t *n)
{
	const struct finding_place *p = check_place(c, w);
	const struct srcloc_frame *f = finding_main_frame(p), *end = p->frame + p->n;
	if (f && c->user.p[w])
		do
			f++;
		while (f < end && finding_is_library(f));
	*n = f ? (size_t)(end - f) : 0;
	return f;
}

void check_statements(struct check *c)
{
	struct hmap seen = { 0 };
	for (size_t i = 0; check_oracles[i]; i++)
		if (check_oracles[i]->blames_helpers)
			blame_helpers(c, &c->state[i]);
	c->statement.n = 0;
	c->statements = 0;
	for (model_where w = 0; w < model_places(c->model); w++) {
		if (!model_place(c->model, w)->acts) { /* nothing is said of it */
			VEC_PUSH(&c->statement, 0);
			continue;
		}
		uint64_t key = statement_key(finding_main_frame(check_place(c, w))), number;
		if (!hmap_get(&seen, key, &number))
			hmap_put(&seen, key, number = ++c->statements);
		VEC_PUSH(&c->statement, (uint32_t)number);
	}
	hmap_free(&seen);
	find_users(c);
}

uint32_t *check_tallies(const struct oracle_state *o, const uint32_t *number, uint32_t most)
{
	uint32_t *sum = xcalloc((size_t)most + 1, TALLY * sizeof *sum);
	for (size_t w = 0; w < o->tally.n / TALLY; w++)
		for (size_t i = 0; i < TALLY; i++)
			sum[number[w] * TALLY + i] += o->tally.p[w * TALLY + i];
	return sum;
}

uint64_t check_tallied(const struct oracle_state *o, uint32_t statement, unsigned which)
{
	uint64_t sum = 0;
	for (size_t w = 0; w < o->tally.n / TALLY; w++)
		sum += o->check->statement.p[w] == statement ? o->tally.p[w * TALLY + which] : 0;
	return sum;
}

/* Of a setter's statement only what its guilty callers did counts. */
static void tally_users(const struct oracle_state *o, struct check_group *g)
{
	const struct check *c = o->check;
	if (!c->user.p[g->k.where])
		return;
	memset(g->tally, 0, sizeof g->tally);
	for (model_where w = 0; w < o->tally.n / TALLY; w++) {
		bool mine = false;
		for (size_t i = 0;
		     i < g->member.n && c->statement.p[w] == c->statement.p[g->k.where]; i++)
			mine |= c->user.p[w] == c->user.p[g->member.p[i].where];
		for (size_t i = 0; mine && i < TALLY; i++)
			g->tally[i] += o->tally.p[(size_t)w * TALLY + i];
	}
}

static void add_cause(struct check_group *g, const struct cause *k)
{
	struct check_member member = { k->where, k->count };
	uint64_t count = g->k.count + k->count, extra = g->k.extra + k->extra;
	uint64_t runtime = g->k.runtime + k->runtime, fenced = g->k.fenced + k->fenced;
	uint64_t blocks = g->k.blocks + k->blocks, whole = g->k.whole + k->whole;
	uint64_t once = g->k.once + k->once, wanted = g->k.wanted + k->wanted;
	bool elsewhere = g->k.elsewhere | k->elsewhere |
			 (g->member.n && (g->k.key != k->key || g->k.byte / 8 != k->byte / 8));
	if (!g->member.n || (k->extra && !g->k.extra) ||
	    (!k->extra == !g->k.extra && k->event < g->k.event))
		g->k = *k;
	g->k.count = count;
	g->k.extra = extra;
	g->k.runtime = runtime;
	g->k.fenced = fenced;
	g->k.blocks = blocks;
	g->k.whole = whole;
	g->k.once = once;
	g->k.wanted = wanted;
	g->k.elsewhere = elsewhere;
	g->most = k->extra > g->most ? k->extra : g->most;
	VEC_PUSH(&g->member, member);
}

/* What is persistent by chance, or overwritten, is judged by what else is done with it: for each user of a setter. */
static uint64_t group_key(const struct check *c, const struct cause *k)
{
	bool by_user = k->kind == FINDING_LATE_PERSIST || k->kind == FINDING_DIRTY_OVERWRITE;
	return (uint64_t)k->kind << 32 | (by_user ? c->author.p : c->statement.p)[k->where];
}

check_groups check_group(struct oracle_state *o)
{
	check_groups groups = { 0 };
	struct hmap at = { 0 };
	uint32_t *tally = check_tallies(o, o->check->statement.p, o->check->statements);
	for (size_t i = 0; i < o->causes.v.n; i++) {
		const struct cause *k = o->causes.v.p[i];
		uint32_t statement = o->check->statement.p[k->where];
		uint64_t key = group_key(o->check, k), n;
		if (!hmap_get(&at, key, &n)) {
			struct check_group new = { .k.kind = k->kind };
			memcpy(new.tally, tally + statement * TALLY, sizeof new.tally);
			hmap_put(&at, key, n = groups.n);
			VEC_PUSH(&groups, new);
		}
		add_cause(&groups.p[n], k);
	}
	for (size_t i = 0; i < groups.n; i++)
		tally_users(o, &groups.p[i]);
	hmap_free(&at);
	free(tally);
	return groups;
}

void check_groups_free(check_groups *groups)
{
	for (size_t i = 0; i < groups->n; i++)
		VEC_FREE(&groups->p[i].member);
	VEC_FREE(groups);
}

struct finding *check_group_finding(struct check *c, const struct check_group *g, const char *fmt,
				    ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	struct finding *f = check_cause_finding(c, &g->k, "%s", text);
	for (size_t i = 0; i < g->member.n; i++)
		finding_add_path(f, check_place(c, g->member.p[i].where), g->member.p[i].count);
	return f;
}

const char *check_count_text(uint64_t vain, uint64_t all, const char *what, char *buf, size_t size)
{
	if (all == 1)
		snprintf(buf, size, "it is");
	else if (vain == all)
		snprintf(buf, size, "all %" PRIu64 " %s here are", all, what);
	else
		snprintf(buf, size, "%" PRIu64 " of %" PRIu64 " %s here are", vain, all, what);
	return buf;
}
