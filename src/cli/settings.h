/* SPDX-License-Identifier: BSD-3-Clause */
/* Options as text, so that a campaign can keep them and be resumed. */
#ifndef HOLDFAST_CLI_SETTINGS_H
#define HOLDFAST_CLI_SETTINGS_H

#include "campaign/campaign.h"
#include "cli/cli.h"

/* Texts that options point to. */
struct settings_own {
	char **p;
	size_t n, cap;
};

/* The option's value in the struct that cli_parse filled, xmalloc'ed; NULL: not given. */
char *settings_text(const struct cli_option *, const void *opts);
/* The values of all options of a table that are given, by their names; not of `once`. */
void settings_collect(const struct cli_option *, const void *opts, struct campaign_settings *);
void settings_set(struct settings_own *, const struct cli_option *, void *opts, const char *text);
void settings_free(struct settings_own *);

#endif
