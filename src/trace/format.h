/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tracer says to holdfast, and how.
 *
 * This header is shared by the Valgrind tool in tracer/, which has no libc, and by
 * src/trace/, so it includes only <stdint.h>-like types and knows no functions.
 *
 * The tracer appends records to a ring in shared memory; holdfast drains it on another
 * core, and either writes a trace file (docs/TRACE_FORMAT.md) or analyses the events as
 * they come. The tracer itself writes no file and solves nothing.
 *
 *   tracer:  struct ring_slot.head ──▶ records ──▶ .tail  :holdfast
 *
 * A record is a run of 64-bit words. Word 0 holds the kind, flags, length and site:
 *
 *    63           32 31      16 15    8 7     0
 *   +---------------+----------+-------+-------+
 *   |     site      |  nwords  | flags | kind  |
 *   +---------------+----------+-------+-------+
 *   |     size      |           ctx            |   word 1
 *   +---------------+--------------------------+
 *   |  args[0 .. nargs-1], one word each       |   word 2 …, nargs from TRACE_EVENTS
 *   |  payload, `size` bytes, zero-padded      |
 *   +------------------------------------------+
 *
 * `site` names the instruction (a DEF_SITE record came before), `ctx` the node of the
 * calling-context tree (a DEF_CTX record came before), `size` the payload's length.
 * The thread is state: a DEF_SWITCH record says whose events follow.
 */
#ifndef HOLDFAST_TRACE_FORMAT_H
#define HOLDFAST_TRACE_FORMAT_H

#include <stdint.h>

#define TRACE_LINE 64u /* bytes in a cache line */
#define TRACE_MAX_PAYLOAD 65536u
#define TRACE_MAX_ARGS 7u

/*
 * What the program sees in CPUID: X(NAME, "its best flush instruction", "what it has then"). The best first, which
 * is the default.
 */
#define TRACE_CPUS(X)                                                                              \
	X(CLWB, "clwb", "clwb, clflushopt and clflush")                                            \
	X(CLFLUSHOPT, "clflushopt", "clflushopt and clflush")                                      \
	X(CLFLUSH, "clflush", "clflush alone")

enum trace_cpu {
#define X(NAME, name, about) TRACE_CPU_##NAME,
	TRACE_CPUS(X)
#undef X
};

/*
 * The event table: everything else that lists events is generated from it.
 *   X(NAME, "name", number of args, "argument names")
 * STORE's bytes are its payload; so are FILE_WRITE's; paths and names are payloads too. NODE_ events
 * have absolute paths without symbolic links in their folders; NODE_MOVE's are "from", a zero byte, "to".
 * INPUT and OUTPUT have the first bytes of what was read (len 0: the end) and written;
 * `lines` are those that end in it, `packet` is 1 if it came from a socket.
 * FILE_SYNC and NODE_SYNC have enum trace_sync as `how`; len 0: all of it.
 * FAULT, with --hf-fault: a system call, `call`, about the node failed with `error`, or was cut to `bytes`, because we
 * wanted it.
 * VOLATILE, with --hf-profile, at the end of a process: this instruction has stored `count` times to memory that is not
 * PM, in the calling context `ctx`. The first has no instruction, and count 0.
 * Append only: a number, once given, is part of the file format.
 */
