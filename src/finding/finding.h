/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings: what an analysis says about a program, whoever says it.
 *
 * A finding has a kind (one table), a place with its full call path, related places, and a
 * witness. Its identity survives unrelated edits: it is made from the kind, the function and
 * the text of the statement, never from line numbers or addresses; however many call paths,
 * inlined copies or template instances lead there, it is one. That of a crash is made from the
 * stores that survive and those that are lost, and from its cause too.
 */
#ifndef HOLDFAST_FINDING_FINDING_H
#define HOLDFAST_FINDING_FINDING_H

#include "base/base.h"
#include "srcloc/srcloc.h"

enum finding_level {
	FINDING_ERROR,
	FINDING_PERFORMANCE,
	FINDING_WARNING,
	FINDING_NOTE,
	FINDING_LEVELS
};
const char *finding_level_name(enum finding_level);
const char *finding_level_about(enum finding_level);
/* The next one down: an error that did no harm is a suspicion, and what only costs time is no longer
 * worth a failed build. */
enum finding_level finding_level_down(enum finding_level);

/*
 * The kinds. X(NAME, "name", LEVEL, "title", "what it means and what to do").
 * Append only: names are rule ids in reports, suppressions and baselines.
 */
#define FINDING_KINDS(X)                                                                                        \
	X(MISSING_FLUSH, "missing-flush", ERROR, "store is never flushed",                                      \
	  "The store is followed by a fence but its cache line is not flushed, so a crash may "                 \
	  "lose it. Flush the line (clwb, pmem_flush) between the store and the fence.")                        \
	X(MISSING_FENCE, "missing-fence", ERROR, "flush is never fenced",                                       \
	  "The line is flushed, but the flushing thread executes no fence afterwards, so the "                  \
	  "flush need not be complete when a crash comes. Add sfence (pmem_drain) after it.")                   \
	X(MISSING_FLUSH_AND_FENCE, "missing-flush-and-fence", ERROR, "store is never persisted",                \
	  "The store is neither flushed nor fenced, so a crash may lose it. Persist it "                        \
	  "(clwb and sfence, pmem_persist).")                                                                   \
	X(LATE_PERSIST, "late-persist", WARNING,                                                                \
	  "store is not persistent when its operation ends",                                                    \
	  "The operation returns before the store is persistent, although other instances of it "               \
	  "are: a crash now loses an acknowledged change.")                                                     \
	X(TRANSIENT_DATA, "transient-data", PERFORMANCE, "data in PM that is never persisted",                  \
	  "Nothing ever flushes what this statement stores: it belongs in DRAM, or its flush is "               \
	  "missing everywhere.")                                                                                \
	X(FILE_NEVER_PERSISTED, "file-never-persisted", WARNING,                                                \
	  "nothing in this file is ever persisted",                                                             \
	  "The program stores to the mapped file but never flushes, syncs or fences any of it. "                \
	  "If it is shared memory between processes, leave it out with --pm; if it is meant to "                \
	  "survive a crash, every flush is missing.")                                                           \
	X(DIRTY_OVERWRITE, "dirty-overwrite", WARNING,                                                          \
	  "value overwritten before it was persisted",                                                          \
	  "The same location is stored again and again without being persisted in between: "                    \
	  "keep the value in DRAM and store it once.")                                                          \
	X(REDUNDANT_FLUSH, "redundant-flush", PERFORMANCE,                                                      \
	  "flush of a line with nothing to flush",                                                              \
	  "The line has no unflushed store: it is clean, was flushed already, or was written "                  \
	  "with non-temporal stores. Remove the flush, or flush a shorter range.")                              \
	X(FLUSH_OF_VOLATILE, "flush-of-volatile", PERFORMANCE, "flush of memory that is not PM",                \
	  "The flushed address is not in persistent memory: the flush only costs time.")                        \
	X(REDUNDANT_FENCE, "redundant-fence", PERFORMANCE, "fence with nothing to order",                       \
	  "No flush or non-temporal store of this thread is waiting for a fence. Remove it.")                   \
	X(FLUSH_COVERS_MANY, "flush-covers-many-stores", NOTE, "one flush covers many stores",                  \
	  "Several stores to one line are made persistent together; if they must become "                       \
	  "persistent in order, a flush and fence between them is missing.")                                    \
	X(FENCE_ORDERS_MANY, "fence-orders-many-lines", NOTE, "one fence orders many lines",                    \
	  "Several lines become persistent under one fence, in any order; if their order "                      \
	  "matters, a fence between them is missing.")                                                          \
	X(PLUGIN_FAILED, "plugin-failed", WARNING, "a custom oracle failed",                                    \
	  "The plug-in crashed or did not return; its later findings are missing.")                             \
	X(ORDERING, "ordering", ERROR,                                                                          \
	  "a later store can persist before an earlier one that recovery needs",                                \
	  "Nothing orders the two stores, so the later one may survive a crash that loses the "                 \
	  "earlier one, and recovery cannot handle that. Persist the earlier store (flush and "                 \
	  "fence, pmem_persist) before the later one is made.")                                                 \
	X(ATOMICITY, "atomicity", ERROR,                                                                        \
	  "a crash between two stores leaves a state that recovery cannot handle",                              \
	  "The stores belong together, but a crash can come between them even where each is "                   \
	  "persisted in its turn. Make the change take effect with one store of at most 8 "                     \
	  "aligned bytes, or use a log or a transaction that recovery undoes or completes.")                    \
	X(LOST_OPERATION, "lost-operation", ERROR,                                                              \
	  "an operation that had ended is gone after a crash",                                                  \
	  "The program had gone on to other things, so that whoever asked for the operation takes it "          \
	  "for done; but a crash can lose it. Persist what it stores (flush and fence) before it ends.")        \
	X(HALF_OPERATION, "half-operation", ERROR,                                                              \
	  "after a crash an operation has happened in part",                                                    \
	  "What is in the pool then is neither what was there before the operation nor what it leaves. "        \
	  "Let it take effect with one store, after all else is persistent, or use a log or a transaction.")    \
	X(RECOVERY_FLAKY, "recovery-flaky", WARNING,                                                            \
	  "recovery does not always say the same about the same image",                                         \
	  "The recovery command gave different verdicts on the same image, so what it says of "                 \
	  "others may be chance too. Look for timeouts that are too short, randomness, time, "                  \
	  "uninitialised memory, or files outside the image that it depends on.")                               \
	X(PROGRAM_CRASH, "program-crash", ERROR, "an input makes the program crash",                            \
	  "With this input the program is ended by a signal: it reads or writes where it must "                 \
	  "not, divides by zero, or an assertion of its own fails. Check what comes from the "                  \
	  "input, or from persistent memory, before it is used.")                                               \
	X(PROGRAM_HANG, "program-hang", ERROR, "an input makes the program hang",                               \
	  "With this input the program does not end within the time limit. If it only needs "                   \
	  "longer, give it more time with --timeout.")                                                          \
	X(BROKEN_ORDER, "broken-order", WARNING,                                                                \
	  "an order that is nearly always kept is not kept here",                                               \
	  "By what depends on what, the program seems to rely on the earlier store being persistent before "    \
	  "this one is made; nearly always it is. Persist it (flush and fence) before this store, here, too.")  \
	X(MISSING_FSYNC, "missing-fsync", ERROR, "what is written to a file is never synced",                   \
	  "Nothing makes the kernel write it to disk before something else relies on it, so a crash may "       \
	  "lose it, or leave the file at another size. Call fsync or fdatasync, and look at its result.")       \
	X(MISSING_DIR_FSYNC, "missing-dir-fsync", ERROR, "a change of names is never synced",                   \
	  "That a file was made, renamed or removed is on disk only when its folder is synced: fsync of the "   \
	  "file itself need not do it. Open the folder and call fsync on it.")                                  \
	X(REDUNDANT_FSYNC, "redundant-fsync", PERFORMANCE, "sync of what is on disk already",                   \
	  "Nothing was written, and no name has changed, since the last sync of the same file or folder: "      \
	  "the sync only costs time.")                                                                          \
	X(UNHANDLED_FAULT, "unhandled-fault", ERROR,                                                            \
	  "what follows a failed system call is not handled",                                                   \
	  "With --fault a system call failed, or did only part of its work, and the program went on in a "      \
	  "way that recovery cannot handle. What a failed fsync was to bring to disk may be lost, and a later " \
	  "fsync does not bring it: write it again, or stop. A short write is to be continued.")

