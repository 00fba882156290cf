/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transitions.
 *
 * A store opens its bytes; an act that waits (a flush, say) makes all open bytes that it covers
 * wait for its thread's fence (pending.c); that fence, or an act that persists, makes them
 * persistent. Which acts do what is the model's row (machine.h).
 */
#include <stdlib.h>
#include <string.h>

#include "model/internal.h"

struct model *model_new(const struct model_ops *ops, const struct trace_defs *defs,
			const struct model_watch *watch)
{
	struct model *m = xcalloc(1, sizeof *m);
	m->ops = ops;
	m->defs = defs;
	m->rest_after = TIRED;
	if (watch)
		m->watch = *watch;
	VEC_PUSH(&m->extra, (struct extra){ 0 });
	VEC_PUSH(&m->flight, (struct model_flight){ .flusher = MODEL_NOBODY });
	return m;
}

void model_free(struct model *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->process.n; i++) {
		imap_free(&m->process.p[i]->maps);
		hmap_free(&m->process.p[i]->where);
		VEC_FREE(&m->process.p[i]->thread);
		free(m->process.p[i]);
	}
	for (size_t i = 0; i < m->thread.n; i++) {
		VEC_FREE(&m->thread.p[i]->waiting);
		VEC_FREE(&m->thread.p[i]->op_lines);
		free(m->thread.p[i]);
	}
	model_lines_free(m);
	VEC_FREE(&m->process);
	VEC_FREE(&m->thread);
	VEC_FREE(&m->place);
	VEC_FREE(&m->extra);
	VEC_FREE(&m->copy);
	model_writers_free(&m->writers);
	model_marks_free(&m->volatiles);
	model_marks_free(&m->hinted);
	free(m);
}

/* ---- becoming persistent ---- */

/* These bytes are persistent from now on. */
static void guarantee(struct model *m, struct model_step *s, uint64_t mask)
{
	struct model_line *l = s->line;
	struct model_flight *f = model_flight_of(m, l);
	mask &= l->open;
	if (!mask)
		return;
	s->mask = mask;
	if (m->watch.persist)
		m->watch.persist(m->watch.arg, s);
	l->open &= ~mask;
	f->late &= ~mask;
	f->same &= ~mask;
	l->ever |= mask;
	model_unflush(m, l, mask);
	model_writers_persisted(m, l, mask);
	MODEL_EACH_WORD (w, f->again ? mask : 0)
		f->again &= (uint16_t) ~(3u << (w * 2));
	model_flight_end(m, l);
}

/* What the step's event does to open bytes of its line. */
static void cover(struct model *m, struct model_step *s, uint32_t index, uint64_t mask)
{
	if (s->effect == MODEL_PERSISTS)
		guarantee(m, s, mask);
	else if (s->effect == MODEL_WAITS && mask)
		model_add_pending(m, s->line, index, s->thread_id, mask);
}

/* ---- stores, flushes, fences ---- */

static void list_in_operation(struct model_thread *t, struct model_line *l, uint32_t index,
			      uint64_t mask)
{
	if (!t->depth)
		return;
	if (l->op != t->op) {
		l->op = t->op;
		l->in_op = 0;
		VEC_PUSH(&t->op_lines, index);
	}
	l->in_op |= (uint8_t)model_words(mask);
}

static void note_store(struct model_step *s, struct model_flight *f)
{
	struct model_line *l = s->line;
	l->storer = s->thread_id;
	l->last = (uint8_t)(__builtin_ctzll(s->mask) / 8);
	MODEL_EACH_WORD (w, s->mask) {
		uint64_t word = s->mask >> (w * 8) & 0xff;
		bool own = (l->open >> (w * 8) & word) == word && l->store[w] == s->where;
		unsigned again = own ? model_again(f, (int)w) + (model_again(f, (int)w) < 3) : 0;
		f->again = (uint16_t)((f->again & ~(3u << (w * 2))) | again << (w * 2));
		l->store[w] = s->where;
		l->when[w] = (uint32_t)s->ev->num;
	}
}

