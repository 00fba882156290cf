/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HOLDFAST_FIX_INTERNAL_H
#define HOLDFAST_FIX_INTERNAL_H

#include "fix/fix.h"
#include "repair/repair.h"
#include "source/source.h"
#include "trace/trace.h"

#define FIX_BOTH (REPAIR_FLUSH | REPAIR_FENCE)

struct fix_range {
	const char *address, *size; /* NULL: not known */
	uint64_t bytes;       /* of the object that the store is to a part of; 0: it is none */
	const char *evidence; /* that the call's number counts bytes; NULL: there is no number */
};

/* What a repair_bug does not say. */
struct fix_bug {
	size_t entry;
	struct source_store store; /* of the site that stores, if there is one */
	size_t stores;             /* … which one it is; SIZE_MAX: none */
	struct source_call *call;  /* of each site but that one */
	struct fix_range *range;   /* … that the call writes, where its arguments name it */
	const struct srcloc_frame **frame; /* of each site */
	size_t frames;
	uint64_t event, until; /* of the finding, and of I; UINT64_MAX: not known */
	uint64_t stored;       /* … of the store, which it may come after */
	uint64_t offset;       /* of what it stores to, in its file; UINT64_MAX: not known */
	const struct finding_place
		*path;   /* of the store, where it may come before the event; else NULL */
	uint64_t addr;   /* that the store wrote to */
	uint64_t thread; /* … and whose it was */
	uint64_t fences; /* before the store, in the trace */
	uint64_t fenced; /* the thread's first fence after it; UINT64_MAX: none */
	uint64_t run;    /* of stores to one line, which it is in */
	uint64_t block;
	uint32_t bytes;
	const struct finding_place *needs; /* I, of a crash; else NULL */
	bool logs;                  /* a transaction is under way that does not know of the store */
	struct finding_place flush; /* where the line is flushed */
	bool lift;                  /* a flush of the whole struct may follow this statement: */
	struct source_statement lifted;
};

/* A line of the source. */
struct fix_at {
	const char *file;
	uint32_t line;
};

struct fix_entry {
	const struct finding *f;
	enum fix_state state;
	VEC(char *) say; /* lines */
};

/* A function or macro of the program that flushes or fences, as it is called in a file. */
struct fix_means {
	const char *name, *file; /* the file that calls it */
	unsigned acts;
	char *pattern; /* with %a and %n, or %l for lines; NULL: it is not known how to call it */
	char *general; /* … in other files, where `full` is declared; NULL: in none */
	const char *full; /* its name, with all its scopes */
	bool one_line;    /* flushes the line of an address, not a range */
	bool macro;
	bool outer;    /* those that store call it, not only others that flush */
	unsigned seen; /* calls that were looked at */
	unsigned bytes, lines,
		neither; /* … that show what its number counts; that do not, or contradict */
	uint64_t count;
};
/* What an instruction does, over a run. */
struct fix_act {
	unsigned acts; /* 0: it stores */
	uint64_t count;
	uint64_t lines; /* the fewest that it flushes, one behind the other */
};

/* A flush or fence that goes. */
struct fix_removal {
	size_t entry;
	struct source_call call;
	bool out; /* it stays after all */
};

struct fix {
	struct fix_opts o;
	const struct finding_set *set;
	struct source *source;
	VEC(struct repair_bug) bug;
	VEC(struct fix_bug) with; /* one for each bug */
	VEC(struct fix_entry) entry;
	VEC(struct fix_means) means;
	VEC(struct fix_at) persists; /* what flushes or waits, with all that leads there */
	struct repair_plan plan;
	VEC(char *) out; /* of each fix of the plan: why it is not in the patch; NULL: it is */
	VEC(struct fix_removal) removal;
	struct source_edits edits;
	VEC(const struct source_file *) touched; /* files that any fix changes or has changed */
	VEC(char *) proof;                       /* lines about the proof */
	VEC(void *) kept;                        /* freed at the end */
};

