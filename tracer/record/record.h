/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recording: what a program does to persistent memory. Nothing here knows of symbolic execution.
 *
 *   options.c     what was asked for
 *   decode.c      guest bytes -> is it a flush, a fence, a non-temporal store?
 *   instrument.c  puts the calls into each superblock
 *   large.c       … what if that makes it too large
 *   frames.c      … those for calls and returns
 *   hooks.c       the functions that are called there
 *   context.c     the calling context of the current thread, in O(1)
 *   region.c      which addresses are persistent memory
 *   file.c        which files are behind them, and which others are changed
 *   node.c        files beside PM, folders, links: what they are called, and what is in them
 *   names.c       … and the system calls about names
 *   module.c      where the program's code is
 *   loads.c       loads from persistent memory, if they are asked for
 *   syscall.c     mappings, files, threads, processes: what the kernel is asked to do
 *   writes.c      … to files
 *   pointers.c    what it writes without a word
 *   talk.c        what the program reads and says
 *   exits.c       … when a thread has ended
 *   remote.c      memory that is written as another process's is
 *   vectors.c     lists of buffers that are overwritten by what is read into them
 *   request.c     client requests: markers, and those of pmemcheck
 *   library.c     what calls of libpmemobj's functions say
 *   debuginfo.c   keeps Valgrind from reading debug information
 *   profile.c     how often what stores to PM stores elsewhere
 *   intern.c      numbers for instructions, contexts and the like
 *   emit.c        records -> the ring that holdfast drains
 *
 * Valgrind runs one thread at a time, so nothing here needs a lock.
 */
#ifndef HOLDFAST_TRACER_RECORD_H
#define HOLDFAST_TRACER_RECORD_H

#include "core/core.h"
#include "holdfast.h"
#include "preload/preload.h"
#include "trace/format.h"

/* ---- options (options.c) ---- */
extern struct options {
	const HChar *ring; /* path of the shared memory */
	XArray *pm;        /* const HChar *: globs; empty: every writable shared file mapping */
	XArray *persist;   /* const HChar *: globs; empty: every file that is changed */
	XArray *watch;     /* const HChar *: globs of function names */
	enum trace_cpu cpu;
	Bool follow_forks;
	Bool pmemcheck;  /* RUNNING_ON_VALGRIND is true, and so PMDK makes pmemcheck's requests */
	Bool loads;      /* record what is read from PM, too */
	Bool load_bytes; /* … to the byte */
	Bool profile;    /* count stores to other memory where there are stores to PM, too */
	Bool files;      /* record what is written beside PM, all names, and what is said, too */
	Bool baseline;   /* CPUID shows no extension beyond SSE2, and no random numbers */
} opt;
void options_init(void);
Bool options_take(const HChar *arg); /* False: not one of these */
void options_usage(void);
Bool glob_any(XArray *globs, const HChar *text);
Bool options_persist(const HChar *path); /* not left out by --hf-persist */

/* ---- what these files share (emit.c) ---- */
extern struct record {
	Bool on;          /* False: record nothing (not started, told to stop, unfollowed child) */
	Bool tell_stores; /* loads.c or pointers.c wants to know what is stored */
	Bool stacks;      /* stacks may be PM: stores to them are looked at as well */
	Bool fence_needed; /* the current thread flushed or stored non-temporally since its last fence */
	UInt told;         /* context of the current thread's last event */
	struct frame *top;   /* current thread's innermost frame */
	struct frame *limit; /* first frame that may not be used */
	Bool exit_seen;      /* the program asked to exit, so it did not die from a signal */
	Int exit_status;
	ThreadId exit_tid;                   /* who asked */
	Addr clears;                         /* word of the thread that is being made: exits.c */
	void (*cpuid)(VexGuestAMD64State *); /* what on_cpuid stands in for */
	const struct block_hooks *hooks;     /* NULL: nobody wants more in a block */
	void (*access)(UInt site); /* NULL, or called before a STORE event of an instruction */
	ULong labels;              /* … with what was put here */
} record;

