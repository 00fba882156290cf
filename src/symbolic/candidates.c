/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Candidates: what could be tried next, and the inputs that they start from.
 *
 * A run makes candidates of the decisions that are new in the tree, and only of those: what lies
 * before the branch that it was made for was dealt with when its parent ran (generational
 * search; Godefroid, Levin, Molnar, "Automated Whitebox Fuzz Testing", NDSS 2008). So each decision below each
 * prefix is taken up once.
 *
 * A candidate names a step of the tree instead of holding a path, and the run that it came from
 * instead of an input. Inputs are kept once a run, as differences from the lowest input if
 * that is shorter, and only as long as a candidate wants them.
 */
#include <stdlib.h>
#include <string.h>

#include "symbolic/internal.h"

#define KIND_LONGER (SYM_PIN + 1u) /* a way's kind: a source goes on */

/* ---- inputs ---- */

static uint8_t lowest(const struct symbolic *s, size_t i)
{
	return s->lo ? s->lo[i] : 0;
}

/* now[], then either all bytes or (index, byte) for each that is not the lowest. */
uint32_t symbolic_base_keep(struct symbolic *s, const struct symbolic_input *in, uint64_t run)
{
	struct candidates *c = &s->candidates;
	size_t head = s->opts.nsource * sizeof *in->now, differ = 0,
	       n = in->n < s->n ? in->n : s->n;
	struct base b = { .run = run, .refs = 1 };
	uint8_t *p;
	uint32_t id;
	for (size_t i = 0; i < n; i++)
		differ += in->byte[i] != lowest(s, i);
	b.whole = differ * 3 >= s->n;
	b.size = (uint32_t)(head + (b.whole ? s->n : differ * 3));
	b.packed = xcalloc(1, b.size + 1);
	if (head)
		memcpy(b.packed, in->now, head);
	p = b.packed + head;
	if (b.whole && n)
		memcpy(p, in->byte, n);
	for (size_t i = 0; i < n && !b.whole; i++)
		if (in->byte[i] != lowest(s, i)) {
			*p++ = (uint8_t)i;
			*p++ = (uint8_t)(i >> 8);
			*p++ = in->byte[i];
		}
	c->base_bytes += b.size;
	if (c->unused_base.n) {
		id = c->unused_base.p[--c->unused_base.n];
		c->base.p[id] = b;
		return id;
	}
	VEC_PUSH(&c->base, b);
	return (uint32_t)c->base.n - 1;
}

void symbolic_base_unpack(const struct symbolic *s, uint32_t base, struct symbolic_input *out)
{
	const struct base *b = &s->candidates.base.p[base];
	size_t head = s->opts.nsource * sizeof *out->now;
	const uint8_t *p = b->packed + head, *end = b->packed + b->size;
	*out = (struct symbolic_input){ .n = s->n, .parent = b->run };
	out->byte = xmalloc(s->n + 1);
	if (head)
		memcpy(out->now, b->packed, head);
	for (size_t i = 0; i < s->n; i++)
		out->byte[i] = b->whole ? p[i] : lowest(s, i);
	for (; !b->whole && p < end; p += 3)
		out->byte[p[0] | (size_t)p[1] << 8] = p[2];
}

void symbolic_base_release(struct symbolic *s, uint32_t base)
{
	struct candidates *c = &s->candidates;
	struct base *b = &c->base.p[base];
	if (--b->refs)
		return;
	c->base_bytes -= b->size;
	free(b->packed);
	b->packed = NULL;
	VEC_PUSH(&c->unused_base, base);
}

/* ---- values of pinned nodes ---- */

struct targets *symbolic_candidates_targets(struct symbolic *s, uint64_t prefix, uint64_t ip,
					    unsigned kind)
{
	struct candidates *c = &s->candidates;
	uint64_t key = hash_mix(prefix, hash_mix(ip, kind)), i;
	struct targets none = { .prefix = prefix, .key = key };
	if (!hmap_get(&c->by_prefix, key, &i)) {
		i = c->targets.n;
		hmap_put(&c->by_prefix, key, i);
		VEC_PUSH(&c->targets, none);
	}
	return &c->targets.p[i];
}

