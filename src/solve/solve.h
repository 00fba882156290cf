/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bit-vector expressions and questions about them.
 *
 * Expressions live in a pool, each one once (hash-consed, simplified as it is made), and are named by
 * a number; trace/expr.h says what the operations mean. A solver answers: is there an input for
 * which all of these are true? It is a chain of decorators, put together in one place (chain.c):
 *
 *   assign ─▶ simplify ─▶ slice ─▶ cache ─▶ enumerate ─▶ z3
 */
#ifndef HOLDFAST_SOLVE_SOLVE_H
#define HOLDFAST_SOLVE_SOLVE_H

#include "base/base.h"
#include "trace/expr.h"

/* ---- expressions ---- */
typedef uint32_t expr; /* 0: none */

struct pool;
struct pool *solve_pool_new(void);
void solve_pool_free(struct pool *);
expr solve_pool_const(struct pool *, unsigned w, uint64_t value);
expr solve_pool_input(struct pool *, uint32_t byte);
/* A node; operands that the operation does not have are 0. The result may be any equal node, or 0
 * if widths do not fit the operation. */
expr solve_pool_node(struct pool *, uint32_t word, expr a, expr b, expr c);
/* 256 entries of (w+7)/8 bytes, little-endian; copied. */
expr solve_pool_table(struct pool *, unsigned w, expr index, const uint8_t *entries);
const uint8_t *solve_pool_entries(const struct pool *,
				  expr table); /* as solve_pool_table was given them */
/* Helpers over solve_pool_node. */
expr solve_pool_eq(struct pool *, expr a, expr b);
expr solve_pool_not(struct pool *, expr a); /* of 1 bit: the negation */

uint32_t solve_pool_word(const struct pool *, expr);            /* EXPR_WORD */
expr solve_pool_operand(const struct pool *, expr, unsigned i); /* 0: none */
bool solve_pool_is_const(const struct pool *, expr, uint64_t *value);
size_t solve_pool_count(const struct pool *);
size_t solve_pool_memory(const struct pool *); /* bytes */
/* The input bytes it depends on, sorted; valid until the pool is freed. */
const uint32_t *solve_pool_inputs(const struct pool *, expr, size_t *n);
/* Its value for an input; bytes past n are 0. Shared nodes are looked at once a call. */
uint64_t solve_pool_eval(struct pool *, expr, const uint8_t *input, size_t n);
void solve_pool_print(const struct pool *, expr,
		      struct buf *); /* for people: (eq (add in[3] 1) 0x41) */

/* ---- questions ---- */
enum solve_answer { SOLVE_SAT, SOLVE_UNSAT, SOLVE_TIMEOUT };

struct solve_query {
	const expr *must; /* 1-bit nodes, all to be true */
	size_t nmust;
	expr goal;            /* one more; slicing keeps what is connected with it */
	const uint8_t *input; /* for which all of must is true, and goal need not be */
	size_t ninput;
};
struct solve_opts {
	unsigned timeout_ms; /* for one question to Z3; 0: 2000 */
	bool validate;       /* ask Z3 directly as well and compare (for tests) */
	/* Each must keep in lo[i] … hi[i]; NULL: anything. */
	const uint8_t *lo, *hi;
	size_t nrange;
};
struct solve_stats {
	uint64_t queries, sat, unsat, timeouts;
	uint64_t trivial; /* answered by simplification, or by computing one side of an equation */
	uint64_t cache_hits; /* models or cores used again */
	uint64_t enumerated; /* answered by trying all values of a byte or two */
	uint64_t z3;         /* questions that reached Z3 */
	uint64_t wrong;      /* models that evaluation refused; validate: answers that differed */
	double seconds, z3_seconds;
};
void solve_stats_add(struct solve_stats *, const struct solve_stats *more);

struct solver;
struct solver *solve_solver_new(struct pool *, const struct solve_opts *);
void solve_solver_free(struct solver *);
/* SAT: out (ninput bytes) is like input but for the bytes that had to change. */
enum solve_answer solve_solver_ask(struct solver *, const struct solve_query *, uint8_t *out);
const struct solve_stats *solve_solver_stats(const struct solver *);
bool solve_available(void); /* built with Z3 */

#endif