/* ---- intern.c ---- */
struct intern {
	struct intern_entry {
		ULong key[3];
		UInt id; /* 0: the entry is free */
	} * entry;
	UInt n, cap;
};
/* Where the key's number is; 0: it is new, and the caller sets it. Valid until the next call. */
UInt *intern_at(struct intern *, const ULong key[3]);

/* ---- emit.c ---- */
void emit_init(void);
void emit_fork_child(void);
void emit_sync(void); /* before other processes may hear from this one */
void emit_end(void);
void emit_bell(void);                      /* holdfast should look now */
ULong emit_position(void);                 /* where the ring's head stands */
ULong emit_faults(ULong more);             /* what all processes have counted, with this */
Bool emit_is_output(ULong dev, ULong ino); /* holdfast's own stdout or stderr */
Bool emit_nobody(void);                    /* holdfast is gone, or does not want to hear any more */
void emit_futex_wait(volatile UInt *word, UInt seen, UInt ms);
/* In a fork of this process that takes over its slot; the slot is given back by the parent. */
void emit_borrow(void);
void emit_thread(UInt thread); /* whose events follow */
/* … and the next is in the same call as the last only up to context `kept`. */
void emit_kept(UInt thread, UInt kept);
/* Generic record: args, then a payload of `size` bytes (may be NULL). */
void emit(UInt kind, UInt flags, UInt site, UInt ctx, UInt nargs, const ULong *args,
	  const void *payload, UInt size);
enum ring_answer emit_and_wait(UInt kind, UInt nargs, const ULong *args, const void *payload,
			       UInt size);
/* The same, as an event at an instruction. */
enum ring_answer emit_request(UInt kind, UInt site, UInt ctx, UInt nargs, const ULong *args,
			      const void *payload, UInt size);
void emit_store(Addr a, UInt size, UInt flags, UInt site, UInt ctx);
/* The id of an instruction; the definition is sent when it is first seen. */
UInt emit_site(Addr ip, enum trace_site class, UInt size);
void emit_sites_stale(void); /* a module was unloaded: addresses may mean something else */
UInt emit_string(const HChar *s);

/* ---- context.c ---- */
/*
 * A frame of the shadow call stack. Its layout is known to the code that instrument.c
 * generates. `sp` is the stack pointer at the callee's entry; its lowest bit is set to
 * make the inline return check fail, so that ctx_return() gets to see the frame.
 */
struct frame {
	Addr call_ip; /* the call instruction; a signal's number for a handler's frame */
	Addr sp;
	Addr target;
	UInt node; /* context id, 0: not yet looked up; FRAME_UNSEEN: by no event so far */
	UInt flags;
};
enum {
	FRAME_SIGNAL = 1,
	FRAME_ALT = 2,
	FRAME_WATCHED = 4,
	FRAME_BRANCHED = 8, /* with --hf-deps: a branch with labels was in it */
	FRAME_NUMBER_SHIFT =
		4, /* … above these: the number of the activation, 0: it has none yet */
	FRAME_NUMBERS = 0xfffffff
};
#define FRAME_UNSEEN 0x80000000u
struct frame *ctx_base(void); /* the current thread's outermost */
UInt ctx_node(void);          /* context id of the current thread */
UInt ctx_peek(void);          /* the same where there is no event */
Addr ctx_target(UInt node);   /* where its last call went; 0: not known */
void ctx_thread_create(ThreadId parent, ThreadId tid);
void ctx_thread_exit(ThreadId tid);
void ctx_switch(ThreadId tid);            /* what follows is tid's */
void ctx_run(ThreadId tid, ULong blocks); /* tid is about to run client code */
UInt ctx_thread_id(ThreadId tid);
void ctx_signal(ThreadId tid, Int sig, Bool alt);
void ctx_watch(ULong what); /* the current frame belongs to a watched function: WATCHED() */
extern void ctx_grow(void);
extern VG_REGPARM(1) void ctx_return(Addr sp);
extern VG_REGPARM(1) void ctx_resync(Addr sp);

/* ---- region.c ---- */
/*
 * One byte per hashed 1 MiB granule of address space, non-zero where PM may be: the inline
 * test in front of every store looks here; region_find() then decides.
 */
