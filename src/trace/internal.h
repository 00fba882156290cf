/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of src/trace/ share and others need not see. */
#ifndef HOLDFAST_TRACE_INTERNAL_H
#define HOLDFAST_TRACE_INTERNAL_H

#include "trace/chunk.h"
#include "trace/trace.h"
#include "trace/varint.h"

/* --- defs.c: definitions, by process and id --- */

#define DEFS_MAX_ID (1u << 28)
#define DEFS_MAX_GAP (1u << 20) /* ids come roughly in order */
#define DEFS_MAX_PROCESSES (1u << 18)

struct defs_page;
struct defs_table {
	struct defs_page **page;
	size_t n, cap;
	uint32_t top; /* highest id so far, plus one */
};
struct defs_process {
	struct trace_process_def def;
	struct defs_table site, ctx, module, string;
};
struct trace_defs {
	VEC(struct defs_process *) process;
	VEC(struct trace_file_def *) file;
	VEC(struct trace_node_def *) node;
	const char *differs; /* what the self-check found; NULL: nothing */
	VEC(char *) text;    /* every path, command and string, freed together */
};

enum defs_result { DEFS_BAD = -1, DEFS_SAME, DEFS_NEW, DEFS_CHANGED };
/* A fork inherits a copy of its parent's tables; def->command is copied. */
enum defs_result trace_defs_process(struct trace_defs *, const struct trace_process_def *);
enum defs_result trace_defs_site(struct trace_defs *, uint32_t process, uint32_t id,
				 const struct trace_site_def *);
enum defs_result trace_defs_ctx(struct trace_defs *, uint32_t process, uint32_t id,
				const struct trace_ctx_def *);
enum defs_result trace_defs_module(struct trace_defs *, uint32_t process, uint32_t id,
				   const struct trace_module_def *);
enum defs_result trace_defs_string(struct trace_defs *, uint32_t process, uint32_t id,
				   const char *text);
enum defs_result trace_defs_file(struct trace_defs *, const struct trace_file_def *);
enum defs_result trace_defs_node(struct trace_defs *, const struct trace_node_def *);
void trace_defs_cut_files(struct trace_defs *, uint32_t n); /* those from n on are gone */
void trace_defs_cut_nodes(struct trace_defs *, uint32_t n);
void trace_defs_ended(struct trace_defs *, uint32_t process);
void trace_defs_differs(struct trace_defs *, const char *text);
void trace_defs_free(struct trace_defs *);

/* --- defs_io.c: the same as bytes of a DEFS chunk --- */

/* What differences are taken against; starts from zero in each chunk. */
struct defs_base {
	uint32_t process, site, ctx;
	uint64_t ip, call, target;
};
struct defs_out {
	struct buf buf;
	struct defs_base base;
};
void trace_defs_put_process(struct defs_out *, const struct trace_process_def *);
void trace_defs_put_ended(struct defs_out *, uint32_t process);
void trace_defs_put_site(struct defs_out *, uint32_t process, uint32_t id,
			 const struct trace_site_def *);
void trace_defs_put_ctx(struct defs_out *, uint32_t process, uint32_t id,
			const struct trace_ctx_def *);
void trace_defs_put_module(struct defs_out *, uint32_t process, uint32_t id,
			   const struct trace_module_def *);
void trace_defs_put_string(struct defs_out *, uint32_t process, uint32_t id, const char *text);
void trace_defs_put_file(struct defs_out *, const struct trace_file_def *);
void trace_defs_put_node(struct defs_out *, const struct trace_node_def *);
void trace_defs_put_differs(struct defs_out *, const char *text);
/* Adds everything in a DEFS chunk; -1: bad bytes, *at says where in the chunk. */
int trace_defs_parse(struct trace_defs *, const uint8_t *, size_t n, size_t *at);

/* --- encode.c and decode.c: events as columns, see columns.h --- */

