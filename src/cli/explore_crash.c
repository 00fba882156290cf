/* SPDX-License-Identifier: BSD-3-Clause */
/* --recover: the crash campaign on the recording of one path. */
#include "cli/campaign_internal.h"
#include "cli/explore.h"

#define BUDGET "300" /* images for one path */

int explore_crash(void *arg, const char *dir, struct finding_set *set, struct err *err)
{
	const struct explore_voice *v = arg;
	struct campaign_opts o = v->cli->crash;
	struct campaign c = { 0 };
	bool quiet = msg_quiet;
	o.resume = o.fresh = false;
	o.budget = o.budget ? o.budget : BUDGET;
	msg_quiet = true;
	int bad = campaign_open(&c, dir, &o, CAMPAIGN_DB_FRESH, err) ||
		  campaign_start(&c, 0, err) || campaign_run(&c, err);
	if (!bad)
		campaign_report(&c, set);
	campaign_close(&c);
	msg_quiet = quiet;
	if (campaign_interrupted())
		explore_signals = 1;
	return bad ? -1 : 0;
}