#define TRACE_EVENTS(X)                                                                            \
	X(PAD, "pad", 0, "")                                                                       \
	X(STORE, "store", 1, "addr")                                                               \
	X(FLUSH, "flush", 1, "addr")                                                               \
	X(FENCE, "fence", 0, "")                                                                   \
	X(MAP, "map", 6, "addr len file offset prot flags")                                        \
	X(UNMAP, "unmap", 2, "addr len")                                                           \
	X(PROTECT, "protect", 3, "addr len prot")                                                  \
	X(SYNC, "sync", 3, "addr len flags")                                                       \
	X(FILE_OPEN, "file-open", 2, "file flags")                                                 \
	X(FILE_TRUNCATE, "file-truncate", 2, "file size")                                          \
	X(FILE_ALLOCATE, "file-allocate", 4, "file mode offset len")                               \
	X(FILE_WRITE, "file-write", 2, "file offset")                                              \
	X(FILE_SYNC, "file-sync", 4, "file how offset len")                                        \
	X(FILE_RENAME, "file-rename", 1, "file")                                                   \
	X(FILE_UNLINK, "file-unlink", 1, "file")                                                   \
	X(CALL, "call", 7, "fn a0 a1 a2 a3 a4 a5")                                                 \
	X(RETURN, "return", 3, "fn result result2")                                                \
	X(OP_BEGIN, "op-begin", 1, "id")                                                           \
	X(OP_END, "op-end", 1, "id")                                                               \
	X(MARK_PM, "mark-pm", 2, "addr len")                                                       \
	X(MARK_VOLATILE, "mark-volatile", 2, "addr len")                                           \
	X(TX_BEGIN, "tx-begin", 1, "tx")                                                           \
	X(TX_END, "tx-end", 1, "tx")                                                               \
	X(TX_ADD, "tx-add", 3, "tx addr len")                                                      \
	X(TX_REMOVE, "tx-remove", 3, "tx addr len")                                                \
	X(TX_IGNORE, "tx-ignore", 2, "addr len")                                                   \
	X(HINT_MAP, "hint-map", 2, "addr len")                                                     \
	X(HINT_UNMAP, "hint-unmap", 2, "addr len")                                                 \
	X(HINT_FLUSH, "hint-flush", 2, "addr len")                                                 \
	X(HINT_FENCE, "hint-fence", 0, "")                                                         \
	X(HINT_CLEAN, "hint-clean", 2, "addr len")                                                 \
	X(THREAD_START, "thread-start", 2, "thread parent")                                        \
	X(THREAD_EXIT, "thread-exit", 1, "thread")                                                 \
	X(FORK, "fork", 1, "child")                                                                \
	X(EXEC, "exec", 0, "")                                                                     \
	X(EXIT, "exit", 2, "status signal")                                                        \
	X(SIGNAL, "signal", 1, "signal")                                                           \
	X(MODULE_LOAD, "module-load", 4, "addr len offset module")                                 \
	X(MODULE_UNLOAD, "module-unload", 2, "addr len")                                           \
	X(LOAD, "load", 2, "addr size")                                                            \
	X(FILE_READ, "file-read", 3, "file offset len")                                            \
	X(NODE_THERE, "node-there", 1, "node")                                                     \
	X(NODE_NEW, "node-new", 1, "node")                                                         \
	X(NODE_LINK, "node-link", 1, "node")                                                       \
	X(NODE_MOVE, "node-move", 3, "node replaced flags")                                        \
	X(NODE_UNLINK, "node-unlink", 1, "node")                                                   \
	X(NODE_PM, "node-pm", 2, "node file")                                                      \
	X(NODE_LOST, "node-lost", 1, "node")                                                       \
	X(NODE_WRITE, "node-write", 2, "node offset")                                              \
	X(NODE_TRUNCATE, "node-truncate", 2, "node size")                                          \
	X(NODE_ALLOCATE, "node-allocate", 4, "node mode offset len")                               \
	X(FRAME, "frame", 3, "activation parent call")                                             \
	X(DEP, "dep", 0, "")                                                                       \
	X(BRANCH, "branch", 1, "to")                                                               \
	X(LABELS_LOST, "labels-lost", 0, "")                                                       \
	X(INPUT, "input", 4, "fd len lines packet")                                                \
	X(OUTPUT, "output", 2, "fd len")                                                           \
	X(VOLATILE, "volatile", 2, "ctx count")                                                    \
	X(NODE_SYNC, "node-sync", 4, "node how offset len")                                        \
	X(FAULT, "fault", 4, "node call error bytes")

enum trace_kind {
#define X(NAME, name, nargs, args) TRACE_##NAME,
	TRACE_EVENTS(X)
#undef X
		TRACE_KINDS,

