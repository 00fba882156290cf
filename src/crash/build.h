/* SPDX-License-Identifier: BSD-3-Clause */
/* What build.c (memory) and build_file.c (files) share: a history while it is being read. */
#ifndef HOLDFAST_CRASH_BUILD_H
#define HOLDFAST_CRASH_BUILD_H

#include "crash/internal.h"

#define NO_LINE UINT32_MAX
#define RECENT 1024u
#define MOST_PIECES 4000000000u

/* What makes a file longer: its data is on disk when the size is, if it can be written. */
struct appended {
	uint32_t line, lo, file; /* the line's lo before it */
};

struct build {
	struct crash_history *h;
	const struct trace_defs *defs;
	VEC(struct model_waits) thread;
	VEC(struct model_unit) unit; /* per line */
	VEC(uint32_t) dirty; /* lines with pieces that are not guaranteed, and perhaps others */
	VEC(uint8_t) listed; /* per line: it is in `dirty` */
	VEC(uint64_t) size;  /* per file, now */
	struct imap
		volatiles; /* bytes that are declared not to be persistent, as model_file_byte */
	const struct trace_event *ev;
	enum model_effect effect; /* its effect */
	uint32_t who, where;      /* its thread and place */
	struct {                  /* those looked up of late */
		uint64_t key;
		uint32_t process, place;
	} recent[RECENT];
	uint64_t last_thread; /* key + 1 */
	VEC(struct appended)
	appended;              /* since its file was synced; where sizes and data are in order */
	struct meta *meta;     /* build_meta.c; NULL: the model has no such thing */
	struct logged *logged; /* build_logged.c; likewise */
};

/* build.c */
uint32_t crash_build_find_line(const struct crash_history *, uint32_t file, uint64_t off);
/* Something with this effect covers the line. */
void crash_build_cover(struct build *, uint32_t line, enum model_effect);
void crash_build_write(struct build *, uint32_t file, uint64_t off, const uint8_t *src, uint64_t n,
		       enum model_effect);

/* The line's first `upto` pieces are guaranteed. */
void crash_build_raise(struct build *, uint32_t line, uint32_t upto);

/* build_meta.c: sizes and names; none of these does anything without b->meta, but the first. */
int crash_build_meta_start(struct build *, struct err *);
void crash_build_meta_stop(struct build *);
void crash_build_meta_names(struct build *); /* of this event */
void crash_build_meta_size(struct build *, uint32_t file, bool cut);
void crash_build_meta_synced(struct build *, uint32_t file);
void crash_build_meta_sync(struct build *);     /* NODE_SYNC */
void crash_build_meta_replaced(struct build *); /* NODE_MOVE */

/* The line can lose what is behind `lo` again. */
void crash_build_lower(struct build *, uint32_t line, uint32_t lo);

/* build_logged.c: names that a sync brings ahead of others; nothing is done without _start. */
void crash_build_logged_start(struct build *, const uint32_t *tied, uint32_t entries);
void crash_build_logged_stop(struct build *);
void crash_build_logged_change(struct build *, uint32_t entry); /* in this event */
void crash_build_logged_sync(struct build *, uint32_t node);

/* build_fault.c */
void crash_build_fault(struct build *); /* FAULT */
void crash_build_append(struct build *, uint32_t file, uint64_t off, const uint8_t *src,
			uint64_t n);
void crash_build_appended_synced(struct build *, uint32_t file); /* CRASH_NO_FILE: all */

/* build_file.c */
int crash_build_file_event(struct build *, struct err *);
int crash_build_node_event(struct build *, struct err *);
void crash_build_nodes(struct build *); /* the files that are not PM */
void crash_build_resize(struct build *, uint32_t file, uint64_t size);
void crash_build_sync(struct build *, uint32_t file, struct model_range);

#endif
