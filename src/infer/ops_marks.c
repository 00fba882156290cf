/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations that the program marks: OP_BEGIN to OP_END of one thread; one inside another is part of it. */
#include <stdlib.h>

#include "infer/internal.h"

/* The operation that a thread is in, or its last; with how many begun inside of it. */
struct open {
	size_t op; /* from 1 */
	uint32_t depth;
};

static void begin(struct infer_ops *ops, struct open *o, const struct trace_event *e)
{
	VEC_PUSH(&ops->op, ((struct infer_op){ .begin = e->num,
					       .end = INFER_NO_END,
					       .said = INFER_NO_END,
					       .id = e->arg[0],
					       .process = e->process,
					       .thread = e->thread }));
	o->op = ops->op.n;
	o->depth = 1;
}

static void end(struct infer_ops *ops, struct open *o, const struct trace_event *e)
{
	if (!o->depth || --o->depth)
		return;
	ops->op.p[o->op - 1].end = e->num;
	ops->op.p[o->op - 1].said = e->num;
}

int infer_ops_marks(struct infer_ops *ops, struct trace_reader *reader,
		    const struct infer_ops_opts *opts, struct err *err)
{
	struct hmap at = { 0 }; /* process and thread -> open */
	VEC(struct open) open = { 0 };
	struct trace_event e;
	(void)opts;
	while (trace_next(reader, &e, err) == 1) {
		uint64_t key = (uint64_t)e.process << 32 | e.thread, i;
		if (e.kind != TRACE_OP_BEGIN && e.kind != TRACE_OP_END)
			continue;
		if (!hmap_get(&at, key, &i)) {
			hmap_put(&at, key, i = open.n);
			VEC_PUSH(&open, (struct open){ 0 });
		}
		if (e.kind == TRACE_OP_END)
			end(ops, &open.p[i], &e);
		else if (open.p[i].depth)
			open.p[i].depth++;
		else
			begin(ops, &open.p[i], &e);
	}
	VEC_FREE(&open);
	hmap_free(&at);
	return 0;
}
