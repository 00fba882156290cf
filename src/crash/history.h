/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The whole history of a run's persistent memory, at hand at any moment.
 *
 * A *line* is the unit whose stores persist in order: 64 bytes of a PM file, or a page under
 * `msync`. Each store is cut into *pieces* of at most eight bytes, which never tear; the pieces
 * of a line are numbered from 1 in program order, and its version v holds the first v of them.
 * A crash just before event t leaves each line at some version in [lo, hi]: hi counts its pieces
 * so far, lo those that are guaranteed. Lines are independent. That is all:
 *
 *      pieces of a line    1   2   3   4   5
 *                          ■   ■   ■   □   □     version 3
 *                              ▲lo         ▲hi   allowed: 2, 3, 4, 5
 *
 * Files that are not PM, but that the program writes (nodes, trace.h), have lines of a page. What
 * is written to them is guaranteed at once, and so are sizes and names; their names, and those of
 * PM files, are entries of the trace's tree, with versions of their own. Under a model of file systems
 * (enum model_files) it is not: what is written is open until it is synced, and sizes and names
 * are lines, too, which have no bytes (meta.c).
 *
 * A *cursor* stands before an event, knows lo and hi of every line there, and moves both ways.
 */
#ifndef HOLDFAST_CRASH_HISTORY_H
#define HOLDFAST_CRASH_HISTORY_H

#include "crash/records.h"
#include "model/model.h"
#include "srcloc/srcloc.h"
#include "trace/trace.h"

/* Where in the program: an instruction in its calling context, interned. */
struct crash_place {
	uint32_t process, site, ctx;
	bool stores;
	uint64_t ip;
};

struct crash_piece {
	uint64_t event;
	uint32_t line;
	uint32_t place;
	uint32_t thread; /* interned (process, thread) */
	uint16_t off;    /* in the line */
	uint16_t len;
};

struct crash_line {
	uint64_t off; /* in the file, a multiple of the unit */
	uint32_t file;
	uint32_t n;     /* pieces */
	uint32_t first; /* its records are order[first …), up to those of the next line */
	uint32_t check; /* index of its first checkpoint */
};

/* Guaranteed from this event on: the line's first `lo` pieces. */
struct crash_raise {
	uint64_t event;
	uint32_t line;
	uint32_t lo, before;
};

struct crash_flush {
	uint64_t event;
	uint32_t line, place, thread;
};

/* Other events that matter: fences, ends of operations. */
struct crash_mark {
	uint64_t event;
	uint32_t place, thread;
	uint8_t kind; /* enum trace_kind */
};

/* An operation of the program: infer/infer.h. */
struct crash_op {
	uint64_t begin, end; /* events; UINT64_MAX: it has no end */
	uint64_t id;         /* as it was marked, or its number */
	uint64_t latest;     /* end of those that began before … */
	uint64_t solid;      /* … and the last of their stores, as far as it is known */
	uint64_t stored;     /* its own last store; not known: its end */
	uint64_t
		answered; /* when it was acknowledged, if it is `said`: narrow.c may have put its end before it */
	uint64_t
		settled; /* behind it, all that was ever stored is guaranteed; 0: that is not known */
	size_t number;   /* from 1, as it was found */
	uint32_t thread;
	bool said;       /* it is acknowledged when it ends; if not, a crash may still lose it */
	bool sure;       /* the program or its user says that it is one */
	bool idle;       /* narrow.c: takes no part */
	char *name;      /* "" if it has none */
	char *input;     /* that it is the answer to; NULL: not known */
	uint64_t *parts; /* see infer_op */
	uint32_t nparts;
};

/*
 * Raises, flushes and marks as they are kept, for a long run has tens of millions: rows without the
 * event, and a column of the events' lower halves. `carry` has the rows at which the upper half grows
 * by one: seldom any.
 */
struct crash_when {
	VEC(uint32_t) low;
	VEC(size_t) carry;
};
struct crash_raise_row {
	uint32_t line, lo, before;
};
struct crash_flush_row {
	uint32_t line, place, thread;
};
struct __attribute__((packed)) crash_mark_row {
	uint32_t place, thread;
	uint8_t kind;
};

/* A file's size has changed. */
struct crash_change {
	uint64_t event;
	uint64_t size, size_before;
	uint32_t file;
};

