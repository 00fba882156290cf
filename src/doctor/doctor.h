/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this machine allows: a table of checks (rows.c), each with what it costs when it fails and how
 * to mend that. Each is tried, not guessed from versions or settings. Nothing is changed, nothing is left.
 */
#ifndef HOLDFAST_DOCTOR_DOCTOR_H
#define HOLDFAST_DOCTOR_DOCTOR_H

#include "base/base.h"

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_LESS,    /* it works, but something is slower or cannot be done */
	DOCTOR_MISSING, /* no program can be run without it */
};
const char *doctor_state_name(enum doctor_state);

struct doctor_row {
	const char *name;
	const char *what; /* what is looked at, for people */
	bool needed;      /* without it nothing can be run */
	bool program;     /* it is about a program */
	bool running;     /* a run may fail without it, and it is quickly tried */
	/* *found: what there is or why it fails, in words; malloc'ed. `program` is NULL for rows about the
	 * machine. */
	bool (*test)(const char *program, char **found);
	const char *cost, *mend;
};
struct doctor_result {
	const struct doctor_row *row;
	enum doctor_state state;
	const char *found;
};
typedef void doctor_each(void *arg, const struct doctor_result *);

const struct doctor_row *doctor_row_at(size_t i); /* NULL past the last */
/* Tries all rows in turn; those about a program only if there is one. True: all that is needed is there. */
bool doctor_look(const char *program, doctor_each *, void *arg);
/* For one whose run has failed: calls back for what may be the reason (`running`) and is not ok. */
void doctor_brief(doctor_each *, void *arg);

#endif
