/* SPDX-License-Identifier: BSD-3-Clause */
/* An input without the tracer: as files, with a script that runs the program. */
#ifndef HOLDFAST_EXPLORE_NATIVE_H
#define HOLDFAST_EXPLORE_NATIVE_H

#include "explore/input.h"

/* files.c: all of an input, and the script. */
int explore_files(const struct explore_program *, const struct explore_plan *,
		  const struct symbolic_input *, const char *dir, struct err *);
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

#endif
