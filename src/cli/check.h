/* SPDX-License-Identifier: BSD-3-Clause */
/* check as a part of other verbs. */
#ifndef HOLDFAST_CLI_CHECK_H
#define HOLDFAST_CLI_CHECK_H

#include "cli/cli.h"
#include "finding/finding.h"

struct check_folder {
	const struct cli_list *oracle;
	bool notes;
};
/* Adds what check finds in a trace. */
int check_folder(const char *dir, const char *model, const struct check_folder *,
		 struct finding_set *, struct err *);
/* Globs of functions that the custom oracles want to see called; xmalloc'ed, with NULL at the end. */
char **check_folder_watches(const struct check_folder *, struct err *);

#endif
