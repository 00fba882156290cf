/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the explorer share.
 *
 *   explorer.c       the interface: start, go, poll; restarts
 *   explorer_boot.c  one tracer process: its arguments, input, descriptors; exec
 *   explorer_view.c  what it sees of the file system
 *   explorer_talk.c  the conversation over a socket
 */
#ifndef HOLDFAST_LAUNCH_EXPLORER_H
#define HOLDFAST_LAUNCH_EXPLORER_H

#include "launch/internal.h"

/* A file that is input. */
struct input_file {
	int fd;         /* what the program reads; -1: none */
	uint8_t *truth; /* all its bytes as they should be, but for the input */
	uint64_t size;  /* of the file, if the input does not end it */
	bool to_end;    /* the input is the end of the file, so its size varies */
};

struct launch_explorer {
	struct launch_explorer_opts opts;
	trace_sink *event, *sym;
	void *arg;
	char *libexec, *valgrind;
	const struct sandbox_view *view;
	struct sandbox_cell *cell; /* if the view has no mounts; else it is the tracer's own */
	int guard;                 /* -1: none */
	struct trace_live *live;
	int control_fd;
	struct sym_control *control;
	uint8_t *seed; /* the first input, for a restart */
	uint32_t seed_now[SYM_MAX_SOURCES];
	struct input_file file[SYM_MAX_SOURCES];
	int output; /* the program's stdout and stderr */

	pid_t pid;  /* the tracer; 0: none */
	int status; /* of the last that ended, as from waitpid */
	int dial;   /* socket to the process that makes sockets in its network; -1: none */

	char said[SYM_MAX_SAID + 1];
	bool started; /* launch_explorer_start has been */
	bool fresh;   /* a new process for each run */
	bool ready;   /* SYM_READY was seen */
	bool alone;   /* … and it cannot fork */
	bool quiet;   /* a restart: what comes is known */
	char why[256];
	uint64_t prefix;
	uint64_t story; /* a sum of the events before the snapshot */

	bool running;
	bool hung, dirtied, over; /* over: SYM_END was seen */
	unsigned restarts;
	uint32_t ended; /* runs of this server that have ended */
	double began, killed;
	struct talk *talk;
};

/* explorer_boot.c */
int launch_explorer_boot(struct launch_explorer *, struct err *);
void launch_explorer_kill(struct launch_explorer *); /* the tracer and all that it runs */
/* Writes the run's input to where the program finds it. */
int launch_explorer_input(struct launch_explorer *, const uint8_t *input, const uint32_t *now,
			  struct err *);
/* The files as they are now are as they should be, but for the input. */
int launch_explorer_truth(struct launch_explorer *, struct err *);

/* explorer_view.c: how runs are kept apart; then, in the process that becomes the tracer, its files
 * and a descriptor of the folder that its mounts are made from. */
int launch_explorer_view_choose(struct launch_explorer *, const char *program, struct err *);
struct explorer_files { /* what it has opened: the symbolic files, -1 for other sources */
	int fd[SYM_MAX_SOURCES];
};
int launch_explorer_view_enter(const struct launch_explorer *, struct explorer_files *,
			       struct err *);
/* Views without mounts: before the process is made, in it, after a run that was a child, at the end. */
int launch_explorer_view_open(struct launch_explorer *, struct err *);
void launch_explorer_view_use(const struct launch_explorer *);
void launch_explorer_view_ended(const struct launch_explorer *, uint32_t run);
void launch_explorer_view_close(struct launch_explorer *);

/* explorer_talk.c */
struct talk *launch_talk_new(const struct launch_explorer *);
void launch_talk_free(struct talk *);
void launch_talk_start(struct talk *, const uint8_t *input, uint32_t now);
/* What there is to do; `pid`: who is to be stopped at the end, 0: not known yet. */
void launch_talk_step(struct talk *, const struct launch_explorer *, pid_t pid);
int launch_talk_wait(const struct talk *); /* ms until it wants to be called again */
bool launch_talk_stopped(const struct talk *, int signal); /* it was told to end by that signal */
int launch_talk_dialer(void); /* starts the process that makes sockets; the end to ask it; -1 */

#endif
