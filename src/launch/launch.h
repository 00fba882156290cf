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

struct launch_opts {
	const char *const *argv; /* the program and its arguments, ended by NULL */
	const char *const *pm;   /* globs: only these files are persistent memory */
	size_t npm;
	const char *const *watch; /* globs: functions whose calls are events */
	size_t nwatch;
	const char *cpu;        /* "clwb", "clflushopt", "clflush"; NULL: the tracer's choice */
	const char *stdin_path; /* NULL: ours */
	bool follow_forks;
	bool no_pmem_force; /* leave PMEM_IS_PMEM_FORCE alone */
	bool no_pmemcheck;  /* do not answer pmemcheck's client requests */
	bool loads;         /* record what is read from persistent memory, too */

	/* A server: once it is ready the client is run, natively; then it is stopped. */
	const char *client; /* a shell command; NULL: not a server, and the rest is ignored */
	unsigned port;      /* ready when something listens here; 0: see ready */
	const char *ready;  /* … when a line of its output matches; both: when both are true */
	unsigned ready_timeout; /* seconds, also for its end; 0: 60 */
	const char *stop;       /* "TERM", "SIGINT", "15" or a shell command; NULL: TERM */
};

struct launch_result {
	int status;        /* what a shell would say: the program's own, or 128 + signal */
	int signal;        /* what ended the program, or 0; not that which was to stop a server */
	bool pmem_forced;  /* PMEM_IS_PMEM_FORCE=1 was set for the program */
	bool stopped;      /* recording ended before the program did */
	struct err why;    /* … for this reason */
	int client_status; /* the client's, as a shell would say */
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

/* The path that execvp would run for a name, as an xmalloc'ed string; NULL and err. */
char *launch_resolve(const char *name, struct err *err);
/* 0 if the tracer can run the file: an x86-64 ELF program, or a script for one. */
int launch_check_program(const char *path, struct err *err);

#endif
