/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations: the ways to find them, one row each, and which of them is used. */
#include <stdlib.h>
#include <string.h>

#include "infer/internal.h"

typedef int find_fn(struct infer_ops *, struct trace_reader *, const struct infer_ops_opts *,
		    struct err *);

static const struct row {
	struct infer_way way;
	find_fn *find; /* -1 and err: what was asked for is not there */
} rows[] = {
	{ { "marks", "the program marks them, with HOLDFAST_OP_BEGIN and HOLDFAST_OP_END" },
	  infer_ops_marks },
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

static void forget(struct infer_ops *ops)
{
	for (size_t i = 0; i < ops->op.n; i++) {
		free(ops->op.p[i].input);
		free(ops->op.p[i].output);
	}
	for (size_t i = 0; i < ops->name.n; i++)
		free(ops->name.p[i]);
	ops->op.n = ops->name.n = 0;
}

void infer_ops_free(struct infer_ops *ops)
{
	if (!ops)
		return;
	forget(ops);
	VEC_FREE(&ops->op);
	VEC_FREE(&ops->name);
	free(ops);
}

/* Tries one way; 1: it gives more than one operation. */
static int try(struct infer_ops *ops, const struct row *row, struct trace_reader *reader,
	       const struct infer_ops_opts *opts, struct err *err)
{
	forget(ops);
	VEC_PUSH(&ops->name, xstrdup(""));
	ops->way = &row->way;
	if (trace_seek(reader, 0, err) || row->find(ops, reader, opts, err))
		return -1;
	for (size_t i = 0; i < ops->op.n; i++)
		ops->op.p[i].index = (uint32_t)i + 1;
	return ops->op.n > 1;
}

struct infer_ops *infer_ops_read(struct trace_reader *reader, const struct infer_ops_opts *opts,
				 struct err *err)
{
	static const struct infer_ops_opts none;
	struct infer_ops *ops = xcalloc(1, sizeof *ops);
	int found = 0;
	opts = opts ? opts : &none;
	if (opts->way) {
		const struct row *row = find_row(opts->way, err);
		found = row ? try(ops, row, reader, opts, err) : -1;
	}
	for (size_t i = 0; !opts->way && !found && i < ROWS; i++)
		found = try(ops, &rows[i], reader, opts, err);
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
