/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing a trace. Events gather in an encoder and definitions in a buffer; when a chunk's
 * worth is there, the definitions are written first, then the events, so that whoever reads
 * from the front always knows what an id means. Each chunk is one write(): if that fails,
 * the file is cut back to its last whole chunk, stays readable, and nothing more is written.
 */
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "trace/internal.h"

#define SMALL 16384u /* below this, one frame for all columns */
#define IDLE_MS 150u /* with the naps of live.c, nothing waits longer than 200 ms */

uint64_t trace_now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static int fail(struct trace_writer *w, struct err *err)
{
	err_errno(&w->failed, EXIT_INTERNAL, "cannot write %s", w->path);
	if (err)
		*err = w->failed;
	if (ftruncate(w->fd, (off_t)w->offset))
		return -1; /* the reader stops at the last whole chunk anyway */
	return -1;
}

static void reserve(struct buf *b, size_t n)
{
	if (n > b->cap)
		vec_grow((void **)&b->p, &b->cap, n, 1);
}

static int compress(struct trace_writer *w, const uint8_t *p, size_t n, struct err *err)
{
	size_t room = ZSTD_compressBound(n), z;
	reserve(&w->out, w->out.n + room);
	z = ZSTD_compress2(w->zstd, w->out.p + w->out.n, room, p, n);
	if (ZSTD_isError(z)) {
		err_set(&w->failed, EXIT_INTERNAL, "zstd: %s", ZSTD_getErrorName(z));
		*err = w->failed;
		return -1;
	}
	w->out.n += z;
	return 0;
}

/* One frame per column, since each has its own statistics; one for all when they are tiny. */
static int compress_columns(struct trace_writer *w, const struct trace_column *col, size_t n,
			    size_t raw, struct err *err)
{
	struct buf all = { 0 };
	int bad = 0;
	if (raw > SMALL) {
		for (size_t i = 0; !bad && i < n; i++)
			if (col[i].n)
				bad = compress(w, col[i].p, col[i].n, err);
		return bad;
	}
	for (size_t i = 0; i < n; i++)
		buf_add(&all, col[i].p, col[i].n);
	bad = compress(w, (const uint8_t *)all.p, all.n, err);
	buf_free(&all);
	return bad;
}

int trace_writer_raw(struct trace_writer *w, struct chunk *c, struct err *err)
{
	size_t length = w->out.n;
	c->stored = (uint32_t)(length - CHUNK_HEAD);
	trace_chunk_pack((uint8_t *)w->out.p, c, (const uint8_t *)w->out.p + CHUNK_HEAD);
	if (write_all_at(w->fd, w->out.p, length, w->offset))
		return fail(w, err);
	w->offset += length;
	VEC_PUSH(&w->note, ((struct chunk_note){ length, c->events, c->type }));
	return 0;
}

int trace_writer_good(struct trace_writer *w, struct err *err)
{
	if (w->failed.status && err)
		*err = w->failed;
	return w->failed.status ? -1 : 0;
}

int trace_writer_chunk(struct trace_writer *w, enum chunk_type type, const struct trace_column *col,
		       size_t n, struct err *err)
{
	struct chunk c = { .type = (uint16_t)type, .flags = CHUNK_ZSTD, .first = w->events };
	if (trace_writer_good(w, err))
		return -1;
	for (size_t i = 0; i < n; i++)
		c.raw += (uint32_t)col[i].n;
	if (type == CHUNK_EVENTS) {
		c.events = trace_encoder_count(w->enc);
		c.first -= c.events;
		c.process = trace_encoder_process(w->enc);
	}
	reserve(&w->out, CHUNK_HEAD);
	w->out.n = CHUNK_HEAD;
	if (compress_columns(w, col, n, c.raw, err))
		return -1;
	return trace_writer_raw(w, &c, err);
}

int trace_writer_defs(struct trace_writer *w, struct err *err)
{
	struct trace_column col = { (const uint8_t *)w->pending.buf.p, w->pending.buf.n };
	if (!col.n)
		return 0;
	w->pending.buf.n = 0;
	memset(&w->pending.base, 0, sizeof w->pending.base);
	return trace_writer_chunk(w, CHUNK_DEFS, &col, 1, err);
}

int trace_writer_flush(struct trace_writer *w, struct err *err)
{
	struct trace_column col[TRACE_COLUMNS];
	int bad;
	if (trace_writer_defs(w, err))
		return -1;
	if (!trace_encoder_count(w->enc))
		return 0;
	trace_encoder_columns(w->enc, col);
	bad = trace_writer_chunk(w, CHUNK_EVENTS, col, TRACE_COLUMNS, err);
	trace_encoder_reset(w->enc);
	return bad;
}

int trace_writer_idle(struct trace_writer *w, struct err *err)
{
	if (w->failed.status || (!trace_encoder_count(w->enc) && !w->pending.buf.n))
		return 0;
	if (trace_now_ms() - w->since < IDLE_MS)
		return 0;
	return trace_writer_flush(w, err);
}
