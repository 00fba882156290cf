/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets of labels. A set of one label is that label; larger ones are kept once each, in a table with open
 * addressing, and known by their place in it. Of more than TRACE_LABELS labels the newest are kept.
 */
#include "labels.h"

#define MANY (1u << 20) /* sets after which all are forgotten, at the next occasion */
#define MOST (1u << 22) /* … if there was none: no new ones */
#define MEMO 65536u

struct set {
	UInt n;
	UInt label[TRACE_LABELS]; /* the newest, and so the greatest, first */
};

static struct {
	struct set *set; /* number i is SET_MANY + i */
	UInt n, cap;
	UInt *slot; /* set's number + 1, by its hash */
	UInt slots;
} all;

static struct {
	set_t a, b, both;
} memo[MEMO];

UInt set_labels(set_t s, UInt label[TRACE_LABELS])
{
	if (!(s & SET_MANY)) {
		label[0] = s;
		return s != 0;
	}
	const struct set *set = &all.set[s & ~SET_MANY];
	for (UInt i = 0; i < set->n; i++)
		label[i] = set->label[i];
	return set->n;
}

static UInt *slot_of(const struct set *s)
{
	ULong h = s->n;
	for (UInt i = 0; i < s->n; i++)
		h = (h ^ s->label[i]) * 0x9E3779B97F4A7C15ull;
	for (UInt i = (UInt)(h >> 32) & (all.slots - 1);; i = (i + 1) & (all.slots - 1)) {
		const struct set *known = all.slot[i] ? &all.set[all.slot[i] - 1] : NULL;
		if (!known || (known->n == s->n &&
			       VG_(memcmp)(known->label, s->label, s->n * sizeof(UInt)) == 0))
			return &all.slot[i];
	}
}

static void grow(void)
{
	all.cap = all.cap ? all.cap * 2 : 4096;
	all.set = VG_(realloc)("hf.sets", all.set, all.cap * sizeof *all.set);
	all.slots = all.cap * 2;
	if (all.slot)
		VG_(free)(all.slot);
	all.slot = VG_(calloc)("hf.sets", all.slots, sizeof *all.slot);
	for (UInt i = 0; i < all.n; i++)
		*slot_of(&all.set[i]) = i + 1;
}

/* 0: there is no room for it. */
static set_t intern(const struct set *s)
{
	UInt *slot;
	if (s->n == 1)
		return s->label[0];
	if (all.n == all.cap && all.n < MOST)
		grow();
	slot = slot_of(s);
	if (!*slot) {
		if (all.n == all.cap)
			return 0;
		all.set[all.n++] = *s;
		*slot = all.n;
	}
	return SET_MANY | (*slot - 1);
}

static set_t merged(set_t a, set_t b)
{
	UInt x[TRACE_LABELS], y[TRACE_LABELS];
	UInt nx = set_labels(a, x), ny = set_labels(b, y), i = 0, k = 0;
	struct set s = { 0 };
	while (s.n < TRACE_LABELS && (i < nx || k < ny)) {
		UInt p = i < nx ? x[i] : 0, q = k < ny ? y[k] : 0;
		s.label[s.n++] = p > q ? p : q;
		i += p >= q;
		k += q >= p;
	}
	set_t both = intern(&s);
	return both ? both : a > b ? a : b;
}

set_t set_union(set_t a, set_t b)
{
	if (!a || !b || a == b)
		return a | b;
	if (a > b) {
		set_t swap = a;
		a = b;
		b = swap;
	}
	UInt at = (UInt)((((ULong)a << 32 | b) * 0x9E3779B97F4A7C15ull) >> 48) % MEMO;
	if (memo[at].a != a || memo[at].b != b) {
		memo[at].both = merged(a, b);
		memo[at].a = a;
		memo[at].b = b;
	}
	return memo[at].both;
}

Bool sets_full(void)
{
	return all.n >= MANY;
}

void sets_forget(void)
{
	all.n = 0;
	VG_(memset)(memo, 0, sizeof memo);
	if (all.slot)
		VG_(memset)(all.slot, 0, all.slots * sizeof *all.slot);
}
