/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verdicts, on their way back to the strategies that made the states. When a recovery ends is up to the machine, but what
 * a strategy makes must not be: it hears of a state when CRASH_WINDOW others have been started since, which is
 * when its verdict is surely there, or when everything has been waited for.
 */
#include <stdlib.h>

#include "crash/internal.h"

#define MOST                                                                                       \
	4096u /* states of known images start nothing; so many of them are waited for together */

void crash_feedback_add(struct crash *c, struct crash_world *w, const struct crash_state *s,
			uint64_t hash)
{
	struct crash_heard h = {
		.maker = w->maker, .number = w->number, .seq = c->seq, .hash = hash
	};
	if (!h.maker || !h.maker->strategy->verdict)
		return;
	crash_state_copy(&h.state, s);
	VEC_PUSH(&c->heard, h);
}

/* A state that was not run contains a known hang, or is another shard's. */
static bool failed(struct crash *c, const struct crash_heard *h)
{
	struct crash_verdict v;
	if (crash_known_state(c, &h->state, h->hash, &v))
		return crash_failed(c, &h->state, v);
	return crash_is_mine(c,
			     crash_suffix_key(c, h->hash, crash_ops_begun(c->h, h->state.event)));
}

bool crash_feedback_full(const struct crash *c)
{
	return c->heard.n - c->hearing >= MOST;
}

size_t crash_feedback_give(struct crash *c, bool all)
{
	size_t n = 0;
	for (; c->hearing < c->heard.n; c->hearing++, n++) {
		struct crash_heard *h = &c->heard.p[c->hearing];
		if (!all && h->seq + CRASH_WINDOW > c->seq)
			break;
		bool bad = failed(c, h);
		c->counts.behaviour.tested++;
		c->counts.behaviour.failed += bad;
		h->maker->strategy->verdict(h->maker->own, h->number, bad);
		crash_state_free(&h->state);
	}
	if (c->hearing == c->heard.n)
		c->hearing = c->heard.n = 0;
	return n;
}

void crash_feedback_forget(struct crash *c)
{
	for (; c->hearing < c->heard.n; c->hearing++)
		crash_state_free(&c->heard.p[c->hearing].state);
	VEC_FREE(&c->heard);
	c->hearing = 0;
}
