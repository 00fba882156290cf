/* SPDX-License-Identifier: BSD-3-Clause */
/* The sets of flow.h, from evidence to a fixed point; and which stores may modify PM. */
#include "binary/flow.h"

#include <stdlib.h>
#include <string.h>

#define OBJECT_BITS 61u
#define MAX_NODES (8u << 20)

/* ---- nodes ---- */

uint32_t binary_flow_node(struct flow *w)
{
	struct flow_node n = { .out = NONE, .in = NONE, .access = NONE };
	VEC_PUSH(&w->node, n);
	return (uint32_t)w->node.n - 1;
}

uint32_t binary_flow_place(struct flow *w, char kind, uint64_t a, uint64_t b)
{
	uint64_t key = hash_mix(hash_mix(a, (uint64_t)kind), b), at;
	if (hmap_get(&w->at, key, &at))
		return (uint32_t)at;
	at = binary_flow_node(w);
	hmap_put(&w->at, key, at);
	return (uint32_t)at;
}

uint64_t binary_flow_object(struct flow *w)
{
	return (uint64_t)1 << (2 + w->nobject++ % OBJECT_BITS);
}

uint64_t binary_flow_variable(struct flow *w, char kind, uint64_t space, uint32_t at)
{
	struct flow_variable v = { 0, space, at, kind };
	uint64_t key = hash_mix(hash_mix(space, (uint64_t)kind << 8), at), i;
	if (hmap_get(&w->at, key, &i))
		return w->variable.p[i].object;
	v.object = binary_flow_object(w);
	hmap_put(&w->at, key, w->variable.n);
	VEC_PUSH(&w->variable, v);
	return v.object;
}

void binary_flow_add(struct flow *w, uint32_t node, uint64_t set)
{
	struct flow_node *n = &w->node.p[node];
	if (!node || !(set & ~n->set))
		return;
	n->set |= set;
	if (!n->queued)
		VEC_PUSH(&w->work, node);
	n->queued = true;
}

static uint64_t along(uint64_t set, enum flow_edge kind)
{
	bool inside = (kind == FLOW_DERIVE || kind == FLOW_MIXED) && set;
	return inside ? set | FLOW_INSIDE : set;
}

void binary_flow_edge(struct flow *w, uint32_t from, uint32_t to, enum flow_edge kind)
{
	struct flow_link out = { to, 0, (uint8_t)kind }, in = { from, 0, (uint8_t)kind };
	if (!from || !to || from == to)
		return;
	out.next = w->node.p[from].out;
	VEC_PUSH(&w->link, out);
	w->node.p[from].out = (uint32_t)w->link.n - 1;
	in.next = w->node.p[to].in;
	VEC_PUSH(&w->link, in);
	w->node.p[to].in = (uint32_t)w->link.n - 1;
	binary_flow_add(w, to, along(w->node.p[from].set, kind));
}

/* ---- accesses through pointers ---- */

/* A field of a variable is the place that code names without a pointer. */
static uint32_t field_of(struct flow *w, uint64_t object, uint32_t disp)
{
	size_t n = w->node.n;
	uint32_t field = binary_flow_place(w, 'f', object, disp);
	for (size_t i = 0; field == n && i < w->variable.n; i++) {
		const struct flow_variable *v = &w->variable.p[i];
		if (v->object != object)
			continue;
		uint32_t place = binary_flow_place(w, v->kind, v->space, v->at + disp);
		binary_flow_edge(w, field, place, FLOW_COPY);
		binary_flow_edge(w, place, field, FLOW_COPY);
	}
	return field;
}

/* Edges between the value and a field of one object: each is made once, when the object comes up. */
static void meet(struct flow *w, const struct flow_access *a, uint64_t object, bool inside)
{
	uint32_t any = binary_flow_place(w, 'a', object, 0); /* fields that are not known */
	uint32_t all = binary_flow_place(w, 'm', object, 0); /* all of them */
	bool known = a->disp != NONE && !inside;
	uint32_t field = known ? field_of(w, object, a->disp) : any;
	if (a->seen)
		binary_flow_add(w, field, FLOW_PM);
	if (a->store) {
		binary_flow_edge(w, a->value, field, FLOW_COPY);
		binary_flow_edge(w, a->value, all, FLOW_COPY);
		return;
	}
	binary_flow_edge(w, any, a->value, FLOW_COPY);
	binary_flow_edge(w, known ? field : all, a->value, FLOW_COPY);
}

static void reach(struct flow *w, uint32_t access, uint64_t set)
{
	struct flow_access a = w->access.p[access];
	bool inside = (set & FLOW_INSIDE) != 0;
	uint64_t left = set & FLOW_OBJECTS & ~a.met[inside];
	w->access.p[access].met[inside] |= left;
	if (!a.store && set & (FLOW_PM | FLOW_LOADED))
		binary_flow_add(w, a.value, FLOW_LOADED);
	for (; left; left &= left - 1)
		meet(w, &a, left & -left, inside);
}

