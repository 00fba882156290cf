/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that have become durable, though nobody has acknowledged them.
 *
 *	operation 3   begin ── ■ ── ■ ── fence ── end      begin ── ■ ── …      ■ a store
 *	                                           ▲ nothing is open
 *
 * Where all that was ever stored is guaranteed behind an operation, and before the next one begins, a crash there leaves just what is
 * said at its end. What is gone behind that was not late, it was destroyed: by a switch to a segment that is not complete yet, say.
 * A program that persists several operations at a time has something open between them.
 *
 * Where files are the medium, names and sizes may be open, and no line tells.
 */
#include "crash/internal.h"
#include "crash/span.h"

static bool is_settled(struct crash_cursor *at, uint64_t event)
{
	crash_cursor_move(at, event);
	return !at->open.n;
}

void crash_ops_settle(struct crash_history *h)
{
	struct crash_cursor at;
	if (h->model->files != MODEL_FILES_AT_ONCE)
		return;
	crash_cursor_init(&at, h);
	for (size_t i = 0; i < h->op.n; i++) {
		struct crash_op *op = &h->op.p[i];
		uint64_t next = i + 1 < h->op.n ? h->op.p[i + 1].begin : op->end;
		if (op->end == UINT64_MAX || op->latest >= op->begin || next < op->end)
			continue;
		if (is_settled(&at, op->end + 1))
			op->settled = op->end;
		else if (next > op->end && is_settled(&at, next))
			op->settled = next;
	}
	crash_cursor_free(&at);
}
