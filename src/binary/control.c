/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control dependence: which branches decide whether a block is executed.
 *
 * Block B depends on block A if A has a way on from which B is always met, and another from which it may
 * not be (Ferrante, Ottenstein and Warren, 1987). With post-dominators: for each way A -> B such that B does not
 * post-dominate A, all blocks from B up the tree of post-dominators, to that of A, which is left out:
 *
 *	     A            ways        post-dominators      depend on A
 *	    / \           A -> B      B: D, C: D           B, C
 *	   B   C          A -> C      D: exit
 *	    \ /           B -> D      A: D
 *	     D            C -> D
 *
 * Post-dominators are found as Cooper, Harvey and Kennedy do (2001). A loop without an end gets a way out from
 * its last block. An indirect jump whose table is not known may leave the function, and may lead to
 * each block of it that nothing else leads to: the targets of such a table are of this kind.
 */
#include <stdlib.h>
#include <string.h>

#include "binary/view.h"

/* ---- of any graph ---- */

struct graph {
	uint32_t n; /* the exit is node n */
	VEC(struct binary_way) way;
	uint32_t *first, *to;     /* ways on, by node */
	uint32_t *pfirst, *pfrom; /* ways to it */
	uint32_t *order;          /* nodes in post-order of the walk back from the exit */
	uint32_t *number; /* where they are in it, from 1; 0: it does not lead to the exit */
	uint32_t norder;
	uint32_t *up; /* the immediate post-dominator; NONE: not known */
};

/* Sorts the ways by one of their ends. */
static void list_ways(const struct graph *g, bool back, uint32_t *first, uint32_t *other)
{
	memset(first, 0, (g->n + 2) * sizeof *first);
	for (size_t i = 0; i < g->way.n; i++)
		first[(back ? g->way.p[i].to : g->way.p[i].from) + 1]++;
	for (uint32_t i = 0; i <= g->n; i++)
		first[i + 1] += first[i];
	for (size_t i = g->way.n; i-- > 0;) {
		const struct binary_way *w = &g->way.p[i];
		uint32_t at = back ? w->to : w->from;
		/* filled from the end of its part, which is moved to the begin below */
		other[--first[at + 1]] = back ? w->from : w->to;
	}
	/* first[i + 1] is where part i begins now */
	memmove(first, first + 1, (g->n + 1) * sizeof *first);
	first[g->n + 1] = (uint32_t)g->way.n;
}

static void index_ways(struct graph *g)
{
	g->to = xrealloc(g->to, (g->way.n + 1) * sizeof *g->to);
	g->pfrom = xrealloc(g->pfrom, (g->way.n + 1) * sizeof *g->pfrom);
	list_ways(g, false, g->first, g->to);
	list_ways(g, true, g->pfirst, g->pfrom);
}

/* Walks back from the exit. */
static void walk_back(struct graph *g)
{
	VEC(struct binary_way) path = { 0 }; /* node, and the next of its ways to look at */
	uint8_t *met = xcalloc(g->n + 1, 1);
	memset(g->number, 0, (g->n + 1) * sizeof *g->number);
	g->norder = 0;
	met[g->n] = 1;
	VEC_PUSH(&path, ((struct binary_way){ g->n, g->pfirst[g->n] }));
	while (path.n) {
		struct binary_way *top = &path.p[path.n - 1];
		uint32_t next = top->to < g->pfirst[top->from + 1] ? g->pfrom[top->to++] : NONE;
		if (next == NONE) {
			g->order[g->norder++] = top->from;
			g->number[top->from] = g->norder;
			path.n--;
		} else if (!met[next]) {
			met[next] = 1;
			VEC_PUSH(&path, ((struct binary_way){ next, g->pfirst[next] }));
		}
	}
	VEC_FREE(&path);
	free(met);
}

