/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores, packed (records.h). */
#include <stdlib.h>
#include <string.h>

#include "crash/records.h"
#include "trace/varint.h"

#define RECENT 256u /* blocks that are kept unpacked */
#define HEAD 64u    /* more than what is before a record's bytes takes */

enum { ZERO = 1, WHOLE = 2, SAME_PLACE = 4, SAME_THREAD = 8 };

struct crash_unpacked {
	size_t found; /* number of the block in which a piece was found last */
	struct block {
		size_t number; /* from 1; 0: none */
		struct crash_record record[CRASH_BLOCK];
	} block[RECENT];
};

/* ---- pieces ---- */

static uint16_t count_pieces(const struct crash_record *r)
{
	return r->whole ? 1 : (uint16_t)((r->off % 8u + r->len + 7u) / 8u);
}

void crash_record_piece(const struct crash_record *r, unsigned k, uint16_t *off, uint16_t *len)
{
	unsigned from = k ? (r->off / 8u + k) * 8u : r->off, to = (r->off / 8u + k + 1) * 8u;
	unsigned end = (unsigned)r->off + r->len;
	*off = (uint16_t)from;
	*len = (uint16_t)((r->whole || to > end ? end : to) - from);
}

/* How many bytes of a piece are not zeros at its upper end. */
static unsigned needed(uint64_t piece)
{
	return piece ? (unsigned)(71 - __builtin_clzll(piece)) / 8 : 0;
}

static unsigned needed_of(const struct crash_record *r, unsigned k)
{
	return r->bytes[k / 2] >> k % 2 * 4 & 15u;
}

/* Where the bytes of the pieces begin, after the lengths. */
static const uint8_t *values(const struct crash_record *r)
{
	return r->bytes + (r->pieces + 1) / 2;
}

static size_t packed_length(const struct crash_record *r)
{
	size_t sum = (r->pieces + 1u) / 2u;
	if (r->zero || r->whole)
		return r->zero ? 0 : r->len;
	for (unsigned k = 0; k < r->pieces; k++)
		sum += needed_of(r, k);
	return sum;
}

void crash_record_apply(const struct crash_record *r, unsigned k, uint8_t *line)
{
	const uint8_t *from = values(r);
	if (!k || r->zero || r->whole) {
		if (k && r->zero)
			memset(line + r->off, 0, r->len);
		else if (k)
			memcpy(line + r->off, r->bytes, r->len);
		return;
	}
	for (unsigned i = 0; i < k; i++) {
		uint64_t piece = 0;
		uint16_t off, len;
		crash_record_piece(r, i, &off, &len);
		memcpy(&piece, from, needed_of(r, i));
		memcpy(line + off, &piece, len);
		from += needed_of(r, i);
	}
}

/* ---- adding ---- */

static uint8_t *put_head(uint8_t *p, const struct crash_record *r, const struct crash_record *last)
{
	uint8_t *flags = p++;
	*flags = (uint8_t)((r->zero ? ZERO : 0) | (r->whole ? WHOLE : 0));
	p = put_varint(p, r->event - last->event);
	p = put_delta(p, r->line, last->line);
	if (r->place == last->place)
		*flags |= SAME_PLACE;
	else
		p = put_varint(p, r->place);
	if (r->thread == last->thread)
		*flags |= SAME_THREAD;
	else
		p = put_varint(p, r->thread);
	p = put_varint(p, r->off);
	return put_varint(p, r->len);
}

static uint8_t *put_pieces(uint8_t *p, const struct crash_record *r)
{
	uint8_t *lengths = p;
	p += (r->pieces + 1) / 2;
	memset(lengths, 0, (size_t)(p - lengths));
	for (unsigned k = 0; k < r->pieces; k++) {
		uint64_t piece = 0;
		uint16_t off, len;
		unsigned n;
		crash_record_piece(r, k, &off, &len);
		memcpy(&piece, r->bytes + off - r->off, len);
		n = needed(piece);
		lengths[k / 2] |= (uint8_t)(n << k % 2 * 4);
		memcpy(p, &piece, n);
		p += n;
	}
	return p;
}

