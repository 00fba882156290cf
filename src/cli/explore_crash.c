/* SPDX-License-Identifier: BSD-3-Clause */
/* --recover: the crash campaign on the recording of one path. */
#include "cli/explore.h"

#define BUDGET "300" /* images for one path */

int explore_crash(void *arg, const char *dir, struct finding_set *set, struct err *err)
{
	const struct explore_voice *v = arg;
	struct campaign_settings settings = { 0 };
	bool quiet = msg_quiet;
	campaign_opts_settings(&v->cli->crash, &settings);
	if (!campaign_settings_get(&settings, "budget"))
		campaign_settings_put(&settings, "budget", BUDGET);
	msg_quiet = true;
	struct campaign *c = campaign_open(dir, &settings, CAMPAIGN_DB_FRESH, err);
	int bad = !c || campaign_start(c, (unsigned)v->cli->crash.jobs, err) ||
		  campaign_run(c, campaign_say_progress, NULL, err);
	progress_end();
	if (!bad)
		campaign_report(c, set);
	campaign_close(c);
	campaign_settings_free(&settings);
	msg_quiet = quiet;
	if (campaign_interrupted())
		explore_signals = 1;
	return bad ? -1 : 0;
}
