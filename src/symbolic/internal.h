/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of src/symbolic/ share.
 *
 *   symbolic.c     the engine: seeds, the next input, figures
 *   run.c          takes in the records of a run
 *   tree.c         the tree of decisions that all runs share
 *   candidates.c   what could be tried next, and the inputs it starts from
 *   ask.c          from a candidate to an input, by the solver
 *   miss.c         may a flush miss the line that was stored?
 *   lines.c        other lines for a store or a flush
 *   behave.c       the sequence of PM instructions of a run, as one number
 *   cover.c        coverage; what runs teach the static view; ways out of a branch; call stacks
 *   compact.c      what to give up when memory runs out
 *   copy.c         expressions from one pool to another
 *   search*.c      which candidate is next; heap.c
 */
#ifndef HOLDFAST_SYMBOLIC_INTERNAL_H
#define HOLDFAST_SYMBOLIC_INTERNAL_H

#include "symbolic/search.h"
#include "symbolic/symbolic.h"

/* ---- tree.c ---- */

/*
 * A decision that a run took: node == value. Steps share their beginnings: each one knows the
 * step before it, and its hash stands for the whole way from the root.
 */
struct step {
	uint64_t ip, value, hash;
	uint32_t parent, depth;
	uint32_t child, next; /* its first child; the next of its parent; 0: none */
	expr node, cond;      /* cond: the 1-bit node that is true here; 0: not known any more */
	uint32_t sizes;       /* of the sources, in the run that made it: a hash */
	uint8_t kind;         /* enum sym_branch */
	bool closed;          /* what lies below it was forgotten: all done there */
};
struct tree {
	VEC(struct step) step; /* [0] is the root */
	struct hmap by_hash;
};
void symbolic_tree_init(struct tree *);
void symbolic_tree_free(struct tree *);
size_t symbolic_tree_memory(const struct tree *);
uint64_t symbolic_tree_hash(uint64_t before, uint64_t ip, unsigned kind, uint64_t value);
/* The step of that hash, or SYMBOLIC_NONE. */
uint32_t symbolic_tree_find(const struct tree *, uint64_t hash);
/* The step above `at`, or itself, that has this depth at most. */
uint32_t symbolic_tree_above(const struct tree *, uint32_t at, uint32_t depth);
/* Appends one to a parent; what->parent, hash and value must be set. */
uint32_t symbolic_tree_add(struct tree *, const struct step *what);

/* ---- cover.c ---- */

#define WAY_OTHER 2u /* side of what is not a conditional jump */

struct stack {
	size_t at; /* where its call instructions begin in stacks.ip, innermost first */
	uint32_t n;
};
struct stacks {
	VEC(uint64_t) ip;
	VEC(struct stack) stack; /* [0] is the empty one */
	struct hmap by_hash;
};

struct range {
	uint64_t lo, hi;
};
struct cover {
	struct hmap vex;     /* VEX blocks that ran */
	struct hmap block;   /* basic blocks that ran, by their first address */
	struct hmap pm;      /* PM-modifying instructions that ran */
	struct hmap pm_in;   /* (instruction, stack) that was looked at */
	struct hmap call;    /* (call, target) that the view was told of */
	struct hmap module;  /* (path, address) */
	struct hmap way;     /* (ip, kind, side) → index in ways */
	struct hmap follows; /* (way, ip) pairs in follow[] */
	VEC(struct symbolic_way) ways;
	VEC(struct follow {
		uint32_t way;
		uint64_t ip; /* of the decision that came next after it */
	})
	follow;
	VEC(struct range) own; /* where the program's own file is */
	char *own_path;
	struct stacks stacks;
	size_t own_blocks, own_pm;
	uint64_t version; /* changes whenever a block is new */
};
void symbolic_cover_free(struct cover *);
/* True: the basic block of that address has not run before. */
bool symbolic_cover_ran(struct symbolic *, uint64_t addr);
size_t symbolic_cover_blocks(struct symbolic *, const uint64_t *block, const uint8_t *ran,
			     size_t n);
bool symbolic_cover_known(const struct symbolic *,
			  const struct symbolic_way *); /* its target ran before */
