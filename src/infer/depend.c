/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dependences between words of PM, as the rules want them: an access, the load that it depends on, both in one
 * operation. And the places that store to each word.
 */
#include <stdlib.h>

#include "infer/internal.h"

/* ---- operations ---- */

void infer_inside_init(struct infer_inside *in, const struct infer_ops *ops)
{
	*in = (struct infer_inside){ 0 };
	in->op = infer_ops_all(ops, &in->n);
}

void infer_inside_free(struct infer_inside *in)
{
	hmap_free(&in->now);
}

uint32_t infer_inside_at(struct infer_inside *in, const struct trace_event *e, uint64_t *begin,
			 bool *alone)
{
	uint64_t key = (uint64_t)e->process << 32 | e->thread, at = 0;
	*alone = false;
	*begin = 0;
	for (; in->next < in->n && in->op[in->next].begin <= e->num; in->next++) {
		const struct infer_op *op = &in->op[in->next];
		*alone = in->single = op->begin > in->last || !in->next;
		in->last = op->end > in->last ? op->end : in->last;
		hmap_put(&in->now, (uint64_t)op->process << 32 | op->thread, in->next + 1);
	}
	if (!in->n)
		return 1;
	if (in->single)
		at = in->next;
	else
		hmap_get(&in->now, key, &at);
	if (!at || in->op[at - 1].end < e->num)
		return 0;
	*begin = in->op[at - 1].begin;
	return (uint32_t)at;
}

/* Between two operations nothing is under way: what is read there tells as much. */
static bool between(const struct infer_inside *in, const struct trace_event *e, uint64_t *begin)
{
	*begin = in->next ? in->last + 1 : 0;
	return !in->next || in->last < e->num;
}

/* ---- words ---- */

void infer_words(uint64_t byte, uint64_t size, struct infer_words *out)
{
	out->n = 0;
	if (size && size < INFER_WORD) /* a flag has neighbours that are not it */
		out->v[out->n++] = byte;
	else
		for (uint64_t w = INFER_WORD_OF(byte); w < byte + size && out->n < INFER_WORDS;
		     w += INFER_WORD)
			out->v[out->n++] = w;
}

static void words_at(const struct infer_depend *d, uint32_t process, uint64_t addr, uint64_t size,
		     struct infer_words *out)
{
	uint64_t off, len;
	uint32_t file;
	out->n = 0;
	if (trace_maps_locate(d->maps, process, addr, &file, &off, &len))
		infer_words(model_file_byte(file, off), size < len ? size : len, out);
}

static uint64_t key_of(unsigned rule, uint64_t x, uint64_t y)
{
	return hash_mix(hash_mix(x, y), rule);
}

bool infer_depend_has(const struct infer_depend *d, enum infer_rule rule, uint64_t x, uint64_t y)
{
	return hmap_get(&d->at, key_of(rule, x, y), NULL);
}

static void add_pair(struct infer_depend *d, unsigned rule, uint64_t x, uint64_t y, uint64_t event)
{
	uint64_t key = key_of(rule, x, y), at;
	if (x == y)
		return;
	if (!hmap_get(&d->at, key, &at)) {
		hmap_put(&d->at, key, at = d->v.n);
		VEC_PUSH(&d->v,
			 ((struct infer_dependence){ .x = x, .y = y, .rule = (uint8_t)rule }));
	}
	d->v.p[at].event = d->v.p[at].count++ ? d->v.p[at].event : event;
}

/* What the event accesses depends on the labels, those of them that are of its operation. */
static void add(struct infer_depend *d, unsigned rule, const struct trace_event *e, uint64_t begin,
		const struct infer_words *y, const struct trace_label *label, size_t n)
{
	struct infer_words x;
	for (size_t i = 0; i < n; i++) {
		if (label[i].num < begin)
			continue;
		words_at(d, e->process, label[i].addr, label[i].size, &x);
		for (unsigned a = 0; a < x.n; a++)
			for (unsigned b = 0; b < y->n; b++)
				add_pair(d, rule, x.v[a], y->v[b], e->num);
	}
}

