/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the three parts of the live side share: live.c (the ring, slots, waiting), records.c
 * (what a record means) and files.c (requests about PM files), nodes.c (about
 * all that has names).
 */
#ifndef HOLDFAST_TRACE_RING_H
#define HOLDFAST_TRACE_RING_H

#include "trace/internal.h"

/* One slot, as holdfast sees it. The producer's side is struct ring_slot. */
struct slot {
	bool active;   /* a producer has been seen in it */
	bool bad;      /* it said something that makes no sense: not listened to any more */
	bool ended;    /* DEF_END was seen */
	bool draining; /* guards against circles of parents */
	uint32_t pid;
	uint64_t born; /* when the process started, to tell it from a later one of that number */
	uint32_t process, thread;
	uint32_t kept; /* of the next event */
	uint64_t tail, published;
	uint64_t claimed; /* ms: when it was first seen CLAIMED */
};

struct live_file {
	uint64_t dev, ino, born; /* born: 0 if the file system does not say */
	uint32_t pm;             /* of a node: the PM file that it is, plus 1 */
};
/* What a process calls its files. A fork starts with its parent's names. */
struct live_process {
	struct hmap file; /* tracer's id -> id in the trace */
	struct hmap node; /* … of nodes */
};

/* Where a fork server stands: rewind.c. */
struct live_mark {
	bool marked;
	unsigned slot;
	uint32_t thread, process, files, nodes, answered;
	uint64_t events, kept;
};

#define RECENT_SITES 256u

struct recent_site {
	uint32_t process, site;
	uint64_t ip;
};

struct trace_live {
	int fd;
	struct ring_header *ring;
	struct trace_writer *writer; /* NULL: none, or it failed and that has been said */
	trace_sink *sink;
	trace_sink *sym; /* NULL: nobody wants records of symbolic execution */
	void *arg;
	struct trace_defs defs;
	uint64_t events;
	struct recent_site recent[RECENT_SITES];
	struct slot slot[RING_SLOTS];
	VEC(struct live_process) process;
	VEC(struct live_file) file; /* by id in the trace */
	struct hmap file_of;        /* hash of dev and ino -> newest file with them */
	VEC(struct live_file) node; /* by id in the trace */
	struct hmap node_of;        /* likewise */
	uint64_t kept;              /* bytes of nodes' initial contents */
	struct hmap forked;         /* pid of a child that is yet to appear -> process it is from */
	struct hmap newest;         /* pid -> newest process of that number */
	struct live_mark mark;
	struct live_verify *verify; /* NULL: files are not compared */
	uint32_t unseen;            /* bits by enum trace_unseen */
	unsigned turn;              /* slot to start the next round with */
	uint64_t checked;           /* ms: when producers were last seen alive */
	unsigned nap;               /* ms to wait next time */
};

/*
 * FAILED: a writer, sink or other slot failed; the record itself was taken in. LATER: it has
 * to wait for another process's records and stays where it is.
 */
enum taken { TAKEN = 0, TAKEN_FAILED = -1, TAKEN_BAD = -2, TAKEN_LATER = -3 };

/* A record has the form of an event; its kind may be a definition's. */
enum taken trace_live_take(struct trace_live *, struct slot *, struct trace_event *, struct err *);
int trace_live_args(unsigned kind); /* number of arguments, -1: no such kind */

uint64_t trace_live_ip(struct trace_live *, uint32_t process, uint32_t site);
enum taken trace_live_take_sym(struct trace_live *, struct slot *, struct trace_event *,
			       struct err *);
enum taken trace_live_event(struct trace_live *, struct slot *, struct trace_event *, struct err *);
enum taken trace_live_file(struct trace_live *, struct slot *, const struct trace_event *,
			   struct err *);
enum taken trace_live_range(struct trace_live *, struct slot *, const struct trace_event *,
			    struct err *);
enum taken trace_live_node(struct trace_live *, struct slot *, const struct trace_event *,
			   struct err *);
/* What a process writes to a node that is PM for another is written to the PM file. */
void trace_live_node_event(struct trace_live *, struct trace_event *);
uint32_t trace_live_node_id(const struct trace_live *, uint32_t process, uint64_t id);
/* An open file; `offset` is -1, or where the program's own descriptor stood. */
struct opened {
	int fd;
	off_t offset;
};
/* The very file if its descriptor can be had, else what has its path and inode now. */
struct opened trace_live_open(const struct trace_live *, const struct slot *, uint64_t fd,
			      const char *path, uint64_t ino);
void trace_live_close(struct opened);
uint64_t trace_live_born(int fd); /* 0: the file system does not say */
/* The trace's id of a file that the process calls `id`, or TRACE_NO_FILE. */
uint32_t trace_live_file_id(const struct trace_live *, uint32_t process, uint64_t id);
/* What became of a call on the writer: it is not called again after a failure. */
enum taken trace_live_written(struct trace_live *, int result);
/* The payload as a C string. */
char *trace_live_text(const struct trace_event *);

/* Takes in what there is, up to `budget` bytes. 1: something was there, 0, -1. */
int trace_live_drain(struct trace_live *, unsigned slot, uint64_t budget, struct err *);
/* Frees the slot; its producer is gone and its records are taken in. */
int trace_live_release(struct trace_live *, unsigned slot, struct err *);
void trace_live_answer(struct trace_live *, struct slot *, enum ring_answer);

/* --- verify.c: copies of the files, to be compared at the end --- */

/* The next file; `keep`: the descriptor has an offset and locks of its own, and may stay open. */
void trace_verify_file(struct live_verify *, int fd, bool keep);
void trace_verify_event(struct live_verify *, const struct trace_event *);
void trace_verify_free(struct live_verify *);

#endif
