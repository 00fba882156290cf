/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From an address in a recorded process to source terms.
 *
 * Two layers. `struct srcloc` is one address space: say which modules are mapped where, then
 * ask about addresses. `struct srcloc_trace` does that for a whole trace: feed it every event
 * and ask for the call path of any of them.
 *
 * Answers are cached per (module, address). Strings and the frames of srcloc_at stay valid
 * until the last srcloc that shares them is freed. Objects are opened when first asked about.
 * Separate debug files are looked for by build-id and .gnu_debuglink beside the object, in the
 * folders of $HOLDFAST_DEBUG_PATH (separated by colons) and in /usr/lib/debug.
 */
#ifndef HOLDFAST_SRCLOC_SRCLOC_H
#define HOLDFAST_SRCLOC_SRCLOC_H

#include "base/base.h"

/* How a frame got into a call path. */
enum srcloc_kind {
	SRCLOC_CODE, /* an instruction: the event's, or a call on the way to it */
	SRCLOC_TAIL, /* entered by a call, left by a jump; its place, or the function's beginning if it is not known */
	SRCLOC_SIGNAL,      /* the kernel called a handler; function is "<signal 11>" */
	SRCLOC_INTERRUPTED, /* what the signal interrupted; the place is its beginning */
	SRCLOC_CUT,         /* deeper frames are not in the trace; function is "<…>" */
};

/*
 * What a function takes, by the types of its parameters: for those who ask what it is for. A
 * range is memory of no particular type: a pointer to void, to characters or numbers, or to
 * whatever a template is instantiated with.
 */
enum srcloc_takes {
	SRCLOC_TAKES_KNOWN = 1,  /* the debug information tells; else no other bit is set */
	SRCLOC_TAKES_RANGE = 2,  /* a pointer to untyped memory */
	SRCLOC_TAKES_OBJECT = 4, /* a struct, or a pointer or reference to one; not `this` */
	SRCLOC_TAKES_LENGTH = 8, /* a number */
	SRCLOC_TAKES_COPY = 16,  /* where to, what from (or with), how much: as memcpy and memset */
	SRCLOC_TAKES_ADDRESS = 32, /* begins with a number as wide as an address */
	SRCLOC_TAKES_HOLDER = 64,  /* `this`, of a class that holds a pointer to untyped memory */
};

/* One frame: an address has one or more, innermost inlined function first. */
struct srcloc_frame {
	const char *function;  /* demangled; NULL if unknown */
	const char *file;      /* as the debug information says, made absolute; NULL if unknown */
	uint32_t line, column; /* 0 if unknown */
	const char *module;    /* path of the object; NULL if the address is in none */
	uint64_t offset;       /* virtual address inside the module (what addr2line takes);
	                        * the file offset if the object cannot be read, the address
	                        * itself if it is in no module */
	uint8_t kind;          /* enum srcloc_kind; always SRCLOC_CODE from srcloc_at */
	bool inlined;          /* inlined into the next frame, whose place is the call's */
	bool plt;              /* a linkage stub: leave it out of call paths */
	bool unsure; /* the compiler gives it no line, as where it makes one of several statements:
				* the place is that of what comes before */
	uint8_t takes; /* enum srcloc_takes, of the function */
	bool helper;   /* for those who tell helpers from the program proper; false here */
	bool blamed;   /* for those who look into libraries: it is about this one; likewise */
};
struct srcloc_where {
	const struct srcloc_frame *frame;
	size_t n; /* at least 1 */
};

struct srcloc;
struct srcloc *srcloc_new(void);
/* A copy of the address space, as fork makes one; objects and cached answers are shared. */
struct srcloc *srcloc_fork(const struct srcloc *);
void srcloc_free(struct srcloc *);
/* From now on all new ones share objects and answers, which stay as long as the process: for those
 * that look at many runs of one program. */
void srcloc_keep(void);

/*
 * A module's executable part is mapped: [addr, addr+len) holds the file from `offset` on.
 * With a build-id, an object on disk that has another one is not used (srcloc_stale says so).
 */
void srcloc_map(struct srcloc *, uint64_t addr, uint64_t len, uint64_t offset, const char *path,
		const uint8_t *build_id, size_t build_id_len);
void srcloc_unmap(struct srcloc *, uint64_t addr, uint64_t len);
/* Path of the i-th changed object among those asked about so far; NULL: no more. */
const char *srcloc_stale(const struct srcloc *, size_t i);

struct srcloc_where srcloc_at(struct srcloc *, uint64_t addr);
/* Where the function entered at addr is left by a jump to `to`, if the debug information tells; else addr. */
uint64_t srcloc_left_at(struct srcloc *, uint64_t addr, const char *to);
const char *srcloc_module(const struct srcloc *, uint64_t addr); /* its path; NULL: none */
/*
 * A name for people: long template arguments become <…>, and long parameter lists (…); Rust's hash is
 * left out. Returns buf, or the name itself where nothing is to be done.
 */