uint32_t symbolic_cover_way(struct symbolic *, uint64_t ip, unsigned kind, unsigned side,
			    uint64_t target);
/* times: how often it was there before; line: 0 is all of them */
uint32_t symbolic_cover_round(struct symbolic *, uint32_t way, uint32_t stack, uint64_t times,
			      uint64_t line);
void symbolic_cover_follows(struct symbolic *, uint32_t way, uint64_t ip);
void symbolic_cover_module(struct symbolic *, const struct trace_defs *,
			   const struct trace_event *);
void symbolic_cover_pm(struct symbolic *, const struct trace_event *, uint32_t stack);
/* PM was mapped there. */
void symbolic_cover_map(struct symbolic *, const struct trace_event *, uint32_t stack);
/* The call stack of a context, as a number; tells the view of calls on the way. */
uint32_t symbolic_cover_stack(struct symbolic *, const struct trace_defs *, uint32_t process,
			      uint32_t ctx, struct hmap *seen);

/* ---- behave.c ---- */

/*
 * A unit of PM, followed by the machine of the chosen model (model/machine.h); pages are followed
 * line by line. It goes by address: a file that is mapped elsewhere is new there.
 */
struct line {
	uint64_t at; /* its address / behave.unit */
	uint64_t store_ip;
	struct model_unit unit;
	uint32_t store; /* miss.c's number of the last store to it, plus 1; 0: none */
	bool listed;    /* it is in behave.open */
};
struct behave_thread {
	uint64_t who; /* process and thread */
	struct model_waits waits;
};
struct behave {
	const struct behave *before; /* lines not found here are as they were there */
	uint32_t unit;               /* bytes */
	VEC(struct line) line;
	struct hmap by_line;
	VEC(uint32_t) open; /* lines whose newest store is not persistent, and perhaps others */
	VEC(struct behave_thread) thread;
	struct imap maps;  /* address → what to add to get the byte of a file */
	VEC(uint64_t) seq; /* tokens, repetitions folded */
	VEC(uint32_t) covered;
};
void symbolic_behave_init(struct behave *, const struct model_ops *, const struct behave *before);
void symbolic_behave_free(struct behave *);
struct line *symbolic_behave_line(struct behave *, uint64_t at);
/* Fills b->covered: the lines that a flush covers; of those that a sync covers, the open ones. */
void symbolic_behave_covered(struct behave *, const struct trace_event *);
/* The event's part in it. */
void symbolic_behave_event(struct behave *, const struct trace_event *, enum model_effect);
uint64_t symbolic_behave_hash(struct behave *);

/* ---- miss.c ---- */

struct miss_store {
	uint64_t ip, addr, order;
	uint32_t size;
	expr node; /* its address; 0: it is a fixed one */
};
struct miss_flush {
	uint64_t ip, lo, hi, order;
	expr node;
	uint32_t decisions; /* how many the path had */
};
struct miss_pair {
	uint32_t store, flush;
};
struct miss {
	VEC(struct miss_store) store;
	VEC(struct miss_flush) flush;
	VEC(struct miss_pair) pair;
	struct hmap asked; /* (ip of the store, ip of the flush) of this run */
	uint64_t order;
};
struct symbolic_run;
void symbolic_miss_free(struct miss *);
/* Called before behave_event has seen the event; node: its symbolic address, or 0. */
void symbolic_miss_store(struct symbolic_run *, const struct trace_event *, enum model_effect,
			 expr node);
void symbolic_miss_flush(struct symbolic_run *, const struct trace_event *, enum model_effect,
			 expr node);
struct candidate;
void symbolic_miss_found(struct symbolic *,
			 const struct candidate *); /* there is an input for it */
void symbolic_miss_candidates(struct symbolic_run *, uint32_t leaf, uint32_t base);

expr symbolic_line_of(struct pool *, expr addr); /* the number of its cache line */

/* ---- lines.c ---- */

