/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What there is to see at a crash: the fields that are lost, the operations that are under way, and the life of
 * the cache lines concerned up to the crash, for a picture:
 *
 *	pool+0x40   store ─ flush ─ persistent ─────── lost ─┃ crash
 *	pool+0x80   ─────────────── store (ahead) ───────────┃
 *	fences             ▏          ▏
 *
 * It is kept by the state of the crash, for a campaign reports what it has found again and again.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "crash/explain.h"

#define MOST_FIELDS 48u
#define MOST_LANES 8u
#define MOST_STEPS 40u    /* of a line */
#define MOST_ROWS 100000u /* flushes, fences and raises that are looked at for one crash */
#define BEFORE 4u         /* pieces of a line before the first that matters */

/* ---- fields ---- */

struct collect {
	struct crash *c;
	struct finding_scene *s;
};

static void add_field(void *arg, const struct crash_lost *lost)
{
	struct collect *w = arg;
	struct finding_field f;
	if (lost->again || (lost->len <= 8 && !memcmp(lost->has, lost->should, lost->len)))
		return;
	if (w->s->fields++ >= MOST_FIELDS)
		return;
	crash_lost_field(w->c, lost, &f);
	VEC_PUSH(&w->s->field, f);
}

/* ---- operations ---- */

static uint32_t thread_number(const struct crash_history *h, uint32_t interned)
{
	const struct hmap *m = &h->thread_at;
	for (size_t i = 0; i < m->cap; i++)
		if (m->used[i] && m->val[i] == interned)
			return (uint32_t)m->key[i];
	return 0;
}

static void add_flights(const struct crash_history *h, uint64_t event, struct finding_scene *s)
{
	for (size_t i = 0; i < h->op.n && h->op.p[i].begin < event; i++) {
		const struct crash_op *op = &h->op.p[i];
		if (op->end < event)
			continue;
		VEC_PUSH(&s->flight,
			 ((struct finding_flight){ .name = *op->name ? xstrdup(op->name) : NULL,
						   .input = op->input ? xstrdup(op->input) : NULL,
						   .index = op->number,
						   .id = op->id,
						   .begin = op->begin,
						   .thread = thread_number(h, op->thread) }));
	}
}

/* ---- lines ---- */

static void add_line(uint32_t line[MOST_LANES], size_t *n, const struct crash_history *h,
		     uint32_t piece)
{
	uint32_t wanted = crash_piece_at(h, piece).line;
	for (size_t i = 0; i < *n; i++)
		if (line[i] == wanted)
			return;
	if (*n < MOST_LANES)
		line[(*n)++] = wanted;
}

static size_t lines_of(const struct crash_history *h, const struct crash_cause *cause,
		       uint32_t line[MOST_LANES])
{
	size_t n = 0;
	if (cause->persisted != UINT32_MAX)
		add_line(line, &n, h, cause->persisted);
	for (size_t i = 0; i < cause->lost.n; i++)
		add_line(line, &n, h, cause->lost.p[i]);
	for (size_t i = 0; i < cause->with.n; i++)
		add_line(line, &n, h, cause->with.p[i]);
	return n;
}

static uint64_t first_event(const struct crash_history *h, const struct crash_cause *cause)
{
	uint64_t first = cause->state.event;
	if (cause->persisted != UINT32_MAX && crash_piece_at(h, cause->persisted).event < first)
		first = crash_piece_at(h, cause->persisted).event;
	for (size_t i = 0; i < cause->lost.n; i++)
		if (crash_piece_at(h, cause->lost.p[i]).event < first)
			first = crash_piece_at(h, cause->lost.p[i]).event;
	return first;
}

static char *at_text(struct crash *c, uint32_t place)
{
	const struct srcloc_frame *f = finding_main_frame(crash_path(c, place));
	char text[512];
	return f ? xstrdup(srcloc_text(f, text, sizeof text)) : NULL;
}

struct view {
	struct crash *c;
	const struct crash_cause *cause;
	struct finding_scene *s;
	uint64_t from; /* the first event that is shown */
	uint32_t line[MOST_LANES];
	size_t lines;
};

/* The pieces of a line, those of one event together. */
static void add_stores(struct view *v, uint32_t line, struct finding_lane *lane)
{
	const struct crash_history *h = v->c->h;
	const struct crash_cursor *at = &v->c->reporting;
	uint32_t version = crash_state_get(&v->cause->state, at, line), lo = at->lo[line];
	uint32_t hi = at->hi[line], k = crash_version_at(h, line, v->from);
	k = k > BEFORE ? k - BEFORE : 0;
	if (hi - k > MOST_STEPS) {
		k = hi - MOST_STEPS;
		v->s->cut = true;
	}
	for (; k < hi; k++) {
		struct crash_piece p = crash_piece_of(h, line, k + 1);
		struct finding_step *last = lane->step.n ? &lane->step.p[lane->step.n - 1] : NULL;
		const char *what = k >= version ? "lost" : k >= lo ? "ahead" : "store";
		if (last && last->event == p.event && last->what == what)
			continue;
		VEC_PUSH(&lane->step, ((struct finding_step){ .event = p.event,
							      .thread = thread_number(h, p.thread),
							      .what = what,
							      .text = at_text(v->c, p.place) }));
	}
}

static struct finding_lane *lane_of(struct view *v, uint32_t line)
{
	for (size_t i = 0; i < v->lines; i++)
		if (v->line[i] == line)
			return &v->s->lane.p[i];
	return NULL;
}

