/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations of a history, as they were found (infer/infer.h). */
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"
#include "crash/span.h"
#include "infer/infer.h"

static struct crash_op copy(const struct crash_history *h, const struct infer_ops *ops,
			    const struct infer_op *from)
{
	uint64_t thread = UINT32_MAX;
	bool said = from->said != INFER_NO_END;
	uint64_t *parts = from->nparts ? xmalloc(from->nparts * sizeof *parts) : NULL;
	if (parts)
		memcpy(parts, from->parts, from->nparts * sizeof *parts);
	(void)hmap_get(&h->thread_at, (uint64_t)from->process << 32 | from->thread, &thread);
	return (struct crash_op){ .begin = from->begin,
				  .end = said ? from->said : from->end,
				  .stored = said ? from->said : from->end,
				  .answered = said ? from->said : from->end,
				  .number = from->index,
				  .id = from->id,
				  .said = said,
				  .sure = infer_ops_way(ops)->sure,
				  .thread = (uint32_t)thread,
				  .parts = parts,
				  .nparts = from->nparts,
				  .name = xstrdup(infer_op_name(ops, from)),
				  .input = from->input ? xstrdup(from->input) : NULL };
}

void crash_ops_chain(struct crash_history *h)
{
	uint64_t latest = 0, solid = 0;
	for (size_t i = 0; i < h->op.n; i++) {
		struct crash_op *op = &h->op.p[i];
		op->latest = latest;
		op->solid = solid;
		latest = op->end > latest ? op->end : latest;
		solid = op->stored > solid ? op->stored : solid;
	}
}

int crash_ops_take(struct crash_history *h, const struct infer_ops *ops, struct err *err)
{
	size_t n;
	const struct infer_op *op = infer_ops_all(ops, &n);
	for (size_t i = 0; i < n; i++)
		VEC_PUSH(&h->op, copy(h, ops, &op[i]));
	crash_ops_chain(h);
	if (h->op.n)
		return 0;
	return err_set(
		err, EXIT_PROGRAM,
		"the program's operations are not known, and so not what may be there after a "
		"crash: name their functions with --ops-calls, mark them with "
		"HOLDFAST_OP_BEGIN and HOLDFAST_OP_END (holdfast.h), or, if the program answers each "
		"line that it reads, record it with --line-buffered");
}

void crash_op_free(struct crash_op *op)
{
	free(op->name);
	free(op->input);
	free(op->parts);
}

void crash_ops_free(struct crash_history *h)
{
	for (size_t i = 0; i < h->op.n; i++)
		crash_op_free(&h->op.p[i]);
	VEC_FREE(&h->op);
	free(h->ops_found);
}

const char *crash_operations(const struct crash *c)
{
	return c->h->ops_found;
}
