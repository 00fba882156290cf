/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failure points: just before an instruction that matters, once or a few times for each
 * distinct call path to it, and after the last event. Of a call path's visits some are taken evenly, and then those
 * where something else is open than at the ones that were taken (points_recent.c).
 *
 * Flushes and fences with no store to PM since the point before are left out: nothing can have
 * changed. What is written to other files makes no point of its own, since it is durable at once: the
 * points around it show the state before it, and the one after it. Renames do. Where what the program says is
 * compared, so does the end of an operation that stored something: from then on nothing of it may be lost.
 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"

struct granularity {
	const char *name, *about;
	bool persists, stores, ops;
};
static const struct granularity table[] = {
	{ "persist",
	  "before flushes, fences and syncs with a store since the last one, and renames",
	  .persists = true },
	{ "store", "before every store as well", .persists = true, .stores = true },
	{ "op", "before the end of operations and transactions", .ops = true },
	{ "all", "all of these", .persists = true, .stores = true, .ops = true },
};
#define COUNT (sizeof table / sizeof *table)

const char *crash_points_at(size_t i, const char **about)
{
	*about = i < COUNT ? table[i].about : NULL;
	return i < COUNT ? table[i].name : NULL;
}

/* The command line knows the names; a campaign of old may have kept something else. */
static const struct granularity *find(const char *name)
{
	size_t i = name ? name_find(crash_points_at, name, strlen(name)) : 0;
	return &table[i < COUNT ? i : 0];
}

/* Goes through stores, flushes and marks in the order of events. */
struct merge {
	const struct crash_history *h;
	size_t record, flush, mark;
	bool stores, persists, ops;
	bool stored; /* to PM, since the point before */
};

static bool wanted(const struct merge *m, uint8_t kind)
{
	switch (kind) {
	case TRACE_FENCE:
	case TRACE_SYNC:
	case TRACE_FILE_SYNC:
	case TRACE_NODE_SYNC: return m->persists && m->stored;
	case TRACE_NODE_MOVE: return m->persists;
	case TRACE_OP_END:
	case TRACE_TX_END: return m->ops && m->stored;
	default: return false;
	}
}

/* The next event of any kind; false at the end. `take`: it is a candidate. */
static bool next(struct merge *m, struct crash_point *out, bool *take)
{
	const struct crash_history *h = m->h;
	const struct crash_record *r =
		m->record < h->store.n ? crash_record_at(&h->store, m->record) : NULL;
	uint64_t p = r ? r->event : UINT64_MAX;
	uint64_t f = m->flush < h->flush.n ? crash_flush_at(h, m->flush).event : UINT64_MAX;
	uint64_t k = m->mark < h->mark.n ? crash_mark_at(h, m->mark).event : UINT64_MAX;
	if (p == UINT64_MAX && f == UINT64_MAX && k == UINT64_MAX)
		return false;
	if (f < p && f < k) {
		*out = (struct crash_point){ f, crash_flush_at(h, m->flush++).place };
		*take = m->persists && m->stored;
	} else if (k <= p) { /* a rename is a change of names, too, behind the point */
		struct crash_mark mark = crash_mark_at(h, m->mark++);
		*out = (struct crash_point){ k, mark.place };
		*take = wanted(m, mark.kind);
	} else {
		bool pm = crash_line_counts(h, r->line);
		*out = (struct crash_point){ p, r->place };
		*take = m->stores && pm;
		m->stored = m->stored || pm;
		while (m->record < h->store.n && crash_record_at(&h->store, m->record)->event == p)
			m->record++;
		return true;
	}
	if (*take)
		m->stored = false;
	return true;
}

/* ---- --only ---- */

static bool matches(const struct crash_opts *o, const struct srcloc_frame *f)
{
	for (size_t i = 0; i < o->nonly; i++) {
		const char *base = f->file ? strrchr(f->file, '/') : NULL;
		if ((f->function && fnmatch(o->only[i], f->function, 0) == 0) ||
		    (f->file && fnmatch(o->only[i], f->file, 0) == 0) ||
		    (base && fnmatch(o->only[i], base + 1, 0) == 0))
			return true;
	}
	return false;
}

bool crash_place_wanted(const struct crash_history *h, const struct crash_opts *o,
			struct srcloc_trace *src, uint32_t place)
{
	const struct crash_place *p = &h->place.p[place];
	if (!o->nonly)
		return true;
	struct srcloc_where path = srcloc_path(src, p->process, p->ip, p->ctx);
	for (size_t i = 0; i < path.n; i++)
		if (matches(o, &path.frame[i]))
			return true;
	return false;
}

/* ---- choosing ---- */

#define MORE_SHAPES                                                                                \
	4u /* points for other shapes, times those that are taken evenly, if that is more than one */

/* So many of a total are taken. */
struct share {
	uint64_t total, seen, taken;
};
struct path {
	struct share even,
		shapes; /* points; those with a shape of their own, of which `even` took none */
	uint8_t state;  /* 0 unknown, 1 wanted, 2 not */
};

/* Of `total` points `max` are taken: the first, the last, and evenly between. */
static bool choose(struct share *p, uint64_t max)
{
	uint64_t i = p->seen++;
	if (max && p->total > max) {
		if (p->taken >= max || (max == 1 && i))
			return false;
		if (max > 1 && i * (max - 1) < p->taken * (p->total - 1))
			return false;
	}
	p->taken++;
	return true;
}

