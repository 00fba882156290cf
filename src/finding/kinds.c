/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of kinds, as data. */
#include <string.h>

#include "finding/finding.h"

static const struct finding_kind_info kinds[] = {
#define X(NAME, name, level, title, help) [FINDING_##NAME] = { name, FINDING_##level, title, help },
	FINDING_KINDS(X)
#undef X
};

const struct finding_kind_info *finding_kind_info(enum finding_kind kind)
{
	return &kinds[kind];
}

const struct finding_kind_info *finding_kind_named(const char *name)
{
	for (int i = 0; i < FINDING_KINDS_COUNT; i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

static const struct {
	const char *name, *about;
} levels[] = {
	[FINDING_ERROR] = { "error", "bugs" },
	[FINDING_PERFORMANCE] = { "performance", "what only costs time" },
	[FINDING_WARNING] = { "warning", "suspicions" },
	[FINDING_NOTE] = { "note", "what depends on data and layout" },
};

const char *finding_level_name(enum finding_level level)
{
	return level < FINDING_LEVELS ? levels[level].name : "?";
}

enum finding_level finding_level_down(enum finding_level level)
{
	return level < FINDING_WARNING ? FINDING_WARNING : FINDING_NOTE;
}

const char *finding_level_about(enum finding_level level)
{
	return level < FINDING_LEVELS ? levels[level].about : "?";
}
