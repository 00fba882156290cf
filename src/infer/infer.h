/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program seems to do and to rely on, read off one recorded run, without annotations.
 *
 * Operations: an *operation* is a span of the events, of one thread, that stands for one thing that the
 * program was asked to do:
 *
 *	thread 1   ──begin════════════end──────begin═══end──
 *	thread 2   ───────begin══════════════end────────────      they may overlap
 *
 * There are several ways to find them, the rows of a table in ops.c; the first that gives more than
 * one operation is used, unless one is asked for.
 */
#ifndef HOLDFAST_INFER_INFER_H
#define HOLDFAST_INFER_INFER_H

#include "base/base.h"
#include "trace/trace.h"

#define INFER_NO_END UINT64_MAX

struct infer_op {
	uint64_t begin;   /* its first event */
	uint64_t end;     /* its last; INFER_NO_END: it never ended */
	uint64_t said;    /* the event before which it need not have been acknowledged; >= end */
	uint64_t id;      /* as it was marked; otherwise its index */
	uint32_t index;   /* from 1, in the order of begins */
	uint32_t process; /* whose thread it is … */
	uint32_t thread;  /* … as in struct trace_event */
	uint32_t name;    /* for infer_op_name */
	char *input;      /* what the program had read for it, or NULL: it is not known */
	char *output;     /* what it said, likewise */
};

/* A way to find operations; NULL past the last. */
struct infer_way {
	const char *name, *about;
};
const struct infer_way *infer_way_at(size_t i);

struct infer_ops_opts {
	const char *way;   /* NULL: the first that gives more than one */
	const char *calls; /* names of functions, globs, separated by commas; NULL: none */
};

/*
 * Reads the trace, once or more; the reader stands elsewhere afterwards. Opts may be NULL. NULL and err: the way
 * that was asked for is not there, or gives none. A damaged trace is read as far as it goes. That there are none by any
 * way is no error.
 */
struct infer_ops;
struct infer_ops *infer_ops_read(struct trace_reader *, const struct infer_ops_opts *,
				 struct err *);
const struct infer_op *infer_ops_all(const struct infer_ops *, size_t *n);
const char *infer_op_name(const struct infer_ops *, const struct infer_op *);
/* The way that found them; NULL: there are none. */
const struct infer_way *infer_ops_way(const struct infer_ops *);
void infer_ops_free(struct infer_ops *);

#endif
