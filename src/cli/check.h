/* SPDX-License-Identifier: BSD-3-Clause */
/* One analysis by check, of a run or of a trace; and as a part of other verbs. */
#ifndef HOLDFAST_CLI_CHECK_H
#define HOLDFAST_CLI_CHECK_H

#include "check/check.h"
#include "cli/run.h"
#include "infer/infer.h"

struct check_folder {
	const struct cli_list *oracle; /* NULL: none is named */
	bool notes, include_libs;
	const struct trace_use *recovery; /* what recovery does to the files; NULL: not known */
	size_t nrecovery;
	struct infer_ops_opts
		ops; /* for orders that a recording with dependences keeps in operations */
};

/* Rows for an option table; T is the verb's struct, with the same members. */
#define CHECK_OPTIONS(T)                                                                             \
	{ "oracle",                                                                                  \
	  0,                                                                                         \
	  CLI_LIST,                                                                                  \
	  "NAME|FILE.so",                                                                            \
	  offsetof(T, oracle),                                                                       \
	  "load a custom oracle: a plug-in's file, or the name of an installed one; may be given "   \
	  "several times. Those for libpmemobj load by themselves when the program uses it, unless " \
	  "this is 'none'" },                                                                        \
		{ "notes",                                                                           \
		  0,                                                                                 \
		  CLI_FLAG,                                                                          \
		  NULL,                                                                              \
		  offsetof(T, notes),                                                                \
		  "also report flushes that cover several stores and fences that order several "     \
		  "lines" },                                                                         \
	{                                                                                            \
		"include-libs", 0, CLI_FLAG, NULL, offsetof(T, include_libs),                        \
			"also report flushes and fences that libraries make in vain on their own "   \
			"account, as libpmemobj in a commit"                                         \
	}

/* Adds what check finds in a trace. */
int check_folder(const char *dir, const char *model, const struct check_folder *,
		 struct finding_set *, struct err *);
/* Globs of functions that the custom oracles want to see called; xmalloc'ed, with NULL at the end. */
char **check_folder_watches(const struct check_folder *, struct err *);
void check_folder_watches_free(char **);

/* Where the events come from, and what to say about the run. */
struct check_run {
	const char *model;
	struct check_folder how;
	/* Called now and then while a program runs; may be NULL. */
	void (*look)(struct check_run *);
	struct check *check;
	struct trace_live *live; /* one of these two */
	struct trace_reader *reader;
	struct launch *launch;
	char *incomplete;
	bool broken;    /* … what the program did is not known to the end */
	char **command; /* of the program under test */
	size_t ncommand;
	struct run_seen seen;
};
int check_run_program(struct check_run *, struct run_opts *, char **argv, struct finding_set *,
		      struct err *);
int check_run_trace(struct check_run *, const char *dir, struct finding_set *, struct err *);
void check_run_free(struct check_run *);

#endif
