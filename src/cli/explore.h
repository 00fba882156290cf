/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * holdfast explore, in parts:
 *
 *   explore.c          the verb, its options, from the start to the report
 *   explore_source.c   sources, from the options; explore_seed.c their seeds and ranges
 *   explore_loop.c     runs: inputs from the engine to the explorers and back
 *   explore_slot.c     one explorer, and the events of its run
 *   explore_memory.c   memory that the program itself names as symbolic
 *   explore_find.c     what a run shows: check, crashes, hangs; the smallest input for each
 *   explore_recover.c  crash campaigns on paths that do something new to PM
 *   explore_shrink.c   smaller inputs, at the end
 *   explore_keep.c     the folder: settings, inputs, findings; going on with it
 *   explore_files.c    an input as files, with a script that runs the program with it
 *   explore_native.c   that script in a sandbox, without the tracer
 *   explore_say.c      what is said, while it runs and at its end
 *   explore_replay.c   holdfast replay, for what an input shows
 */
#ifndef HOLDFAST_CLI_EXPLORE_H
#define HOLDFAST_CLI_EXPLORE_H

#include "check/check.h"
#include "cli/campaign.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/settings.h"
#include "launch/launch.h"
#include "symbolic/symbolic.h"

struct explore_opts {
	struct run_opts run;
	struct output_opts output;
	struct campaign_opts crash; /* recover and what belongs to it; resume, fresh, jobs */
	struct cli_list sym_arg, sym_args, sym_file, sym_env, sym_pm, packet, seed, range, oracle;
	uint64_t sym_stdin, sym_socket, max_paths, max_findings, random, max_targets;
	const char *strategy, *max_time, *max_memory, *timeout, *solver_timeout;
	const char *folder, *csv, *export_dir;
	bool sym_memory, printable, pin, no_fork, show_priorities, notes, verify;
};
extern const struct cli_option explore_options[];
bool explore_kept(const struct cli_option *); /* it is one of the exploration's settings */

/* ---- explore_source.c ---- */

/* Beside struct sym_source: what it is called, and what it may be. */
struct explore_source {
	char *name;     /* for --seed, --range and as a file's name: "stdin", "arg1", "file-cmds" */
	char *given;    /* what the user calls it: a path, a variable */
	bool pm;        /* the contents of a pool: never longer or shorter */
	bool text;      /* ends at its first zero byte */
	uint8_t lo, hi; /* of its bytes */
	uint8_t *base;  /* what it is without --seed */
	uint32_t nbase;
	struct cli_list seed; /* files */
};
/* What is run: the program with its arguments, its sources and the inputs to begin with. */
struct explore_plan {
	char **argv; /* ended by NULL */
	size_t argc;
	VEC(struct sym_source) source;
	size_t given;                     /* … by options; the others are the program's memory */
	VEC(struct explore_source) about; /* one for each source */
	VEC(uint32_t) packet;             /* lengths */
	uint8_t *lo, *hi, *fixed;
	size_t n; /* bytes of an input */
	VEC(struct symbolic_input) seed;
	VEC(struct symbolic_input) later; /* worth a try, when there is nothing better */
};
/* `extra` of the arguments that --sym-args may add are there. */
struct explore_plan *explore_plan_new(const struct explore_opts *, char **argv, unsigned extra,
				      struct err *);
void explore_plan_free(struct explore_plan *);
/* --sym-args: from how many to how many; both 0 without it. */
int explore_extra(const struct explore_opts *, unsigned *min, unsigned *max, struct err *);

/* explore_seed.c */
int explore_plan_seeds(struct explore_plan *, const struct explore_opts *, struct err *);
int explore_packets(struct explore_plan *, const struct explore_opts *, struct buf *bytes,
		    struct buf *fixed, struct err *);
uint8_t *explore_read(const char *path, uint64_t off, size_t max, size_t *n, struct err *);
/* How many bytes of a source count: up to now, and of a text up to its end. */
uint32_t explore_length(const struct explore_plan *, size_t source, const struct symbolic_input *);
/* The smaller, the better the input is to look at. */
uint64_t explore_rank(const struct explore_plan *, const struct symbolic_input *);
struct symbolic_input explore_copy(const struct symbolic_input *);
/* For people: a line a source; xmalloc'ed. */
char *explore_text(const struct explore_plan *, const struct symbolic_input *);