static bool usable(const struct crash_history *h, const struct crash_opts *o,
		   struct srcloc_trace *src, struct path *path, uint32_t place)
{
	if (!path[place].state)
		path[place].state = crash_place_wanted(h, o, src, place) ? 1 : 2;
	return path[place].state == 1;
}

static int by_event(const void *a, const void *b)
{
	const struct crash_point *x = a, *y = b;
	if (x->event != y->event)
		return x->event > y->event ? 1 : -1;
	return (x->place > y->place) - (x->place < y->place);
}

/* Just after operations that stored something; those whose last store has the same call path are alike. */
static void add_ends(const struct crash_history *h, struct crash_points *out)
{
	for (size_t i = 0; i < h->op.n; i++) {
		const struct crash_op *op = &h->op.p[i];
		size_t n = BISECT(k, h->store.n, crash_record_at(&h->store, k)->event <= op->end);
		const struct crash_record *last = n ? crash_record_at(&h->store, n - 1) : NULL;
		if (op->end != UINT64_MAX && last && last->event > op->begin)
			VEC_PUSH(&out->v, ((struct crash_point){ op->end + 1, last->place }));
	}
}

/* All that there are, before some are chosen. */
static void find_all(const struct crash_history *h, const struct crash_opts *o,
		     struct crash_points *out)
{
	const struct granularity *g = find(o->points);
	struct merge m = { .h = h, .stores = g->stores, .persists = g->persists, .ops = g->ops };
	struct crash_point p;
	bool take;
	while (next(&m, &p, &take))
		if (take)
			VEC_PUSH(&out->v, p);
	if (!o->listen)
		return;
	add_ends(h, out);
	if (out->v.n)
		qsort(out->v.p, out->v.n, sizeof *out->v.p, by_event);
}

enum { LEFT_OUT, CHOSEN, OTHER_SHAPE };

static uint64_t shape_key(const struct crash_point *p)
{
	return hash_mix(p->shape, p->place);
}

/* Sets rank to one of the above; `all` has what can be used. */
static void choose_points(crash_point_list *all, struct path *path, uint64_t max)
{
	struct hmap shape = { 0 };
	for (size_t i = 0; i < all->n; i++) {
		struct crash_point *p = &all->p[i];
		p->rank = choose(&path[p->place].even, max) ? CHOSEN : LEFT_OUT;
		if (p->rank == CHOSEN)
			hmap_put(&shape, shape_key(p), 1);
	}
	for (size_t i = 0; i < all->n && max != 1; i++) {
		struct crash_point *p = &all->p[i];
		if (p->rank == CHOSEN || hmap_get(&shape, shape_key(p), NULL))
			continue;
		hmap_put(&shape, shape_key(p), 1);
		p->rank = OTHER_SHAPE;
		path[p->place].shapes.total++;
	}
	for (size_t i = 0; i < all->n; i++) {
		struct crash_point *p = &all->p[i];
		if (p->rank == OTHER_SHAPE && !choose(&path[p->place].shapes, max * MORE_SHAPES))
			p->rank = LEFT_OUT;
	}
	hmap_free(&shape);
}

/* The one in the middle of each path comes first: the first visits meet an empty pool. Then one for each shape. */
static void rank_points(crash_point_list *v, struct path *path)
{
	struct hmap shape = { 0 };
	for (size_t i = 0; i < v->n; i++)
		path[v->p[i].place].even.seen = 0;
	for (size_t i = 0; i < v->n; i++) {
		struct crash_point *p = &v->p[i];
		struct share *even = &path[p->place].even;
		p->extra = p->rank == OTHER_SHAPE;
		p->rank = 2;
		if (!p->extra && even->seen++ == (even->taken - 1) / 2) {
			p->rank = 0;
			hmap_put(&shape, shape_key(p), 1);
		}
	}
	for (size_t i = 0; i < v->n; i++) {
		struct crash_point *p = &v->p[i];
		if (p->rank && !hmap_get(&shape, shape_key(p), NULL)) {
			hmap_put(&shape, shape_key(p), 1);
			p->rank = 1;
		}
	}
	hmap_free(&shape);
}

void crash_points_free(struct crash_points *points)
{
	VEC_FREE(&points->v);
	free(points->forgotten);
}

int crash_points_find(const struct crash_history *h, const struct crash_opts *o,
		      struct srcloc_trace *src, struct crash_points *out, struct err *err)
{
	struct path *path = xcalloc(h->place.n + 1, sizeof *path);
	struct crash_points all = { 0 };
	size_t left = 0;
	find_all(h, o, &all);
	for (size_t i = 0; i < all.v.n; i++) {
		struct crash_point p = all.v.p[i];
		if (p.event < o->after || p.event < h->start)
			continue;
		out->found++;
		if (!usable(h, o, src, path, p.place))
			continue;
		out->paths += path[p.place].even.total++ == 0;
		all.v.p[left++] = p;
	}
	all.v.n = left;
	if (!o->nonly && ++out->found)
		VEC_PUSH(&all.v, ((struct crash_point){ .event = h->events,
							.place = (uint32_t)h->place.n }));
	out->forgotten = crash_points_look(h, &all.v);
	choose_points(&all.v, path, o->max_per_path);
	for (size_t i = 0; i < all.v.n; i++)
		if (all.v.p[i].rank)
			VEC_PUSH(&out->v, all.v.p[i]);
	rank_points(&out->v, path);
	free(path);
	VEC_FREE(&all.v);
	if (!out->v.n)
		return err_set(err, EXIT_USAGE, "no failure point matches --only and --after");
	return 0;
}
