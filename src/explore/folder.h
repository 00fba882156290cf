/* SPDX-License-Identifier: BSD-3-Clause */
/* The folder of an exploration. */
#ifndef HOLDFAST_EXPLORE_FOLDER_H
#define HOLDFAST_EXPLORE_FOLDER_H

#include "explore/found.h"

struct explore_folder {
	char *dir;   /* absolute */
	char *shown; /* as it was given */
	struct campaign_db *db;
	bool resumed;
	char **argv; /* of explore_folder_load */
	char *cwd;
	double kept;         /* when it was last brought up to date */
	uint64_t next_input; /* number */
	uint64_t known;      /* inputs that were run before */
	struct campaign_chart chart;
	struct hmap inputs; /* … by their contents */
};
#define EXPLORE_TRY "try" /* below it: the input that is run without the tracer now */
/* Removes what is below that name. */
void explore_folder_clear(const struct explore_folder *, const char *name);
/* An input that took a path of its own. */
int explore_folder_input(struct explore_folder *, const struct explore_plan *,
			 const struct symbolic_input *, struct err *);
/* Gives the inputs of a resumed exploration to the engine, to be run again. */
int explore_folder_seeds(struct explore_folder *, const struct explore_plan *, struct symbolic *,
			 struct err *);
/* All findings, with the files of those that have a new input. plan: may be NULL. */
int explore_folder_findings(struct explore_folder *, struct explore_found *,
			    const struct explore_program *, const struct explore_plan *,
			    struct err *);
int explore_folder_counts(struct explore_folder *, const char *state, const char *strategy,
			  const struct symbolic_stats *, size_t findings, double seconds,
			  struct err *);

#endif
