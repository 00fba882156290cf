/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Until when can a store be lost? One walk over the history tells it of all stores of some places: what is
 * stored waits in a queue of its line, in order, until the line's guaranteed version reaches it.
 */
#include <stdlib.h>

#include "crash/internal.h"

struct waiting {
	size_t store;
	uint32_t number; /* of the piece, in its line */
	uint32_t next;   /* in the queue, from 1 */
};

struct walk {
	const struct crash_history *h;
	crash_stores *out;
	uint32_t *number;       /* by line: pieces so far */
	uint32_t *first, *last; /* by line: its queue, from 1 */
	VEC(struct waiting) wait;
	size_t raise;
};

/* What happens up to an event, which is not included. */
static void guarantee(struct walk *w, uint64_t until)
{
	for (; w->raise < w->h->raise.n && crash_raise_at(w->h, w->raise).event < until;
	     w->raise++) {
		struct crash_raise r = crash_raise_at(w->h, w->raise);
		uint32_t *first = &w->first[r.line];
		while (*first && w->wait.p[*first - 1].number <= r.lo) {
			struct crash_store *s = &w->out->p[w->wait.p[*first - 1].store];
			s->cover = r.event < s->cover ? r.event : s->cover;
			*first = w->wait.p[*first - 1].next;
		}
	}
}

/* A record of the newest store: its first piece is guaranteed no later than the others. */
static void enqueue(struct walk *w, uint32_t line)
{
	VEC_PUSH(&w->wait, ((struct waiting){ w->out->n - 1, w->number[line] + 1, 0 }));
	if (w->first[line])
		w->wait.p[w->last[line] - 1].next = (uint32_t)w->wait.n;
	else
		w->first[line] = (uint32_t)w->wait.n;
	w->last[line] = (uint32_t)w->wait.n;
}

void crash_stores_of(const struct crash_history *h, const uint32_t *wanted, crash_stores *out)
{
	struct walk w = { .h = h, .out = out };
	uint64_t event = UINT64_MAX; /* of the newest store that is wanted */
	w.number = xcalloc(h->line.n + 1, sizeof *w.number);
	w.first = xcalloc(h->line.n + 1, sizeof *w.first);
	w.last = xcalloc(h->line.n + 1, sizeof *w.last);
	for (size_t i = 0; i < h->store.n; i++) {
		const struct crash_record *r = crash_record_at(&h->store, i);
		guarantee(&w, r->event);
		if (wanted[r->place]) {
			if (event != r->event)
				VEC_PUSH(out,
					 ((struct crash_store){ h->events, r->place, r->piece }));
			event = r->event;
			enqueue(&w, r->line);
		}
		w.number[r->line] += r->pieces;
	}
	guarantee(&w, UINT64_MAX);
	free(w.number);
	free(w.first);
	free(w.last);
	VEC_FREE(&w.wait);
}
