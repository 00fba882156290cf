/* SPDX-License-Identifier: BSD-3-Clause */
/* What people choose from by name. The words, what they mean and which is the default stand in
 * the tables of the folders that act on them; a row more there is a word more here. */
#ifndef HOLDFAST_CLI_CHOICES_H
#define HOLDFAST_CLI_CHOICES_H

#include "cli/cli.h"

extern const struct cli_choices choices_cpu;        /* src/launch: flush instructions */
extern const struct cli_choices choices_model;      /* src/model */
extern const struct cli_choices choices_judge;      /* src/crash: how recovery is judged */
extern const struct cli_choices choices_points;     /* src/crash: where to crash */
extern const struct cli_choices choices_strategy;   /* src/crash: which states */
extern const struct cli_choices choices_search;     /* src/symbolic: which branch */
extern const struct cli_choices choices_view;       /* src/sandbox: how recovery sees images */
extern const struct cli_choices choices_level;      /* src/finding: of findings, and none */
extern const struct cli_choices choices_incomplete; /* src/cli/output.h */
extern const struct cli_choices choices_ways;       /* src/infer: to find operations */
extern const struct cli_choices choices_format;     /* src/report: reports that are files */
extern const struct cli_choices choices_printed;    /* src/report: what is printed */

#define OPS_CALLS_HELP                                                                                   \
	"operations are the calls of these functions that change PM, as if they acknowledged when they " \
	"return; patterns, separated by commas"
#define OPS_WAY_HELP                                                                               \
	"how operations are found; without it, the first of these that gives more than one"

/* Rows for an option table of those who look for operations; `at` is a struct infer_ops_opts of T. */
#define OPS_OPTIONS(T, at)                                                                         \
	{ "ops-calls", 0, CLI_TEXT, "GLOB,…", offsetof(T, at.calls), OPS_CALLS_HELP },             \
	{                                                                                          \
		"ops-way", 0, CLI_CHOICE, NULL, offsetof(T, at.way), OPS_WAY_HELP, &choices_ways   \
	}

#endif
