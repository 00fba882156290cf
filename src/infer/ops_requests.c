/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that are requests: what the program does from when it was asked until it answers.
 *
 *	input "put 1 2\nput 3 4\n"     changes ── output "ok\n"     changes ── output "ok\n"     input: the end
 *	                               ╰── operation 1 ──╯          ╰── operation 2 ──╯
 *
 * One read may bring many requests. That an answer belongs to one of them is believed if there are about as many
 * answers as there are packets from sockets, or lines from files, pipes and terminals: within a factor of two. A
 * program that only says now and then how far it is has no requests. What is said after the end of the input answers
 * nothing. Requests that change nothing are operations, too: each line has one.
 */
#include <stdlib.h>
#include <string.h>

#include "infer/internal.h"
#include "infer/walk.h"

#define EVERY UINT32_MAX /* thread */

/* What a thread, or all of them, have done since it last said something. */
struct doing {
	uint64_t begin, end;
	bool changes;
};

/* What was done for an answer: by the thread that answers, and by all threads of its process. */
struct done {
	struct doing own, all;
};

struct requests {
	struct infer_ops *ops;
	struct hmap at; /* process and thread -> doing; a process's own has EVERY thread */
	VEC(struct doing) doing;
	VEC(struct done) done; /* by operation */
	bool asked, changes;
	uint64_t answerer; /* process and thread that answers, … */
	bool several;      /* … or is it more than one? */
	uint64_t lines, packets, answers;
	VEC(char) text; /* all lines */
	char *packet;   /* the newest */
	bool partial;   /* some of the text is missing */
};

static size_t doing_of(struct requests *r, uint32_t process, uint32_t thread)
{
	uint64_t key = (uint64_t)process << 32 | thread, i;
	if (!hmap_get(&r->at, key, &i)) {
		hmap_put(&r->at, key, i = r->doing.n);
		VEC_PUSH(&r->doing, (struct doing){ 0 });
	}
	return i;
}

static char *first_line(const uint8_t *p, size_t n)
{
	const uint8_t *end = n ? memchr(p, '\n', n) : NULL;
	n = end ? (size_t)(end - p) : n;
	return xasprintf("%.*s", (int)(n && p[n - 1] == '\r' ? n - 1 : n), (const char *)p);
}

static void input(struct requests *r, const struct trace_event *e)
{
	r->asked = e->arg[1] != 0;
	if (e->arg[3]) {
		r->packets += r->asked;
		free(r->packet);
		r->packet = first_line(e->data, e->size);
		return;
	}
	r->lines += e->arg[2];
	r->partial |= e->size < e->arg[1];
	for (uint32_t i = 0; i < e->size && !r->partial; i++)
		VEC_PUSH(&r->text, (char)e->data[i]);
}

static void output(struct requests *r, const struct trace_event *e)
{
	size_t own = doing_of(r, e->process, e->thread), all = doing_of(r, e->process, EVERY);
	uint64_t who = (uint64_t)e->process << 32 | e->thread;
	r->several |= r->answerer && r->answerer != who + 1;
	r->answerer = who + 1;
	if (r->asked) {
		r->answers++;
		struct infer_op op = { .said = e->num,
				       .process = e->process,
				       .thread = e->thread,
				       .input = r->packet ? xstrdup(r->packet) : NULL,
				       .output = first_line(e->data, e->size) };
		VEC_PUSH(&r->ops->op, op);
		VEC_PUSH(&r->done, ((struct done){ r->doing.p[own], r->doing.p[all] }));
	}
	r->doing.p[own] = r->doing.p[all] = (struct doing){ 0 };
}

static void note(struct doing *d, uint64_t event, bool changes)
{
	d->begin = d->begin ? d->begin : event;
	d->end = event;
	d->changes |= changes;
}

static void act(struct requests *r, const struct trace_event *e)
{
	bool changes = infer_changes(e);
	if (!r->asked || (!changes && !infer_persists(e)))
		return;
	size_t own = doing_of(r, e->process, e->thread), all = doing_of(r, e->process, EVERY);
	note(&r->doing.p[own], e->num, changes);
	note(&r->doing.p[all], e->num, changes);
}

/* Each operation gets what was done for it: where one thread answers, all others work for it. */
static void give_spans(struct requests *r)
{
	for (size_t i = 0; i < r->ops->op.n; i++) {
		struct infer_op *op = &r->ops->op.p[i];
		const struct doing *d = r->several ? &r->done.p[i].own : &r->done.p[i].all;
		op->begin = d->changes ? d->begin : op->said;
		op->end = d->changes ? d->end : op->said;
		r->changes |= d->changes;
	}
}

static bool about(uint64_t answers, uint64_t requests)
{
	return answers && requests && answers <= 2 * requests && requests <= 2 * answers;
}

/* The lines that were answered, in order: all, or all but the blank ones and those that begin with '#', whichever are as
 * many as the answers. Each operation gets its own. */
static void give_lines(struct requests *r)
{
	VEC(char *) line = { 0 };
	uint64_t all = 0;
	VEC_PUSH(&r->text, '\0');
	for (char *p = r->text.p; *p; p += strcspn(p, "\n"), p += *p == '\n', all++)
		if (*p != '\n' && *p != '\r' && *p != '#')
			VEC_PUSH(&line, p);
	if (all == r->answers && all != line.n) {
		line.n = 0;
		for (char *p = r->text.p; *p; p += strcspn(p, "\n"), p += *p == '\n')
			VEC_PUSH(&line, p);
	}
	for (size_t i = 0; line.n == r->answers && i < r->ops->op.n; i++) {
		const char *p = line.p[i];
		r->ops->op.p[i].input = first_line((const uint8_t *)p, strlen(p));
	}
	VEC_FREE(&line);
}

/* Named after the first word that was asked. */
static void give_names(struct infer_ops *ops)
{
	for (size_t i = 0; i < ops->op.n; i++) {
		struct infer_op *op = &ops->op.p[i];
		char *word = xasprintf("%.*s", op->input ? (int)strcspn(op->input, " \t") : 0,
				       op->input ? op->input : "");
		op->name = infer_ops_name(ops, word, INFER_NAMES); /* many are no words, but data */
		free(word);
	}
}

int infer_ops_requests(struct infer_ops *ops, struct trace_reader *reader,
		       const struct infer_ops_opts *opts, struct err *err)
{
	struct requests r = { .ops = ops };
	struct trace_event e;
	struct err ignored = { 0 }; /* a damaged trace is read as far as it goes */
	(void)opts;
	(void)err;
	while (trace_next(reader, &e, &ignored) == 1) {
		if (e.kind == TRACE_INPUT)
			input(&r, &e);
		else if (e.kind == TRACE_OUTPUT)
			output(&r, &e);
		else
			act(&r, &e);
	}
	give_spans(&r);
	if (!r.partial && !r.packets && about(r.answers, r.lines))
		give_lines(&r);
	if (!r.changes || (!about(r.answers, r.packets) && !about(r.answers, r.lines)))
		infer_ops_forget(ops);
	give_names(ops);
	VEC_FREE(&r.doing);
	VEC_FREE(&r.done);
	VEC_FREE(&r.text);
	hmap_free(&r.at);
	free(r.packet);
	return 0;
}
