/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of verbs. */
#include "cli/cli.h"

#include <string.h>

const struct cli_verb *const cli_verbs[] = {
#define X(name) &verb_##name,
	CLI_VERBS(X)
#undef X
		NULL,
};

const struct cli_verb *cli_find(const char *name)
{
	for (const struct cli_verb *const *v = cli_verbs; *v; v++)
		if (!strcmp((*v)->name, name))
			return *v;
	return NULL;
}