enum finding_kind {
#define X(NAME, name, level, title, help) FINDING_##NAME,
	FINDING_KINDS(X)
#undef X
		FINDING_KINDS_COUNT,
};
/* Custom oracles bring kinds of their own; a kind lives as long as the process. */
struct finding_kind_info {
	const char *name;
	enum finding_level level;
	const char *title, *help;
};
const struct finding_kind_info *finding_kind_info(enum finding_kind);
/* By name; NULL if it is none of the table's. */
const struct finding_kind_info *finding_kind_named(const char *name);

/* A place: the event's call path, innermost frame first; outlives the srcloc it came from. */
struct finding_place {
	struct srcloc_frame *frame;
	size_t n;
};
struct finding_related {
	/*
	 * Of a misuse: "last-store", "last-flush", "last-fence", "end", …
	 * Of a crash: "persisted", a store that survives; "lost", one that does not;
	 * "also-persisted" and "also-lost", others of the same line that share their fate and are
	 * not part of the identity; "also-shows", another way in which the same bug shows, likewise.
	 */
	const char *role;
	char *message;
	uint64_t event; /* number in the trace */
	struct finding_place place;
};
/* One step in the life of the line, for the picture. */
struct finding_step {
	uint64_t event;
	uint32_t thread;
	const char *what; /* "store", "nt-store", "flush", "fence", "persistent", "end", … */
	char *text;       /* "list.c:41 insert" */
};
/* An operation of the program that a crash damages. */
struct finding_operation {
	uint64_t index; /* from 1, in the order in which they began; 0: not known */
	uint64_t id;    /* as it is marked */
	uint64_t last;  /* it is the first of several that overlap, up to this one; 0: it is not */
	char *name;     /* of its function, or the first word that it was asked; may be NULL */
	char *input;    /* its line in the operations file, or what it was asked; may be NULL */
	/* "in flight" at the crash; "ended", the last that had; "gone", though it had ended; "overlap" */
	const char *fate;
};
/* A store that a crash loses, as the field that it makes. */
struct finding_field {
	char *data;          /* where: "pool+0x40" */
	char *object;        /* "struct note"; NULL: not known */
	char *member, *type; /* of it; member "": all of it; type NULL: not known */
	char *has, *should;  /* in the crash image, and with nothing lost; NULL: too long to show */
	char *at, *statement; /* "list.c:41 insert" and its text; statement NULL: not known */
	uint32_t size;
	uint64_t event;
};
void finding_field_free(struct finding_field *);
/* An operation that is under way when the crash comes. */
struct finding_flight {
	char *name, *input; /* as in finding_operation */
	uint64_t index, id, begin;
	uint32_t thread;
};
/* What happens to a cache line up to the crash: "store", which is guaranteed then; "ahead", one that is there by chance;
 * "lost"; "flush"; "persistent": what is before it is guaranteed from here on. */
