/* SPDX-License-Identifier: BSD-3-Clause */
/* Update behaviours of a history: its pieces are the updates of src/infer, in the order of order.h. */
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"
#include "crash/order.h"

struct crash_behaviours {
	struct crash_behaviour_counts *told; /* NULL: nobody wants to know */
	const struct crash_history *h;
	struct crash_order order;
	struct infer_updates updates;
	struct infer_place *place;
	struct infer_behaviours *found;
	size_t record; /* of the piece that was asked for last */
	VEC(struct members {
		uint32_t *behaviour;
		size_t n;
	})
	group;
	struct hmap taken; /* statements */
};

/* ---- pieces as updates ---- */

/* Most are asked for one after the other. */
static const struct crash_record *record_with(struct crash_behaviours *b, size_t piece)
{
	const struct crash_record *r = crash_record_at(&b->h->store, b->record);
	if (piece == r->piece + r->pieces)
		r = crash_record_at(&b->h->store, ++b->record);
	if (piece < r->piece || piece >= r->piece + r->pieces) {
		b->record = crash_record_with(&b->h->store, piece);
		r = crash_record_at(&b->h->store, b->record);
	}
	return r;
}

static void update_at(void *arg, size_t i, struct infer_update *out)
{
	struct crash_behaviours *b = arg;
	const struct crash_record *r = record_with(b, i);
	const struct crash_line *l = &b->h->line.p[r->line];
	uint16_t off, len;
	crash_record_piece(r, (unsigned)(i - r->piece), &off, &len);
	*out = (struct infer_update){ model_file_byte(l->file, l->off + off), r->place, r->line,
				      r->thread, l->file < b->h->npm ? len : 0 };
}

static void set_updates(struct crash_behaviours *b)
{
	const struct crash_history *h = b->h;
	b->place = xcalloc(h->place.n + 1, sizeof *b->place);
	for (size_t i = 0; i < h->place.n; i++)
		b->place[i] = (struct infer_place){ h->place.p[i].process, h->place.p[i].site,
						    h->place.p[i].ctx, h->place.p[i].ip };
	b->updates = (struct infer_updates){ .arg = b,
					     .at = update_at,
					     .n = h->pieces,
					     .stored = b->order.stored,
					     .persisted = b->order.persisted,
					     .moments = b->order.moment.n,
					     .place = b->place,
					     .places = h->place.n };
}

/* ---- groups ---- */

/* --only and --after narrow down which behaviours are tested. */
struct wish {
	const struct crash_opts *opts; /* NULL: all are */
	struct srcloc_trace *src;
	uint8_t *place; /* 0: not known, 1: wanted, 2: not */
};

static bool is_wanted(const struct crash_behaviours *b, struct wish *w, uint32_t behaviour)
{
	const struct infer_example *x = &infer_behaviour_at(b->found, behaviour)->first;
	if (!w->opts)
		return true;
	if (crash_piece_at(b->h, x->update[0]).event < w->opts->after)
		return false;
	for (size_t i = 0; i < x->n; i++) {
		uint32_t place = crash_piece_at(b->h, x->update[i]).place;
		if (!w->place[place])
			w->place[place] = crash_place_wanted(b->h, w->opts, w->src, place) ? 1 : 2;
		if (w->place[place] == 1)
			return true;
	}
	return false;
}

static void add_group(struct crash_behaviours *b, struct wish *w, const struct infer_group *g)
{
	VEC(uint32_t) all = { 0 };
	for (size_t i = 0; i < g->members; i++) {
		const struct infer_shape *s = infer_shape_at(b->found, g->member[i]);
		for (size_t k = 0; k < s->behaviours; k++)
			if (is_wanted(b, w, s->behaviour[k]))
				VEC_PUSH(&all, s->behaviour[k]);
	}
	if (all.n)
		VEC_PUSH(&b->group, ((struct members){ all.p, all.n }));
}

