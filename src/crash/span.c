/* SPDX-License-Identifier: BSD-3-Clause */
/* Spans: see span.h. */
#include "crash/span.h"

#include "crash/internal.h"

size_t crash_ops_begun(const struct crash_history *h, uint64_t event)
{
	return BISECT(i, h->op.n, h->op.p[i].begin < event);
}

bool crash_span_of(const struct crash_history *h, uint64_t event, struct crash_span *s)
{
	size_t n = crash_ops_begun(h, event);
	const struct crash_op *op = n ? &h->op.p[n - 1] : NULL;
	uint64_t next = n < h->op.n ? h->op.p[n].begin : h->events;
	*s = (struct crash_span){ .to = next, .event = event, .ended = n, .op = n };
	if (!op)
		return false;
	if (op->latest >= event || op->end == UINT64_MAX)
		return false;
	s->flying = event <= op->end;
	if (!s->flying) {
		uint64_t ended = op->end > op->latest ? op->end : op->latest;
		s->from = ended + 1;
		return true;
	}
	s->from = op->begin;
	s->to = next <= op->end ? next : op->end + 1;
	s->ended = n - 1;
	return op->solid < op->begin && op->stored < s->to;
}

bool crash_op_owed(const struct crash_op *op, uint64_t event)
{
	return (op->said && op->answered < event) || (op->settled && op->settled < event);
}

uint64_t crash_span_due(const struct crash_history *h, const struct crash_span *s, size_t far)
{
	uint64_t due = 0;
	for (size_t i = s->ended, back = 0; i > 0 && back < far; i--, back++)
		due += h->op.p[i - 1].said && h->op.p[i - 1].answered >= s->event;
	return due;
}

bool crash_span_promised(const struct crash_history *h, const struct crash_span *s, long gone,
			 size_t far)
{
	size_t from = gone > 0 ? (size_t)gone - 1 : s->ended > far ? s->ended - far : 0;
	bool all = gone == 0 && from == 0;
	/* behind one that overlaps with others there are states that nobody has an image of */
	for (size_t i = s->ended; gone == 0 && i > from; i--)
		if (h->op.p[i - 1].solid >= h->op.p[i - 1].begin) {
			from = i - 1;
			all = false;
		}
	for (size_t i = from; !all && i < s->ended; i++)
		all = crash_op_owed(&h->op.p[i], s->event);
	return all;
}

bool crash_ops_follow(const struct crash_history *h, size_t first, size_t last)
{
	return h->op.p[last - 1].number - h->op.p[first - 1].number == last - first;
}
