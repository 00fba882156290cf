/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of `holdfast dump` share: dump.c, dump_events.c, dump_summary.c, dump_text.c. */
#ifndef HOLDFAST_CLI_DUMP_H
#define HOLDFAST_CLI_DUMP_H

#include "base/base.h"
#include "srcloc/srcloc.h"
#include "trace/trace.h"

/* A stretch of a PM file that a process has mapped; `addr` is where file offset `offset` lies. */
struct dump_piece {
	uint64_t addr, offset;
	uint32_t file;
};

/* A trace being read: where its modules and PM files are mapped at the current event. */
struct dump {
	const char *dir;
	bool json;
	struct trace_reader *reader;
	const struct trace_defs *defs;
	struct srcloc_trace *loc;
	VEC(struct imap) pm; /* by process; the value is an index into piece */
	VEC(struct dump_piece) piece;
	uint64_t moved; /* changes of the mapped modules: what was said of addresses is void */
};

/* Where in a PM file an address lies; false: in none. */
bool dump_place(const struct dump *, uint32_t process, uint64_t addr, struct dump_piece *at);

/* Calls `use` with each event up to `to`, with the state as the event needs it. */
typedef void dump_use(struct dump *, const struct trace_event *, void *arg);
int dump_each(struct dump *, uint64_t to, dump_use *use, void *arg, struct err *);

int dump_events(struct dump *, uint64_t from, uint64_t to, struct err *);
int dump_summary(struct dump *, uint64_t top, struct err *);

/* dump_text.c: names of things. */
const char *dump_file_path(const struct dump *, uint32_t file);
const char *dump_file_name(const struct dump *, uint32_t file); /* short, if it is the only one */
/* "clwb", "sfence", "atomic", …; NULL where the kind of event says it all. */
const char *dump_flavour(const struct dump *, const struct trace_event *);
void dump_command(const struct trace_process_def *, struct buf *); /* quoted for a shell */
const char *dump_signal(uint64_t number, char buf[32]);            /* "SIGSEGV" */

/* JSON: a string (NULL gives null), with quotes; a frame; the command as an array. */
void dump_json_bytes(struct buf *, const char *, size_t);
void dump_json_text(struct buf *, const char *);
void dump_json_frame(struct buf *, const struct srcloc_frame *);
void dump_json_command(struct buf *, const struct trace_process_def *);

#endif
