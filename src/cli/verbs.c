/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of verbs. A row NAME is the struct verb_NAME of the file NAME.c; that of run is in run_named.c. */
#include "cli/cli.h"

#include <string.h>

/* In the order in which help lists them. */
#define VERBS(X)                                                                                   \
	X(record)                                                                                  \
	X(check)                                                                                   \
	X(crash)                                                                                   \
	X(test)                                                                                    \
	X(explore)                                                                                 \
	X(infer)                                                                                   \
	X(merge)                                                                                   \
	X(status)                                                                                  \
	X(serve)                                                                                   \
	X(show)                                                                                    \
	X(replay)                                                                                  \
	X(diff)                                                                                    \
	X(fix)                                                                                     \
	X(reads)                                                                                   \
	X(dump)                                                                                    \
	X(doctor)                                                                                  \
	X(run)                                                                                     \
	X(ci)                                                                                      \
	X(init)

#define X(name) extern const struct cli_verb verb_##name;
VERBS(X)
#undef X

const struct cli_verb *const cli_verbs[] = {
#define X(name) &verb_##name,
	VERBS(X)
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
