/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Are calls operations, or only steps of one? Where the function that does the work was inlined into the loop that repeats it, calls that it makes
 * look like calls of the loop:
 *
 *	for (;;) {
 *		write_text(tmp);            changes by one statement of it
 *		fsync(fd);
 *		rename(tmp, name);          changes by itself
 *		fsync(folder);
 *		printf("saved\n");          the answer
 *	}
 *
 * They are steps if most of what is answered takes several of them, each from a place of its own and of a kind of its own: another function, or
 * the system's. A program that does many operations, and then says how many, calls the same function for each. And a step changes files by one
 * statement alone, so that there is nothing about it that could have happened in part; what changes them by several is a piece of work.
 */
#include <stdlib.h>

#include "infer/internal.h"
#include "infer/walk.h"

/* What a call does to files. */
struct step {
	bool changes, several; /* by several statements */
	bool system;           /* what it calls is what does it: a function of the system's */
	uint32_t site, ctx;
};

static void note(struct step *s, const struct infer_op *call, const struct trace_event *e,
		 const struct trace_defs *defs)
{
	const struct trace_ctx_def *d =
		e->ctx >= TRACE_CTX_FIRST ? trace_ctx(defs, e->process, e->ctx) : NULL;
	s->several |= s->changes && (s->site != e->site || s->ctx != e->ctx);
	s->system = !s->changes && d && d->call_ip == call->site && d->target == call->target;
	s->changes = true;
	s->site = e->site;
	s->ctx = e->ctx;
}

/* One pass over the run. Calls are in the order of begins; those of one thread do not overlap. */
static void look(struct step *step, const struct infer_ops *calls, struct trace_reader *r)
{
	struct trace_event e;
	struct err ignored = { 0 }; /* a damaged trace is read as far as it goes */
	struct hmap now = { 0 };    /* process and thread -> call */
	size_t next = 0;
	while (trace_next(r, &e, &ignored) == 1) {
		uint64_t k;
		for (; next < calls->op.n && calls->op.p[next].begin <= e.num; next++)
			hmap_put(&now,
				 (uint64_t)calls->op.p[next].process << 32 |
					 calls->op.p[next].thread,
				 next);
		if (infer_changes(&e) && hmap_get(&now, (uint64_t)e.process << 32 | e.thread, &k) &&
		    e.num <= calls->op.p[k].end)
			note(&step[k], &calls->op.p[k], &e, trace_defs(r));
	}
	hmap_free(&now);
}

static bool alike(const struct infer_op *a, const struct step *x, const struct infer_op *b,
		  const struct step *y)
{
	return a->site == b->site || (a->target == b->target && !(x->system && y->system));
}

#define MOST_STEPS 32u

/* All calls in what is answered are steps, two or more. */
static bool has_steps(const struct infer_op *op, const struct infer_ops *calls,
		      const struct step *step)
{
	const struct infer_op *c = calls->op.p;
	size_t n = calls->op.n, from = BISECT(i, n, c[i].begin < op->begin), to = from;
	while (to < n && c[to].begin <= op->said)
		to++;
	if (to - from < 2 || to - from > MOST_STEPS)
		return false;
	for (size_t i = from; i < to; i++) {
		if (step[i].several || !c[i].site)
			return false;
		for (size_t k = from; k < i; k++)
			if (alike(&c[i], &step[i], &c[k], &step[k]))
				return false;
	}
	return true;
}

static int by_begin(const void *a, const void *b)
{
	const struct infer_op *x = a, *y = b;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

int infer_ops_are_steps(const struct infer_ops *calls, const struct infer_ops *of,
			struct trace_reader *r, struct err *err)
{
	struct step *step = xcalloc(calls->op.n + 1, sizeof *step);
	size_t with = 0;
	int failed = trace_seek(r, 0, err);
	if (!failed && calls->op.n) {
		qsort(calls->op.p, calls->op.n, sizeof *calls->op.p, by_begin);
		look(step, calls, r);
	}
	for (size_t i = 0; !failed && i < of->op.n; i++)
		with += has_steps(&of->op.p[i], calls, step);
	free(step);
	return failed ? -1 : 2 * with > of->op.n;
}
