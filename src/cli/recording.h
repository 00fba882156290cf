/* SPDX-License-Identifier: BSD-3-Clause */
/* Run a program under the tracer and keep the trace in a folder. */
#ifndef HOLDFAST_CLI_RECORDING_H
#define HOLDFAST_CLI_RECORDING_H

#include "cli/run.h"

struct recording {
	struct launch_result result;
	uint64_t kind[TRACE_KINDS]; /* events of each kind */
	uint64_t events;
	uint32_t files; /* persistent ones */
	double seconds;
};

/*
 * Checks that the program can be run before anything is written. The folder must not exist or
 * be empty; `force` replaces a trace. -1: it did not run, err says why, and nothing is left.
 */
int recording_make(const struct launch_opts *, const char *dir, bool force, struct recording *,
		   struct err *);

#endif
