/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fork server: one process whose children, one after the other, go on with its story.
 *
 *   ring   [ prefix … SYM_READY | run 1 … SYM_END ]
 *                               ^ mark, and where the server's head stands
 *          [ prefix … SYM_READY | run 2 … ]          after a rewind
 *
 * A child writes into the server's slot with the head that it has inherited. When it has ended
 * and all of it was taken in, everything is set back to the mark: the next child's events get
 * the same numbers, and its ids replace those that the last one defined.
 */
#include <stdlib.h>

#include "trace/ring.h"

void trace_live_sym(struct trace_live *l, trace_sink *sym)
{
	l->sym = sym;
}

enum taken trace_live_take_sym(struct trace_live *l, struct slot *s, struct trace_event *r,
			       struct err *err)
{
	if (r->kind == TRACE_SYM_READY) {
		l->mark = (struct live_mark){ .slot = (unsigned)(s - l->slot),
					      .thread = s->thread,
					      .process = s->process,
					      .events = l->events,
					      .files = trace_files(&l->defs),
					      .nodes = trace_nodes(&l->defs),
					      .kept = l->kept,
					      .marked = true };
		l->mark.answered = l->ring->slot[l->mark.slot].answered;
	}
	if (!l->sym)
		return TAKEN;
	r->num = l->events;
	r->process = s->process;
	r->thread = s->thread;
	r->ip = trace_live_ip(l, r->process, r->site);
	return l->sym(l->arg, r, err) ? TAKEN_FAILED : TAKEN;
}

static void forget_in(struct hmap *m, uint32_t first)
{
	for (size_t i = 0; i < m->cap; i++)
		while (m->used[i] && m->val[i] >= first)
			hmap_del(m, m->key[i]); /* which may put another one here */
}

/* The first `n` files are those that are found by device and inode. */
static void find_first(struct hmap *of, const struct live_file *file, uint32_t n)
{
	forget_in(of, n);
	for (uint32_t i = 0; i < n; i++)
		hmap_put(of, hash_mix(file[i].dev, file[i].ino), i);
}

/* Files that a child has made known are not the next one's. */
static void forget_files(struct trace_live *l, uint32_t first)
{
	if (trace_files(&l->defs) <= first)
		return;
	for (size_t i = 0; i < l->process.n; i++)
		forget_in(&l->process.p[i].file, first);
	find_first(&l->file_of, l->file.p, first);
	l->file.n = first;
	trace_defs_cut_files(&l->defs, first);
}

/* … nor are nodes, and which of them are PM. */
static void forget_nodes(struct trace_live *l, const struct live_mark *m)
{
	for (uint32_t i = 0; i < m->nodes; i++)
		if (l->node.p[i].pm > m->files)
			l->node.p[i].pm = 0;
	l->kept = m->kept;
	if (trace_nodes(&l->defs) <= m->nodes)
		return;
	for (size_t i = 0; i < l->process.n; i++)
		forget_in(&l->process.p[i].node, m->nodes);
	find_first(&l->node_of, l->node.p, m->nodes);
	l->node.n = m->nodes;
	trace_defs_cut_nodes(&l->defs, m->nodes);
}

bool trace_live_marked(const struct trace_live *l, uint64_t *events)
{
	*events = l->mark.events;
	return l->mark.marked;
}

void trace_live_rewind(struct trace_live *l, uint64_t head)
{
	const struct live_mark *m = &l->mark;
	struct slot *s = &l->slot[m->slot];
	struct ring_slot *shared = &l->ring->slot[m->slot];
	if (!m->marked || !s->active)
		return;
	forget_files(l, m->files);
	forget_nodes(l, m);
	s->thread = m->thread;
	s->process = m->process;
	s->kept = 0;
	s->ended = s->bad = false;
	s->tail = s->published = head;
	l->events = m->events;
	memset(l->recent, 0, sizeof l->recent);
	if (m->process < l->defs.process.n)
		l->defs.process.p[m->process]->def.ended = 0;
	shared->pid = s->pid;
	shared->answered = m->answered;
	shared->tail = head;
	__atomic_store_n(&shared->head, head, __ATOMIC_RELEASE);
}

void trace_live_reset(struct trace_live *l)
{
	for (unsigned i = 0; i < RING_SLOTS; i++)
		if (l->slot[i].active || l->ring->slot[i].state != RING_FREE)
			trace_live_release(l, i, NULL);
	for (size_t i = 0; i < l->process.n; i++) {
		hmap_free(&l->process.p[i].file);
		hmap_free(&l->process.p[i].node);
	}
	trace_defs_free(&l->defs);
	l->process.n = l->file.n = l->node.n = 0;
	l->kept = 0;
	hmap_free(&l->file_of);
	hmap_free(&l->node_of);
	hmap_free(&l->forked);
	hmap_free(&l->newest);
	memset(l->recent, 0, sizeof l->recent);
	l->mark = (struct live_mark){ 0 };
	l->events = 0;
	l->ring->stop = 0;
}
