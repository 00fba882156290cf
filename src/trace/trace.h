/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traces: write one, read one, take events straight from a running tracer.
 *
 * An event looks the same wherever it comes from. The pointers in it are valid until the
 * next call on its source. Definitions (sites, contexts, modules, files, strings) are kept
 * by the source in struct trace_defs and looked up by id.
 */
#ifndef HOLDFAST_TRACE_TRACE_H
#define HOLDFAST_TRACE_TRACE_H

#include "base/base.h"
#include "trace/format.h"

#define TRACE_FILE_VERSION 7u /* what is written; this one and all before it are read */

struct trace_event {
	uint64_t num;  /* position in the trace, from 0 */
	uint8_t kind;  /* enum trace_kind */
	uint8_t flags; /* enum trace_flag */
	uint8_t nargs;
	uint32_t process; /* index of the process, from 0 */
	uint32_t thread;  /* number of the thread in its process, from 1 */
	uint32_t site;
	uint32_t ctx;
	uint32_t size; /* bytes in data; a STORE's width */
	uint32_t kept; /* 0: what the path has in common with the thread's last event's are the same
	                * calls. Else only those up to this context, plus 1 */
	uint64_t ip;   /* the instruction's address */
	uint64_t arg[TRACE_MAX_ARGS]; /* arg[0] is the address of STORE, FLUSH, … */
	const uint8_t *data;
};

/* The calling context that an event is about: VOLATILE events come at the end of all calls. */
static inline uint32_t trace_event_ctx(const struct trace_event *e)
{
	return e->kind == TRACE_VOLATILE ? (uint32_t)e->arg[0] : e->ctx;
}

struct trace_site_def {
	uint64_t ip;
	uint8_t class; /* enum trace_site */
	uint16_t size;
};
struct trace_ctx_def {
	uint32_t parent;
	uint64_t call_ip; /* address of the call instruction, or a signal's number */
	uint64_t target;  /* where the call went */
};
struct trace_module_def {
	uint64_t build_id_len;
	uint8_t build_id[32];
	char *path;
};
struct trace_file_def {
	uint64_t dev, ino;
	uint64_t size;        /* when first mapped */
	uint32_t process;     /* that mapped it first */
	uint8_t has_snapshot; /* the initial contents are in the trace */
	char *path;
};
/* Something that has names: enum trace_node. */
struct trace_node_def {
	uint64_t dev, ino;
	uint64_t size;        /* when it was first heard of */
	uint32_t process;     /* that told of it */
	uint8_t kind;         /* enum trace_node */
	uint8_t has_snapshot; /* the contents that it had then are in the trace */
	char *path;           /* by which it was first known */
	char *target;         /* of a symbolic link */
};
struct trace_process_def {
	uint32_t pid, parent;
	uint32_t parent_index; /* of the process it was forked from or was before exec */
	uint64_t first_event;  /* number of events in the trace when it appeared */
	uint8_t birth;         /* enum trace_birth */
	uint8_t ended;         /* it ended in order: there is an EXIT or EXEC */
	char *command;         /* arguments separated by NUL, `command_len` bytes */
	uint32_t command_len;
};

#define TRACE_NO_PROCESS UINT32_MAX /* parent_index: none that is traced */
#define TRACE_NO_FILE UINT32_MAX    /* a file argument that names no known file */
#define TRACE_NO_NODE UINT32_MAX

/* Sites, contexts, modules and strings belong to a process; files belong to the trace. */
struct trace_defs;
const struct trace_site_def *trace_site(const struct trace_defs *, uint32_t process, uint32_t site);
const struct trace_ctx_def *trace_ctx(const struct trace_defs *, uint32_t process, uint32_t ctx);
const struct trace_module_def *trace_module(const struct trace_defs *, uint32_t process,
					    uint32_t id);
const char *trace_string(const struct trace_defs *, uint32_t process, uint32_t id);
const struct trace_file_def *trace_file(const struct trace_defs *, uint32_t id);
const struct trace_node_def *trace_node(const struct trace_defs *, uint32_t id);
const struct trace_process_def *trace_process(const struct trace_defs *, uint32_t process);
uint32_t trace_files(const struct trace_defs *); /* how many there are */
uint32_t trace_nodes(const struct trace_defs *);
uint32_t trace_processes(const struct trace_defs *);
/* What the self-check found when the run was recorded; NULL: nothing. Known once all events are read. */
const char *trace_differs(const struct trace_defs *);

