/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the runs of a program apart. Each run finds the files as they were before the first one,
 * may change them as it likes, and has, where that is possible, a network and process numbers of
 * its own.
 *
 *    view     a way to do so: one row of a table, the best first (views.c)
 *    space    the namespaces of a process (space.c)
 *    plan     which folders are covered and what belongs into each: rows of data (plan.c)
 *    cell     the files of one run after another: a plan, performed, reset (cell.c)
 *    leaks    what a run leaves behind besides files: IPC, mounts, network (leaks.c)
 *    ready    when a server is up, and how it is stopped (ready.c)
 *
 * The life of a cell, in the process that owns it:
 *
 *    sandbox_space_fork ─▶ sandbox_space_setup ─▶ sandbox_cell_open
 *          ┌────────────────────┘
 *          ▼
 *    sandbox_cell_name ─▶ sandbox_cell_show ─▶ (a program runs) ─▶ sandbox_cell_changed ─┐
 *          ▲                     ▲                                                       │
 *          └─────────────────────┴── sandbox_cell_hide, sandbox_cell_reset ◀─────────────┘
 *
 * Nothing is left behind when that process ends, however it ends: mounts and the tmpfs go with the
 * namespace. Views without namespaces have a folder (sandbox_cell_home) that somebody must remove.
 */
#ifndef HOLDFAST_SANDBOX_SANDBOX_H
#define HOLDFAST_SANDBOX_SANDBOX_H

#include "base/base.h"
#include "trace/format.h"

#include <sys/types.h>

struct sandbox_strings {
	char **p;
	size_t n, cap;
};
void sandbox_strings_free(struct sandbox_strings *);

/* ---- views ---- */

enum sandbox_flag {
	SANDBOX_PIDS = 1,   /* its processes end with its first one */
	SANDBOX_NET = 2,    /* it can have a network of its own */
	SANDBOX_MOVED = 4,  /* files are seen elsewhere: the command must be told where */
	SANDBOX_MOUNTS = 8, /* its plan is mounts, which other processes can make again */
};
struct sandbox_ops;
struct sandbox_view {
	const char *name;  /* as people choose it */
	const char *text;  /* "in a private mount namespace" */
	const char *about; /* for --help */
	const char *lacks; /* what it cannot do, a sentence; NULL: nothing to be said */
	unsigned flags;
	const struct sandbox_ops *ops;
};
const struct sandbox_view *sandbox_view_at(size_t i);        /* the best first; NULL: no more */
const struct sandbox_view *sandbox_view_named(const char *); /* NULL: there is none */
/* Does it work here? It is tried, once; 0, or -1 and why not (NULL: no matter). */
int sandbox_view_works(const struct sandbox_view *, struct err *why);
/* Why the program cannot be run in it, a sentence; malloc'ed; NULL: it can, for all one knows. */
char *sandbox_view_refuses(const struct sandbox_view *, const char *program);

/* ---- namespaces ---- */

struct sandbox_space {
	const struct sandbox_view *view;
	bool net;  /* a network of its own, where the view can have one */
	bool pids; /* process numbers of its own, likewise */
	bool keep; /* what this process executes may make mounts, too */
	uid_t uid; /* who we are outside */
	gid_t gid;
};
/* What the caller wants, with the caller's ids. */
struct sandbox_space sandbox_space_of(const struct sandbox_view *, bool net, bool pids);
/* A child in new namespaces; there, setup comes first. */
pid_t sandbox_space_fork(const struct sandbox_space *);
int sandbox_space_setup(const struct sandbox_space *, struct err *);
/* The same for this very process, which keeps its number. */
int sandbox_space_enter(const struct sandbox_space *, struct err *);
/* Our next child will be where that process is. */
bool sandbox_space_join(const struct sandbox_space *, pid_t);

/* ---- cells ---- */

struct sandbox_place {
	const char *path; /* a folder, or a file: its folder; what does not exist is left out */
	bool optional;    /* the program can do without */
};
struct sandbox_opts {
	const struct sandbox_view *view;
	const char *const *file; /* absolute paths of files that are images */
	const bool
		*optional; /* per file: need not be shown where that is not possible; may be NULL */
	size_t nfile;
	const struct sandbox_place *place; /* where it may change something */
	size_t nplace;
	/*
	 * Other processes perform the plan again, each for itself (struct mount_row). So the images
	 * are mounted over their paths, and are the same files for all of them.
	 */
	bool replayed;
};
struct sandbox_cell;
/* While everything is still seen as it is, and owners are who they are. */
struct sandbox_cell *sandbox_cell_new(const struct sandbox_opts *);
/* In the process that owns the cell, in its namespaces. Files are nowhere yet. */
int sandbox_cell_open(struct sandbox_cell *, struct err *);
int sandbox_cell_image(struct sandbox_cell *, size_t file, struct err *);     /* creates it; fd */
void sandbox_cell_name(struct sandbox_cell *, size_t file, const char *path); /* NULL: nowhere */
/* Other names: of images once more, and of what is no image. */
enum sandbox_kind {
	SANDBOX_FILE,
	SANDBOX_FOLDER,
	SANDBOX_OTHER_FOLDER, /* nothing of what is really there is in it */
	SANDBOX_LINK,         /* symbolic */
	SANDBOX_GONE,         /* nothing is there */
};
void sandbox_cell_also(struct sandbox_cell *, enum sandbox_kind, size_t file, const char *path,
		       const char *target);
