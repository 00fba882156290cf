/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is recent at a failure point, and what is open there.
 *
 * Recent is what was stored since the operation or transaction in flight began, or the last operation; without these, since
 * the moment before the last WINDOW at which something became guaranteed. At least AT_LEAST such moments are recent, so that
 * what an operation left without a fence is, in the next one; and never more than MOST_RECORDS stores. A store that
 * is no longer recent and still not guaranteed is *forgotten*: if anybody guarantees it later, then by chance.
 *
 *	stores       s s s | s s | s | s s s | s
 *	guarantees         ▲     ▲   ▲       ▲   ● the point
 *	                   └──── recent ─────────┘
 *
 * The *shape* of a point is the set of places whose recent stores are not guaranteed there. Two visits of a call path with
 * different shapes are not alike: a split has stores open that an ordinary insert does not have. A place counts twice: with stores
 * to bytes that the run has not stored to yet, and with those to others, as nobody misses what was never there. Stores that
 * change nothing do not count, as losing them changes nothing either.
 *
 * One pass over the history, with a queue of the recent stores: what leaves it at the old end, or becomes guaranteed,
 * no longer counts for its place.
 */
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"

#define WINDOW 8u
#define AT_LEAST 2u
#define MOST_RECORDS 4096u
#define NONE UINT32_MAX

/* A recent store: what one event stores to one line. */
struct recent {
	uint64_t event;
	uint64_t before; /* number of the one before it in its line, and 1; 0: none */
	size_t record;
	uint32_t line;
	uint32_t slot; /* what it counts as in the shape; NONE: nothing */
	uint32_t upto; /* its last piece */
	bool open;
};

struct look {
	const struct crash_history *h;
	size_t record, raise, mark;
	uint64_t
		begun; /* operations and transactions that the program has marked, and are in flight … */
	uint64_t begun_at;                 /* … since this event */
	uint8_t *forgotten;                /* a bit per record */
	struct recent queue[MOST_RECORDS]; /* number i is queue[i % MOST_RECORDS] */
	uint64_t first, next;              /* numbers of those in it */
	uint64_t *last;                    /* per line: the number of its last, and 1 */
	uint32_t *pieces;                  /* per line, so far */
	uint32_t *open;                    /* per place, twice: open recent stores */
	uint64_t *stored; /* per line: a bit for each byte, or for a part of a page */
	uint8_t *now;     /* per line: what it holds, unless lines are pages */
	uint64_t moment[WINDOW], moments; /* when something became guaranteed */
	uint64_t recent, shape;
};

static uint64_t slot_hash(uint32_t slot)
{
	return hash_mix(0x9e3779b97f4a7c15u, slot);
}

static void close_one(struct look *k, struct recent *r)
{
	if (!r->open)
		return;
	r->open = false;
	if (r->slot != NONE && !--k->open[r->slot])
		k->shape -= slot_hash(r->slot);
}

static void forget_oldest(struct look *k)
{
	close_one(k, &k->queue[k->first++ % MOST_RECORDS]);
}

static uint32_t unit_of(const struct look *k, uint32_t line)
{
	return k->h->file.p[k->h->line.p[line].file].unit;
}

/* What it holds may differ before and after. */
static bool changes(struct look *k, const struct crash_record *r)
{
	uint8_t before[TRACE_LINE], *now = k->now + (size_t)r->line * TRACE_LINE;
	if (unit_of(k, r->line) != TRACE_LINE)
		return true;
	if (!k->pieces[r->line])
		crash_contents(k->h, r->line, 0, now);
	memcpy(before, now, TRACE_LINE);
	crash_record_apply(r, r->pieces, now);
	return memcmp(before, now, TRACE_LINE) != 0;
}

static uint32_t slot_of(struct look *k, const struct crash_record *r)
{
	uint32_t part = unit_of(k, r->line) / 64, slot = 2 * r->place;
	part = part ? part : 1;
	uint32_t first = r->off / part, last = (r->off + (r->len ? r->len - 1u : 0)) / part;
	uint64_t bits =
		(last < 63 ? (UINT64_C(2) << last) - 1 : UINT64_MAX) & (UINT64_MAX << (first & 63));
	slot += (k->stored[r->line] & bits) != 0;
	k->stored[r->line] |= bits;
	return changes(k, r) ? slot : NONE;
}

static void take_record(struct look *k, const struct crash_record *r)
{
	uint32_t slot = k->h->line.p[r->line].file == k->h->meta ? 2 * r->place : slot_of(k, r);
	k->pieces[r->line] += r->pieces;
	if (!crash_line_counts(k->h, r->line))
		return;
	if (k->next - k->first == MOST_RECORDS)
		forget_oldest(k);
	k->queue[k->next % MOST_RECORDS] = (struct recent){ .event = r->event,
							    .before = k->last[r->line],
							    .record = k->record,
							    .line = r->line,
							    .slot = slot,
							    .upto = k->pieces[r->line],
							    .open = true };
	k->last[r->line] = ++k->next;
	if (slot != NONE && !k->open[slot]++)
		k->shape += slot_hash(slot);
}

