/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes in and out: little-endian base-128 varints (low seven bits first, the top bit says
 * "more follows"), zigzag for signed differences, and a cursor that cannot run past its end.
 */
#ifndef HOLDFAST_TRACE_VARINT_H
#define HOLDFAST_TRACE_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VARINT_MAX 10 /* bytes of the longest varint */

static inline uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ -(v & 1));
}

static inline uint8_t *put_varint(uint8_t *p, uint64_t v)
{
	while (v >= 128) {
		*p++ = (uint8_t)(v | 128);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/* The difference of two values, as a varint; wraps around, so any pair works. */
static inline uint8_t *put_delta(uint8_t *p, uint64_t v, uint64_t base)
{
	return put_varint(p, zigzag((int64_t)(v - base)));
}

/* Once bad, always bad, and everything read is 0: check once at the end of a record. */
struct cursor {
	const uint8_t *p, *end;
	bool bad;
};

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->p);
}

static inline uint8_t get_byte(struct cursor *c)
{
	if (c->p < c->end)
		return *c->p++;
	c->bad = true;
	return 0;
}

static inline uint64_t get_long_varint(struct cursor *c)
{
	uint64_t v = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t b = get_byte(c);
		v |= (uint64_t)(b & 127) << shift;
		if (!(b & 128))
			return c->bad ? 0 : v;
	}
	c->bad = true;
	return 0;
}

static inline uint64_t get_varint(struct cursor *c)
{
	if (__builtin_expect(c->p < c->end && *c->p < 128, 1))
		return *c->p++;
	return get_long_varint(c);
}

static inline uint64_t get_delta(struct cursor *c, uint64_t base)
{
	return base + (uint64_t)unzigzag(get_varint(c));
}

/* n bytes, or NULL and bad. */
static inline const uint8_t *get_bytes(struct cursor *c, uint64_t n)
{
	const uint8_t *p = c->p;
	if (c->bad || n > cursor_left(c)) {
		c->bad = true;
		return NULL;
	}
	c->p += n;
	return p;
}

#endif
