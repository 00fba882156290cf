/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of pieces by two numbers each: order.h says why that is enough. */
#include "crash/order.h"

#include <stdlib.h>

#include "crash/internal.h"

/* While the history is read, the pieces of a line that are not guaranteed yet are a chain through `persisted`. */
struct chain {
	uint32_t first, last;
};

struct reading {
	struct crash_order *o;
	struct chain *chain; /* by line */
	size_t raise;        /* how many are done */
};

static void new_moment(struct crash_order *o, uint64_t event)
{
	if (!o->moment.n || o->moment.p[o->moment.n - 1] != event)
		VEC_PUSH(&o->moment, event);
}

/* All that becomes guaranteed before an event. */
static void raise_until(struct reading *r, uint64_t event)
{
	struct crash_order *o = r->o;
	for (; r->raise < o->h->raise.n; r->raise++) {
		struct crash_raise raise = crash_raise_at(o->h, r->raise);
		struct chain *c = &r->chain[raise.line];
		if (raise.event >= event)
			return;
		new_moment(o, raise.event);
		for (uint32_t k = raise.before; k < raise.lo && c->first != CRASH_NEVER; k++) {
			uint32_t next = o->persisted[c->first];
			o->persisted[c->first] = (uint32_t)o->moment.n;
			c->first = next;
		}
	}
}

static void add_piece(struct reading *r, uint32_t i, uint32_t line)
{
	struct crash_order *o = r->o;
	struct chain *c = &r->chain[line];
	o->line[i] = line;
	o->stored[i] = (uint32_t)o->moment.n;
	o->persisted[i] = CRASH_NEVER;
	if (c->first == CRASH_NEVER)
		c->first = i;
	else
		o->persisted[c->last] = i;
	c->last = i;
}

/* What is still in a chain is never guaranteed. */
static void end_chains(struct reading *r)
{
	for (size_t i = 0; i < r->o->h->line.n; i++)
		for (uint32_t at = r->chain[i].first, next; at != CRASH_NEVER; at = next) {
			next = r->o->persisted[at];
			r->o->persisted[at] = CRASH_NEVER;
		}
}

void crash_order_init(struct crash_order *o, const struct crash_history *h)
{
	struct reading r = { .o = o, .chain = xmalloc((h->line.n + 1) * sizeof *r.chain) };
	*o = (struct crash_order){ .h = h };
	o->stored = xmalloc((h->pieces + 1) * sizeof *o->stored);
	o->persisted = xmalloc((h->pieces + 1) * sizeof *o->persisted);
	o->line = xmalloc((h->pieces + 1) * sizeof *o->line);
	for (size_t i = 0; i < h->line.n; i++)
		r.chain[i] = (struct chain){ CRASH_NEVER, CRASH_NEVER };
	for (size_t i = 0; i < h->store.n; i++) {
		const struct crash_record *rec = crash_record_at(&h->store, i);
		raise_until(&r, rec->event);
		for (uint32_t k = 0; k < rec->pieces; k++)
			add_piece(&r, rec->piece + k, rec->line);
	}
	raise_until(&r, UINT64_MAX);
	end_chains(&r);
	free(r.chain);
}

void crash_order_free(struct crash_order *o)
{
	free(o->stored);
	free(o->persisted);
	free(o->line);
	VEC_FREE(&o->moment);
}

uint64_t crash_persisted_at(const struct crash_order *o, uint32_t piece)
{
	uint32_t moment = o->persisted[piece];
	return moment == CRASH_NEVER ? UINT64_MAX : o->moment.p[moment - 1];
}

bool crash_before(const struct crash_order *o, uint32_t x, uint32_t y)
{
	return o->persisted[x] <= o->stored[y] || (o->line[x] == o->line[y] && x < y);
}