struct finding_lane {
	char *data; /* "pool+0x40" */
	VEC(struct finding_step) step;
};
/* What there is to see at a crash; findings share it. */
struct finding_scene {
	unsigned users;
	VEC(struct finding_field) field;
	uint64_t fields; /* that differ, of which these are the first */
	VEC(struct finding_flight) flight;
	VEC(struct finding_lane) lane;
	VEC(struct finding_step) fence; /* of the threads that store to these lines */
	bool cut;                       /* earlier steps are left out */
};
struct finding_scene *finding_scene_new(void); /* of one user */
struct finding_scene *finding_scene_share(
	struct finding_scene *); /* NULL is fine, here and below */
void finding_scene_drop(struct finding_scene *);
/* A crash state that recovery cannot handle, as an example, and how many are like it. */
struct finding_crash {
	char *verdict;   /* "failed", "crashed", "hung", "flooded", "differs" */
	int status;      /* exit status, or the signal's number if it crashed */
	char *output;    /* an excerpt of what recovery said; may be NULL */
	char *backtrace; /* of a recovery that crashed; may be NULL */
	uint64_t event;  /* the crash comes just before this one */
	uint64_t lines_lost, lines_ahead;
	/* What the stores lack that make the difference; the finding's own kind says more where operations are judged. */
	const struct finding_kind_info *because;
	uint64_t states;     /* failing states with this cause */
	uint64_t recoveries; /* how often recovery was run on them */
	char *state;         /* the crash state in words that replay understands; may be NULL */
	struct finding_operation op; /* where what is said is wrong */
	struct finding_scene *scene; /* NULL: not looked at */
};
/* An input that shows it: the smallest that is known. */
struct finding_input {
	char *text;      /* for people, a line a source: "stdin: 4 bytes, \"P\\x00ab\"" */
	char *folder;    /* files with it, and a script that runs the program; may be NULL */
	char *backtrace; /* of a program that crashed; may be NULL */
	uint64_t rank;   /* the smaller, the better */
	uint64_t path;   /* number of the first run that showed it, from 1 */
	uint64_t paths;  /* runs that show it */
};
/* One way in which the program gets there. */
struct finding_path {
	struct finding_place place;
	uint64_t count; /* how often it was this one */
};
/* A piece of evidence: why the finding has the level that it has. */
struct finding_why {
	const char *row; /* its name in the table that it comes from */
	int weight;      /* what speaks for an error is positive */
	char *text;      /* a sentence without its full stop */
};
/* An instruction in its calling context, as events name it: one that made stores the finding is about. */
struct finding_store {
	uint32_t process, site, ctx;
};
/* What crashing says of a misuse: are there states that lose just its stores, and does recovery handle them? */
enum finding_proof { FINDING_PROVED, FINDING_HARMLESS, FINDING_OPEN, FINDING_PROOFS };
const char *finding_proof_name(enum finding_proof);
struct finding_verdict {
	enum finding_proof proof;
	uint64_t states; /* that recovery ran on */
	uint64_t stores; /* that may be lost … */
	uint64_t lost;   /* … and that were, in some state, without the others */
	char *text;      /* a sentence without its full stop */
};
/* "harmless for this recovery: it handles …"; malloc'ed. */
char *finding_verdict_text(const struct finding_verdict *);
struct finding {
	const struct finding_kind_info *kind;
	enum finding_level level; /* the kind's, unless the evidence says otherwise */
	char id[17];              /* 16 hex digits, set by finding_add */
	char *message;            /* one sentence: what happened */
	char *advice;             /* one sentence: the missing or superfluous step */
	uint64_t count;           /* how often */
	uint64_t event;           /* the example's number in the trace */
	char *data;               /* the location in PM, "pool+0x40, 8 bytes"; may be NULL */
	struct finding_place place;
	VEC(struct finding_path)
	paths; /* the most frequent first; their counts add up to `count` */
	VEC(struct finding_why) why;
	VEC(struct finding_related) related;
	VEC(struct finding_step) steps;
	char *cause;         /* part of the identity: what fails, in stable words; may be NULL */
	const char *witness; /* "trace", "crash", "input" */
	struct finding_crash *crash;      /* NULL: not found by a crash */
	struct finding_input *input;      /* NULL: not found by exploring inputs */
	VEC(struct finding_store) stores; /* that it is about; none if it is not about stores */
	struct finding_verdict *verdict;  /* NULL: nobody asked for one */
	char *replay;                     /* a command that shows it again; may be NULL */
	bool suppressed;                  /* by a suppression or the baseline */
	bool in_source;                   /* … by a comment beside the statement */
	uint64_t shape;        /* what the identity is made from, hashed; set by finding_add */
	uint64_t position;     /* private to the set: tells findings of one shape apart, */
	struct finding *after; /* … and the next of them */
};

