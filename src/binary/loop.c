/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops of a function, and whether two instructions were executed in one round.
 *
 * The outermost loop of a block is all blocks that lead to it and that it leads to. All its rounds begin in the one block of
 * it, its *head*, that is entered from outside; a loop that is entered in several places is none here.
 *
 *	     head ◀────┐        head, A, B, C: in any one round, C comes behind A or B, never before them,
 *	     /  \      │        and of A and B there is only one
 *	    A    B     │
 *	     \  /      │        A … C: the same round, if C cannot be left out.   C … A, A … B, A … A: another one
 *	      C ───────┘
 */
#include <stdlib.h>
#include <string.h>

#include "binary/view.h"

struct body {
	const struct file *file;
	uint32_t unit, n; /* blocks */
	binary_ways way;
	uint8_t *in; /* by block: it is in the loop */
	uint32_t head;
};

/* Marks what can be reached from a block by one way or more, within what `in` has, but not through `head` nor `stop`, a bit
 * each: 1. */
static void reach(const struct body *b, uint32_t from, const uint8_t *in, uint32_t head,
		  const uint8_t *stop, uint8_t *met)
{
	VEC(uint32_t) left = { 0 };
	VEC_PUSH(&left, from);
	while (left.n) {
		uint32_t at = left.p[--left.n];
		size_t i = BISECT(k, b->way.n, b->way.p[k].from < at);
		for (; i < b->way.n && b->way.p[i].from == at; i++) {
			uint32_t to = b->way.p[i].to;
			if (to >= b->n || to == head || met[to] || (in && !in[to]))
				continue;
			met[to] = 1;
			if (!stop || !stop[to])
				VEC_PUSH(&left, to);
		}
	}
	VEC_FREE(&left);
}

static int by_from(const void *a, const void *b)
{
	const struct binary_way *x = a, *y = b;
	return x->from < y->from ? -1 : x->from > y->from;
}

static void turn_round(binary_ways *w)
{
	for (size_t i = 0; i < w->n; i++)
		w->p[i] = (struct binary_way){ w->p[i].to, w->p[i].from };
	if (w->n)
		qsort(w->p, w->n, sizeof *w->p, by_from);
}

/* The block that is entered from outside, by those that can be reached at all; NONE: there are several, or none. */
static uint32_t head_of(const struct body *b, uint32_t entry, const uint8_t *entered)
{
	uint32_t head = b->in[entry] ? entry : NONE;
	for (size_t i = 0; i < b->way.n; i++) {
		struct binary_way w = b->way.p[i];
		if (w.to >= b->n || !b->in[w.to] || b->in[w.from] || !entered[w.from])
			continue;
		if (head != NONE && head != w.to)
			return NONE;
		head = w.to;
	}
	return head;
}

/* The first block of the function that holds it. */
static uint32_t entry_of(const struct file *f, uint32_t unit, uint32_t pos)
{
	uint32_t func = binary_func_of(f->b, pos);
	uint32_t block = func == NONE ? NONE : binary_block_of(f->b, f->b->func.p[func].pos);
	return block != NONE && f->b->block.p[block].unit == unit ? binary_in_unit(f, unit, block)
								  : 0;
}

/* The loop of a block; false: it is in none. To be freed in any case. */
static bool find_body(const struct binary_view *v, const struct ref *at, struct body *b)
{
	const struct file *f = &v->file.p[at->file];
	uint32_t unit = f->b->block.p[at->block].unit;
	uint32_t n = f->unit_first[unit + 1] - f->unit_first[unit];
	*b = (struct body){
		.file = f, .unit = unit, .n = n, .in = xcalloc(n + 1, 1), .head = NONE
	};
	uint8_t *on = xcalloc(n + 1, 1), *entered = xcalloc(n + 1, 1);
	uint32_t block = binary_in_unit(f, unit, at->block), entry = entry_of(f, unit, at->pos);
	binary_unit_ways(v, at->file, unit, &b->way);
	turn_round(&b->way);
	reach(b, block, NULL, NONE, NULL, b->in); /* what leads to it */
	turn_round(&b->way);
	reach(b, block, NULL, NONE, NULL, on);
	reach(b, entry, NULL, NONE, NULL, entered);
	entered[entry] = 1;
	for (uint32_t i = 0; i < n; i++)
		b->in[i] &= on[i];
	if (b->in[block])
		b->head = head_of(b, entry, entered);
	free(on);
	free(entered);
	return b->head != NONE;
}