const char *trace_kind_name(unsigned kind);            /* "store", …; NULL if unknown */
const char *trace_arg_name(unsigned kind, unsigned i); /* "addr", …; NULL past the last */
const char *trace_site_class_name(unsigned class);
unsigned trace_kind_args(unsigned kind); /* how many arguments it has */
int trace_file_arg(unsigned kind);       /* which of them is a file's id, or -1 */
bool trace_node_arg(unsigned kind);      /* the first is a node's */

/* Reader. All functions that can fail return 0 or -1 and fill err. */
struct trace_reader;
struct trace_reader *trace_open(const char *dir, struct err *err);
struct trace_reader *trace_open_mem(const void *, size_t, struct err *err); /* must stay */
void trace_close(struct trace_reader *);
const struct trace_defs *trace_defs(const struct trace_reader *);
/* 1: an event; 0: the end; -1: bad bytes from here on (err says where). */
int trace_next(struct trace_reader *, struct trace_event *, struct err *err);
int trace_seek(struct trace_reader *, uint64_t num, struct err *err);
uint64_t trace_count(const struct trace_reader *); /* events known to be readable */
/* Whole: the recording ended in order. Otherwise `why` says what is missing. */
bool trace_is_whole(const struct trace_reader *, const char **why);

/*
 * What each process has mapped, and where in the files that is, by the events that were applied:
 * all of them, in order. The definitions may still grow.
 */
struct trace_maps;
struct trace_maps *trace_maps_new(const struct trace_defs *);
int trace_maps_apply(struct trace_maps *, const struct trace_event *, struct err *err);
/* Where an address of a process lies: the file, the offset in it, and how many bytes from there
 * on are mapped in a row. False: not in a PM file. */
bool trace_maps_locate(const struct trace_maps *, uint32_t process, uint64_t addr, uint32_t *file,
		       uint64_t *off, uint64_t *len);
void trace_maps_free(struct trace_maps *);

/*
 * Which lines of PM files are read before they are written, in the order of the first reads, by the
 * events that were given: all of them, in order. It takes a run that records loads. And which are
 * written before they are read, byte by byte.
 */
struct trace_read {
	uint32_t file;
	uint64_t off;   /* a multiple of TRACE_LINE */
	uint64_t bytes; /* of the line, one bit each */
};
/* What a command does to a line of a PM file: bytes, one bit each. */
struct trace_use {
	const char *path;
	uint64_t off;     /* a multiple of TRACE_LINE */
	uint64_t read;    /* before it writes them */
	uint64_t written; /* without having read them */
};
struct trace_reads;
struct trace_reads *trace_reads_new(const struct trace_defs *);
int trace_reads_event(struct trace_reads *, const struct trace_event *, struct err *err);
const struct trace_read *trace_reads_all(const struct trace_reads *, size_t *n);
const struct trace_read *trace_reads_overwritten(const struct trace_reads *, size_t *n);
void trace_reads_free(struct trace_reads *);

/*
 * Dependences between accesses to PM, of a run that was recorded with --deps: of each access and each branch, which
 * loads of PM it comes from, and in which activation of a function it was. All events must be given, in order.
 */
struct trace_label {  /* a load of PM that something depends on */
	uint64_t num; /* its LOAD event */
	uint64_t addr, ip;
	uint32_t size, ctx, thread, activation;
};
struct trace_activation {
	uint32_t id, parent; /* parent 0: none */
	uint64_t call;       /* the call instruction in the parent, or a signal's number */
};
struct trace_dep {
	uint32_t activation;   /* 0: not known */
	unsigned ndata, naddr; /* of a BRANCH, `data` is its condition */
	struct trace_label data[TRACE_LABELS], addr[TRACE_LABELS];
};
struct trace_deps;
struct trace_deps *trace_deps_new(void);
/* 1: the event is a STORE, LOAD or BRANCH, and *dep is filled; 0: another; -1: nonsense. */
int trace_deps_event(struct trace_deps *, const struct trace_event *, struct trace_dep *dep,
		     struct err *err);
/* One of those in which the thread of the newest event is; NULL: it is in no such. */
const struct trace_activation *trace_deps_activation(const struct trace_deps *, uint32_t process,
						     uint32_t id);
bool trace_deps_any(const struct trace_deps *); /* the events so far were recorded with --deps */
void trace_deps_free(struct trace_deps *);

