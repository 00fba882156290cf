/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which bytes a program asks a library to persist. An instruction flushes a whole line; a call, pmemobj_persist(pop,
 * &root->count, 8) say, names the bytes that are meant. What else was open in the line becomes persistent by chance, and a
 * flush that is asked for that is not in vain, although its line is clean.
 *
 * Only calls of watched functions are known, with their arguments: libpmemobj's, where its oracles wait for them.
 */
#include <stdlib.h>

#include "check/internal.h"

static const struct row {
	const char *name;     /* a glob */
	unsigned addr, bytes; /* arguments, from 0 */
} rows[] = {
	{ "pmemobj_*persist", 1, 2 }, /* memcpy_persist and its like come first */
	{ "pmemobj_*flush", 1, 2 },
};

/* Of one thread: the ranges of the watched calls that it is in; empty for those that name none. */
struct check_asking {
	VEC(struct model_range) call;
};

/* Which row a function has; ROW_COPY, ROW_NONE. */
enum { ROW_NONE = -1, ROW_COPY = -2 };

static int row_named(const char *function)
{
	static const char *const copies[] = { "pmemobj_mem*", NULL };
	if (check_named(copies, function))
		return ROW_COPY;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *const name[] = { rows[i].name, NULL };
		if (check_named(name, function))
			return (int)i;
	}
	return ROW_NONE;
}

/* Calls are many, functions are few. */
static int row_of(struct check *c, const struct trace_event *e)
{
	uint32_t name = (uint32_t)e->arg[0];
	struct check_asked_name *known =
		&c->asked.recent[(name ^ e->process * 7u) % CHECK_ASKED_RECENT];
	if (!known->used || known->process != e->process || known->name != name)
		*known = (struct check_asked_name){
			e->process, name, row_named(trace_string(c->defs, e->process, name)), true
		};
	return known->row;
}

static struct model_range range_of(int row, const uint64_t *arg)
{
	if (row == ROW_COPY) /* pool, to, from or with, how much */
		return (struct model_range){ arg[1], arg[1] + arg[3] };
	if (row == ROW_NONE)
		return (struct model_range){ 0, 0 };
	return (struct model_range){ arg[rows[row].addr],
				     arg[rows[row].addr] + arg[rows[row].bytes] };
}

static struct check_asking *asking_of(struct check *c, uint32_t thread)
{
	while (c->asked.thread.n <= thread)
		VEC_PUSH(&c->asked.thread,
			 (struct check_asking *)xcalloc(1, sizeof(struct check_asking)));
	return c->asked.thread.p[thread];
}

void check_asked_call(struct check *c, const struct trace_event *e)
{
	struct check_asking *a = asking_of(c, model_thread_of(c->model, e));
	if (e->kind == TRACE_CALL)
		VEC_PUSH(&a->call, range_of(row_of(c, e), e->arg + 1));
	else if (a->call.n)
		a->call.n--;
}

uint64_t check_asked_now(struct check *c, const struct model_step *s)
{
	if (s->thread_id >= c->asked.thread.n)
		return 0;
	const struct check_asking *a = c->asked.thread.p[s->thread_id];
	struct model_range r = { 0, 0 };
	uint64_t line = s->ev->arg[0] / TRACE_LINE * TRACE_LINE;
	if (a->call.n)
		r = a->call.p[a->call.n - 1];
	if (r.lo >= line + TRACE_LINE || r.hi <= line)
		return 0;
	unsigned from = r.lo > line ? (unsigned)(r.lo - line) : 0;
	unsigned len =
		(unsigned)((r.hi < line + TRACE_LINE ? r.hi : line + TRACE_LINE) - line) - from;
	return (len >= TRACE_LINE ? ~0ull : (1ull << len) - 1) << from;
}

void check_asked_flush(struct oracle_state *u, const struct model_step *s)
{
	uint64_t now, old;
	if (!u->check->asked.thread.n || !s->line)
		return;
	now = check_asked_now(u->check, s);
	old = s->line->asked;
	if (now)
		s->line->asked = old | now;
	else if (old || s->line->open)
		s->line->asked = UINT64_MAX;
}

uint64_t check_asked_bytes(struct check *c, const struct model_line *l)
{
	return c->asked.thread.n && l->asked ? l->asked : UINT64_MAX;
}

void check_asked_persisted(struct check *c, const struct model_step *s)
{
	if (!c->asked.thread.n)
		return;
	s->line->chance = s->mask & ~check_asked_bytes(c, s->line);
	s->line->asked = 0;
}

bool check_asked_is_chance(struct check *c, const struct model_step *s)
{
	return s->line && s->line->chance && s->line->chance & check_asked_now(c, s);
}

void check_asked_free(struct check_asked *a)
{
	for (size_t i = 0; i < a->thread.n; i++) {
		VEC_FREE(&a->thread.p[i]->call);
		free(a->thread.p[i]);
	}
	VEC_FREE(&a->thread);
}
