/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of src/runner/ share. A cell is a process: runner.c asks it over a socket,
 * cell.c answers. It is the first process of its own pid namespace, and its mounts are its own,
 * so that its end is the end of all that it started and mounted.
 */
#ifndef HOLDFAST_RUNNER_INTERNAL_H
#define HOLDFAST_RUNNER_INTERNAL_H

#include "runner/runner.h"
#include "preload/preload.h"

#include <regex.h>
#include <sys/types.h>

#define OUTPUT_KEPT (64u << 10) /* of the output, for the result */

#define OPS_FD 197 /* a command's {ops}; below FAST_FD */
#define OPS_PATH "/proc/self/fd/197"

/* command.c: a command, parsed once. */
#define SHELL "/bin/sh"
struct command {
	char *text;
	char **word; /* NULL: for the shell */
	size_t nword;
};
/* What {pool} and its like stand for. */
struct names {
	const char *const *path;
	size_t n;
	const char *dir, *ops;
};
int runner_command_parse(struct command *, const char *text, struct err *);
void runner_command_free(struct command *);
bool runner_command_has_pool(const char *text);
/* Why its program cannot be run in the view; malloc'ed; NULL: it can. */
char *runner_command_refused(const char *text, const struct sandbox_view *);
char *runner_command_find(const char *name, struct err *); /* the program's file; malloc'ed */
char **runner_command_argv(const struct command *, const struct names *); /* NULL at the end */
void runner_command_argv_free(char **argv);

/* descriptors.c: there are enough for so many cells, at most those that are wanted. The other is for a child that becomes
 * a command. */
unsigned runner_descriptors_for(unsigned cells, size_t files);
void runner_descriptors_as_before(void);

/* judge.c: which ends are fine. */
struct judge {
	bool fine[256]; /* exit statuses */
	bool has_regex, has_ignore;
	regex_t regex, ignore;
};
int runner_judge_init(struct judge *, const struct runner_opts *, struct err *);
void runner_judge_free(struct judge *);
bool runner_regex_in(const regex_t *, const struct buf *);
/* The text without what is to be ignored. */
struct buf runner_judge_heard(const struct judge *, const struct buf *text);

/* image.c: one file of one cell, and what it should hold. */
struct image {
	int fd;    /* what the command sees; on the cell's tmpfs */
	int truth; /* what it should hold: a memfd of the same size, which no command gets at */
	uint8_t *map, *want;
	size_t mapped;
};
/* Makes it as it should be; pages of zeros up to `keep` bytes may stay allocated. */
int runner_image_restore(struct image *, uint64_t keep, bool *resized, struct err *);
void runner_image_unmap(struct image *);
/* The next data at or after pos, [*lo, *hi); false: none. */
bool runner_image_extent(int fd, uint64_t pos, uint64_t size, uint64_t *lo, uint64_t *hi);

struct cell {
	const struct runner_opts *opts;
	int sock, devnull;
	struct command command, client, stop, probe, next;
	int errors;        /* memfd: stderr of one that is listened to */
	int ops, before;   /* memfds, which our caller fills: runner_ops, runner_before */
	int given;         /* which of these is {ops} */
	int heard;         /* memfd for our caller: all that was said */
	int stop_signal;   /* 0: stop is a command */
	unsigned patience; /* ms for each command of the run */
	struct judge judge;
	struct sandbox_ready *ready;
	char *preload;            /* the library; NULL: not needed, or not there */
	struct sandbox_cell *box; /* what the command sees of the file system */
	struct sandbox_leaks *leaks;
	struct image *image;
	bool unlimited;      /* what is run now may take any memory */
	bool unusable;       /* an image could not be put back */
	bool worn;           /* a run has left something that only a new cell is free of */
	bool fast;           /* to use the fork server, as far as is known */
	struct proc *server; /* that; NULL: none */
};

