/* SPDX-License-Identifier: BSD-3-Clause */
/* Phase 2: fixes that would do the same become one. */
#include "repair/internal.h"

static bool after(const struct repair_place *a, const struct repair_place *b)
{
	return a->line != b->line ? a->line > b->line : a->column > b->column;
}

/* Two stores to one cache line, in statements that are executed together: what follows the later one serves both. */
static bool same_line(const struct repair_bug *b, const struct repair_fix *x,
		      const struct repair_fix *y)
{
	const struct repair_bug *p = &b[x->bug], *q = &b[y->bug];
	return x->form == REPAIR_STORE && y->form == REPAIR_STORE && x->acts == y->acts &&
	       p->line && p->line == q->line && p->site[x->site].block &&
	       p->site[x->site].block == q->site[y->site].block;
}

/* The same thing done twice at one place: of a copy, or of a range, both need to be of the same call. */
static bool same_step(const struct repair_fix *x, const struct repair_fix *y)
{
	return x->form == y->form && repair_same_place(&x->at, &y->at);
}

static bool join(const struct repair_bug *b, struct repair_plan *plan, size_t i, size_t k)
{
	struct repair_fix *x = &plan->fix.p[i], *y = &plan->fix.p[k];
	if (same_step(x, y)) {
		x->acts |= y->acts;
		for (size_t n = 0; n < y->stores.n; n++)
			VEC_PUSH(&x->stores, y->stores.p[n]);
	} else if (same_line(b, x, y)) {
		struct repair_fix *first = after(&x->at, &y->at) ? y : x;
		struct repair_fix *last = first == x ? y : x;
		repair_reject(
			last, &first->at,
			xstrdup("the same cache line is stored to again: one flush does for both"));
		if (last == y) {
			struct repair_fix t = *x;
			*x = *y;
			*y = t;
		}
	} else {
		return false;
	}
	repair_join(x, y);
	repair_drop(plan, k);
	return true;
}

/* The call is on the way to the bug's store, and not too far out. */
static bool leads_to(const struct repair_bug *b, const struct repair_place *call)
{
	for (size_t i = 1; i < b->n && i <= b->holds; i++)
		if (repair_same_place(&b->site[i].at, call))
			return true;
	return false;
}

/* What the range flush behind the call covers has all that the other fix would flush. */
static bool covers(const struct repair_bug *b, const struct repair_fix *range,
		   const struct repair_fix *other)
{
	const struct repair_site *s = &b[range->bug].site[range->site];
	bool all = range->form == REPAIR_RANGE && s->to && other->acts & REPAIR_FLUSH;
	for (size_t i = 0; all && i < other->stores.n; i++) {
		const struct repair_bug *o = &b[other->stores.p[i]];
		all = o->stored >= s->from && o->stored < s->to && leads_to(o, &range->at);
	}
	return all;
}

void repair_cover(const struct repair_bug *b, struct repair_plan *plan)
{
	for (size_t i = 0; i < plan->fix.n; i++) {
		size_t k = 0;
		while (k < plan->fix.n && (k == i || !covers(b, &plan->fix.p[i], &plan->fix.p[k])))
			k++;
		if (k == plan->fix.n)
			continue;
		struct repair_fix *f = &plan->fix.p[i], *other = &plan->fix.p[k];
		repair_reject(f, &other->at,
			      xstrdup("what is flushed behind the call has this, too"));
		f->acts |= other->acts & REPAIR_FENCE;
		repair_join(f, other);
		repair_drop(plan, k);
		i -= 1 + (k < i); /* once more, for another */
	}
}

void repair_reduce(const struct repair_bug *b, struct repair_plan *plan)
{
	for (size_t i = 0; i < plan->fix.n; i++)
		for (size_t k = i + 1; k < plan->fix.n;)
			if (join(b, plan, i, k))
				k = i + 1;
			else
				k++;
}