#define GRANULE_BITS 20
#define GRANULES 65536u
extern UChar region_granule[GRANULES];
enum region_kind {
	REGION_PM,
	REGION_SHARED,  /* a shared file mapping that is not PM yet: no write permission */
	REGION_PRIVATE, /* with --hf-loads: a private mapping of a PM file */
};
struct region {
	Addr lo, hi;
	UInt file; /* file id, or NO_FILE: a range that the program registered, or nobody asked */
	ULong off; /* file offset of lo */
	enum region_kind kind;
};
#define NO_FILE 0xffffffffu
const struct region *region_find(Addr a); /* PM region that holds a, or NULL */
Addr region_next(Addr a);                 /* the first PM address from a on; ~0 if there is none */
const struct region *region_loaded(Addr a); /* with --hf-loads: the first that ends behind a */
Bool region_covers(Addr a, SizeT len);
/* A copy; bytes that could be read. A plain load may fault: the mapping may go beyond the end of its file. */
UInt region_peek(Addr a, UChar *to, UInt len);
void region_mmap(ThreadId tid, Addr a, SizeT len, UInt prot, UInt flags, Int fd, ULong off,
		 Addr hint);
void region_munmap(ThreadId tid, Addr a, SizeT len);
void region_mprotect(ThreadId tid, Addr a, SizeT len, UInt prot);
void region_removed(ThreadId tid, Addr a, SizeT len); /* MADV_REMOVE: a hole in the file */
void region_mremap(ThreadId tid, Addr from, SizeT old_len, Addr to, SizeT new_len);
void region_register(Addr a, SizeT len);
void region_unregister(Addr a, SizeT len);
void region_forget_all(void);
Bool region_ever(void);                   /* was there PM at any time? */
Bool region_of_file(UInt file);           /* is it mapped? */
Addr region_mapped(UInt file, ULong off); /* where; 0: that byte is not */

/* ---- file.c, module.c ---- */
struct file {
	ULong dev, ino, born; /* inode numbers are reused; born: time of creation, 0 if unknown */
	Bool unlinked;
	Bool pm;     /* announced as PM */
	Bool node;   /* announced as something that has names */
	Bool lost;   /* … whose contents are not recorded any more */
	Bool listed; /* … a folder, and so is all that is in it */
};
struct file *file_at(UInt id);                  /* until the next one is added */
UInt file_find(const struct vg_stat *, Int fd); /* NO_FILE: not known */
UInt file_add(const struct vg_stat *, Int fd);  /* a new one, even if it is known */
UInt file_changed(Int fd);            /* the id of what is written to; NO_FILE: not recorded */
UInt file_by_path(const HChar *path); /* the same */
UInt file_by_fd(Int fd);              /* the id of the PM file behind it, or NO_FILE */
UInt file_opened(Int fd);             /* by fd; with --hf-loads files get to be tracked here */
UInt file_announce(Int fd, const struct vg_stat *, const HChar *path);
Bool file_is_pm(const struct vg_stat *, const HChar *path); /* if mapped so that stores reach it */
Bool file_is_loaded(Int fd, const struct vg_stat *, const HChar *path);
void file_unlinked(UInt file);
void file_may_get_name(Int fd); /* made without one: O_TMPFILE */
void module_scan(void);
void module_mapped(ThreadId tid, Addr a, SizeT len, ULong off, const HChar *path);
void module_unmapped(ThreadId tid, Addr lo, Addr hi);

/* ---- node.c ---- */
Int node_peek(Int dirfd, const HChar *path, Bool follow); /* a descriptor for looking only, or -1 */
/* What is behind a descriptor, by whatever name it was opened, gets to be known; `list`: with all
 * that is in it. NO_FILE: it is not recorded. */