	/* Definitions travel in the same ring but are not events: they get no number. */
	TRACE_DEF_SITE = 64, /* site; args: ip, site class, access size; see enum trace_site */
	TRACE_DEF_CTX,       /* ctx; args: parent ctx, call instruction, callee entry */
	TRACE_DEF_MODULE,    /* args: id, generation; payload: path */
	TRACE_DEF_FILE,      /* args: id, dev, ino, fd or -1; payload: path; wants an answer */
	TRACE_DEF_STRING,    /* args: id; payload: text (names of watched functions) */
	TRACE_DEF_SWITCH, /* args: thread, and in the upper half what struct trace_event has as `kept`
	                      * for the next event; the events that follow are this thread's */
	TRACE_DEF_PROCESS, /* args: pid, parent pid, reason (enum trace_birth); payload: command */
	TRACE_DEF_RANGE,   /* args: file (TRACE_RANGE_NODE: a node), fd, offset, len: contents
	                    * changed; wants an answer */
	TRACE_DEF_END,     /* args: 0; the process ended in order, nothing follows */
	TRACE_DEF_NODE, /* args: id, enum trace_node, dev, ino, fd or -1; payload: path, a zero byte, a
	                 * link's target; wants an answer */
	TRACE_DEF_UNSEEN, /* args: enum trace_unseen: the program used what is not recorded */
	TRACE_DEF_LAST = TRACE_DEF_UNSEEN,

	/* Symbolic execution: only in the ring, only when asked for; nothing of it is stored. */
	TRACE_SYM_FIRST = 96,
	TRACE_SYM_NODE = TRACE_SYM_FIRST, /* flags: bit i: operand i is a constant; args: node,
	                                   * EXPR_WORD, a, b, c; payload: a TABLE's entries */
	TRACE_SYM_BRANCH, /* flags: enum sym_branch; args: node, value, target if true, target if
	                     * false: the path went on because node == value */
	TRACE_SYM_VERIFY, /* args: node, value: what the machine has (only with --hf-sym-verify) */
	TRACE_SYM_READ, /* flags: 1: the end was met; args: source, offset, len: input was taken */
	TRACE_SYM_CONCRETE, /* args: how often; payload: an operation that is not followed */
	TRACE_SYM_READY, /* flags: enum sym_ready; the fork server stands; the next is a child's */
	TRACE_SYM_DIRTIED, /* payload: what the run did that a later one could notice */
	TRACE_SYM_END,     /* last of a run, behind EXIT if there is one */
	TRACE_SYM_LEFT,    /* flags: enum sym_left: input went where it is not followed */
	TRACE_SYM_LAST = TRACE_SYM_LEFT,
};

/* What a SYM_BRANCH is about. Only COND has targets; PM_STORE and FLUSH announce where an access is,
 * and decide nothing; the others pin a value. */
enum sym_branch {
	SYM_COND,     /* a conditional jump: node has 1 bit */
	SYM_JUMP,     /* the target of an indirect jump, call or return */
	SYM_LOAD,     /* the address of a load that can be anywhere */
	SYM_STORE,    /* … of a store */
	SYM_PM_STORE, /* … of a store to PM: its STORE event comes next from this site */
	SYM_FLUSH,    /* … of a flush: its FLUSH event comes next from this site */
	SYM_SYSCALL,  /* a number that the kernel was given */
	SYM_PIN,      /* an operand of an operation that is not followed */
};
enum sym_ready { SYM_READY_FORKS = 0, SYM_READY_ALONE = 1 /* cannot fork: it just goes on */ };

/* Where input bytes went that are not followed: X(NAME, "in words"). */
#define SYM_LEFTS(X)                                                                               \
	X(PIPE, "through a pipe to another process")                                               \
	X(SOCKET, "through a socket to another process")                                           \
	X(FILE, "through a file that is mapped later")                                             \
	X(CHILD, "to a child process")                                                             \
	X(EXEC, "to the program that takes its place")                                             \
	X(SHARED, "through memory that another process shares")                                    \
	X(KERNEL, "through the kernel (splice, sendmmsg, an eventfd, a message queue)")

enum sym_left {
#define X(NAME, words) SYM_LEFT_##NAME,
	SYM_LEFTS(X)
#undef X
		SYM_LEFT_COUNT,
};

/*
 * The control block of symbolic execution: shared memory beside the ring, one per fork server.
 *
 *   holdfast                              server (in the tool)            child
 *   writes input and files, ++go  ──▶     forks, pid, ++started  ──▶     copies its input, runs
 *   drains the ring, kills at the         waits for it, status, ++ended  … emits, SYM_END
 *   time limit; reads cover[]     ◀──
 *
 * Input bytes have one number each, counted through all sources in their order.
 */
