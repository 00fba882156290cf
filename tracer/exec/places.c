/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads and stores at an address that can be one of a few places.
 *
 * A store makes each place a choice, and what it was before stays where it is not hit:
 *
 *   *a = d            place c:  a == c ? d : what c was
 *
 * A load is a choice between the places. Where stores at symbolic addresses have gone before, that
 * would be all pairs of places; but what one store has left in them is put together again, as the
 * theory of arrays does it: "read over write".
 *
 *   table[i] = d;     slot k:       i == k ? d : 0
 *   x = table[j];     instead of    j == 0 ? (i == 0 ? d : 0) : j == 1 ? (i == 1 ? d : 0) : …
 *                     just          j == i ? d : 0
 *
 * For that, the addresses of such stores are remembered with the conditions that they made; a
 * condition that is found again in a place says which store it was. A choice that the path has
 * decided is none.
 */
#include "slow.h"

#define STORES 64u /* addresses that are remembered */
#define LAYERS 64u /* stores that are looked for below one load */
#define FEW 4u     /* places that a store may have left out */
#define WORD 8u

/* Where a store could have gone: place v[i] if condition[i]. */
struct store {
	struct term a;
	struct sym_values to;
	UInt condition[SYM_VALUES];
};

static struct {
	struct store store[STORES];
	UInt n, next;
} stores;

/* What a load can get: t[i] at place[i]. */
struct selection {
	struct term a;
	UInt n;
	ULong place[SYM_VALUES];
	struct term t[SYM_VALUES];
};

static struct term settled(struct term condition)
{
	if (condition.node && sym_known(condition.node))
		return t_const(1, condition.v);
	return condition;
}

static struct term is_at(struct term a, ULong place)
{
	return settled(t_cmp(EXPR_EQ, a, t_const(a.w, place)));
}

static struct term both(struct term a, struct term b)
{
	return t_bin(EXPR_AND, a, b);
}

/* n bytes at a, whose values are there, or at `values`. */
static struct term bytes_at(Addr a, UInt n, const void *values)
{
	struct sym_value x = { n * 8, { 0 }, { 0 } };
	VG_(memcpy)(&x.v[0], values ? values : (const void *)a, n);
	sym_load(a, &x);
	return t_of(&x, 0);
}

/* ---- stores that are remembered ---- */

static const struct store *remember(struct term a, const struct sym_values *to)
{
	struct store *s;
	for (UInt i = 0; i < stores.n; i++) {
		s = &stores.store[i];
		if (s->a.node == a.node && s->to.n == to->n &&
		    VG_(memcmp)(s->to.v, to->v, to->n * sizeof to->v[0]) == 0)
			return s;
	}
	s = &stores.store[stores.next];
	stores.next = (stores.next + 1) % STORES;
	stores.n += stores.n < STORES;
	s->a = a;
	s->to = *to;
	for (UInt i = 0; i < to->n; i++)
		s->condition[i] = t_cmp(EXPR_EQ, a, t_const(a.w, to->v[i])).node;
	return s;
}