UInt node_there(ThreadId tid, Int fd, Bool list);
UInt node_of_others(Int fd);
Bool node_is_data(Int fd); /* a file or folder that has a name, and is not the kernel's own */
UInt node_created(ThreadId tid, Int fd);
void node_touched(ThreadId tid, Int fd); /* the contents of the file are about to be changed */
void node_is_pm(UInt id, Int fd, const HChar *path);
Bool node_room(ThreadId tid, UInt id, ULong bytes); /* False: what is written is not kept */
void node_lose(ThreadId tid, UInt id);
void node_event(ThreadId tid, UInt kind, UInt id, const HChar *path); /* path: may be NULL */

/* ---- names.c ---- */
/* ---- faults that are wanted (fault.c) ---- */
Bool fault_take(const HChar *text); /* --hf-fault; False: it makes no sense */
void fault_instrument(IRSB *);      /* the end of a block */
void fault_after(ThreadId tid);

void names_pre(ThreadId tid, UInt no, const UWord *args);
void names_post(ThreadId tid, UInt no, const UWord *args, UWord result);

/* syncs.c; False: the call is not only about syncing. */
Bool syncs_post(ThreadId tid, UInt no, const UWord *args, UWord result);
void syncs_completed(ThreadId tid, Int fd, UInt op, Long off, Long done);

/* ---- outside.c ---- */
void outside_learn(Addr view);                /* the program is in this one */
struct preload_view *outside_view(void);      /* NULL: it is in none */
const HChar *outside_name(const HChar *path); /* as the program knows it; until the next call */

/* ---- syscall.c, request.c ---- */
UInt syscall_site(ThreadId tid);
void event_at_syscall(ThreadId tid, UInt kind, UInt flags, UInt nargs, const ULong *args,
		      const void *payload, UInt size);
/* limits.c */
void limits_before(UInt no, const UWord *args);
void limits_after(ThreadId tid, UInt no, const UWord *args, SysRes res);

void syscall_pre(ThreadId tid, UInt no, UWord *args, UInt nargs);
void syscall_post(ThreadId tid, UInt no, UWord *args, UInt nargs, SysRes res);
void kernel_wrote(CorePart part, ThreadId tid, Addr a, SizeT len);
void kernel_pushed(ThreadId tid, Addr lo, Addr hi);
Bool request_handle(ThreadId tid, UWord *args, UWord *ret);

/* ---- writes.c, talk.c, pointers.c, exits.c, remote.c, vectors.c ---- */
void writes_pre(ThreadId tid, UInt no, const UWord *args);
void writes_post(ThreadId tid, UInt no, const UWord *args, UWord result);
void writes_done(ThreadId tid, UInt no, const UWord *args); /* and if it failed, too */
void talk_post(ThreadId tid, UInt no, const UWord *args, UWord result);
void pointers_pre(ThreadId tid, UInt no, const UWord *args, UInt nargs);
void pointers_post(ThreadId tid);
void pointers_drop(ThreadId tid);
void pointers_shared(void); /* another process may write to PM from now on */
void pointers_stored(Addr a, SizeT size);
void pointers_refresh(ThreadId tid);
void exits_clear_word(ThreadId tid, Addr word);
void exits_robust_list(ThreadId tid, Addr head);
void exits_thread(ThreadId tid);  /* it is about to end */
void exits_process(ThreadId tid); /* … and all others, before it */
void exits_forked(void);
void remote_post(ThreadId tid, UInt no, const UWord *args, UWord result);
void vectors_pre(ThreadId tid, UInt no, const UWord *args);
void vectors_post(ThreadId tid, UInt no, const UWord *args, UWord result);
void vectors_drop(ThreadId tid); /* the call has failed */

/* Transactions without a number belong to the thread; numbered ones start above these. */
#define TRANSACTION_OF(tid) ((ULong)1 << 63 | ctx_thread_id(tid))

/* ---- library.c ---- */
enum library_act {
	LIBRARY_NOTHING,
	LIBRARY_TX_BEGIN,
	LIBRARY_TX_END,
	LIBRARY_TX_ADD,
	LIBRARY_VOLATILE,
};
ULong library_watched(const HChar *function); /* WATCHED() without the name, or 0 */
void library_scan(void);                      /* before a block is instrumented */
void library_called(enum library_act, UInt site, const ULong arg[6]);
void library_returned(enum library_act, UInt site, UInt ctx);