/* `data` is what the line holds from its first byte on, where the mask is set. */
static void store_line(struct model *m, struct model_step *s, uint64_t key, uint64_t mask,
		       const uint8_t *data)
{
	uint32_t index;
	struct model_line *l = s->line = model_line_get(m, key, &index);
	struct model_flight *f;
	s->mask = mask & ~model_unwatched(m, l);
	if (!s->mask)
		return;
	mask = s->mask;
	if (m->watch.store)
		m->watch.store(m->watch.arg, s);
	f = model_flight_begin(m, l);
	f->late &= ~mask;
	note_store(s, f);
	model_unflush(m, l, mask);
	if (data)
		model_values_store(m, s, f, data);
	else
		model_values_forget(m, l, mask);
	l->open |= mask;
	model_writers_add(m, f, mask, s->where);
	list_in_operation(s->thread, l, index, mask);
	cover(m, s, index, mask);
}

/* Splits [loc, loc+len) at line boundaries. */
static void store_range(struct model *m, struct model_step *s, uint64_t loc, uint64_t len)
{
	const uint8_t *data = s->ev->data;
	while (loc && len) {
		unsigned from = (unsigned)(loc % TRACE_LINE);
		uint64_t n = TRACE_LINE - from < len ? TRACE_LINE - from : len;
		store_line(m, s, loc / TRACE_LINE, model_mask(from, from + (unsigned)n),
			   data ? data - from : NULL);
		loc += n;
		len -= n;
		data = data ? data + n : NULL;
	}
}

static void do_flush(struct model *m, struct model_step *s)
{
	uint64_t loc = model_location(m, s->ev->process, s->ev->arg[0]);
	uint32_t index = 0;
	s->line = loc ? model_line_find(m, loc / TRACE_LINE, &index) : NULL;
	if (s->line && model_unwatched(m, s->line) == ~0ull)
		return;
	s->mask = s->line ? s->line->open : 0;
	if (m->watch.flush)
		m->watch.flush(m->watch.arg, s);
	if (!s->line || s->effect == MODEL_NOTHING)
		return;
	if (s->line->open)
		s->thread->flush_num = s->ev->num + 1;
	s->line->flush = s->where;
	s->line->flush_when = (uint32_t)s->ev->num;
	cover(m, s, index, s->line->open);
}

static void do_fence(struct model *m, struct model_step *s)
{
	struct model_thread *t = s->thread;
	s->line = NULL;
	if (m->watch.fence)
		m->watch.fence(m->watch.arg, s);
	t->fence_before = t->fence_num;
	t->fence_num = s->ev->num + 1;
	t->fence = s->where;
	if (s->effect != MODEL_COMPLETES)
		return;
	for (size_t i = 0; i < t->waiting.n; i++) {
		s->line = model_line(m, t->waiting.p[i]);
		guarantee(m, s, model_take_pending(m, s->line, s->thread_id));
		model_flight_end(m, s->line);
		model_lines_rest(m);
	}
	t->waiting.n = 0;
}

/* ---- ranges ---- */

static void persist_piece(struct model *m, struct model_line *l, uint64_t mask, void *arg)
{
	struct model_step *s = arg;
	s->line = l;
	guarantee(m, s, mask);
}

/* Nothing is known of these bytes any more, and nothing is to be said of them. */
static void forget_piece(struct model *m, struct model_line *l, uint64_t mask, void *arg)
{
	(void)arg;
	l->open &= ~mask;
	model_values_forget(m, l, mask);
	model_unflush(m, l, mask);
	model_writers_persisted(m, l, mask);
	model_flight_end(m, l);
}

static void gone_piece(struct model *m, struct model_line *l, uint64_t mask, void *arg)
{
	struct model_step *s = arg;
	s->line = l;
	s->mask = l->open & mask & ~model_unwatched(m, l);
	if (s->mask && m->watch.gone)
		m->watch.gone(m->watch.arg, s);
}

static void gone_and_forgotten(struct model *m, struct model_line *l, uint64_t mask, void *arg)
{
	gone_piece(m, l, mask, arg);
	forget_piece(m, l, mask, arg);
}

static void count_open(struct model *m, struct model_line *l, uint64_t mask, void *arg)
{
	struct model_step *s = arg;
	s->mask += (l->open & mask & ~model_unwatched(m, l)) != 0;
}

typedef void lines_in(struct model *, uint64_t lo, uint64_t hi, model_each *, void *arg);

