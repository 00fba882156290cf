/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Misuse of persistent memory, found from one run.
 *
 * Feed it every event, live or from a trace; at the end it gives findings. What is wrong is
 * decided by oracles, one file each, listed in oracles.c; custom ones are loaded as plug-ins.
 */
#ifndef HOLDFAST_CHECK_CHECK_H
#define HOLDFAST_CHECK_CHECK_H

#include "finding/finding.h"
#include "model/model.h"

struct check_opts {
	const struct model_ops *model;
	bool notes;                /* also report what is only a note */
	bool include_libs;         /* also report what libraries do in vain on their own account */
	const char *const *plugin; /* shared objects, by path or name; or CHECK_NO_ORACLE */
	size_t nplugin;
	const char *replay;               /* how to see a finding's events again; may be NULL */
	const struct trace_use *recovery; /* what the program's recovery does; NULL: not known */
	size_t nrecovery;
};

/* In the place of a plug-in: those that load by themselves do not. */
#define CHECK_NO_ORACLE "none"

struct check;
/* NULL and err: a plug-in does not load. */
struct check *check_new(const struct check_opts *, const struct trace_defs *, struct err *);
/* Globs of functions that plug-ins want to see called: for the launcher. */
const char *const *check_watches(const struct check *, size_t *n);
void check_feed(struct check *, const struct trace_event *);
/* The events are over. What was under way when a program was killed is not held against it. */
void check_end(struct check *);
/* Adds what is established so far: all of it, after check_end. */
void check_report(struct check *, struct finding_set *);
/* Which oracles loaded by themselves, and why; xmalloc'ed, NULL: none. */
char *check_loaded(const struct check *);
/* Adds orders that a recording with dependences nearly always keeps in its operations, and once does not. */
struct infer_ops;
int check_order(struct trace_reader *, const struct infer_ops *, const struct model_ops *,
		const char *replay, struct finding_set *, struct err *);
const char *check_stale(const struct check *, size_t i); /* changed objects, see srcloc */
size_t check_lines(const struct check *);
size_t check_memory(const struct check *);
void check_free(struct check *);

#endif
