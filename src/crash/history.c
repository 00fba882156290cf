/* SPDX-License-Identifier: BSD-3-Clause */
/* A history as a whole, and its columns of what is no store. */
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"

struct crash_history *crash_history_new(struct trace_reader *r, const struct model_ops *model,
					struct srcloc_trace *src, struct err *err)
{
	struct crash_history *h = xcalloc(1, sizeof *h);
	h->reader = r;
	h->model = model;
	h->unit = model->unit;
	h->meta = CRASH_NO_FILE;
	h->initial = trace_image_new(r, err);
	if (!h->initial)
		return crash_history_free(h), NULL;
	err->status = 0;
	if (crash_history_read(h, src, err)) {
		if (err->status == EXIT_PROGRAM)
			return crash_history_free(h), NULL;
		h->damage = xstrdup(err->text);
	}
	crash_pieces_index(h);
	crash_names_index(h);
	crash_meta_index(h);
	return h;
}

static void when_free(struct crash_when *w)
{
	VEC_FREE(&w->low);
	VEC_FREE(&w->carry);
}

void crash_history_free(struct crash_history *h)
{
	if (!h)
		return;
	trace_image_free(h->initial);
	trace_tree_free(h->tree);
	free(h->of_node);
	free(h->scratch);
	crash_meta_free(h);
	crash_pieces_free(h);
	VEC_FREE(&h->renamed);
	VEC_FREE(&h->change);
	VEC_FREE(&h->fault);
	VEC_FREE(&h->line);
	VEC_FREE(&h->raise);
	VEC_FREE(&h->flush);
	VEC_FREE(&h->mark);
	when_free(&h->raise_when);
	when_free(&h->flush_when);
	when_free(&h->mark_when);
	crash_ops_free(h);
	VEC_FREE(&h->file);
	VEC_FREE(&h->place);
	hmap_free(&h->line_at);
	trace_wheres_free(&h->where);
	hmap_free(&h->thread_at);
	free(h->damage);
	free(h);
}

size_t crash_history_memory(const struct crash_history *h)
{
	return crash_records_memory(&h->store) + h->store.n * (sizeof *h->order + 1) +
	       h->line.n * sizeof *h->line.p + h->check.n + h->raise.n * sizeof *h->raise.p +
	       h->flush.n * sizeof *h->flush.p + h->mark.n * sizeof *h->mark.p +
	       (h->raise.n + h->flush.n + h->mark.n) * sizeof *h->raise_when.low.p +
	       h->line_at.cap * 17;
}

/* ---- columns ---- */

void crash_when_add(struct crash_when *w, uint64_t event)
{
	while (w->carry.n < event >> 32)
		VEC_PUSH(&w->carry, w->low.n);
	VEC_PUSH(&w->low, (uint32_t)event);
}

uint64_t crash_when(const struct crash_when *w, size_t i)
{
	uint64_t high = w->carry.n ? BISECT(k, w->carry.n, w->carry.p[k] <= i) : 0;
	return high << 32 | w->low.p[i];
}

struct crash_flush crash_flush_at(const struct crash_history *h, size_t i)
{
	struct crash_flush_row r = h->flush.p[i];
	return (struct crash_flush){ crash_when(&h->flush_when, i), r.line, r.place, r.thread };
}

struct crash_raise crash_raise_at(const struct crash_history *h, size_t i)
{
	struct crash_raise_row r = h->raise.p[i];
	return (struct crash_raise){ crash_when(&h->raise_when, i), r.line, r.lo, r.before };
}

struct crash_mark crash_mark_at(const struct crash_history *h, size_t i)
{
	struct crash_mark_row r = h->mark.p[i];
	return (struct crash_mark){ crash_when(&h->mark_when, i), r.place, r.thread, r.kind };
}
