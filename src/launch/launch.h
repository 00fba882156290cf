/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run a program under the tracer.
 *
 * launch_new checks all that can be checked beforehand, so that nothing is written for a
 * program that cannot be run; launch_run runs it and drains its events until it has ended.
 */
#ifndef HOLDFAST_LAUNCH_LAUNCH_H
#define HOLDFAST_LAUNCH_LAUNCH_H

#include "base/base.h"
#include "trace/trace.h"

/* The best flush instruction that the program sees in CPUID: its name, and what that means; the first is the
 * default. NULL past the last. */
const char *launch_cpu_at(size_t i, const char **about);

struct launch_opts {
	const char *const *argv; /* the program and its arguments, ended by NULL */
	const char *const *pm;   /* globs: only these files are persistent memory */
	size_t npm;
	const char *const
		*persist; /* globs: only these files are recorded at all; with none: all */
	size_t npersist;
	const char *const *watch; /* globs: functions whose calls are events */
	size_t nwatch;
	const char *cpu;        /* a name, see launch_cpu_at; NULL: the default */
	const char *stdin_path; /* NULL: ours */
	bool follow_forks;
	bool no_pmem_force; /* leave PMEM_IS_PMEM_FORCE alone */
	bool pmemcheck;     /* have PMDK make pmemcheck's client requests */
	bool loads;         /* record what is read from persistent memory, too */
	bool deps;          /* record dependences between accesses to it; not with loads */
	bool profile;       /* count what the same code stores to other memory; not with deps */
	bool load_bytes;    /* … to the byte, not to the line */
	bool lines;         /* standard output is written by the line, where that is possible */
	const char *fault;  /* see launch_fault; NULL: none */
	bool files;         /* record names, and files that are written beside PM, too */

	/* A server: once it is ready the client is run, natively; then it is stopped. */
	const char *client; /* a shell command; NULL: not a server, and the rest is ignored */
	unsigned port;      /* ready when something listens here; 0: see ready */
	const char *ready;  /* … when a line of its output matches; both: when both are true */
	unsigned ready_timeout; /* seconds, also for its end; 0: 60 */
	const char *stop;       /* "TERM", "SIGINT", "15" or a shell command; NULL: TERM */
};

/* What the tracer is to do for --fault: malloc'ed; NULL and err: it makes no sense. */
char *launch_fault(const char *text, struct err *);

struct launch_result {
	int status;         /* what a shell would say: the program's own, or 128 + signal */
	int signal;         /* what ended the program, or 0; not that which was to stop a server */
	bool pmem_forced;   /* PMEM_IS_PMEM_FORCE=1 was set for the program */
	bool interrupted;   /* we were told to end, and told the program */
	bool stopped;       /* recording ended before the program did */
	struct err why;     /* … for this reason */
	int client_status;  /* the client's, as a shell would say */
	struct err differs; /* status != 0: the files are not what was recorded; in words */
};

struct launch;
/* The strings and arrays in opts must outlive the launch. NULL and err: cannot be run. */
struct launch *launch_new(const struct launch_opts *, struct err *err);
/*
 * 0: the program ran, see the result; -1: it could not be started, or was never ready. While it
 * runs, children of the caller's that end are taken in; what a server and its client left
 * running is killed.
 */
int launch_run(struct launch *, struct trace_live *, struct launch_result *, struct err *err);
void launch_free(struct launch *);

/* ---- recordings ---- */

/* The words of the recorded program's command, which live as long as the definitions; the array is malloc'ed. */
char **launch_command(const struct trace_defs *, size_t *n);
/* Is it a folder, there already? */
bool launch_folder_is(const char *path);
/* Makes PROGRAM-N.hft, with the first N that is free; xmalloc'ed; NULL and err. */
char *launch_folder_default(const char *program, struct err *);

struct launch_recording {
	struct launch_result result;
	uint64_t kind[TRACE_KINDS]; /* events of each kind */
	uint64_t events;
	uint32_t files;  /* persistent ones */
	uint32_t beside; /* others that it changed; folders are none */
	double seconds;
	bool died; /* it did not end in order: the tracer was killed, or failed */
};
/* The program's first process has not said that it ends. */
bool launch_died(const struct trace_defs *);
/*
 * Runs the program and keeps the trace in a folder, which must not exist or be empty; `force`
 * replaces a trace. -1: it did not run, err says why, and nothing is left.
 */
int launch_record(const struct launch_opts *, const char *dir, bool force,
		  struct launch_recording *, struct err *);

/* ---- what a command reads ---- */

