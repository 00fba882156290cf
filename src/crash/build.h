/* SPDX-License-Identifier: BSD-3-Clause */
/* What build.c (memory) and build_file.c (files) share: a history while it is being read. */
#ifndef HOLDFAST_CRASH_BUILD_H
#define HOLDFAST_CRASH_BUILD_H

#include "crash/internal.h"

#define PAGE 4096u
#define NO_LINE UINT32_MAX
#define RECENT 1024u
#define MOST_PIECES 4000000000u

/* A flush that waits for its thread's fence. */
struct waiting {
	uint32_t line, upto;
};
struct thread {
	VEC(struct waiting) waiting;
};
struct build {
	struct crash_history *h;
	VEC(struct thread) thread;
	VEC(uint32_t) count, lo; /* per line: pieces so far, and guaranteed ones */
	VEC(uint32_t) dirty;     /* lines with pieces that are not guaranteed, and perhaps others */
	VEC(uint8_t) listed;     /* per line: it is in `dirty` */
	VEC(uint64_t) size;      /* per file, now */
	VEC(char *) name;
	const struct trace_event *ev;
	uint32_t who, where; /* its thread and place */
	struct {             /* those looked up of late */
		uint64_t key;
		uint32_t process, place;
	} recent[RECENT];
	uint64_t last_thread; /* key + 1 */
};

/* build.c */
uint32_t crash_build_find_line(const struct crash_history *, uint32_t file, uint64_t off);
void crash_build_raise(struct build *, uint32_t line, uint32_t lo);
void crash_build_write(struct build *, uint32_t file, uint64_t off, const uint8_t *src, uint64_t n,
		       bool open);

/* build_file.c */
int crash_build_file_event(struct build *, struct err *);
void crash_build_resize(struct build *, uint32_t file, uint64_t size);
void crash_build_sync(struct build *, uint32_t file, uint64_t from, uint64_t to);

#endif
