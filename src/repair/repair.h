/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where flushes and fences that are missing should go: a plan, from data alone.
 *
 *	bugs ──▶ after the store ──▶ what does the same is one ──▶ hoisted ──▶ fixes
 *
 * A bug is a store X that must be durable before a point I, and is not: no flush, no fence, or neither. Its
 * sites are the store and the calls that lead there, innermost first. Every fix gives X → flush → fence → I;
 * which site it takes is a matter of speed. Nothing here reads a file: src/fix brings
 * the facts and turns the plan into text.
 */
#ifndef HOLDFAST_REPAIR_REPAIR_H
#define HOLDFAST_REPAIR_REPAIR_H

#include "base/base.h"

enum repair_act {
	REPAIR_FLUSH = 1,
	REPAIR_FENCE = 2,
	REPAIR_LOG = 4, /* alone: the transaction that the store is in must be able to undo it */
};

/* In the source. Strings are the caller's and outlive the plan; file NULL: nobody knows. */
struct repair_place {
	const char *file, *function;
	uint32_t line, column; /* column 0: not known */
};

/*
 * How often a site was executed, and what for. A run that counts (record --profile-sites) knows all
 * three; without it nobody knows what was written elsewhere, and the trace's contexts tell the others.
 */
struct repair_counts {
	bool known;         /* else: no more than that the bug was there */
	uint64_t lost;      /* what it wrote to PM was not persistent when it had to be: the bug */
	uint64_t persisted; /* it wrote to PM, and others made that persistent */
	uint64_t elsewhere; /* it wrote to memory that is not PM */
};

/* A store, or a call on the way to it: what can be done there. */
struct repair_site {
	struct repair_place at;
	struct repair_counts counts;
	bool pointers; /* the call passes a pointer; of a store it does not matter */
	bool indirect; /* … goes through a pointer to a function: nothing above is looked at */
	bool range;    /* what the callee writes is a range that the arguments name */
	uint64_t from, to; /* … the addresses of which were these in this run; to 0: not known */
	uint64_t
		block; /* statements of one run through without a branch have the same; 0: not known */
	const char *no_edit; /* why nothing can be written there; NULL: it can */
	const char *no_copy; /* why the callee cannot be copied; NULL: it can */
};

struct repair_bug {
	const char *id;
	unsigned lacks;           /* of enum repair_act */
	struct repair_site *site; /* [0] is the store; [i] calls the function that holds [i-1] */
	size_t n;                 /* at least 1 */
	size_t holds; /* site[holds] is in the function that holds I: the last that may be taken */
	struct repair_place until; /* I; file NULL: the end of that function, or not known */
	struct repair_place flush; /* the flush that no fence follows; file NULL: there is none */
	uint64_t stored;           /* address of X in this run; 0: not known */
	uint64_t line;             /* which cache line X is in, as a hash; 0: not known */
	bool late;                 /* a fence follows, but only when the operation has ended */
};

/* What a fix is. The order is that of preference where several would do at a site. */
#define REPAIR_FORMS(X)                                                                            \
	X(STORE, "after the store")                                                                \
	X(LOGGED, "before the store")                                                              \
	X(FLUSHED, "after the flush")                                                              \
	X(BEFORE, "before what needs it")                                                          \
	X(RANGE, "after the call, of the range that it writes")                                    \
	X(COPY, "in a copy of what is called, for persistent memory")
enum repair_form {
#define X(NAME, text) REPAIR_##NAME,
	REPAIR_FORMS(X)
#undef X
		REPAIR_FORMS_COUNT
};
const char *repair_form_text(enum repair_form);

struct repair_rejected {
	struct repair_place at;
	char *why; /* a sentence without its full stop */
};
struct repair_fix {
	enum repair_form form;
	unsigned acts; /* of enum repair_act, at this place */
	size_t bug;    /* the first of `bugs`; the sites are its */
	size_t site;   /* … of which this one */
	struct repair_place
		at; /* where to insert: after it, or before it for REPAIR_BEFORE and _LOGGED */
	char *why;  /* a sentence without its full stop */
	VEC(size_t) bugs; /* all that it repairs, with other fixes or without */
	VEC(size_t)
	stores; /* of these, those whose stores are followed by a flush; the first is `bug` */
	VEC(struct repair_rejected) rejected;
};
struct repair_plan {
	VEC(struct repair_fix) fix;
	VEC(struct repair_rejected) none; /* of bug i: why it has no fix; why NULL: it has one */
};

struct repair_opts {
	bool no_hoist; /* every fix at its store */
};
void repair_make(const struct repair_bug *, size_t n, const struct repair_opts *,
		 struct repair_plan *);
void repair_free(struct repair_plan *);

/*
 * How the program persists: patterns in which %a is an address and %n a number of bytes, %m the same within an expression. What is NULL it has
 * not; with nothing, fixes bring a small function of their own.
 */
struct repair_idiom {
	char *flush;   /* "pm_flush(%a, %n)" */
	char *fence;   /* "pm_fence()" */
	char *persist; /* both: "pm_persist(%a, %n)" */
	char *why;     /* what tells so; may be NULL */
};
void repair_idiom_free(struct repair_idiom *);
/* The statements, each with its semicolon, line by line, that do `acts` to a range; "" if the idiom lacks one. xmalloc'ed. */
char *repair_idiom_text(const struct repair_idiom *, unsigned acts, const char *address,
			const char *size);

#endif
