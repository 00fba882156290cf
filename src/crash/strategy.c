/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of strategies. A row NAME is the struct crash_strategy_NAME of one file strategy_*.c. */
#include <string.h>

#include "crash/internal.h"

/* The default is the first. */
#define STRATEGIES(X) X(auto) X(prefix) X(lost) X(ahead) X(behind) X(random) X(exhaustive)

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

static const struct crash_strategy *find(const char *name, size_t len)
{
	for (size_t i = 0; i < COUNT; i++)
		if (strlen(table[i]->name) == len && !memcmp(table[i]->name, name, len))
			return table[i];
	return NULL;
}

const struct crash_strategy *crash_strategy_find(const char *name)
{
	if (!name)
		return table[0];
	if (!strchr(name, '+'))
		return find(name, strlen(name));
	for (const char *p = name;; p++) {
		size_t len = strcspn(p, "+");

		if (!find(p, len))
			return NULL;
		p += len;
		if (!*p)
			return &crash_strategy_turns;
	}
}
