/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Priorities: how many instructions that modify PM can still be met.
 *
 *	priority(i) = weight(i) + what it calls + the largest priority of what may come next
 *
 * (AGAMOTTO, OSDI '20, 4.3.1.) Computed for the beginning of each block; instructions inside are
 * that less what comes before them. Each unit on its own, callees first: Tarjan's algorithm gives the
 * strongly connected components of its blocks, last ones first, so all that a component leads to
 * is known when it is closed. A component that is a cycle has one priority, with everything in it
 * counted once.
 *
 * Cycles of calls are found the same way among units. In such a cycle, calls back into it count
 * nothing at first; then, wherever one can still be reached, the rest of the cycle is added, once:
 *
 *	f: store; g();      g: flush; f() or return      alone: f 1, g 1; together: f 2, g 2
 */
#include <stdlib.h>
#include <string.h>

#include "binary/view.h"

static uint32_t add(uint32_t a, uint32_t b)
{
	return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

uint32_t binary_priority_at(const struct binary_view *v, const struct ref *at)
{
	const struct file *f = &v->file.p[at->file];
	uint32_t priority = f->priority[at->block], before;
	if (f->shape[at->block] & BLOCK_CYCLIC)
		return priority;
	before = binary_view_weight(f, f->b->block.p[at->block].pos, at->pos);
	return priority > before ? priority - before : 0;
}

/* --- the order of units --- */

static const struct file *file_of_unit(const struct binary_view *v, uint32_t unit)
{
	size_t lo = BISECT(i, v->file.n, v->file.p[i].unit0 <= unit);
	lo -= lo > 0;
	/* files without code have no units, and the unit0 of the next */
	while (v->file.p[lo].unit0 + v->file.p[lo].b->nunit <= unit)
		lo++;
	return &v->file.p[lo];
}

/* Counts, or enters, the units that each unit calls. */
static void list_calls(struct binary_view *v, bool fill)
{
	for (uint32_t i = 0; i < v->file.n; i++) {
		const struct file *f = &v->file.p[i];
		if (f->b->flags & BINARY_LINKER)
			continue;
		for (uint32_t k = 0; k < f->b->block.n; k++) {
			uint32_t unit = f->unit0 + f->b->block.p[k].unit;
			uint64_t state = 0;
			struct ref to;
			while (binary_learn_callee(v, i, k, &state, &to)) {
				if (fill)
					v->call_to[--v->call_first[unit]] =
						binary_view_unit(v, &to);
				else
					v->call_first[unit]++;
			}
		}
	}
}

/* Tarjan's algorithm, with the stack of calls as an array. */
struct walk {
	uint32_t *index, *low; /* index 0: not met */
	uint8_t *open;         /* on the stack */
	VEC(uint32_t) stack;
	VEC(struct {
		uint32_t node;
		uint64_t state;
	})
	path;
	uint32_t count;
};

static void walk_new(struct walk *w, size_t n)
{
	memset(w, 0, sizeof *w);
	w->index = xcalloc(n + 1, sizeof *w->index);
	w->low = xcalloc(n + 1, sizeof *w->low);
	w->open = xcalloc(n + 1, 1);
}

static void walk_free(struct walk *w)
{
	free(w->index);
	free(w->low);
	free(w->open);
	VEC_FREE(&w->stack);
	VEC_FREE(&w->path);
}

static void walk_enter(struct walk *w, uint32_t node)
{
	w->index[node] = w->low[node] = ++w->count;
	w->open[node] = 1;
	VEC_PUSH(&w->stack, node);
	VEC_RESERVE(&w->path, w->path.n + 1);
	w->path.p[w->path.n].node = node;
	w->path.p[w->path.n++].state = 0;
}

/* A way from the node on top of the path. */
static void walk_way(struct walk *w, uint32_t from, uint32_t to)
{
	if (!w->index[to])
		walk_enter(w, to);
	else if (w->open[to] && w->index[to] < w->low[from])
		w->low[from] = w->index[to];
}

/* Leaves the node on top. Where its component begins on the stack, or SIZE_MAX if it goes on. */
static size_t walk_leave(struct walk *w)
{
	uint32_t node = w->path.p[--w->path.n].node;
	size_t at = w->stack.n;
	if (w->path.n) {
		uint32_t up = w->path.p[w->path.n - 1].node;
		if (w->low[node] < w->low[up])
			w->low[up] = w->low[node];
	}
	if (w->low[node] != w->index[node])
		return SIZE_MAX;
	do
		w->open[w->stack.p[--at]] = 0;
	while (w->stack.p[at] != node);
	return at;
}

static void order_from(struct binary_view *v, struct walk *w, uint32_t unit, uint32_t *placed)
{
	walk_enter(w, unit);
	while (w->path.n) {
		uint32_t at = w->path.p[w->path.n - 1].node;
		uint64_t next = v->call_first[at] + w->path.p[w->path.n - 1].state++;
		size_t first;
		if (next < v->call_first[at + 1]) {
			walk_way(w, at, v->call_to[next]);
			continue;
		}
		first = walk_leave(w);
		if (first == SIZE_MAX)
			continue;
		v->cycle_first[v->ncycle] = *placed;
		for (size_t i = first; i < w->stack.n; i++) {
			v->cycle_of[w->stack.p[i]] = v->ncycle;
			v->order[(*placed)++] = w->stack.p[i];
		}
		w->stack.n = first;
		v->cycle_first[++v->ncycle] = *placed;
	}
}

void binary_priority_order(struct binary_view *v)
{
	struct walk w;
	uint32_t placed = 0;
	free(v->call_first);
	free(v->call_to);
	v->call_first = xcalloc(v->nunit + 2, sizeof *v->call_first);
	list_calls(v, false);
	for (size_t i = 1; i <= v->nunit; i++)
		v->call_first[i] += v->call_first[i - 1];
	v->call_to = xcalloc(v->call_first[v->nunit] + 1, sizeof *v->call_to);
	list_calls(v, true);

	v->order = xrealloc(v->order, (v->nunit + 2) * sizeof *v->order);
	v->cycle_first = xrealloc(v->cycle_first, (v->nunit + 2) * sizeof *v->cycle_first);
	v->cycle_of = xrealloc(v->cycle_of, (v->nunit + 2) * sizeof *v->cycle_of);
	v->ncycle = v->cycle_first[0] = 0;
	walk_new(&w, v->nunit);
	for (uint32_t i = 0; i < v->nunit; i++)
		if (!w.index[i])
			order_from(v, &w, i, &placed);
	walk_free(&w);
}

/* --- one unit --- */

struct work {
	struct binary_view *v;
	const struct file *f; /* of the unit at work */
	uint32_t file, unit;
	struct walk walk;    /* over blocks of one file at a time */
	uint32_t *component; /* of each block; 0: none yet */
	uint32_t components;
	uint8_t *changed; /* of each unit */
	VEC(uint32_t) old;
};

/* The most that the block's call may meet. Calls back into the cycle of calls only set *recurs. */
static uint32_t callee_priority(const struct work *w, uint32_t block, bool *recurs)
{
	uint64_t state = 0;
	uint32_t best = 0;
	struct ref to;
	while (binary_learn_callee(w->v, w->file, block, &state, &to)) {
		uint32_t p = 0;
		if (w->v->cycle_of[binary_view_unit(w->v, &to)] == w->v->cycle_of[w->unit])
			*recurs = true;
		else
			p = binary_priority_at(w->v, &to);
		best = p > best ? p : best;
	}
	return best;
}

/* Closes a component: the blocks on the stack from `first` on. */
static void close_component(struct work *w, size_t first)
{
	const struct file *f = w->f;
	uint32_t sum = 0, best = 0, n = (uint32_t)(w->walk.stack.n - first);
	uint32_t *member = w->walk.stack.p + first, mine = ++w->components;
	bool recurs = false, cyclic = n > 1;
	for (uint32_t i = 0; i < n; i++)
		w->component[member[i]] = mine;
	for (uint32_t i = 0; i < n; i++) {
		const struct block *b = &f->b->block.p[member[i]];
		uint32_t callee = callee_priority(w, member[i], &recurs), to;
		uint64_t state = 0;
		sum = add(sum, binary_view_weight(f, b->pos, b->pos + b->len));
		if (!b->tail)
			sum = add(sum, callee);
		else if (callee > best)
			best = callee;
		while (binary_learn_way(w->v, w->file, member[i], &state, &to)) {
			if (w->component[to] == mine) {
				cyclic = true;
				continue;
			}
			if (f->priority[to] > best)
				best = f->priority[to];
			recurs |= (f->shape[to] & BLOCK_RECURS) != 0;
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		f->priority[member[i]] = add(sum, best);
		f->shape[member[i]] = (cyclic ? BLOCK_CYCLIC : 0) | (recurs ? BLOCK_RECURS : 0);
	}
	w->walk.stack.n = first;
}

static void walk_blocks(struct work *w, uint32_t block)
{
	struct walk *walk = &w->walk;
	walk_enter(walk, block);
	while (walk->path.n) {
		uint32_t at = walk->path.p[walk->path.n - 1].node, to;
		size_t first;
		if (binary_learn_way(w->v, w->file, at, &walk->path.p[walk->path.n - 1].state,
				     &to)) {
			walk_way(walk, at, to);
			continue;
		}
		first = walk_leave(walk);
		if (first != SIZE_MAX)
			close_component(w, first);
	}
}

static void set_unit(struct work *w, uint32_t unit)
{
	w->unit = unit;
	w->f = file_of_unit(w->v, unit);
	w->file = (uint32_t)(w->f - w->v->file.p);
}

/* The blocks of the unit at work. */
static const uint32_t *unit_blocks(const struct work *w, uint32_t *n)
{
	const uint32_t *first = w->f->unit_first + (w->unit - w->f->unit0);
	*n = first[1] - first[0];
	return w->f->unit_block + first[0];
}

/* Calls back into the cycle of calls left out. Returns the largest priority in the unit. */
static uint32_t compute_alone(struct work *w)
{
	uint32_t n, most = 0;
	const uint32_t *block = unit_blocks(w, &n);
	for (uint32_t i = 0; i < n; i++) {
		VEC_PUSH(&w->old, w->f->priority[block[i]]);
		w->walk.index[block[i]] = w->component[block[i]] = 0;
	}
	w->walk.count = w->components = 0;
	for (uint32_t i = 0; i < n; i++)
		if (!w->walk.index[block[i]])
			walk_blocks(w, block[i]);
	for (uint32_t i = 0; i < n; i++)
		if (w->f->priority[block[i]] > most)
			most = w->f->priority[block[i]];
	return most;
}

static void compute_cycle(struct work *w, const uint32_t *unit, uint32_t n)
{
	uint32_t all = 0, at = 0, *most = xcalloc(n, sizeof *most);
	w->old.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		set_unit(w, unit[i]);
		most[i] = compute_alone(w);
		all = add(all, most[i]);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t nblock;
		set_unit(w, unit[i]);
		const uint32_t *block = unit_blocks(w, &nblock);
		for (uint32_t k = 0; k < nblock; k++) {
			uint32_t *priority = &w->f->priority[block[k]];
			if (w->f->shape[block[k]] & BLOCK_RECURS)
				*priority = add(*priority, all - most[i]);
			w->changed[unit[i]] |= *priority != w->old.p[at++];
		}
	}
	free(most);
}

static bool must_compute(const struct work *w, uint32_t unit)
{
	const struct binary_view *v = w->v;
	if (v->dirty[unit])
		return true;
	for (uint32_t i = v->call_first[unit]; i < v->call_first[unit + 1]; i++)
		if (w->changed[v->call_to[i]])
			return true;
	return false;
}

/* Callees come first, so one pass brings everything up to date. */
void binary_priority_update(struct binary_view *v)
{
	struct work w = { .v = v, .changed = xcalloc(v->nunit + 1, 1) };
	size_t most = 0;
	for (size_t i = 0; i < v->file.n; i++)
		if (v->file.p[i].b->block.n > most)
			most = v->file.p[i].b->block.n;
	walk_new(&w.walk, most);
	w.component = xcalloc(most + 1, sizeof *w.component);
	for (uint32_t c = 0; c < v->ncycle; c++) {
		const uint32_t *unit = v->order + v->cycle_first[c];
		uint32_t n = v->cycle_first[c + 1] - v->cycle_first[c];
		bool must = false;
		for (uint32_t i = 0; i < n && !must; i++)
			must = must_compute(&w, unit[i]);
		if (must)
			compute_cycle(&w, unit, n);
	}
	memset(v->dirty, 0, v->nunit + 1);
	walk_free(&w.walk);
	VEC_FREE(&w.old);
	free(w.component);
	free(w.changed);
}