/* Calls `each` for the lines behind [addr, addr+len) of a process. */
static void each_of(struct model *m, uint32_t process, uint64_t addr, uint64_t len, lines_in *in,
		    model_each *each, void *arg)
{
	struct process *p = model_process(m, process);
	for (size_t i = 0; i < p->maps.n; i++) {
		struct imap_item it = p->maps.p[i];
		uint64_t lo = it.lo > addr ? it.lo : addr,
			 hi = it.hi < addr + len ? it.hi : addr + len;
		if (lo < hi)
			in(m, lo + it.val, hi + it.val, each, arg);
	}
}

static void each_in(struct model *m, uint32_t process, uint64_t addr, uint64_t len,
		    model_each *each, void *arg)
{
	each_of(m, process, addr, len, model_lines_in, each, arg);
}

static void each_open_in(struct model *m, uint32_t process, uint64_t addr, uint64_t len,
			 model_each *each, void *arg)
{
	each_of(m, process, addr, len, model_open_lines_in, each, arg);
}

static void do_unmap(struct model *m, struct model_step *s)
{
	each_open_in(m, s->ev->process, s->ev->arg[0], s->ev->arg[1], gone_piece, s);
	model_unregister(m, s->ev->process, s->ev->arg[0], s->ev->arg[1]);
}

static void do_sync(struct model *m, struct model_step *s)
{
	const struct trace_event *e = s->ev;
	struct model_range r = model_covers(e);
	s->mask = 0;
	each_open_in(m, e->process, r.lo, r.hi - r.lo, count_open, s);
	if (m->watch.sync && model_is_pm(m, e->process, e->arg[0]))
		m->watch.sync(m->watch.arg, s);
	if (s->effect == MODEL_PERSISTS)
		each_open_in(m, e->process, r.lo, r.hi - r.lo, persist_piece, s);
}

static void do_file(struct model *m, struct model_step *s)
{
	const struct trace_event *e = s->ev;
	uint64_t base = model_file_byte(e->arg[0], 0), end = model_file_byte(e->arg[0] + 1, 0);
	switch (e->kind) {
	case TRACE_FILE_SYNC:
		if (s->effect == MODEL_PERSISTS)
			model_open_lines_in(m, base, end, persist_piece, s);
		break;
	case TRACE_FILE_WRITE:
		if (s->effect != MODEL_PERSISTS)
			store_range(m, s, base | e->arg[1], e->size);
		else
			model_lines_in(m, base | e->arg[1], (base | e->arg[1]) + e->size,
				       forget_piece, NULL);
		break;
	case TRACE_FILE_TRUNCATE:
		model_lines_in(m, base | e->arg[1], end, forget_piece, NULL);
		break;
	case TRACE_FILE_UNLINK: model_lines_in(m, base, end, forget_piece, NULL); break;
	default: break;
	}
}

static void declare_volatile(struct model *m, const struct trace_event *e, struct marks *which,
			     bool on)
{
	uint64_t loc = model_location(m, e->process, e->arg[0]);
	if (!loc || !e->arg[1])
		return;
	model_set_volatile(m, which, loc, loc + e->arg[1], on);
	if (on)
		model_lines_in(m, loc, loc + e->arg[1], forget_piece, NULL);
}

/* A library takes back part of a mapping because it keeps a lock there, and all of it because
 * the pool is closed: then what is open now stays so for good. */
static void do_hint_unmap(struct model *m, struct model_step *s)
{
	const struct imap_item *map =
		imap_find(&model_process(m, s->ev->process)->maps, s->ev->arg[0]);
	if (map && s->ev->arg[0] == map->lo && s->ev->arg[0] + s->ev->arg[1] >= map->hi)
		each_in(m, s->ev->process, s->ev->arg[0], s->ev->arg[1], gone_and_forgotten, s);
	else
		declare_volatile(m, s->ev, &m->hinted, true);
}

/* Requests of the program about a range. */
static void do_request(struct model *m, struct model_step *s)
{
	const struct trace_event *e = s->ev;
	switch (e->kind) {
	case TRACE_MARK_PM: model_register(m, e->process, e->arg[0], e->arg[1]); break;
	case TRACE_HINT_MAP:
		model_register(m, e->process, e->arg[0], e->arg[1]);
		declare_volatile(m, e, &m->hinted, false);
		break;
	case TRACE_MARK_VOLATILE: declare_volatile(m, e, &m->volatiles, true); break;
	case TRACE_HINT_UNMAP: do_hint_unmap(m, s); break;
	case TRACE_HINT_CLEAN:
		each_in(m, e->process, e->arg[0], e->arg[1], forget_piece, NULL);
		break;
	default: break;
	}
}

