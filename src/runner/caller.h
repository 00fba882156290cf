/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the caller's side share. */
#ifndef HOLDFAST_RUNNER_CALLER_H
#define HOLDFAST_RUNNER_CALLER_H

#include "runner/internal.h"

#define REPLY_MAX (sizeof(struct reply) + 2 * OUTPUT_KEPT)

struct side { /* a file of a cell */
	int image, truth;
	uint64_t size;
	bool named; /* path has been set */
	char *path; /* where it is seen; NULL: nowhere */
};
/* A request of the kind OP_ALSO. */
struct told {
	struct request q;
	char *text;
};
struct runner_cell {
	pid_t pid;
	int sock;
	int ops, before; /* memfds; -1: no command wants one */
	bool again;      /* runner_again */
	unsigned ms;     /* runner_patience */
	int heard;       /* memfd: all that was said; -1: nobody listens */
	enum { CELL_IDLE, CELL_RUNS, CELL_DEAD } state;
	char *home; /* its folder, where it has one */
	bool resized;
	uint64_t tag;
	struct side *file;
	VEC(struct told) also; /* other names, as the cell was told */
};
struct done {
	uint64_t tag;
	unsigned cell;
	struct runner_result result;
};
struct runner {
	struct runner_opts *opts;   /* our copy */
	struct sandbox_space space; /* of each cell */
	char *preload;
	bool slow;
	double until; /* runner_until */
	struct runner_cell *cell;
	unsigned ncell;
	VEC(struct done) done; /* results; those before `taken` are gone */
	size_t taken;
	void *buffer; /* REPLY_MAX */
};

/* inside.c: something else in a cell's sandbox. */
enum inside_end { INSIDE_NOT, INSIDE_ENDED, INSIDE_LATE, INSIDE_INTERRUPTED };
struct inside {
	const char *command; /* NULL: the runner's */
	bool gdb;
	runner_function *call; /* instead of the command, with its words */
	void *arg;
	int out; /* gets the standard output, or what the function writes; 0: ours is its own */
	unsigned ms;
	/* what came of it */
	enum inside_end end;
	int status;
	bool shell; /* it was run by a shell */
};
int runner_inside(struct runner *, unsigned cell, struct inside *, struct runner_result *,
		  struct err *);

char *runner_all_of(int memfd, size_t *n); /* what it holds, ended by a zero byte; malloc'ed */
void runner_bury(struct runner_cell *,
		 struct runner_result *); /* its process has ended on its own */
/* A new sandbox for the cell, with the same files in it. */
int runner_renew(struct runner *, struct runner_cell *, struct err *);
int runner_ask(struct runner_cell *, enum op, uint32_t file, const char *text);
int runner_send(struct runner_cell *, struct request, const char *text);
int runner_tell_names(struct runner_cell *); /* the other ones, to a cell that knows none */
void runner_forget_names(struct runner_cell *);
void runner_answer(struct runner *, struct runner_cell *, struct runner_result *);

#endif