/* ---- explore_slot.c ---- */

/* Copies of events, packed: there may be millions before the snapshot. */
struct explore_log {
	struct buf bytes;
	uint64_t first, n; /* number of the first event; how many there are */
};
struct explore;
struct explore_slot {
	struct explore *x;
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
	uint64_t prefix_stores, stores; /* to PM; the second counts both */
	uint64_t shape;                 /* hash of the PM events, addresses included */
	uint64_t trail;                 /* … of the symbolic branches */
	uint64_t branches;              /* how many there were */
	uint64_t last_ip;               /* of the last that was heard of the run */
	uint32_t last_ctx;
};
/* Starts the program; *used: it takes its input at all. */
int explore_slot_start(struct explore_slot *, struct explore *, bool *used, struct err *);
/* How a program that did not take it ended, and its last words; NULL: there is nothing to say. */
char *explore_slot_last_words(struct explore_slot *);
/* Tells the engine what happened before the snapshot. */
void explore_slot_prefix(struct explore_slot *, bool used);
/* Takes the input. */
int explore_slot_go(struct explore_slot *, struct symbolic_input *, bool tell, struct err *);
/* 1: the run has ended; 0: not yet. */
int explore_slot_poll(struct explore_slot *, int ms, struct launch_explorer_run *, struct err *);
/* Waits for a run that the engine is not told of. */
int explore_slot_try(struct explore_slot *, const struct symbolic_input *,
		     struct launch_explorer_run *, struct err *);
void explore_slot_end(struct explore_slot *);
void explore_log_add(struct explore_log *, const struct trace_event *);
void explore_log_each(const struct explore_log *, const struct trace_defs *,
		      void (*each)(void *, const struct trace_event *), void *);
void explore_log_free(struct explore_log *);

/* ---- the exploration ---- */

/* A finding and the input that shows it. */
struct explore_hit {
	struct finding *f; /* in the set */
	struct symbolic_input input;
	unsigned phase;
	size_t nsources;
	uint64_t branches, trail; /* of its path */
	uint64_t death;           /* of a crash or hang: see explore_find.c */
	char *campaign;           /* folder of the crash campaign; NULL: none */
	bool kept;                /* its folder is as it should be */
};
/* A place where runs crash or hang. */
struct explore_death {
	uint64_t key;
	unsigned looks;    /* how many were made again, without the tracer */
	struct finding *f; /* NULL: it is none there */
};
struct explore_totals { /* of phases that are over */
	struct symbolic_stats stats;
	double solving;
};
#define EXPLORE_COLUMNS 6
struct explore {
	struct explore_opts *o;
	char *dir, *cwd; /* absolute, both */
	char *shown;     /* the folder as it was given */
	char **argv;
	size_t argc;
	struct settings_own own;
	struct campaign_db *db;
	struct output out;

	unsigned phase, min_extra, max_extra; /* how many extra arguments there are now */
	struct explore_plan *plan;
	struct symbolic *sym;
	struct explore_slot *slot;
	size_t nslots, started;

	VEC(struct sym_source) memory; /* sources that the plan does not have yet */
	struct buf memory_bytes;
	VEC(struct explore_concrete {
		char *name;
		uint64_t n;
	})
	concrete; /* operations that were not followed */

	struct finding_set set;
	VEC(struct explore_hit) hit;
	VEC(struct explore_death) death;
	struct hmap shapes; /* runs that were checked */
	VEC(struct symbolic_input) recover;
	struct symbolic_input ready; /* the next one, made while runs were under way; n 0: none */
	struct explore_totals before;
	VEC(double) chart; /* rows of EXPLORE_COLUMNS */

	double begun, spent_before, said, kept, charted;
	double time_limit, run_limit, solver_limit, seconds;
	size_t charted_findings;
	uint64_t max_memory, runs, crashed, hung, tracer_only, dirtied, paths_before;
	uint64_t campaigns, unwell; /* recoveries that fail without a crash */
	uint64_t next_input;        /* number for the store */
	struct hmap inputs;         /* that the store has from before */
	uint64_t kind[TRACE_KINDS];
	double checking;
	unsigned looks; /* of all deaths */
	bool news;      /* findings that are not kept yet */
	bool used, dry;
	const char *cut; /* why it ended before it was through; NULL: it was */
	char *alone;     /* why it does not fork */
	char *unused;    /* how it ended without its input */
	char *why_unwell;
	bool resumed;
};
int explore_limits(struct explore *, struct err *); /* from the options */
void explore_end(struct explore *);
void explore_opts_free(struct explore_opts *);
const volatile sig_atomic_t *explore_signals(void);
bool explore_interrupted(void);
void explore_catch(bool on);
/* How many bytes, paths, … so far, in all phases. */
struct symbolic_stats explore_stats(struct explore *);

