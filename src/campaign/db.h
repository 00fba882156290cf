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
#ifndef HOLDFAST_CAMPAIGN_DB_H
#define HOLDFAST_CAMPAIGN_DB_H

#include "base/base.h"

#define CAMPAIGN_DB_VERSION 1 /* of the tables, PRAGMA user_version; no other is read */

enum campaign_db_mode {
	CAMPAIGN_DB_NEW,    /* fails if there are results already */
	CAMPAIGN_DB_RESUME, /* fails if there is nothing to resume */
	CAMPAIGN_DB_FRESH,  /* throws earlier results away */
	CAMPAIGN_DB_READ,   /* for status, show and replay: works while a campaign runs */
};

struct campaign_db;
/* Fails with a clear message if another process has the campaign open for writing. */
struct campaign_db *campaign_db_open(const char *dir, enum campaign_db_mode, struct err *);
/* What was begun and not committed is undone. NULL is fine. */
int campaign_db_close(struct campaign_db *, struct err *);
/* The process that has the campaign of this folder open for writing, if it is not this one; 0: none,
 * -1: one that cannot be seen from here (another pid namespace, another machine). */
long campaign_db_writer(const char *dir);

/* Settings and counters, as text. NULL: not set. The text lives until the next call. */
int campaign_db_set(struct campaign_db *, const char *key, const char *value, struct err *);
const char *campaign_db_get(struct campaign_db *, const char *key);

/* Verdicts by image hash. One that is put again is there twice: the later counts. */
struct campaign_db_verdict {
	uint64_t hash;
	uint32_t verdict; /* enum runner_verdict */
	int32_t status;
	uint64_t said;  /* runner_result; 0: it was not listened to */
	uint64_t event; /* where it crashed */
	const char *strategy;
	const char *output; /* NULL for those that were ok */
	double spent;
};
int campaign_db_put_verdict(struct campaign_db *, const struct campaign_db_verdict *, struct err *);
/* All of them, in the order in which they were put; `output` and `strategy` live for the call. */
int campaign_db_each_verdict(struct campaign_db *,
			     void (*each)(void *, const struct campaign_db_verdict *), void *,
			     struct err *);

/* Findings, by id: the caller's own text (JSON of the finding) and the witness's, which may be NULL.
 * One of an id that is there takes its place. */
struct campaign_db_finding {
	const char *id, *finding, *witness;
};
int campaign_db_put_finding(struct campaign_db *, const struct campaign_db_finding *, struct err *);
/* Forgets those that are there; the next puts are the new ones. */
int campaign_db_clear_findings(struct campaign_db *, struct err *);
/* The one whose id begins so; xmalloc'ed. */
char *campaign_db_finding_json(struct campaign_db *, const char *id, struct err *);
int campaign_db_each_finding(struct campaign_db *,
			     void (*each)(void *, const struct campaign_db_finding *), void *,
			     struct err *);

/* Inputs that were run, in their order: what it is in the caller's words, and its bytes. */
struct campaign_db_input {
	uint64_t number;
	const char *what;
	const void *bytes;
	size_t n;
};
int campaign_db_put_input(struct campaign_db *, const struct campaign_db_input *, struct err *);
int campaign_db_each_input(struct campaign_db *,
			   void (*each)(void *, const struct campaign_db_input *), void *,
			   struct err *);

/* Several puts as one; nested calls count. What is between is safe when the last one ends. */
int campaign_db_begin(struct campaign_db *, struct err *);
int campaign_db_commit(struct campaign_db *, struct err *);

#endif
