/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What becomes of the stores at each place of the program. The model tells when a line is persisted or goes out of
 * sight; a list for each line has who stored to it since:
 *
 *	line   ──▶ [update, 3 times] ──▶ [init, once]      persisted: all of these were; the list starts anew
 *
 * A store that is overwritten before its line is persisted counts as persisted then: nobody is missing a flush.
 */
#include <stdlib.h>
#include <string.h>

#include "infer/infer.h"

#define NONE UINT32_MAX

struct since {
	model_where where;
	uint32_t next; /* of the same line; NONE: the last */
	uint64_t mask, n;
};

struct row {
	uint32_t process, site, ctx;
	uint64_t ip;
	struct infer_uses uses;
	struct infer_at *at; /* innermost first, without the libraries' frames */
	size_t n;
};

struct infer_profile {
	VEC(struct row) row;
	struct hmap row_at; /* process, site and ctx -> row */
	bool counted;
	/* while reading */
	struct model *model;
	struct srcloc_trace *src;
	VEC(uint32_t) of_place; /* by model_where: row, plus one */
	VEC(struct since) since;
	struct hmap line; /* key of a line -> its first */
};

static uint32_t row_of(struct infer_profile *p, uint32_t process, uint32_t site, uint32_t ctx,
		       uint64_t ip)
{
	uint64_t key = hash_mix((uint64_t)site << 32 | ctx, process), i;
	if (!hmap_get(&p->row_at, key, &i)) {
		struct row new = { .process = process, .site = site, .ctx = ctx, .ip = ip };
		hmap_put(&p->row_at, key, i = p->row.n);
		VEC_PUSH(&p->row, new);
	}
	return (uint32_t)i;
}

static struct row *row_of_place(struct infer_profile *p, model_where where)
{
	while (p->of_place.n <= where)
		VEC_PUSH(&p->of_place, 0);
	if (!p->of_place.p[where]) {
		const struct model_place *at = model_place(p->model, where);
		p->of_place.p[where] = 1 + row_of(p, at->process, at->site, at->ctx, at->ip);
	}
	return &p->row.p[p->of_place.p[where] - 1];
}

/* ---- what the model tells ---- */

static void on_store(void *arg, const struct model_step *s)
{
	struct infer_profile *p = arg;
	uint64_t first = NONE;
	if (!s->line || s->ev->kind != TRACE_STORE)
		return;
	hmap_get(&p->line, s->line->key, &first);
	uint32_t i = (uint32_t)first;
	while (i != NONE && p->since.p[i].where != s->where)
		i = p->since.p[i].next;
	if (i == NONE) {
		i = (uint32_t)p->since.n;
		VEC_PUSH(&p->since, ((struct since){ .where = s->where, .next = (uint32_t)first }));
		hmap_put(&p->line, s->line->key, i);
	}
	p->since.p[i].mask |= s->mask;
	p->since.p[i].n++;
}

static void count(struct infer_profile *p, const struct model_step *s, uint64_t mask, bool lost)
{
	uint64_t i;
	if (!s->line || !hmap_get(&p->line, s->line->key, &i))
		return;
	for (; i != NONE; i = p->since.p[i].next) {
		struct since *e = &p->since.p[i];
		if (!(e->mask & mask))
			continue;
		struct infer_uses *u = &row_of_place(p, e->where)->uses;
		*(lost ? &u->lost : &u->persisted) += e->n;
		e->n = e->mask = 0;
	}
}

static void on_persist(void *arg, const struct model_step *s)
{
	count(arg, s, s->mask, false);
}

static void on_gone(void *arg, const struct model_step *s)
{
	count(arg, s, s->line ? s->line->open : 0, true);
}

/* ---- places ---- */

/* As findings have them. */
static void locate(struct infer_profile *p, struct row *r)
{
	struct finding_place path =
		finding_place_copy(srcloc_path_to_main(p->src, r->process, r->ip, r->ctx));
	r->at = xcalloc(path.n ? path.n : 1, sizeof *r->at);
	for (size_t i = 0; i < path.n; i++) {
		const struct srcloc_frame *f = &path.frame[i];
		if (!finding_is_library(f))
			r->at[r->n++] = (struct infer_at){ f->function, f->file, f->line };
	}
	free(path.frame);
}

static void take(struct infer_profile *p, const struct trace_event *e)
{
	if (e->kind != TRACE_MODULE_UNLOAD)
		srcloc_trace_feed(p->src, e);
	model_feed(p->model, e);
	if (e->kind != TRACE_VOLATILE)
		return;
	p->counted = true;
	if (e->arg[1]) {
		uint32_t i = row_of(p, e->process, e->site, trace_event_ctx(e), e->ip);
		p->row.p[i].uses.elsewhere += e->arg[1];
	}
}

struct infer_profile *infer_profile_read(struct trace_reader *r, const struct model_ops *ops)
{
	struct infer_profile *p = xcalloc(1, sizeof *p);
	struct model_watch w = {
		.arg = p, .store = on_store, .persist = on_persist, .gone = on_gone
	};
	struct trace_event e = { 0 };
	struct err ignored = { 0 };
	p->model = model_new(ops, trace_defs(r), &w);
	p->src = srcloc_trace_new(trace_defs(r));
	if (!trace_seek(r, 0, &ignored))
		while (trace_next(r, &e, &ignored) == 1)
			take(p, &e);
	model_end(p->model, &e);
	for (size_t i = 0; i < p->row.n; i++)
		locate(p, &p->row.p[i]);
	model_free(p->model);
	srcloc_trace_free(p->src);
	VEC_FREE(&p->of_place);
	VEC_FREE(&p->since);
	hmap_free(&p->line);
	return p;
}

void infer_profile_free(struct infer_profile *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->row.n; i++)
		free(p->row.p[i].at);
	VEC_FREE(&p->row);
	hmap_free(&p->row_at);
	free(p);
}

/* ---- questions ---- */

bool infer_profile_counted(const struct infer_profile *p)
{
	return p->counted;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool is_at(const struct infer_at *a, const struct infer_at *b)
{
	return a->line == b->line && same_text(a->file, b->file) &&
	       same_text(a->function, b->function);
}

/* The path's innermost place may be above the row's: what a helper stores is its caller's. */
static bool came_by(const struct row *r, const struct infer_at *path, size_t n)
{
	size_t from = 0, i = 0;
	while (from < r->n && !is_at(&r->at[from], &path[0]))
		from++;
	while (i < n && from + i < r->n && is_at(&r->at[from + i], &path[i]))
		i++;
	return i == n;
}

struct infer_uses infer_profile_uses(const struct infer_profile *p, const struct infer_at *path,
				     size_t n)
{
	struct infer_uses u = { 0 };
	for (size_t i = 0; n && i < p->row.n; i++) {
		const struct row *r = &p->row.p[i];
		if (!came_by(r, path, n))
			continue;
		u.lost += r->uses.lost;
		u.persisted += r->uses.persisted;
		u.elsewhere += r->uses.elsewhere;
	}
	return u;
}
