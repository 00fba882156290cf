/* SPDX-License-Identifier: BSD-3-Clause */
/* One part of a campaign, and what other parts have found. */
#include <stdlib.h>

#include "crash/internal.h"

bool crash_is_mine(const struct crash *c, uint64_t key)
{
	return !c->opts.shards || c->opts.mine[hash_mix(key, c->opts.shards) % c->opts.shards];
}

void crash_also(struct crash *c, const char *witness)
{
	VEC_PUSH(&c->also, xstrdup(witness));
}

int crash_look_also(struct crash *c, struct err *err)
{
	for (size_t i = 0; i < c->also.n; i++) {
		struct crash_state s = { 0 };
		struct crash_verdict v;
		int bad = crash_state_parse(c, c->also.p[i], &s, err) ||
			  crash_try(c, &s, false, &v, NULL, err) ||
			  (crash_failed(c, &s, v) && crash_explain_state(c, &s, v, err));
		crash_state_free(&s);
		if (bad)
			return -1;
	}
	return 0;
}