/* A store or flush of PM whose address depends on the input, by instruction and call stack. */
struct line_access {
	VEC(uint64_t) line; /* that it had, or is being run with */
	uint32_t failed;    /* questions for another one without an answer */
	bool waiting;       /* there is a candidate for another one */
};
struct lines {
	VEC(struct line_access) access;
	struct hmap by_key;
};
void symbolic_lines_free(struct lines *);
struct decision;
/* The run announced it. */
void symbolic_lines_access(struct symbolic_run *, const struct decision *);
void symbolic_lines_candidates(struct symbolic_run *, uint32_t leaf, uint32_t base);
expr symbolic_lines_goal(struct symbolic *, const struct candidate *);
struct symbolic_input;
void symbolic_lines_asked(struct symbolic *, const struct candidate *,
			  const struct symbolic_input *found);         /* NULL: there is none */
void symbolic_lines_left(struct symbolic *, const struct candidate *); /* it waits no longer */

/* ---- candidates.c ---- */

struct candidate {
	uint64_t ip, serial;
	uint32_t step;  /* BRANCH, TARGET: the step to take otherwise; else: the last one to keep */
	uint32_t depth; /* of that step */
	uint32_t base;  /* whose input it starts from */
	uint32_t way, was;     /* the way to take, and the one that was taken */
	uint32_t round, stack; /* round: the way that counts only those of its round */
	uint32_t line;         /* … and of its line of runs */
	uint32_t age;          /* of the run that it comes from */
	/* Rounds before it that no run modified PM after, and none of its line; NONE: there is none. */
	uint32_t open, open_line;
	expr goal;            /* MISS; LINE: the address */
	uint64_t pair;        /* MISS: which two instructions; LINE: which access */
	uint32_t source, now; /* LONGER */
	uint32_t priority;    /* kept by symbolic_search_priority */
	uint64_t version;
	uint8_t why; /* enum symbolic_why; SYMBOLIC_SEED: this place is free */
	uint8_t kind;
	bool fresh; /* the run that it came from reached code that none had */
	bool dry;   /* … did nothing to PM behind the branch */
};

/* The input of a run, kept as long as candidates start from it. */
struct base {
	uint64_t run;
	uint8_t *packed;
	uint32_t size, refs;
	bool whole;
};

/* Values that a pinned node had or is being run with, below one prefix. */
struct targets {
	VEC(uint64_t) value;
	uint64_t prefix, key;
	bool waiting; /* there is a candidate for another one */
};

struct candidates {
	VEC(struct candidate) v;
	VEC(uint32_t) unused; /* free places in v */
	VEC(struct base) base;
	VEC(uint32_t) unused_base;
	VEC(struct targets) targets;
	struct hmap by_prefix; /* (prefix, ip, kind) → index in targets */
	struct hmap longer;    /* (leaf, source, now) that were made */
	struct hmap asked;     /* MISS: (ip of the store, ip of the flush) → how often */
	struct lines lines;
	VEC(uint32_t) miss; /* taken before all others, first in, first out */
	size_t miss_at;
	size_t n, base_bytes;
	uint64_t serial;
};
void symbolic_candidates_free(struct candidates *);
size_t symbolic_candidates_memory(const struct candidates *);
/* Makes candidates out of the new steps of a run that has ended. */
void symbolic_candidates_of_run(struct symbolic_run *, uint64_t number);
/* All but why = MISS go to the searcher. */
uint32_t symbolic_candidate_add(struct symbolic *, const struct candidate *);
bool symbolic_candidate_take(struct symbolic *, struct candidate *out);
void symbolic_candidate_drop(struct symbolic *, uint32_t id);
uint32_t symbolic_base_keep(struct symbolic *, const struct symbolic_input *, uint64_t run);
void symbolic_base_unpack(const struct symbolic *, uint32_t base, struct symbolic_input *out);
void symbolic_base_release(struct symbolic *, uint32_t base);
struct targets *symbolic_candidates_targets(struct symbolic *, uint64_t prefix, uint64_t ip,
					    unsigned kind);
bool symbolic_targets_add(struct targets *, uint64_t value); /* true: it was not there */

/* ---- search.c ---- */

struct symbolic_search *symbolic_search_new(struct symbolic *,
					    const char *name); /* NULL: unknown */
void symbolic_search_restart(
	struct symbolic_search *); /* forgets all, then takes in what there is */

/* ---- ask.c ---- */

