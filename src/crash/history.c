/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A history, once it is read: pieces line by line, the hash of every version, and contents of
 * any version, which take at most CRASH_CHECKPOINT pieces from the checkpoint before it.
 */
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"

static void apply(const struct crash_history *h, const struct crash_piece *p, uint8_t *line)
{
	uint16_t len = p->len & (uint16_t)~CRASH_ZERO;
	if (p->len & CRASH_ZERO)
		memset(line + p->off, 0, len);
	else if (len > 8)
		memcpy(line + p->off, h->blob.p + p->data, len);
	else
		memcpy(line + p->off, &p->data, len);
}

/* The initial contents; behind the file's end there are zeros. */
static void initial(const struct crash_history *h, const struct crash_line *l, uint8_t *out)
{
	const struct crash_file *f = &h->file.p[l->file];
	memset(out, 0, f->unit);
	if (l->off < f->size)
		trace_image_read(h->initial, f->owner, l->off, out,
				 f->size - l->off < f->unit ? f->size - l->off : f->unit);
}

static uint64_t contents_hash(const struct crash_history *h, const struct crash_line *l,
			      const uint8_t *bytes)
{
	return hash_seeded(bytes, h->file.p[l->file].unit, hash_mix(l->off, l->file));
}

/* Goes through the versions of one line. */
static void index_line(struct crash_history *h, struct crash_line *l, uint8_t *now)
{
	initial(h, l, now);
	l->hash = contents_hash(h, l, now);
	uint32_t unit = h->file.p[l->file].unit;
	l->check = (uint32_t)(h->check.n / TRACE_LINE);
	for (uint32_t k = 1; k <= l->n; k++) {
		struct crash_piece *p = &h->piece.p[h->order[l->first + k - 1]];
		apply(h, p, now);
		p->hash = contents_hash(h, l, now);
		if (k % CRASH_CHECKPOINT == 0) {
			VEC_RESERVE(&h->check, h->check.n + unit);
			memcpy(h->check.p + h->check.n, now, unit);
			h->check.n += unit;
		}
	}
}

static void index_lines(struct crash_history *h)
{
	uint8_t *now = xmalloc(MODEL_PAGE);
	uint32_t at = 0;
	for (size_t i = 0; i < h->piece.n; i++)
		h->line.p[h->piece.p[i].line].n++;
	for (size_t i = 0; i < h->line.n; i++) {
		h->line.p[i].first = at;
		at += h->line.p[i].n;
		h->line.p[i].n = 0;
	}
	h->order = xmalloc((h->piece.n + 1) * sizeof *h->order);
	for (size_t i = 0; i < h->piece.n; i++) {
		struct crash_line *l = &h->line.p[h->piece.p[i].line];
		h->order[l->first + l->n++] = (uint32_t)i;
	}
	for (size_t i = 0; i < h->line.n; i++)
		index_line(h, &h->line.p[i], now);
	free(now);
}

struct crash_history *crash_history_new(struct trace_reader *r, const struct model_ops *model,
					struct srcloc_trace *src, struct err *err)
{
	struct crash_history *h = xcalloc(1, sizeof *h);
	h->reader = r;
	h->model = model;
	h->unit = model->unit;
	h->initial = trace_image_new(r, err);
	if (!h->initial)
		return crash_history_free(h), NULL;
	err->status = 0;
	if (crash_history_read(h, src, err)) {
		if (err->status == EXIT_PROGRAM)
			return crash_history_free(h), NULL;
		h->damage = xstrdup(err->text);
	}
	index_lines(h);
	crash_names_index(h);
	return h;
}

void crash_history_free(struct crash_history *h)
{
	if (!h)
		return;
	trace_image_free(h->initial);
	trace_tree_free(h->tree);
	free(h->of_node);
	VEC_FREE(&h->renamed);
	VEC_FREE(&h->change);
	VEC_FREE(&h->piece);
	VEC_FREE(&h->line);
	VEC_FREE(&h->raise);
	VEC_FREE(&h->flush);
	VEC_FREE(&h->mark);
	VEC_FREE(&h->op);
	VEC_FREE(&h->file);
	VEC_FREE(&h->place);
	VEC_FREE(&h->blob);
	VEC_FREE(&h->check);
	hmap_free(&h->line_at);
	hmap_free(&h->place_at);
	hmap_free(&h->thread_at);
	free(h->order);
	free(h->damage);
	free(h);
}

size_t crash_history_memory(const struct crash_history *h)
{
	return h->piece.cap * sizeof *h->piece.p + h->line.cap * sizeof *h->line.p +
	       h->raise.cap * sizeof *h->raise.p + h->flush.cap * sizeof *h->flush.p +
	       h->mark.cap * sizeof *h->mark.p + h->blob.cap + h->check.cap +
	       h->piece.n * sizeof *h->order + h->line_at.cap * 17;
}

struct crash_piece crash_piece_at(const struct crash_history *h, size_t i)
{
	return h->piece.p[i];
}

uint32_t crash_piece_index(const struct crash_history *h, uint32_t line, uint32_t k)
{
	return h->order[h->line.p[line].first + k - 1];
}

struct crash_piece crash_piece_of(const struct crash_history *h, uint32_t line, uint32_t k)
{
	return crash_piece_at(h, crash_piece_index(h, line, k));
}

uint32_t crash_number_of(const struct crash_history *h, uint32_t i)
{
	uint32_t line = crash_piece_at(h, i).line;
	return (uint32_t)BISECT(k, h->line.p[line].n,
				crash_piece_index(h, line, (uint32_t)k + 1) < i) +
	       1;
}

size_t crash_event_begin(const struct crash_history *h, size_t i)
{
	uint64_t event = crash_piece_at(h, i).event;
	while (i && crash_piece_at(h, i - 1).event == event)
		i--;
	return i;
}

size_t crash_event_end(const struct crash_history *h, size_t i)
{
	uint64_t event = crash_piece_at(h, i).event;
	while (i < h->pieces && crash_piece_at(h, i).event == event)
		i++;
	return i;
}

struct crash_flush crash_flush_at(const struct crash_history *h, size_t i)
{
	return h->flush.p[i];
}

struct crash_raise crash_raise_at(const struct crash_history *h, size_t i)
{
	return h->raise.p[i];
}

struct crash_mark crash_mark_at(const struct crash_history *h, size_t i)
{
	return h->mark.p[i];
}

void crash_contents(const struct crash_history *h, uint32_t line, uint32_t version, uint8_t *out)
{
	const struct crash_line *l = &h->line.p[line];
	uint32_t from = version / CRASH_CHECKPOINT, unit = h->file.p[l->file].unit;
	if (from)
		memcpy(out, h->check.p + (size_t)l->check * TRACE_LINE + (size_t)(from - 1) * unit,
		       unit);
	else
		initial(h, l, out);
	for (uint32_t k = from * CRASH_CHECKPOINT + 1; k <= version; k++)
		apply(h, &h->piece.p[crash_piece_index(h, line, k)], out);
}

uint64_t crash_contents_hash(const struct crash_history *h, uint32_t line, uint32_t version)
{
	return version ? crash_piece_of(h, line, version).hash : h->line.p[line].hash;
}

uint32_t crash_version_at(const struct crash_history *h, uint32_t line, uint64_t event)
{
	return (uint32_t)BISECT(i, h->line.p[line].n,
				crash_piece_of(h, line, (uint32_t)i + 1).event < event);
}