#define SYM_MAGIC 0x48465359u
#define SYM_MAX_INPUT 65536u
#define SYM_MAX_SOURCES 64u
#define SYM_MAX_BLOCKS (1u << 20)
#define SYM_MAX_PATH 1024u
#define SYM_MAX_SAID 4096u

enum sym_kind {
	SYM_SRC_ARG,    /* argument `index`; its place in memory has room for `len` bytes */
	SYM_SRC_ENV,    /* the value of environment variable `path` */
	SYM_SRC_FILE,   /* bytes off … off+len-1 of a file, whoever reads or maps it */
	SYM_SRC_STDIN,  /* a file, too: what descriptor 0 was at the start */
	SYM_SRC_SOCKET, /* received on accepted connections; len bytes altogether */
	SYM_SRC_MEMORY, /* HOLDFAST_SYMBOLIC(): announced by the tool while running */
};

struct sym_source {
	uint32_t kind;       /* enum sym_kind */
	uint32_t index;      /* of an argument */
	uint32_t first, len; /* numbers of its input bytes */
	uint32_t now;        /* how many of them this run's input has; driver's */
	uint32_t
		written; /* tool: a run may have changed other bytes of the file; driver clears it */
	uint64_t dev, ino; /* of a file */
	uint64_t off;      /* where in the file the first byte is */
	char path[SYM_MAX_PATH];
};

/*
 * The mount plan: how a process gets files of its own. src/sandbox writes the rows and performs
 * them for the fork server; each child that is about to change a file performs them once more, in
 * this order, in a mount namespace of its own. All that is needed lies in one folder that only the
 * tool has a descriptor of; it must be the working directory when the namespace is made.
 * Row N says what is to be mounted at its path:
 *
 *    MOUNT_OVERLAY   an overlay: below lN, the folder as it is, and above it uN, what the fork
 *                    server has changed in it; a child takes both as lower folders and has its own
 *                    uN and wN in a tmpfs at c
 *    MOUNT_BIND      sN, and what is mounted below it: a symbolic file, or a mount that the overlay
 *                    before it has hidden
 */
#define SYM_MAX_MOUNTS 64u
enum mount_kind { MOUNT_OVERLAY, MOUNT_BIND };
struct mount_row {
	uint32_t kind; /* enum mount_kind */
	uint32_t user; /* in a user namespace: an overlay needs `userxattr` */
	char path[SYM_MAX_PATH];
};

struct sym_control {
	uint32_t magic;
	uint32_t nsources;
	uint32_t go;      /* futex; holdfast: run once more with what is in input */
	uint32_t quit;    /* holdfast: the server shall end */
	uint32_t started; /* futex; server: this many children were started */
	uint32_t ended;   /* futex; server: … have ended */
	uint32_t pid;     /* of the newest child */
	uint32_t status;  /* of the newest that ended, as waitpid gives it */
	uint32_t alone;   /* the tool cannot fork here (why: text) */
	uint32_t pin;     /* holdfast: fixed clock and random numbers */
	uint32_t nblocks; /* entries of block[] and cover[]; grows under `lock` */
	uint32_t lock;
	uint32_t taken;      /* tool: bytes that came over sockets so far, in this run */
	uint32_t child_used; /* tool: a process that the program has forked used the input */
	uint32_t sharing;    /* tool: … that it has forked and that are no other program yet */
	uint32_t idle;       /* tool: how often the run waited for a socket that had nothing */
	uint32_t nmounts;    /* holdfast */
	int32_t mounts_fd;   /* holdfast: the folder of the mount plan, inherited; -1: a preloaded
	                    * library shows the files (preload/preload.h) */
	uint64_t base;       /* server: where the ring's head stood when the newest child began */
	struct mount_row mount[SYM_MAX_MOUNTS];
	char text[256];
	uint32_t said;                /* tool: how many bytes the program has printed */
	char said_text[SYM_MAX_SAID]; /* … the last of them */
	struct sym_source source[SYM_MAX_SOURCES];
	uint8_t fixed_byte[SYM_MAX_INPUT]; /* holdfast: 1: keeps its value, is not symbolic */
	uint8_t input[SYM_MAX_INPUT];
	uint8_t cover[SYM_MAX_BLOCKS];  /* tool: 1: block i ran; holdfast clears it */
	uint64_t block[SYM_MAX_BLOCKS]; /* tool: guest address; SYM_BLOCK_SLOW: the slow version */
};
#define SYM_BLOCK_SLOW ((uint64_t)1 << 62)

