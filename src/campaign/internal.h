/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of src/campaign share. */
#ifndef HOLDFAST_CAMPAIGN_INTERNAL_H
#define HOLDFAST_CAMPAIGN_INTERNAL_H

#include <sqlite3.h>
#include <sys/types.h>

#include "campaign/campaign.h"

/* Statements that are prepared once, when they are first used. */
enum campaign_db_statement {
	CAMPAIGN_DB_PUT_SETTING,
	CAMPAIGN_DB_GET_SETTING,
	CAMPAIGN_DB_PUT_VERDICT,
	CAMPAIGN_DB_PUT_SAID,
	CAMPAIGN_DB_PUT_FINDING,
	CAMPAIGN_DB_PUT_INPUT,
	CAMPAIGN_DB_STATEMENTS,
};

struct campaign_db {
	char *path; /* of the database */
	sqlite3 *sql;
	sqlite3_stmt *statement[CAMPAIGN_DB_STATEMENTS];
	int lock;       /* descriptor of the lock file; -1: reading */
	unsigned depth; /* of campaign_db_begin */
	char *text;     /* what campaign_db_get returned */
	dev_t dev;      /* the lock file, while it is locked */
	ino_t ino;
	pid_t pid;                /* of who locked it: a forked process does not hold it */
	struct campaign_db *next; /* of those that this process writes */
};

/* sql.c: opening, the tables, errors in words. */
enum campaign_db_content {
	CAMPAIGN_DB_EMPTY,    /* a file without tables: its maker was killed at once */
	CAMPAIGN_DB_SETTINGS, /* begun, without results */
	CAMPAIGN_DB_RESULTS,
	CAMPAIGN_DB_FOREIGN, /* damaged, or of another version: err says what */
};
int campaign_sql_open(struct campaign_db *, bool write, struct err *);
void campaign_sql_close(struct campaign_db *);
enum campaign_db_content campaign_sql_content(struct campaign_db *, struct err *);
int campaign_sql_create(struct campaign_db *, struct err *);
int campaign_sql_clear(struct campaign_db *, struct err *);
int campaign_sql_remove(struct campaign_db *, struct err *);
int campaign_sql_exec(struct campaign_db *, const char *sql, struct err *);
bool campaign_sql_has(struct campaign_db *, const char *table);
int campaign_sql_error(const struct campaign_db *, struct err *); /* what went wrong last; -1 */

/* options.c: the settings as crash and runner take them; they must outlive these. */
#define CAMPAIGN_SHARDS 1024u
struct campaign_options {
	struct crash_opts crash;
	struct runner_opts runner;
	const char *judge;
	double budget;     /* seconds; 0: as long as it takes */
	bool budget_asked; /* the budget is not the default */
	bool same_address;
	uint8_t mine[CAMPAIGN_SHARDS]; /* crash.mine */
	char *only_text;               /* crash.only: its words, and where they are */
	VEC(const char *) only;
};
int campaign_options_set(struct campaign_options *, const struct campaign_settings *, struct err *);
void campaign_options_free(struct campaign_options *);

/* Something that check found. */
struct campaign_check {
	struct finding *f;
	size_t suspect; /* its number to src/crash, from 1; 0: it is not about stores */
	bool shown;     /* a crash says all of it */
	/* As check had it, before any verdict. */
	enum finding_level level;
	size_t related;
	char *replay;
};

struct campaign {
	char *dir; /* as given */
	struct campaign_settings settings;
	struct campaign_options options;
	struct trace_reader *reader;
	struct campaign_db *db;
	struct crash *crash;
	struct runner *runner;
	struct crash_hooks hooks;
	campaign_watch *watch;
	void *watch_arg;
	struct hmap known;    /* image hash -> verdict, of an earlier run */
	struct hmap heard;    /* … -> what was said */
	double tested_before; /* images, in earlier runs */
	double slowest;       /* recovery that succeeded in these, in seconds */
	uint64_t causes;      /* whose findings are kept */
	double started, said, kept;
	double before;         /* seconds of the budget that others have used */
	double seconds_before; /* in earlier runs */
	uint64_t
		causes_before; /* that `course` has: a line "seconds,tested,failed,causes" for each new one */
	struct campaign_chart chart;
	double reporting; /* seconds that it took to keep what was found */
	struct campaign_plan plan;
	bool blind; /* recovery never looked at the files */
	/* prove.c */
	bool uses_known;   /* recovery was watched on the image of the normal end */
	bool uses_nothing; /* … and read nothing of it */
	bool checked;      /* check has looked at the trace as well */
	VEC(struct campaign_check) check;
	size_t suspects;
	uint64_t proofs[FINDING_PROOFS]; /* findings with each verdict */
	struct hmap witness;             /* crashes that prove a suspicion, while judging */
	VEC(struct finding *) merged;    /* … which a set may still point to */
};

/* prove.c: gives a verdict on everything that is suspected, and takes the crashes that prove something out
 * of the set. */
void campaign_judge(struct campaign *, struct finding_set *crashes);
void campaign_check_free(struct campaign *);

/* join.c */
void campaign_add_witnesses(struct campaign *);

/* plan.c: what there is to do, in how much time. The second: when it must have ended. */
void campaign_plan_make(struct campaign *);
void campaign_plan_until(struct campaign *);
struct campaign_progress campaign_plan_progress(const struct campaign *, double now);

/* keep.c */
int campaign_save(struct campaign *, struct err *);          /* the settings of a new one */
int campaign_load(struct campaign *, struct err *);          /* settings of an old one, … */
int campaign_load_verdicts(struct campaign *, struct err *); /* … and its verdicts */
void campaign_hooks(struct campaign *);                      /* for crash_run */
int campaign_finish(struct campaign *, struct err *);        /* it is over: findings and counts */

#endif