void crash_records_add(struct crash_records *s, struct crash_record *r)
{
	uint8_t *p;
	r->piece = (uint32_t)s->pieces;
	r->zero = !r->bytes;
	r->whole |= r->zero;
	r->pieces = count_pieces(r);
	if (!s->unpacked)
		s->unpacked = xcalloc(1, sizeof *s->unpacked);
	if (s->n++ % CRASH_BLOCK == 0) {
		VEC_PUSH(&s->base, ((struct crash_base){ s->packed.n, r->piece }));
		s->last = (struct crash_record){ 0 };
	}
	VEC_RESERVE(&s->packed, s->packed.n + HEAD + 2u * r->len);
	p = put_head(s->packed.p + s->packed.n, r, &s->last);
	if (!r->whole)
		p = put_pieces(p, r);
	else if (!r->zero)
		p = (uint8_t *)memcpy(p, r->bytes, r->len) + r->len;
	s->packed.n = (size_t)(p - s->packed.p);
	s->pieces += r->pieces;
	s->last = *r;
}

/* ---- reading ---- */

static void get_record(struct cursor *c, struct crash_record *r, const struct crash_record *last)
{
	uint8_t flags = get_byte(c);
	r->zero = flags & ZERO;
	r->whole = flags & WHOLE;
	r->event = last->event + get_varint(c);
	r->line = (uint32_t)get_delta(c, last->line);
	r->place = flags & SAME_PLACE ? last->place : (uint32_t)get_varint(c);
	r->thread = flags & SAME_THREAD ? last->thread : (uint32_t)get_varint(c);
	r->off = (uint16_t)get_varint(c);
	r->len = (uint16_t)get_varint(c);
	r->piece = last->piece + last->pieces;
	r->pieces = count_pieces(r);
	r->bytes = c->p;
	c->p += packed_length(r);
}

static void unpack(const struct crash_records *s, size_t number, struct block *b)
{
	size_t left = s->n - number * CRASH_BLOCK;
	struct cursor c = { s->packed.p + s->base.p[number].at, s->packed.p + s->packed.n, false };
	struct crash_record first = { .piece = s->base.p[number].piece };
	for (size_t i = 0; i < CRASH_BLOCK && i < left; i++)
		get_record(&c, &b->record[i], i ? &b->record[i - 1] : &first);
	b->number = number + 1;
}

static const struct block *block_of(const struct crash_records *s, size_t number)
{
	struct block *b = &s->unpacked->block[number % RECENT];
	if (b->number != number + 1)
		unpack(s, number, b);
	return b;
}

const struct crash_record *crash_record_at(const struct crash_records *s, size_t i)
{
	return &block_of(s, i / CRASH_BLOCK)->record[i % CRASH_BLOCK];
}

static bool in_block(const struct crash_records *s, size_t number, size_t piece)
{
	return number < s->base.n && s->base.p[number].piece <= piece &&
	       (number + 1 == s->base.n || s->base.p[number + 1].piece > piece);
}

size_t crash_record_with(const struct crash_records *s, size_t piece)
{
	size_t number = s->unpacked->found, i = 0;
	const struct block *b;
	if (!in_block(s, number, piece))
		number = BISECT(k, s->base.n, s->base.p[k].piece <= piece) - 1;
	s->unpacked->found = number;
	b = block_of(s, number);
	while (b->record[i].piece + b->record[i].pieces <= piece)
		i++;
	return number * CRASH_BLOCK + i;
}

/* ---- the rest ---- */

void crash_records_free(struct crash_records *s)
{
	VEC_FREE(&s->packed);
	VEC_FREE(&s->base);
	free(s->unpacked);
	s->unpacked = NULL;
}

size_t crash_records_memory(const struct crash_records *s)
{
	return s->packed.n + s->base.n * sizeof *s->base.p + sizeof *s->unpacked;
}
