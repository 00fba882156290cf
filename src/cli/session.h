/* SPDX-License-Identifier: BSD-3-Clause */
/* One run of crash or test: record if need be, check if asked for, crash, report. */
#ifndef HOLDFAST_CLI_SESSION_H
#define HOLDFAST_CLI_SESSION_H

#include "cli/campaign.h"
#include "cli/check.h"
#include "cli/output.h"
#include "cli/run.h"

struct session {
	const char *verb;
	struct run_opts *run;
	struct campaign_opts *crash;
	const struct check_folder *check; /* NULL: crash only */
	struct output_opts *output;
	const char *folder; /* -o */
};

/* The operands are a trace or a program. Returns the exit status. */
int session_run(struct session *, int argc, char **argv);

/* session_report.c */
struct session_work {
	struct session *s;
	struct campaign *campaign;
	struct output out;
	struct finding_set set;
	struct launch_recording rec;
	double began;
	char *dir;
	bool live; /* a program was run: its stdout is its own */
};
/* Flushes and fences are not what a program lacks under such a model. */
bool session_is_about_files(const char *model);
/* The report; returns the exit status. */
int session_report(struct session_work *);

#endif
