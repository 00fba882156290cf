/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores that change nothing: bytes that get the very value that is guaranteed already lose nothing in a crash.
 *
 * For whole words that is told by a hash of the newest store to each: 16 bits, so one changed word in 65,536
 * may be taken for unchanged. Lines that are stored to in pieces of words (bytes of a string, a record that
 * straddles words) get a copy of all that is stored there from then on, and are compared byte by byte; few
 * programs have many of these. What a file held before the run is not known.
 */
#include <string.h>

#include "model/internal.h"

uint16_t model_value_hash(uint64_t mask, const uint8_t *data, unsigned w)
{
	uint64_t word = mask & 0xffull << (w * 8), value = 0;
	unsigned from = (unsigned)__builtin_ctzll(word);
	unsigned n = 64 - (unsigned)__builtin_clzll(word) - from;
	memcpy(&value, data, n);
	return (uint16_t)(hash_mix(value, from * 8 + n) | 1);
}

/* The copy of the line, made if the store has a piece of a word; NULL: there is none. */
static struct model_bytes *copy_of(struct model *m, struct model_line *l, uint64_t mask)
{
	if (!l->copy && model_words(mask) & model_words(~mask)) {
		VEC_PUSH(&m->copy, (struct model_bytes){ 0 });
		l->copy = (uint32_t)m->copy.n & INT32_MAX;
	}
	return l->copy ? &m->copy.p[l->copy - 1] : NULL;
}

/* Takes the bytes over; returns those that are known to have been the same. */
static uint64_t take(struct model_bytes *copy, uint64_t mask, const uint8_t *data)
{
	uint64_t equal = 0;
	for (uint64_t left = mask; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		equal |= (uint64_t)(copy->byte[i] == data[i]) << i;
		copy->byte[i] = data[i];
	}
	equal &= copy->known;
	copy->known |= mask;
	return equal;
}

void model_values_store(struct model *m, const struct model_step *s, const uint8_t *data)
{
	struct model_line *l = s->line;
	struct model_bytes *copy = copy_of(m, l, s->mask);
	uint64_t equal = copy ? take(copy, s->mask, data) : 0;
	struct model_flight *f = model_flight_begin(m, l);
	uint64_t guaranteed = l->ever & ~(l->open & ~f->same);
	MODEL_EACH_WORD (w, s->mask) {
		uint64_t word = s->mask & 0xffull << (w * 8);
		uint16_t hash = model_value_hash(word, data + __builtin_ctzll(word), w);
		if (l->newest[w] == hash && (guaranteed & word) == word)
			equal |= word;
		l->newest[w] = hash;
	}
	f->same = (f->same & ~s->mask) | (equal & guaranteed);
}

void model_values_forget(struct model *m, struct model_line *l, uint64_t mask)
{
	model_flight_of(m, l)->same &= ~mask;
	MODEL_EACH_WORD (w, mask)
		l->newest[w] = 0;
	if (l->copy)
		m->copy.p[l->copy - 1].known &= ~mask;
}
