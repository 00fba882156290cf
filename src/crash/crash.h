/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Crash a recorded run at every place that matters, and let its recovery judge what is left.
 *
 * The trace is read once into a history (history.h), failure points are chosen (points.c), a
 * strategy makes crash states (strategy.c and one file each), the engine has each distinct
 * image tested by the runner (engine.c), and what fails is reduced to the few stores that
 * explain it (minimise.c, explain.c).
 *
 *	crash_new ──▶ crash_files ──▶ runner_new ──▶ crash_sanity ──▶ crash_run ──▶ crash_report
 */
#ifndef HOLDFAST_CRASH_CRASH_H
#define HOLDFAST_CRASH_CRASH_H

#include "finding/finding.h"
#include "model/model.h"
#include "runner/runner.h"
#include "trace/trace.h"

struct crash_opts {
	const struct model_ops *model;
	const char *strategy;    /* a name; NULL: the default */
	const char *points;      /* where to crash: a name; NULL: the default */
	uint64_t max_per_path;   /* points for one call path; 0: all */
	const char *const *only; /* globs: functions or files on the call path */
	size_t nonly;
	uint64_t after;         /* only points from this event on */
	uint64_t budget_states; /* crash images to test; 0: no limit */
	bool endless;           /* … or a time was asked for: strategies may go on for ever */
	unsigned shards;        /* images belong to so many parts; 0: all is one campaign */
	const uint8_t *mine;    /* … of which these are tested */
	uint64_t seed;
	uint64_t random; /* states per point that `random` makes; 0: its own choice */
	bool no_reduce;  /* exhaustive: do not skip what recovery cannot tell apart */
	bool listen;     /* the runner does: operations are judged by what the program says */
	bool several;    /* … and runs more than one command on an image */
	/* The operations that the program was given, a line each after so many others: of those that follow a
	 * crash, at most `suffix` are for {ops}. NULL: no command wants them. */
	const char *ops_file;
	uint64_t ops_skip, suffix;
	const char *ops_way, *ops_calls; /* of infer_ops_opts: how operations are found */
	uint64_t few; /* exhaustive: so many states at a point are all tested; 0: its own choice */
};
/* What `strategy` and `points` may be, and what that means; the first is the default. NULL past the
 * last. */
const char *crash_strategy_at(size_t i, const char **about);
const char *crash_points_at(size_t i, const char **about);
bool crash_strategy_needs_deps(const char *strategy);     /* a recording with dependences */
const char *crash_judge_at(size_t i, const char **about); /* how recovery is judged */

struct crash_verdict {
	enum runner_verdict verdict;
	int status;    /* of RUNNER_DIFFERS: which */
	uint64_t said; /* runner_result */
	/* Of RUNNER_DIFFERS, as far as that is known: between which operations, and the first line, from 1. */
	uint64_t where;
	uint32_t line;
	enum { CRASH_ANYHOW, CRASH_MISSING, CRASH_EXTRA, CRASH_CHANGED } how;
	bool hasty; /* of RUNNER_HUNG: after less than the timeout */
};
enum { CRASH_LOST = 1, CRASH_HALF }; /* an operation that had ended is gone; one is there in part */

/* An image that was tested. */
struct crash_tested {
	uint64_t key; /* of the image, and of what was run on it */
	uint64_t event;
	const char *strategy;
	struct crash_verdict verdict;
	const char *output; /* NULL if it was ok */
	double spent;
};

/* What `representative` has done. */
struct crash_behaviour_counts {
	uint64_t behaviours, groups; /* that the run has, if it got so far */
	uint64_t
		taken; /* behaviours that are tested: a group's representative, and what is followed up */
	uint64_t tested, failed; /* states of theirs */
};

struct crash_counts {
	struct crash_behaviour_counts behaviour;
	uint64_t points, paths, points_found;
	double possible;     /* states at all points, log10 */
	uint64_t generated;  /* by the strategies */
	uint64_t same;       /* … of an image that was tested already */
	uint64_t tested;     /* images that recovery ran on, minimisation included */
	uint64_t resumed;    /* … whose verdict an earlier run of the campaign knew */
	uint64_t failed;     /* generated states that fail */
	uint64_t minimising; /* images tested to find causes */
	uint64_t created;    /* states left out: the pool was not complete yet */
	uint64_t elsewhere;  /* states left out: they belong to other shards */
	uint64_t hangs;      /* states left out: they contain the cause of a known hang */
	uint64_t hung;       /* recoveries that were ended, as they did not by themselves … */
	uint64_t waited;     /* … after the whole timeout */
	uint64_t flaky;      /* images with different verdicts */
	uint64_t
		unjudged; /* states in overlapping operations, where what is said was not looked at */
	uint64_t chatter; /* states in which more was said the first time than when asked again */
	uint64_t
		shuffled; /* what is said in another order than it should be, in one operation each */
	uint64_t unexplained; /* failing states that were left when it ended */
	uint64_t causes;
	size_t phase, phases; /* which of the strategies, and of how many */
	size_t point;         /* where the strategy is now */
	const char *strategy; /* … and which one */
	double read, build,
		recovery; /* seconds: trace to history, images, in recovery (all cells) */
	bool cut;         /* the budget ended it, or it was stopped */
};

/* How a campaign is kept and watched; any may be NULL. */
struct crash_hooks {
	void *arg;
	bool (*known)(void *, uint64_t key, struct crash_verdict *);
	int (*tested)(void *, const struct crash_tested *, struct err *);
	/* Between any two images; crash_report may be called. */
	int (*progress)(void *, const struct crash_counts *, struct err *);
	bool (*stop)(void *);
};

