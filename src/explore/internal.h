/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An exploration, and what the files of src/explore do. Each includes the header of the smallest
 * struct that it needs.
 *
 *   explore.c   an exploration from start to end, phase by phase; its result
 *   round.c     one round: engine and explorers for one list of sources
 *   loop.c      … its runs: inputs from the engine to idle explorers and back
 *   slot.c      one explorer, and the events of its run; log.c copies of events
 *   source.c    sources, from the options; packet.c, range.c, seed.c what their bytes are
 *   memory.c    memory that the program itself names as symbolic
 *   input.c     an input: its size, its rank, as text
 *   left.c      input that was not followed
 *   found.c     findings with the smallest input for each; what check says of a run
 *   death.c     crashes and hangs, once more without the tracer; place.c where they are
 *   recover.c   crash campaigns on paths with a new behaviour
 *   shrink.c    smaller inputs
 *   folder.c    the folder: command, inputs, findings, counts; witness.c a finding's input as text
 *   files.c     an input as files; script.c the script that runs the program with it
 *   native.c    that script in a sandbox, also under `holdfast record`
 *   verify.c    the self-check: is what is recorded what is there?
 *   replay.c    a finding's input again
 *   chart.c     numbers over time, and sums
 */
#ifndef HOLDFAST_EXPLORE_INTERNAL_H
#define HOLDFAST_EXPLORE_INTERNAL_H

#include "explore/folder.h"

/* chart.c */
void explore_chart_add(struct explore_chart *, double seconds, const struct symbolic_stats *,
		       size_t findings);
/* `all` are those of engines that are gone. */
void explore_stats_add(struct symbolic_stats *all, const struct symbolic_stats *);

/* recover.c */
struct explore_recovery {
	VEC(struct symbolic_input) input; /* to be crashed */
	uint64_t campaigns, unwell;
	char *why_unwell;
};
/* Crashes all of them. */
int explore_recover(struct explore *, struct err *);
void explore_recovery_free(struct explore_recovery *);

/* verify.c: the round's first input, and those of its findings; a recording. */
void explore_verify(struct explore *);
void explore_verify_recording(struct explore *, const char *dir);

/* What there is for one list of sources. */
struct explore_round {
	struct symbolic *sym;
	struct explore_slot *slot;   /* as many as there are jobs */
	size_t started;              /* … of them */
	size_t jobs;                 /* … that may run side by side */
	struct symbolic_input ready; /* the next one, made while runs were under way; n 0: none */
	bool dry;                    /* the engine has no more inputs */
	struct explore_memory memory;
};

/* left.c */
struct explore_lefts {
	VEC(struct explore_left) v;
	struct hmap known; /* hashes of places */
};
void explore_lefts_look(struct explore_lefts *, const struct explore_slot *); /* after a run */
void explore_lefts_free(struct explore_lefts *);

/* Numbers and words for the result: see struct explore_result. */
struct explore_tally {
	double begun, seconds;
	struct symbolic_stats before; /* of engines that are gone */
	struct explore_chart chart;
	VEC(struct explore_concrete) concrete;
	struct explore_lefts lefts;
	uint64_t kind[TRACE_KINDS], dirtied;
	bool used, viewed;
	const char *cut;
	char *alone, *unused;
	char *differs;    /* what the self-check found; NULL: nothing */
	double verifying; /* seconds that it took */
};

struct explore {
	const struct explore_opts *o;
	struct explore_folder *folder;
	const struct explore_hooks *hooks;
	void *arg;

	unsigned last_phase;
	struct explore_plan *plan; /* of this phase */
	struct explore_round round;
	uint64_t runs; /* that were begun, in all rounds */

	struct explore_found found;
	struct explore_deaths deaths;
	struct explore_recovery recovery;
	struct explore_tally tally;
};
bool explore_stopped(const struct explore *);
struct explore_stage explore_stage(const struct explore *);
/* Number of the first run of a path, from 1, in all rounds. */
uint64_t explore_path(const struct explore *, uint64_t number);

/* Tells the hook how far it is, and the chart from time to time. */
void explore_step(struct explore *);

/* round.c: all rounds of the plan. */
int explore_phase(struct explore *, struct err *);
void explore_round_end(struct explore *);
/* loop.c: until all is explored, a limit is reached or there is a new source. */
int explore_loop(struct explore *, struct err *);
/* Until the run of the first explorer, which is needed once more, has ended. */
int explore_settle(struct explore *, struct err *);
/* What a run shows. */
int explore_look(struct explore *, struct explore_slot *, uint64_t number,
		 const struct launch_explorer_run *, struct err *);
/* What is not safe yet: now and then, or `all` of it, at once. */
int explore_keep(struct explore *, bool all, struct err *);

#endif
