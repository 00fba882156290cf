/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The project file, holdfast.toml: named runs, and what they have in common, kept beside the code.
 *
 *	suppress = "holdfast.supp"      # for all runs whose verb has the option
 *
 *	[run.smoke]
 *	program = ["./app", "run", "pool"]
 *	recover = "./app check pool"    # every other key is the long name of an option
 *
 * This folder reads it and finds it; what the keys mean is a matter of the verbs' option tables (src/cli).
 *
 * It is TOML: comments, tables, strings ("…" with escapes, '…' without), whole numbers, true and false, and arrays
 * of strings, which may go over several lines. What else there is in TOML is refused with a sentence that
 * says so, and every message begins with file:line.
 */
#ifndef HOLDFAST_PROJECT_PROJECT_H
#define HOLDFAST_PROJECT_PROJECT_H

#include "base/base.h"

#define PROJECT_FILE "holdfast.toml"

enum project_type { PROJECT_STRING, PROJECT_NUMBER, PROJECT_BOOL, PROJECT_ARRAY };
struct project_value {
	enum project_type type;
	bool truth; /* PROJECT_BOOL */
	VEC(char *)
	text; /* one; of an array as many as it has. Numbers and truths have their text, too */
};
struct project_key {
	char *name;
	unsigned line;
	struct project_value value;
};
struct project_table {
	char *name; /* "" for what stands before the first header; "run.smoke" */
	unsigned line;
	VEC(struct project_key) key;
};
struct project {
	char *path, *folder;             /* of the file, absolute */
	VEC(struct project_table) table; /* the first is "" */
};

/* The path of the project file in this folder or the nearest above it; xmalloc'ed; NULL: there is none. */
char *project_find(const char *folder);
/* -1 and err (status EXIT_USAGE): "FILE:LINE: what is wrong". */
int project_read(const char *path, struct project *, struct err *);
/* The same of a text, for which the path stands. */
int project_parse(const char *path, const char *text, struct project *, struct err *);
void project_free(struct project *);

const struct project_table *project_table(const struct project *, const char *name); /* or NULL */
const struct project_key *project_key(const struct project_table *, const char *name);
/* "smoke" of the table "run.smoke"; NULL: it is no run. */
const char *project_run_name(const struct project_table *);

/* A command line as words: blanks, quotes and backslashes as in a shell. -1 and err: it needs one. */
struct project_words {
	char **p;
	size_t n, cap;
};
int project_split(const char *text, struct project_words *, struct err *); /* adds them */
void project_words_free(struct project_words *);

/* A string as TOML has it, with its quotes. */
void project_quote(struct buf *, const char *);

#endif
