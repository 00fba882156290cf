/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Repairs: from findings to a patch, and the proof that it helps.
 *
 *	findings ─┐
 *	trace ────┼─▶ bugs ──▶ src/repair ──▶ edits ──▶ patch ──▶ copy, build, record again
 *	source ───┘                             ▲                              │
 *	                                        └── without what did not help ─┘
 *
 * Only flushes and fences are added, and copies of functions that have them. Nothing is written to the source
 * tree but by fix_apply.
 */
#ifndef HOLDFAST_FIX_FIX_H
#define HOLDFAST_FIX_FIX_H

#include "report/report.h"

struct fix_opts {
	const char *dir;  /* the recording that the findings come from; NULL: there is none */
	const char *root; /* of the source; NULL: the current folder */
	const char *compile_commands;
	const char *model;         /* what survives a crash: "adr" … */
	const char *const *object; /* the program, and what else was recorded */
	size_t objects;
	const char *const *only; /* beginnings of ids; none: all */
	size_t nonly;
	bool changed;     /* edit files that are newer than the program, too */
	bool warnings;    /* also repair what is only a warning */
	bool performance; /* also remove flushes and fences that do nothing */
	bool no_hoist;    /* every fix at its store */
};

/* What became of a finding. */
#define FIX_STATES(X)                                                                              \
	X(PLANNED, "planned", "a fix is in the patch")                                             \
	X(PROVED, "repaired", "with the patch it is gone")                                         \
	X(OUT, "taken out", "its fix did not do what it should")                                   \
	X(ADVICE, "advice", "order alone does not repair it")                                      \
	X(NONE, "no fix", "there is no place for one")                                             \
	X(LEFT, "left alone", "it is none of those that are repaired, or was not asked for")
enum fix_state {
#define X(NAME, name, about) FIX_##NAME,
	FIX_STATES(X)
#undef X
		FIX_STATES_COUNT
};
const char *fix_state_name(enum fix_state);

/* An error of a kind that a flush or a fence may repair. */
bool fix_repairs(const struct finding *);
/* "holdfast fix WHAT", if there is such a finding; else NULL. xmalloc'ed. */
char *fix_hint(const struct finding_set *, const char *what);

struct fix;
/* Plans; the findings must outlive it. NULL: the source cannot be looked at. */
struct fix *fix_new(const struct fix_opts *, const struct finding_set *, struct err *);
void fix_free(struct fix *);
size_t fix_count(const struct fix *, enum fix_state); /* findings */
size_t fix_edits(const struct fix *);                 /* changes in the patch; 0: it is empty */
/* For people: of each finding what is inserted where, why there, what was rejected and why. */
void fix_say(const struct fix *, FILE *);
/* A unified diff for git apply and patch -p1. */
void fix_patch(const struct fix *, struct buf *);
/* The same as changes, finding by finding, for reports; the array is xmalloc'ed, its texts live as long as x. */
struct report_change *fix_changes(struct fix *x, size_t *n);
/* Into the source tree; files are written aside and renamed. */
int fix_apply(const struct fix *, struct err *);

/* Findings from pmemcheck's log, with the command that it names (xmalloc'ed words). */
bool fix_is_pmemcheck(const char *path);
int fix_read_pmemcheck(const char *path, struct finding_set *, char ***command, size_t *ncommand,
		       struct err *);

struct fix_proof {
	const char *build;          /* shell command that builds, in the source's root */
	const char *test;           /* … that tests; NULL: none */
	const char *const *command; /* of the program under test */
	size_t ncommand;
	const char *folder;       /* where it was run; NULL: here */
	const char *const *crash; /* options of the crash campaign; none: check alone judges */
	size_t ncrash;
	const char *const *record; /* options of the recording */
	size_t nrecord;
	const char *stdin_path;
};
/*
 * Applies the patch to a copy, builds it, runs it again under check and crash, and takes out what does not help.
 * -1: it could not be tried; err says why.
 */
int fix_prove(struct fix *, const struct fix_proof *, struct err *);

#endif
