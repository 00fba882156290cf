/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Campaigns: what was tested and what came of it, kept as it comes.
 *
 * A campaign lives in the folder of its trace, as campaign.db beside it; an exploration of inputs,
 * which has no trace, in a folder of its own. Everything that is put
 * is safe at once from a killed process. What a campaign would do is worked out anew from the
 * trace each time, so that all a resumed one needs is: which images were tested, with what
 * verdict.
 */
#ifndef HOLDFAST_STORE_STORE_H
#define HOLDFAST_STORE_STORE_H

#include "base/base.h"

enum store_mode {
	STORE_NEW,    /* fails if there are results already */
	STORE_RESUME, /* goes on; fails if there is nothing to go on with */
	STORE_FRESH,  /* throws earlier results away */
	STORE_READ,   /* for status, show and replay: works while a campaign runs */
};

struct store;
/* Fails with a clear message if another process has the campaign open for writing. */
struct store *store_open(const char *dir, enum store_mode, struct err *);
/* What was begun and not committed is undone. NULL is fine. */
int store_close(struct store *, struct err *);
/* The process that has the campaign of this folder open for writing, if it is not this one; 0: none,
 * -1: one that cannot be seen from here (another pid namespace, another machine). */
long store_writer(const char *dir);

/* Settings and counters, as text. NULL: not set. The text lives until the next call. */
int store_set(struct store *, const char *key, const char *value, struct err *);
const char *store_get(struct store *, const char *key);

/* Verdicts by image hash. One that is put again is there twice: the later counts. */
struct store_verdict {
	uint64_t hash;
	uint32_t verdict; /* enum runner_verdict */
	int32_t status;
	uint64_t event; /* where it crashed */
	const char *strategy;
	const char *output; /* NULL for those that were ok */
	double spent;
};
int store_put_verdict(struct store *, const struct store_verdict *, struct err *);
/* All of them, in the order in which they were put; `output` and `strategy` live for the call. */
int store_each_verdict(struct store *, void (*each)(void *, const struct store_verdict *), void *,
		       struct err *);

/* Findings, by id: the caller's own text (JSON of the finding) and the witness's, which may be NULL.
 * One of an id that is there takes its place. */
struct store_finding {
	const char *id, *finding, *witness;
};
int store_put_finding(struct store *, const struct store_finding *, struct err *);
/* Forgets those that are there; the next puts are the new ones. */
int store_clear_findings(struct store *, struct err *);
int store_each_finding(struct store *, void (*each)(void *, const struct store_finding *), void *,
		       struct err *);

/* Inputs that were run, in their order: what it is in the caller's words, and its bytes. */
struct store_input {
	uint64_t number;
	const char *what;
	const void *bytes;
	size_t n;
};
int store_put_input(struct store *, const struct store_input *, struct err *);
int store_each_input(struct store *, void (*each)(void *, const struct store_input *), void *,
		     struct err *);

/* Several puts as one; nested calls count. What is between is safe when the last one ends. */
int store_begin(struct store *, struct err *);
int store_commit(struct store *, struct err *);

#endif
