/* SPDX-License-Identifier: BSD-3-Clause */
/* Explorers, and the events of their runs. */
#ifndef HOLDFAST_EXPLORE_SLOT_H
#define HOLDFAST_EXPLORE_SLOT_H

#include "explore/input.h"

/* log.c: copies of events, packed: there may be millions before the snapshot. */
struct explore_log {
	struct buf bytes;
	uint64_t first, n; /* number of the first event; how many there are */
};
void explore_log_add(struct explore_log *, const struct trace_event *);
void explore_log_each(const struct explore_log *, const struct trace_defs *,
		      void (*each)(void *, const struct trace_event *), void *);
void explore_log_clear(struct explore_log *);
void explore_log_free(struct explore_log *);

/* Input bytes went where they are not followed. */
struct explore_gone {
	enum sym_left how;
	uint32_t ctx;
	uint64_t ip;
};

/* slot.c */
struct explore_slot {
	struct launch_explorer_opts opts;
	struct launch_explorer *launch;
	struct symbolic_run *run; /* NULL: none, or one that the engine is not told of */
	struct symbolic_input input;
	bool busy, prefix_over;
	uint64_t number; /* of the run */
	struct explore_log prefix, log;
	struct explore_log places; /* of the prefix: what the engine needs if no run follows */
	uint64_t *told;            /* sites and contexts in there; the last ones */
	struct check *ready; /* has heard the prefix, for the first run that is checked; or NULL */
	bool whole_prefix;   /* it has the symbolic records of the prefix, too: the first slot */
	uint64_t kind[TRACE_KINDS];     /* events, not yet added up */
	uint64_t prefix_stores, stores; /* to PM; the second counts both */
	uint64_t effect;                /* hash of the PM events, addresses included */
	uint64_t trail;                 /* … of the symbolic branches */
	uint64_t branches;              /* how many there were */
	uint64_t last_ip;               /* of the last that was heard of the run */
	uint32_t last_ctx;
	VEC(struct explore_gone) gone; /* input that was not followed in this run */
};
/*
 * Starts the program; *used: it takes its input at all. With `check` it is the first of its round:
 * the prefix is checked while it runs, and kept whole for the engine.
 */
int explore_slot_start(struct explore_slot *, const struct explore_program *,
		       const struct explore_plan *, const struct check_opts *check, bool *used,
		       struct err *);
/* How a program that did not take its input ended, and its last words; NULL: nothing to say. */
char *explore_slot_last_words(struct explore_slot *);
/* Tells the engine what happened before the snapshot. */
void explore_slot_prefix(struct explore_slot *, struct symbolic *, bool used);
/* Takes the input; engine: it is told of the run; may be NULL. */
int explore_slot_go(struct explore_slot *, struct symbolic_input *, struct symbolic *engine,
		    struct err *);
/* 1: the run has ended; 0: not yet. */
int explore_slot_poll(struct explore_slot *, int ms, struct launch_explorer_run *, struct err *);
/* Waits for a run that the engine is not told of; stop: see struct explore_opts. */
int explore_slot_try(struct explore_slot *, const struct symbolic_input *,
		     const volatile sig_atomic_t *stop, struct launch_explorer_run *, struct err *);
/* What check says of the events of its run. */
int explore_slot_check(struct explore_slot *, const struct check_opts *, struct finding_set *,
		       struct err *);
void explore_slot_end(struct explore_slot *);

#endif