struct finding_set {
	VEC(struct finding *) v;
	struct hmap by_shape; /* for finding_add */
	struct hmap first;    /* shape → the finding without source that is first by position */
};
/* Counts once, has the witness "trace"; the strings that are `char *` belong to it. */
struct finding *finding_new(const struct finding_kind_info *);
/* Makes it one that a crash shows, and returns the crash to fill in. */
struct finding_crash *finding_crash(struct finding *);
/* … and one that none shows again. */
void finding_uncrash(struct finding *);
/* Makes it one that an input shows, on one path; a crash stays what it is found by. */
struct finding_input *finding_input(struct finding *);
void finding_free(struct finding *);
/* Adds a way to get there; one that reads the same is counted up. `place` is copied. */
void finding_add_path(struct finding *, const struct finding_place *, uint64_t count);
/* Adds a piece of evidence; takes the text. */
void finding_add_why(struct finding *, const char *row, int weight, char *text);
int finding_weight(const struct finding *);                     /* of all the evidence */
void finding_add_store(struct finding *, struct finding_store); /* one that is there stays one */
/* Takes the verdict and its text, in the place of an earlier one; NULL: none. */
void finding_judge(struct finding *, const struct finding_verdict *);
struct finding_place finding_place_copy(struct srcloc_where path);
struct finding_place finding_place_clone(const struct finding_place *);
/* Do the call paths read the same to people? With `exact`, they are the same instructions, whatever a report calls their files. */
bool finding_same_path(const struct finding_place *, const struct finding_place *, bool exact);
/* The frame that people think of as the place: the first with a source file that is neither a
 * helper nor in a library (place.c has the rule). NULL if the place has no frames. */