void sandbox_cell_plain(struct sandbox_cell *);             /* forgets these */
int sandbox_cell_show(struct sandbox_cell *, struct err *); /* as it should be, if it is not */
/* Has the program changed it, apart from contents of images? What has will be made anew. */
bool sandbox_cell_changed(struct sandbox_cell *, bool *replaced);
void sandbox_cell_hide(struct sandbox_cell *);
void sandbox_cell_reset(struct sandbox_cell *); /* removes what is to be made anew; when hidden */
bool sandbox_cell_full(const struct sandbox_cell *); /* there is no room any more */
void sandbox_cell_end(struct sandbox_cell *);        /* removes what does not go by itself */
/* Its folder goes as soon as nobody has this descriptor open any more; -1 and err. */
int sandbox_cell_guard(const struct sandbox_cell *, struct err *);

const struct sandbox_view *sandbox_cell_view(const struct sandbox_cell *);
const char *sandbox_cell_cwd(const struct sandbox_cell *);  /* where a program starts; NULL: gone */
const char *sandbox_cell_home(const struct sandbox_cell *); /* its folder; NULL: it has none */
int sandbox_cell_base(const struct sandbox_cell *);         /* the folder, whether named or not */
/* Where the program sees a file, without symbolic links; NULL: nowhere. */
const char *sandbox_cell_seen(const struct sandbox_cell *, size_t file);
/* What to call it in the program's command line. */
const char *sandbox_cell_path(const struct sandbox_cell *, size_t file);
char *sandbox_cell_dir(const struct sandbox_cell *); /* … the folder of the first; malloc'ed */
/* "NAME=value"s that the program needs to have in its environment. */
void sandbox_cell_env(const struct sandbox_cell *, struct sandbox_strings *);
/* A program that was not run as it cannot be, with the reason; malloc'ed; NULL: all were. Asks once. */
char *sandbox_cell_refused(const struct sandbox_cell *);
/* The mount plan, for those who perform it again; -1 and err: it has more than `max` rows. */
int sandbox_cell_rows(const struct sandbox_cell *, struct mount_row *, uint32_t max, uint32_t *n,
		      struct err *);
int sandbox_copy_file(const char *from, int to); /* sparse; one that is not there is empty */
int sandbox_remove_tree(int dirfd, const char *name);

/* ---- what runs leave behind besides files ---- */

enum sandbox_left {
	SANDBOX_LEFT_IPC = 1,
	SANDBOX_LEFT_MOUNTS = 2,
	SANDBOX_LEFT_NETWORK = 4,
};
struct sandbox_leaks;
/* In the process that owns the cell, which is open but not shown yet. */
struct sandbox_leaks *sandbox_leaks_new(const struct sandbox_space *, struct sandbox_cell *);
/* Before a run, when the cell is shown. alone: no process of an earlier run is to go on. */
int sandbox_leaks_begin(struct sandbox_leaks *, bool alone, struct err *);
/* After it: what is left, enum sandbox_left. ipc: look for IPC objects, too. */
unsigned sandbox_leaks_look(struct sandbox_leaks *, bool ipc);
/* Undoes mounts and renews the network; nothing of the cell runs. -1 and err: the cell is worn. */
int sandbox_leaks_undo(struct sandbox_leaks *, unsigned what, struct err *);
void sandbox_leaks_free(struct sandbox_leaks *);

/* ---- servers ---- */

struct sandbox_ready;
/* Up: it listens on the port (0: no matter) and a line of its output matches (NULL: no matter). The
 * port is looked at every so many seconds. NULL and err: the expression is wrong. */
struct sandbox_ready *sandbox_ready_new(unsigned port, const char *regex, double every,
					struct err *);
void sandbox_ready_free(struct sandbox_ready *);
void sandbox_ready_reset(struct sandbox_ready *); /* for another server */
/* What has come from its stream 0 or 1; another thread may tell. */
void sandbox_ready_saw(struct sandbox_ready *, int stream, const char *, size_t);
void sandbox_ready_ended(struct sandbox_ready *, int stream); /* nothing more will come from it */
bool sandbox_ready_now(struct sandbox_ready *);
/* What is missing, as an error that begins with `what`; returns -1. */
int sandbox_ready_lacks(const struct sandbox_ready *, const char *what, struct err *);

/* The TCP port that something listens on in a process's network (0: in ours), the wanted one or, if
 * that is 0, any; 0: none. It is asked without connecting. */
unsigned sandbox_listens(pid_t, unsigned wanted, bool *six);
/* "TERM", "SIGTERM" or "15"; 0: not a signal, so a command. */
int sandbox_signal_named(const char *);

/* ---- messages between processes that do not see the same files ---- */

#define SANDBOX_MAX_FDS 65u /* in one message */
int sandbox_send(int sock, const void *, size_t, const int *fd, size_t n);
/* 1: so many bytes, and *n descriptors; 0: the other end is closed; -1. */
int sandbox_receive(int sock, void *, size_t, int fd[SANDBOX_MAX_FDS], size_t *n);

#endif
