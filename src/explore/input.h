/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources, and inputs for them. */
#ifndef HOLDFAST_EXPLORE_INPUT_H
#define HOLDFAST_EXPLORE_INPUT_H

#include "explore/explore.h"

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
struct explore_plan *explore_plan_new(const struct explore_inputs *, const char *const *argv,
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

#endif
