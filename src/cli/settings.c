/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/settings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

char *settings_text(const struct cli_option *opt, const void *opts)
{
	const void *field = (const char *)opts + opt->offset;
	const struct cli_list *list = field;
	struct buf b = { 0 };
	switch (opt->type) {
	case CLI_FLAG: return *(const bool *)field ? xstrdup("yes") : NULL;
	case CLI_NUMBER:
		return *(const uint64_t *)field ? xasprintf("%" PRIu64, *(const uint64_t *)field)
						: NULL;
	case CLI_LIST:
	case CLI_WORDS:
		for (size_t i = 0; i < list->n; i++)
			buf_printf(&b, "%s%s", i ? "\n" : "", list->p[i]);
		if (list->n)
			buf_add(&b, "", 1);
		return b.p;
	default: return *(char *const *)field ? xstrdup(*(char *const *)field) : NULL;
	}
}

void settings_collect(const struct cli_option *opt, const void *opts, struct campaign_settings *out)
{
	for (; opt->name; opt++) {
		char *text = opt->once ? NULL : settings_text(opt, opts);
		if (text)
			campaign_settings_put(out, opt->name, text);
		free(text);
	}
}

static char *keep(struct settings_own *own, const char *text)
{
	char *copy = xstrdup(text);
	VEC_PUSH(own, copy);
	return copy;
}

void settings_set(struct settings_own *own, const struct cli_option *opt, void *opts,
		  const char *text)
{
	void *field = (char *)opts + opt->offset;
	struct cli_list *list = field;
	char *copy;
	switch (opt->type) {
	case CLI_FLAG: *(bool *)field = true; break;
	case CLI_NUMBER: *(uint64_t *)field = strtoull(text, NULL, 10); break;
	case CLI_LIST:
	case CLI_WORDS:
		copy = keep(own, text);
		for (char *word = strtok(copy, "\n"); word; word = strtok(NULL, "\n")) {
			list->p = xrealloc(list->p, (list->n + 1) * sizeof *list->p);
			list->p[list->n++] = word;
		}
		break;
	default: *(char **)field = keep(own, text);
	}
}

void settings_free(struct settings_own *own)
{
	for (size_t i = 0; i < own->n; i++)
		free(own->p[i]);
	VEC_FREE(own);
}
