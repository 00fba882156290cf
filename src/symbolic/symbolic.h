/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Symbolic exploration: from the conditions that runs met to inputs that take other ways.
 *
 * The engine runs nothing. It is told what a run did (symbolic_run_*), keeps the tree of all
 * paths, and on symbolic_next picks a branch that was not taken (a strategy decides which), asks
 * the solver for an input that takes it, and hands that out. Inputs and runs may overlap.
 *
 *   symbolic_next ──▶ input ──▶ (someone runs it) ──▶ symbolic_run_record … symbolic_run_end ─┐
 *         ▲                                                                                   │
 *         └───────────── candidates: (path, branch to flip) ◀──────────────────────────────────┘
 */
#ifndef HOLDFAST_SYMBOLIC_SYMBOLIC_H
#define HOLDFAST_SYMBOLIC_SYMBOLIC_H

#include <signal.h>

#include "binary/binary.h"
#include "model/model.h"
#include "solve/solve.h"
#include "trace/trace.h"

/* Why an input was made. */
enum symbolic_why {
	SYMBOLIC_SEED,
	SYMBOLIC_BRANCH, /* takes the other side of a conditional jump */
	SYMBOLIC_TARGET, /* another target of a jump, address or number */
	SYMBOLIC_MISS,   /* a flush may miss the stored line, a store may reach another one */
	SYMBOLIC_LINE,   /* a store or a flush in another line */
	SYMBOLIC_LONGER, /* a source goes on where the program met its end */
};

struct symbolic_input {
	uint8_t *byte; /* as many as the sources have */
	size_t n;
	uint32_t now[SYM_MAX_SOURCES];
	enum symbolic_why why;
	uint64_t ip;      /* of the branch or access that it is about; 0: none */
	uint64_t parent;  /* number of the run that it came from */
	uint64_t expects; /* private: the path that it should begin with */
	uint64_t before;  /* private: … up to the last step of it */
	uint32_t depth;   /* private */
};
struct symbolic_input symbolic_input_copy(const struct symbolic_input *);
void symbolic_input_free(struct symbolic_input *);

struct symbolic_opts {
	const struct sym_source *source;
	size_t nsource;
	const uint8_t *lo, *hi;        /* what each input byte may be; NULL: anything */
	const uint8_t *fixed;          /* 1: never changes; NULL: none */
	const char *strategy;          /* a name; NULL: the default */
	const struct model_ops *model; /* NULL: the default */
	uint64_t random;               /* seed for those that choose by chance */
	unsigned max_targets;          /* other targets tried of one jump or address; 0: 16 */
	unsigned solver_ms;            /* 0: 2000 */
	size_t max_memory;             /* bytes for expressions and paths; 0: no limit */
	const char *cache;             /* folder for static views; may be NULL */
	/* Set by someone (a signal handler): symbolic_next gives up soon and returns 0. */
	const volatile sig_atomic_t *stop; /* may be NULL */
	bool validate;                     /* ask the solver twice, and compare: for tests */
};

struct symbolic_stats {
	uint64_t runs, paths;           /* paths: runs that took a way not seen before */
	uint64_t diverged;              /* did not take the branch that they were made for */
	uint64_t predicted;             /* … out of so many that were made for one */
	uint64_t candidates;            /* waiting */
	uint64_t dropped;               /* candidates given up for memory */
	uint64_t infeasible, undecided; /* unsat; timeouts */
	uint64_t branches;              /* symbolic ones, seen in all runs */
	size_t blocks, blocks_all;      /* covered, and known, of the program itself */
	size_t pm, pm_all;              /* PM-modifying instructions covered, known */
	uint64_t behaviours;            /* different sequences of PM instructions */
	size_t nodes, memory;
	struct solve_stats solve;
};

/* What a run was, for those who check it. */
struct symbolic_outcome {
	uint64_t number; /* of the run, from 0 */
	bool new_path;
	bool new_behaviour; /* a sequence of PM instructions that no run had */
	bool diverged;
	size_t new_blocks;
	size_t branches; /* symbolic ones on its path */
	bool used_input; /* it took a byte of some source */
};

struct symbolic;
struct symbolic *symbolic_new(const struct symbolic_opts *, struct err *); /* an unknown strategy */
void symbolic_free(struct symbolic *);
/* What `strategy` may be, and what that means; the first is the default. NULL past the last. */
const char *symbolic_search_at(size_t i, const char **about);

/* A seed: to be run first, in the order given. */
void symbolic_seed(struct symbolic *, const struct symbolic_input *);
/* 1: an input to run; 0: nothing to do now (if no run is under way: nothing at all). */
int symbolic_next(struct symbolic *, struct symbolic_input *out);

/* What happens before the snapshot is common to all runs: once, if there are several tracers. */
void symbolic_prefix(struct symbolic *, const struct trace_defs *, const struct trace_event *);

/* … and the blocks that ran in it. */
void symbolic_prefix_cover(struct symbolic *, const uint64_t *block, const uint8_t *cover,
			   size_t n);

struct symbolic_run;
struct symbolic_run *symbolic_run_begin(struct symbolic *, const struct symbolic_input *,
					const struct trace_defs *);
/* Every event and TRACE_SYM_ record of the run, in order. */
void symbolic_run_record(struct symbolic_run *, const struct trace_event *);
void symbolic_run_cover(struct symbolic_run *, const uint64_t *block, const uint8_t *cover,
			size_t n);
void symbolic_run_end(struct symbolic_run *, struct symbolic_outcome *); /* frees it */
void symbolic_run_drop(struct symbolic_run *);                           /* it came to nothing */

const struct symbolic_stats *symbolic_stats(struct symbolic *);
struct binary_view *symbolic_view(struct symbolic *);
/* Operations that were not followed: name and how often, the most frequent first; NULL: no more. */
const char *symbolic_concrete(const struct symbolic *, size_t i, uint64_t *count);
/* SYM_VERIFY records whose expression had another value than the machine: should be 0. */
uint64_t symbolic_wrong(const struct symbolic *, const char **example);

#endif