const char *srcloc_short_name(const char *function, char *buf, size_t size);
/* The same; one that is wider loses the scopes that it is in: "…::insert(…)", but nothing of itself. */
const char *srcloc_fit_name(const char *function, size_t columns, char *buf, size_t size);
/* "insert (tree.c:41)", "insert (libfoo.so+0x1234)" or "libfoo.so+0x1234"; returns buf. */
const char *srcloc_text(const struct srcloc_frame *, char *buf, size_t size);

/* ---- how an object was compiled ---- */

/* A compilation unit, as the debug information has it. */
struct srcloc_unit {
	const char *name;        /* of the source file */
	const char *folder;      /* where it was compiled; NULL: unknown */
	const char *producer;    /* the compiler, often with its options; NULL: unknown */
	const char *const *file; /* all files that it has lines or declarations from */
	size_t files;
};
typedef void srcloc_each_unit(void *arg, const struct srcloc_unit *); /* valid during the call */
/* Calls it for each unit of an object. False: there is no debug information. */
bool srcloc_units(const char *object, srcloc_each_unit *, void *arg);

/* ---- what a statement assigns to ---- */

enum srcloc_encoding {
	SRCLOC_OTHER, /* nobody knows */
	SRCLOC_SIGNED,
	SRCLOC_UNSIGNED,
	SRCLOC_BOOL,
	SRCLOC_CHAR, /* one, or an array of them: text */
	SRCLOC_FLOAT,
	SRCLOC_ENUM,
	SRCLOC_POINTER,
	SRCLOC_STRUCT, /* or a union */
	SRCLOC_ARRAY,  /* of anything but char */
};

struct srcloc_type; /* a struct or union; lives as long as the strings */

/*
 * "log->head.tail = off;" with `struct log *log` assigns to
 *	type "struct log", member "head.tail", member_type "uint64_t", offset 72, size 8.
 * Where an index is not a number: for structs type is the element's ("p->slot[i].key": "struct
 * slot", "key"), otherwise member ends in [] and `elements` says how many there are.
 */
struct srcloc_lvalue {
	const char *type;   /* NULL: it is in no struct that is known */
	const char *member; /* "": the whole struct; without a type, the text in the statement */
	const char *member_type;
	uint64_t offset, size; /* size 0: unknown */
	uint64_t elements;     /* of an array, of which the offset is the first's; 0: not one */
	enum srcloc_encoding encoding;
	const struct srcloc_type *in; /* what `type` names, for srcloc_members; NULL without it */
};
/*
 * Which object does the statement at this frame assign to, as far as its text and the debug
 * information tell? Assignments, ++ and --, and calls such as memcpy(&a->b, …) whose first
 * argument points to it. Ask about the frame that stores, or whose call does. What is no memory behind a pointer (a local variable) does not count.
 */
bool srcloc_lvalue(struct srcloc *, const struct srcloc_frame *, const char *statement,
		   struct srcloc_lvalue *);
/* The struct, union or typedef of that name ("struct log", "log_t") as the frame's file has it. */
const struct srcloc_type *srcloc_type(struct srcloc *, const struct srcloc_frame *,
				      const char *name);
const char *srcloc_type_name(const struct srcloc_type *);
uint64_t srcloc_type_size(const struct srcloc_type *);
/*
 * The members that lie in [from, to) of the type or overlap it, down to those that are no
 * structs and to elements of arrays: "slot[2].key". Fills up to max, returns how many there are.
 */
size_t srcloc_members(const struct srcloc_type *, uint64_t from, uint64_t to,
		      struct srcloc_lvalue *out, size_t max);
/* The structs with a name in the type that lie around an offset, the outermost first; returns how many, at most max. */
struct srcloc_inner {
	const struct srcloc_type *type;
	uint64_t offset;
};
size_t srcloc_structs(const struct srcloc_type *, uint64_t offset, struct srcloc_inner *out,
		      size_t max);

/* The same for all processes of a trace, as they come and go. */
struct trace_defs;
struct trace_event;
struct srcloc_trace;
struct srcloc_trace *srcloc_trace_new(const struct trace_defs *);
void srcloc_trace_free(struct srcloc_trace *);
/* Give it every event, in order, before asking about that event. */
void srcloc_trace_feed(struct srcloc_trace *, const struct trace_event *);
struct srcloc_where srcloc_trace_at(struct srcloc_trace *, uint32_t process, uint64_t ip);
const char *srcloc_trace_stale(const struct srcloc_trace *, size_t i);
bool srcloc_trace_lvalue(struct srcloc_trace *, const struct srcloc_frame *, const char *statement,
			 struct srcloc_lvalue *);
const struct srcloc_type *srcloc_trace_type(struct srcloc_trace *, const struct srcloc_frame *,
					    const char *name);

/*
 * The call path of an event: the frames of its instruction, then those of each call on the
 * way down to the thread's first function. Valid until the next call of srcloc_path.
 */
struct srcloc_where srcloc_path(struct srcloc_trace *, uint32_t process, uint64_t ip, uint32_t ctx);
/* The part of a path that people want to see: without what called main. */
struct srcloc_where srcloc_path_trim(struct srcloc_where path);
/* Both in one, without a look at what is trimmed where that can be told. */
struct srcloc_where srcloc_path_to_main(struct srcloc_trace *, uint32_t process, uint64_t ip,
					uint32_t ctx);

#endif