struct crash;
/*
 * Stores that somebody suspects to be missing a flush or a fence: `n` places that made them, and one of
 * these events. States that lose them, and as little else as possible, are tested before all others.
 * To be said before crash_run, all in one order; they are numbered from 0.
 */
void crash_suspect(struct crash *, const struct finding_store *, size_t n, uint64_t event);
struct crash_proof {
	uint64_t stores;   /* that may be lost … */
	uint64_t lost;     /* … and that were to be, each without the others */
	uint64_t planned;  /* states */
	uint64_t tested;   /* … that recovery ran on, … */
	uint64_t accepted; /* … and handles, … */
	uint64_t failed;   /* … or does not, for whatever reason */
	/* Of the last crash_report: the findings about the loss of these stores and of no others; and one
	 * that explains a state which fails for another reason, or NULL. */
	VEC(struct finding *) finding;
	const struct finding *other;
	const struct finding
		*part; /* … that is about their loss as well, but not about that alone */
	/* A witness that is no finding of the report, because the program's own order of stores passes through
	 * such a state as well, which is one; or NULL. The caller's to free. */
	struct finding *own;
};
void crash_proof(struct crash *, size_t suspect, struct crash_proof *out);

/* The reader must stay open. NULL and err: cannot be crash-tested. */
struct crash *crash_new(struct trace_reader *, const struct crash_opts *, struct err *);
void crash_free(struct crash *);
/* The PM files, for the runner; `same_address`: all are to be mapped where they were, otherwise
 * those for which the program asked for an address. The array is the crash's. */
const struct runner_file *crash_files(struct crash *, bool same_address, size_t *n);
const struct crash_counts *crash_counts(const struct crash *);
const char *crash_damage(const struct crash *); /* of the trace, or NULL */
/* "judged: 12 operations: …": what operations are known for, and how they were found; NULL: for nothing. */
const char *crash_operations(const struct crash *);
/* "write to log at put (log.c:12) failed with EIO", and how often more that happened; malloc'ed; NULL: no fault was made. */
char *crash_faults(struct crash *);
/* An example of what is said only the first time after a crash, and is not held against the program; NULL: nothing is. */
const char *crash_messages(const struct crash *);
/* What is said is the same before and after so many operations, all that were looked at; 0: it shows some of them. */
size_t crash_deaf(const struct crash *);
/* Files beside PM that are not part of the images, as a sentence; NULL: none. malloc'ed. */
char *crash_unknown(const struct crash *);
const char *crash_stale(const struct crash *, size_t i); /* changed objects, see srcloc */
size_t crash_memory(const struct crash *);

/*
 * Recovery must succeed on the image at the normal end, each time, and end by itself on the
 * initial one. Otherwise err says what happens, with EXIT_PROGRAM. Where recovery refuses the
 * initial image in an orderly way, states before it first succeeds are left out.
 */
int crash_sanity(struct crash *, struct runner *, const struct crash_hooks *, struct err *);
/* Recoveries that succeeded before took up to so many seconds: what takes far longer hangs, see patience.c. */
void crash_slowest(struct crash *, double seconds);
/* It is to have ended by then (now_seconds); 0: it may take as long as it takes. It may change while it runs. */
void crash_until(struct crash *, double when);
/* How many images there are to test, about, if all is well; false: cannot be told. After crash_sanity. */
bool crash_estimate(struct crash *, uint64_t *images);
/* A witness (see below) that another campaign on the same recording has found: it is looked at after all states. */
void crash_also(struct crash *, const char *witness);
/* Generates and tests. 0: done or cut; -1: err. */
int crash_run(struct crash *, struct runner *, const struct crash_hooks *, struct err *);
/* What recovery does to the files at the normal end, malloc'ed; the paths live as long as the crash.
 * NULL: it cannot be told. */
struct trace_use *crash_uses(struct crash *, struct runner *, size_t *n);
/* Recovery reads nothing of the files, even at the normal end; false if that cannot be told. */
bool crash_is_blind(struct crash *);
/* Adds what is known so far; `dir` is where the trace is, for the replay command. */
void crash_report(struct crash *, const char *dir, struct finding_set *);

/*
 * A witness is a text: "EVENT FILE:OFFSET:VERSION …" (finding_crash.state). Builds its image in
 * an idle cell; or the image with nothing lost, if `uncrashed`.
 */
int crash_build(struct crash *, struct runner *, unsigned cell, const char *witness, bool uncrashed,
		struct err *);
/* Runs the command on a witness's image again, and judges it as a campaign does. */
int crash_replay(struct crash *, struct runner *, const char *witness, struct runner_result *,
		 struct err *);
/* The bytes in which a witness's image differs from the one with nothing lost: calls back for
 * each store that is lost, in order. */
struct crash_lost {
	uint32_t file;
	const char *path;
	uint64_t off, event;
	uint32_t len;
	uint8_t has[8], should[8]; /* in the crash image, and in the other; for len <= 8 */
	bool again;                /* a later lost store has some of these bytes too */
	uint32_t place;            /* for crash_lost_field */
};
/* … as a field of the program's; the texts are the caller's. */
void crash_lost_field(struct crash *, const struct crash_lost *, struct finding_field *);
int crash_diff(struct crash *, const char *witness, void (*each)(void *, const struct crash_lost *),
	       void *, struct err *);

/* The update behaviours of the run (infer/infer.h), which live as long as the other. */
struct crash_behaviours;
struct infer_behaviours;
struct crash_behaviours *crash_behaviours(struct crash *);
const struct infer_behaviours *crash_behaviours_found(const struct crash_behaviours *);
void crash_behaviours_free(struct crash_behaviours *);

#endif