/* True: `out` is an input for it. */
bool symbolic_ask(struct symbolic *, const struct candidate *, struct symbolic_input *out);

/* ---- copy.c ---- */
struct copy {
	struct pool *from, *to;
	expr *is; /* by its old number; 0: not copied yet */
	VEC(expr) stack;
};
void symbolic_copy_init(struct copy *, struct pool *from);
expr symbolic_copy(struct copy *, expr);
void symbolic_copy_free(struct copy *);

/* ---- compact.c ---- */
void symbolic_compact_if_needed(struct symbolic *);
size_t symbolic_memory(const struct symbolic *);

/* ---- run.c ---- */

struct value {
	expr e; /* 0: not known */
	uint64_t v;
};
struct decision {
	uint64_t ip, value;
	uint64_t yes, no; /* SYM_COND: targets */
	expr node, cond;
	uint64_t pm; /* events so far that modify PM */
	uint32_t ctx, process;
	uint8_t kind;
};
struct access { /* of PM */
	struct decision what;
	uint32_t decisions; /* how many the path had */
};
struct pending_address { /* announced by a SYM_BRANCH, its event comes next */
	uint64_t ip, value;
	expr node;
};
/* Where a run comes from; made from it are others. */
struct kin {
	uint64_t
		line; /* what it did to PM, or if nothing, what the run did that it was made from */
	uint32_t age; /* runs since one that did to PM what none had done */
};
struct symbolic_run {
	struct symbolic *s;
	const struct trace_defs *defs;
	struct symbolic_input in;
	VEC(struct value) node; /* by the tracer's number */
	VEC(struct decision) path;
	uint64_t hash;  /* of the path so far */
	uint32_t sizes; /* of the sources: a hash */
	struct kin from;
	struct hmap on_path;
	struct hmap contexts; /* → stack */
	struct behave behave;
	struct miss miss;
	VEC(struct access) accesses; /* at addresses that depend on the input */
	struct pending_address store, flush;
	struct {
		bool met;
		uint64_t ip;
		uint32_t process, ctx;
	} end[SYM_MAX_SOURCES];
	size_t new_blocks;
	uint64_t pm;    /* events that modify PM */
	bool died;      /* by a signal */
	bool used, met; /* met: the branch that it was made for */
};

/* ---- symbolic.c ---- */

struct note {
	char *name;
	uint64_t count;
};
struct symbolic {
	struct symbolic_opts opts;
	struct sym_source *source;
	uint8_t *lo, *hi, *fixed;
	size_t n; /* input bytes */
	struct pool *pool;
	struct solver *solver;
	struct binary_view *view;
	/* What can still be done to PM from there on; tests put their own in. */
	uint32_t (*priority)(struct symbolic *, uint64_t ip, uint32_t stack);
	uint64_t priority_version;
	bool learnt; /* the view was told something new */
	struct tree tree;
	struct hmap made;            /* inputs that were handed out */
	struct hmap leaf, behaviour; /* hashes of whole paths; of sequences */
	VEC(struct kin) kin;         /* by number of a run */
	struct cover cover;
	struct candidates candidates;
	struct symbolic_search *search;
	uint64_t rng;
	VEC(struct symbolic_input) seed;
	size_t seed_at;
	bool seeded;
	size_t compact_at;              /* bytes: there is no point in compacting before */
	struct behave before;           /* lines of PM at the snapshot */
	struct hmap contexts;           /* … and call stacks */
	VEC(struct trace_event) prefix; /* TRACE_SYM_ records; data is ours */
	VEC(struct note) concrete;
	char *wrong_example;
	uint64_t wrong;
	VEC(struct symbolic_run *) active;
	struct solve_stats solved; /* by solvers that were given up */
	struct symbolic_stats stats;
};
uint64_t symbolic_random(struct symbolic *);
void symbolic_note_wrong(struct symbolic *, expr, uint64_t ip, uint64_t is, uint64_t should);
struct solver *symbolic_solver(struct symbolic *);
void symbolic_retire_solver(struct symbolic *);
/* Tells the view what was learnt; before priorities are asked for. */
void symbolic_update(struct symbolic *);

#endif
