/* SPDX-License-Identifier: BSD-3-Clause */
/* What a campaign has to do, how long that takes, and when it must have ended. */
#include "campaign/internal.h"

#define LEAST_SHARE 0.1   /* of the budget, for crash states, whatever was spent before */
#define RESERVE 0.02      /* of the budget, for the end: sandboxes, reports */
#define LEAST_RESERVE 0.5 /* seconds, if that is not more than a tenth of it */
#define MOST_RESERVE 3.0  /* … and what it took to keep the findings, twice */

void campaign_spent(struct campaign *c, double seconds)
{
	c->before = seconds;
}

void campaign_plan_until(struct campaign *c)
{
	double budget = c->options.budget, before = c->before, reserve = budget * RESERVE;
	if (budget <= 0)
		return;
	if (before > budget * (1 - LEAST_SHARE))
		before = budget * (1 - LEAST_SHARE);
	if (reserve < LEAST_RESERVE)
		reserve = budget < 10 * LEAST_RESERVE ? budget / 10 : LEAST_RESERVE;
	reserve = (reserve < MOST_RESERVE ? reserve : MOST_RESERVE) + 2 * c->reporting;
	crash_until(c->crash, c->started + budget - before - reserve);
}

void campaign_plan_make(struct campaign *c)
{
	const struct crash_counts *n = crash_counts(c->crash);
	uint64_t most = c->options.crash.budget_states;
	struct campaign_plan *p = &c->plan;
	struct campaign_progress first = { .begins = p, .counts = n };
	double each = n->tested ? n->recovery / (double)n->tested / runner_cells(c->runner) : 0;
	*p = (struct campaign_plan){ .budget = c->options.budget,
				     .asked = c->options.budget_asked };
	p->known = c->watch && crash_estimate(c->crash, &p->images);
	p->seconds = (double)p->images * each;
	double left = p->budget - c->before - (now_seconds() - c->started);
	if (p->budget > 0 && each > 0 && left < p->seconds)
		p->affords = left > 0 ? (uint64_t)(left / each) + 1 : 1;
	if (most && most < p->images)
		p->affords = most;
	campaign_plan_until(c);
	if (c->watch)
		c->watch(c->watch_arg, &first);
}

struct campaign_progress campaign_plan_progress(const struct campaign *c, double now)
{
	const struct crash_counts *n = crash_counts(c->crash);
	double spent = now - c->started, part = 0, left = 0;
	double until = c->options.budget - c->before - spent;
	if (c->plan.images)
		part = (double)(n->tested - n->minimising) / (double)c->plan.images;
	else if (n->points)
		part = ((double)n->phase + (double)n->point / (double)n->points) /
		       (double)(n->phases ? n->phases : 1);
	if (part > 0.02)
		left = part < 1 ? spent / part - spent : 1;
	if (c->options.budget > 0 && (left <= 0 || left > until))
		left = until > 0 ? until : 1;
	return (struct campaign_progress){ .counts = n, .spent = spent, .left = left };
}
