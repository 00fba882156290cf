/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls of a run as its events tell them: a stack of calls for each thread, of those in which something
 * happened. Two calls from one place are told apart by `kept` of the event (trace.h).
 *
 *	event's path     main > put > persist        main > put (kept: main)
 *	                 open main, put, persist     close persist, put; open put
 */
#ifndef HOLDFAST_INFER_WALK_H
#define HOLDFAST_INFER_WALK_H

#include "base/base.h"
#include "srcloc/srcloc.h"
#include "trace/trace.h"

/* Those of a call's own calls that changed something, in order; only if they are wanted. */
struct infer_child {
	uint64_t site, target;  /* the call instruction, and what it called */
	uint64_t begin, end;    /* events in it, the first and the last that matter */
	uint64_t before, after; /* how many stores the thread had made before it, and after it */
	uint64_t
		rest; /* the last event that matters before the next one, or before `said`; >= end */
	uint64_t said; /* the first output after its end and before the next; UINT64_MAX: none */
	bool maps;     /* PM was mapped or unmapped in it */
};

struct infer_call {
	uint32_t ctx;
	uint64_t number;       /* of all calls of the walk, from 1 */
	uint64_t site, target; /* likewise */
	uint64_t begin, end;   /* likewise; begin UINT64_MAX: nothing that matters yet */
	uint64_t stores;       /* in it and in what it called */
	uint64_t before;       /* … of the thread before it */
	uint64_t spoke;        /* the last output in it; 0: none */
	uint64_t mapped;       /* the first event in it that mapped PM, plus 1; 0: none */
	bool unmaps;           /* PM was unmapped in it */
	bool locks;            /* a function for locks has called it */
	VEC(struct infer_child) child;
	void *own; /* for those who walk */
};

struct infer_thread {
	uint32_t process, thread;
	uint64_t stores;             /* so far */
	uint64_t own;                /* for those who walk */
	uint64_t persists;           /* events that make something persistent, so far */
	VEC(struct infer_call) call; /* outermost first */
	VEC(uint32_t) path;
};

struct infer_walk {
	const struct trace_defs *defs;
	struct srcloc_trace *src; /* its own */
	struct hmap lock; /* process and instruction -> 1: of a function for locks, 2: not */
	struct hmap at;   /* process and thread -> thread */
	VEC(struct infer_thread *) thread;
	uint64_t calls;                                /* so far */
	void (*closed)(void *, struct infer_thread *); /* the innermost call ends; may be NULL */
	/* An event that is no lock's has happened in the innermost call; may be NULL. */
	void (*seen)(void *, struct infer_thread *, const struct trace_event *);
	void *arg;
};

/* What an event does to the files: it changes them, it makes changes persistent, or neither. */
bool infer_changes(const struct trace_event *);
bool infer_persists(const struct trace_event *);

/* `defs`, the functions and `arg` are set. */
void infer_walk_begin(struct infer_walk *);
void infer_walk_event(struct infer_walk *, const struct trace_event *);
void infer_walk_end(struct infer_walk *); /* ends all calls, and frees what it has */

#endif
