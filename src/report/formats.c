/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of report formats. A row NAME is the struct report_format_NAME of one file here. */
#include "report/report.h"

#include <string.h>

#define FORMATS(X)                                                                                 \
	X(json)                                                                                    \
	X(sarif)                                                                                   \
	X(junit)                                                                                   \
	X(code_quality)                                                                            \
	X(gcc)                                                                                     \
	X(markdown)                                                                                \
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

/* ---- what is printed for people: words, or what editors read ---- */

static const struct report_format *printed_at(size_t i)
{
	for (size_t k = 0; k < COUNT; k++)
		if (table[k]->print && i-- == 0)
			return table[k];
	return NULL;
}

const char *report_printed_at(size_t i, const char **about)
{
	const struct report_format *f = i ? printed_at(i - 1) : NULL;
	*about = f ? f->printed : "in words, with source and call paths";
	return f ? f->name : i ? NULL : "text";
}

void report_print(const struct report *r, const char *name, FILE *out)
{
	const struct report_format *f;
	for (size_t i = 0; (f = printed_at(i)); i++)
		if (name && !strcmp(f->name, name)) {
			f->print(r, out);
			return;
		}
	report_text(r, out);
}