struct trace_encoder;
struct trace_encoder *trace_encoder_new(void);
void trace_encoder_free(struct trace_encoder *);
void trace_encoder_add(struct trace_encoder *, const struct trace_event *);
bool trace_encoder_full(const struct trace_encoder *, uint32_t next_size);
uint32_t trace_encoder_count(const struct trace_encoder *);
uint32_t trace_encoder_process(const struct trace_encoder *); /* of the first event */
struct trace_column {
	const uint8_t *p;
	size_t n;
};
#define TRACE_COLUMNS 10 /* the list of lengths, and nine columns */
/* The chunk's payload, in pieces; resets the encoder once they have been used. */
void trace_encoder_columns(struct trace_encoder *, struct trace_column out[TRACE_COLUMNS]);
void trace_encoder_reset(struct trace_encoder *);

struct trace_decoder;
struct trace_decoder *trace_decoder_new(void);
void trace_decoder_free(struct trace_decoder *);
/* `raw` must stay and be followed by CHUNK_SLACK bytes. 0 or -1. */
int trace_decoder_start(struct trace_decoder *, const struct chunk *, const uint8_t *raw);
void trace_decoder_stop(struct trace_decoder *); /* no event is left */
uint32_t trace_decoder_left(const struct trace_decoder *);
/* The next event, but for its number; false: bad bytes. */
bool trace_decoder_next(struct trace_decoder *, const struct trace_defs *, struct trace_event *);

/* --- writer.c, create.c, put.c and snapshot.c --- */

struct chunk_note { /* for the index */
	uint64_t length;
	uint32_t events;
	uint16_t type;
};
struct trace_writer {
	int fd;
	char *path;
	struct err failed; /* status != 0: no more can be written */
	uint64_t offset;   /* end of the last whole chunk */
	uint64_t events;
	struct trace_defs defs;
	struct defs_out pending;   /* definitions not yet written */
	struct trace_encoder *enc; /* events not yet written */
	uint64_t since;            /* ms: when the oldest of them came */
	struct buf out;
	void *zstd;
	VEC(struct chunk_note) note;
	struct hmap page_of;     /* hash of a page -> its number */
	VEC(uint64_t) page_hash; /* a second, independent hash by number */
};
uint64_t trace_now_ms(void);
/* Compresses the pieces, one zstd frame each, and writes the chunk. */
int trace_writer_chunk(struct trace_writer *, enum chunk_type, const struct trace_column *,
		       size_t columns, struct err *);
/* Writes w->out, in which the payload starts after room for the header. */
int trace_writer_raw(struct trace_writer *, struct chunk *, struct err *);
int trace_writer_good(struct trace_writer *, struct err *);  /* -1: it has failed before */
int trace_writer_defs(struct trace_writer *, struct err *);  /* pending definitions */
int trace_writer_flush(struct trace_writer *, struct err *); /* definitions, then events */
int trace_writer_idle(struct trace_writer *, struct err *);  /* flush what has waited long */
uint64_t trace_fd_size(int fd);                              /* of a file or a device */
/* Like pread, but through a mapping where a device has no read. */
ssize_t trace_fd_read(int fd, uint8_t *to, size_t n, uint64_t off);
/* Calls `use` with each page of a file that is not zero, in order; holes are not read. */
typedef int trace_page_use(void *arg, uint64_t index, const uint8_t *page, struct err *);
int trace_fd_pages(int fd, trace_page_use *, void *arg, struct err *);
/* `owner`: a file's id, or PAGES_NODE and a node's. */
#define PAGES_NODE ((uint64_t)1 << 32)
int trace_snapshot(struct trace_writer *, uint64_t owner, int fd, struct err *);

/* --- reader.c --- */

int trace_reader_defs(struct trace_reader *, struct err *); /* all definitions there are */
/* Calls `use` with each PAGES chunk. */
typedef int trace_pages_use(void *arg, const uint8_t *raw, size_t n);
int trace_reader_pages(struct trace_reader *, trace_pages_use *, void *arg, struct err *);

/* --- buildid.c --- */

/* The GNU build-id of an ELF file, at most 32 bytes; returns its length, 0 if none. */
size_t trace_build_id(const char *path, uint8_t id[32]);

#endif