static uint32_t meet(const struct graph *g, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (g->number[a] < g->number[b])
			a = g->up[a];
		while (g->number[b] < g->number[a])
			b = g->up[b];
	}
	return a;
}

static void find_post_dominators(struct graph *g)
{
	bool changed = true;
	for (uint32_t i = 0; i <= g->n; i++)
		g->up[i] = NONE;
	g->up[g->n] = g->n;
	while (changed) {
		changed = false;
		for (uint32_t i = g->norder - 1; i-- > 0;) { /* the exit is the last */
			uint32_t node = g->order[i], up = NONE;
			for (uint32_t k = g->first[node]; k < g->first[node + 1]; k++)
				if (g->up[g->to[k]] != NONE)
					up = up == NONE ? g->to[k] : meet(g, up, g->to[k]);
			changed |= g->up[node] != up;
			g->up[node] = up;
		}
	}
}

/* Every node leads to the exit in the end. */
static void add_exits(struct graph *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->first[i] == g->first[i + 1])
			VEC_PUSH(&g->way, ((struct binary_way){ i, g->n }));
	index_ways(g);
	walk_back(g);
	for (uint32_t i = g->n; i-- > 0;)
		if (!g->number[i]) {
			VEC_PUSH(&g->way, ((struct binary_way){ i, g->n }));
			index_ways(g);
			walk_back(g);
		}
}