bool symbolic_targets_add(struct targets *t, uint64_t value)
{
	for (size_t i = 0; i < t->value.n; i++)
		if (t->value.p[i] == value)
			return false;
	VEC_PUSH(&t->value, value);
	return true;
}

/* ---- the store ---- */

void symbolic_candidates_free(struct candidates *c)
{
	for (size_t i = 0; i < c->base.n; i++)
		free(c->base.p[i].packed);
	for (size_t i = 0; i < c->targets.n; i++)
		VEC_FREE(&c->targets.p[i].value);
	VEC_FREE(&c->v);
	VEC_FREE(&c->unused);
	VEC_FREE(&c->base);
	VEC_FREE(&c->unused_base);
	VEC_FREE(&c->targets);
	VEC_FREE(&c->miss);
	hmap_free(&c->by_prefix);
	hmap_free(&c->longer);
	hmap_free(&c->asked);
	symbolic_lines_free(&c->lines);
}

size_t symbolic_candidates_memory(const struct candidates *c)
{
	return c->v.cap * sizeof *c->v.p + c->base.cap * sizeof *c->base.p + c->base_bytes +
	       c->targets.n * (sizeof *c->targets.p + 8 * sizeof(uint64_t)) +
	       (c->by_prefix.cap + c->longer.cap + c->asked.cap) * 17;
}

uint32_t symbolic_candidate_add(struct symbolic *s, const struct candidate *what)
{
	struct candidates *c = &s->candidates;
	uint32_t id;
	if (c->unused.n) {
		id = c->unused.p[--c->unused.n];
		c->v.p[id] = *what;
	} else {
		id = (uint32_t)c->v.n;
		VEC_PUSH(&c->v, *what);
	}
	c->v.p[id].serial = ++c->serial;
	c->base.p[what->base].refs++;
	c->n++;
	if (what->why == SYMBOLIC_MISS)
		VEC_PUSH(&c->miss, id);
	else
		symbolic_search_add(s->search, id);
	return id;
}

/* The place is free again; what it referred to is still held. */
static void leave(struct symbolic *s, uint32_t id)
{
	struct candidates *c = &s->candidates;
	struct candidate *what = &c->v.p[id];
	if (what->why == SYMBOLIC_TARGET) {
		const struct step *step = &s->tree.step.p[what->step];
		uint64_t prefix = s->tree.step.p[step->parent].hash;
		symbolic_candidates_targets(s, prefix, step->ip, step->kind)->waiting = false;
	}
	if (what->why == SYMBOLIC_LINE)
		symbolic_lines_left(s, what);
	what->why = SYMBOLIC_SEED;
	VEC_PUSH(&c->unused, id);
	c->n--;
}

bool symbolic_candidate_take(struct symbolic *s, struct candidate *out)
{
	struct candidates *c = &s->candidates;
	uint32_t id;
	if (c->miss_at < c->miss.n) {
		id = c->miss.p[c->miss_at++];
		if (c->miss_at == c->miss.n)
			c->miss_at = c->miss.n = 0;
	} else if (!symbolic_search_take(s->search, &id)) {
		return false;
	}
	*out = c->v.p[id];
	leave(s, id);
	return true;
}

void symbolic_candidate_drop(struct symbolic *s, uint32_t id)
{
	uint32_t base = s->candidates.v.p[id].base;
	leave(s, id);
	symbolic_base_release(s, base);
}

/* ---- from a run ---- */

struct passed {
	uint32_t step;            /* NONE: it was there before */
	uint64_t times;           /* how often the path had been at this branch */
	uint32_t open, open_line; /* as in a candidate */
};