struct launch_reads {
	VEC(struct trace_read) read;    /* lines of PM files, see there */
	VEC(struct trace_read) written; /* … before they are read */
	VEC(char *) file;               /* the files' paths */
};
/* Runs the command and all that it forks. Its end does not matter; -1: it could not be run. */
int launch_reads(const struct launch_opts *, struct launch_reads *, struct err *);
void launch_reads_free(struct launch_reads *);

/* ---- symbolic execution: one server that runs a program again and again (explorer*.c) ---- */

struct launch_explorer_opts {
	struct launch_opts run;          /* client, ready and stop are not used */
	const struct sym_source *source; /* kind, index, first, len, now, off, path are set */
	size_t nsource;
	const uint8_t *seed;    /* the first input, as many bytes as the sources have */
	const uint8_t *fixed;   /* 1: that byte keeps its value; NULL: none does */
	const uint32_t *packet; /* SYM_SRC_SOCKET: lengths of the packets, sent one by one */
	size_t npacket;
	unsigned port;      /* … and where the program listens; 0: it is found out */
	const char *stop;   /* … and how it is ended then: see launch_opts */
	double timeout;     /* seconds that a run may take */
	bool pin;           /* fixed clock and random numbers */
	bool fresh;         /* a new process for each run, never a fork */
	bool verify;        /* SYM_VERIFY records */
	const char *output; /* file that gets what the program prints; NULL: nobody */
};
/* How a run ended. */
struct launch_explorer_run {
	int status, signal; /* as in struct launch_result */
	bool hung;          /* it was killed at the time limit */
	bool dirtied;       /* it changed what the next one would see: the server was restarted */
	double seconds;
};
struct launch_explorer;
/*
 * The program sees the symbolic files' paths, its folders and pools as they are, but all that it
 * changes there is private to the run (src/sandbox).
 * `event` gets every event, `sym` every TRACE_SYM_ record, both in order. The events before the snapshot
 * are delivered by launch_explorer_start, those of a run follow on them: together they are one
 * process's trace, with event numbers that go on from the snapshot's.
 */
struct launch_explorer *launch_explorer_new(const struct launch_explorer_opts *, trace_sink *event,
					    trace_sink *sym, void *arg, struct err *);
/* Runs up to the first use of a symbolic byte, or to the end if there is none (*used = false).
 * If it cannot be forked there (see launch_explorer_forks), the events so far are void: the prefix
 * is empty, and every run tells its own story from the start. */
int launch_explorer_start(struct launch_explorer *, bool *used, struct err *);
/* How runs are kept apart, and what that cannot do (NULL: nothing to be said). */
const char *launch_explorer_view(const struct launch_explorer *, const char **lacks);
/* Whether another explorer of this program may run beside it: servers need networks of their own. */
bool launch_explorer_beside(const struct launch_explorer *);
bool launch_explorer_forks(const struct launch_explorer *, const char **why_not);
/* The last of what the program has printed up to now, in the latest run or before the first: at
 * most 4 KiB, no control characters; valid until the next call. */
const char *launch_explorer_said(struct launch_explorer *);
/* How it ended if it never used its input: as a shell would say. */
int launch_explorer_status(const struct launch_explorer *);
/* Starts a run: input has as many bytes as the sources, now[i] of source i are really there. */
int launch_explorer_go(struct launch_explorer *, const uint8_t *input, const uint32_t *now,
		       struct err *);
/* Drains; waits at most ms. 1: the run has ended, see *run; 0: not yet; -1: err. */
int launch_explorer_poll(struct launch_explorer *, int ms, struct launch_explorer_run *run,
			 struct err *);
const struct trace_defs *launch_explorer_defs(const struct launch_explorer *);
uint64_t launch_explorer_prefix(const struct launch_explorer *); /* events before the snapshot */
/* All sources: those of opts, and memory that the program has named (HOLDFAST_SYMBOLIC) up to now,
 * whose first values are in *input. */
const struct sym_source *launch_explorer_sources(const struct launch_explorer *, size_t *n,
						 const uint8_t **input);
/* Blocks that ran in the last run: addresses with 1 in *cover; n of them. */
const uint64_t *launch_explorer_blocks(const struct launch_explorer *, const uint8_t **cover,
				       size_t *n);
/* Kills what runs; nothing is left behind. */
void launch_explorer_free(struct launch_explorer *);

/* The path that execvp would run for a name, as an xmalloc'ed string; NULL and err. */
char *launch_resolve(const char *name, struct err *err);
/* 0 if the tracer can run the file: an x86-64 ELF program, or a script for one. */
int launch_check_program(const char *path, struct err *err);

/* Where the tracer is, and the Valgrind that it was built for: xmalloc'ed, or NULL and err. */
char *launch_find_libexec(struct err *err);
char *launch_find_valgrind(struct err *err);

#endif
