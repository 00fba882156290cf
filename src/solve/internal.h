/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside src/solve: the pool's insides, compiled expressions, and what the decorators share. */
#ifndef HOLDFAST_SOLVE_INTERNAL_H
#define HOLDFAST_SOLVE_INTERNAL_H

#include "solve/solve.h"
#include "term/term.h"

/* ---- the pool ---- */

/*
 * Operands always have smaller numbers than the node. CONST: the value is b:a. INPUT: a is the
 * byte. TABLE: a is the index, b the number of the table.
 */
struct node {
	uint32_t word;
	expr a, b, c;
	uint32_t set; /* the input bytes it depends on */
};

/* Input bytes from … to, both in it. */
struct run {
	uint32_t from, to;
};
/* Sets are kept once each, as sorted runs: a checksum over a file is one run, however long. */
struct set {
	uint32_t at, n; /* runs */
	uint32_t size;  /* bytes */
	uint32_t *byte; /* made when someone asks */
};

struct pool {
	struct term_space space; /* who simplifies; the pool keeps the nodes */
	VEC(struct node) node;   /* 0 is unused */
	uint32_t *slot;          /* hash: number of the node */
	size_t slots;
	VEC(struct set) set; /* 0 is the empty one */
	VEC(struct run) run;
	VEC(struct run) scratch;
	struct hmap set_of;    /* hash of the runs -> set */
	struct hmap set_union; /* pair of sets -> set */
	VEC(uint8_t *) table;
	struct hmap table_of;
	size_t table_bytes;  /* of tables and of sets as bytes */
	VEC(uint64_t) value; /* of each node, for the input of epoch */
	VEC(uint32_t) epoch;
	uint32_t now;
	VEC(expr) stack;
};

static inline const struct node *pool_at(const struct pool *p, expr e)
{
	return &p->node.p[e];
}
static inline unsigned width(const struct pool *p, expr e)
{
	return EXPR_W(p->node.p[e].word);
}
static inline enum expr_op op_of(const struct pool *p, expr e)
{
	return EXPR_OP(p->node.p[e].word);
}
static inline bool is_const(const struct pool *p, expr e, uint64_t *v)
{
	const struct node *n = &p->node.p[e];
	if (EXPR_OP(n->word) != EXPR_CONST)
		return false;
	*v = (uint64_t)n->b << 32 | n->a;
	return true;
}
static inline const struct set *set_of(const struct pool *p, expr e)
{
	return &p->set.p[p->node.p[e].set];
}
unsigned solve_pool_operands(uint32_t word); /* nodes among a, b, c */
uint64_t solve_pool_table_entry(const uint8_t *entries, unsigned w, unsigned i);
/* The node itself, without a thought. */
expr solve_pool_make(struct pool *, uint32_t word, expr a, expr b, expr c);
/* sets.c */
uint32_t solve_pool_set_single(struct pool *, uint32_t byte);
uint32_t solve_pool_set_join(struct pool *, uint32_t a, uint32_t b);
bool solve_pool_set_has(const struct pool *, const struct set *, uint32_t byte);
const uint32_t *solve_pool_set_bytes(const struct pool *, uint32_t set);
void solve_pool_sets_free(struct pool *);
size_t solve_pool_sets_memory(const struct pool *);

/* ---- evaluation (eval.c) ---- */

/* Several nodes for one input: begin, then any number of solve_pool_eval_more. */
void solve_pool_eval_begin(struct pool *);
uint64_t solve_pool_eval_more(struct pool *, expr, const uint8_t *input, size_t n);

/* A node as straight-line code, to be run for many inputs. */
struct step {
	uint32_t word;
	uint32_t a, b, c;     /* slots; INPUT: a is the byte */
	const uint8_t *table; /* of a TABLE */
	uint64_t vars;        /* bit v % 64: depends on input byte number v */
};
struct program {
	VEC(struct step) step;
	VEC(uint64_t) val;  /* per slot; slot i + 1 is the result of step i, slot 0 is 0 */
	VEC(uint32_t) redo; /* steps that depend on the bytes that solve_program_vary was told */
};
void solve_program_compile(struct program *, struct pool *, expr);
void solve_program_free(struct program *);
uint64_t solve_program_run(struct program *, const uint8_t *input, size_t n);
/* After solve_program_run: one byte will change, the rest stay; then its result for values of it. */
void solve_program_vary(struct program *, uint32_t byte);
uint64_t solve_program_rerun(struct program *, uint8_t value);

/* ---- the chain ---- */

/* Values a byte may have. */
struct domain {
	uint64_t w[4];
};
static inline bool domain_has(const struct domain *d, unsigned v)
{
	return d->w[v >> 6] >> (v & 63) & 1;
}
static inline void domain_drop(struct domain *d, unsigned v)
{
	d->w[v >> 6] &= ~((uint64_t)1 << (v & 63));
}
static inline unsigned domain_size(const struct domain *d)
{
	unsigned n = 0;
	for (unsigned i = 0; i < 4; i++)
		n += (unsigned)__builtin_popcountll(d->w[i]);
	return n;
}

/* A byte that may change. */
struct var {
	uint32_t byte;
	struct domain dom;
};

/*
 * A question on its way down the chain: are there values for the variables, within their domains,
 * so that every condition holds? All other bytes are as in `out`, which begins as the input; the
 * one who says SAT has put the values there.
 */
struct problem {
	VEC(expr) cond; /* the first `ngoal` came from the goal */
	size_t ngoal;
	VEC(struct var) var; /* sorted by byte; only behind slice */
	VEC(uint32_t)
	fixed; /* bytes of the conditions that are no variables: they must keep out's value */
	const uint8_t *input;
	size_t ninput;
	uint8_t *out;
};

struct solver;
struct stage;
struct stage_ops {
	const char *name;
	size_t size; /* of its struct, which begins with a struct stage */
	void (*start)(struct stage *);
	enum solve_answer (*ask)(struct stage *, struct problem *);
	void (*stop)(struct stage *);
};
struct stage {
	const struct stage_ops *ops;
	struct solver *solver;
	struct stage *next;
};
enum solve_answer solve_stage_next(struct stage *, struct problem *);
extern const struct stage_ops solve_stage_assign, solve_stage_simplify, solve_stage_slice,
	solve_stage_cache, solve_stage_enumerate, solve_stage_z3;

#define STAGES 6
struct solver {
	struct pool *pool;
	unsigned timeout_ms;
	bool validate;
	uint8_t *lo, *hi;
	size_t nrange;
	struct stage *stage[STAGES]; /* the first one is asked */
	struct stage *twin;          /* Z3 alone */
	struct solve_stats stats;
	struct problem problem,
		whole; /* kept to use their memory again; the latter is the twin's */
	VEC(uint8_t) spare;
};

/* The values that the range leaves to a byte. */
struct domain solve_solver_range(const struct solver *, uint32_t byte, size_t ninput);
/* Do all conditions hold for p->out? Every SAT goes through this. */
bool solve_problem_holds(struct pool *, const struct problem *);
/* A model: takes back changes that it does not need. */
void solve_problem_restore(struct pool *, struct problem *);
/* What input byte i is in p->out: those behind its end are 0. */
static inline uint8_t solve_problem_byte(const struct problem *p, uint32_t byte)
{
	return byte < p->ninput ? p->out[byte] : 0;
}
struct var *solve_problem_var(struct problem *, uint32_t byte); /* NULL: it is none */
void solve_problem_free(struct problem *);

#endif
