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

#endif
