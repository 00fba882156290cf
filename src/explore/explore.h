/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exploration: a program is run again and again, each time with an input that takes another path.
 *
 *   src/symbolic ── next input ──▶ explorers (src/launch), side by side ── events ──┐
 *        ▲                                                                          │
 *        └──────────── branches ────────────────────────────────────────────────────┤
 *                                                                                   ▼
 *   folder: settings, inputs, findings ◀── smallest input for each finding ◀── check, crashes, hangs,
 *                                                                             crash campaigns
 *
 * Nothing is printed here. What happens is told to the caller's hooks; the rest is in the result.
 */
#ifndef HOLDFAST_EXPLORE_EXPLORE_H
#define HOLDFAST_EXPLORE_EXPLORE_H

#include <signal.h>

#include "campaign/campaign.h"
#include "check/check.h"
#include "launch/launch.h"
#include "symbolic/symbolic.h"

struct explore_words {
	const char *const *p;
	size_t n;
};

/* What is symbolic, in the words of the options --sym-… (docs/EXPLORE.md). */
struct explore_inputs {
	struct explore_words arg, env, file, pm; /* "2:8", "NAME:8", "PATH:0-64", "POOL:0-64" */
	struct explore_words args;               /* MIN MAX LEN, or nothing */
	struct explore_words packet, seed, range;
	uint64_t stdin_len, socket_len;
	const char *stdin_path; /* what stdin begins with; NULL: zero bytes */
	bool memory;            /* nothing else need be symbolic */
	bool printable;
};

/* How the program is run; the same in every run. */
struct explore_program {
	const char *const *argv; /* ended by NULL */
	const char *cwd;
	struct launch_opts run; /* pm, watch, cpu, stdin_path and the flags */
	unsigned port;          /* of a server that gets packets; 0: it is found out */
	const char *stop;       /* … and what ends it; NULL: TERM */
	double timeout;         /* seconds; a run that takes longer hangs */
	bool pin;               /* fixed clock and random numbers */
	bool no_fork;           /* a new process for each run */
	bool verify;            /* compare each expression with the machine's value */
};

struct explore_search {
	const char *strategy; /* NULL: the default */
	uint64_t random;
	unsigned max_targets;  /* 0: the engine's default */
	double solver_seconds; /* for one question; 0: the engine's default */
	uint64_t max_memory;   /* bytes; 0: no limit */
};

/* All but jobs: 0 means no limit. */
struct explore_limits {
	double seconds;
	uint64_t runs, errors;
	size_t jobs; /* explorers side by side, at least 1 */
};

struct explore_opts {
	struct explore_inputs inputs;
	struct explore_program program;
	struct explore_search search;
	struct explore_limits limits;
	struct check_opts check;
	/* Paths with a new behaviour are crashed; NULL: they are not. */
	const struct campaign_settings *recover;
	unsigned cells;                    /* … recoveries side by side; 0: one for each core */
	const volatile sig_atomic_t *stop; /* not 0: end soon, with what there is */
#define EXPLORE_LATE (-1)                  /* … because the time is over */
};
/* What can be wrong with the program, the sources and the seeds, before anything is made. */
int explore_opts_check(const struct explore_opts *, struct err *);

/* ---- the folder ---- */

/* An exploration's folder: settings, inputs that took a path of their own, and findings. */
struct explore_folder;
/* `shown` is the folder as messages name it; a new one that is there must not hold results. */
struct explore_folder *explore_folder_open(const char *shown, enum campaign_db_mode, struct err *);
struct campaign_db *explore_folder_db(struct explore_folder *);
const char *explore_folder_shown(const struct explore_folder *);
/* The program's command and the folder that it runs in; loaded ones are the folder's own. */
int explore_folder_save(struct explore_folder *, const char *const *argv, const char *cwd,
			struct err *);
int explore_folder_load(struct explore_folder *, const char *const **argv, const char **cwd,
			struct err *);
int explore_folder_close(struct explore_folder *, struct err *);
bool explore_is(struct campaign_db *); /* the results are those of an exploration */

/* ---- an exploration ---- */

struct explore;
/* Called in the course of explore_run; all are needed. */
struct explore_hooks {
	/* Many times a second. */
	void (*step)(void *, struct explore *);
	/* Once: how runs are kept apart, and what that cannot do; NULL: nothing to be said. */
	void (*view)(void *, const char *text, const char *lacks);
	/* Runs are new processes, not forks, for this reason. */
	void (*alone)(void *, const char *why);
	/* verify: so many expressions had another value than the machine. */
	void (*wrong)(void *, uint64_t n, const char *example);
	/* All runs with these sources are over; the explorer is still there. `last`: no others
	 * follow, and nothing went wrong. */
	void (*round)(void *, struct explore *, bool last);
};

