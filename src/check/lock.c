/* SPDX-License-Identifier: BSD-3-Clause */
/* Words that are used as locks: atomic instructions take turns with them. */
#include "check/internal.h"

#define MARK_BITS 4          /* what is aligned leaves so many free */
#define LOCK_VALUE (1 << 22) /* a lock holds a small number: a count, a flag, a thread's id */

/* What sort of value an atomic instruction stores; 0: it does not tell. */
static unsigned sort_of(const struct check *c, const struct trace_event *e)
{
	int64_t value = 0;
	if (e->size > 8)
		return CHECK_WIDE;
	memcpy(&value, e->data, e->size);
	if (e->size < 8)
		value = (int64_t)((uint64_t)value << (64 - 8 * e->size)) >> (64 - 8 * e->size);
	if (e->size == 8 && check_targets_may_be_offset(c, (uint64_t)value))
		return CHECK_OFFSETS;
	return value <= -LOCK_VALUE || value >= LOCK_VALUE ? CHECK_WIDE : value ? CHECK_SMALL : 0;
}

static void note_sort(struct oracle_state *u, model_where w, unsigned sort)
{
	uint64_t old = 0;
	hmap_get(&u->atomics, w, &old);
	if ((old | sort) != old)
		hmap_put(&u->atomics, w, old | sort);
}

/* What the bytes held before; 0 if it is not known. Where nobody has stored yet, a file is mostly zero. */
static uint16_t value_before(const struct model_step *s, unsigned w)
{
	static const uint8_t zeros[TRACE_LINE];
	uint16_t zero = model_value_hash(s->mask, zeros, w), newest = s->line->newest[w];
	return !newest || newest == zero ? zero : 0;
}

/* What is known of the location; an atomic instruction makes it known. */
static struct check_atom *atom_at(struct oracle_state *u, const struct model_step *s, uint64_t loc)
{
	uint64_t index;
	if (hmap_get(&u->atom, loc, &index))
		return &u->atoms.p[index];
	if (!(s->ev->flags & TRACE_F_ATOMIC))
		return NULL;
	struct check_atom new = { .now = value_before(s, loc % TRACE_LINE / 8),
				  .when = (uint32_t)s->ev->num,
				  .where = s->where };
	s->line->atomic |= (uint8_t)(1u << loc % TRACE_LINE / 8);
	hmap_put(&u->atom, loc, u->atoms.n);
	VEC_PUSH(&u->atoms, new);
	return &u->atoms.p[u->atoms.n - 1];
}

/*
 * A lock that has a version as well, a seqlock: an atomic instruction has made an even number odd, and another
 * statement makes it the next even one. A counter's steps are all made by one statement.
 */
static bool is_version(const struct model_step *s, const struct check_atom *a)
{
	uint64_t value = 0;
	if (s->ev->size > sizeof value || a->where == s->where || !a->was || a->is != a->now)
		return false;
	memcpy(&value, s->ev->data, s->ev->size);
	return value && value % 2 == 0 && check_number_hash(s, value - 1) == a->now &&
	       check_number_hash(s, value - 2) == a->was;
}

/*
 * A lock goes back to its old value: an atomic instruction changes it from A to B, its thread stores
 * something else meanwhile, and an atomic or a plain store makes it A again; or the very same change
 * is made once more. A head or an index, which goes back now and then as well, mostly goes on to
 * other values. Whatever else is in the same word, a version say, has no part in it.
 */
static void note_turn(struct oracle_state *u, const struct model_step *s, struct check_atom *a,
		      uint16_t to)
{
	bool version = is_version(s, a);
	bool known = a->now != 0, back = known && (to == a->was || version);
	bool again = known && to == a->is && (a->now == a->was || (!a->was && a->now != to));
	bool worked = s->thread->store_num > model_when(a->when, s->ev->num) + 1;
	if (again || (back && worked)) {
		oracle_tally(u, s->where)[TURNS]++;
		if (a->where != s->where)
			oracle_tally(u, a->where)[TURNS]++;
	} else if (a->was && !back) {
		oracle_tally(u, s->where)[ONWARD]++;
	}
	if (s->ev->flags & TRACE_F_ATOMIC) {
		a->was = a->now;
		a->is = to;
	}
	if (version)
		a->was = 0; /* it is free again, with another number: that was no step onward */
	a->now = to;
	a->when = (uint32_t)s->ev->num;
	a->where = s->where;
}

/*
 * Lists without locks mark a link in a low bit until it is persistent: whoever meets the mark flushes the word, fences,
 * and takes the mark back. That need not be persistent itself: after a crash somebody does it again. So an atomic
 * instruction clears one bit of a word that nobody has changed since its own thread flushed it and fenced, and that
 * thread has stored nothing else meanwhile.
 */
static bool is_mark(const struct model_step *s)
{
	const struct model_thread *t = s->thread;
	const struct model_line *l = s->line;
	unsigned w = (unsigned)__builtin_ctzll(s->mask) / 8;
	uint64_t value = 0;
	if (s->ev->size > sizeof value || l->open & s->mask || !l->flush_when ||
	    model_when(l->flush_when, s->ev->num) + 1 != t->flush_num ||
	    t->fence_num <= t->flush_num || t->store_num >= t->flush_num)
		return false;
	memcpy(&value, s->ev->data, s->ev->size);
	for (unsigned bit = 0; bit < MARK_BITS; bit++)
		if (!(value >> bit & 1) &&
		    check_number_hash(s, value | 1ull << bit) == l->newest[w])
			return true;
	return false;
}

bool check_takes_marks(const struct oracle_state *u, uint32_t statement)
{
	return check_tallied(u, statement, MARKS) * 2 > check_stores(u, statement);
}

void check_note_lock(struct oracle_state *u, const struct model_step *s)
{
	unsigned byte = (unsigned)__builtin_ctzll(s->mask);
	uint64_t loc = s->line->key * TRACE_LINE + byte;
	bool atomic = s->ev->flags & TRACE_F_ATOMIC || s->line->atomic >> byte / 8 & 1;
	if (!s->ev->data || !atomic) /* most stores */
		return;
	struct check_atom *a = atom_at(u, s, loc);
	if (!a)
		return;
	oracle_tally(u, s->where)[MARKS] += s->ev->flags & TRACE_F_ATOMIC && is_mark(s);
	unsigned sort = sort_of(u->check, s->ev);
	note_sort(u, s->where, sort);
	if (sort != CHECK_WIDE)
		note_turn(u, s, a, model_value_hash(s->mask, s->ev->data, byte / 8));
}