/*
 * Names over time: which of them there were before any event, and what they stood for.
 *
 * A *thing* is a PM file, another file, a folder or a symbolic link. An *entry* is a name in a folder,
 * which is a thing itself, so that what is in it goes along when it is renamed. An entry has versions:
 *
 *	in /data      event     0           17          29
 *	  "pool"                thing 3     thing 5     -          replaced by a rename, then unlinked
 *	  "pool.tmp"            -           thing 5     ...
 *
 * What is first heard of late was there from the beginning: NODE_THERE, or what is renamed or
 * unlinked. Folders on the way are things without a node.
 */
#define TRACE_NOTHING UINT32_MAX
struct trace_thing {
	uint8_t kind;    /* enum trace_node */
	bool lost;       /* its contents are not known */
	uint32_t node;   /* TRACE_NO_NODE: none */
	uint32_t file;   /* that it is as PM; TRACE_NO_FILE: none */
	uint64_t mapped; /* … from this event on; before it, it is the node */
};
struct trace_version {
	uint64_t event; /* after it */
	uint32_t thing; /* TRACE_NOTHING */
};
struct trace_entry {
	uint32_t folder; /* thing */
	char *name;
	VEC(struct trace_version) at; /* the first is that of the beginning */
};
/* A name as it is before an event. Folders come before what is in them. */
struct trace_name {
	const char *path;
	uint32_t thing; /* TRACE_NOTHING: no longer, or not yet */
	bool moved;     /* at the end that folder is elsewhere */
};
struct trace_tree;
struct trace_tree *trace_tree_new(const struct trace_defs *);
void trace_tree_apply(struct trace_tree *, const struct trace_event *); /* all, in order */
/* Of the whole trace; the reader stays where it is. A damaged one as far as it goes. */
struct trace_tree *trace_tree_read(struct trace_reader *, struct err *);
const struct trace_thing *trace_tree_thing(const struct trace_tree *, uint32_t);
size_t trace_tree_things(const struct trace_tree *);
const struct trace_entry *trace_tree_entry(const struct trace_tree *, size_t); /* NULL: no more */
void trace_tree_names(const struct trace_tree *, uint64_t event,
		      void (*each)(void *, const struct trace_name *), void *);
/* The same with each entry, by its number, as it is before an event of its own. */
void trace_tree_names_when(const struct trace_tree *, uint64_t (*when)(void *, uint32_t entry),
			   void (*each)(void *, const struct trace_name *), void *);
/* Whose contents a thing has before an event: a file's id, or TRACE_OF_NODE and a node's;
 * TRACE_NO_FILE: it has none. */
#define TRACE_OF_NODE 0x80000000u
uint32_t trace_tree_contents(const struct trace_tree *, uint32_t thing, uint64_t event);
void trace_tree_free(struct trace_tree *);

/* The contents of a PM file, or a node (TRACE_OF_NODE), as the trace knows it: initial contents plus replayed events. */
struct trace_image;
struct trace_image *trace_image_new(struct trace_reader *, struct err *err);
int trace_image_apply(struct trace_image *, const struct trace_event *, struct err *err);
/* Replays from the start up to, not including, event `end` (UINT64_MAX: all). */
int trace_image_run(struct trace_image *, uint64_t end, struct err *err);
const struct trace_defs *trace_image_defs(const struct trace_image *);
uint64_t trace_image_size(const struct trace_image *, uint32_t file);
int trace_image_read(const struct trace_image *, uint32_t file, uint64_t off, void *buf,
		     size_t len);
/* See trace_maps_locate. */
bool trace_image_locate(const struct trace_image *, uint32_t process, uint64_t addr, uint32_t *file,
			uint64_t *off, uint64_t *len);
int trace_image_write_file(const struct trace_image *, uint32_t file, const char *path,
			   struct err *err);
void trace_image_free(struct trace_image *);
/* All files, folders and links that the recording knows, as before event `at`, written to a folder. */
int trace_unpack(struct trace_reader *, const char *dir, uint64_t at, struct err *err);

/* Writer: a folder holding one trace. It must not exist, or be empty. */
struct trace_writer;
struct trace_writer *trace_create(const char *dir, struct err *err);
/* Keeps what the self-check found: files hold something else than the events say. */
int trace_put_differs(struct trace_writer *, const char *text, struct err *err);
int trace_finish(struct trace_writer *, struct err *err); /* index and end mark; frees */
void trace_abandon(struct trace_writer *);                /* leaves what is there, unmarked */
/*
 * What goes into it, for those who have no tracer. Definitions come before the events that
 * use them; num and ip of an event are not looked at, events are numbered as they come. A
 * context's parent has a lower id. After a failed write everything fails with that error,
 * and the file is readable up to its last whole chunk.
 */
