/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that are whole commands, of a script that is recorded with those whom it starts.
 *
 *	sh            init ── ■ ── end     put a 1 ── ■ ■ ── output ── end     put b 2 ── ■ ── end      ■ a change
 *	                                       ╰─ 1 ─╯                             ╰ 2 ╯
 *
 * Evidence: processes that change something do so one after the other, and most of them do nothing twice, from one place, that would be
 * taken for an operation otherwise: a program that does many in each run is asked for many by each command. Of those that overlap
 * nothing is believed, nor of children that a program forks for its own work. The first is opening where it makes what the others change.
 *
 * A command acknowledges by what it says behind its last change, or by its end if it has said something before that; that
 * one that is silent ends well is no promise.
 */
#include <stdlib.h>
#include <string.h>

#include "infer/internal.h"
#include "infer/walk.h"

/* What a process has done. */
struct command {
	struct infer_op op;
	bool opens;  /* it made a file, or mapped one */
	bool speaks; /* behind its first change */
};

struct commands {
	struct hmap at; /* process -> command */
	VEC(struct command) command;
};

static void change(struct command *c, const struct trace_event *e)
{
	struct infer_op *op = &c->op;
	if (!op->begin && !infer_changes(e))
		return;
	if (!op->begin)
		op->begin = e->num;
	op->thread = e->thread;
	op->end = e->num;
	op->said = INFER_NO_END;
}

static void look(struct commands *c, const struct trace_event *e)
{
	bool opens = e->kind == TRACE_NODE_NEW || e->kind == TRACE_MAP;
	uint64_t i;
	bool acts = infer_changes(e) || infer_persists(e);
	if (!opens && !acts && e->kind != TRACE_OUTPUT && e->kind != TRACE_EXIT)
		return;
	if (!hmap_get(&c->at, e->process, &i)) {
		hmap_put(&c->at, e->process, i = c->command.n);
		VEC_PUSH(&c->command, ((struct command){ .op = { .process = e->process,
								 .said = INFER_NO_END } }));
	}
	struct command *now = &c->command.p[i];
	now->opens |= opens;
	now->speaks |= e->kind == TRACE_OUTPUT && now->op.begin;
	bool promises = e->kind == TRACE_OUTPUT || (e->kind == TRACE_EXIT && e->arg[0] == 0);
	if (promises && now->speaks && now->op.said == INFER_NO_END)
		now->op.said = e->num;
	else if (acts)
		change(now, e);
}

static void take(struct infer_ops *ops, struct infer_op op, const struct trace_defs *defs)
{
	const struct trace_process_def *p = trace_process(defs, op.process);
	op.input = xcalloc(1, p->command_len + 1);
	memcpy(op.input, p->command, p->command_len);
	const char *slash = strrchr(op.input, '/');
	op.name = infer_ops_name(ops, slash ? slash + 1 : op.input, INFER_NAMES);
	for (uint32_t i = 0; i + 1 < p->command_len; i++)
		if (!op.input[i])
			op.input[i] = ' ';
	VEC_PUSH(&ops->op, op);
}

static int by_begin(const void *a, const void *b)
{
	const struct command *x = a, *y = b;
	return x->op.begin < y->op.begin ? -1 : x->op.begin > y->op.begin;
}

static bool is_command(const struct trace_defs *defs, uint32_t process)
{
	return trace_process(defs, process)->birth != TRACE_BIRTH_FORK;
}

/* Those that changed something, in order; none if two overlap, or one is no command. */
static void take_all(struct commands *c, struct infer_ops *ops, const struct trace_defs *defs)
{
	size_t n = 0;
	for (size_t i = 0; i < c->command.n; i++)
		if (c->command.p[i].op.begin)
			c->command.p[n++] = c->command.p[i];
	for (size_t i = 0; i < n; i++)
		if (!is_command(defs, c->command.p[i].op.process))
			return;
	if (n)
		qsort(c->command.p, n, sizeof *c->command.p, by_begin);
	for (size_t i = 1; i < n; i++)
		if (c->command.p[i].op.begin <= c->command.p[i - 1].op.end)
			return;
	for (size_t i = n && c->command.p[0].opens; i < n && n > 1; i++)
		take(ops, c->command.p[i].op, defs);
}

static int by_place(const void *a, const void *b)
{
	const struct infer_op *x = a, *y = b;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->site < y->site ? -1 : x->site > y->site;
}

/* Most of the commands do nothing twice that is an operation by this way. */
static int are_whole(const struct infer_ops *ops, infer_find_fn *way, struct trace_reader *reader,
		     const struct infer_ops_opts *opts, struct err *err)
{
	struct infer_ops inner = { 0 };
	bool *repeats = xcalloc(trace_processes(trace_defs(reader)), sizeof *repeats);
	int failed = infer_ops_by(way, &inner, reader, opts, err);
	size_t whole = 0;
	if (inner.op.n)
		qsort(inner.op.p, inner.op.n, sizeof *inner.op.p, by_place);
	for (size_t i = 1; i < inner.op.n; i++)
		if (!by_place(&inner.op.p[i - 1], &inner.op.p[i]))
			repeats[inner.op.p[i].process] = true;
	for (size_t i = 0; i < ops->op.n; i++)
		whole += !repeats[ops->op.p[i].process];
	free(repeats);
	infer_ops_drop(&inner);
	return failed ? -1 : 2 * whole > ops->op.n;
}

int infer_ops_commands(struct infer_ops *ops, struct trace_reader *reader,
		       const struct infer_ops_opts *opts, struct err *err)
{
	struct commands c = { 0 };
	struct trace_event e;
	struct err ignored = { 0 }; /* a damaged trace is read as far as it goes */
	int good = 1;
	while (trace_next(reader, &e, &ignored) == 1)
		look(&c, &e);
	take_all(&c, ops, trace_defs(reader));
	if (ops->op.n > 1 && !opts->way)
		good = are_whole(ops, infer_ops_rounds, reader, opts, err);
	if (ops->op.n > 1 && !opts->way && good == 1)
		good = are_whole(ops, infer_ops_inferred, reader, opts, err);
	if (good != 1)
		infer_ops_forget(ops);
	VEC_FREE(&c.command);
	hmap_free(&c.at);
	return good < 0 ? -1 : 0;
}