static void add_branch(struct symbolic_run *run, const struct decision *d,
		       const struct passed *passed, uint32_t base)
{
	struct symbolic *s = run->s;
	const struct kin *kin = &s->kin.p[s->kin.n - 1];
	const struct step *step = &s->tree.step.p[passed->step];
	uint64_t before = s->tree.step.p[step->parent].hash;
	struct candidate c = { .ip = d->ip,
			       .step = passed->step,
			       .depth = step->depth,
			       .base = base,
			       .why = SYMBOLIC_BRANCH,
			       .kind = d->kind,
			       .fresh = run->new_blocks != 0,
			       .age = d->ip == run->in.ip ? run->from.age : kin->age,
			       .open = passed->open,
			       .open_line = passed->open_line,
			       .dry = run->pm == d->pm };
	struct targets *t;
	if (d->kind == SYM_COND) {
		if (symbolic_tree_find(&s->tree, symbolic_tree_hash(before, d->ip, d->kind,
								    !d->value)) != SYMBOLIC_NONE)
			return;
		c.way = symbolic_cover_way(s, d->ip, d->kind, !d->value, d->value ? d->no : d->yes);
		c.was = symbolic_cover_way(s, d->ip, d->kind, d->value != 0,
					   d->value ? d->yes : d->no);
	} else {
		t = symbolic_candidates_targets(s, before, d->ip, d->kind);
		symbolic_targets_add(t, d->value);
		if (t->waiting || t->value.n > s->opts.max_targets)
			return;
		t->waiting = true;
		c.why = SYMBOLIC_TARGET;
		c.way = symbolic_cover_way(s, d->ip, d->kind, WAY_OTHER, d->ip);
	}
	c.stack = symbolic_cover_stack(s, run->defs, d->process, d->ctx, &run->contexts);
	c.round = symbolic_cover_round(s, c.way, c.stack, passed->times, 0);
	c.line = symbolic_cover_round(s, c.way, c.stack, passed->times, kin->line);
	symbolic_candidate_add(s, &c);
}

/* Twice as long each time: a program that reads to the end gets there in few steps. */
static uint32_t longer(uint32_t now, uint32_t len)
{
	uint32_t more = now ? now : 1;
	return len - now < more ? len : now + more;
}

/* As important as what the program does with its first byte: all of it could be different. */
static void add_longer(struct symbolic_run *run, uint32_t leaf, uint32_t base)
{
	struct symbolic *s = run->s;
	for (uint32_t i = 0; i < s->opts.nsource; i++) {
		uint32_t now = run->in.now[i], len = s->source[i].len;
		struct candidate c = { .why = SYMBOLIC_LONGER,
				       .ip = run->end[i].ip,
				       .step = leaf,
				       .base = base,
				       .open = SYMBOLIC_NONE,
				       .open_line = SYMBOLIC_NONE,
				       .source = i };
		struct decision first, none = { .ip = c.ip,
						.process = run->end[i].process,
						.ctx = run->end[i].ctx };
		uint64_t key;
		if (!run->end[i].met || now >= len)
			continue;
		c.now = longer(now, len);
		key = hash_mix(run->hash, (uint64_t)i << 32 | c.now);
		if (hmap_get(&s->candidates.longer, key, NULL))
			continue;
		hmap_put(&s->candidates.longer, key, 1);
		first = run->path.n ? run->path.p[0] : none;
		c.way = symbolic_cover_way(s, hash_mix(c.ip, i), KIND_LONGER, 0, first.ip);
		c.round = c.line = symbolic_cover_round(s, c.way, 0, c.now, 0);
		c.stack = symbolic_cover_stack(s, run->defs, first.process, first.ctx,
					       &run->contexts);
		symbolic_candidate_add(s, &c);
	}
}

/*
 * The child of `at` that the decision leads to. A program that is not quite deterministic can get there
 * with another condition; where that one does not hold for this input, the step is one of its own.
 * So it is where the input has another length: "n < length of the input" means something else then,
 * and what was impossible below it may be possible.
 */
