/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chunks in and out of a file. Every length is bounded before memory is allocated for it:
 * a payload by the file's own size, what it unpacks to by CHUNK_MAX_RAW.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "trace/chunk.h"

static void put16(uint8_t *p, uint16_t v)
{
	v = htole16(v);
	memcpy(p, &v, 2);
}

static void put32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, 4);
}

static void put64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, 8);
}

static uint16_t get16(const uint8_t *p)
{
	uint16_t v;
	memcpy(&v, p, 2);
	return le16toh(v);
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, 4);
	return le32toh(v);
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, 8);
	return le64toh(v);
}

/* XXH3-64 of the payload, seeded with XXH3-64 of the header up to the sum. */
static uint64_t checksum(const uint8_t *head, const uint8_t *payload, size_t n)
{
	return hash_seeded(payload, n, hash_bytes(head, CHUNK_HEAD - 8));
}

void trace_chunk_pack(uint8_t head[CHUNK_HEAD], struct chunk *c, const uint8_t *payload)
{
	put32(head, CHUNK_MAGIC);
	put16(head + 4, c->type);
	put16(head + 6, c->flags);
	put32(head + 8, c->raw);
	put32(head + 12, c->stored);
	put64(head + 16, c->first);
	put32(head + 24, c->events);
	put32(head + 28, c->process);
	c->sum = checksum(head, payload, c->stored);
	put64(head + 32, c->sum);
}

static void unpack(const uint8_t *head, struct chunk *c)
{
	c->type = get16(head + 4);
	c->flags = get16(head + 6);
	c->raw = get32(head + 8);
	c->stored = get32(head + 12);
	c->first = get64(head + 16);
	c->events = get32(head + 24);
	c->process = get32(head + 28);
	c->sum = get64(head + 32);
}

static int read_at(const struct trace_source *s, uint64_t off, void *to, size_t n, struct err *err)
{
	size_t done = 0;
	if (s->fd < 0) {
		memcpy(to, s->mem + off, n);
		return 0;
	}
	while (done < n) {
		ssize_t got = pread(s->fd, (char *)to + done, n - done, (off_t)(off + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_errno(err, EXIT_INTERNAL,
					 "cannot read the trace at offset %" PRIu64, off + done);
		if (got == 0)
			return err_set(err, EXIT_USAGE, "the trace got shorter while it was read");
		done += (size_t)got;
	}
	return 0;
}

static int bad(struct err *err, uint64_t off, const char *what)
{
	return err_set(err, EXIT_USAGE, "bad chunk at offset %" PRIu64 ": %s", off, what);
}

static int peek(const struct trace_source *s, uint64_t off, uint8_t head[CHUNK_HEAD],
		struct chunk *c, struct err *err)
{
	if (off > s->size || s->size - off < CHUNK_HEAD) {
		err_set(err, EXIT_USAGE, "the file ends inside a chunk's header at offset %" PRIu64,
			off);
		return 0;
	}
	if (read_at(s, off, head, CHUNK_HEAD, err))
		return -1;
	if (get32(head) != CHUNK_MAGIC)
		return bad(err, off, "no chunk starts here");
	unpack(head, c);
	if (c->raw > CHUNK_MAX_RAW || c->stored > ZSTD_compressBound(CHUNK_MAX_RAW))
		return bad(err, off, "impossible size");
	if (!(c->flags & CHUNK_ZSTD) && c->stored != c->raw)
		return bad(err, off, "sizes disagree");
	if (c->events > CHUNK_MAX_EVENTS || c->first > UINT64_MAX - c->events)
		return bad(err, off, "impossible number of events");
	if (s->size - off - CHUNK_HEAD < c->stored) {
		err_set(err, EXIT_USAGE, "the file ends inside the chunk at offset %" PRIu64, off);
		return 0;
	}
	return 1;
}

int trace_chunk_peek(const struct trace_source *s, uint64_t off, struct chunk *c, struct err *err)
{
	uint8_t head[CHUNK_HEAD];
	return peek(s, off, head, c, err);
}

int trace_chunk_fetch(const struct trace_source *s, uint64_t off, struct chunk *c,
		      struct trace_load *load, struct err *err)
{
	uint8_t head[CHUNK_HEAD];
	int got = peek(s, off, head, c, err);
	if (got <= 0)
		return got;
	if (c->stored >= load->stored_cap)
		vec_grow((void **)&load->stored, &load->stored_cap, (size_t)c->stored + 1, 1);
	if (read_at(s, off + CHUNK_HEAD, load->stored, c->stored, err))
		return -1;
	if (checksum(head, load->stored, c->stored) != c->sum)
		return bad(err, off, "the checksum does not match");
	return 1;
}

static int unzstd(struct trace_load *load, const struct chunk *c, uint64_t off, struct err *err)
{
	size_t n;
	if (!load->zstd)
		load->zstd = ZSTD_createDCtx();
	if (!load->zstd)
		return err_set(err, EXIT_INTERNAL, "out of memory");
	n = ZSTD_decompressDCtx(load->zstd, load->raw, c->raw, load->stored, c->stored);
	if (ZSTD_isError(n))
		return bad(err, off, ZSTD_getErrorName(n));
	if (n != c->raw)
		return bad(err, off, "it unpacks to another size");
	return 1;
}

int trace_chunk_load(const struct trace_source *s, uint64_t off, struct chunk *c,
		     struct trace_load *load, struct err *err)
{
	int got = trace_chunk_fetch(s, off, c, load, err);
	if (got <= 0)
		return got;
	if ((size_t)c->raw + CHUNK_SLACK > load->raw_cap)
		vec_grow((void **)&load->raw, &load->raw_cap, (size_t)c->raw + CHUNK_SLACK, 1);
	memset(load->raw + c->raw, 0, CHUNK_SLACK);
	if (c->flags & CHUNK_ZSTD)
		return unzstd(load, c, off, err);
	memcpy(load->raw, load->stored, c->raw);
	return 1;
}

void trace_load_free(struct trace_load *load)
{
	free(load->stored);
	free(load->raw);
	ZSTD_freeDCtx(load->zstd);
	memset(load, 0, sizeof *load);
}
