/* SPDX-License-Identifier: BSD-3-Clause */
/* The project file in terms of the verbs: a key is the long name of an option. */
#ifndef HOLDFAST_CLI_PROJECT_H
#define HOLDFAST_CLI_PROJECT_H

#include "cli/cli.h"
#include "project/project.h"

#define PROJECT_OPTION(T, at)                                                                      \
	{                                                                                          \
		"project", 'p', CLI_FILE, "FILE", offsetof(T, at),                                 \
			"the project file, instead of the nearest " PROJECT_FILE                   \
			" in this folder or above it"                                              \
	}

/* A named run, as the command line that does it: words[0] is the verb. */
struct project_line {
	const struct cli_verb *verb;
	struct project_words words, program; /* the options; what comes behind them, after "--" */
};

/* Reads the file, this one or (NULL) the nearest, and looks whether everything in it is known; goes into its folder. */
int project_open(const char *path, struct project *, struct err *);
/* The command line of a run, with more options, which the verb need not all have. */
int project_line(const struct project *, const struct project_table *run,
		 const struct project_words *more, struct project_line *, struct err *);
/* Runs it; its status. */
int project_line_run(struct project_line *);
void project_line_free(struct project_line *);
/* "./app run pool", for people; xmalloc'ed. */
char *project_line_text(const struct project_line *);
/* NULL and err: there is no such run. */
const struct project_table *project_run(const struct project *, const char *name, struct err *);
/* Names of all runs, separated by commas; xmalloc'ed. */
char *project_run_names(const struct project *);
/* What a table says of these options, as words; keys that are none are an error. */
int project_options(const struct project *, const struct project_table *, const struct cli_verb *,
		    bool strict, struct project_words *, struct err *);

/* What finds something in a program: it runs one, and writes reports. */
bool project_verb_finds(const struct cli_verb *);
/* Says that this is no option, and which is near; returns -1. */
int project_unknown(const struct project *, const struct project_key *, const struct cli_verb *,
		    struct err *);

/* env.c: the options in HOLDFAST_OPTIONS that the verb has; -1 and err: one is none of any verb. */
#define CLI_OPTIONS_VARIABLE "HOLDFAST_OPTIONS"
int cli_env_options(const struct cli_verb *, struct project_words *, struct err *);

#endif
