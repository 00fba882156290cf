/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A crash campaign: a trace, a recovery command, the settings, and the results in one folder.
 *
 *	campaign_open ──▶ campaign_start ──▶ campaign_run ──▶ campaign_report ──▶ campaign_close
 *
 * What it tests and what it finds is kept as it comes (db.h), so that it can be resumed,
 * watched, and looked at afterwards. Explorations keep their inputs in the same way.
 */
#ifndef HOLDFAST_CAMPAIGN_CAMPAIGN_H
#define HOLDFAST_CAMPAIGN_CAMPAIGN_H

#include "campaign/chart.h"
#include "campaign/db.h"
#include "crash/crash.h"
#include "infer/infer.h"
#include "report/report.h"

/*
 * Settings: what was asked for, by name, as text. They are kept with the results, so that a
 * campaign can be resumed and a finding replayed.
 */
struct campaign_setting {
	char *name, *text;
};
struct campaign_settings {
	struct campaign_setting *p;
	size_t n, cap;
};
/* Copies; one of that name is replaced. */
void campaign_settings_put(struct campaign_settings *, const char *name, const char *text);
const char *campaign_settings_get(const struct campaign_settings *, const char *name); /* or NULL */
void campaign_settings_copy(struct campaign_settings *to, const struct campaign_settings *from);
void campaign_settings_free(struct campaign_settings *);
int campaign_settings_save(struct campaign_db *, const struct campaign_settings *, struct err *);
/* Adds the one of that name that is kept. One that was given must be what it was; `what` is the
 * word for all of it in the message: "campaign". */
int campaign_settings_resume(struct campaign_db *, const char *name, const char *what,
			     struct campaign_settings *, struct err *);

/* The settings that a campaign knows, in the order of a table; NULL past the last. */
const char *campaign_setting_name(size_t i);
/* They must make sense, before anything is run. */
int campaign_check(const struct campaign_settings *, struct err *);

struct campaign;
/* Opens the trace and the database. The settings of an old campaign are those that it keeps;
 * what is given besides must agree, but for the budget. NULL: none. */
struct campaign *campaign_open(const char *dir, const struct campaign_settings *,
			       enum campaign_db_mode, struct err *);
void campaign_close(struct campaign *); /* NULL is fine */
/* Reads the history; the second starts cells as well, one for each core if `cells` is 0. */
int campaign_history(struct campaign *, struct err *);
int campaign_start(struct campaign *, unsigned cells, struct err *);

/* What there is to do, about. */
struct campaign_plan {
	uint64_t images;  /* 0: there are none, or nobody can tell: */
	bool known;       /* … the former */
	double seconds;   /* for all of them */
	double budget;    /* seconds after which it ends in any case; 0: none */
	bool asked;       /* the budget is not the default */
	uint64_t affords; /* images that it is enough for, as far as that is known; 0: for all */
};
struct campaign_progress {
	const struct campaign_plan *begins; /* the first time, before any state; then NULL */
	const struct crash_counts *counts;
	double spent, left; /* seconds; left 0: it cannot be told */
};
typedef void campaign_watch(void *, const struct campaign_progress *);
/* So many seconds of a budget are spent before campaign_run; the campaign gets a tenth of it at least. */
void campaign_spent(struct campaign *, double seconds);
/* Sanity, then all states; the results are kept. SIGINT, SIGTERM and SIGHUP end it early. `watch`
 * (may be NULL) hears what there is to do, and a few times a second how far it is. */
int campaign_run(struct campaign *, campaign_watch *, void *, struct err *);
/*
 * Between campaign_start and campaign_run, if check looks at the trace as well: what recovery does to the
 * files, for its evidence (crash_uses has more); and what it found, which the campaign takes: it
 * proves or refutes what is suspected of stores first of all, and reports it with the rest.
 */
struct trace_use *campaign_uses(struct campaign *, size_t *n);
void campaign_checked(struct campaign *, struct finding_set *);
bool campaign_was_checked(const struct campaign *); /* in an earlier run */
/* Findings about stores with this verdict, as of the last report or save. */
uint64_t campaign_proofs(const struct campaign *, enum finding_proof);
/* The strategy is one that makes nothing of a campaign without check. */
bool campaign_proves_only(const struct campaign_settings *);
void campaign_interrupt(void);                   /* as if one of these signals came */
bool campaign_interrupted(void);                 /* one of these signals came, in this process */
bool campaign_is_blind(const struct campaign *); /* recovery never looked at the files */
/* Adds what was found, once, at the end. */
void campaign_report(struct campaign *, struct finding_set *);

/*
 * A campaign in pieces, on copies of one recording: --shard K/N tests one N-th of the images. The first makes a folder
 * with the recording and all their verdicts, to be resumed. Settings must be the same, shards may be missing.
 */
int campaign_join(const char *out, char *const *dir, size_t n, struct err *);
const char *campaign_missing(const struct campaign *); /* what a joined one lacks, or NULL */
/* The recording of a folder in another one, which is made if need be. */
int campaign_recording_copy(const char *from, const char *to, struct err *);

/* What it is made of; NULL: not there yet. */
const char *campaign_dir(const struct campaign *); /* as given */
const struct campaign_chart *campaign_chart_of(const struct campaign *);
struct campaign_db *campaign_results(struct campaign *);
const char *campaign_model(const struct campaign *);
struct infer_ops_opts campaign_operations(const struct campaign *); /* how they are found */
struct trace_reader *campaign_trace(const struct campaign *);
struct crash *campaign_crash(const struct campaign *);
struct runner *campaign_runner(const struct campaign *);

/*
 * For those who look at it later, while it runs or afterwards: what a report says besides the findings (any may be NULL),
 * and how far it is, as figures: those of campaigns and of explorations, with no text where there is none.
 */
int campaign_keep_words(struct campaign_db *, const char *incomplete, const char *looked,
			const char *const *note, size_t n, struct err *);
#define CAMPAIGN_FIGURES 31
void campaign_figures(struct campaign_db *, struct report_field[CAMPAIGN_FIGURES]);
void campaign_figures_free(struct report_field[CAMPAIGN_FIGURES]);
double campaign_since_cause(struct campaign_db *); /* seconds; -1: there is none yet */
double campaign_seconds_left(
	struct campaign_db *); /* if it goes on as it did; -1: nobody can tell */

bool campaign_is(const char *dir); /* there is one, or an exploration, in this folder */
/* A campaign's folder: the given one, or the newest in the current folder; xmalloc'ed. */
char *campaign_find(const char *dir, struct err *);
/* The finding whose id begins so, if it has a crash state; otherwise err says why there is none. */
struct finding *campaign_finding(struct campaign *, const char *id, struct err *);
/* Starts one cell with the image of a crash state (finding_crash.state). The second runs recovery on
 * it, or another command, under an interactive gdb if asked; runner_interactive has more. */
int campaign_build(struct campaign *, const char *state, struct err *);
int campaign_replay(struct campaign *, const char *state, bool gdb, const char *command,
		    struct runner_result *, struct err *);

/* The crash in the set that shows what comes of this misuse: a store at the same place is lost; or NULL. */
struct finding *campaign_shown_by_crash(const struct finding_set *, const struct finding *);

#endif
