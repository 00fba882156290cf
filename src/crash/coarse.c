/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that nobody has marked may be several: a call that is made again and again does a batch, say.
 *
 *	operation 3     begin ── put ── ┊ ── put ── ┊ ── put ── end
 *	                                ▲ quiet     ▲
 *
 * A moment is *quiet* if all that the operation has stored is persistent. Where a statement that has stored before
 * such a moment stores again behind it, on the same call path, one of several operations may end there: what is said
 * with everything persistent then is as good as at the operation's ends. So it is where whoever found the operation could not tell
 * whether another one begins. In one that does not repeat itself there is no such moment.
 *
 * What is stored between two operations belongs to none that was found: others work there, another thread with a loop of
 * its own, say. It is looked at in the same way.
 */
#include <stdlib.h>

#include "crash/internal.h"
#include "crash/leader.h"

#define MOST 64u /* moments that are looked at, the newest first; behind that, nobody knows */

/* The first and the last store of each statement in the operation. */
struct spread {
	uint64_t first, last;
};
struct stores {
	struct hmap at; /* lines of a call path -> index */
	VEC(struct spread) v;
};

/* Compilers copy what is in a loop: lines tell. */
uint64_t crash_statement_of(struct crash *c, uint32_t place)
{
	const struct finding_place *p = crash_path(c, place);
	const struct srcloc_frame *f = finding_main_frame(p);
	uint64_t hash = 0;
	for (; f && f < p->frame + p->n; f++)
		hash = f->line ? hash_mix(hash, hash_mix((uintptr_t)f->function,
							 (uint64_t)f->line << 32 | f->column))
			       : hash_mix(hash, f->offset);
	return hash;
}

static size_t first_piece(const struct crash_history *h, uint64_t event)
{
	return BISECT(i, h->pieces, crash_piece_at(h, i).event < event);
}

static void find_stores(struct crash *c, const struct crash_op *op, struct stores *s)
{
	const struct crash_history *h = c->h;
	for (size_t i = first_piece(h, op->begin); i < h->pieces; i++) {
		struct crash_piece p = crash_piece_at(h, i);
		uint64_t k, lines;
		if (p.event > op->end)
			break;
		lines = crash_statement_of(c, p.place);
		if (!hmap_get(&s->at, lines, &k)) {
			hmap_put(&s->at, lines, k = s->v.n);
			VEC_PUSH(&s->v, ((struct spread){ p.event, p.event }));
		}
		s->v.p[k].last = p.event;
	}
}

static bool repeats_over(const struct stores *s, uint64_t event)
{
	for (size_t i = 0; i < s->v.n; i++)
		if (s->v.p[i].first < event && s->v.p[i].last >= event)
			return true;
	return false;
}

/* All that was stored since `begin` is guaranteed where the cursor stands. */
static bool is_quiet(const struct crash_cursor *c, uint64_t begin)
{
	for (size_t i = 0; i < c->open.n; i++) {
		uint32_t line = c->open.p[i];
		if (crash_piece_of(c->h, line, c->hi[line]).event >= begin)
			return false;
	}
	return true;
}

struct look {
	struct crash *c;
	const struct stores *stores;
	const struct crash_op *op;
	size_t number; /* its own, from 1 */
	uint64_t said;
	bool run;
};

/* Behind this event, another operation may begin before anything is stored. */
static bool is_seam(const struct look *l, uint64_t event)
{
	size_t next = first_piece(l->c->h, event + 1);
	uint64_t store = next < l->c->h->pieces ? crash_piece_at(l->c->h, next).event : UINT64_MAX;
	for (uint32_t i = 0; i < l->op->nparts; i++)
		if (l->op->parts[i] > event && l->op->parts[i] <= store)
			return true;
	return false;
}

/* May one of several operations end with this mark? */
static bool ends(const struct look *l, struct crash_mark m)
{
	if (m.kind != TRACE_FENCE ||
	    (!repeats_over(l->stores, m.event + 1) && !is_seam(l, m.event)))
		return false;
	crash_cursor_move(&l->c->judging, m.event + 1);
	return is_quiet(&l->c->judging, l->op->begin);
}

/* 1: there the same is said. */
static int compare(const struct look *l, struct crash_mark m, struct err *err)
{
	uint64_t then;
	int known = crash_said_at(l->c, l->number, m.event + 1, l->run, &then, err);
	return known > 0 ? then == l->said : known;
}

/* At the end of the one in flight, and of those before it. */
static int look(const struct look *l, uint64_t event, struct err *err)
{
	const struct crash_history *h = l->c->h;
	size_t now = BISECT(k, h->mark.n, crash_mark_at(h, k).event < event);
	int same = 0;
	for (size_t i = now; !same && i < h->mark.n; i++) {
		struct crash_mark m = crash_mark_at(h, i);
		if (m.event > l->op->end)
			break;
		if (ends(l, m)) {
			same = compare(l, m, err);
			break;
		}
	}
	for (size_t i = now, looked = 0; !same && i-- > 0;) {
		struct crash_mark m = crash_mark_at(h, i);
		if (m.event <= l->op->begin)
			break;
		if (ends(l, m))
			same = looked++ == MOST ? 1 : compare(l, m, err);
	}
	return same;
}

/* From the end of an operation to the begin of the next. */
static struct crash_op between_ops(const struct crash_history *h, size_t op)
{
	uint64_t next = op < h->op.n ? h->op.p[op].begin : h->events;
	return (struct crash_op){ .begin = h->op.p[op - 1].end + 1, .end = next - 1 };
}

int crash_coarse(struct crash *c, size_t op, uint64_t event, bool run, uint64_t said,
		 struct err *err)
{
	struct stores s = { 0 };
	if (!op || c->h->op.p[op - 1].sure)
		return 0;
	struct crash_op between = between_ops(c->h, op);
	struct look l = { c, &s, &c->h->op.p[op - 1], op, said, run };
	if (event > l.op->end)
		l.op = &between;
	find_stores(c, l.op, &s);
	int fine = look(&l, event, err);
	hmap_free(&s.at);
	VEC_FREE(&s.v);
	return fine;
}

int crash_unborn(struct crash *c, size_t op, size_t ended, bool run, uint64_t said, struct err *err)
{
	uint64_t first = 0;
	if (c->h->model->files == MODEL_FILES_AT_ONCE)
		return 0;
	for (size_t i = 0; i < ended; i++)
		if (c->h->op.p[i].said)
			return 0;
	int known = crash_said_at(c, op, c->h->start, run, &first, err);
	return known > 0 ? first == said : known;
}
