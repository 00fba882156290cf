/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of src/explore share; each works on the smallest struct that it needs.
 *
 *   explore.c   an exploration from start to end, phase by phase; its result
 *   round.c     one round: engine and explorers for one list of sources
 *   loop.c      … its runs: inputs from the engine to idle explorers and back
 *   slot.c      one explorer, and the events of its run; log.c copies of events
 *   source.c    sources, from the options; packet.c, range.c, seed.c what their bytes are
 *   memory.c    memory that the program itself names as symbolic
 *   input.c     an input: its size, its rank, as text
 *   found.c     findings with the smallest input for each; what check says of a run
 *   death.c     crashes and hangs, once more without the tracer; place.c where they are
 *   recover.c   crash campaigns on paths with a new behaviour
 *   shrink.c    smaller inputs
 *   folder.c    the folder: command, inputs, findings, counts; witness.c a finding's input as text
 *   files.c     an input as files; script.c the script that runs the program with it
 *   native.c    that script in a sandbox, also under `holdfast record`
 *   replay.c    a finding's input again
 *   chart.c     numbers over time, and sums
 */
#ifndef HOLDFAST_EXPLORE_INTERNAL_H
#define HOLDFAST_EXPLORE_INTERNAL_H

#include "explore/explore.h"

/* ---- sources and inputs ---- */