struct crash_behaviours *crash_behaviours_new(const struct crash_history *h,
					      struct srcloc_trace *src,
					      const struct crash_opts *opts)
{
	struct crash_behaviours *b = xcalloc(1, sizeof *b);
	struct wish w = { opts, src, xcalloc(h->place.n + 1, 1) };
	const struct infer_group *g;
	b->h = h;
	crash_order_init(&b->order, h);
	set_updates(b);
	b->found = infer_behaviours_read(&b->updates, h->reader, src);
	for (size_t i = 0; (g = infer_group_at(b->found, i)); i++)
		add_group(b, &w, g);
	free(w.place);
	return b;
}

struct crash_behaviours *crash_gen_behaviours(struct crash_gen *gen)
{
	struct crash_behaviours *b = crash_behaviours_new(gen->w->h, gen->w->src, gen->w->opts);
	b->told = gen->w->told;
	if (!b->told)
		return b;
	*b->told = (struct crash_behaviour_counts){ .groups = b->group.n };
	while (infer_behaviour_at(b->found, b->told->behaviours))
		b->told->behaviours++;
	return b;
}

void crash_behaviours_free(struct crash_behaviours *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->group.n; i++)
		free(b->group.p[i].behaviour);
	VEC_FREE(&b->group);
	hmap_free(&b->taken);
	infer_behaviours_free(b->found);
	crash_order_free(&b->order);
	free(b->place);
	free(b);
}

const struct infer_behaviours *crash_behaviours_found(const struct crash_behaviours *b)
{
	return b->found;
}

/* ---- what strategies ask ---- */

const uint32_t *crash_behaviours_of(const struct crash_behaviours *b, size_t group, size_t *n)
{
	*n = group < b->group.n ? b->group.p[group].n : 0;
	return group < b->group.n ? b->group.p[group].behaviour : NULL;
}

bool crash_behaviour_is_new(const struct crash_behaviours *b, uint32_t behaviour)
{
	const struct infer_behaviour *v = infer_behaviour_at(b->found, behaviour);
	for (size_t i = 0; i < v->statements; i++)
		if (!hmap_get(&b->taken, v->statement[i], NULL))
			return true;
	return false;
}

void crash_behaviour_take(struct crash_behaviours *b, uint32_t behaviour)
{
	const struct infer_behaviour *v = infer_behaviour_at(b->found, behaviour);
	for (size_t i = 0; i < v->statements; i++)
		hmap_put(&b->taken, v->statement[i], 1);
	if (b->told)
		b->told->taken++;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The event of the line's next piece, unless that is one of the example's: then what it is for that one, which `next` has. */
static uint64_t stranger_after(const struct crash_history *h, struct hmap *next, uint32_t line,
			       uint32_t number)
{
	uint64_t key = (uint64_t)line << 32 | number, event = UINT64_MAX;
	if (!hmap_get(next, key + 1, &event) && number < h->line.p[line].n)
		event = crash_piece_of(h, line, number + 1).event;
	hmap_put(next, key, event);
	return event;
}

struct crash_update *crash_behaviour_example(const struct crash_behaviours *b, uint32_t behaviour,
					     bool late, size_t *n)
{
	const struct infer_behaviour *v = infer_behaviour_at(b->found, behaviour);
	const struct infer_example *x = late ? &v->late : &v->first;
	struct crash_update *out = x->n ? xcalloc(x->n, sizeof *out) : NULL;
	struct hmap next = { 0 };
	*n = x->n;
	for (size_t i = x->n; i-- > 0;) {
		struct crash_piece p = crash_piece_at(b->h, x->update[i]);
		uint32_t number = crash_number_of(b->h, x->update[i]);
		uint64_t until = least(crash_persisted_at(&b->order, x->update[i]),
				       stranger_after(b->h, &next, p.line, number));
		until = least(until, b->h->events);
		out[i] = (struct crash_update){ p.line, number, p.event,
						until > p.event ? until : p.event + 1 };
	}
	hmap_free(&next);
	return out;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

uint64_t *crash_behaviour_moments(const struct crash_update *u, size_t n, size_t *moments)
{
	uint64_t *out = xcalloc(n + 1, sizeof *out);
	*moments = 0;
	for (size_t i = 0; i < n; i++)
		out[i] = u[i].until;
	qsort(out, n, sizeof *out, by_number);
	for (size_t i = 0; i < n; i++)
		if (!*moments || out[*moments - 1] != out[i])
			out[(*moments)++] = out[i];
	return out;
}
