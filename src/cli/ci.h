/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of holdfast ci share. */
#ifndef HOLDFAST_CLI_CI_H
#define HOLDFAST_CLI_CI_H

#include <sys/types.h>

#include "cli/output.h"
#include "cli/project.h"

struct ci_cli {
	const char *project;
	const char *file[REPORT_MOST_FORMATS];
	const char *fail_on, *incomplete, *baseline, *budget;
	bool quiet;
};

struct ci {
	const struct ci_cli *o;
	const struct project *p;
	struct project_words more; /* options for all runs */
	char *folder;              /* for the runs' JSON reports */
	struct finding_set set;
	VEC(char *) note;
	struct buf incomplete;
	int worst; /* status */
};

/* ci_runs.c: does a run, and takes its findings in. -1 and err: the project file is wrong. */
int ci_run(struct ci *, const struct project_table *run, struct err *);
/* ci_stop.c: from here on SIGINT, SIGTERM and SIGHUP end the run that is under way, and no other is begun. */
void ci_catch_signals(void);
pid_t ci_fork(void);              /* fork; in the child the signals are as they were */
bool ci_wait(pid_t, int *status); /* false: there is no such child */
bool ci_stopped(void);

#endif