/* The lines of a file, in the order of their offsets, and its size, change by change. */
struct crash_extent {
	VEC(uint32_t) line, change;
};

/* Names that are tied are on disk as they are after `upto`, from `event` on, whatever others are. */
struct crash_logged {
	uint64_t event, upto;
};
typedef VEC(struct crash_logged) crash_logged_names;

struct crash_file {
	char *path;     /* when it was first heard of */
	uint64_t size;  /* then */
	uint64_t addr;  /* where it was mapped first */
	bool fixed;     /* … because the program asked for that address */
	bool lost;      /* not PM, and its contents are not known */
	uint32_t unit;  /* bytes in its lines */
	uint32_t owner; /* of its contents in the trace, see trace_tree_contents */
};

/* A name at a moment. */
struct crash_name {
	char *path;
	uint32_t file;      /* CRASH_NO_FILE: it is none */
	uint32_t thing;     /* TRACE_NOTHING: nothing is there (any more, or yet) */
	const char *target; /* of a symbolic link; NULL: it is none */
	bool moved;         /* see trace_name */
};
#define CRASH_NO_FILE UINT32_MAX
typedef VEC(struct crash_name) crash_names;

/* A system call that failed, or was cut short, because it was to (--fault). */
struct crash_fault {
	uint64_t event;
	uint32_t place, file; /* CRASH_NO_FILE */
	uint32_t call;        /* its number */
	int error;            /* 0: cut to so many … */
	uint64_t bytes;
};

struct crash_history {
	uint32_t unit; /* bytes in a line of PM */
	const struct model_ops *model;
	struct trace_reader *reader;
	struct trace_image *initial; /* initial contents */
	uint64_t events;             /* in the trace */
	char *damage;                /* NULL: none */
	struct crash_records store;  /* in the order of events, … */
	size_t pieces;               /* … which are so many */
	VEC(struct crash_line) line;
	VEC(struct crash_raise_row) raise; /* crash_raise_at, and so on */
	VEC(struct crash_flush_row) flush;
	VEC(struct crash_mark_row) mark;
	struct crash_when raise_when, flush_when, mark_when;
	bool operations;               /* some of these end one */
	bool dependences;              /* the trace has them */
	VEC(struct crash_op) op;       /* in the order of their begins; crash_ops_take */
	char *ops_found;               /* crash_operations */
	VEC(struct crash_fault) fault; /* in order */
	VEC(struct crash_change) change;
	VEC(struct crash_file) file; /* PM files first … */
	uint32_t npm;                /* … so many */
	uint32_t *of_node;           /* file, or CRASH_NO_FILE */
	struct trace_tree *tree;     /* names */
	uint8_t *scratch;            /* by thing (scratch.c); NULL: none is */
	VEC(uint64_t) renamed;       /* events at which some name changes, in order */
	uint32_t
		meta; /* the file that lines of sizes and names are in, behind all others; CRASH_NO_FILE */
	uint32_t *name_line; /* by entry of the tree: its line; CRASH_NO_FILE: none */
	uint32_t *size_line; /* by file, likewise */
	uint32_t *tied; /* by entry: one of those that it is tied to, by which `logged` is … */
	crash_logged_names *logged; /* … in order; NULL: a sync brings no name ahead of others */
	uint32_t entries;
	struct crash_extent *extent; /* by file */
	uint64_t start; /* the first event with PM: before it there is nothing to crash */
	VEC(struct crash_place) place;
	VEC(uint8_t)
	check;             /* checkpoints: a line's contents after every CRASH_CHECKPOINT records */
	uint32_t *order;   /* records, line by line: slots */
	uint8_t *count;    /* by slot: pieces … */
	uint32_t *version; /* … and for every CRASH_BLOCK-th, those of its line before it */
	struct crash_known *known; /* hashes that were needed of late */
	struct hmap line_at;       /* file and offset -> line */
	struct trace_wheres where; /* numbered as in place */
	struct hmap thread_at;
};

/*
 * Reads the trace; it must stay open. `src` (may be NULL) gets the events too, for crash_where.
 * NULL and err: it cannot be crash-tested. A damaged trace is read as far as it goes; `damage`
 * says so.
 */
struct crash_history *crash_history_new(struct trace_reader *, const struct model_ops *,
					struct srcloc_trace *src, struct err *);
