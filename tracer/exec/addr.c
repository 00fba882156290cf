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
 * Other loads and stores at an address that can have few values (values.c) become choices between
 * the places (places.c). If some of these cannot be accessed, the path is one on which the address
 * is none of them; that the program would crash there is for another run to show.
 *
 * All other symbolic addresses are pinned to their concrete values.
 */
#include "slow.h"

#define SPREAD 65536u     /* the largest distance between places of a table */
#define CHOICES 16u       /* bytes in a vector */
#define VISITS (1u << 18) /* places that a run looks at, at most */

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
	within = t_cmp(EXPR_ULT, index, t_const(64, n));
	if (within.node)
		sym_branch(SYM_PIN, within.node, within.v, ip, NULL);
	if (!within.v)
		return False;
	all = byte_at(base + n - 1, r->bits);
	for (UInt i = n - 1; i-- > 0;)
		all = t_ite(t_cmp(EXPR_EQ, index, t_const(64, i)), byte_at(base + i, r->bits), all);
	t_to(r, 0, all);
	return True;
}

/* ---- places ---- */

/* Is it a choice between addresses, to which something may have been added? */
static Bool chosen_pointer(struct term t, UInt depth)
{
	struct term_parts p = term_look(&sym_terms, t);
	switch (p.op) {
	case EXPR_ITE:
	case EXPR_TABLE: return VG_(am_is_valid_for_client)(t.v, 1, VKI_PROT_READ);
	case EXPR_ADD:
	case EXPR_SUB:
	case EXPR_AND:
	case EXPR_OR:
		return depth && (chosen_pointer(p.a, depth - 1) || chosen_pointer(p.b, depth - 1));
	default: return False;
	}
}

static Bool in_pm(ULong a, UInt size)
{
	return region_find(a) && region_find(a + size - 1);
}

/* A variable of a module or on this thread's stack, or constant: no allocator has put it there. */
static Bool in_variable(ULong a, UInt size)
{
	ThreadId tid = VG_(get_running_tid)();
	VgSectKind kind = VG_(DebugInfo_sect_kind)(NULL, a);
	return kind == Vg_SectData || kind == Vg_SectBSS ||
	       (a >= VG_(get_SP)(tid) - VG_STACK_REDZONE_SZB &&
		a <= VG_(thread_get_stack_max)(tid)) ||
	       !VG_(am_is_valid_for_client)(a, size, VKI_PROT_WRITE);
}

static Bool all_in(const struct sym_values *places, UInt size, Bool (*in)(ULong, UInt))
{
	for (UInt i = 0; i < places->n; i++)
		if (!in(places->v[i], size))
			return False;
	return True;
}

static Bool overlap(const struct sym_values *places, UInt size)
{
	for (UInt i = 1; i < places->n; i++)
		if (places->v[i] - places->v[i - 1] < size)
			return True;
	return False;
}

/*
 * Which accesses are followed: all to PM, and those to arrays among variables and constants. Where it
 * is one of several objects, or somewhere in the memory of an allocator, each is a path of its own:
 * else malloc(), asked for a symbolic size, would make all that it keeps symbolic, and so the rest of
 * the run.
 */
static Bool is_followed(struct term a, const struct sym_values *places, UInt size, Bool store)
{
	if (places->n == 1)
		return True;
	if (store && overlap(places, size))
		return False;
	if (all_in(places, size, in_pm))
		return True;
	return !chosen_pointer(a, 4) && all_in(places, size, in_variable);
}

/* The places that can be accessed; the others are ruled out. False: it is not followed. */
static Bool places_of(struct term a, UInt size, Bool store, Addr ip, struct sym_values *places)
{
	static UInt visits;
	UInt access = store ? VKI_PROT_READ | VKI_PROT_WRITE : VKI_PROT_READ, n = 0;
	struct term within = t_const(1, 1);
	Bool here = False;
	if (visits > VISITS || !sym_values(a, places))
		return False;
	visits += places->n;
	for (UInt i = 0; i < places->n; i++) {
		ULong v = places->v[i];
		if (VG_(am_is_valid_for_client)(v, size, access)) {
			places->v[n++] = v;
			here = here || v == a.v;
		} else {
			within = t_bin(EXPR_AND, within, t_not(t_cmp(EXPR_EQ, a, t_const(64, v))));
		}
	}
	places->n = n;
	if (!here || !is_followed(a, places, size, store))
		return False;
	if (within.node)
		sym_branch(SYM_PIN, within.node, 1, ip, NULL);
	return True;
}

static Bool load_places(const struct sym_value *a, struct sym_value *r, Addr ip)
{
	struct sym_values places;
	if (!places_of(t_of(a, 0), r->bits / 8, False, ip, &places))
		return False;
	sym_places_load(t_of(a, 0), &places, r);
	return True;
}

void sym_load_at(const struct sym_value *a, struct sym_value *r, Addr ip)
{
	if (load_table(a, r) || load_choice(a, r, ip) || load_places(a, r, ip))
		return;
	sym_pin(SYM_LOAD, a, ip);
	sym_load(a->v[0], r);
}

static void announce(const struct sym_value *a, UInt size, Addr ip)
{
	Addr to = a->v[0];
	if (region_find(to) != NULL || region_next(to) < to + size)
		sym_announce(SYM_PM_STORE, a->node[0], to, ip);
}

void sym_store_pinned(const struct sym_value *a, UInt size, Addr ip)
{
	announce(a, size, ip);
	sym_pin(SYM_STORE, a, ip);
}

void sym_store_places(const struct sym_value *a, UInt size, Addr ip, struct sym_values *places)
{
	if (places_of(t_of(a, 0), size, True, ip, places)) {
		announce(a, size, ip);
		return;
	}
	sym_store_pinned(a, size, ip);
	places->n = 0;
}

void sym_store_at(const struct sym_value *a, const struct sym_value *x, Addr ip)
{
	struct sym_values places;
	sym_store_places(a, x->bits / 8, ip, &places);
	if (places.n)
		sym_places_store(t_of(a, 0), &places, x, NULL);
	else
		sym_store(a->v[0], x);
}