int trace_put_process(struct trace_writer *, const struct trace_process_def *, uint32_t *index,
		      struct err *err);
int trace_put_ended(struct trace_writer *, uint32_t process, struct err *err);
int trace_put_site(struct trace_writer *, uint32_t process, uint32_t id,
		   const struct trace_site_def *, struct err *err);
int trace_put_ctx(struct trace_writer *, uint32_t process, uint32_t id,
		  const struct trace_ctx_def *, struct err *err);
int trace_put_module(struct trace_writer *, uint32_t process, uint32_t id,
		     const struct trace_module_def *, struct err *err);
int trace_put_string(struct trace_writer *, uint32_t process, uint32_t id, const char *,
		     struct err *err);
/* Keeps the contents of `fd` (-1: none) as the file's initial ones. */
int trace_put_file(struct trace_writer *, const struct trace_file_def *, int fd, uint32_t *id,
		   struct err *err);
/* … and of a node. */
int trace_put_node(struct trace_writer *, const struct trace_node_def *, int fd, uint32_t *id,
		   struct err *err);
int trace_put_event(struct trace_writer *, const struct trace_event *, struct err *err);
const struct trace_defs *trace_writer_known(const struct trace_writer *);

/*
 * Live: the ring, as holdfast sees it. `sink` (may be NULL) gets every event; `writer` (may
 * be NULL, and must outlive it) stores it. trace_live_poll drains what there is and waits at
 * most `ms`. It fails once for each thing that went wrong and may be called again: after a
 * failed write only the sink gets events; a tracer that wrote nonsense is not heard again.
 */
struct trace_live;
typedef int trace_sink(void *arg, const struct trace_event *, struct err *err);
struct trace_live *trace_live_new(struct trace_writer *, trace_sink *, void *arg, struct err *err);
int trace_live_fd(const struct trace_live *); /* memfd that tracers open via /proc */
const struct trace_defs *trace_live_defs(const struct trace_live *);
int trace_live_poll(struct trace_live *, int ms, struct err *err); /* 1 work done, 0 idle, -1 */
void trace_live_stop(struct trace_live *);              /* tell tracers to record nothing more */
unsigned trace_live_running(const struct trace_live *); /* slots still in use */
uint64_t trace_live_events(const struct trace_live *);
void trace_live_free(struct trace_live *);
/*
 * The self-check, if it is asked for before the program starts: what the events make of each file
 * against the file as it is now. False: all are the same, as far as they can be compared.
 */
struct trace_difference {
	uint32_t file;
	uint64_t built_size, real_size;
	uint64_t bytes;    /* how many differ */
	uint64_t off, len; /* … the first of them in a row */
	uint32_t event;    /* the last that wrote to their page, 0: none; its number's lower half */
};
void trace_live_verify(struct trace_live *);
bool trace_live_differs(const struct trace_live *, struct trace_difference *);
bool trace_live_unseen(const struct trace_live *, enum trace_unseen); /* the program used it */
uint32_t trace_live_unfollowed(const struct trace_live *); /* children that were never heard of */
/*
 * Symbolic execution: `sym` gets the TRACE_SYM_ records; `num` is the number of the next event.
 * After SYM_READY of a fork server, trace_live_rewind sets all back to where it was, with the
 * ring's head where the server has it; definitions stay until they are given anew. A reset
 * forgets everything: the tracers that were must have ended.
 */
void trace_live_sym(struct trace_live *, trace_sink *sym);
bool trace_live_marked(const struct trace_live *, uint64_t *events); /* … before the mark */
/* One look, one wait for the doorbell if it has not rung since it was `bell`, another look. */
uint32_t trace_live_bell(const struct trace_live *);
int trace_live_step(struct trace_live *, uint32_t bell, int ms, struct err *err);
void trace_live_rewind(struct trace_live *, uint64_t head);
void trace_live_reset(struct trace_live *);

/* ---- where.c: places in the code, numbered in the order in which they are met ---- */

#define TRACE_NOWHERE UINT32_MAX
struct trace_where {
	uint32_t process, site, ctx;
	uint64_t ip; /* of the first event there */
};
struct trace_wheres {
	VEC(struct trace_where) v;
	struct hmap at;
};
uint32_t trace_where_of(struct trace_wheres *,
			const struct trace_event *); /* its number; it gets one */
uint32_t trace_where_find(const struct trace_wheres *, uint32_t process, uint32_t site,
			  uint32_t ctx); /* or TRACE_NOWHERE */
void trace_wheres_free(struct trace_wheres *);

#endif