/* Beside struct sym_source: what it is called, and what it may be. */
struct explore_source {
	char *name;     /* for --seed, --range and as a file's name: "stdin", "arg1", "file-cmds" */
	char *given;    /* what the user calls it: a path, a variable */
	bool pm;        /* the contents of a pool: never longer or shorter */
	bool text;      /* ends at its first zero byte */
	uint8_t lo, hi; /* of its bytes */
	uint8_t *base;  /* what it is without --seed */
	uint32_t nbase;
	VEC(const char *) seed; /* files */
};
/* What is run: the program with its arguments, its sources and the inputs to begin with. */
struct explore_plan {
	unsigned phase; /* how many of the arguments that --sym-args may add are there */
	char **argv;    /* ended by NULL */
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
struct explore_plan *explore_plan_new(const struct explore_inputs *, char *const *argv,
				      unsigned phase, struct err *);
void explore_plan_free(struct explore_plan *);
/* --sym-args: the first and the last phase; both 0 without it. */
int explore_phases(const struct explore_inputs *, unsigned *first, unsigned *last, struct err *);

/* packet.c: the bytes of all packets, with 1 in `fixed` for those that stay. */
int explore_packets(struct explore_plan *, const struct explore_inputs *, struct buf *bytes,
		    struct buf *fixed, struct err *);
/* range.c */
int explore_ranges(struct explore_plan *, const struct explore_inputs *, struct err *);
struct explore_source *explore_source_named(struct explore_plan *, const char *name, size_t n);
/* seed.c */
int explore_seeds(struct explore_plan *, const struct explore_inputs *, struct err *);
uint8_t *explore_read(const char *path, uint64_t off, size_t max, size_t *n, struct err *);

/* input.c */
struct symbolic_input explore_input_copy(const struct symbolic_input *);
/* How many bytes of a source count: up to now, and of a text up to its end. */
uint32_t explore_input_length(const struct explore_plan *, size_t source,
			      const struct symbolic_input *);
/* The smaller, the better the input is to look at. */
uint64_t explore_input_rank(const struct explore_plan *, const struct symbolic_input *);
/* For people: a line a source; xmalloc'ed. */
char *explore_input_text(const struct explore_plan *, const struct symbolic_input *);

/* memory.c: sources that the plan does not have yet. */
struct explore_memory {
	VEC(struct sym_source) source;
	struct buf bytes;
};
/* The explorer has seen the program name memory that the plan does not have. */
bool explore_memory_found(struct explore_memory *, const struct explore_plan *,
			  const struct launch_explorer *);
/* The plan gets it; false: there is none. */
bool explore_memory_extend(struct explore_memory *, struct explore_plan *);
void explore_memory_free(struct explore_memory *);

/* ---- explorers ---- */

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

/* ---- without the tracer ---- */

/* files.c: all of an input, and the script. */
int explore_files(const struct explore_program *, const struct explore_plan *,
		  const struct symbolic_input *, const char *dir, struct err *);
int explore_mkdir(const char *, struct err *); /* with its parents */
/* script.c: for bash; xmalloc'ed. */
char *explore_script(const struct explore_program *, const struct explore_plan *,
		     const struct symbolic_input *, size_t *n);
void explore_quote(struct buf *, const char *, size_t n); /* a word for bash */

/* native.c */
struct explore_stage {
	const struct explore_program *program;
	const struct explore_plan *plan;
	const struct trace_defs *defs; /* files that the program used; NULL: not known */
};
/* Runs `run` of an input's folder; under: words before the program, for bash, or NULL. What it
 * prints is lost, unless there are such words. */
int explore_native(const struct explore_stage *, const char *dir, const char *under,
		   struct explore_native *, struct err *);
/* The same on the terminal. */
int explore_native_here(const struct explore_stage *, const char *dir, const char *under,
			struct explore_native *, struct err *);
/* Records it, into the file `trace`. */
int explore_record(const struct explore_stage *, const char *dir, const char *trace, struct err *);

/* ---- what runs show ---- */

/* A finding and the input that shows it. */
struct explore_hit {
	struct finding *f; /* in the set */
	struct symbolic_input input;
	uint64_t rank; /* of the input */
	unsigned phase;
	size_t nsources;
	uint64_t branches, trail; /* of its path */
	uint64_t death;           /* of a crash or hang: which one, see death.c */
	char *campaign;           /* folder of the crash campaign; NULL: none */
	bool kept;                /* its folder is as it should be */
};
void explore_hit_free(struct explore_hit *);
/* witness.c: all but the finding, as text for the database. */
char *explore_witness(const struct explore_hit *);
int explore_witness_parse(const char *text, struct explore_hit *, struct err *);

/* found.c */
struct explore_found {
	struct finding_set set;
	VEC(struct explore_hit) hit;
	struct hmap checked; /* runs, by their effect */
	bool news;           /* findings that are not kept yet */
	double checking;     /* seconds */
};
struct explore_hit *explore_hit(struct explore_found *, const struct finding *);
/* Adds a finding that this input shows; slot: of its run, may be NULL. Returns what it is in the set. */
struct finding *explore_found_add(struct explore_found *, struct finding *,
				  const struct explore_plan *, const struct symbolic_input *,
				  const struct explore_slot *, uint64_t path);
/* The hit has a better input from now on. */
void explore_hit_replace(struct explore_hit *, const struct explore_plan *,
			 const struct symbolic_input *, const struct explore_slot *);
/* What check finds in a run that no other run with the same effect has shown. */
int explore_found_check(struct explore_found *, struct explore_slot *, const struct explore_plan *,
			const struct check_opts *, uint64_t path, struct err *);
/* At the end: a store that a crash shows to be lost need not be reported by check, too. */
void explore_found_merge(struct explore_found *);
void explore_found_free(struct explore_found *);

/* death.c: places where runs crash or hang. */
struct explore_deaths {
	VEC(struct explore_death {
		uint64_t key;
		unsigned looks;    /* how many were made again, without the tracer */
		struct finding *f; /* NULL: it is none there */
	})
	v;
	unsigned looks; /* in all */
	uint64_t crashed, hung, tracer_only;
};
bool explore_died(const struct launch_explorer_run *);
uint64_t explore_death_key(const struct explore_slot *, const struct launch_explorer_run *);
/* A run that crashed or hung; dir: for its input. */
int explore_death_look(struct explore_deaths *, struct explore_found *, struct explore_slot *,
		       const struct explore_stage *, const struct launch_explorer_run *,
		       const char *dir, uint64_t path, struct err *);
/* place.c: the call path in gdb's words. False: it knows no function of the program's. */
bool explore_place_gdb(const char *program, const char *text, struct finding_place *);
/* Where the run was last heard of. */
void explore_place_run(const struct explore_slot *, struct finding_place *);

/* A run that ended so shows the hit. */
bool explore_shows(const struct explore_hit *, struct explore_slot *, const struct check_opts *,
		   const struct launch_explorer_run *);

/* shrink.c */
struct explore_shrink {
	const struct explore_plan *plan;
	/* Does the input show it, too? Then the input is kept. */
	bool (*shows)(void *, const struct symbolic_input *);
	void *arg;
	unsigned tries;  /* that are left */
	double deadline; /* by now_seconds() */
};
/* Makes the input smaller as long as it shows the same. */
void explore_shrink(struct explore_shrink *, struct symbolic_input *);

/* ---- the folder ---- */

struct explore_folder {
	char *dir;   /* absolute */
	char *shown; /* as it was given */
	struct campaign_db *db;
	bool resumed;
	char **argv; /* of explore_folder_load */
	char *cwd;
	double kept;         /* when it was last brought up to date */
	uint64_t next_input; /* number */
	uint64_t known;      /* inputs that were run before */
	struct hmap inputs;  /* … by their contents */
};
#define EXPLORE_TRY "try" /* below it: the input that is run without the tracer now */
/* Removes what is below that name. */
void explore_folder_clear(const struct explore_folder *, const char *name);
/* An input that took a path of its own. */
int explore_folder_input(struct explore_folder *, const struct explore_plan *,
			 const struct symbolic_input *, struct err *);
/* Gives the inputs of a resumed exploration to the engine, to be run again. */
int explore_folder_seeds(struct explore_folder *, const struct explore_plan *, struct symbolic *,
			 struct err *);
/* All findings, with the files of those that have a new input. plan: may be NULL. */
int explore_folder_findings(struct explore_folder *, struct explore_found *,
			    const struct explore_program *, const struct explore_plan *,
			    struct err *);
int explore_folder_counts(struct explore_folder *, const char *state, const char *strategy,
			  const struct symbolic_stats *, size_t findings, double seconds,
			  struct err *);

/* ---- the exploration ---- */

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

struct explore {
	const struct explore_opts *o;
	struct explore_folder *folder;
	const struct explore_hooks *hooks;
	void *arg;

	unsigned last_phase;
	struct explore_plan *plan;
	struct symbolic *sym;
	struct explore_slot *slot;
	size_t started;              /* slots */
	struct symbolic_input ready; /* the next one, made while runs were under way; n 0: none */
	uint64_t runs;
	bool dry; /* the engine has no more inputs */
	struct explore_memory memory;

	struct explore_found found;
	struct explore_deaths deaths;
	struct explore_recovery recovery;

	double begun;
	struct symbolic_stats before; /* of engines that are gone */
	struct explore_chart chart;
	VEC(struct explore_concrete) concrete;
	uint64_t kind[TRACE_KINDS], dirtied;
	double seconds;
	bool used;
	const char *cut;
	char *alone, *unused; /* see struct explore_result */
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