static void free_body(struct body *b)
{
	VEC_FREE(&b->way);
	free(b->in);
}

uint64_t binary_view_loop(const struct binary_view *v, uint64_t ip)
{
	struct ref at;
	struct body b;
	if (!binary_view_find(v, ip, &at))
		return BINARY_NO_BLOCK;
	bool found = find_body(v, &at, &b);
	uint64_t head = found ? b.file->unit_block[b.file->unit_first[b.unit] + b.head] : 0;
	free_body(&b);
	return found ? (uint64_t)at.file << 32 | head : BINARY_NO_BLOCK;
}

/* Can the head be met from this block, but not through `stop`? */
static bool comes_round(const struct body *b, uint32_t from, const uint8_t *stop)
{
	uint8_t *met = xcalloc(b->n + 1, 1);
	bool any = false;
	reach(b, from, b->in, b->head, stop, met);
	met[from] = 1;
	for (size_t i = 0; i < b->way.n && !any; i++) {
		struct binary_way w = b->way.p[i];
		any = w.to == b->head && met[w.from] && (w.from == from || !stop[w.from]);
	}
	free(met);
	return any;
}

/* Can a block be met from the head, but not through those of `seen`, nor through the head again? */
static bool comes_first(const struct binary_view *v, const struct body *b, const struct ref *to,
			const uint64_t *seen, size_t n)
{
	uint32_t block = binary_in_unit(b->file, b->unit, to->block);
	uint8_t *met = xcalloc(b->n + 1, 1), *stop = xcalloc(b->n + 1, 1);
	bool before = false; /* another is in its block, in front of it */
	for (size_t i = 0; i < n; i++) {
		struct ref at;
		if (!binary_view_find(v, seen[i], &at) || at.file != to->file ||
		    b->file->b->block.p[at.block].unit != b->unit)
			continue;
		before |= at.block == to->block && at.pos < to->pos;
		stop[binary_in_unit(b->file, b->unit, at.block)] |= at.block != to->block;
	}
	bool first = block == b->head;
	if (!first && !before && !stop[b->head]) {
		reach(b, b->head, b->in, b->head, stop, met);
		first = met[block];
	}
	free(met);
	free(stop);
	return first && !before;
}

enum binary_round binary_view_round(const struct binary_view *v, uint64_t from, uint64_t to,
				    const uint64_t *seen, size_t n)
{
	struct ref a, z;
	struct body b;
	enum binary_round round = BINARY_ROUND_NEXT;
	if (!binary_view_find(v, from, &a) || !binary_view_find(v, to, &z) || a.file != z.file)
		return BINARY_ROUND_MAYBE;
	if (a.block == z.block && a.pos < z.pos)
		return BINARY_ROUND_SAME;
	if (find_body(v, &a, &b) && b.file->b->block.p[z.block].unit == b.unit) {
		uint32_t first = binary_in_unit(b.file, b.unit, a.block);
		uint32_t last = binary_in_unit(b.file, b.unit, z.block);
		uint8_t *met = xcalloc(b.n + 1, 1), *stop = xcalloc(b.n + 1, 1);
		stop[last] = 1;
		reach(&b, first, b.in, b.head, NULL, met);
		if (met[last])
			round = comes_round(&b, first, stop) && comes_first(v, &b, &z, seen, n)
					? BINARY_ROUND_MAYBE
					: BINARY_ROUND_SAME;
		free(met);
		free(stop);
	}
	free_body(&b);
	return round;
}
