/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The world that a program under exploration sees: which bytes of it are symbolic, where they come
 * from, and what keeps one run apart from the next.
 *
 *   shadow.c  which bytes of memory are symbolic, and what they are
 *   regs.c    the same for guest registers
 *   path.c    what the path depended on: conditions, recorded for holdfast
 *   pin.c     values that could not be kept symbolic
 *   input.c   the sources: arguments, environment, files, sockets, memory
 *   calls.c   system calls that deliver their bytes, or could disturb other runs
 *   carry.c   bytes that the kernel keeps for the program: in files, …
 *   channel.c … pipes and Unix sockets; and those that are not followed
 *   server.c  the fork server, which waits before the first use of input, and its children
 *   view.c    a child's own memory and files: private mappings, mounts
 *   preload.c … its files, where it can have no mounts
 *   gone.c    symbolic files that are removed or renamed
 *   said.c    what the program has printed last
 *   clock.c   fixed clock and random numbers
 */
#ifndef HOLDFAST_TRACER_WORLD_H
#define HOLDFAST_TRACER_WORLD_H

#include "expr/expr.h"
#include "record/record.h"

extern Bool sym_on; /* --hf-sym was given; else nothing below is used */
extern struct sym_control *sym_control;

/* ---- shadow.c, regs.c ---- */
/*
 * One byte per hashed line of 64 bytes, non-zero where an access of up to 32 bytes that begins
 * there may meet a symbolic byte: the inline test before loads and after stores.
 */
#define SYM_LINE_BITS 6
#define SYM_LINES 65536u
#define SYM_REACH 32u
extern struct sym_summary {
	UChar line[SYM_LINES];
	ULong groups; /* bits: groups of guest registers that hold symbolic bytes */
	UInt live;    /* how many bytes of memory are symbolic */
} sym_summary;
static inline Bool sym_maybe(Addr a) /* for accesses of up to SYM_REACH bytes */
{
	return sym_summary.line[(a >> SYM_LINE_BITS) % SYM_LINES] != 0;
}
ULong sym_group(Int offset, Int size);              /* the groups of a part of the guest state */
void sym_mark(Addr a, SizeT len, UInt first_input); /* these bytes are input from now on */
void sym_clear(Addr a, SizeT len);                  /* … are concrete */
void sym_move(Addr from, Addr to, SizeT len);
Bool sym_any(Addr a, SizeT len);
/* Bit i: byte a + i belongs to another expression than the one before it; n is at most 32. */
UInt sym_seams(Addr a, UInt n);
/* r->bits and r->v are set; fill in r->node. */
void sym_load(Addr a, struct sym_value *r);
void sym_store(Addr a, const struct sym_value *);
void sym_reg_get(Int offset, struct sym_value *r);
void sym_reg_put(Int offset, const struct sym_value *);
void sym_reg_clear(Int offset, Int size); /* the current thread's */
void sym_switch(ThreadId tid);            /* the registers are tid's from now on */
void sym_thread(ThreadId parent, ThreadId tid);
void sym_signal(ThreadId tid); /* a signal handler of tid is about to run */
void sym_track(void); /* registers callbacks for what the core does to memory and registers */

/* ---- path.c ---- */
/* The path depended on this. `to`: where it goes if the node is set, and if not; only for SYM_COND. */
void sym_branch(enum sym_branch kind, UInt node, ULong value, Addr ip, const Addr to[2]);
/* The path does not depend on it: SYM_PM_STORE, SYM_FLUSH, where the next access is. */
void sym_announce(enum sym_branch kind, UInt node, ULong value, Addr ip);
/* Do the conditions so far decide this one, as far as is easily seen? */
Bool sym_known(UInt condition);
/* Narrows lo … hi to what the conditions so far leave to a node. */
void sym_bounds(UInt node, ULong *lo, ULong *hi);
/* Which values of an input byte agree with all conditions so far that are about this byte alone:
 * 256 of them. */
const Bool *sym_possible(UInt byte);

/* ---- pin.c ---- */
/* All symbolic words keep the values that they have. */
void sym_pin(enum sym_branch kind, const struct sym_value *, Addr ip);
/* The same for bytes in memory or guest registers; returns how many were symbolic. */
UInt sym_pin_memory(Addr a, SizeT len, Addr ip);
UInt sym_pin_registers(Int offset, Int size, Addr ip);

/* ---- input.c ---- */
/* Maps the control block at `path`; before the ring is claimed. */
void sym_init(const HChar *path);
void sym_start(ThreadId tid);        /* the program's first instruction: arguments, environment */
Bool sym_request(Addr a, SizeT len); /* HOLDFAST_SYMBOLIC(); False: not possible */

/* ---- preload.c ---- */
Bool sym_preload_request(const UWord *args, UWord *ret); /* the library's; False: another */

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
extern struct sym_process {
	enum sym_role role;
	Bool forking;  /* the fork under way is the server's, not the program's */
	Bool children; /* the program has forked */
	Bool forked;   /* this process was forked by the program */
	Addr tid_at;   /* where the C library keeps the thread's number; 0: nobody knows */
} sym_process;
/* A symbolic byte is about to be used. Becomes the server the first time; returns in children. */
void sym_first_use(void);
void sym_forked(void); /* in a process that the program has forked */
void sym_end(void);    /* the run's last record */

#endif