static uint32_t enter(struct symbolic_run *run, uint32_t at, const struct decision *d, bool *new)
{
	struct symbolic *s = run->s;
	struct step what = { .ip = d->ip,
			     .value = d->value,
			     .kind = d->kind,
			     .parent = at,
			     .node = d->node,
			     .cond = d->cond,
			     .sizes = run->sizes };
	struct step *old;
	uint32_t id;
	what.hash = symbolic_tree_hash(s->tree.step.p[at].hash, d->ip, d->kind, d->value);
	id = symbolic_tree_find(&s->tree, what.hash);
	if (id != SYMBOLIC_NONE) {
		old = &s->tree.step.p[id];
		if (old->cond && old->cond != d->cond &&
		    (old->sizes != run->sizes ||
		     !solve_pool_eval(s->pool, old->cond, run->in.byte, run->in.n))) {
			what.hash = hash_mix(hash_mix(what.hash, d->cond), run->sizes);
			id = symbolic_tree_find(&s->tree, what.hash);
		} else if (!old->cond) {
			old->cond = d->cond;
			old->node = d->node;
		}
	}
	*new = id == SYMBOLIC_NONE;
	return *new ? symbolic_tree_add(&s->tree, &what) : id;
}

static void count(struct symbolic_run *run, const struct decision *d, uint32_t id, uint32_t *open)
{
	struct symbolic_way *w = &run->s->cover.ways.p[id];
	if (open && !w->wet && w->side != WAY_OTHER)
		*open = id;
	w->taken = true;
	w->seen++;
	w->wet += run->pm > d->pm;
}

/* The way that a decision took, in all, in this round, and in this round of this line. */
static uint32_t took(struct symbolic_run *run, const struct decision *d, uint32_t stack,
		     uint64_t times, struct passed *open)
{
	struct symbolic *s = run->s;
	unsigned side = d->kind == SYM_COND ? d->value != 0 : WAY_OTHER;
	uint64_t target = side == WAY_OTHER ? d->ip : side ? d->yes : d->no;
	uint32_t way = symbolic_cover_way(s, d->ip, d->kind, side, target);
	count(run, d, way, NULL);
	count(run, d, symbolic_cover_round(s, way, stack, times, 0), &open->open);
	if (open->open != SYMBOLIC_NONE && run->pm > d->pm)
		s->kin.p[s->kin.n - 1].age = 0;
	if (run->from.line)
		count(run, d, symbolic_cover_round(s, way, stack, times, run->from.line),
		      &open->open_line);
	return way;
}

static uint32_t pass(struct symbolic_run *run, struct passed *passed)
{
	struct symbolic *s = run->s;
	struct hmap times = { 0 };
	uint32_t at = 0, way = SYMBOLIC_NONE;
	struct passed open = { .open = SYMBOLIC_NONE, .open_line = SYMBOLIC_NONE };
	for (size_t i = 0; i < run->path.n; i++) {
		const struct decision *d = &run->path.p[i];
		struct passed *p = &passed[i];
		uint32_t stack;
		uint64_t place;
		bool new;
		if (s->tree.step.p[at].closed) {
			for (; i < run->path.n; i++)
				passed[i].step = SYMBOLIC_NONE;
			break;
		}
		at = enter(run, at, d, &new);
		p->step = new ? at : SYMBOLIC_NONE;
		p->times = 0;
		stack = symbolic_cover_stack(s, run->defs, d->process, d->ctx, &run->contexts);
		place = hash_mix(d->ip, stack);
		hmap_get(&times, place, &p->times);
		hmap_put(&times, place, p->times + 1);
		if (way != SYMBOLIC_NONE)
			symbolic_cover_follows(s, way, d->ip);
		p->open = open.open;
		p->open_line = open.open_line;
		way = took(run, d, stack, p->times, &open);
	}
	hmap_free(&times);
	return at;
}

void symbolic_candidates_of_run(struct symbolic_run *run, uint64_t number)
{
	struct symbolic *s = run->s;
	uint32_t base = symbolic_base_keep(s, &run->in, number), leaf;
	struct passed *passed = xmalloc((run->path.n + 1) * sizeof *passed);
	leaf = pass(run, passed);
	if (!s->tree.step.p[leaf].closed)
		add_longer(run, leaf, base);
	for (size_t i = 0; i < run->path.n; i++)
		if (passed[i].step != SYMBOLIC_NONE)
			add_branch(run, &run->path.p[i], &passed[i], base);
	if (!s->tree.step.p[leaf].closed) {
		symbolic_miss_candidates(run, leaf, base);
		symbolic_lines_candidates(run, leaf, base);
	}
	symbolic_base_release(s, base);
	free(passed);
}
