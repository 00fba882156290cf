/* SPDX-License-Identifier: BSD-3-Clause */
/* Times and sizes as people write them. */
#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct unit {
	const char *name;
	double factor;
};

static bool parse(const char *text, const struct unit *units, double *out)
{
	char *end;
	double n = strtod(text, &end);
	if (end == text || !(n >= 0) || n > 1e18)
		return false;
	for (; units->name; units++)
		if (strcasecmp(end, units->name) == 0) {
			*out = n * units->factor;
			return true;
		}
	return false;
}

bool units_time(const char *text, double *seconds)
{
	static const struct unit units[] = { { "", 1 },      { "s", 1 },    { "ms", 0.001 },
					     { "m", 60 },    { "min", 60 }, { "h", 3600 },
					     { "d", 86400 }, { NULL } };
	return parse(text, units, seconds);
}

bool units_has_unit(const char *text)
{
	size_t n = strlen(text);
	return n && isalpha((unsigned char)text[n - 1]);
}

bool units_size(const char *text, uint64_t *bytes)
{
	static const struct unit units[] = { { "", 1 },
					     { "k", 1024 },
					     { "m", 1024 * 1024 },
					     { "g", 1024.0 * 1024 * 1024 },
					     { "t", 1024.0 * 1024 * 1024 * 1024 },
					     { NULL } };
	double n;
	if (!parse(text, units, &n) || n >= 9e18)
		return false;
	*bytes = (uint64_t)n;
	return true;
}
