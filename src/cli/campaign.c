/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/campaign.h"

#include "cli/settings.h"

struct holder {
	struct campaign_opts crash;
};
static const struct cli_option settings[] = {
	CAMPAIGN_SETTINGS(struct holder),
	/* these belong to the options of a run */
	{ "port", 0, CLI_TEXT, NULL, offsetof(struct holder, crash.port), NULL },
	{ "ready", 0, CLI_TEXT, NULL, offsetof(struct holder, crash.ready), NULL },
	{ "stop", 0, CLI_TEXT, NULL, offsetof(struct holder, crash.stop), NULL },
	{ NULL },
};

void campaign_opts_settings(const struct campaign_opts *o, struct campaign_settings *out)
{
	const struct holder h = { .crash = *o };
	settings_collect(settings, &h, out);
}
