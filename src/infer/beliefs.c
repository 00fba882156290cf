/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From dependences between words to beliefs about statements.
 *
 * A dependence of words X and Y is one of each statement that stores to X and each that stores to Y; which of
 * these ever store in one operation, and in which order, is counted in a second pass (support.c).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "infer/internal.h"

/* ---- from words to statements ---- */

struct lift {
	struct infer_beliefs *b;
	struct hmap at;       /* rule and statements -> belief */
	uint64_t *guards;     /* by statement: how often what it stores to is seen to guard */
	uint64_t *guarded_at; /* … an event */
};

static void believe(struct lift *l, enum infer_rule rule, uint32_t first, uint32_t second,
		    uint64_t seen, uint64_t event)
{
	uint64_t key = hash_mix((uint64_t)first << 32 | second, rule), at;
	if (!hmap_get(&l->at, key, &at)) {
		hmap_put(&l->at, key, at = l->b->v.n);
		VEC_PUSH(&l->b->v,
			 ((struct infer_belief){
				 .rule = rule, .first = first, .second = second, .event = event }));
	}
	l->b->v.p[at].seen += seen;
}

static void lift_dependence(struct lift *l, const struct infer_dependence *d)
{
	const struct infer_depend *all = &l->b->depend;
	const struct infer_where *where = l->b->statements.where.p;
	bool swapped = infer_rule(d->rule)->swapped;
	uint64_t first = infer_depend_writers(all, swapped ? d->y : d->x);
	uint64_t second = infer_depend_writers(all, swapped ? d->x : d->y);
	for (uint64_t k = second; k; k = all->writer.p[k - 1].next) {
		uint32_t to = where[all->writer.p[k - 1].where].statement;
		if (d->rule == INFER_RO3) {
			l->guards[to] += d->count;
			l->guarded_at[to] = d->event;
		}
		for (uint64_t i = first; i; i = all->writer.p[i - 1].next) {
			uint32_t from = where[all->writer.p[i - 1].where].statement;
			if (from != to)
				believe(l, d->rule, from, to, d->count, d->event);
		}
	}
}

/* Guardians: any two of them, also two stores of one statement. */
static void lift_guardians(struct lift *l)
{
	size_t n = l->b->statements.v.n;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = i; l->guards[i] && k < n; k++)
			if (l->guards[k])
				believe(l, INFER_RA1, i, k,
					l->guards[i] < l->guards[k] ? l->guards[i] : l->guards[k],
					l->guarded_at[i]);
}

static void lift(struct infer_beliefs *b)
{
	struct lift l = { .b = b };
	l.guards = xcalloc(b->statements.v.n + 1, sizeof *l.guards);
	l.guarded_at = xcalloc(b->statements.v.n + 1, sizeof *l.guarded_at);
	for (size_t i = 0; i < b->depend.v.n; i++)
		lift_dependence(&l, &b->depend.v.p[i]);
	lift_guardians(&l);
	hmap_free(&l.at);
	free(l.guards);
	free(l.guarded_at);
}

/* ---- reading ---- */

static int read_dependences(struct infer_beliefs *b, struct trace_reader *r, struct err *err)
{
	struct trace_event e;
	int more;
	if (trace_seek(r, 0, err))
		return -1;
	while ((more = trace_next(r, &e, err)) == 1) {
		if (b->own_src && e.kind != TRACE_MODULE_UNLOAD)
			srcloc_trace_feed(b->src, &e);
		if (infer_depend_event(&b->depend, &e, err))
			return -1;
	}
	/* a damaged trace is read as far as it goes */
	if (!trace_deps_any(b->depend.deps))
		return err_set(err, EXIT_USAGE,
			       "the recording has no dependences: record the program with --deps");
	return 0;
}

static int by_support(const void *a, const void *b)
{
	const struct infer_belief *x = a, *y = b;
	if (x->held != y->held)
		return x->held > y->held ? -1 : 1;
	if (x->broken != y->broken)
		return x->broken < y->broken ? -1 : 1;
	if (x->seen != y->seen)
		return x->seen > y->seen ? -1 : 1;
	if (x->rule != y->rule)
		return x->rule < y->rule ? -1 : 1;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->second > y->second) - (x->second < y->second);
}

/* Those without a case say nothing: no operation stores at both. */
static void keep_cases(struct infer_beliefs *b)
{
	size_t n = 0;
	for (size_t i = 0; i < b->v.n; i++)
		if (b->v.p[i].held + b->v.p[i].broken)
			b->v.p[n++] = b->v.p[i];
	b->v.n = n;
	if (n)
		qsort(b->v.p, n, sizeof *b->v.p, by_support);
}

struct infer_beliefs *infer_beliefs_read(struct trace_reader *r, const struct infer_ops *ops,
					 const struct model_ops *model, struct srcloc_trace *src,
					 struct err *err)
{
	struct infer_beliefs *b = xcalloc(1, sizeof *b);
	b->own_src = !src;
	b->src = src ? src : srcloc_trace_new(trace_defs(r));
	infer_depend_init(&b->depend, trace_defs(r), ops, &b->statements);
	if (read_dependences(b, r, err))
		return infer_beliefs_free(b), NULL;
	infer_statements_find(&b->statements, trace_defs(r), b->src);
	lift(b);
	if (infer_support(b, r, ops, model, err))
		return infer_beliefs_free(b), NULL;
	keep_cases(b);
	return b;
}

const struct infer_belief *infer_beliefs_all(const struct infer_beliefs *b, size_t *n)
{
	*n = b->v.n;
	return b->v.p;
}

uint32_t infer_statement(const struct infer_beliefs *b, uint32_t process, uint32_t site,
			 uint32_t ctx)
{
	uint32_t where = infer_where_find(&b->statements, process, site, ctx);
	return where == UINT32_MAX ? INFER_NO_STATEMENT : b->statements.where.p[where].statement;
}

const struct finding_place *infer_statement_place(const struct infer_beliefs *b, uint32_t statement)
{
	return &b->statements.v.p[statement].place;
}

const char *infer_beliefs_stale(const struct infer_beliefs *b, size_t i)
{
	return srcloc_trace_stale(b->src, i);
}

void infer_beliefs_free(struct infer_beliefs *b)
{
	if (!b)
		return;
	infer_depend_free(&b->depend);
	infer_statements_free(&b->statements);
	VEC_FREE(&b->v);
	if (b->own_src)
		srcloc_trace_free(b->src);
	free(b);
}
