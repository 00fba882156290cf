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

#define SPREAD 0x9e3779b97f4a7c15ull

static inline uint16_t hash_of(uint64_t value, unsigned extent)
{
	uint64_t x = (value + extent * 0xc2b2ae3d27d4eb4full) * SPREAD;
	return (uint16_t)((x ^ x >> 32) * SPREAD >> 48 | 1);
}

uint16_t model_value_hash(uint64_t mask, const uint8_t *data, unsigned w)
{
	uint64_t word = mask >> (w * 8) & 0xff, value = 0;
	unsigned from = (unsigned)__builtin_ctzll(word);
	unsigned n = 64 - (unsigned)__builtin_clzll(word) - from;
	if (word == 0xff)
		memcpy(&value, data, sizeof value);
	else
		memcpy(&value, data, n);
	return hash_of(value, from * 8 + n);
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

/* One bit for each byte in which two words are equal. */
static uint64_t equal_bytes(uint64_t a, uint64_t b)
{
	const uint64_t low = 0x7f7f7f7f7f7f7f7full;
	uint64_t x = a ^ b,
		 zero = ~(((x & low) + low) | x | low); /* the top bit of each such byte */
	return (zero >> 7) * 0x0102040810204080ull >> 56;
}

/* Takes the bytes of a word over; returns those that have been the same. */
static uint64_t take_word(struct model_bytes *copy, unsigned at, unsigned bytes,
			  const uint8_t *data)
{
	uint64_t old, new, equal = 0;
	if (bytes == 0xff) {
		memcpy(&old, copy->byte + at, sizeof old);
		memcpy(&new, data + at, sizeof new);
		memcpy(copy->byte + at, &new, sizeof new);
		return equal_bytes(old, new);
	}
	for (; bytes; bytes &= bytes - 1) {
		unsigned i = (unsigned)__builtin_ctz(bytes);
		equal |= (uint64_t)(copy->byte[at + i] == data[at + i]) << i;
		copy->byte[at + i] = data[at + i];
	}
	return equal;
}

/* … of a line; returns those that are known to have been the same. */
static uint64_t take(struct model_bytes *copy, uint64_t mask, const uint8_t *data)
{
	uint64_t equal = 0;
	MODEL_EACH_WORD (w, mask)
		equal |= take_word(copy, w * 8, mask >> (w * 8) & 0xff, data) << (w * 8);
	equal &= copy->known;
	copy->known |= mask;
	return equal;
}

void model_values_store(struct model *m, const struct model_step *s, struct model_flight *f,
			const uint8_t *data)
{
	struct model_line *l = s->line;
	struct model_bytes *copy = copy_of(m, l, s->mask);
	uint64_t equal = copy ? take(copy, s->mask, data) : 0;
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