/* ---- decode.c ---- */
enum insn {
	INSN_OTHER,
	INSN_CLFLUSH,
	INSN_CLFLUSHOPT,
	INSN_CLWB,
	INSN_SFENCE,
	INSN_MFENCE,
	INSN_LFENCE,
	INSN_NT_STORE,
	INSN_MASKED_NT_STORE,
	INSN_CALL,
};
/* An effective address: seg_base + base + index * (1 << scale) + disp, maybe cut to 32 bits. */
struct amode {
	Int base, index; /* guest register numbers 0..15, -1: none */
	UInt scale;
	Long disp; /* RIP-relative addresses come with the target in disp */
	enum { SEG_NONE, SEG_FS, SEG_GS } seg;
	Bool addr32;
};
struct decoded {
	enum insn insn;
	Bool atomic; /* LOCK-prefixed, or an XCHG, which with memory locks anyway */
	UInt len;    /* of the whole instruction; only set for flushes and calls */
	struct amode mem;
	Addr target; /* of a direct call */
};
void decode(Addr ip, struct decoded *);

/* ---- hooks.c ---- */
/* site and size and flags in one word, to save an argument */
#define PACK(site, size, flags) ((ULong)(site) | (ULong)(size) << 32 | (ULong)(flags) << 56)
extern VG_REGPARM(2) void on_store(Addr a, ULong pack);
extern VG_REGPARM(3) void on_masked_store(Addr a, ULong lo, ULong hi, ULong pack);
extern VG_REGPARM(2) void on_flush(Addr a, ULong pack); /* size: does it need a fence? */
extern VG_REGPARM(1) void on_fence(ULong pack);         /* size: the flags */
/* What is to be done at a watched function: its name's id, what its call means, whether the call is recorded. */
#define WATCHED(name, act, recorded) ((ULong)(name) | (ULong)(act) << 32 | (ULong)(recorded) << 40)
#define WATCHED_NAME(what) ((UInt)(what))
#define WATCHED_ACT(what) ((enum library_act)((what) >> 32 & 0xff))
#define WATCHED_RECORDED(what) ((what) >> 40)
extern VG_REGPARM(2) void on_watched(ULong what, ULong site);
extern VG_REGPARM(1) void on_new_stack(Addr sp);
extern void on_cpuid(VexGuestAMD64State *st);

/* ---- profile.c ---- */
extern VG_REGPARM(1) void on_volatile(ULong site);
void profile_setup(void);
void profile_tell(void); /* the process is about to end */
void profile_forked(void);

/* ---- loads.c ---- */
extern VG_REGPARM(3) void on_load(Addr a, ULong ip, ULong size);
void kernel_reads(CorePart part, ThreadId tid, const HChar *what, Addr a, SizeT len);
void kernel_reads_string(CorePart part, ThreadId tid, const HChar *what, Addr a);
void loads_stored(Addr a, SizeT size); /* forget that these bytes were loaded */
void loads_forget(void);

/* ---- large.c ---- */
void large_setup(void);
Int large_insns(Addr at, Int most); /* how many instructions a block there may have */

/* ---- instrument.c ---- */
/* Called at system calls: some stacks are PM; the program has a handler for faults. */
void stacks_are_pm(void);
void faults_are_handled(void);
/*
 * Who else instruments each block, besides recording: called while a block is
 * translated. `before` and `after` surround each statement of the program's; `stored` comes before the
 * code that records a store, `flush` at a flush, which ends its block. Both may be NULL.
 */
struct block_hooks {
	void (*begin)(IRSB *out, const IRSB *in, Addr nraddr);
	void (*before)(IRSB *out, IRStmt *);
	void (*after)(IRSB *out, IRStmt *);
	void (*stored)(IRSB *out);
	void (*flush)(IRSB *out, Addr ip, const struct amode *, IRExpr *addr);
	void (*finish)(IRSB *out);
};
IRSB *instrument(VgCallbackClosure *, IRSB *, const VexGuestLayout *, const VexGuestExtents *,
		 const VexArchInfo *, IRType, IRType);

#endif
