/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports: the same findings as text, JSON, SARIF 2.1.0, one HTML page, …; and recordings. */
#ifndef HOLDFAST_REPORT_REPORT_H
#define HOLDFAST_REPORT_REPORT_H

#include "finding/finding.h"
#include "trace/trace.h"

#define REPORT_SCHEMA 1 /* of the JSON; docs/REPORTS.md */

struct report_stat {
	const char *name; /* "events", "lines", "seconds", … */
	double value;
};
/* Numbers over time, for a picture: rows of `columns` numbers, the first is the time in seconds. */
struct report_chart {
	const char *const *name; /* of the columns */
	size_t columns;
	const double *row;
	size_t n; /* rows */
};
/* A change of the source that repairs a finding, or is a part of that: the region becomes the text. */
struct report_change {
	const char *id;   /* of the finding; those of one finding stand together */
	const char *file; /* absolute */
	uint32_t line, column, end_line, end_column;
	const char *text;
};
struct report {
	const char *verb;           /* "check", "crash", "test" */
	const char *model;          /* "adr", …; may be NULL */
	const char *const *command; /* the program under test */
	size_t ncommand;
	const char *incomplete; /* why the run says less than it could; NULL: it is whole */
	bool broken; /* … it was broken off, its tracer died, or people ask for whole runs: never status 0 */
	const char *looked; /* what "nothing found" speaks of: " in 12 events: …"; may be NULL */
	const struct finding_set *findings; /* sorted */
	const struct report_stat *stats;
	size_t nstats;
	const char *const *notes; /* lines about the run, before the summary */
	size_t nnotes;
	const char *repair; /* the command that repairs what was found; NULL: none */
	const struct report_change *change;
	size_t nchange;
	const struct report_chart *chart; /* NULL: none */
	uint64_t top;                     /* findings that are shown in full, in words; 0: all */
	int fails;       /* findings of levels before this one count for the status; 0: none does */
	bool suspicions; /* … and suspicions of errors: finding_fails */
};

/* For people: source excerpts, call paths, a summary line last. */
void report_text(const struct report *, FILE *);
/*
 * The reports that are files: one file here each, and one row in formats.c. `path` "-" is stdout.
 * Files are written aside and renamed: never half a report.
 */
struct report_format {
	const char *name, *about; /* --NAME FILE */
	int (*write)(const struct report *, const char *path, struct err *);
	/* It can be printed instead of the words, too (--format NAME); NULL: it cannot. */
	void (*print)(const struct report *, FILE *);
	const char *printed; /* … what that is */
};
#define REPORT_MOST_FORMATS 16
/* Can a report be written there? Nothing is changed. */
int report_check_path(const char *path, struct err *);
const struct report_format *report_format_at(size_t i); /* NULL past the last */
/* What may be printed: words, the default, and formats that can be; a table for people. */
const char *report_printed_at(size_t i, const char **about);
void report_print(const struct report *, const char *name, FILE *); /* NULL: in words */
int report_json(const struct report *, const char *path, struct err *);
int report_sarif(const struct report *, const char *path, struct err *);
int report_html(const struct report *, const char *path, struct err *);
/* The page of it as one that is served: its data, and the page with them, which asks for news of any later version (a
 * word) in "events", and for the data in "report.json". The second is xmalloc'ed; NULL: there is no memory. */
char *report_page_json(const struct report *);
void report_served_page(struct buf *, const char *json, const char *version);
/* A page that lists several, from what their "events" say. */
void report_served_list(struct buf *, const char *json);
/* "columns" and "rows", as in the report; malloc'ed. */
char *report_chart_json(const struct report_chart *);
/* The ids in a JSON report of ours, suppressed findings' too, for --baseline. */
int report_read_ids(const char *path, char ***ids, size_t *n, struct err *);
void report_free_ids(char **ids, size_t n);

/* A JSON report of ours, read back, with absolute paths. */
struct report_read {
	struct finding_set findings; /* as they were written: ids are not made anew */
	struct finding_set hidden;   /* those that are suppressed */
	VEC(char *) command;         /* of the program */
	char *folder;                /* where it was made */
	char *model, *incomplete;    /* may be NULL */
};
int report_read(const char *path, struct report_read *, struct err *);
void report_read_free(struct report_read *);

/*
 * One finding as text that can be kept: compact JSON in the form of the report's, with full paths,
 * so that it can be shown from any folder. The first and the second are malloc'ed.
 */
char *report_finding_json(const struct finding *);
struct finding *report_finding_parse(const char *json, struct err *);
/* For people, as report_text has it. */
void report_show(const struct finding *, FILE *);
int report_show_json(const char *json, FILE *, struct err *);

/* Names and values as a JSON object on one line; those without a text are left out. */
struct report_field {
	const char *name;
	char *text;
	bool number; /* the text is one */
};
void report_fields(const struct report_field *, size_t n, FILE *);

/* ---- a recording in source terms ---- */

struct report_recording;
struct report_recording *report_recording_new(struct trace_reader *);
/* A line for each event that is numbered from .. to, with its call path; JSON: an object on each. */
int report_recording_events(struct report_recording *, uint64_t from, uint64_t to, bool json,
			    FILE *, struct err *);
/* What it holds, on one page or as one JSON document, with the `top` statements that store most. */
int report_recording_summary(struct report_recording *, uint64_t top, bool json, FILE *,
			     struct err *);
/* Objects that have changed since, so that their functions and lines are not shown; NULL: no more. */
const char *report_recording_stale(const struct report_recording *, size_t i);
void report_recording_free(struct report_recording *);

#endif
