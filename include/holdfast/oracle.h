/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Custom oracles for `holdfast check --oracle FILE.so`.
 *
 * A plug-in is a shared object that defines one `const struct holdfast_oracle holdfast_oracle`:
 * a table of callbacks that see the run's events in order. What is NULL is not called. Tables of version 1,
 * which lack `automatic`, and of version 2, which lack `outside_calls`, are taken too. See
 * docs/HOWTO_ADD_ORACLE.md; the shipped ones are in oracles/.
 */
#ifndef HOLDFAST_ORACLE_H
#define HOLDFAST_ORACLE_H

#include <stddef.h>
#include <stdint.h>

#define HOLDFAST_ORACLE_API 3u

enum holdfast_level { HOLDFAST_ERROR, HOLDFAST_PERFORMANCE, HOLDFAST_WARNING, HOLDFAST_NOTE };

/* A kind of finding that the plug-in reports. Names are ids: keep them. */
struct holdfast_kind {
	const char *name; /* "redundant-log"; NULL ends the list */
	enum holdfast_level level;
	const char *title; /* "range is already in the undo log" */
	const char *help;  /* what it means and what to do */
};

/* One event. Only the fields that its callback speaks of are set. Valid during the call. */
struct holdfast_event {
	uint64_t num; /* position in the run */
	uint32_t process, thread;
	uint64_t addr, size;                /* store, flush (its line), map, unmap */
	const unsigned char *bytes;         /* store: the new value */
	int nontemporal, atomic, by_kernel; /* store */
	const char *function;               /* call, ret */
	uint64_t arg[6];                    /* call: the integer arguments */
	uint64_t result[2];                 /* ret: rax and rdx */
	int unwound; /* ret: left by longjmp or an exception, there is no result */
	uint64_t id; /* op_begin, op_end */
	uint64_t ip; /* the instruction; since version 2 */
};

/* The state of a cache line, one bit per byte; bit 0 is the lowest address. */
struct holdfast_line {
	uint64_t dirty;   /* newest value not flushed */
	uint64_t pending; /* flushed, not fenced */
	uint64_t ever;    /* persistent at some time */
};

struct holdfast_source {
	const char *function, *file; /* NULL: unknown */
	unsigned line;               /* 0: unknown */
};

/* What a plug-in may ask and say. A `where` names an event's place and stays valid. */
struct holdfast_host {
	unsigned api;
	uint64_t (*where)(
		const struct holdfast_event *); /* the event's place; 0 in start and end */
	void (*source)(uint64_t where, struct holdfast_source *);
	/* In persistent memory, and not declared volatile. */
	int (*is_pm)(uint32_t process, uint64_t addr);
	void (*line)(uint32_t process, uint64_t addr, struct holdfast_line *);
	/* Copies what the run has stored at addr; returns how many bytes of it are known. */
	size_t (*value)(uint32_t process, uint64_t addr, void *buf, size_t len);
	/* "pool+0x40"; valid until the next call. */
	const char *(*describe)(uint32_t process, uint64_t addr);
	/* kind: index into the plug-in's kinds. related: a further place, 0: none.
	 * The same kind at the same place is one finding, counted. */
	void (*report)(unsigned kind, uint64_t where, uint64_t related, const char *fmt, ...)
		__attribute__((format(printf, 4, 5)));
};

struct holdfast_oracle {
	unsigned api; /* HOLDFAST_ORACLE_API */
	const char *name, *about;
	const struct holdfast_kind *kinds;
	const char *const *watch; /* globs of functions whose calls it wants; ended by NULL */
	void *(*start)(const struct holdfast_host *); /* its result is passed to the others */
	void (*store)(void *, const struct holdfast_event *);
	void (*flush)(void *, const struct holdfast_event *);
	void (*fence)(void *, const struct holdfast_event *);
	void (*call)(void *, const struct holdfast_event *);
	void (*ret)(void *, const struct holdfast_event *);
	void (*map)(void *, const struct holdfast_event *);
	void (*unmap)(void *, const struct holdfast_event *);
	void (*op_begin)(void *, const struct holdfast_event *);
	void (*op_end)(void *, const struct holdfast_event *);
	void (*end)(void *); /* the run is over: last chance to report; frees its state */
	/* Globs of functions, ended by NULL. In a folder for plug-ins, it loads by itself when the program
	 * first calls one of them, which must be among those that it watches, and sees what follows. NULL: it
	 * has to be asked for. */
	const char *const *automatic;
	/* It never asks for a `value`: what the run stores need not be kept for it. */
	int no_values;
	/* Stores, flushes and fences that a thread makes within a watched function are none of its business. */
	int outside_calls;
};

#endif