const struct srcloc_frame *finding_main_frame(const struct finding_place *);
/* From a system header, or in a library that exists to persist, copy or run programs. */
bool finding_is_library(const struct srcloc_frame *);
/*
 * Persistence helpers, told by what they do over a run (helper.c). Show it the call path of every
 * place that did something to PM, decide, then mark the frames of places.
 */
enum finding_act { FINDING_STORES, FINDING_FLUSHES, FINDING_FENCES };
/* What an instruction of a class (enum trace_site) does; false: nothing that tells about its function. stores: it has
 * stored to PM, which an atomic one need not, that was there for its order. */
bool finding_act_of(uint8_t site_class, bool stores, enum finding_act *);
struct finding_helper {
	const char *function, *file, *why;
	uint32_t sites; /* places that call it */
};
struct finding_helpers;
/* What people say of functions whose name matches, who know better: for all of this process. The globs
 * must stay. */
void finding_helpers_overrule(const char *const *helper, size_t nhelper,
			      const char *const *no_helper, size_t nno_helper);
struct finding_helpers *finding_helpers_new(void);
void finding_helpers_free(struct finding_helpers *);
void finding_helpers_see(struct finding_helpers *, struct srcloc_where path, enum finding_act);
void finding_helpers_decide(struct finding_helpers *);
void finding_helpers_mark(const struct finding_helpers *, struct srcloc_frame *, size_t n);
void finding_helpers_each(const struct finding_helpers *,
			  void (*each)(void *, const struct finding_helper *), void *);
/* A function's name as identities and suppressions have it: "f" for "f.part.0" and "f<int>". */
char *finding_function(const struct srcloc_frame *);
/* The same text at the same address, kept as long as the process; NULL stays NULL. */
const char *finding_intern(const char *);
/*
 * Takes the finding. One of the same identity is one finding: counts and paths are added up, the
 * one with the smaller input or else the earlier event is kept. Ids are final when the last
 * finding was added. Returns what it is now, which stays where it is as long as the set.
 */
struct finding *finding_add(struct finding_set *, struct finding *);
/*
 * A finding that was read from a report, with its id, can be compared. Where the source can be read, the id says what it is also
 * when the source has changed; elsewhere it is a rank, and the place says it.
 */
void finding_recall(struct finding *);
/* Both were added to a set or recalled, and have the same identity: in any set. */
bool finding_same(const struct finding *, const struct finding *);
/* By level, what a crash proves first, by weight of the evidence, file, line, kind. */
void finding_sort(struct finding_set *);
void finding_set_free(struct finding_set *);
size_t finding_count(const struct finding_set *, enum finding_level); /* not suppressed */
/* Does it count for the status, if findings of so many levels do, the gravest first? And, if asked for, a suspicion of what
 * is an error where the evidence is strong, unless crashes have refuted it. */
bool finding_fails(const struct finding *, int levels, bool suspicions);
size_t finding_suppressed(const struct finding_set *);

/*
 * Suppressions: a text file of entries
 *	kind function [file] [in module] [< caller]…        # globs; or a line "id 3f9c0a…"
 * A word with blanks stands in double quotes. The globs of file and module are matched against the whole path
 * and against its last parts. Callers are those of the function, outwards; "..." is any number of frames.
 */
struct finding_suppressions;
struct finding_suppressions *finding_suppressions_load(const char *path, struct err *);
void finding_suppressions_apply(struct finding_suppressions *, struct finding_set *);
/* Calls back for each entry that suppressed nothing. */
void finding_suppressions_stale(const struct finding_suppressions *,
				void (*say)(void *, const char *path, unsigned line,
					    const char *entry),
				void *);
void finding_suppressions_write(const struct finding_set *, FILE *);
void finding_suppressions_free(struct finding_suppressions *);
/* Suppresses kinds that a glob of `disable` matches, and none of `enable`. */
void finding_select_kinds(struct finding_set *, const char *const *disable, size_t ndisable,
			  const char *const *enable, size_t nenable);
/* Suppresses what a comment on its line, or just above it, excuses: "holdfast: ignore KIND — reason". */
void finding_select_source(struct finding_set *);
/* The baseline: identities that are known already. */
void finding_baseline_apply(struct finding_set *, const char *const *ids, size_t n);

/* The text of a source line; NULL if it cannot be read. Files are read once and kept. */
const char *finding_source_line(const char *file, uint32_t line);
/* The source file is newer than the object that was compiled from it. */
bool finding_source_changed(const char *file, const char *module);

#endif
