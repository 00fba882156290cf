/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that are all that is done up to an answer, where no call is one.
 *
 *	for (;;) {
 *		if (full)
 *			grow();          a call that is made again and again, but is no operation
 *		r->key = …;              the work, inlined, or done by a child process
 *		msync(…);
 *		printf("added\n");       the answer, always by the same call path
 *	}
 *
 * Evidence: the same statement says something again and again, each time after a change, so often that it says so more often than
 * not without any call that would be taken otherwise (ops_inferred.c), or these calls are only steps on the way to it (steps.c). Who
 * only says how far it is does that in several statements.
 *
 * Whoever forks a child for each piece of work has it answer at the same addresses each time: which process that is plays no part.
 *
 * Nothing tells opening from the first operation where it is in the same stretch: where a file is made, or PM is mapped, before the first
 * answer, that one is none.
 */
#include <stdlib.h>
#include <string.h>

#include "infer/internal.h"
#include "infer/walk.h"

#define FEWEST 3u /* answers behind changes */

/* What is said by one call path. */
struct speaker {
	uint64_t answers; /* behind changes that nobody has answered */
};

struct answers {
	struct infer_ops *ops;
	const struct trace_defs *defs;
	struct hmap at; /* call path -> speaker */
	VEC(struct speaker) speaker;
	bool changes; /* since anything was said */
	bool opens;   /* before the first answer */
	uint64_t begin, end;
};

/* Numbers of sites and of calls are those of a process; addresses are the same in those that it forks. */
static uint64_t speaks(const struct answers *a, const struct trace_event *e)
{
	const struct trace_site_def *site = trace_site(a->defs, e->process, e->site);
	uint64_t path = site ? site->ip : e->site;
	for (uint32_t at = e->ctx; at >= TRACE_CTX_FIRST;) {
		const struct trace_ctx_def *d = trace_ctx(a->defs, e->process, at);
		path = hash_mix(path, d ? d->call_ip : at);
		at = d ? d->parent : 0;
	}
	return path;
}

static void look(struct answers *a, const struct trace_event *e)
{
	uint64_t i;
	a->changes |= infer_changes(e);
	if (e->kind != TRACE_OUTPUT || !a->changes)
		return;
	uint64_t path = speaks(a, e);
	if (!hmap_get(&a->at, path, &i)) {
		hmap_put(&a->at, path, i = a->speaker.n);
		VEC_PUSH(&a->speaker, ((struct speaker){ 0 }));
	}
	a->speaker.p[i].answers++;
	a->changes = false;
}

static size_t best_of(const struct answers *a)
{
	size_t best = 0;
	for (size_t i = 1; i < a->speaker.n; i++)
		if (a->speaker.p[i].answers > a->speaker.p[best].answers)
			best = i;
	return best;
}

/* Up to an answer of this speaker. */
static void take(struct answers *a, size_t speaker, const struct trace_event *e)
{
	uint64_t i;
	if (infer_changes(e) || (a->changes && infer_persists(e))) {
		a->begin = a->changes ? a->begin : e->num;
		a->end = e->num;
		a->changes = true;
	}
	if (!a->ops->op.n && (e->kind == TRACE_NODE_NEW || e->kind == TRACE_MAP))
		a->opens = true;
	if (e->kind != TRACE_OUTPUT || !a->changes || !hmap_get(&a->at, speaks(a, e), &i) ||
	    i != speaker)
		return;
	VEC_PUSH(&a->ops->op, ((struct infer_op){ .begin = a->begin,
						  .end = a->end,
						  .said = e->num,
						  .process = e->process,
						  .thread = e->thread }));
	a->changes = false;
}

static int take_all(struct answers *a, struct trace_reader *reader, struct err *err)
{
	struct trace_event e;
	struct err ignored = { 0 }; /* a damaged trace is read as far as it goes */
	size_t best = best_of(a);
	if (!a->speaker.n || a->speaker.p[best].answers < FEWEST)
		return 0;
	if (trace_seek(reader, 0, err))
		return -1;
	a->changes = false;
	while (trace_next(reader, &e, &ignored) == 1)
		take(a, best, &e);
	if (a->opens && a->ops->op.n)
		memmove(a->ops->op.p, a->ops->op.p + 1, --a->ops->op.n * sizeof *a->ops->op.p);
	return 0;
}

/* Most of these have no call of the others in them. */
static bool most_without(const struct infer_ops *ops, const struct infer_ops *calls)
{
	size_t without = 0;
	for (size_t i = 0; i < ops->op.n; i++) {
		const struct infer_op *op = &ops->op.p[i];
		size_t k = 0;
		while (k < calls->op.n &&
		       (calls->op.p[k].begin > op->said || calls->op.p[k].end < op->begin))
			k++;
		without += k == calls->op.n;
	}
	return 2 * without > ops->op.n;
}

static int better(struct infer_ops *ops, struct trace_reader *reader,
		  const struct infer_ops_opts *opts, struct err *err)
{
	struct infer_ops calls = { 0 };
	int failed = infer_ops_by(infer_ops_inferred, &calls, reader, opts, err);
	int good = failed ? -1 : most_without(ops, &calls);
	if (!good)
		good = infer_ops_are_steps(&calls, ops, reader, err);
	if (!good)
		infer_ops_forget(ops);
	failed = failed || good < 0 ? -1 : 0;
	infer_ops_drop(&calls);
	return failed;
}

int infer_ops_answers(struct infer_ops *ops, struct trace_reader *reader,
		      const struct infer_ops_opts *opts, struct err *err)
{
	struct answers a = { .ops = ops, .defs = trace_defs(reader) };
	struct trace_event e;
	struct err ignored = { 0 };
	int failed;
	while (trace_next(reader, &e, &ignored) == 1)
		look(&a, &e);
	failed = take_all(&a, reader, err);
	if (!failed && ops->op.n && !opts->way)
		failed = better(ops, reader, opts, err);
	VEC_FREE(&a.speaker);
	hmap_free(&a.at);
	return failed;
}