void crash_history_free(struct crash_history *);
/* Files of no concern (scratch.c), and names that stand for nothing else. */
void crash_scratch_find(struct crash_history *);
bool crash_is_scratch(const struct crash_history *, uint32_t thing);
bool crash_scratch_only(const struct crash_history *, const struct trace_entry *);

size_t crash_history_memory(const struct crash_history *);
/* Pieces are numbered from 0 in the order of events, and in each line from 1: number i of all, … */
struct crash_piece crash_piece_at(const struct crash_history *, size_t i);
/* … number k of a line, … */
struct crash_piece crash_piece_of(const struct crash_history *, uint32_t line, uint32_t k);
/* … the number among all of number k of a line, and the number in its line of number i of all. */
uint32_t crash_piece_index(const struct crash_history *, uint32_t line, uint32_t k);
uint32_t crash_number_of(const struct crash_history *, uint32_t i);
/* The first piece of the event of piece i, and the first of a later event; h->pieces: there is none. */
size_t crash_event_begin(const struct crash_history *, size_t i);
size_t crash_event_end(const struct crash_history *, size_t i);
struct crash_flush crash_flush_at(const struct crash_history *, size_t i);
struct crash_raise crash_raise_at(const struct crash_history *, size_t i);
struct crash_mark crash_mark_at(const struct crash_history *, size_t i);
/* The line's contents at a version; `out` has as many bytes as its file's unit. */
void crash_contents(const struct crash_history *, uint32_t line, uint32_t version, uint8_t *out);
/* The hash of these contents. */
uint64_t crash_contents_hash(const struct crash_history *, uint32_t line, uint32_t version);
/* How many pieces of the line there are before an event. */
uint32_t crash_version_at(const struct crash_history *, uint32_t line, uint64_t event);

/* A line at a version. */
struct crash_at {
	uint32_t line, version;
};

struct crash_cursor {
	const struct crash_history *h;
	uint64_t at;                 /* before this event */
	size_t piece, raise, change; /* how many of each lie before it */
	size_t record;               /* likewise */
	size_t renamed;              /* likewise */
	uint32_t *lo, *hi;           /* per line */
	uint32_t *slot;              /* per line: its index in open + 1, or 0 */
	uint8_t *moving;             /* a bit per line: it is in `from`: … */
	VEC(struct crash_at) from;   /* … those that this move changes, and their hi before */
	VEC(uint32_t) open;          /* lines with lo < hi, in no particular order */
	uint64_t hash;               /* of the image with every line at hi … */
	uint64_t lines, rest;        /* … that is, of the lines, and of sizes and names */
	uint64_t *size;              /* per file */
	const char **name;           /* per file, the first; NULL: it has none */
	crash_names names;           /* all */
};
void crash_cursor_init(struct crash_cursor *, const struct crash_history *);
void crash_cursor_move(struct crash_cursor *, uint64_t event);
void crash_cursor_free(struct crash_cursor *);

/* Sizes and names of a state; `names` has paths of its own. */
struct crash_view {
	uint64_t *size;    /* per file */
	const char **name; /* per file, the first; NULL: it has none */
	crash_names names; /* all */
	uint64_t hash;     /* of these */
};

/*
 * A crash state: just before `event`, every line at hi except those listed, which are sorted by
 * line and lie in [lo, hi).
 */
struct crash_state {
	uint64_t event;
	VEC(struct crash_at) at;
};
void crash_state_copy(struct crash_state *to, const struct crash_state *from);
/* The state without the lost lines [from, to). */
void crash_state_without(const struct crash_state *, size_t from, size_t to,
			 struct crash_state *out);
void crash_state_free(struct crash_state *);
/* The event of the oldest store that is lost, UINT64_MAX: none; `piece`, which may be NULL: the store. */
uint64_t crash_first_loss(const struct crash_history *, const struct crash_state *,
			  uint32_t *piece);
/* Sets a line's version, or, at hi, leaves it out; the cursor stands at the state's event. */
void crash_state_set(struct crash_state *, const struct crash_cursor *, uint32_t line,
		     uint32_t version);
/* The version that a line has in a state. */
uint32_t crash_state_get(const struct crash_state *, const struct crash_cursor *, uint32_t line);
/* The image's hash: equal for equal contents, sizes and names. */
uint64_t crash_state_hash(const struct crash_state *, const struct crash_cursor *);

#endif
