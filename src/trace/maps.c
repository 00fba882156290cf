/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What each process has mapped: an interval map from addresses to places in files.
 *
 * A fork starts with its parent's mappings as they were at the FORK event, which are kept until
 * the child appears; or, if the child's events come before that one, as they are then.
 */
#include <stdlib.h>

#include "trace/internal.h"

struct mapping {
	uint64_t addr, offset;
	uint32_t file;
};
struct maps {
	struct imap range; /* value: index in the list */
	VEC(struct mapping) list;
};
struct trace_maps {
	const struct trace_defs *defs;
	VEC(struct maps) process;
	struct hmap forked; /* parent's index, child's pid -> index in fork; EARLY: it is there */
	VEC(struct maps) fork;
};
#define EARLY UINT64_MAX

struct trace_maps *trace_maps_new(const struct trace_defs *defs)
{
	struct trace_maps *m = xcalloc(1, sizeof *m);
	m->defs = defs;
	return m;
}

static void free_maps(struct maps *m)
{
	imap_free(&m->range);
	VEC_FREE(&m->list);
}

void trace_maps_free(struct trace_maps *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->process.n; i++)
		free_maps(&m->process.p[i]);
	for (size_t i = 0; i < m->fork.n; i++)
		free_maps(&m->fork.p[i]);
	VEC_FREE(&m->process);
	VEC_FREE(&m->fork);
	hmap_free(&m->forked);
	free(m);
}

static void copy_maps(struct maps *to, const struct maps *from)
{
	VEC_RESERVE(&to->range, from->range.n);
	VEC_RESERVE(&to->list, from->list.n);
	if (from->range.n)
		memcpy(to->range.p, from->range.p, from->range.n * sizeof *to->range.p);
	if (from->list.n)
		memcpy(to->list.p, from->list.p, from->list.n * sizeof *to->list.p);
	to->range.n = from->range.n;
	to->list.n = from->list.n;
}

static void map_event(struct trace_maps *all, const struct trace_event *ev)
{
	struct maps *m = &all->process.p[ev->process];
	uint64_t addr = ev->arg[0], end = addr + ev->arg[1];
	if (end < addr)
		return;
	imap_clear(&m->range, addr, end);
	/* those that are not PM count too: they have loads, but no stores */
	if (ev->kind == TRACE_UNMAP || ev->arg[2] >= trace_files(all->defs) ||
	    ev->arg[3] > INT64_MAX || ev->arg[1] > INT64_MAX)
		return;
	if (!m->range.n)
		m->list.n = 0;
	imap_set(&m->range, addr, end, m->list.n);
	VEC_PUSH(&m->list, ((struct mapping){ addr, ev->arg[3], (uint32_t)ev->arg[2] }));
}

static uint64_t child_key(uint32_t parent, uint64_t pid)
{
	return (uint64_t)parent << 32 | pid;
}

static void fork_event(struct trace_maps *m, const struct trace_event *ev)
{
	uint64_t key = child_key(ev->process, ev->arg[0]), at = m->fork.n;
	struct maps copy = { 0 };
	if (ev->arg[0] > UINT32_MAX)
		return;
	if (hmap_get(&m->forked, key, &at) && at == EARLY) {
		hmap_del(&m->forked, key);
		return;
	}
	copy_maps(&copy, &m->process.p[ev->process]);
	if (at == m->fork.n) {
		VEC_PUSH(&m->fork, copy);
		hmap_put(&m->forked, key, at);
	} else { /* of an earlier child, which was never traced */
		free_maps(&m->fork.p[at]);
		m->fork.p[at] = copy;
	}
}

static void add_process(struct trace_maps *m, const struct trace_process_def *def)
{
	struct maps maps = { 0 };
	uint64_t key = child_key(def->parent_index, def->pid), at;
	if (def->birth == TRACE_BIRTH_FORK && def->parent_index < m->process.n) {
		if (hmap_get(&m->forked, key, &at) && at != EARLY) {
			maps = m->fork.p[at];
			m->fork.p[at] = (struct maps){ 0 };
			hmap_del(&m->forked, key);
		} else {
			copy_maps(&maps, &m->process.p[def->parent_index]);
			hmap_put(&m->forked, key, EARLY);
		}
	}
	VEC_PUSH(&m->process, maps);
}

/* Processes that had appeared by event `num`, or are needed for it. */
static void add_processes(struct trace_maps *m, uint64_t num, uint32_t process)
{
	while (m->process.n < trace_processes(m->defs)) {
		const struct trace_process_def *def =
			trace_process(m->defs, (uint32_t)m->process.n);
		if (def->first_event > num && m->process.n > process)
			break;
		add_process(m, def);
	}
}

int trace_maps_apply(struct trace_maps *m, const struct trace_event *ev, struct err *err)
{
	add_processes(m, ev->num, ev->process);
	if (ev->process >= m->process.n)
		return err_set(err, EXIT_USAGE, "an event of an unknown process");
	switch (ev->kind) {
	case TRACE_MAP:
	case TRACE_UNMAP: map_event(m, ev); break;
	case TRACE_FORK: fork_event(m, ev); break;
	}
	return 0;
}

bool trace_maps_locate(const struct trace_maps *m, uint32_t process, uint64_t addr, uint32_t *file,
		       uint64_t *off, uint64_t *len)
{
	const struct imap_item *it;
	const struct mapping *map;
	if (process >= m->process.n || !(it = imap_find(&m->process.p[process].range, addr)))
		return false;
	map = &m->process.p[process].list.p[it->val];
	*file = map->file;
	*off = map->offset + (addr - map->addr);
	*len = it->hi - addr;
	return *off <= INT64_MAX - *len;
}