/*
 * Dependences, with --hf-deps. Every LOAD is a label: its ordinal among those of its process. DEP has the labels of the
 * next STORE or LOAD of its process, BRANCH those of its condition: 32-bit distances back, 1 is the newest LOAD.
 */
#define TRACE_LABELS 8u                     /* at most, of a value */
#define TRACE_DEP_DATA(flags) ((flags)&15u) /* how many; first in the payload */
#define TRACE_DEP_ADDR(flags) ((flags) >> 4 & 15u)
#define TRACE_DEP_FLAGS(data, addr) ((data) | (addr) << 4)
#define TRACE_BRANCH_INDIRECT 128u /* flag of BRANCH: a jump or call through a pointer */

/* How something is synced: `how` of FILE_SYNC and NODE_SYNC. */
enum trace_sync {
	TRACE_SYNC_ALL,        /* fsync, or a write with O_SYNC */
	TRACE_SYNC_DATA,       /* fdatasync, or a write with O_DSYNC */
	TRACE_SYNC_RANGE,      /* sync_file_range, which promises nothing */
	TRACE_SYNC_EVERYTHING, /* sync and syncfs; it has no node */
};

/* --hf-fault=WHAT,CALL,N,LATER: what goes wrong, of which calls, from which on (FULL: after so many bytes), and whether
 * with all later ones, too. Calls are X(NAME, "as people say it", "which they are"). */
enum trace_fault { TRACE_FAULT_ERROR, TRACE_FAULT_FULL, TRACE_FAULT_SHORT };
#define TRACE_FAULT_CALLS(X)                                                                       \
	X(FSYNC, "fsync", "fsync and fdatasync")                                                   \
	X(WRITE, "write", "write and its kin")                                                     \
	X(RENAME, "rename", "rename and its kin")                                                  \
	X(TRUNCATE, "truncate", "ftruncate")                                                       \
	X(ALLOCATE, "fallocate", "fallocate")
enum trace_fault_call {
#define X(NAME, name, which) TRACE_FAULT_##NAME,
	TRACE_FAULT_CALLS(X)
#undef X
};

/* Flags of STORE, FLUSH, FENCE, MAP and RETURN. */
enum trace_flag {
	TRACE_F_NT = 1,       /* STORE: non-temporal */
	TRACE_F_ATOMIC = 2,   /* STORE: LOCK-prefixed or XCHG; FENCE: the fence one implies */
	TRACE_F_KERNEL = 4,   /* STORE: made by a system call */
	TRACE_F_VOLATILE = 8, /* FLUSH: the line is not in PM */
	TRACE_F_PM = 16,      /* MAP: counts as persistent memory; if not, it is only read */
	TRACE_F_UNWOUND = 32, /* RETURN: left by longjmp or an exception, no result;
	                       * THREAD_EXIT: it was running when another thread ended the process */
	TRACE_F_FIXED = 64,   /* MAP: the program asked for that very address */
};

/*
 * A node is something that has names: a file that the program changes, whether it is PM or not, a
 * folder, a symbolic link. Its contents are in NODE_ events until it is PM, from then on in those of
 * the file.
 */
enum trace_node {
	TRACE_IS_FILE,
	TRACE_IS_FOLDER,
	TRACE_IS_LINK,
	TRACE_IS_KINDS,
	TRACE_IS_NEW = 16,  /* DEF_NODE: it is no earlier one with the same inode number */
	TRACE_IS_BARE = 32, /* DEF_NODE: its contents are not wanted */
	/* DEF_NODE: it is not announced, only looked up: another process may have. If none has, that failed. */
	TRACE_IS_ASKED = 64,
};
#define TRACE_NODE_BYTES ((uint64_t)256 << 20) /* kept of what a process writes beside PM */
#define TRACE_RANGE_NODE ((uint64_t)1 << 63)
/* NODE_MOVE's flags: RENAME_EXCHANGE, as the kernel has it. */
#define TRACE_MOVE_EXCHANGE 2u

