/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of strategies. A row NAME is the struct crash_strategy_NAME of one file strategy_*.c. */
#include <string.h>

#include "crash/internal.h"

/* The default is the first. */
#define STRATEGIES(X)                                                                              \
	X(auto)                                                                                    \
	X(proof)                                                                                   \
	X(invariants)                                                                              \
	X(prefix)                                                                                  \
	X(lost)                                                                                    \
	X(ahead)                                                                                   \
	X(behind)                                                                                  \
	X(representative)                                                                          \
	X(random)                                                                                  \
	X(exhaustive)

#define X(name) extern const struct crash_strategy crash_strategy_##name;
STRATEGIES(X)
#undef X
extern const struct crash_strategy crash_strategy_turns; /* "a+b" */

static const struct crash_strategy *const table[] = {
#define X(name) &crash_strategy_##name,
	STRATEGIES(X)
#undef X
};
#define COUNT (sizeof table / sizeof *table)

const char *crash_strategy_at(size_t i, const char **about)
{
	*about = i < COUNT ? table[i]->about : NULL;
	return i < COUNT ? table[i]->name : NULL;
}

const struct crash_strategy *crash_strategy_find(const char *name)
{
	size_t i = name ? name_find(crash_strategy_at, name, strlen(name)) : 0;
	if (i < COUNT)
		return table[i];
	return names_known(crash_strategy_at, name, "+") ? &crash_strategy_turns : NULL;
}
