/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of world/ share. */
#ifndef HOLDFAST_TRACER_WORLD_INTERNAL_H
#define HOLDFAST_TRACER_WORLD_INTERNAL_H

#include "world.h"

/* ---- regs.c, pin.c ---- */
UInt sym_reg_node(Int offset); /* of this byte of the current thread's guest state; 0: concrete */
/* Pins a system call's argument in a register: the kernel uses its concrete value. */
void sym_reg_pin(ThreadId tid, UInt offset);

/* ---- input.c ---- */
void sym_fill(void);       /* writes this run's input to its places in memory */
void sym_say_filled(void); /* records that it was read */
/* Which source a file is, -1: none. */
Int sym_source_of(ULong dev, ULong ino);
Int sym_source_at(const HChar *path);
void sym_source_also(UInt s, ULong dev, ULong ino); /* this file is a copy of source s */
/* `len` bytes from offset `off` of source s have arrived at a. */
void sym_arrived(UInt s, ULong off, Addr a, SizeT len, Bool end);
void sym_mapped(UInt s, ULong off, Addr a, SizeT len); /* … is mapped at a, from offset off */
void sym_unmapped(Addr a, SizeT len);

/* ---- calls.c ---- */
Bool sym_is_source(Int fd);     /* a symbolic file */
Bool sym_is_connection(Int fd); /* its bytes are input */

/* ---- carry.c ---- */
void sym_carry_start(void);
void sym_carry_pre(ThreadId tid, UInt no, const UWord *args);
void sym_carry_post(ThreadId tid, UInt no, const UWord *args, SysRes res);
/* A system call has read `len` bytes of no source into these places. */
void sym_carry_got(ThreadId tid, UInt no, const UWord *args, const struct vki_iovec *, UWord n,
		   SizeT len);
void sym_carry_forks(ThreadId tid);
void sym_carry_end(void);
void sym_left(enum sym_left how, UInt site, UInt ctx); /* input went there, unfollowed */

/* ---- channel.c ---- */
void sym_channels_start(void);
void sym_channels_end(void);
Bool sym_from_outside(Int fd); /* the program was started with it */
void sym_socketpair(UWord domain, UWord type, const Int *fd);
void sym_connects(ThreadId tid, Int fd, const HChar *address, UWord len);
void sym_connected(ThreadId tid, Bool failed);
Bool sym_accepted(Int listener, Int fd); /* True: the program's own connection */

/* ---- server.c ---- */
void sym_dirtied(const HChar *what); /* a later run could notice what this one has done */

/* ---- view.c ---- */
void sym_view_init(void);
Bool sym_view_snapshot(
	const HChar **why_not); /* in the server: notes what children must not share */
void sym_view_restore(void);    /* in the server, before each fork */
void sym_view_memory(void);     /* in a child: mappings become private */
void sym_view_files(void);      /* in a child: from now on its files are its own */
void sym_view_listens(void);    /* the program has a listening socket */
Bool sym_view_has_listener(void);
Bool sym_view_old_fd(Int fd);              /* was open at the snapshot */
Bool sym_view_write_ok(Int fd, ULong off); /* a write there is undone by sym_view_restore */

void sym_view_share(void);      /* before the program forks: its mappings are shared again */
Int sym_view_fd(void);          /* the folder of the mount plan, which no path leads to; -1: none */
void sym_view_rights(Bool use); /* to make mounts, where they are in a user namespace */

/* ---- preload.c ---- */
void sym_preload_child(void); /* in a child: from now on its files are its own */

/* ---- gone.c ---- */
void sym_names_go(UInt no,
		  const UWord *args); /* before a system call that may remove or rename one */
Bool sym_is_gone(UInt mount);         /* it is mounted no longer */

/* ---- said.c ---- */
void sym_said_init(void);
void sym_said_snapshot(void);
void sym_said_restore(void);
void sym_said(UInt no, const UWord *args, UWord written); /* after a system call */

/* ---- clock.c ---- */
void sym_clock_syscall(ThreadId tid, UInt no, UWord *args, SysRes res);

#endif