void fix_tell(struct fix *, size_t entry, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Takes it, and frees it at the end. */
void *fix_keep(struct fix *, void *);

/* bugs.c: findings become bugs. */
void fix_find_bugs(struct fix *);
/* A warning that could be repaired was not asked for. */
bool fix_leaves_warnings(const struct fix *);
/* sites.c: the store and the calls of a path, in the source. */
void fix_find_sites(struct fix *, size_t bug, const struct finding_place *);
/* Between the two a variable that the expression has is given a value, or its address is taken. */
bool fix_is_changed(const char *from, const char *to, const char *expression);
/* bytes.c: why the third argument of a call of a function that copies is a number of bytes; NULL: nothing says so, it may be words. */
const char *fix_counts_bytes(struct fix *, const struct fix_bug *, size_t site);
/* events.c: what the trace tells of the bugs, and how the program persists. */
int fix_read_trace(struct fix *, struct err *);
/* … what an event does for lines that are on their way. */
unsigned fix_acts_of(const struct trace_event *);
/* transactions.c: which threads are in the work of a transaction of libpmemobj. */
struct fix_transactions {
	VEC(struct fix_transaction {
		uint64_t thread;
		unsigned depth;
		bool over; /* it commits, or aborts */
	})
	thread;
};
void fix_see_call(struct fix_transactions *, const struct trace_defs *, const struct trace_event *);
bool fix_in_transaction(const struct fix_transactions *, const struct trace_event *);
/* What a transaction should know of is logged, rather than flushed, where that can be done. */
void fix_log_rather(struct fix *);
/* operations.c: a fence that follows when the operation has ended is too late. */
int fix_find_late(struct fix *, struct trace_reader *, struct err *);
/* counts.c: how often the sites are executed, and what for. */
void fix_count_sites(struct fix *, struct trace_reader *);
/* blocks.c: which stores are executed together. */
void fix_find_blocks(struct fix *);
/* Several parts of a struct that may lie in two lines are flushed as the whole struct. */
bool fix_flushes_whole(const struct fix *, const struct fix_bug *);
/* Nothing in the loop flushes or waits, itself or in what it calls, and what needs the store to be persistent is not there. */
bool fix_is_quiet(const struct fix *, const struct fix_bug *, const struct source_loop *);
/* means.c: flushes and fences first, then stores, then what is to be made of it. */
void fix_add_means(struct fix *, const struct finding_place *, const struct fix_act *);
void fix_drop_means(struct fix *, const struct finding_place *);
void fix_decide_means(struct fix *);
/* idiom.c */
bool fix_syncs(const struct fix *); /* with msync, which flushes and waits */
/* How a file persists: its own functions, else a small one of ours, which is added to the edits. */
struct repair_idiom fix_idiom(struct fix *, const struct source_statement *,
			      bool line, /* of one cache line */
			      unsigned acts, const char **top);
/* … without the program's, which may be statements: a library's, else ours. */
struct repair_idiom fix_own_idiom(struct fix *, const struct source_statement *, unsigned acts,
				  const char **top);
/* library.c: what programs call that persist with libpmem or libpmemobj. */
struct fix_library {
	const char *name;
	unsigned acts;
	const char *pattern; /* %p is the pool */
};
const struct fix_library *fix_library(const char *name); /* NULL: none of theirs */
/* A pattern as it is at a statement; xmalloc'ed, NULL: for none. */
char *fix_library_pattern(struct fix *, const struct source_statement *, const char *pattern);
/* The pattern of a function that does these acts and is declared there; xmalloc'ed, NULL: none is. */
char *fix_library_for(struct fix *, const struct source_statement *, unsigned acts);
/* The statement that logs what is stored to; why there is none, NULL: there is. */
char *fix_log_text(const struct source_store *);
const char *fix_no_log(struct fix *, const struct fix_bug *);
/* spacing.c: a text that is the caller's, as the file would write it. */
char *fix_spaced(const struct source_file *, char *text);
const char *fix_indent(const struct source_file *);
/* performance.c: what does nothing, and goes. */
void fix_find_removals(struct fix *);
int fix_remove(struct fix *, const struct fix_removal *, struct source_edits *, struct err *);
/* edits.c: the plan becomes edits. What cannot be done is taken out. */
int fix_make_edits(struct fix *, struct err *);
/* … those that repair one finding. */
int fix_entry_edits(struct fix *, size_t entry, struct source_edits *, struct err *);
/* Written aside and renamed: never half a file, whatever comes between. */
int fix_replace_file(const char *path, const char *text, size_t n, struct err *);
/* apply.c: into the files below another root; NULL: the source itself. */
int fix_apply_to(const struct fix *, const char *root, struct err *);
/* advice.c: what order alone does not repair. */
void fix_advise(struct fix *, size_t entry);
/* What is to be repaired: the finding's kind, or why its operation happened in part. */
const struct finding_kind_info *fix_kind(const struct finding *);

#endif
