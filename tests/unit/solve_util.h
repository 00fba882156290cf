/* SPDX-License-Identifier: BSD-3-Clause */
/* Random expressions with what they are for some inputs, worked out without the pool. */
#ifndef HOLDFAST_TESTS_SOLVE_UTIL_H
#define HOLDFAST_TESTS_SOLVE_UTIL_H

#include <stdlib.h>
#include <string.h>

#include "solve/solve.h"

#define LANES 24 /* inputs */
#define BYTES 16 /* of an input */

static uint64_t random_state = 88172645463325252u;
static inline uint64_t rnd(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1du >> 11;
}
static inline unsigned below(unsigned n)
{
	return (unsigned)(rnd() % n);
}

/* A constant that may be at an edge. */
static inline uint64_t some_value(unsigned w)
{
	uint64_t sign = (uint64_t)1 << (w - 1);
	switch (below(10)) {
	case 8:
	case 9: return (expr_mask(1 + below(w)) + below(3) - 1) & expr_mask(w);
	case 0: return 0;
	case 1: return 1;
	case 2: return expr_mask(w);
	case 3: return sign;
	case 4: return sign - 1;
	case 5: return below(w + 2) & expr_mask(w);
	case 6: return ((uint64_t)1 << below(w)) & expr_mask(w);
	default: return (rnd() ^ rnd() << 32) & expr_mask(w);
	}
}

struct sample {
	expr e;
	unsigned w;
	uint64_t v[LANES];
};

struct terms {
	struct pool *pool;
	uint8_t input[LANES][BYTES];
	VEC(struct sample) t;
	uint8_t table[256 * 8];
	unsigned bytes;  /* input bytes in use */
	unsigned max_w;  /* widths up to this */
	bool no_product; /* neither multiplication nor division */
};

static inline void terms_begin(struct terms *g, struct pool *pool, unsigned bytes, unsigned max_w)
{
	memset(g, 0, sizeof *g);
	g->pool = pool;
	g->bytes = bytes;
	g->max_w = max_w;
	for (unsigned i = 0; i < LANES * BYTES; i++)
		g->input[i / BYTES][i % BYTES] = (uint8_t)(below(2) ? rnd() : some_value(8));
	for (unsigned i = 0; i < sizeof g->table; i++)
		g->table[i] = (uint8_t)rnd();
	for (unsigned b = 0; b < bytes; b++) {
		struct sample t = { .e = solve_pool_input(pool, b), .w = 8 };
		for (unsigned i = 0; i < LANES; i++)
			t.v[i] = g->input[i][b];
		VEC_PUSH(&g->t, t);
	}
}
static inline void terms_end(struct terms *g)
{
	VEC_FREE(&g->t);
}

static inline struct sample sample_const(struct terms *g, unsigned w)
{
	struct sample t = { .w = w };
	uint64_t k = some_value(w);
	t.e = solve_pool_const(g->pool, w, k);
	for (unsigned i = 0; i < LANES; i++)
		t.v[i] = k;
	return t;
}

static inline struct sample sample_apply(struct terms *g, uint32_t word, struct sample a,
					 struct sample b, struct sample c)
{
	struct sample t = { .w = EXPR_W(word) };
	t.e = solve_pool_node(g->pool, word, a.e, b.e, c.e);
	for (unsigned i = 0; i < LANES; i++)
		t.v[i] = expr_apply(word, a.v[i], b.v[i], c.v[i]);
	return t;
}

/* One that is there (or new by extension) with just this width. */
static inline struct sample sample_of_width(struct terms *g, unsigned w)
{
	struct sample none = { 0 },
		      t = g->t.p[g->t.n - 1 - below(g->t.n < 12 ? (unsigned)g->t.n : 12)];
	uint32_t word;
	if (below(6) == 0)
		return sample_const(g, w);
	for (unsigned i = 0; i < 20 && t.w != w; i++)
		t = g->t.p[below((unsigned)g->t.n)];
	if (t.w == w)
		return t;
	if (t.w > w)
		word = EXPR_WORD(EXPR_EXTRACT, w, t.w, below(t.w - w + 1));
	else
		word = EXPR_WORD(below(2) ? EXPR_ZEXT : EXPR_SEXT, w, t.w, 0);
	return sample_apply(g, word, t, none, none);
}

static inline unsigned some_width(const struct terms *g)
{
	static const unsigned usual[] = { 1, 8, 16, 32, 64 };
	unsigned w = below(4) ? usual[below(5)] : 1 + below(64);
	return w <= g->max_w ? w : 1 + below(g->max_w);
}

static inline bool is_product(enum expr_op op)
{
	return (op >= EXPR_MUL && op <= EXPR_SREM) || op >= EXPR_UDIV128;
}

/* The word of an operation with widths that fit. */
static inline uint32_t some_word(const struct terms *g, enum expr_op op)
{
	unsigned w = some_width(g), aw = w, lo = 0;
	if ((op >= EXPR_EQ && op <= EXPR_SLE) || op == EXPR_PARITY) {
		w = 1;
	} else if (op == EXPR_ITE) {
		aw = 1;
	} else if (op == EXPR_ZEXT || op == EXPR_SEXT || op == EXPR_CONCAT) {
		w = 2 + below(g->max_w - 1);
		aw = 1 + below(w - 1);
	} else if (op == EXPR_EXTRACT) {
		aw = some_width(g);
		lo = below(aw);
		w = 1 + below(aw - lo);
	} else if (op >= EXPR_UDIV128) {
		w = aw = 64;
	}
	return EXPR_WORD(op, w, aw, lo);
}

static inline struct sample some_table(struct terms *g)
{
	struct sample index = sample_of_width(g, 8), t = { .w = some_width(g) };
	unsigned size = (t.w + 7) / 8;
	t.e = solve_pool_table(g->pool, t.w, index.e, g->table);
	for (unsigned i = 0; i < LANES; i++) {
		memcpy(&t.v[i], g->table + index.v[i] * size, size);
		t.v[i] &= expr_mask(t.w);
	}
	return t;
}

/* A new random node, put to the others. */
static inline struct sample some_term(struct terms *g, enum expr_op op)
{
	uint32_t word;
	struct sample x[3] = { { 0 } }, t;
	if (op == EXPR_TABLE) {
		t = some_table(g);
	} else {
		word = some_word(g, op);
		for (unsigned i = 0; i < 3; i++)
			if (expr_operand_width(word, i))
				x[i] = sample_of_width(g, expr_operand_width(word, i));
		t = sample_apply(g, word, x[0], x[1], x[2]);
	}
	VEC_PUSH(&g->t, t);
	return t;
}

static inline enum expr_op some_op(const struct terms *g)
{
	enum expr_op op;
	do
		op = EXPR_NOT + below(EXPR_OPS_COUNT - EXPR_NOT);
	while (g->no_product && is_product(op) && op != EXPR_TABLE);
	return op;
}

#endif
