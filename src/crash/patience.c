/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long recovery is waited for.
 *
 * A hang costs the whole timeout, and finding its cause takes dozens of them. So a recovery is given ten times as long as
 * the slowest that succeeded, and not less than a fifth of a second; what takes longer is taken for a hang, hastily. What
 * the search for a cause ends with is run once more, with the whole timeout, before it is believed. If it ends then, the
 * machine was busy, or recovery has more to do in some states than in others: from then on all have the whole timeout,
 * and no hasty verdict counts any more.
 */
#include "crash/internal.h"

#define TIMES 10.0
#define LEAST 200u /* ms */

unsigned crash_patience(const struct crash *c)
{
	double ms = c->slowest * TIMES * 1000;
	if (c->patient || c->slowest <= 0 || c->started <= 0 || ms > 1e9)
		return 0;
	return ms > LEAST ? (unsigned)ms : LEAST;
}

void crash_patience_learn(struct crash *c, const struct runner_result *r)
{
	if (r->verdict == RUNNER_OK && r->spent > c->slowest)
		c->slowest = r->spent;
	c->counts.hung += r->verdict == RUNNER_HUNG;
	c->counts.waited += r->verdict == RUNNER_HUNG && !r->hasty;
}

bool crash_was_hasty(struct crash *c, struct crash_verdict first, struct crash_verdict again)
{
	if (!first.hasty || again.verdict == RUNNER_HUNG)
		return false;
	c->patient = true;
	return true;
}