/* proc.c: processes that a cell runs. */
struct proc {
	pid_t pid;
	int pidfd;   /* readable when it has ended */
	int out;     /* its stdout and stderr */
	int report;  /* the fork server's socket; -1: it is none */
	bool ended;  /* it, or the fork server's child */
	int status;  /* then; as from waitpid */
	bool hello;  /* the fork server works */
	bool lost;   /* and has ended itself */
	pid_t child; /* of the fork server; 0: none */
	struct buf text;
	size_t looked; /* how much of it for whether a server is up */
	bool flooded;
};
struct spawn {
	char **argv, **envp;
	int fast;   /* becomes FAST_FD; -1: none */
	int errors; /* its stderr; -1: as its stdout */
};
enum pump { PUMP_DONE, PUMP_ENDED, PUMP_TIMEOUT, PUMP_FLOODED };
typedef bool pump_done(struct cell *, struct proc *);
int runner_proc_start(struct cell *, struct proc *, const struct spawn *, struct err *);
/* Until the first has ended, or is done, or one has written too much. */
enum pump runner_proc_pump(struct cell *, struct proc *const *, size_t n, double deadline,
			   pump_done *);
void runner_proc_close(struct proc *);     /* forgets it */
bool runner_proc_kill_all(struct cell *);  /* true: there was something */
void runner_proc_kill_adopted(void);       /* our children, and what they leave behind to us */
bool runner_proc_alone(void);              /* nothing runs but the fork server */
double runner_deadline_after(unsigned ms); /* 0: never */

/* run.c: one run of the command. */
void runner_cell_run(struct cell *, bool again, struct runner_result *);
void runner_cell_backtrace(struct cell *, struct runner_result *);
/* All is in place for the next start, and nothing of an earlier run is left. */
int runner_cell_show(struct cell *, struct err *);
/* Ends what still runs, and makes files and folders as they were. */
int runner_cell_restore(struct cell *, struct runner_result *, struct err *);
char **runner_cell_argv(const struct cell *, const struct command *);
int runner_cell_start(struct cell *, struct proc *, const struct command *, int fast, struct err *);
/* What it prints is listened to. */
bool runner_cell_hears(const struct cell *, const struct command *);
/* The command has done well: listens to the others, if there are any. `server` (may be NULL) runs beside them. */
void runner_cell_listen(struct cell *, struct proc *server, struct runner_result *);
void runner_cell_judge(const struct cell *, const struct command *, const struct proc *, enum pump,
		       struct runner_result *);
/* The signal that ended it, else 0. A shell ends with 128 + n where its command was ended by n. */
int runner_end_signal(int status, bool shell);
void runner_cell_gone(struct cell *) __attribute__((noreturn)); /* the caller has ended */
void runner_broken(struct runner_result *, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* fast.c: false: to be run in the ordinary way. */
bool runner_fast_run(struct cell *, struct runner_result *);
void runner_fast_stop(struct cell *);

/* backtrace.c: "gdb OPTIONS COMMAND" */
struct command runner_gdb_command(const struct command *, const char *const *options, size_t n);

/* serve.c: a server as recovery. */
void runner_serve_run(struct cell *, struct runner_result *);

/* env.c: the command's environment. */
struct env {
	char **p;
	size_t own; /* the first ones are malloc'ed */
};
struct env runner_env_new(const struct cell *, bool fast);
void runner_env_free(struct env *);

/* cell.c: the process, and what goes over its socket. */
enum op {
	OP_NAME,  /* file is seen at the text; none: nowhere */
	OP_PLAIN, /* no other names than these */
	OP_ALSO,  /* another name: its kind, file, path, a zero byte, a link's target */
	OP_RUN,   /* file 1: see runner_again */
	OP_BACKTRACE,
	OP_SHOW,    /* make the view for a command, the text or else ours, that the caller runs in
		     * it; file 1: under gdb. Answers with its words and its part of the environment,
		     * each ended by a zero byte, and an empty one between and after them */
	OP_RESTORE, /* put back what that did */
};
struct request {
	uint32_t op, file;
	uint32_t kind;    /* of OP_ALSO: enum runner_kind */
	uint32_t resized; /* sizes have changed since the last request */
	uint32_t ms;      /* of OP_RUN: runner_patience */
	uint32_t text;    /* bytes that follow */
};
struct reply {
	struct runner_result result; /* its pointers mean nothing */
	bool slow;                   /* the fork server does not work */
	bool unusable;               /* do not ask again */
	bool worn;                   /* a new cell is needed */
	uint32_t output, trace;      /* bytes that follow */
	bool heard;                  /* … but the output is in the memfd, all of it */
};
struct cell_args {
	const struct runner_opts *opts;
	const char *preload;
	struct sandbox_space space;
	int sock, ops, before, heard;
	const int *truth;
};
void runner_cell_main(const struct cell_args *) __attribute__((noreturn));

#endif
