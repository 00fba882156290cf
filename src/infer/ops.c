/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations: the ways to find them, one row each, and which of them is used. */
#include <stdlib.h>
#include <string.h>

#include "infer/internal.h"

static const struct row {
	struct infer_way way;
	infer_find_fn *find; /* -1 and err: what was asked for is not there */
} rows[] = {
	{ { "marks", "the program marks them, with HOLDFAST_OP_BEGIN and HOLDFAST_OP_END", true },
	  infer_ops_marks },
	{ { "calls", "calls of the functions that --ops-calls names", true }, infer_ops_calls },
	{ { "requests", "from what it reads, a line or a packet, until it answers", false },
	  infer_ops_requests },
	{ { "commands", "whole commands that are run one after the other", false },
	  infer_ops_commands },
	{ { "rounds", "rounds of a loop that stores by itself, not only in calls", false },
	  infer_ops_rounds },
	{ { "answers", "what is done from one answer to the next, where no call is that", false },
	  infer_ops_answers },
	{ { "inferred", "calls that the program makes again and again, and below which it stores",
	    false },
	  infer_ops_inferred },
};
#define ROWS (sizeof rows / sizeof *rows)

const struct infer_way *infer_way_at(size_t i)
{
	return i < ROWS ? &rows[i].way : NULL;
}

static const struct row *find_row(const char *name, struct err *err)
{
	for (size_t i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].way.name, name))
			return &rows[i];
	err_set(err, EXIT_USAGE, "'%s' is no way to find operations", name);
	return NULL;
}

void infer_ops_forget(struct infer_ops *ops)
{
	for (size_t i = 0; i < ops->op.n; i++) {
		free(ops->op.p[i].input);
		free(ops->op.p[i].output);
		free(ops->op.p[i].parts);
	}
	ops->op.n = 0;
}

static void forget_names(struct infer_ops *ops)
{
	for (size_t i = 0; i < ops->name.n; i++)
		free(ops->name.p[i]);
	ops->name.n = 0;
}

void infer_ops_drop(struct infer_ops *ops)
{
	infer_ops_forget(ops);
	forget_names(ops);
	VEC_FREE(&ops->op);
	VEC_FREE(&ops->name);
}

void infer_ops_free(struct infer_ops *ops)
{
	if (!ops)
		return;
	infer_ops_drop(ops);
	free(ops);
}

int infer_ops_by(infer_find_fn *find, struct infer_ops *ops, struct trace_reader *reader,
		 const struct infer_ops_opts *opts, struct err *err)
{
	infer_ops_forget(ops);
	forget_names(ops);
	VEC_PUSH(&ops->name, xstrdup(""));
	return trace_seek(reader, 0, err) || find(ops, reader, opts, err) ? -1 : 0;
}

uint32_t infer_ops_name(struct infer_ops *ops, const char *text, size_t most)
{
	size_t i = 0;
	while (i < ops->name.n && strcmp(ops->name.p[i], text))
		i++;
	if (i == ops->name.n && i >= most)
		return 0;
	if (i == ops->name.n)
		VEC_PUSH(&ops->name, xstrdup(text));
	return (uint32_t)i;
}

static int by_begin(const void *a, const void *b)
{
	const struct infer_op *x = a, *y = b;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void number(struct infer_op *op, size_t i, bool unmarked)
{
	op->index = (uint32_t)i + 1;
	if (unmarked)
		op->id = op->index;
}

/* Tries one way; 1: it gives more than one operation, or any if somebody says so. */
static int try(struct infer_ops *ops, const struct row *row, struct trace_reader *reader,
	       const struct infer_ops_opts *opts, struct err *err)
{
	ops->way = &row->way;
	if (infer_ops_by(row->find, ops, reader, opts, err))
		return -1;
	if (ops->op.n)
		qsort(ops->op.p, ops->op.n, sizeof *ops->op.p, by_begin);
	for (size_t i = 0; i < ops->op.n; i++)
		number(&ops->op.p[i], i, row->find != infer_ops_marks);
	return ops->op.n > !row->way.sure;
}

/* The first that gives more than one, otherwise the first that gives any. */
static int try_all(struct infer_ops **ops, struct trace_reader *reader,
		   const struct infer_ops_opts *opts, struct err *err)
{
	struct infer_ops *few = NULL;
	int found = 0;
	for (size_t i = 0; !found && i < ROWS; i++) {
		found = try(*ops, &rows[i], reader, opts, err);
		if (!found && !few && (*ops)->op.n) {
			few = *ops;
			*ops = xcalloc(1, sizeof **ops);
		}
	}
	if (!found && few) {
		infer_ops_free(*ops);
		*ops = few;
	} else {
		infer_ops_free(few);
	}
	return found;
}

struct infer_ops *infer_ops_read(struct trace_reader *reader, const struct infer_ops_opts *opts,
				 struct err *err)
{
	static const struct infer_ops_opts none;
	struct infer_ops *ops = xcalloc(1, sizeof *ops);
	int found = 0;
	opts = opts ? opts : &none;
	const char *way = opts->calls && !opts->way ? "calls" : opts->way;
	if (way) {
		const struct row *row = find_row(way, err);
		found = row ? try(ops, row, reader, opts, err) : -1;
	}
	if (!way)
		found = try_all(&ops, reader, opts, err);
	if (found >= 0)
		return ops;
	infer_ops_free(ops);
	return NULL;
}

const struct infer_op *infer_ops_all(const struct infer_ops *ops, size_t *n)
{
	*n = ops->op.n;
	return ops->op.p;
}

const char *infer_op_name(const struct infer_ops *ops, const struct infer_op *op)
{
	return ops->name.p[op->name];
}

const struct infer_way *infer_ops_way(const struct infer_ops *ops)
{
	return ops->op.n ? ops->way : NULL;
}

#define MOST_NAMES 12u

/* "put 12, del 3", "put 12, del 3 and 5 more" */
static char *names_and_counts(const struct infer_ops *ops)
{
	const struct infer_op *op = ops->op.p;
	size_t n = ops->op.n, names = 0;
	struct buf b = { 0 };
	VEC(size_t) count = { 0 };
	for (size_t i = 0; i < n; i++) {
		while (count.n <= op[i].name)
			VEC_PUSH(&count, 0);
		count.p[op[i].name]++;
	}
	for (size_t i = 0; i < n; i++) {
		const char *name = infer_op_name(ops, &op[i]);
		bool is = *name && count.p[op[i].name];
		if (is && ++names <= MOST_NAMES)
			buf_printf(&b, "%s%s %zu", b.n ? ", " : "", name, count.p[op[i].name]);
		count.p[op[i].name] = 0;
	}
	VEC_FREE(&count);
	if (names > MOST_NAMES)
		buf_printf(&b, " and %zu more", names - MOST_NAMES);
	buf_add(&b, "", 1);
	return b.p;
}

char *infer_ops_sentence(const struct infer_ops *ops)
{
	if (!ops->op.n)
		return NULL;
	char *names = names_and_counts(ops);
	char *text = xasprintf("%zu operation%s: %s%s%s%s", ops->op.n, ops->op.n == 1 ? "" : "s",
			       ops->way->about, *names ? " (" : "", names, *names ? ")" : "");
	free(names);
	return text;
}
