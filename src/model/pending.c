/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What waits for a fence.
 *
 * For each line and thread T let P(T) be the open bytes that T has flushed since they were
 * stored. A store takes its bytes out of every P; a flush by T sets P(T) to all open bytes; a
 * fence by T makes P(T) persistent. Nearly always at most one thread has flushed a line, so
 * the first P lives in the line's flight (`flusher`, `flushed`), further ones in a list.
 *
 * A thread keeps the lines for which it holds a P, even an empty one, in `waiting`, so that a
 * fence costs what was flushed.
 */
#include "model/internal.h"

#include <stdlib.h>

uint64_t model_pending(const struct model *m, const struct model_line *l)
{
	const struct model_flight *f = model_flight(m, l);
	uint64_t mask = f->flushed;
	for (uint32_t i = f->more; i; i = m->extra.p[i].next)
		mask |= m->extra.p[i].mask;
	return mask & l->open;
}

uint64_t model_pending_by(const struct model *m, const struct model_line *l, uint32_t thread_id)
{
	const struct model_flight *f = model_flight(m, l);
	if (f->flusher == thread_id)
		return f->flushed & l->open;
	for (uint32_t i = f->more; i; i = m->extra.p[i].next)
		if (m->extra.p[i].thread == thread_id)
			return m->extra.p[i].mask & l->open;
	return 0;
}

/* The newest values of these bytes are others now: no earlier flush covers them. */
void model_unflush(struct model *m, struct model_line *l, uint64_t mask)
{
	struct model_flight *f = model_flight_of(m, l);
	f->flushed &= ~mask;
	for (uint32_t i = f->more; i; i = m->extra.p[i].next)
		m->extra.p[i].mask &= ~mask;
}

/* Adds bytes to P(T), and the line to T's list if T holds no P for it yet. */
void model_add_pending(struct model *m, struct model_line *l, uint32_t index, uint32_t id,
		       uint64_t mask)
{
	struct model_flight *f = model_flight_begin(m, l);
	uint32_t i;
	if (f->flusher == id) {
		f->flushed |= mask;
		return;
	}
	for (i = f->more; i; i = m->extra.p[i].next)
		if (m->extra.p[i].thread == id) {
			m->extra.p[i].mask |= mask;
			return;
		}
	if (f->flusher == MODEL_NOBODY) {
		f->flusher = id;
		f->flushed = mask;
	} else {
		if (!m->extra_free) {
			VEC_PUSH(&m->extra, (struct extra){ 0 });
			m->extra_free = (uint32_t)m->extra.n - 1;
		}
		i = m->extra_free;
		m->extra_free = m->extra.p[i].next;
		m->extra.p[i] = (struct extra){ mask, id, f->more };
		f->more = i;
	}
	VEC_PUSH(&m->thread.p[id]->waiting, index);
}

/* Takes P(T) from the line; a further thread's P moves into the line. */
uint64_t model_take_pending(struct model *m, struct model_line *l, uint32_t id)
{
	struct model_flight *f = model_flight_of(m, l);
	uint64_t mask = 0;
	uint32_t *link = &f->more, i;
	if (f->flusher == id) {
		mask = f->flushed;
		f->flusher = MODEL_NOBODY;
		f->flushed = 0;
		if ((i = f->more) == 0)
			return mask;
		f->flusher = m->extra.p[i].thread;
		f->flushed = m->extra.p[i].mask;
	} else {
		while (*link && m->extra.p[*link].thread != id)
			link = &m->extra.p[*link].next;
		if ((i = *link) == 0)
			return 0;
		mask = m->extra.p[i].mask;
	}
	*link = m->extra.p[i].next;
	m->extra.p[i].next = m->extra_free;
	m->extra_free = i;
	return mask;
}