void binary_flow_access(struct flow *w, uint32_t base, uint32_t disp, uint32_t value, bool store)
{
	struct flow_access a = { .base = base, .value = value, .disp = disp, .store = store };
	if (!base || !value)
		return;
	a.next = w->node.p[base].access;
	VEC_PUSH(&w->access, a);
	w->node.p[base].access = (uint32_t)w->access.n - 1;
	if (!store)
		w->node.p[value].load = (uint32_t)w->access.n;
	reach(w, (uint32_t)w->access.n - 1, w->node.p[base].set);
}

static void solve(struct flow *w)
{
	while (w->work.n && w->node.n < MAX_NODES) {
		uint32_t at = w->work.p[--w->work.n];
		uint64_t set = w->node.p[at].set;
		w->node.p[at].queued = false;
		for (uint32_t i = w->node.p[at].out; i != NONE; i = w->link.p[i].next)
			binary_flow_add(w, w->link.p[i].to, along(set, w->link.p[i].kind));
		for (uint32_t i = w->node.p[at].access; i != NONE; i = w->access.p[i].next)
			reach(w, i, set);
	}
}

/* ---- evidence ---- */

static void seen_load(struct flow *w, uint32_t access)
{
	struct flow_access *a = &w->access.p[access];
	a->seen = true;
	a->met[0] = a->met[1] = 0;
	reach(w, access, w->node.p[a->base].set);
}

/* The node held an address of PM: so did what it was copied from. */
static void evident(struct flow *w, uint32_t node)
{
	VEC(uint32_t) todo = { 0 };
	VEC_PUSH(&todo, node);
	while (todo.n) {
		uint32_t at = todo.p[--todo.n];
		struct flow_node *n = &w->node.p[at];
		if (!at || n->evident || n->exact)
			continue;
		n->evident = true;
		binary_flow_add(w, at, FLOW_PM);
		if (n->load) {
			seen_load(w, n->load - 1);
		}
		for (uint32_t i = w->node.p[at].in; i != NONE; i = w->link.p[i].next)
			if (w->link.p[i].kind == FLOW_COPY || w->link.p[i].kind == FLOW_DERIVE)
				VEC_PUSH(&todo, w->link.p[i].to);
	}
	VEC_FREE(&todo);
}

static uint64_t key_of(uint32_t file, uint32_t at)
{
	return (uint64_t)file << 32 | at;
}

static uint64_t callee_key(const struct binary_view *v, const struct flow_call *c)
{
	const struct block *b = &v->file.p[c->file].b->block.p[c->block];
	return hash_mix(key_of(c->file, b->callee), b->call);
}

static void evident_store(struct flow *w, const struct binary_view *v, const struct ref *at)
{
	uint64_t i;
	if (hmap_get(&w->store_at, key_of(at->file, at->pos), &i)) {
		const struct flow_store *s = &w->store.p[i];
		if (!s->index || s->scaled)
			evident(w, s->base);
		else
			binary_flow_add(w, s->base, FLOW_PM);
	} else if (hmap_get(&w->call_at, key_of(at->file, at->block), &i)) {
		hmap_put(&w->copier, callee_key(v, &w->call.p[i]), 1);
		evident(w, w->call.p[i].arg[0]);
	}
}

static void evident_call(struct flow *w, const struct ref *at)
{
	uint64_t i;
	if (!hmap_get(&w->call_at, key_of(at->file, at->block), &i))
		return;
	uint32_t result = w->call.p[i].result;
	for (uint32_t k = w->node.p[result].in; k != NONE; k = w->link.p[k].next)
		w->node.p[w->link.p[k].to].exact = true;
	binary_flow_add(w, result, FLOW_PM);
}

/* ---- calls ---- */

static bool is_built(const struct flow *w, uint32_t file)
{
	return file < w->nfile && w->first[file] != NONE;
}

/* What a function that is not looked into returns, wherever it is called. */
static uint32_t foreign(struct flow *w, const struct binary_view *v, const struct flow_call *c,
			const struct ref *to)
{
	const struct block *b = &v->file.p[c->file].b->block.p[c->block];
	return to ? binary_flow_place(w, 'r', key_of(to->file, to->block), 0)
		  : binary_flow_place(w, 'i', key_of(c->file, b->callee), 0);
}