/* From the newest of the line back to the first that was guaranteed before. */
static void take_raise(struct look *k, const struct crash_raise *r)
{
	uint64_t newest = k->moments ? k->moment[(k->moments - 1) % WINDOW] : UINT64_MAX;
	if (r->event != newest)
		k->moment[k->moments++ % WINDOW] = r->event;
	for (uint64_t i = k->last[r->line]; i > k->first;) {
		struct recent *s = &k->queue[(i - 1) % MOST_RECORDS];
		if (!s->open)
			break;
		if (s->upto <= r->lo)
			close_one(k, s);
		i = s->before;
	}
}

static void advance(struct look *k, uint64_t event)
{
	const struct crash_history *h = k->h;
	for (;;) {
		const struct crash_record *r =
			k->record < h->store.n ? crash_record_at(&h->store, k->record) : NULL;
		struct crash_raise raise = { .event = UINT64_MAX };
		if (k->raise < h->raise.n)
			raise = crash_raise_at(h, k->raise);
		if (r && r->event < event && r->event <= raise.event) {
			take_record(k, r);
			k->record++;
		} else if (raise.event < event) {
			take_raise(k, &raise);
			k->raise++;
		} else {
			return;
		}
	}
}

static void take_marks(struct look *k, uint64_t event)
{
	for (; k->mark < k->h->mark.n; k->mark++) {
		struct crash_mark m = crash_mark_at(k->h, k->mark);
		if (m.event >= event)
			return;
		if (m.kind == TRACE_OP_BEGIN || m.kind == TRACE_TX_BEGIN) {
			k->begun_at = k->begun++ ? k->begun_at : m.event;
		} else if (m.kind == TRACE_OP_END || m.kind == TRACE_TX_END) {
			k->begun -= k->begun > 0;
		}
	}
}

/* The moment before the last n at which something became guaranteed; 0: there are not so many. */
static uint64_t moment_before(const struct look *k, uint64_t n)
{
	return k->moments < n ? 0 : k->moment[(k->moments - n) % WINDOW];
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Since when what is stored is recent, as far as is known from operations and guarantees. */
static uint64_t recent_since(const struct look *k, uint64_t event)
{
	size_t ops = crash_ops_begun(k->h, event);
	const struct crash_op *op = ops ? &k->h->op.p[ops - 1] : NULL;
	if (op && op->latest < op->begin)
		return least(op->begin, moment_before(k, AT_LEAST));
	if (k->begun)
		return least(k->begun_at, moment_before(k, AT_LEAST));
	return moment_before(k, WINDOW);
}

/* It never goes back. */
static void find_recent(struct look *k, uint64_t event)
{
	uint64_t from = recent_since(k, event);
	if (k->first && k->next > k->first)
		from = from > k->queue[k->first % MOST_RECORDS].event
			       ? from
			       : k->queue[k->first % MOST_RECORDS].event;
	k->recent = from > k->recent ? from : k->recent;
	while (k->first < k->next && k->queue[k->first % MOST_RECORDS].event < k->recent) {
		const struct recent *r = &k->queue[k->first % MOST_RECORDS];
		if (r->open)
			k->forgotten[r->record / 8] |= (uint8_t)(1u << r->record % 8);
		forget_oldest(k);
	}
}

uint8_t *crash_points_look(const struct crash_history *h, crash_point_list *points)
{
	struct look *k = xcalloc(1, sizeof *k);
	k->h = h;
	k->last = xcalloc(h->line.n + 1, sizeof *k->last);
	k->pieces = xcalloc(h->line.n + 1, sizeof *k->pieces);
	k->open = xcalloc(2 * h->place.n + 2, sizeof *k->open);
	k->stored = xcalloc(h->line.n + 1, sizeof *k->stored);
	k->now = xcalloc(h->line.n + 1, TRACE_LINE);
	uint8_t *forgotten = k->forgotten = xcalloc(h->store.n / 8 + 1, 1);
	for (size_t i = 0; i < points->n; i++) {
		struct crash_point *p = &points->p[i];
		advance(k, p->event);
		take_marks(k, p->event);
		find_recent(k, p->event);
		p->recent = k->recent;
		p->shape = k->shape;
	}
	free(k->last);
	free(k->pieces);
	free(k->open);
	free(k->stored);
	free(k->now);
	free(k);
	return forgotten;
}
