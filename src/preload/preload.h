/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library that is preloaded into other people's programs, and what it and holdfast say to
 * each other. It can do three things, each when its variable is in the environment:
 *
 *   HOLDFAST_FORKSERVER  the program stops before main, and a child continues for each run
 *   HOLDFAST_MAP         PM files are mapped at the addresses that they had when recorded
 *   HOLDFAST_VIEW        a view of the file system without namespaces: in some folders, the
 *                        program sees the real files, but what it changes is kept apart
 *
 * The view is a stack of folders, as in an overlay:
 *
 *   the program sees     /home/u/pm/       pool   notes   new
 *   its own     BASE/u0/                   pool           new     copies and what is new
 *   real        /home/u/pm/                pool   notes           never written
 *
 * A run of the explorer has one layer more, the changes that the fork server made before it.
 */
#ifndef HOLDFAST_PRELOAD_PRELOAD_H
#define HOLDFAST_PRELOAD_PRELOAD_H

#include <stdbool.h>
#include <stdint.h>

#define PRELOAD_LIBRARY "holdfast-preload.so"
#define PRELOAD_LINES "holdfast-lines.so" /* another, see lines.c */

#define FAST_FD 198 /* the library's end of the socket */
#define FAST_ENV "HOLDFAST_FORKSERVER"
#define FAST_MAP "HOLDFAST_MAP" /* "address=path", one a line */

/* The cell sends one byte for each run. */
enum {
	FAST_HELLO, /* the program stands before main */
	FAST_CHILD, /* the run has begun; value: its pid */
	FAST_END,   /* and ended; value: status, as from waitpid */
};
struct fast_msg {
	int32_t what, value;
};

/*
 * Lines: "BASE", or "BASE:BASE" (the upper one first), then for each folder "ID+ DIR": what is
 * changed below DIR is in BASE/uID; "ID= DIR" if DIR shows only the files that are in BASE/uID,
 * and is as it is otherwise. DIR is absolute and has no symbolic links.
 */
#define PRELOAD_VIEW "HOLDFAST_VIEW"
#define PRELOAD_BASES 2
#define PRELOAD_FOLDERS 64
#define PRELOAD_BASE_MAX 240

/* The same as the library has it. Under the tracer it says where; the explorer's gives each run a
 * base of its own. */
struct preload_bases {
	uint32_t n;
	char path[PRELOAD_BASES][PRELOAD_BASE_MAX];
};
struct preload_folder {
	const char *dir; /* "/" is "" */
	uint64_t n;
	uint32_t id, only; /* "=" */
};
struct preload_view {
	struct preload_bases base;
	uint32_t nfolder;
	struct preload_folder folder[PRELOAD_FOLDERS];
};

/*
 * Client requests (include/holdfast.h), to the tracer:
 *   VIEW(view, 0)    there is a view; 1: its programs are explored, and the other two make sense
 *   TEXT(to, from)   copies a string of less than PRELOAD_TEXT_MAX bytes without what it depends
 *                    on: which way the library takes is not the program's decision. Its length,
 *                    or PRELOAD_TEXT_MAX
 *   INPUT(path, 0)   1: the file is input, and all runs are to have the same
 */
#define PRELOAD_REQUEST_VIEW 0x48460010ul
#define PRELOAD_REQUEST_TEXT 0x48460011ul
#define PRELOAD_REQUEST_INPUT 0x48460012ul
#define PRELOAD_TEXT_MAX 1024

/* A symbolic link to this in BASE/uID: the real file or folder of that name is not seen. */
#define PRELOAD_GONE "/.holdfast-gone"
/* In the uppermost BASE: a program that was not run, as the library would not be loaded. */
#define PRELOAD_REFUSED "refused"

/*
 * In the uppermost BASE, if it is there: what the program may leave behind that has no path, one struct
 * after the other. Then its names are the base's own, too.
 */
#define PRELOAD_IPC "ipc"
#define PRELOAD_QUEUE 256
enum { PRELOAD_SHM, PRELOAD_SEM, PRELOAD_MSG, PRELOAD_MQ };
struct preload_ipc {
	uint32_t kind;
	int32_t id;   /* of the first three kinds … */
	uint32_t key; /* … as the kernel knows it */
	char name[PRELOAD_QUEUE];
};

/* A library, by its name: beside the tracer. malloc'ed; NULL and err: it is not there. */
struct err;
char *preload_find(const char *library, struct err *);

/* Why the library would not be loaded into the program; NULL: it would be, as far as one can tell. */
const char *preload_refuses(const char *program);

#endif
