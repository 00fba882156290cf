/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores that change nothing: bytes that get the very value that is guaranteed already lose nothing in a crash.
 *
 * For whole words that is told by a hash of the newest store to each: 15 bits, so one changed word in 32,768
 * may be taken for unchanged. A word that is stored to in pieces (bytes of a string, a record that straddles words)
 * gets a copy of what is stored there from then on, and is compared byte by byte; a line's copies are a list.
 * What a file held before the run is not known.
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

/* The copy of a word of the line, made if the store has a piece of it only; NULL: there is none. */
static struct model_copy *copy_of(struct model *m, struct model_line *l, unsigned w, unsigned bytes)
{
	for (uint32_t i = l->copy; i; i = m->copy.p[i - 1].next)
		if (m->copy.p[i - 1].word == w)
			return &m->copy.p[i - 1];
	if (bytes == 0xff || m->copy.n == COPY_MAX)
		return NULL;
	VEC_PUSH(&m->copy, ((struct model_copy){ .word = (uint8_t)w, .next = l->copy }));
	l->copy = (uint32_t)m->copy.n & COPY_MAX;
	return &m->copy.p[m->copy.n - 1];
}

/* One bit for each byte in which two words are equal. */
static uint64_t equal_bytes(uint64_t a, uint64_t b)
{
	const uint64_t low = 0x7f7f7f7f7f7f7f7full;
	uint64_t x = a ^ b,
		 zero = ~(((x & low) + low) | x | low); /* the top bit of each such byte */
	return (zero >> 7) * 0x0102040810204080ull >> 56;
}

/* Takes the bytes of a word over; returns those that are known to have been the same. */
static unsigned take(struct model_copy *copy, unsigned bytes, const uint8_t *data)
{
	uint64_t old, new;
	unsigned equal = 0;
	if (bytes == 0xff) {
		memcpy(&old, copy->byte, sizeof old);
		memcpy(&new, data, sizeof new);
		memcpy(copy->byte, &new, sizeof new);
		equal = (unsigned)equal_bytes(old, new);
	}
	for (unsigned left = bytes == 0xff ? 0 : bytes; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);
		equal |= (unsigned)(copy->byte[i] == data[i]) << i;
		copy->byte[i] = data[i];
	}
	equal &= copy->known;
	copy->known |= (uint8_t)bytes;
	return equal;
}

void model_values_store(struct model *m, const struct model_step *s, struct model_flight *f,
			const uint8_t *data)
{
	struct model_line *l = s->line;
	uint64_t guaranteed = l->ever & ~(l->open & ~f->same), equal = 0;
	MODEL_EACH_WORD (w, s->mask) {
		uint64_t word = s->mask & 0xffull << (w * 8);
		unsigned bytes = (unsigned)(word >> (w * 8));
		struct model_copy *copy = copy_of(m, l, w, bytes);
		if (copy)
			equal |= (uint64_t)take(copy, bytes, data + w * 8) << (w * 8);
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
	for (uint32_t i = l->copy; i; i = m->copy.p[i - 1].next) {
		struct model_copy *c = &m->copy.p[i - 1];
		c->known &= (uint8_t) ~(mask >> (c->word * 8));
	}
}