/* The condition under which it went to this place; 0: it never does. */
static UInt condition_at(const struct store *s, ULong place)
{
	UInt lo = 0, hi = s->to.n;
	while (lo < hi) {
		UInt mid = (lo + hi) / 2;
		if (s->to.v[mid] < place)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->to.n && s->to.v[lo] == place ? s->condition[lo] : 0;
}

/* ---- what a store has left in a place ---- */

struct layer {
	struct term condition, then, otherwise;
};

/* Is it a choice? A single bit, extended, is one, too, and so is a part of a choice. */
static Bool peel(struct term t, struct layer *l)
{
	struct term_parts p = term_look(&sym_terms, t), c;
	Bool part = p.op == EXPR_EXTRACT;
	UInt lo = p.lo;
	if (part)
		p = term_look(&sym_terms, p.a);
	l->condition = p.a;
	if (p.op == EXPR_ITE) {
		l->then = part ? t_extract(p.b, lo, t.w) : p.b;
		l->otherwise = part ? t_extract(p.c, lo, t.w) : p.c;
	} else if (!part && (p.op == EXPR_ZEXT || p.op == EXPR_SEXT) && p.a.w == 1) {
		l->then = t_const(t.w, p.op == EXPR_ZEXT ? 1 : ~0ull);
		l->otherwise = t_const(t.w, 0);
	} else {
		return False;
	}
	c = term_look(&sym_terms, l->condition);
	if (c.op == EXPR_NOT) {
		struct term was = l->then;
		l->condition = c.a;
		l->then = l->otherwise;
		l->otherwise = was;
	}
	return True;
}

/* How far behind its own address the store must have gone for this condition; -1: it is not its. */
static Int offset_of(const struct store *s, ULong place, UInt condition)
{
	for (UInt d = 0; d < WORD; d++)
		if (condition_at(s, place - d) == condition)
			return (Int)d;
	return -1;
}

/* The store that has made this choice in this place, the newest first. */
static const struct store *who_made(ULong place, const struct layer *l, UInt *offset)
{
	for (UInt i = 0; i < stores.n; i++) {
		const struct store *s = &stores.store[(stores.next + STORES - 1 - i) % STORES];
		Int d = offset_of(s, place, l->condition.node);
		if (d < 0)
			continue;
		*offset = (UInt)d;
		return s;
	}
	return NULL;
}

/*
 * Takes the store away from all places where it left `value`. *hits: where what it stored is what
 * is loaded. False: it left something else in too many places.
 */
static Bool take_away(struct selection *s, const struct store *by, UInt offset, struct term value,
		      struct term *hits)
{
	struct layer l[SYM_VALUES];
	Bool member[SYM_VALUES];
	UInt others = 0;
	for (UInt i = 0; i < s->n; i++) {
		member[i] = peel(s->t[i], &l[i]) && term_same(l[i].then, value) &&
			    condition_at(by, s->place[i] - offset) == l[i].condition.node;
		others += !member[i];
	}
	if (others > FEW || others * 2 > s->n)
		return False;
	*hits = settled(t_cmp(EXPR_EQ, s->a, t_bin(EXPR_ADD, by->a, t_const(64, offset))));
	for (UInt i = 0; i < s->n; i++) {
		if (member[i])
			s->t[i] = l[i].otherwise;
		else if (condition_at(by, s->place[i] - offset))
			*hits = both(*hits, t_not(is_at(s->a, s->place[i])));
	}
	return True;
}

/* ---- loads ---- */

/* Is the address base + scale * index, the index of at most 8 bits? */
static Bool has_index(struct term a, struct term *index, ULong *base, ULong *scale)
{
	*base = 0;
	*scale = 1;
	while (a.w > 8) {
		struct term_parts p = term_look(&sym_terms, a);
		if (p.op == EXPR_CONCAT && !p.a.node) {
			*base += *scale * (p.a.v << p.b.w);
			a = p.b;
			continue;
		}
		if (p.op == EXPR_CONCAT && !p.b.node) {
			*base += *scale * p.b.v;
			*scale <<= p.b.w;
		} else if (p.op == EXPR_ADD && a.w == 64 && !p.b.node) {
			*base += *scale * p.b.v;
		} else if (p.op == EXPR_MUL && a.w == 64 && !p.b.node) {
			*scale *= p.b.v;
		} else if (p.op != EXPR_ZEXT) {
			return False;
		}
		a = p.a;
	}
	*index = a;
	return a.node != 0;
}

/* The places hold constants: the entries of a table, if there is an index. False: it is none. */
static Bool tabulate(const struct selection *s, struct term *r)
{
	UChar entries[256 * WORD];
	UInt size = s->t[0].w / 8, at = 0;
	ULong base, scale, now = 0;
	struct term index;
	if (s->n <= FEW || !has_index(s->a, &index, &base, &scale))
		return False;
	for (UInt i = 0; i < s->n; i++) {
		if (s->t[i].node)
			return False;
		now = s->place[i] == s->a.v ? s->t[i].v : now;
	}
	for (UInt i = 0; i < 256; i++) {
		ULong place = base + scale * i;
		for (at = 0; at < s->n && s->place[at] != place;)
			at++;
		VG_(memcpy)(entries + i * size, at < s->n ? (const void *)&s->t[at].v : &now, size);
	}
	*r = (struct term){ sym_table_node(size * 8, t_zext(index, 8).node, entries), size * 8,
			    now };
	return True;
}

/* Each different value once, the most frequent one is what is left. */
static struct term choose(const struct selection *s)
{
	UInt first[SYM_VALUES], times[SYM_VALUES] = { 0 }, most = 0;
	struct term r;
	for (UInt i = 0; i < s->n; i++) {
		for (first[i] = 0; !term_same(s->t[first[i]], s->t[i]);)
			first[i]++;
		if (++times[first[i]] > times[most])
			most = first[i];
	}
	r = s->t[most];
	for (UInt i = s->n; i-- > 0;)
		if (first[i] != most)
			r = t_ite(is_at(s->a, s->place[i]), s->t[i], r);
	return r;
}

static Bool all_same(const struct selection *s)
{
	for (UInt i = 1; i < s->n; i++)
		if (!term_same(s->t[i], s->t[0]))
			return False;
	return True;
}

/* Layer by layer: hits[k] ? value[k] : … */
static struct term select(struct selection *s)
{
	struct term hits[LAYERS], value[LAYERS], r;
	UInt layers = 0;
	for (UInt i = 0; i < s->n && i <= FEW && layers < LAYERS && !all_same(s);) {
		const struct store *by;
		struct layer l;
		UInt offset = 0;
		if (!peel(s->t[i], &l) || !(by = who_made(s->place[i], &l, &offset)) ||
		    !take_away(s, by, offset, l.then, &hits[layers])) {
			i++;
			continue;
		}
		value[layers++] = l.then;
		i = 0;
	}
	if (all_same(s) || !tabulate(s, &r))
		r = choose(s);
	while (layers-- > 0)
		r = t_ite(hits[layers], value[layers], r);
	return r;
}

/* Where the bytes of any place belong to different expressions, each is taken on its own. */
static UInt seams(const struct sym_values *places, UInt from, UInt n)
{
	UInt all = 0;
	for (UInt i = 0; i < places->n; i++)
		all |= sym_seams(places->v[i] + from, n);
	return all;
}

static UInt piece(UInt seams, UInt from, UInt n)
{
	UInt len = 1;
	while (from + len < n && !(seams >> (from + len) & 1))
		len++;
	return len;
}

static struct term load_piece(struct term a, const struct sym_values *places, UInt from, UInt n,
			      const struct sym_value *r)
{
	struct selection s = { .n = 0 };
	s.a = from ? t_bin(EXPR_ADD, a, t_const(64, from)) : a;
	for (UInt i = 0; i < places->n; i++) {
		struct term here = is_at(a, places->v[i]);
		if (!here.node && !here.v)
			continue;
		s.place[s.n] = places->v[i] + from;
		s.t[s.n++] = bytes_at(places->v[i] + from, n,
				      places->v[i] == a.v ? (const UChar *)r->v + from : NULL);
	}
	return select(&s);
}

void sym_places_load(struct term a, const struct sym_values *places, struct sym_value *r)
{
	UInt size = r->bits / 8;
	if (places->n == 1) {
		sym_load(places->v[0], r);
		return;
	}
	for (UInt at = 0; at < size; at += WORD) {
		UInt n = size - at < WORD ? size - at : WORD, cut = seams(places, at, n);
		struct term all = { 0 };
		for (UInt i = 0, len; i < n; i += len) {
			struct term part;
			len = piece(cut, i, n);
			part = load_piece(a, places, at + i, len, r);
			all = i ? t_concat(part, all) : part;
		}
		t_to(r, at / WORD, all);
	}
}

/* ---- stores ---- */

/* The parts of what is stored that come from different expressions, too. */
static UInt seams_of(struct term t)
{
	struct term_parts p = term_look(&sym_terms, t);
	UInt low = p.op == EXPR_CONCAT ? p.b.w : p.op == EXPR_ZEXT ? p.a.w : 0;
	if (!low || low % 8)
		return 0;
	return 1u << low / 8 |
	       seams_of((struct term){ p.op == EXPR_CONCAT ? p.b.node : p.a.node, low, 0 });
}

static void store_piece(struct term a, ULong place, UInt from, UInt n, struct term x,
			const struct sym_value *before)
{
	const UChar *values = before ? (const UChar *)before->v + from : NULL;
	struct term was = bytes_at(place + from, n, values), is = t_ite(is_at(a, place), x, was);
	struct sym_value v = { n * 8, { is.v }, { is.node } };
	if (is.node || was.node || place == a.v)
		sym_store(place + from, &v);
}

/* The place of this run comes last: its bytes are read before, also where places overlap. */
void sym_places_store(struct term a, const struct sym_values *places, const struct sym_value *x,
		      const struct sym_value *was)
{
	UInt size = x->bits / 8;
	if (places->n == 1) {
		sym_store(places->v[0], x);
		return;
	}
	remember(a, places);
	for (UInt at = 0; at < size; at += WORD) {
		struct term word = t_of(x, at / WORD);
		UInt n = size - at < WORD ? size - at : WORD;
		UInt cut = seams(places, at, n) | seams_of(word);
		for (UInt i = 0, len; i < n; i += len) {
			struct term part;
			len = piece(cut, i, n);
			part = t_extract(word, i * 8, len * 8);
			for (UInt k = 0; k < places->n; k++)
				if (places->v[k] != a.v)
					store_piece(a, places->v[k], at + i, len, part, NULL);
			store_piece(a, a.v, at + i, len, part, was);
		}
	}
}