/* The last rows of a table before an event, not too many of them; `from` is shown first. */
#define ROWS_BEFORE(kind, h, begins, ends, first, last)                                            \
	size_t last = BISECT(k, (h)->kind.n, crash_##kind##_at((h), k).event < (ends));            \
	size_t first = BISECT(k, (h)->kind.n, crash_##kind##_at((h), k).event < (begins));         \
	if (last - first > MOST_ROWS)                                                              \
		first = last - MOST_ROWS;

static void add_flushes(struct view *v)
{
	const struct crash_history *h = v->c->h;
	ROWS_BEFORE(flush, h, v->from, v->cause->state.event, i, end)
	for (; i < end; i++) {
		struct crash_flush f = crash_flush_at(h, i);
		struct finding_lane *lane = lane_of(v, f.line);
		if (lane)
			VEC_PUSH(&lane->step,
				 ((struct finding_step){ .event = f.event,
							 .thread = thread_number(h, f.thread),
							 .what = "flush",
							 .text = at_text(v->c, f.place) }));
	}
}

static void add_raises(struct view *v)
{
	const struct crash_history *h = v->c->h;
	ROWS_BEFORE(raise, h, v->from, v->cause->state.event, i, end)
	for (; i < end; i++) {
		struct crash_raise r = crash_raise_at(h, i);
		struct finding_lane *lane = lane_of(v, r.line);
		if (lane && r.lo > r.before)
			VEC_PUSH(&lane->step,
				 ((struct finding_step){ .event = r.event, .what = "persistent" }));
	}
}

static bool stores_here(const struct view *v, uint32_t thread)
{
	for (size_t i = 0; i < v->s->lane.n; i++)
		for (size_t k = 0; k < v->s->lane.p[i].step.n; k++)
			if (v->s->lane.p[i].step.p[k].thread == thread)
				return true;
	return false;
}

static void add_fences(struct view *v)
{
	const struct crash_history *h = v->c->h;
	ROWS_BEFORE(mark, h, v->from, v->cause->state.event, first, i)
	while (i-- > first && v->s->fence.n < MOST_STEPS) {
		struct crash_mark m = crash_mark_at(h, i);
		uint32_t thread = thread_number(h, m.thread);
		bool sync = m.kind == TRACE_SYNC || m.kind == TRACE_FILE_SYNC ||
			    m.kind == TRACE_NODE_SYNC;
		if ((sync || m.kind == TRACE_FENCE) && stores_here(v, thread))
			VEC_PUSH(&v->s->fence,
				 ((struct finding_step){ .event = m.event,
							 .thread = thread,
							 .what = sync ? "sync" : "fence",
							 .text = at_text(v->c, m.place) }));
	}
}

static int by_event(const void *a, const void *b)
{
	const struct finding_step *x = a, *y = b;
	return (x->event > y->event) - (x->event < y->event);
}

static void add_lanes(struct view *v)
{
	const struct crash_history *h = v->c->h;
	for (size_t i = 0; i < v->lines; i++) {
		const struct crash_line *l = &h->line.p[v->line[i]];
		const char *path =
			crash_is_meta(h, v->line[i]) ? "names and sizes" : h->file.p[l->file].path;
		const char *slash = strrchr(path, '/');
		struct finding_lane lane = { 0 };
		lane.data = crash_is_meta(h, v->line[i])
				    ? xstrdup(path)
				    : xasprintf("%s+0x%" PRIx64, slash ? slash + 1 : path, l->off);
		add_stores(v, v->line[i], &lane);
		if (lane.step.n && lane.step.p[0].event < v->from)
			v->from = lane.step.p[0].event;
		VEC_PUSH(&v->s->lane, lane);
	}
	add_flushes(v);
	add_raises(v);
	add_fences(v);
	for (size_t i = 0; i < v->s->lane.n; i++)
		if (v->s->lane.p[i].step.n)
			qsort(v->s->lane.p[i].step.p, v->s->lane.p[i].step.n,
			      sizeof *v->s->lane.p[i].step.p, by_event);
	if (v->s->fence.n)
		qsort(v->s->fence.p, v->s->fence.n, sizeof *v->s->fence.p, by_event);
}

struct finding_scene *crash_scene(struct crash *c, const struct crash_cause *cause,
				  const char *state)
{
	uint64_t key = hash_seeded(state, strlen(state), cause->persisted), known;
	key = cause->lost.n ? hash_mix(key, hash_bytes(cause->lost.p,
						       cause->lost.n * sizeof *cause->lost.p))
			    : key;
	if (hmap_get(&c->scene_at, key, &known))
		return finding_scene_share(c->scene.p[known]);
	struct finding_scene *s = finding_scene_new();
	struct view v = { .c = c, .cause = cause, .s = s, .from = first_event(c->h, cause) };
	v.lines = lines_of(c->h, cause, v.line);
	crash_cursor_move(&c->reporting, cause->state.event);
	crash_diff_at(c, &c->reporting, &cause->state, add_field, &(struct collect){ c, s });
	add_flights(c->h, cause->state.event, s);
	add_lanes(&v);
	hmap_put(&c->scene_at, key, c->scene.n);
	VEC_PUSH(&c->scene, finding_scene_share(s));
	return s;
}

void crash_scenes_free(struct crash *c)
{
	for (size_t i = 0; i < c->scene.n; i++)
		finding_scene_drop(c->scene.p[i]);
	VEC_FREE(&c->scene);
	hmap_free(&c->scene_at);
}