/* explore_loop.c: all of one phase. */
int explore_phase(struct explore *, struct err *);
/* Remembers what was not followed, before the engine goes. */
void explore_keep_concrete(struct explore *);
size_t explore_cores(void);

/* explore_memory.c */
/* The program has named memory that the plan does not have. */
bool explore_memory_found(struct explore *, const struct explore_slot *);
bool explore_memory_extend(struct explore *); /* the plan gets it; false: there is none */

/* explore_find.c */
/* What a run shows, into the set. */
int explore_look(struct explore *, struct explore_slot *, const struct symbolic_outcome *,
		 const struct launch_explorer_run *, struct err *);
/* What `check` says of the events of a slot. */
struct check *explore_check_new(const struct explore *, const struct explore_slot *, struct err *);
int explore_check(const struct explore *, struct explore_slot *, struct finding_set *,
		  struct err *);
struct explore_hit *explore_hit(struct explore *, const struct finding *);
/* The finding that a set got, with the input that shows it; path is the run's number. */
struct finding *explore_add(struct explore *, struct finding *, const struct explore_slot *,
			    const struct symbolic_input *, uint64_t path);
/* Does a run that ended so show the hit? */
bool explore_shows(struct explore *, const struct explore_hit *, struct explore_slot *,
		   const struct launch_explorer_run *);

/* explore_recover.c */
int explore_recover(struct explore *, struct err *);

/* explore_shrink.c */
int explore_shrink(struct explore *, struct err *);

/* explore_keep.c */
int explore_open(struct explore *, struct err *); /* dir is set; so is argv, unless it goes on */
int explore_load(struct explore *, struct err *); /* settings and command, from the store */
int explore_keep_input(struct explore *, const struct symbolic_input *, struct err *);
/* What is not safe yet: now and then, or `all` of it, at once. */
int explore_keep_now(struct explore *, bool all, struct err *);
int explore_keep_end(struct explore *, struct err *);
int explore_seeds_kept(struct explore *, struct err *); /* to be run again */
int explore_export(struct explore *, struct err *);
/* An input and its hit as text, for the store. */
char *explore_witness(const struct explore_hit *);
int explore_witness_parse(const char *text, struct explore_hit *, struct err *);

/* explore_files.c */
int explore_files(const struct explore *, const struct explore_plan *,
		  const struct symbolic_input *, const char *dir, struct err *);
void explore_quote(struct buf *, const char *, size_t n); /* a word for bash */
int explore_mkdir(const char *, struct err *);            /* with its parents */

/* explore_native.c */
struct explore_native {
	int status, signal; /* as a shell has it */
	bool hung;
	char *text; /* what it printed on stdout; xmalloc'ed */
};
/* Runs `run` of an input's folder; under: words before the program, for bash, or NULL. What it
 * prints is lost, unless there are such words. */
int explore_native(const struct explore *, const struct explore_plan *, const char *dir,
		   const char *under, struct explore_native *, struct err *);
/* The same on the terminal. */
int explore_native_here(const struct explore *, const struct explore_plan *, const char *dir,
			const char *under, struct explore_native *, struct err *);
/* Records it, into the file `trace`. */
int explore_record(const struct explore *, const struct explore_plan *, const char *dir,
		   const char *trace, struct err *);

/* explore_say.c */
void explore_say(struct explore *); /* the live line, and a row of the chart */
void explore_row(struct explore *);
int explore_report(struct explore *, struct err *);
int explore_csv(const struct explore *, const char *path, struct err *);
void explore_priorities(struct explore *, FILE *);

/* explore_replay.c: 1 it shows again, 0 it does not, -1 err. *campaign: the folder of the crash
 * campaign that found it, which can replay it; xmalloc'ed, NULL: none. */
int explore_replay(const char *dir, const char *id, bool gdb, char **campaign, struct err *);
bool explore_is(struct campaign_db *); /* the folder is an exploration's */

#endif
