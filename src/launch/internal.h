/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of src/launch/ share. */
#ifndef HOLDFAST_LAUNCH_INTERNAL_H
#define HOLDFAST_LAUNCH_INTERNAL_H

#include <sys/types.h>

#include "launch/launch.h"
#include "sandbox/sandbox.h"

#define LAUNCH_TOOL "holdfast-amd64-linux"

/* launch.c: the command line of valgrind for the program of opts, with `more` options. */
char **launch_arguments(const char *valgrind, const struct launch_opts *, const char *const *more,
			size_t nmore);
#define LAUNCH_FORCE "PMEM_IS_PMEM_FORCE"

/* folder.c: prepares a folder for a new trace. With `force` an old trace is removed, but nothing else. */
int launch_folder_clear(const char *dir, bool force, bool *existed, struct err *err);
/* Removes the trace in a folder, and the folder `itself`; 0, or -1 and errno. */
int launch_folder_remove(const char *dir, bool itself);

/* children.c */
struct children {
	pid_t *p;
	size_t n, cap;
};
void launch_children_list(struct children *);
void launch_children_signal(const struct children *except, int sig);
void launch_children_end(const struct children *except); /* kills and takes in all others */

/* compare.c: fills in res->differs */
void launch_compare(const struct trace_live *, struct launch_result *);

/* relay.c: NULL or -1 and err where something failed. */
struct relay;
struct relay *launch_relay_new(struct sandbox_ready *); /* which is told of all output */
void launch_relay_free(struct relay *);
int launch_relay_open(struct relay *, struct err *err);  /* before the program is started */
void launch_relay_become(const struct relay *);          /* in the program's process */
int launch_relay_start(struct relay *, struct err *err); /* when it was started */
bool launch_relay_drained(const struct relay *);         /* nobody writes any more */
void launch_relay_finish(struct relay *);                /* when all who write are gone */

/* server.c */
struct server;
struct server_program { /* what the server needs to know of the program */
	pid_t pid;      /* 0: it has ended, or its first process has */
	const struct children *before;
	bool ended;
	int status;
	int interrupted; /* how many signals came for us */
	unsigned images; /* that its first process has run: one, and one more for each exec */
};
struct server *launch_server_new(const struct launch_opts *, struct err *err);
void launch_server_free(struct server *);
int launch_server_open(struct server *, struct err *err);
void launch_server_become(const struct server *);
int launch_server_started(struct server *, struct err *err);
int launch_server_step(struct server *, const struct server_program *, struct err *err);
bool launch_server_over(const struct server *);
pid_t launch_server_client(const struct server *); /* the group that gets our signals; 0: none */
/* A child has ended; false: it was not one of the server's. */
bool launch_server_reaped(struct server *, pid_t pid, int shell_status);
void launch_server_kill(const struct server *);
void launch_server_finish(struct server *, struct launch_result *);
void launch_server_signal(const struct server_program *, int sig);
pid_t launch_server_shell(const char *command); /* runs it; -1: it could not be started */

#endif
