/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The chunk: what a trace file is made of. docs/TRACE_FORMAT.md describes it for readers.
 *
 *   file  = chunk chunk … chunk
 *   chunk = header (40 bytes) payload (`stored` bytes: zstd frames, or plain)
 *
 * The checksum covers the rest of the header and the payload as stored, so a damaged chunk
 * is found before anything in it is believed.
 */
#ifndef HOLDFAST_TRACE_CHUNK_H
#define HOLDFAST_TRACE_CHUNK_H

#include "base/base.h"

#define CHUNK_MAGIC 0x4b434648u /* "HFCK" */
#define CHUNK_HEAD 40u
#define CHUNK_MAX_RAW (16u << 20) /* what a reader accepts */
#define CHUNK_MAX_EVENTS 65536u
#define CHUNK_MAX_PAGES 256u /* new pages in one PAGES chunk */
#define CHUNK_PAGE 4096u
#define TRACE_FILE_NAME "trace"

enum chunk_type {
	CHUNK_HEADER = 1, /* first in the file: version, who wrote it */
	CHUNK_DEFS,       /* definitions, before the first event that uses them */
	CHUNK_EVENTS,
	CHUNK_PAGES, /* initial contents of files */
	CHUNK_INDEX, /* type, length and events of each chunk before it */
	CHUNK_END,   /* last in the file; always plain and of the same length */
};

enum chunk_flag { CHUNK_ZSTD = 1 };

struct chunk {
	uint16_t type, flags;
	uint32_t raw, stored;
	uint64_t first; /* number of the first event, or of the next one */
	uint32_t events;
	uint32_t process; /* of the first event */
	uint64_t sum;
};

/* The END chunk's payload. */
struct chunk_end {
	uint64_t index;  /* offset of the first INDEX chunk */
	uint64_t chunks; /* number of chunks before the index */
	uint64_t events;
};
#define CHUNK_END_RAW 32u
#define CHUNK_END_BYTES (CHUNK_HEAD + CHUNK_END_RAW)

/* Where bytes come from: a file, or memory. */
struct trace_source {
	int fd; /* -1: memory */
	const uint8_t *mem;
	uint64_t size;
};

/* Buffers that are reused from chunk to chunk. */
struct trace_load {
	uint8_t *stored, *raw; /* raw is followed by CHUNK_SLACK zero bytes */
	size_t stored_cap, raw_cap;
	void *zstd;
};
#define CHUNK_SLACK 16u

void trace_chunk_pack(uint8_t head[CHUNK_HEAD], struct chunk *, const uint8_t *payload);
/*
 * Reads the header at `off` and checks that it can be one: 1; 0: the file ends before the
 * chunk does; -1: it is not a chunk.
 */
int trace_chunk_peek(const struct trace_source *, uint64_t off, struct chunk *, struct err *);
/* Reads the payload into load->stored and checks the sum. The same results. */
int trace_chunk_fetch(const struct trace_source *, uint64_t off, struct chunk *,
		      struct trace_load *, struct err *);
/* Fetches and unpacks into load->raw, chunk->raw bytes. The same results. */
int trace_chunk_load(const struct trace_source *, uint64_t off, struct chunk *, struct trace_load *,
		     struct err *);
void trace_load_free(struct trace_load *);

#endif