/* ---- operations ---- */

static void do_begin(struct model *m, struct model_step *s)
{
	struct model_thread *t = s->thread;
	t->tx += s->ev->kind == TRACE_TX_BEGIN;
	if (t->depth++ == 0) {
		t->op_begin = s->ev->num + 1;
		t->op_lines.n = 0;
		t->op = ++m->op;
	}
}

static void do_end(struct model *m, struct model_step *s)
{
	struct model_thread *t = s->thread;
	if (s->ev->kind == TRACE_TX_END && t->tx)
		t->tx--;
	if (t->depth == 0 || --t->depth)
		return;
	for (size_t i = 0; i < t->op_lines.n; i++) {
		s->line = model_line(m, t->op_lines.p[i]);
		s->mask = s->line->open;
		if (m->watch.op_end)
			m->watch.op_end(m->watch.arg, s);
		model_flight_of(m, s->line)->late |= s->line->open;
		model_lines_rest(m);
	}
	t->op_begin = t->op = 0;
	t->op_lines.n = 0;
}

static void process_gone(struct model *m, struct model_step *s, uint32_t process)
{
	struct process *p = model_process(m, process);
	if (p->ended)
		return;
	p->ended = true;
	each_open_in(m, process, 0, UINT64_MAX, gone_piece, s);
	p = model_process(m, process);
	imap_free(&p->maps);
	p->last = (struct imap_item){ 0 };
}

/* Where it happens, and what the model says that it does. */
static void locate(struct model *m, struct model_step *s)
{
	s->where = model_where_of(m, s->ev);
	struct model_place *p = &m->place.p[s->where];
	enum model_act act = model_act(s->ev, p->class);
	p->acts |= act != MODEL_NO_ACT;
	p->stores |= act == MODEL_STORE || act == MODEL_NT_STORE;
	s->effect = (enum model_effect)m->ops->effect[act];
}

void model_feed(struct model *m, const struct trace_event *e)
{
	struct model_step s = { .ev = e };
	s.thread_id = model_thread_of(m, e);
	s.thread = m->thread.p[s.thread_id];
	if (e->kind == TRACE_CALL || e->kind == TRACE_RETURN) /* for plug-ins */
		return;
	locate(m, &s);
	if (e->kind <= TRACE_FENCE)
		s.thread->pm_num = e->num + 1;
	switch (e->kind) {
	case TRACE_THREAD_EXIT: s.thread->cut = (e->flags & TRACE_F_UNWOUND) != 0; break;
	case TRACE_SIGNAL: s.thread->signal_num = e->num + 1; break;
	case TRACE_STORE:
		store_range(m, &s, model_location(m, e->process, e->arg[0]), e->size);
		s.thread->store_num = e->num + 1;
		s.thread->store = s.where;
		break;
	case TRACE_FLUSH: do_flush(m, &s); break;
	case TRACE_FENCE: do_fence(m, &s); break;
	case TRACE_MAP: model_map(m, e); break;
	case TRACE_UNMAP: do_unmap(m, &s); break;
	case TRACE_SYNC: do_sync(m, &s); break;
	case TRACE_OP_BEGIN:
	case TRACE_TX_BEGIN: do_begin(m, &s); break;
	case TRACE_OP_END:
	case TRACE_TX_END: do_end(m, &s); break;
	case TRACE_EXIT: process_gone(m, &s, e->process); break;
	case TRACE_FILE_SYNC:
	case TRACE_FILE_WRITE:
	case TRACE_FILE_TRUNCATE:
	case TRACE_FILE_UNLINK: do_file(m, &s); break;
	default: do_request(m, &s); break;
	}
	model_lines_rest(m);
}

void model_end(struct model *m, const struct trace_event *last)
{
	struct model_step s = { .ev = last };
	if (!last)
		return;
	s.thread_id = model_thread_of(m, last);
	s.thread = m->thread.p[s.thread_id];
	s.where = model_where_of(m, last);
	for (uint32_t i = 0; i < m->process.n; i++)
		process_gone(m, &s, i);
}
