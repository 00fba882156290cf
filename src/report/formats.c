/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of report formats. A row NAME is the struct report_format_NAME of one file here. */
#include "report/report.h"

#define FORMATS(X)                                                                                 \
	X(json)                                                                                    \
	X(sarif)                                                                                   \
	X(html)

#define X(name) extern const struct report_format report_format_##name;
FORMATS(X)
#undef X

static const struct report_format *const table[] = {
#define X(name) &report_format_##name,
	FORMATS(X)
#undef X
};
#define COUNT (sizeof table / sizeof *table)
_Static_assert(COUNT <= REPORT_MOST_FORMATS, "raise REPORT_MOST_FORMATS");

const struct report_format *report_format_at(size_t i)
{
	return i < COUNT ? table[i] : NULL;
}
