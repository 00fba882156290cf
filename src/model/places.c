/* SPDX-License-Identifier: BSD-3-Clause */
/* Who does something, and where: threads and places, each with a number; and what of them can be asked. */
#include "model/internal.h"

uint32_t model_thread_of(struct model *m, const struct trace_event *e)
{
	struct process *p = model_process(m, e->process);
	if (m->last_thread.process == p && m->last_thread.thread == e->thread)
		return m->last_thread.id;
	while (p->thread.n <= e->thread)
		VEC_PUSH(&p->thread, 0);
	if (!p->thread.p[e->thread]) {
		struct model_thread *t = xcalloc(1, sizeof *t);
		t->process = e->process;
		t->thread = e->thread;
		VEC_PUSH(&m->thread, t);
		p->thread.p[e->thread] = (uint32_t)m->thread.n;
	}
	m->last_thread.process = p;
	m->last_thread.thread = e->thread;
	return m->last_thread.id = p->thread.p[e->thread] - 1;
}

static model_where intern_where(struct model *m, struct process *p, uint64_t key,
				const struct trace_event *e)
{
	const struct trace_site_def *site = trace_site(m->defs, e->process, e->site);
	uint64_t found;
	if (hmap_get(&p->where, key, &found))
		return (model_where)found;
	struct model_place place = { .process = e->process,
				     .site = e->site,
				     .ctx = e->ctx,
				     .class = site ? site->class : TRACE_SITE_OTHER,
				     .ip = e->ip };
	VEC_PUSH(&m->place, place);
	hmap_put(&p->where, key, m->place.n - 1);
	return (model_where)(m->place.n - 1);
}

model_where model_where_of(struct model *m, const struct trace_event *e)
{
	struct process *p = model_process(m, e->process);
	uint64_t key = (uint64_t)e->ctx << 32 | e->site;
	unsigned slot = (e->site ^ e->ctx * 31) % RECENT;
	if (p->recent[slot].key != key + 1) {
		p->recent[slot].where = intern_where(m, p, key, e);
		p->recent[slot].key = key + 1;
	}
	return p->recent[slot].where;
}

const struct model_place *model_place(const struct model *m, model_where w)
{
	return &m->place.p[w];
}

size_t model_places(const struct model *m)
{
	return m->place.n;
}

struct model_thread *model_thread(struct model *m, uint32_t id)
{
	return m->thread.p[id];
}

size_t model_threads(const struct model *m)
{
	return m->thread.n;
}

const struct model_ops *model_ops(const struct model *m)
{
	return m->ops;
}

struct model_line *model_line_at(struct model *m, uint32_t process, uint64_t addr)
{
	uint64_t loc = model_location(m, process, addr);
	return loc ? model_line_find(m, loc / TRACE_LINE, NULL) : NULL;
}

struct model_line *model_line_of_key(struct model *m, uint64_t key)
{
	return model_line_find(m, key, NULL);
}

uint64_t model_when(uint32_t when, uint64_t now)
{
	return now - (uint32_t)((uint32_t)now - when);
}
