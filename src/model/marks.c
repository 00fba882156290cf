/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of bytes of PM: what a program, or a library on its behalf, declares volatile.
 *
 * A library takes a lock out of each object that it makes, so there may be a million small ranges, and a
 * range may be a whole pool as well. Short ones are masks of the lines that they touch, in a hash table;
 * the lines that a long one covers whole are an interval. A line is in one of the two:
 *
 *     [ line )[ line )[ line )[ line ) … [ line )[ line )
 *        ░▒▓██████████████████████████████████▓▒░            a long range
 *        mask └──────────── interval ──────────┘ mask
 */
#include "model/internal.h"

#define LONG 64u /* lines */

/* The line leaves the intervals; what was all of it is a mask then. */
static uint64_t take_line(struct marks *m, uint64_t line)
{
	uint64_t mask = 0;
	if (m->runs.n && imap_find(&m->runs, line)) {
		imap_clear(&m->runs, line, line + 1);
		return ~0ull;
	}
	hmap_get(&m->masks, line, &mask);
	return mask;
}

static void change_line(struct marks *m, uint64_t line, uint64_t mask, bool on)
{
	uint64_t old = take_line(m, line), new = on ? old | mask : old & ~mask;
	if (new)
		hmap_put(&m->masks, line, new);
	else if (old)
		hmap_del(&m->masks, line);
}

/* No masks in lines [first, end): whichever is shorter is gone through, the lines or the masks. */
static void drop_masks(struct marks *m, uint64_t first, uint64_t end)
{
	if (end - first <= m->masks.cap) {
		for (uint64_t line = first; m->masks.n && line < end; line++)
			hmap_del(&m->masks, line);
		return;
	}
	struct hmap kept = { 0 };
	for (size_t i = 0; i < m->masks.cap; i++)
		if (m->masks.used[i] && (m->masks.key[i] < first || m->masks.key[i] >= end))
			hmap_put(&kept, m->masks.key[i], m->masks.val[i]);
	hmap_free(&m->masks);
	m->masks = kept;
}

void model_marks_set(struct marks *m, uint64_t lo, uint64_t hi, bool on)
{
	uint64_t first = (lo + TRACE_LINE - 1) / TRACE_LINE, end = hi / TRACE_LINE;
	bool run = end > first && end - first >= LONG;
	for (uint64_t at = lo; at < hi;) {
		uint64_t line = at / TRACE_LINE, from = at % TRACE_LINE;
		if (run && line >= first && line < end) {
			drop_masks(m, first, end);
			(on ? imap_set(&m->runs, first, end, 1) : imap_clear(&m->runs, first, end));
			at = end * TRACE_LINE;
			continue;
		}
		uint64_t to =
			hi - line * TRACE_LINE < TRACE_LINE ? hi - line * TRACE_LINE : TRACE_LINE;
		change_line(m, line, model_mask((unsigned)from, (unsigned)to), on);
		at = (line + 1) * TRACE_LINE;
	}
}

uint64_t model_marks_in(const struct marks *m, uint64_t line)
{
	uint64_t mask = 0;
	if (m->runs.n && imap_find(&m->runs, line))
		return ~0ull;
	hmap_get(&m->masks, line, &mask);
	return mask;
}

void model_marks_free(struct marks *m)
{
	imap_free(&m->runs);
	hmap_free(&m->masks);
}
