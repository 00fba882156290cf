/* SPDX-License-Identifier: BSD-3-Clause */
/* What the verbs that find something have in common: reports, filters, the exit status. */
#ifndef HOLDFAST_CLI_OUTPUT_H
#define HOLDFAST_CLI_OUTPUT_H

#include "cli/choices.h"
#include "report/report.h"

#define OUTPUT_FAIL_ON FINDING_PERFORMANCE /* without --fail-on */
#define OUTPUT_FAIL_NEVER "none"
#define OUTPUT_INCOMPLETE_ERROR "error"
#define OUTPUT_CI_SARIF "holdfast.sarif" /* --ci without --sarif */
#define OUTPUT_CI_BUDGET "5m"            /* --ci without --budget */

struct output_opts {
	const char *file[REPORT_MOST_FORMATS]; /* a path for each row of the report formats */
	const char *format, *fail_on, *incomplete, *suppress, *baseline;
	bool gen_suppressions, quiet, ci;
	uint64_t top;
	struct cli_list helper, no_helper, enable, disable;
};

/* Rows for an option table; T is the verb's struct, which has a `struct output_opts output`. */
#define OUTPUT_OPTIONS(T)                                                                               \
	{ "report",        0,           CLI_FILES, "FILE", offsetof(T, output.file), "",                \
	  &choices_format, .once = true },                                                              \
		{ "format",                                                                             \
		  0,                                                                                    \
		  CLI_CHOICE,                                                                           \
		  NULL,                                                                                 \
		  offsetof(T, output.format),                                                           \
		  "how findings are printed",                                                           \
		  &choices_printed,                                                                     \
		  .once = true },                                                                       \
		{ "fail-on",                                                                            \
		  0,                                                                                    \
		  CLI_CHOICE,                                                                           \
		  NULL,                                                                                 \
		  offsetof(T, output.fail_on),                                                          \
		  "end with status 1 for findings of this level or a graver one",                       \
		  &choices_level,                                                                       \
		  .once = true },                                                                       \
		{ "incomplete",                                                                         \
		  0,                                                                                    \
		  CLI_CHOICE,                                                                           \
		  NULL,                                                                                 \
		  offsetof(T, output.incomplete),                                                       \
		  "what it means that a run says less than it could",                                   \
		  &choices_incomplete,                                                                  \
		  .once = true },                                                                       \
		{ "ci",                                                                                 \
		  0,                                                                                    \
		  CLI_FLAG,                                                                             \
		  NULL,                                                                                 \
		  offsetof(T, output.ci),                                                               \
		  "for machines: no colour, no live line, --incomplete error, --sarif " OUTPUT_CI_SARIF \
		  ", and for crash and test --budget " OUTPUT_CI_BUDGET                                 \
		  ", where they are not given",                                                         \
		  .once = true },                                                                       \
		{ "suppress",                                                                           \
		  0,                                                                                    \
		  CLI_FILE,                                                                             \
		  "FILE",                                                                               \
		  offsetof(T, output.suppress),                                                         \
		  "do not report what the file lists",                                                  \
		  .once = true },                                                                       \
		{ "gen-suppressions",                                                                   \
		  0,                                                                                    \
		  CLI_FLAG,                                                                             \
		  NULL,                                                                                 \
		  offsetof(T, output.gen_suppressions),                                                 \
		  "print entries for --suppress instead of the report",                                 \
		  .once = true },                                                                       \
		{ "baseline",                                                                           \
		  0,                                                                                    \
		  CLI_FILE,                                                                             \
		  "OLD.json",                                                                           \
		  offsetof(T, output.baseline),                                                         \
		  "report only what an earlier JSON report does not have",                              \
		  .once = true },                                                                       \
		{ "disable",                                                                            \
		  0,                                                                                    \
		  CLI_LIST,                                                                             \
		  "KIND",                                                                               \
		  offsetof(T, output.disable),                                                          \
		  "do not report findings of this kind, a glob; may be given several times",            \
		  .once = true },                                                                       \
		{ "enable",                                                                             \
		  0,                                                                                    \
		  CLI_LIST,                                                                             \
		  "KIND",                                                                               \
		  offsetof(T, output.enable),                                                           \
		  "report this kind all the same; '--disable * --enable ordering': only this one",      \
		  .once = true },                                                                       \
		{ "helper",                                                                             \
		  0,                                                                                    \
		  CLI_LIST,                                                                             \
		  "GLOB",                                                                               \
		  offsetof(T, output.helper),                                                           \
		  "functions whose name matches are helpers, whatever they do: findings are shown at "  \
		  "their callers; may be given several times" },                                        \
		{ "no-helper",                                                                          \
		  0,                                                                                    \
		  CLI_LIST,                                                                             \
		  "GLOB",                                                                               \
		  offsetof(T, output.no_helper),                                                        \
		  "functions whose name matches are no helpers; may be given several times" },          \
		{ "top",                                                                                \
		  0,                                                                                    \
		  CLI_NUMBER,                                                                           \
		  "N",                                                                                  \
		  offsetof(T, output.top),                                                              \
		  "show the N gravest findings in full and the others in a line each",                  \
		  .once = true },                                                                       \
	{                                                                                               \
		"quiet", 'q', CLI_FLAG, NULL, offsetof(T, output.quiet), "no report in words",          \
			.once = true                                                                    \
	}

struct output {
	const struct output_opts *o;
	struct finding_suppressions *suppressions; /* NULL: none */
	char **baseline;                           /* ids */
	size_t nbaseline;
};

/* After the options were read: what --ci stands for. */
void output_ci(struct output_opts *);
/* Before the run: a mistake in the filters' files must not cost the run's findings. */
int output_open(struct output *, const struct output_opts *, struct err *);
/* Sorts and filters. */
void output_filter(const struct output *, struct finding_set *);
bool output_strict(const char *incomplete); /* --incomplete error was said */
/*
 * Writes all reports, the words to `text`. Returns the exit status: what --fail-on and --incomplete
 * say, or that of a report that could not be written.
 */
int output_write(const struct output *, const struct report *, FILE *text);
/* Only the reports that are files, for the time being; what cannot be written is no error yet. */
const char *output_json(const struct output *); /* the file of the JSON report; NULL: none */
bool output_has_files(const struct output *);
void output_save(const struct output *, const struct report *);
/* Warns of suppressions that suppressed nothing. */
void output_say_stale(const struct output *);
void output_close(struct output *);

#endif
