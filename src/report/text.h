/* SPDX-License-Identifier: BSD-3-Clause */
/* What the report for people is put together from; text_out.c and text_crash.c. */
#ifndef HOLDFAST_REPORT_TEXT_H
#define HOLDFAST_REPORT_TEXT_H

#include "report/internal.h"

#define TEXT_CONTEXT 2     /* lines around the marked one */
#define TEXT_NAME_WIDTH 48 /* of a function in a call path */
#define TEXT_LINE_WIDTH 160

#define BOLD "1"
#define DIM "2"
#define RED "31"
#define GREEN "32"

struct text_out {
	FILE *f;
	bool color;
	size_t columns; /* of a terminal; 0: it is none */
};
void report_text_color(const struct text_out *, const char *code);
void report_text_plain(const struct text_out *);
/* Columns that a text takes: one a character. */
size_t report_text_width(const char *);
/* Prints the text without control characters, tabs as blanks; at most `max` columns. */
void report_text_put(const struct text_out *, const char *, size_t max);
void report_text_padded(const struct text_out *, const char *, size_t columns);
/* "  last store   ", and with a text after it on the line; nothing if that is NULL. */
void report_text_label(const struct text_out *, const char *label, size_t columns);
void report_text_labelled(const struct text_out *, const char *label, size_t columns,
			  const char *text);
void report_text_excerpt(const struct text_out *, const struct srcloc_frame *, uint32_t context);

void report_text_level(const struct text_out *, enum finding_level); /* "error: " */

/* text_more.c */
void report_text_why(const struct text_out *, const struct finding *, size_t columns);
void report_text_verdict(const struct text_out *, const struct finding *, size_t columns);
void report_text_paths(const struct text_out *, const struct finding *, size_t columns);
void report_text_line(const struct text_out *, const struct finding *); /* all of it in one line */
void report_text_files(const struct text_out *, const struct finding_set *);
/* A long report without its notes: one of a kind and a function in full, or in short if no data is at
 * stake, and those that are like it in a line each below it. */
typedef void report_text_put_finding(const struct text_out *, const struct finding *);
void report_text_many(const struct text_out *, const struct finding_set *,
		      report_text_put_finding *whole, report_text_put_finding *brief);

/* text_crash.c: what only a crash has; the columns that its labels need. */
size_t report_text_crash_columns(void);
void report_text_crash(const struct text_out *, const struct finding_crash *, size_t columns);
char *report_text_crash_seen(const struct finding *);
void report_text_input(const struct text_out *, const struct finding_input *, size_t columns);

/* fit.c: what is printed for a terminal, no wider than that. Between begin and end it goes to what begin returns. */
struct report_fit {
	FILE *to, *inner; /* inner NULL: it is no terminal */
	char *text;
	size_t n, columns;
};
FILE *report_fit_begin(struct report_fit *, FILE *to);
void report_fit_end(struct report_fit *);
void report_fit_line(const char *line, size_t columns, FILE *out); /* a line, without its end */

#endif