static int by_both(const void *a, const void *b)
{
	const struct binary_way *x = a, *y = b;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

/* Pairs (node, what it depends on), sorted, without repetition. */
static void depend(const struct graph *g, struct binary_control *out)
{
	VEC(struct binary_way) pair = { 0 };
	size_t n = 0;
	for (size_t i = 0; i < g->way.n; i++) {
		uint32_t a = g->way.p[i].from;
		for (uint32_t b = g->way.p[i].to; b != g->up[a] && b != g->n; b = g->up[b])
			VEC_PUSH(&pair, ((struct binary_way){ b, a }));
	}
	if (pair.n)
		qsort(pair.p, pair.n, sizeof *pair.p, by_both);
	out->first = xcalloc(g->n + 1, sizeof *out->first);
	out->on = xmalloc((pair.n + 1) * sizeof *out->on);
	for (size_t i = 0; i < pair.n; i++) {
		if (i && !by_both(&pair.p[i - 1], &pair.p[i]))
			continue;
		out->on[n++] = pair.p[i].to;
		out->first[pair.p[i].from + 1] = (uint32_t)n;
	}
	for (uint32_t i = 0; i < g->n; i++)
		if (out->first[i + 1] < out->first[i])
			out->first[i + 1] = out->first[i];
	VEC_FREE(&pair);
}

void binary_control(uint32_t n, const struct binary_way *way, size_t nways,
		    struct binary_control *out)
{
	struct graph g = { .n = n };
	g.first = xcalloc((size_t)n + 2, sizeof *g.first);
	g.pfirst = xcalloc((size_t)n + 2, sizeof *g.pfirst);
	g.order = xcalloc((size_t)n + 1, sizeof *g.order);
	g.number = xcalloc((size_t)n + 1, sizeof *g.number);
	g.up = xcalloc((size_t)n + 1, sizeof *g.up);
	for (size_t i = 0; i < nways; i++)
		VEC_PUSH(&g.way, way[i]);
	index_ways(&g);
	add_exits(&g);
	find_post_dominators(&g);
	depend(&g, out);
	VEC_FREE(&g.way);
	free(g.first);
	free(g.to);
	free(g.pfirst);
	free(g.pfrom);
	free(g.order);
	free(g.number);
	free(g.up);
}

void binary_control_free(struct binary_control *c)
{
	free(c->first);
	free(c->on);
}

/* ---- of a program ---- */

static void add_way(binary_ways *ways, uint32_t from, uint32_t to)
{
	VEC_PUSH(ways, ((struct binary_way){ from, to }));
}

uint32_t binary_in_unit(const struct file *f, uint32_t unit, uint32_t block)
{
	const uint32_t *list = f->unit_block + f->unit_first[unit];
	uint32_t n = f->unit_first[unit + 1] - f->unit_first[unit];
	return (uint32_t)BISECT(i, n, list[i] < block);
}

static bool jumps_anywhere(const struct block *b)
{
	return b->call == BLOCK_UNKNOWN && b->tail && !b->nedge;
}

/* The ways of a unit; true: it jumps to where nobody knows. */
static bool unit_ways(const struct binary_view *v, uint32_t file, uint32_t unit, binary_ways *ways)
{
	const struct file *f = &v->file.p[file];
	bool anywhere = false;
	for (uint32_t i = f->unit_first[unit]; i < f->unit_first[unit + 1]; i++) {
		uint32_t block = f->unit_block[i], at = i - f->unit_first[unit], to;
		uint64_t state = 0;
		while (binary_learn_way(v, file, block, &state, &to))
			if (f->b->block.p[to].unit == unit)
				add_way(ways, at, binary_in_unit(f, unit, to));
		anywhere |= jumps_anywhere(&f->b->block.p[block]);
	}
	return anywhere;
}

static void add_unknown(const struct file *f, uint32_t unit, binary_ways *ways)
{
	const uint32_t *list = f->unit_block + f->unit_first[unit];
	uint32_t n = f->unit_first[unit + 1] - f->unit_first[unit];
	uint8_t *met = xcalloc(n + 1, 1);
	size_t known = ways->n;
	for (size_t i = 0; i < known; i++)
		met[ways->p[i].to] = 1;
	for (uint32_t i = 0; i < n; i++) {
		if (!jumps_anywhere(&f->b->block.p[list[i]]))
			continue;
		add_way(ways, i, n); /* out of the function */
		for (uint32_t k = 1; k < n; k++)
			if (!met[k])
				add_way(ways, i, k);
	}
	free(met);
}

void binary_unit_ways(const struct binary_view *v, uint32_t file, uint32_t unit, binary_ways *out)
{
	if (unit_ways(v, file, unit, out))
		add_unknown(&v->file.p[file], unit, out);
}

static const struct binary_control *unit_control(struct binary_view *v, uint32_t file,
						 uint32_t unit)
{
	const struct file *f = &v->file.p[file];
	uint64_t key = f->unit0 + unit, at;
	struct binary_control c;
	binary_ways ways = { 0 };
	if (hmap_get(&v->control_of, key, &at))
		return &v->control.p[at];
	binary_unit_ways(v, file, unit, &ways);
	binary_control(f->unit_first[unit + 1] - f->unit_first[unit], ways.p, ways.n, &c);
	VEC_FREE(&ways);
	hmap_put(&v->control_of, key, v->control.n);
	VEC_PUSH(&v->control, c);
	return &v->control.p[v->control.n - 1];
}

uint64_t binary_view_block_number(const struct binary_view *v, uint64_t ip)
{
	struct ref at;
	return binary_view_find(v, ip, &at) ? (uint64_t)at.file << 32 | at.block : BINARY_NO_BLOCK;
}

size_t binary_view_controls(struct binary_view *v, uint64_t block, uint64_t *out, size_t max)
{
	uint32_t file = (uint32_t)(block >> 32), number = (uint32_t)block, unit, at;
	const struct binary_control *c;
	const struct file *f;
	size_t n = 0;
	if (file >= v->file.n || number >= v->file.p[file].b->block.n)
		return 0;
	f = &v->file.p[file];
	unit = f->b->block.p[number].unit;
	c = unit_control(v, file, unit);
	at = binary_in_unit(f, unit, number);
	for (uint32_t i = c->first[at]; i < c->first[at + 1] && n < max; i++)
		out[n++] = (uint64_t)file << 32 | f->unit_block[f->unit_first[unit] + c->on[i]];
	return n;
}
