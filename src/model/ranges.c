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

static void watch_anew(struct model *m, struct model_line *l, uint64_t mask, void *arg)
{
	(void)mask, (void)arg;
	l->marked = model_marks(m, l->key) != 0;
}

void model_set_volatile(struct model *m, struct marks *which, uint64_t lo, uint64_t hi, bool on)
{
	model_marks_set(which, lo, hi, on);
	model_lines_in(m, lo, hi, watch_anew, NULL);
}

bool model_is_volatile(struct model *m, uint32_t process, uint64_t addr)
{
	uint64_t loc = model_location(m, process, addr);
	return loc && model_marks(m, loc / TRACE_LINE) >> (loc % TRACE_LINE) & 1;
}
