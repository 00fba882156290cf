/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events as columns: what the encoder and the decoder have to agree on.
 *
 * Programs repeat themselves, so an event is mostly told by what came before. Each distinct
 * (kind, flags, site, ctx, size) in a chunk is a *template*, numbered from 1 when it first
 * appears. An event is then
 *
 *   - which template: one code. 0 if it is the one that followed the previous event's
 *     template last time, 1 for a new template, else its number plus 1;
 *   - its address, as a difference from the nearer of two guesses: the previous event's
 *     address, or the last address of this template. Nearer means: for this template, last
 *     time, so the choice needs no bit;
 *   - other arguments, as differences from the template's last ones;
 *   - its bytes. Up to 32 of them go as 8-byte words, each with a tag that says how many
 *     bytes follow and whether they are the word itself or its difference from the same
 *     word last time. Longer ones are copied.
 *
 * Each of these goes into a column of its own, so that zstd sees like next to like. All
 * state starts from nothing in each chunk. A worked example: two runs of "p->a = x; p->b = y"
 *
 *   event                 codes  templates        addrs            tags    short
 *   store s1 @1000 8 = 5  1      store s1 c0 8    +1000 (zigzag)   17      05
 *   store s2 @1008 8 = 0  1      store s2 c0 8    +8               16
 *   store s1 @2000 8 = 6  2      -                +1000-8 …        17      06
 *   store s2 @2008 8 = 0  0      -                +8               0
 *
 * Measured on traces of a libpmemobj program and of a hash table with 8-byte random values:
 * 1.3 and 2.4 bytes per event at zstd level 1, against 1.6 and 2.7 with plain address
 * differences and copied bytes; a second-order guess of the next template, and strides as
 * third and fourth guess of the address, gained nothing.
 */
#ifndef HOLDFAST_TRACE_COLUMNS_H
#define HOLDFAST_TRACE_COLUMNS_H

#include "trace/internal.h"

enum column {
	COL_CODE,     /* varint per event: which template */
	COL_TEMPLATE, /* kind, flags, nargs: bytes; site, ctx: differences; size: varint */
	COL_ADDR,     /* zigzag varint per STORE, FLUSH and LOAD */
	COL_ARG,      /* zigzag varint per other argument */
	COL_TAG,      /* byte per word of payload */
	COL_SHORT,    /* words of up to 4 bytes */
	COL_LONG,     /* words of 5 to 8 bytes */
	COL_BLOB,     /* payloads of more than 32 bytes */
	COL_SWITCH,   /* events since the last switch, process, thread and kept << 32: varints */
	COLUMNS,
};
#define COLUMN_LENGTHS (COLUMNS * 4u) /* the payload starts with their lengths, 32 bits each */

#define WORDS_MAX 4u
#define WORDS_MAX_BYTES (WORDS_MAX * 8u)

/* Tags: the word is as last time; 1..8 bytes of zigzag difference; 0..8 bytes of the word. */
enum tag { TAG_SAME = 0, TAG_DELTA = 0, TAG_PLAIN = 16, TAG_MAX = TAG_PLAIN + 8 };

struct template
{
	uint64_t what;  /* kind, flags << 8, nargs << 16, site << 32 */
	uint64_t where; /* ctx, size << 32 */
	uint32_t next;  /* template that followed last time, 0: none */
	uint32_t near;  /* guess the address from: 0 the previous event, 1 this template */
	uint64_t arg[TRACE_MAX_ARGS];
	uint64_t word[WORDS_MAX];
	uint64_t ip; /* decoder: of the site, as seen by process ip_process */
	uint32_t ip_process;
};

static inline uint8_t template_kind(const struct template *t)
{
	return (uint8_t)t->what;
}
static inline uint8_t template_nargs(const struct template *t)
{
	return (uint8_t)(t->what >> 16);
}
static inline uint32_t template_site(const struct template *t)
{
	return (uint32_t)(t->what >> 32);
}
static inline uint32_t template_ctx(const struct template *t)
{
	return (uint32_t)t->where;
}
static inline uint32_t template_size(const struct template *t)
{
	return (uint32_t)(t->where >> 32);
}

/* Kinds whose first argument is an address that the events around it have a say in. */
static inline bool kind_has_addr(unsigned kind)
{
	return kind == TRACE_STORE || kind == TRACE_FLUSH || kind == TRACE_LOAD;
}

static inline uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static inline uint64_t addr_guess(const struct template *t, uint64_t previous)
{
	return t->near ? t->arg[0] : previous;
}

static inline void addr_learn(struct template *t, uint64_t previous, uint64_t addr)
{
	uint64_t far = distance(addr, previous), here = distance(addr, t->arg[0]);
	if (far != here)
		t->near = here < far;
	t->arg[0] = addr;
}

/* Bytes needed for v; 0 needs none. */
static inline unsigned width(uint64_t v)
{
	return v ? 8 - (unsigned)__builtin_clzll(v) / 8 : 0;
}

#endif
