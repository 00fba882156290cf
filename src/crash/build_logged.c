/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a trace to a history: names that a sync brings to disk ahead of others.
 *
 * A file system that logs what is synced (Btrfs) has all names in order, as of its last commit, and beside
 * them, newer ones that were synced:
 *
 *      names            a made ── b made ── c made ╎ crash
 *                         ▲ commit            ▲ fsync(c): a and c are there, b is not
 *
 * A sync of a file brings its own names, and those of the folders that these are in; a sync of a folder brings
 * the names in it, too. A name comes with those that renames tie it to.
 */
#include <stdlib.h>

#include "crash/build.h"

/* A name has changed: it is one of the node's own, or one in the node. */
struct named {
	uint32_t tied, folder; /* a node; TRACE_NO_NODE */
	bool own;
	uint64_t event;
};

struct logged {
	VEC(struct named) * node;
	uint64_t *done; /* by node: the event + 1 whose sync has reached it */
};

void crash_build_logged_start(struct build *b, const uint32_t *tied, uint32_t entries)
{
	uint32_t n = trace_nodes(b->defs);
	b->logged = xcalloc(1, sizeof *b->logged);
	b->logged->node = xcalloc(n + 1, sizeof *b->logged->node);
	b->logged->done = xcalloc(n + 1, sizeof *b->logged->done);
	b->h->tied = xmalloc((entries + 1) * sizeof *tied);
	b->h->logged = xcalloc(entries + 1, sizeof *b->h->logged);
	b->h->entries = entries;
	for (uint32_t i = 0; i < entries; i++)
		b->h->tied[i] = tied[i];
}

void crash_build_logged_stop(struct build *b)
{
	if (!b->logged)
		return;
	for (uint32_t i = 0; i < trace_nodes(b->defs); i++)
		VEC_FREE(&b->logged->node[i]);
	free(b->logged->node);
	free(b->logged->done);
	free(b->logged);
	b->logged = NULL;
}

static uint32_t node_of(const struct build *b, uint32_t thing)
{
	uint32_t node =
		thing == TRACE_NOTHING ? TRACE_NO_NODE : trace_tree_thing(b->h->tree, thing)->node;
	return node < trace_nodes(b->defs) ? node : TRACE_NO_NODE;
}

static void add(struct build *b, uint32_t node, struct named n)
{
	if (node != TRACE_NO_NODE)
		VEC_PUSH(&b->logged->node[node], n);
}

void crash_build_logged_change(struct build *b, uint32_t entry)
{
	const struct trace_entry *e = trace_tree_entry(b->h->tree, entry);
	size_t k = BISECT(i, e->at.n, i == 0 || e->at.p[i].event < b->ev->num);
	struct named n = { b->h->tied[entry], node_of(b, e->folder), false, b->ev->num };
	add(b, n.folder, n);
	n.own = true;
	add(b, node_of(b, e->at.p[k - 1].thing), n);
	if (k < e->at.n)
		add(b, node_of(b, e->at.p[k].thing), n);
}

static void bring(struct build *b, const struct named *n)
{
	crash_logged_names *l = &b->h->logged[n->tied];
	uint64_t upto = n->event;
	if (l->n && l->p[l->n - 1].upto > upto)
		upto = l->p[l->n - 1].upto;
	VEC_PUSH(l, ((struct crash_logged){ b->ev->num, upto }));
}

/* The node is reached by this sync for the first time. */
static bool reach(struct build *b, uint32_t node)
{
	struct logged *l = b->logged;
	if (node == TRACE_NO_NODE || l->done[node] == b->ev->num + 1)
		return false;
	l->done[node] = b->ev->num + 1;
	return true;
}

/* The node's own names, and those of the folders that they are in. */
static void bring_own(struct build *b, uint32_t node)
{
	VEC(uint32_t) left = { 0 };
	if (reach(b, node))
		VEC_PUSH(&left, node);
	while (left.n) {
		node = left.p[--left.n];
		for (size_t i = 0; i < b->logged->node[node].n; i++) {
			const struct named *n = &b->logged->node[node].p[i];
			if (!n->own)
				continue;
			bring(b, n);
			if (reach(b, n->folder))
				VEC_PUSH(&left, n->folder);
		}
	}
	VEC_FREE(&left);
}

void crash_build_logged_sync(struct build *b, uint32_t node)
{
	if (!b->logged)
		return;
	bring_own(b, node);
	for (size_t i = 0; i < b->logged->node[node].n; i++)
		if (!b->logged->node[node].p[i].own)
			bring(b, &b->logged->node[node].p[i]);
	b->logged->node[node].n = 0; /* what is synced stays so */
}