static void link_call(struct flow *w, const struct binary_view *v, size_t i)
{
	struct flow_call c = w->call.p[i];
	uint64_t state = 0;
	uint32_t n = 0;
	struct ref to;
	while (binary_learn_callee(v, c.file, c.block, &state, &to)) {
		if (n++ < c.linked)
			continue;
		w->call.p[i].linked = n;
		if (!is_built(w, to.file)) {
			binary_flow_edge(w, foreign(w, v, &c, &to), c.result, FLOW_COPY);
			continue;
		}
		for (int k = 0; k < 6; k++) {
			static const uint8_t reg[6] = { 7, 6, 2, 1, 8, 9 };
			binary_flow_edge(w, c.arg[k],
					 w->first[to.file] + to.block * FLOW_REGS + reg[k],
					 FLOW_CALL);
		}
		binary_flow_edge(w,
				 binary_flow_place(w, 'u', to.file,
						   v->file.p[to.file].b->block.p[to.block].unit),
				 c.result, FLOW_COPY);
	}
	if (!n && !c.linked && v->file.p[c.file].b->block.p[c.block].call == BLOCK_IMPORT) {
		w->call.p[i].linked = 1;
		binary_flow_edge(w, foreign(w, v, &c, NULL), c.result, FLOW_COPY);
	}
}

/* ---- with the view ---- */

/* The C library copies anything, and the loader calls anything. */
static bool wanted(const struct binary_view *v, uint32_t file)
{
	return !(v->file.p[file].b->flags & (BINARY_LIBC | BINARY_LINKER));
}

static void want_file(struct binary_view *v, uint32_t file)
{
	struct flow *w = v->flow;
	if (w->nfile < v->file.n) {
		w->first = xrealloc(w->first, v->file.n * sizeof *w->first);
		for (; w->nfile < v->file.n; w->nfile++)
			w->first[w->nfile] = NONE;
	}
	if (w->first[file] == NONE && wanted(v, file) && !v->file.p[file].no_flow)
		v->file.p[file].no_flow = !binary_flow_build(w, v, file);
}

void binary_flow_saw(struct binary_view *v, const struct ref *at, bool map)
{
	VEC_PUSH(&v->evidence, ((struct evidence){ *at, map }));
}

/* Counts a store as one that may modify PM. */
static void may_store(struct binary_view *v, uint32_t file, uint32_t pos)
{
	struct file *f = &v->file.p[file];
	uint32_t block = binary_block_of(f->b, pos);
	if (block == NONE || bit_get(f->may, pos) || binary_learn_quiet(v, file, pos))
		return;
	bit_set(f->may, pos);
	v->dirty[f->unit0 + f->b->block.p[block].unit] = 1;
	v->new_weights = true;
}

/* A value from PM is an address unless it is known to be something else, too. */
static bool points(const struct flow *w, uint32_t node)
{
	uint64_t set = w->node.p[node].set;
	return set & FLOW_PM || (set & FLOW_LOADED && !(set & FLOW_OBJECTS));
}

static void mark_stores(struct binary_view *v)
{
	const struct flow *w = v->flow;
	for (size_t i = 0; i < w->store.n; i++) {
		const struct flow_store *s = &w->store.p[i];
		if (points(w, s->base) || (!s->scaled && w->node.p[s->index].set & FLOW_PM))
			may_store(v, s->file, s->pos);
	}
	for (size_t i = 0; i < w->call.n; i++) {
		const struct flow_call *c = &w->call.p[i];
		const struct block *b = &v->file.p[c->file].b->block.p[c->block];
		if (w->node.p[c->arg[0]].set & FLOW_PM &&
		    hmap_get(&w->copier, callee_key(v, c), NULL))
			may_store(v, c->file, binary_last_pos(v->file.p[c->file].b, b));
	}
}

void binary_flow_update(struct binary_view *v)
{
	struct flow *w = v->flow;
	if (!v->evidence.n && !v->new_calls)
		return;
	if (!w) {
		w = v->flow = xcalloc(1, sizeof *w);
		binary_flow_node(w);
	}
	for (size_t i = 0; i < v->evidence.n; i++)
		want_file(v, v->evidence.p[i].at.file);
	if (v->file.n)
		want_file(v, 0);
	for (size_t i = 0; i < w->call.n; i++)
		link_call(w, v, i);
	for (size_t i = 0; i < v->evidence.n; i++) {
		if (v->evidence.p[i].map)
			evident_call(w, &v->evidence.p[i].at);
		else
			evident_store(w, v, &v->evidence.p[i].at);
	}
	v->evidence.n = 0;
	solve(w);
	mark_stores(v);
}

void binary_flow_free(struct flow *w)
{
	if (!w)
		return;
	VEC_FREE(&w->node);
	VEC_FREE(&w->link);
	VEC_FREE(&w->access);
	VEC_FREE(&w->store);
	VEC_FREE(&w->call);
	VEC_FREE(&w->variable);
	VEC_FREE(&w->work);
	hmap_free(&w->at);
	hmap_free(&w->store_at);
	hmap_free(&w->call_at);
	hmap_free(&w->copier);
	free(w->first);
	free(w);
}
