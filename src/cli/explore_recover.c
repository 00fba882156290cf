/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --recover: every path that does something to PM that no path did before is recorded, as
 * `holdfast record` does it, with its input in place and nothing of it lasting; then the recording
 * is crashed as `holdfast crash` does it, within a budget. Each has a campaign of its own in the
 * exploration's folder, crash/NNNN, so that its findings can be shown and replayed from there.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/campaign_internal.h"
#include "cli/explore.h"
#include "cli/session.h"

#define BUDGET "300" /* images for one path */

static int run_campaign(struct explore *x, struct campaign *c, const char *dir, struct err *err)
{
	struct campaign_opts o = x->o->crash;
	o.resume = o.fresh = false;
	o.budget = o.budget ? o.budget : BUDGET;
	o.jobs = o.jobs ? o.jobs : explore_cores();
	return campaign_open(c, dir, &o, CAMPAIGN_DB_FRESH, err) || campaign_start(c, 0, err) ||
	       campaign_run(c, err);
}

static void take_findings(struct explore *x, struct campaign *c, const char *dir,
			  const struct symbolic_input *in)
{
	struct finding_set set = { 0 };
	campaign_report(c, &set);
	for (size_t i = 0; i < set.v.n; i++) {
		struct finding *f = set.v.p[i];
		size_t known = x->hit.n;
		f = explore_add(x, f, NULL, in, x->before.stats.runs + in->parent + 1);
		struct explore_hit *hit = explore_hit(x, f);
		if (x->hit.n > known || !hit->kept) {
			free(hit->campaign);
			hit->campaign = xstrdup(dir);
		}
	}
	set.v.n = 0;
	finding_set_free(&set);
}

static int crash_one(struct explore *x, const struct symbolic_input *in, struct err *err)
{
	char *dir = xasprintf("%s/crash/%04llu", x->dir, (unsigned long long)x->campaigns);
	char *input = xasprintf("%s/input", dir), *trace = xasprintf("%s/trace", dir);
	bool quiet = msg_quiet;
	struct campaign c = { 0 };
	int bad = explore_files(x, x->plan, in, input, err) ||
		  explore_record(x, x->plan, input, trace, err);
	x->campaigns++;
	if (!bad) {
		msg_quiet = true;
		bad = run_campaign(x, &c, dir, err);
		if (!bad)
			take_findings(x, &c, dir, in);
		campaign_close(&c);
		msg_quiet = quiet;
	}
	free(dir);
	free(input);
	free(trace);
	/* A path whose recording or recovery does not work is no reason to end. */
	if (bad && err->status == EXIT_PROGRAM && !explore_interrupted()) {
		x->unwell++;
		if (!x->why_unwell)
			x->why_unwell = xstrdup(err->text);
		return 0;
	}
	return explore_interrupted() ? 0 : bad;
}

int explore_recover(struct explore *x, struct err *err)
{
	int bad = 0;
	for (size_t i = 0; i < x->recover.n; i++) {
		if (!bad && !explore_interrupted())
			bad = crash_one(x, &x->recover.p[i], err);
		symbolic_input_free(&x->recover.p[i]);
	}
	x->recover.n = 0;
	return bad;
}
