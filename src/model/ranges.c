/* SPDX-License-Identifier: BSD-3-Clause */
/* From addresses to locations: what each process has mapped, and what is declared volatile. */
#include <stdlib.h>
#include <string.h>

#include "model/internal.h"

/* A child made by fork sees what its parent had mapped. */
static void inherit(struct model *m, uint32_t child)
{
	const struct trace_process_def *c = trace_process(m->defs, child);
	if (!c || c->birth != TRACE_BIRTH_FORK || c->parent_index >= m->process.n)
		return;
	const struct imap *from = &m->process.p[c->parent_index]->maps;
	for (size_t i = 0; i < from->n; i++)
		imap_set(&m->process.p[child]->maps, from->p[i].lo, from->p[i].hi, from->p[i].val);
}

struct process *model_process_new(struct model *m, uint32_t process)
{
	while (m->process.n <= process)
		VEC_PUSH(&m->process, xcalloc(1, sizeof(struct process)));
	struct process *p = m->process.p[process];
	if (!p->known) {
		p->known = true;
		inherit(m, process);
	}
	return p;
}

uint64_t model_location(struct model *m, uint32_t process, uint64_t addr)
{
	struct process *p = model_process(m, process);
	if (addr < p->last.lo || addr >= p->last.hi) {
		const struct imap_item *it = imap_find(&p->maps, addr);
		if (!it)
			return 0;
		p->last = *it;
	}
	return addr + p->last.val;
}

bool model_is_pm(struct model *m, uint32_t process, uint64_t addr)
{
	return model_location(m, process, addr) != 0;
}

void model_map(struct model *m, const struct trace_event *e)
{
	struct process *p = model_process(m, e->process);
	uint64_t loc = model_file_byte(e->arg[2], e->arg[3]);
	if (!(e->flags & TRACE_F_PM))
		return;
	imap_set(&p->maps, e->arg[0], e->arg[0] + e->arg[1], loc - e->arg[0]);
	p->last = (struct imap_item){ 0 };
}

/* PM without a file, named by the program; where a file is mapped already, that stays. */
void model_register(struct model *m, uint32_t process, uint64_t addr, uint64_t len)
{
	struct process *p = model_process(m, process);
	uint64_t base = LOC_ANONYMOUS | (uint64_t)(process & 0x7fff) << 48, at = addr,
		 end = addr + len;
	while (at < end) {
		const struct imap_item *it = imap_find(&p->maps, at);
		uint64_t stop = end;
		if (it) {
			at = it->hi;
			continue;
		}
		for (size_t i = 0; i < p->maps.n; i++)
			if (p->maps.p[i].lo > at && p->maps.p[i].lo < stop)
				stop = p->maps.p[i].lo;
		imap_set(&p->maps, at, stop, base);
		at = stop;
	}
	p->last = (struct imap_item){ 0 };
}

void model_unregister(struct model *m, uint32_t process, uint64_t addr, uint64_t len)
{
	struct process *p = model_process(m, process);
	imap_clear(&p->maps, addr, addr + len);
	p->last = (struct imap_item){ 0 };
}

void model_set_volatile(struct model *m, struct imap *which, uint64_t lo, uint64_t hi, bool on)
{
	if (on)
		imap_set(which, lo, hi, 1);
	else
		imap_clear(which, lo, hi);
	m->volatile_age++;
}

bool model_is_volatile(struct model *m, uint32_t process, uint64_t addr)
{
	uint64_t loc = model_location(m, process, addr);
	return loc && (imap_find(&m->volatiles, loc) || imap_find(&m->hinted, loc));
}

/* The bytes of a line that lie in the map's ranges. */
static uint64_t bytes_in(const struct imap *map, uint64_t lo)
{
	uint64_t mask = 0, end = lo + TRACE_LINE;
	for (uint64_t at = lo; map->n && at < end;) {
		const struct imap_item *it = imap_find(map, at);
		uint64_t to = it && it->hi < end ? it->hi : it ? end : at + 1;
		if (it)
			mask |= model_mask((unsigned)(at - lo), (unsigned)(to - lo));
		at = to;
	}
	return mask;
}

/* The line's volatile bytes, brought up to date when the ranges have changed. */
uint64_t model_unwatched(struct model *m, struct model_line *l)
{
	if (!m->volatiles.n && !m->hinted.n)
		return 0;
	if (l->volatile_age != m->volatile_age) {
		uint64_t lo = l->key * TRACE_LINE;
		l->volatile_age = m->volatile_age;
		l->unwatched = bytes_in(&m->volatiles, lo) | bytes_in(&m->hinted, lo);
	}
	return l->unwatched;
}
