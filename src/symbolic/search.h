/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract of a searcher, which says what candidate is tried next: one file search_NAME.c each, one row of
 * search.c's table each. All that it may ask of the engine is here.
 *
 * A candidate is a decision that some run took and that an input could take otherwise. It has a
 * number; each is added once, and then taken or dropped once. What is known of ways and priorities
 * changes as runs come in. What is chosen may depend on that and on symbolic_search_random, not on time
 * or addresses.
 */
#ifndef HOLDFAST_SYMBOLIC_SEARCH_H
#define HOLDFAST_SYMBOLIC_SEARCH_H

#include "base/base.h"

struct symbolic_search; /* a searcher at work: what it asks */

struct symbolic_searcher {
	const char *name, *about;
	void *(*start)(struct symbolic_search *); /* its own; given to all others */
	void (*add)(void *own, uint32_t candidate);
	bool (*take)(void *own, uint32_t *candidate); /* false: there is none */
	void (*drop)(void *own, uint32_t candidate);  /* somebody else took it */
	/* When memory runs out, the lowest go first. */
	double (*rank)(void *own, uint32_t candidate);
	void (*stop)(void *own);
};

/* ---- candidates ---- */

#define SYMBOLIC_NONE UINT32_MAX

struct symbolic_candidate {
	uint64_t serial;   /* they are numbered as they are found */
	uint64_t run;      /* number of the run whose input it starts from */
	uint32_t age;      /* of that run: runs since one that did to PM what none had done */
	uint32_t depth;    /* decisions before it */
	uint32_t step;     /* in the tree: the decision to take otherwise, or to go on after */
	uint32_t source;   /* to go on after it: the source that grows, plus 1; else 0 */
	uint32_t way, was; /* the way to take, and the one that was taken */
	uint32_t round;    /* the way that counts only those of its round */
	uint32_t line;     /* … and of its line of runs */
	/* Rounds before it that no run modified PM after, and none of its line; NONE: there is none. */
	uint32_t open, open_line;
	bool branch; /* takes the other side of a conditional jump */
	bool pin;    /* another value that hardly decides anything */
	bool fresh;  /* the run that it came from reached code that none had */
	bool dry;    /* … did nothing to PM behind the branch */
};
struct symbolic_candidate symbolic_search_candidate(const struct symbolic_search *, uint32_t id);
/* How much PM can still be modified from there on. */
uint32_t symbolic_search_priority(const struct symbolic_search *, uint32_t id);
/* Changes whenever priorities have; brings them up to date. */
uint64_t symbolic_search_priorities(const struct symbolic_search *);

/* ---- ways ---- */

/*
 * A way out of a branch instruction: (ip, side). Of a conditional jump the sides are 0 and 1; all
 * other decisions have one side, "another value". Besides, there is one for each round: the first time
 * that a path comes to the branch with this call stack, the second, third, …; later ones are
 * taken together, four to each doubling. And each round has one for each line of runs: those that
 * come from a run that did the same to PM.
 */
struct symbolic_way {
	uint64_t ip, target, block; /* block: where target's basic block begins */
	uint32_t tried;             /* inputs that were made for it */
	uint32_t failed;            /* … that the solver did not find: what that cost */
	uint32_t seen, wet;         /* times that runs went there; … and then modified PM */
	uint8_t kind, side;
	bool taken; /* some run went there, or was made for it */
	bool is_round;
};
const struct symbolic_way *symbolic_search_way(const struct symbolic_search *, uint32_t way);
size_t symbolic_search_ways(const struct symbolic_search *);
/* It leads to code that no run has reached; what it decides is where the program goes. */
bool symbolic_search_is_new(const struct symbolic_search *, uint32_t way);
bool symbolic_search_is_jump(const struct symbolic_search *, uint32_t way);
/* Pairs that runs showed: after this way, the next decision was the one at ip. False: no more. */
bool symbolic_search_follow(const struct symbolic_search *, size_t i, uint32_t *way, uint64_t *ip);
/* Changes whenever ways, follows or the code that ran have. */
uint64_t symbolic_search_coverage(const struct symbolic_search *);

/* ---- the tree of all decisions; step 0 is the root ---- */

size_t symbolic_search_steps(const struct symbolic_search *);
uint32_t symbolic_search_parent(const struct symbolic_search *, uint32_t step);
uint32_t symbolic_search_child(const struct symbolic_search *, uint32_t step); /* 0: none */
uint32_t symbolic_search_sibling(const struct symbolic_search *, uint32_t step);
size_t symbolic_search_sources(const struct symbolic_search *); /* of input */

/* ---- chance ---- */

uint64_t symbolic_search_random(const struct symbolic_search *);
uint64_t symbolic_search_seed(const struct symbolic_search *);

/* ---- a heap: the item with the greatest key is on top; equal keys: the smaller `order` ---- */

struct symbolic_heap_item {
	uint64_t key[2];
	uint64_t order;
	uint32_t candidate;
};
struct symbolic_heap {
	VEC(struct symbolic_heap_item) v;
};
void symbolic_heap_push(struct symbolic_heap *, struct symbolic_heap_item);
bool symbolic_heap_pop(struct symbolic_heap *, struct symbolic_heap_item *out);
void symbolic_heap_drop(struct symbolic_heap *, uint32_t candidate);
bool symbolic_heap_above(const struct symbolic_heap_item *, /* a is taken before b */
			 const struct symbolic_heap_item *);
void symbolic_heap_fix(struct symbolic_heap *); /* after keys were changed in place */

/* ---- searchers that combine others ---- */

const char *symbolic_search_name(const struct symbolic_search *); /* as asked for: "a+b" */
/* A part is a searcher at work by itself; NULL: there is none of that name. */
struct symbolic_search *symbolic_search_part(struct symbolic_search *, const char *name);
void symbolic_search_add(struct symbolic_search *, uint32_t candidate);
bool symbolic_search_take(struct symbolic_search *, uint32_t *candidate);
void symbolic_search_drop(struct symbolic_search *, uint32_t candidate);
double symbolic_search_rank(struct symbolic_search *, uint32_t candidate);
void symbolic_search_free(struct symbolic_search *);

#endif
