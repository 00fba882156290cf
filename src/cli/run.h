/* SPDX-License-Identifier: BSD-3-Clause */
/* What the verbs that run a program have in common: the options of the run. */
#ifndef HOLDFAST_CLI_RUN_H
#define HOLDFAST_CLI_RUN_H

#include "cli/choices.h"
#include "launch/launch.h"

struct run_opts {
	const char *cpu, *stdin_path, *fault;
	const char *client, *port, *ready, *stop; /* a server */
	uint64_t ready_timeout;
	struct cli_list pm, persist, watch;
	bool follow_forks, no_pmem_force, pmemcheck, lines;
};

/* Rows for an option table; T is the verb's struct, which has a `struct run_opts run`. RUN_PROGRAM_OPTIONS
 * are those that are not about servers. */
#define RUN_PROGRAM_OPTIONS(T)                                                                                   \
	{ "pm",                                                                                                  \
	  0,                                                                                                     \
	  CLI_LIST,                                                                                              \
	  "GLOB",                                                                                                \
	  offsetof(T, run.pm),                                                                                   \
	  "only files whose path matches are persistent memory; may be given several times. "                    \
	  "Without it every writable shared mapping of a file is" },                                             \
		{ "watch",                                                                                       \
		  0,                                                                                             \
		  CLI_LIST,                                                                                      \
		  "GLOB",                                                                                        \
		  offsetof(T, run.watch),                                                                        \
		  "record calls and returns of functions whose name matches; may be given several times" },      \
		{ "cpu",                                                                                         \
		  0,                                                                                             \
		  CLI_CHOICE,                                                                                    \
		  NULL,                                                                                          \
		  offsetof(T, run.cpu),                                                                          \
		  "the best flush instruction that the program sees in CPUID",                                   \
		  &choices_cpu },                                                                                \
		{ "follow-forks",                                                                                \
		  0,                                                                                             \
		  CLI_FLAG,                                                                                      \
		  NULL,                                                                                          \
		  offsetof(T, run.follow_forks),                                                                 \
		  "follow the program's child processes too" },                                                  \
		{ "no-pmem-force",                                                                               \
		  0,                                                                                             \
		  CLI_FLAG,                                                                                      \
		  NULL,                                                                                          \
		  offsetof(T, run.no_pmem_force),                                                                \
		  "do not set PMEM_IS_PMEM_FORCE=1 for the program" },                                           \
		{ "pmemcheck-requests",                                                                          \
		  0,                                                                                             \
		  CLI_FLAG,                                                                                      \
		  NULL,                                                                                          \
		  offsetof(T, run.pmemcheck),                                                                    \
		  "let the program know that it runs under Valgrind, and PMDK that pmemcheck is there: it then " \
		  "announces its transactions and locks, but copies memory as it never does in production" },    \
	{                                                                                                        \
		"stdin", 0, CLI_FILE, "FILE", offsetof(T, run.stdin_path),                                       \
			"the program's standard input"                                                           \
	}

#define RUN_OPTIONS(T)                                                                                          \
	RUN_PROGRAM_OPTIONS(T),                                                                                 \
		{ "persist",                                                                                    \
		  0,                                                                                            \
		  CLI_LIST,                                                                                     \
		  "GLOB",                                                                                       \
		  offsetof(T, run.persist),                                                                     \
		  "only files whose path, or that of a folder above them, matches are recorded and are what "   \
		  "a crash changes; may be given several times. Let it match temporary names, too. Without "    \
		  "it all files that the program changes are" },                                                \
		{ "line-buffered",                                                                              \
		  0,                                                                                            \
		  CLI_FLAG,                                                                                     \
		  NULL,                                                                                         \
		  offsetof(T, run.lines),                                                                       \
		  "what the program prints is written by the line, as on a terminal, so that its answers show " \
		  "when it gives them, for operations that are requests" },                                     \
		{ "fault",                                                                                      \
		  0,                                                                                            \
		  CLI_TEXT,                                                                                     \
		  "FAULT",                                                                                      \
		  offsetof(T, run.fault),                                                                       \
		  "the program's disk fails: eio:fsync (its first fsync), eio:CALL:N (the N-th; CALL is "       \
		  "fsync, write, rename, truncate or fallocate), enospc:BYTES (files may grow by so "           \
		  "much), short-write:N (half of it is written); N+ means all later ones, too" },               \
		{ "client",                                                                                     \
		  0,                                                                                            \
		  CLI_TEXT,                                                                                     \
		  "CMD",                                                                                        \
		  offsetof(T, run.client),                                                                      \
		  "the program is a server: once it is ready, run this shell command, which makes it "          \
		  "work, and stop it when the command has ended. Needs --port or --ready" },                    \
		{ "port",                                                                                       \
		  0,                                                                                            \
		  CLI_TEXT,                                                                                     \
		  "PORT",                                                                                       \
		  offsetof(T, run.port),                                                                        \
		  "the server is ready when something listens on this TCP port; nothing connects to it" },      \
		{ "ready",                                                                                      \
		  0,                                                                                            \
		  CLI_TEXT,                                                                                     \
		  "REGEX",                                                                                      \
		  offsetof(T, run.ready),                                                                       \
		  "the server is ready when a line of its output matches; with --port, when both are "          \
		  "true. Its output passes through holdfast, so it must be flushed" },                          \
		{ "ready-timeout",                                                                              \
		  0,                                                                                            \
		  CLI_NUMBER,                                                                                   \
		  "SECONDS",                                                                                    \
		  offsetof(T, run.ready_timeout),                                                               \
		  "how long the server may take to get ready, and to end after --stop; 60 without it" },        \
	{                                                                                                       \
		"stop", 0, CLI_TEXT, "CMD|SIGNAL", offsetof(T, run.stop),                                       \
			"what ends the server: a signal (TERM, which it is without this option, INT, 2) or "    \
			"a shell command; 'true' if the client does it"                                         \
	}

/* Adds the options to what is launched; the watch list gets `more` globs at its end. */
struct launch_opts run_launch_opts(struct run_opts *, char **argv, const char *const *more,
				   size_t nmore);
void run_opts_free(struct run_opts *);
/* What is wrong with the options about a server, or a fault, or NULL. */
const char *run_misuse(const struct run_opts *);
/* -1 and err: --fault was asked for, and the run has no such call; or --persist matches no file that it changes. */
int run_wanted_missing(const struct run_opts *, const struct launch_recording *, struct err *);
/* What a run showed us, for the line "nothing found". Begins zeroed. */
struct run_seen {
	uint64_t events, kind[TRACE_KINDS]; /* how many, and of each kind */
	uint64_t started;                   /* threads, by others */
};
void run_see(struct run_seen *, const struct trace_event *);
/* " in 12 events: what was looked at; not looked at: …, more", xmalloc'ed; `more` may be NULL. */
char *run_looked(const struct run_seen *, const struct trace_defs *, const char *more);
/* The program's first process has no end in the trace: it was killed, or its tracer was. */

#define RUN_DIED "the recording ends before the program did: it was killed, or its tracer was"
/* How a program that did not end well did end; NULL: it did. xmalloc'ed. `doing` is what ended too early, then.
 * *broken is set if what it did is not known to the end. */
char *run_end(const struct launch_result *, const struct trace_defs *, const char *doing,
	      bool *broken);
/* Adds to why a run is incomplete (xmalloc'ed or NULL) what the self-check found; NULL: nothing. */
char *run_differs(char *why, const char *text);
/* The run stored nothing in persistent memory: says so, and what may be the reason. */
void run_say_no_pm(const struct run_opts *, const uint64_t kind[TRACE_KINDS]);

#endif