/* The options, the folder and the hooks must outlive it. */
struct explore *explore_new(const struct explore_opts *, struct explore_folder *,
			    const struct explore_hooks *, void *arg);
/* 0: it is over, or it was cut short (see the result); -1 and err: it could not be done. */
int explore_run(struct explore *, struct err *);
void explore_free(struct explore *);

/* Numbers over time: rows of EXPLORE_COLUMNS. */
#define EXPLORE_COLUMNS 6
struct explore_chart {
	VEC(double) v;
	double last; /* when the last row was added, and with how many findings */
	size_t findings;
};
extern const char *const explore_columns[EXPLORE_COLUMNS];
void explore_chart_print(const struct explore_chart *, FILE *); /* as CSV */
int explore_chart_write(const struct explore_chart *, const char *path, struct err *);

/* Operations that were not followed: their values were taken as they were. */
struct explore_concrete {
	char *name;
	uint64_t n;
};

/* Input bytes that went where they are not followed. */
struct explore_left {
	const char *how; /* "through a pipe …" */
	char *at;        /* place; "" if it is not known */
};

/* What came of it, so far. */
struct explore_result {
	double seconds;       /* spent */
	bool stopped;         /* by a signal */
	const char *cut;      /* another reason why it ended before all was explored; or NULL */
	bool used;            /* the program used its input */
	const char *unused;   /* … how it ended if it did not; may be NULL */
	const char *alone;    /* why runs were new processes; NULL: they were forks */
	const uint64_t *kind; /* events, TRACE_KINDS of them */
	uint64_t crashed, hung;
	uint64_t tracer_only;       /* … under the tracer, but not without it */
	uint64_t lost;              /* … of these, killed without our doing: the tracer died */
	uint64_t dirtied;           /* runs that changed what the next one would have seen */
	double checking;            /* seconds */
	double verifying;           /* seconds of the self-check */
	uint64_t campaigns, unwell; /* crash campaigns; those that could not be run */
	const char *why_unwell;     /* … the first of them */
	const char *differs;        /* a pool is not what was recorded: where and why; or NULL */
	const struct explore_concrete *concrete;
	size_t nconcrete;
	const struct explore_left *left;
	size_t nleft;
	const struct explore_chart *chart;
	struct finding_set *findings; /* the caller may sort and filter them at the end */
};
struct explore_result explore_result(struct explore *);
struct symbolic_stats explore_stats(const struct explore *);

/* In hooks.round: the program's instructions by address, how much PM can still be modified from each
 * on, and where it is in the source. */
typedef void explore_priority_each(void *, const struct srcloc_frame *, uint64_t ip,
				   uint32_t priority, enum binary_mark);
void explore_priorities(struct explore *, explore_priority_each *, void *);
/* All inputs that took a path of their own, each in a folder of its own below dir. */
int explore_export(const struct explore_opts *, struct explore_folder *, const char *dir,
		   uint64_t *n, struct err *);

/* ---- a finding's input again ---- */

struct explore_replay;
/* `id` may be the beginning of one. The options are those of the exploration; argv and cwd are its
 * folder's. */
struct explore_replay *explore_replay_open(const struct explore_opts *, struct explore_folder *,
					   const char *id, struct err *);
/* The crash campaign that found it, which can replay it; NULL: none. */
const char *explore_replay_campaign(const struct explore_replay *);

/* A run without the tracer. */
struct explore_native {
	int status, signal; /* as a shell has it */
	bool hung;
	char *text; /* what it printed on stdout; xmalloc'ed */
};
/* With the caller's terminal; gdb: under it. 0: not without the tracer, since it has memory as a source;
 * 1: it ran. */
int explore_replay_native(struct explore_replay *, bool gdb, struct explore_native *, struct err *);
/* A crash or hang: 1 the run shows it, 0 it does not; -1: it is a misuse of PM, ask check. */
int explore_replay_died(const struct explore_replay *, const struct explore_native *);
/* Under check: 1 it shows the finding, 0 it does not. */
int explore_replay_check(struct explore_replay *, bool *other_path, struct err *);
void explore_replay_free(struct explore_replay *);

#endif