/* ---- who stores ---- */

static void add_writer(struct infer_depend *d, uint64_t word, uint32_t where)
{
	uint64_t first = 0;
	unsigned n = 0;
	hmap_get(&d->first, word, &first);
	for (uint64_t i = first; i; i = d->writer.p[i - 1].next, n++)
		if (d->writer.p[i - 1].where == where || n == INFER_WRITERS)
			return;
	VEC_PUSH(&d->writer, ((struct infer_writer){ where, (uint32_t)first }));
	hmap_put(&d->first, word, d->writer.n);
}

static void add_writers(struct infer_depend *d, const struct trace_event *e)
{
	uint32_t where = infer_where(d->statements, e);
	for (uint64_t done = 0; done < e->size; done += (uint64_t)INFER_WORDS * INFER_WORD) {
		struct infer_words w;
		words_at(d, e->process, e->arg[0] + done, e->size - done, &w);
		for (unsigned i = 0; i < w.n; i++)
			add_writer(d, w.v[i], where);
		if (w.n && INFER_WORD_OF(w.v[0]) != w.v[0])
			add_writer(d, INFER_WORD_OF(w.v[0]), where);
	}
}

uint64_t infer_depend_writers(const struct infer_depend *d, uint64_t word)
{
	uint64_t first = 0;
	if (!hmap_get(&d->first, word, &first))
		hmap_get(&d->first, INFER_WORD_OF(word), &first);
	return first;
}

/* ---- events ---- */

static void access_event(struct infer_depend *d, const struct trace_event *e,
			 const struct trace_dep *dep, uint64_t begin)
{
	struct trace_label on[INFER_LEVELS * TRACE_LABELS];
	bool store = e->kind == TRACE_STORE;
	struct infer_words y;
	size_t n;
	words_at(d, e->process, e->arg[0], store ? e->size : e->arg[1], &y);
	if (!y.n)
		return;
	if (store) {
		add(d, INFER_RO1, e, begin, &y, dep->data, dep->ndata);
		add(d, INFER_RO1, e, begin, &y, dep->addr, dep->naddr);
	}
	n = infer_control_labels(d->control, e, dep, d->deps, on, sizeof on / sizeof *on);
	add(d, store ? INFER_RO2 : INFER_RO3, e, begin, &y, on, n);
}

void infer_depend_init(struct infer_depend *d, const struct trace_defs *defs,
		       const struct infer_ops *ops, struct infer_statements *statements)
{
	*d = (struct infer_depend){ .defs = defs, .statements = statements };
	d->maps = trace_maps_new(defs);
	d->deps = trace_deps_new();
	d->control = infer_control_new(defs);
	infer_inside_init(&d->inside, ops);
}

int infer_depend_event(struct infer_depend *d, const struct trace_event *e, struct err *err)
{
	struct trace_dep dep;
	uint64_t begin;
	bool alone;
	int got = trace_deps_event(d->deps, e, &dep, err);
	if (got < 0 || trace_maps_apply(d->maps, e, err))
		return -1;
	infer_control_event(d->control, e);
	bool op = infer_inside_at(&d->inside, e, &begin, &alone) || between(&d->inside, e, &begin);
	if (alone)
		infer_control_forget(d->control);
	if (!got)
		return 0;
	if (e->kind == TRACE_STORE)
		add_writers(d, e);
	if (op && e->kind == TRACE_BRANCH)
		infer_control_branch(d->control, e, &dep, d->deps);
	else if (op)
		access_event(d, e, &dep, begin);
	return 0;
}

void infer_depend_free(struct infer_depend *d)
{
	trace_maps_free(d->maps);
	trace_deps_free(d->deps);
	infer_control_free(d->control);
	infer_inside_free(&d->inside);
	VEC_FREE(&d->v);
	VEC_FREE(&d->writer);
	hmap_free(&d->at);
	hmap_free(&d->first);
}