/* What a site does: the site's class, constant per instruction. */
enum trace_site {
	TRACE_SITE_OTHER,
	TRACE_SITE_STORE,
	TRACE_SITE_NT_STORE,
	TRACE_SITE_ATOMIC,
	TRACE_SITE_CLFLUSH,
	TRACE_SITE_CLFLUSHOPT,
	TRACE_SITE_CLWB,
	TRACE_SITE_SFENCE,
	TRACE_SITE_MFENCE,
	TRACE_SITE_SYSCALL,
	TRACE_SITE_CLASSES,
};

/* Ways of writing to PM that are not recorded: X(NAME, "the likely cause of a difference"). */
#define TRACE_UNSEEN(X)                                                                            \
	X(IO_URING, "what it did by io_uring is not recorded")                                     \
	X(MEMORY, "what it wrote into another process's memory is not recorded")

enum trace_unseen {
#define X(NAME, words) TRACE_UNSEEN_##NAME,
	TRACE_UNSEEN(X)
#undef X
		TRACE_UNSEEN_COUNT,
};

enum trace_birth { TRACE_BIRTH_START, TRACE_BIRTH_FORK, TRACE_BIRTH_EXEC };

/* Well-known context nodes; real ones start at TRACE_CTX_FIRST. */
enum trace_ctx_id {
	TRACE_CTX_ROOT = 0, /* a thread's bottom */
	TRACE_CTX_CUT = 1,  /* outer frames left out: the path is very long */
	TRACE_CTX_FIRST = 2,
};

/* A DEF_CTX whose call instruction is below this is a signal handler's frame: the number. */
#define TRACE_CTX_SIGNAL_MAX 128u

/* Answers that holdfast writes into ring_slot.answer. */
enum ring_answer {
	RING_ANSWER_OK = 1,
	RING_ANSWER_FAILED = 2,
	RING_ANSWER_PM = 3, /* OK; the node is a file that is PM for some process */
};

#define RING_MAGIC 0x48464e47u /* "HFNG" */
#define RING_VERSION 10u
#define RING_SLOTS 64u
#define RING_BYTES (8u << 20) /* per slot, a power of two */
#define RING_HEADER_BYTES 16384u

enum ring_state { RING_FREE, RING_CLAIMED, RING_LIVE, RING_DONE };

/*
 * One slot per traced process. head and tail count bytes and never wrap; the position in
 * the data is the count modulo RING_BYTES. A record never crosses the end: a PAD record
 * (whose nwords may be 0 = "to the end") fills the rest.
 */
struct ring_slot {
	uint32_t state;    /* enum ring_state; claimed with compare-and-swap */
	uint32_t pid;      /* producer */
	uint32_t room;     /* futex: holdfast adds 1 when it has made room or answered */
	uint32_t answer;   /* enum ring_answer, for the newest request */
	uint32_t answered; /* number of requests answered */
	uint32_t pad0[11];
	uint64_t head; /* written by the producer only */
	uint64_t pad1[7];
	uint64_t tail; /* written by holdfast only */
	uint64_t pad2[7];
};

struct ring_header {
	uint32_t magic, version;
	uint32_t consumer; /* pid of holdfast: when it is gone, tracers stop recording */
	uint32_t stop;     /* set by holdfast: record nothing more */
	uint32_t doorbell; /* futex: any producer adds 1 when holdfast should look */
	uint32_t pad0;
	struct {
		uint64_t dev, ino;
	} output[2];     /* holdfast's stdout and stderr, which the program has from it */
	uint64_t faults; /* calls, or bytes, that --hf-fault has counted */
	struct ring_slot slot[RING_SLOTS];
};

#define RING_TOTAL_BYTES ((uint64_t)RING_HEADER_BYTES + (uint64_t)RING_SLOTS * RING_BYTES)

#endif
