/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of src/infer/ share. */
#ifndef HOLDFAST_INFER_INTERNAL_H
#define HOLDFAST_INFER_INTERNAL_H

#include "infer/infer.h"

/* ops.c: what the ways add to. */
struct infer_ops {
	VEC(struct infer_op) op; /* in the order of begins */
	VEC(char *) name;        /* [0] is "" */
	const struct infer_way *way;
};

/* ops_marks.c: those that the program marks. */
int infer_ops_marks(struct infer_ops *, struct trace_reader *, const struct infer_ops_opts *,
		    struct err *);

#endif
