/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbolic addresses.
 *
 * A load at a symbolic address that depends on one input byte is a table look-up, if all places
 * that it can reach are readable and concrete: it becomes a TABLE node with the 256 results.
 * Which values the byte can have on this path is worked out from the conditions so far that are
 * about this byte alone.
 *
 * String functions find the first byte that differs with vector operations and load the byte
 * there: an address with few, consecutive values. The loaded value becomes a choice between these
 * bytes, so that one question to the solver leads from any string to an equal one.
 *
 * All other symbolic addresses are pinned to their concrete values.
 */
#include "expr/term.h"
#include "slow.h"

#define SPREAD 65536u /* the largest distance between places of a table */
#define CHOICES 16u   /* bytes in a vector */

/* ---- tables ---- */

static Bool usable(Addr a, UInt size)
{
	return VG_(am_is_valid_for_client)(a, size, VKI_PROT_READ) && !sym_any(a, size);
}

/* All places that are possible can be read, and hold nothing symbolic. */
static Bool places_usable(const ULong place[256], const Bool *can, UInt size)
{
	ULong lo = ~0ull, hi = 0;
	for (UInt i = 0; i < 256; i++) {
		if (can && !can[i])
			continue;
		lo = place[i] < lo ? place[i] : lo;
		hi = place[i] > hi ? place[i] : hi;
	}
	if (lo > hi || hi - lo > SPREAD || hi + size < hi)
		return False;
	if (usable(lo, (UInt)(hi - lo) + size))
		return True;
	for (UInt i = 0; i < 256; i++)
		if ((!can || can[i]) && !usable(place[i], size))
			return False;
	return True;
}

static UInt table_word(UInt index, const ULong place[256], const Bool *can, UInt at, UInt size,
		       ULong now)
{
	UChar entries[256 * 8];
	Bool same = True;
	for (UInt i = 0; i < 256; i++) {
		const void *from = !can || can[i] ? (const void *)(place[i] + at) : &now;
		VG_(memcpy)(entries + i * size, from, size);
		same = same && VG_(memcmp)(entries + i * size, entries, size) == 0;
	}
	return same ? 0 : sym_table_node(size * 8, index, entries);
}

static Bool load_table(const struct sym_value *a, struct sym_value *r)
{
	UInt word = r->bits < 64 ? r->bits / 8 : 8, size = r->bits / 8;
	Long byte = sym_single_input(a->node[0]);
	const Bool *can = NULL;
	ULong place[256];
	if (byte < 0 || !sym_eval_all(a->node[0], place))
		return False;
	if (!places_usable(place, NULL, size)) {
		can = sym_possible((UInt)byte);
		if (!places_usable(place, can, size))
			return False;
	}
	for (UInt i = 0; i * 64 < r->bits; i++)
		r->node[i] =
			table_word(sym_input_node((UInt)byte, 0), place, can, i * 8, word, r->v[i]);
	return True;
}

/* ---- choices ---- */

/* An upper bound. It knows only the operations that indices into vectors are made of. */
static ULong at_most(struct term t, UInt depth)
{
	struct sym_operand arg[3];
	struct term x;
	UInt word;
	if (!t.node || !depth)
		return t.node ? expr_mask(t.w) : t.v;
	word = sym_args(t.node, arg);
	x = (struct term){ arg[0].node, EXPR_AW(word), arg[0].value };
	switch (EXPR_OP(word)) {
	case EXPR_CTZ:
	case EXPR_CLZ: return t.w;
	case EXPR_ZEXT: return at_most(x, depth - 1);
	case EXPR_EXTRACT:
		if (!EXPR_LO(word) && at_most(x, depth - 1) <= expr_mask(t.w))
			return at_most(x, depth - 1);
		return expr_mask(t.w);
	default: return expr_mask(t.w);
	}
}

/* base + index, the index at most 64? */
static Bool split(struct term a, struct term *index, Addr *base)
{
	struct sym_operand arg[3];
	UInt word = sym_args(a.node, arg);
	*index = a;
	*base = 0;
	if (EXPR_OP(word) == EXPR_ADD && arg[0].node && !arg[1].node) {
		*index = (struct term){ arg[0].node, 64, arg[0].value };
		*base = arg[1].value;
	}
	return at_most(*index, 4) <= 64;
}

static struct term byte_at(Addr a, UInt bits)
{
	struct sym_value x = { bits, { 0 }, { 0 } };
	VG_(memcpy)(&x.v[0], (const void *)a, bits / 8);
	sym_load(a, &x);
	return t_of(&x, 0);
}

static Bool load_choice(const struct sym_value *a, struct sym_value *r, Addr ip)
{
	struct term index, all, within;
	UInt n = CHOICES;
	Addr base;
	if (r->bits > 16 || !split(t_of(a, 0), &index, &base))
		return False;
	while (n && !VG_(am_is_valid_for_client)(base, n + r->bits / 8 - 1, VKI_PROT_READ))
		n /= 2;
	if (index.v >= n)
		return False;
	within = t_cmp(EXPR_ULT, index, t_const(64, n));
	if (within.node)
		sym_branch(SYM_PIN, within.node, 1, ip, NULL);
	all = byte_at(base + n - 1, r->bits);
	for (UInt i = n - 1; i-- > 0;)
		all = t_ite(t_cmp(EXPR_EQ, index, t_const(64, i)), byte_at(base + i, r->bits), all);
	t_to(r, 0, all);
	return True;
}

void sym_load_at(const struct sym_value *a, struct sym_value *r, Addr ip)
{
	if (load_table(a, r) || load_choice(a, r, ip))
		return;
	sym_pin(SYM_LOAD, a, ip);
	sym_load(a->v[0], r);
}

void sym_store_at(const struct sym_value *a, UInt size, Addr ip)
{
	Addr to = a->v[0];
	Bool pm = region_find(to) != NULL || region_next(to) < to + size;
	sym_pin(pm ? SYM_PM_STORE : SYM_STORE, a, ip);
}
