/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where symbolic bytes come from, and the fork server that stands before their first use.
 *
 *   input.c   the sources: arguments, environment, files, sockets, memory
 *   calls.c   system calls that deliver their bytes, or could disturb other runs
 *   server.c  the fork server and its children
 *   view.c    a child's own memory and files: private mappings, mounts
 *   gone.c    symbolic files that are removed or renamed
 *   said.c    what the program has printed last
 *   clock.c   fixed clock and random numbers
 */
#ifndef HOLDFAST_TRACER_WORLD_H
#define HOLDFAST_TRACER_WORLD_H

#include "exec/exec.h"

/* ---- input.c ---- */
void sym_init(void);                 /* maps the control block; before the ring is claimed */
void sym_start(ThreadId tid);        /* the program's first instruction: arguments, environment */
Bool sym_request(Addr a, SizeT len); /* HOLDFAST_SYMBOLIC(); False: not possible */
void sym_say_filled(void);           /* … was taken by this run */
void sym_fill(void);                 /* this run's input to where it belongs in memory */
/* Which source a file is, -1: none. */
Int sym_source_of(ULong dev, ULong ino);
void sym_source_also(UInt s, ULong dev, ULong ino); /* so is this one */
/* `len` bytes from offset `off` of source s have arrived at a. */
void sym_arrived(UInt s, ULong off, Addr a, SizeT len, Bool end);
void sym_mapped(UInt s, ULong off, Addr a, SizeT len); /* … is mapped at a, from offset off */
void sym_unmapped(Addr a, SizeT len);
Bool sym_has(enum sym_kind kind);

/* ---- calls.c ---- */
void sym_syscall_pre(ThreadId tid, UInt no, UWord *args, UInt nargs);
void sym_syscall_post(ThreadId tid, UInt no, UWord *args, SysRes res);
/* The kernel is about to read client memory. */
void sym_kernel_reads(CorePart part, ThreadId tid, const HChar *what, Addr a, SizeT len);
void sym_kernel_reads_string(CorePart part, ThreadId tid, const HChar *what, Addr a);

/* ---- server.c ---- */
enum sym_role {
	SYM_BEFORE, /* nothing symbolic was used yet */
	SYM_CHILD,  /* a run, forked by the server */
	SYM_ALONE,  /* the only run: this process cannot be forked, or the input is not asked for */
};
extern enum sym_role sym_role;
extern Addr sym_tid_at;   /* where the C library keeps the thread's number; 0: nobody knows */
extern Bool sym_children; /* the program has forked */
extern Bool sym_forking;  /* the fork under way is the server's, not the program's */
/* A symbolic byte is about to be used. Becomes the server the first time; returns in children. */
void sym_first_use(void);
void sym_dirtied(const HChar *what); /* a later run could notice what this one has done */
void sym_forked(void);               /* in a process that the program has forked */
void sym_end(void);                  /* the run's last word */

/* ---- view.c ---- */
void sym_view_init(void);
Bool sym_view_snapshot(const HChar **why_not); /* in the server: what children must not share */
void sym_view_restore(void);                   /* in the server, before each fork */
void sym_view_memory(void);                    /* in a child: mappings become private */
void sym_view_files(void);                     /* in a child: from now on its files are its own */
void sym_view_listens(void);                   /* the program has a listening socket */
Bool sym_view_has_listener(void);
Bool sym_view_old_fd(Int fd);              /* was open at the snapshot */
Bool sym_view_write_ok(Int fd, ULong off); /* a write there is undone by sym_view_restore */

void sym_view_share(void);      /* … about to fork: its mappings are shared again */
Int sym_view_fd(void);          /* the folder that only we know; -1 */
void sym_view_rights(Bool use); /* to make mounts, where they are in a user namespace */

/* ---- gone.c ---- */
void sym_names_go(UInt no, const UWord *args); /* before a system call that removes or renames */
Bool sym_is_gone(UInt mount);                  /* it is mounted no longer */

/* ---- said.c ---- */
void sym_said_init(void);
void sym_said_snapshot(void);
void sym_said_restore(void);
void sym_said(UInt no, const UWord *args, UWord written); /* after a system call */

/* ---- clock.c ---- */
ULong sym_pin_clock(void); /* microseconds; later each time */
void sym_pin_syscall(ThreadId tid, UInt no, UWord *args, SysRes res);

#endif
