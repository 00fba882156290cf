/* SPDX-License-Identifier: BSD-3-Clause */
/* Words that are used as locks: atomic instructions take turns with them. */
#include "check/internal.h"

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

/*
 * A lock goes back to its old value: an atomic instruction changes it from A to B, its thread stores
 * something else meanwhile, and an atomic or a plain store makes it A again; or the very same change
 * is made once more. A head or an index, which goes back now and then as well, mostly goes on to
 * other values. `atom` keeps the newest atomic change of each word, as hashes of A and B.
 */
static void note_turn(struct oracle_state *u, const struct model_step *s, unsigned w)
{
	uint64_t word = s->line->key * MODEL_WORDS + w, old = 0;
	uint16_t from = s->line->newest[w], to = model_value_hash(s->mask, s->ev->data, w);
	bool known = hmap_get(&u->atom, word, &old);
	uint16_t was = (uint16_t)(old >> 16), is = (uint16_t)old;
	bool back = known && to == was, again = known && from == was && to == is;
	bool worked = s->thread->store_num > model_when(s->line->when[w], s->ev->num) + 1;
	if (again || (back && worked)) {
		oracle_tally(u, s->where)[TURNS]++;
		if (s->line->store[w] != s->where)
			oracle_tally(u, s->line->store[w])[TURNS]++;
	} else if (known && !back) {
		oracle_tally(u, s->where)[ONWARD]++;
	}
	if (s->ev->flags & TRACE_F_ATOMIC)
		hmap_put(&u->atom, word, (uint64_t)from << 16 | to);
}

void check_note_lock(struct oracle_state *u, const struct model_step *s)
{
	unsigned w = (unsigned)__builtin_ctzll(s->mask) / 8;
	bool atomic = (s->ev->flags & TRACE_F_ATOMIC) != 0;
	uint8_t last = model_place(u->check->model, s->line->store[w])->class;
	if (!s->ev->data || !(atomic || last == TRACE_SITE_ATOMIC))
		return;
	unsigned sort = sort_of(u->check, s->ev);
	note_sort(u, s->where, sort);
	if (sort != CHECK_WIDE && (s->line->open | s->line->ever))
		note_turn(u, s, w);
}
