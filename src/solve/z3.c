/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The back end: Z3's C API, and the only place that knows it.
 *
 * Nodes become Z3 terms once and are kept. A 1-bit node is a Bool there and turned into a bit vector
 * where one is needed, so that conditions stay conditions. Terms live as long as the context; when
 * they have grown many it is thrown away with all of them.
 */
#include <stdlib.h>
#include <string.h>
#include <z3.h>

#include "solve/internal.h"

#define MAX_TERMS 400000u
#define RENEW 256 /* questions */
#define MAX_BYTES ((uint64_t)900 << 20)

struct z3 {
	struct stage stage;
	Z3_context ctx;
	Z3_solver solver;
	VEC(Z3_ast) term; /* per node; NULL: not made yet */
	size_t nterms;
	unsigned asked;
	VEC(expr) stack;
	bool failed; /* Z3 reported an error */
};

static __thread struct z3 *current;

static void on_error(Z3_context ctx, Z3_error_code code)
{
	(void)ctx;
	(void)code;
	if (current)
		current->failed = true;
}

static void close_context(struct z3 *t)
{
	if (!t->ctx)
		return;
	Z3_solver_dec_ref(t->ctx, t->solver);
	t->term.n = t->nterms = 0;
	Z3_del_context(t->ctx);
	t->ctx = NULL;
}

/*
 * The incremental solver of QF_BV: with many small questions it was the quickest of all (a fresh
 * one each time, or a tactic, takes twice as long; the simple solver gives up on products). It
 * remembers what it learnt, so it is renewed now and then.
 */
static Z3_solver make_solver(struct z3 *t)
{
	Z3_params params;
	Z3_solver s;
	s = Z3_mk_solver_for_logic(t->ctx, Z3_mk_string_symbol(t->ctx, "QF_BV"));
	Z3_solver_inc_ref(t->ctx, s);
	params = Z3_mk_params(t->ctx);
	Z3_params_inc_ref(t->ctx, params);
	Z3_params_set_uint(t->ctx, params, Z3_mk_string_symbol(t->ctx, "timeout"),
			   t->stage.solver->timeout_ms);
	Z3_solver_set_params(t->ctx, s, params);
	Z3_params_dec_ref(t->ctx, params);
	return s;
}

static void open_context(struct z3 *t)
{
	Z3_config cfg;
	if (t->ctx && t->nterms < MAX_TERMS && Z3_get_estimated_alloc_size() < MAX_BYTES) {
		if (++t->asked % RENEW)
			return;
		Z3_solver_dec_ref(t->ctx, t->solver);
		t->solver = make_solver(t);
		return;
	}
	close_context(t);
	cfg = Z3_mk_config();
	t->ctx = Z3_mk_context(cfg);
	Z3_del_config(cfg);
	Z3_set_error_handler(t->ctx, on_error);
	t->solver = make_solver(t);
}

/* ---- terms ---- */

static Z3_ast number(struct z3 *t, unsigned w, uint64_t v)
{
	return Z3_mk_unsigned_int64(t->ctx, v, Z3_mk_bv_sort(t->ctx, w));
}

static Z3_ast to_bits(struct z3 *t, Z3_ast b)
{
	return Z3_mk_ite(t->ctx, b, number(t, 1, 1), number(t, 1, 0));
}

static Z3_ast to_bool(struct z3 *t, Z3_ast bits)
{
	return Z3_mk_eq(t->ctx, bits, number(t, 1, 1));
}

static Z3_ast input_term(struct z3 *t, uint32_t byte)
{
	return Z3_mk_const(t->ctx, Z3_mk_int_symbol(t->ctx, (int)byte), Z3_mk_bv_sort(t->ctx, 8));
}

/* An operand as bits, whatever its width. */
static Z3_ast operand(struct z3 *t, expr e)
{
	Z3_ast a = t->term.p[e];
	return width(t->stage.solver->pool, e) == 1 ? to_bits(t, a) : a;
}

/* Entries lo … lo + n - 1 of a table, chosen by the low bits of the index. */
static Z3_ast table_term(struct z3 *t, const uint8_t *entries, unsigned w, Z3_ast index,
			 unsigned lo, unsigned n)
{
	Z3_ast bit, low, high;
	unsigned i = 1, log = 0;
	while (i < n &&
	       solve_pool_table_entry(entries, w, lo + i) == solve_pool_table_entry(entries, w, lo))
		i++;
	if (i == n)
		return number(t, w, solve_pool_table_entry(entries, w, lo));
	while (2u << log < n)
		log++;
	bit = to_bool(t, Z3_mk_extract(t->ctx, log, log, index));
	low = table_term(t, entries, w, index, lo, n / 2);
	high = table_term(t, entries, w, index, lo + n / 2, n / 2);
	return Z3_mk_ite(t->ctx, bit, high, low);
}

static Z3_ast bit_of(struct z3 *t, Z3_ast a, unsigned i)
{
	return to_bool(t, Z3_mk_extract(t->ctx, i, i, a));
}

/* CTZ and CLZ: the first set bit from one side decides. */
static Z3_ast count_zeros(struct z3 *t, Z3_ast a, unsigned w, bool leading)
{
	Z3_ast r = number(t, w, w);
	for (unsigned i = 0; i < w; i++) /* the deciding one comes last */
		r = Z3_mk_ite(t->ctx, bit_of(t, a, leading ? i : w - 1 - i),
			      number(t, w, w - 1 - i), r);
	return r;
}

static Z3_ast popcount(struct z3 *t, Z3_ast a, unsigned w)
{
	Z3_ast r = number(t, w, 0);
	for (unsigned i = 0; i < w; i++)
		r = Z3_mk_bvadd(
			t->ctx, r,
			Z3_mk_ite(t->ctx, bit_of(t, a, i), number(t, w, 1), number(t, w, 0)));
	return r;
}

static Z3_ast even_parity(struct z3 *t, Z3_ast a, unsigned w)
{
	Z3_ast r = bit_of(t, a, 0);
	for (unsigned i = 1; i < 8 && i < w; i++)
		r = Z3_mk_xor(t->ctx, r, bit_of(t, a, i));
	return Z3_mk_not(t->ctx, r);
}

static Z3_ast high_product(struct z3 *t, enum expr_op op, unsigned w, Z3_ast a, Z3_ast b)
{
	Z3_context c = t->ctx;
	Z3_ast x = op == EXPR_UMULH ? Z3_mk_zero_ext(c, w, a) : Z3_mk_sign_ext(c, w, a);
	Z3_ast y = op == EXPR_UMULH ? Z3_mk_zero_ext(c, w, b) : Z3_mk_sign_ext(c, w, b);
	return Z3_mk_extract(c, 2 * w - 1, w, Z3_mk_bvmul(c, x, y));
}

static Z3_ast divide128(struct z3 *t, enum expr_op op, const Z3_ast *x)
{
	Z3_context c = t->ctx;
	bool has_sign = op == EXPR_SDIV128 || op == EXPR_SREM128;
	Z3_ast n = Z3_mk_concat(c, x[0], x[1]), r;
	Z3_ast d = has_sign ? Z3_mk_sign_ext(c, 64, x[2]) : Z3_mk_zero_ext(c, 64, x[2]);
	switch (op) {
	case EXPR_UDIV128: r = Z3_mk_bvudiv(c, n, d); break;
	case EXPR_UREM128: r = Z3_mk_bvurem(c, n, d); break;
	case EXPR_SDIV128: r = Z3_mk_bvsdiv(c, n, d); break;
	default: r = Z3_mk_bvsrem(c, n, d); break;
	}
	return Z3_mk_extract(c, 63, 0, r);
}

/* Operations whose result is a Bool. */
static Z3_ast condition(struct z3 *t, const struct node *n, const Z3_ast *x)
{
	Z3_context c = t->ctx;
	switch (EXPR_OP(n->word)) {
	case EXPR_EQ: return Z3_mk_eq(c, x[0], x[1]);
	case EXPR_ULT: return Z3_mk_bvult(c, x[0], x[1]);
	case EXPR_ULE: return Z3_mk_bvule(c, x[0], x[1]);
	case EXPR_SLT: return Z3_mk_bvslt(c, x[0], x[1]);
	case EXPR_SLE: return Z3_mk_bvsle(c, x[0], x[1]);
	default: return even_parity(t, x[0], EXPR_AW(n->word));
	}
}

/* Connectives of 1-bit nodes, straight on Bools; NULL: go by bits. */
static Z3_ast connective(struct z3 *t, const struct node *n)
{
	Z3_context c = t->ctx;
	Z3_ast *term = t->term.p, two[2] = { term[n->a], term[n->b] };
	if (EXPR_W(n->word) != 1)
		return NULL;
	switch (EXPR_OP(n->word)) {
	case EXPR_NOT: return Z3_mk_not(c, two[0]);
	case EXPR_AND: return Z3_mk_and(c, 2, two);
	case EXPR_OR: return Z3_mk_or(c, 2, two);
	case EXPR_XOR: return Z3_mk_xor(c, two[0], two[1]);
	case EXPR_ITE: return Z3_mk_ite(c, two[0], two[1], term[n->c]);
	case EXPR_EQ: return EXPR_AW(n->word) == 1 ? Z3_mk_iff(c, two[0], two[1]) : NULL;
	default: return NULL;
	}
}

static Z3_ast arithmetic(struct z3 *t, const struct node *n, const Z3_ast *x)
{
	Z3_context c = t->ctx;
	switch (EXPR_OP(n->word)) {
	case EXPR_NOT: return Z3_mk_bvnot(c, x[0]);
	case EXPR_NEG: return Z3_mk_bvneg(c, x[0]);
	case EXPR_ADD: return Z3_mk_bvadd(c, x[0], x[1]);
	case EXPR_SUB: return Z3_mk_bvsub(c, x[0], x[1]);
	case EXPR_MUL: return Z3_mk_bvmul(c, x[0], x[1]);
	case EXPR_UDIV: return Z3_mk_bvudiv(c, x[0], x[1]);
	case EXPR_SDIV: return Z3_mk_bvsdiv(c, x[0], x[1]);
	case EXPR_UREM: return Z3_mk_bvurem(c, x[0], x[1]);
	case EXPR_SREM: return Z3_mk_bvsrem(c, x[0], x[1]);
	case EXPR_AND: return Z3_mk_bvand(c, x[0], x[1]);
	case EXPR_OR: return Z3_mk_bvor(c, x[0], x[1]);
	case EXPR_XOR: return Z3_mk_bvxor(c, x[0], x[1]);
	case EXPR_SHL: return Z3_mk_bvshl(c, x[0], x[1]);
	case EXPR_LSHR: return Z3_mk_bvlshr(c, x[0], x[1]);
	case EXPR_ASHR: return Z3_mk_bvashr(c, x[0], x[1]);
	default: return NULL;
	}
}

static Z3_ast structure(struct z3 *t, const struct node *n, const Z3_ast *x)
{
	const struct pool *pool = t->stage.solver->pool;
	Z3_context c = t->ctx;
	unsigned w = EXPR_W(n->word), aw = EXPR_AW(n->word), lo = EXPR_LO(n->word);
	switch (EXPR_OP(n->word)) {
	case EXPR_UMULH:
	case EXPR_SMULH: return high_product(t, EXPR_OP(n->word), w, x[0], x[1]);
	case EXPR_ITE: return Z3_mk_ite(c, t->term.p[n->a], x[1], x[2]);
	case EXPR_ZEXT: return Z3_mk_zero_ext(c, w - aw, x[0]);
	case EXPR_SEXT: return Z3_mk_sign_ext(c, w - aw, x[0]);
	case EXPR_EXTRACT: return Z3_mk_extract(c, lo + w - 1, lo, x[0]);
	case EXPR_CONCAT: return Z3_mk_concat(c, x[0], x[1]);
	case EXPR_CTZ: return count_zeros(t, x[0], w, false);
	case EXPR_CLZ: return count_zeros(t, x[0], w, true);
	case EXPR_POPCNT: return popcount(t, x[0], w);
	case EXPR_TABLE: return table_term(t, pool->table.p[n->b], w, x[0], 0, 256);
	default: return divide128(t, EXPR_OP(n->word), x);
	}
}

static Z3_ast make_term(struct z3 *t, expr e)
{
	const struct pool *pool = t->stage.solver->pool;
	const struct node *n = pool_at(pool, e);
	enum expr_op op = EXPR_OP(n->word);
	Z3_ast x[3] = { NULL }, r;
	uint64_t v;
	if (is_const(pool, e, &v)) {
		if (EXPR_W(n->word) == 1)
			return v ? Z3_mk_true(t->ctx) : Z3_mk_false(t->ctx);
		return number(t, EXPR_W(n->word), v);
	}
	if (op == EXPR_INPUT)
		return input_term(t, n->a);
	r = connective(t, n);
	if (r)
		return r;
	for (unsigned i = 0; i < solve_pool_operands(n->word); i++)
		x[i] = operand(t, solve_pool_operand(pool, e, i));
	if ((op >= EXPR_EQ && op <= EXPR_SLE) || op == EXPR_PARITY)
		return condition(t, n, x);
	r = arithmetic(t, n, x);
	if (!r)
		r = structure(t, n, x);
	return EXPR_W(n->word) == 1 ? to_bool(t, r) : r;
}

static bool push_missing(struct z3 *t, const struct node *n)
{
	const expr x[3] = { n->a, n->b, n->c };
	bool any = false;
	for (unsigned i = 0; i < solve_pool_operands(n->word); i++)
		if (!t->term.p[x[i]]) {
			VEC_PUSH(&t->stack, x[i]);
			any = true;
		}
	return any;
}

static void terms_grow(struct z3 *t)
{
	size_t had = t->term.n, want = t->stage.solver->pool->node.n;
	if (had >= want)
		return;
	VEC_RESERVE(&t->term, want);
	memset(t->term.p + had, 0, (want - had) * sizeof *t->term.p);
	t->term.n = want;
}

static Z3_ast term(struct z3 *t, expr e)
{
	terms_grow(t);
	VEC_PUSH(&t->stack, e);
	while (t->stack.n) {
		expr at = t->stack.p[t->stack.n - 1];
		if (!t->term.p[at]) {
			if (push_missing(t, pool_at(t->stage.solver->pool, at)))
				continue;
			t->term.p[at] = make_term(t, at);
			t->nterms++;
			if (t->failed || !t->term.p[at])
				return NULL;
		}
		t->stack.n--;
	}
	return t->term.p[e];
}

/* ---- questions ---- */

static void assert_one(struct z3 *t, Z3_ast a)
{
	Z3_solver_assert(t->ctx, t->solver, a);
}

/* The byte has one of these values: a disjunction of ranges. */
static void assert_domain(struct z3 *t, uint32_t byte, const struct domain *d)
{
	Z3_ast in = input_term(t, byte), any[128];
	unsigned n = 0, to;
	if (domain_size(d) == 256)
		return;
	for (unsigned v = 0; v < 256; v = to + 1) {
		Z3_ast two[2];
		to = v;
		if (!domain_has(d, v))
			continue;
		while (to < 255 && domain_has(d, to + 1))
			to++;
		two[0] = Z3_mk_bvule(t->ctx, number(t, 8, v), in);
		two[1] = Z3_mk_bvule(t->ctx, in, number(t, 8, to));
		any[n++] =
			v == to ? Z3_mk_eq(t->ctx, in, number(t, 8, v)) : Z3_mk_and(t->ctx, 2, two);
	}
	assert_one(t, n == 1 ? any[0] : n ? Z3_mk_or(t->ctx, n, any) : Z3_mk_false(t->ctx));
}

static bool assert_all(struct z3 *t, const struct problem *p)
{
	for (size_t i = 0; i < p->cond.n; i++) {
		Z3_ast a = term(t, p->cond.p[i]);
		if (!a || t->failed)
			return false;
		assert_one(t, a);
	}
	for (size_t i = 0; i < p->var.n; i++)
		assert_domain(t, p->var.p[i].byte, &p->var.p[i].dom);
	for (size_t i = 0; i < p->fixed.n; i++)
		assert_one(t, Z3_mk_eq(t->ctx, input_term(t, p->fixed.p[i]),
				       number(t, 8, solve_problem_byte(p, p->fixed.p[i]))));
	return !t->failed;
}

/* Bytes that the model says nothing about keep their value, or (complete) become something. */
static bool read_model(struct z3 *t, struct problem *p, Z3_model m, bool complete)
{
	for (size_t i = 0; i < p->var.n; i++) {
		uint32_t byte = p->var.p[i].byte;
		Z3_ast v = NULL;
		unsigned x;
		if (byte < p->ninput &&
		    Z3_model_eval(t->ctx, m, input_term(t, byte), complete, &v) && v &&
		    Z3_get_ast_kind(t->ctx, v) == Z3_NUMERAL_AST &&
		    Z3_get_numeral_uint(t->ctx, v, &x))
			p->out[byte] = (uint8_t)x;
	}
	return !t->failed && solve_problem_holds(t->stage.solver->pool, p);
}

static enum solve_answer found(struct z3 *t, struct problem *p)
{
	Z3_model m = Z3_solver_get_model(t->ctx, t->solver);
	bool good;
	if (!m)
		return SOLVE_TIMEOUT;
	Z3_model_inc_ref(t->ctx, m);
	good = read_model(t, p, m, false) || read_model(t, p, m, true);
	Z3_model_dec_ref(t->ctx, m);
	if (!good) {
		t->stage.solver->stats.wrong++;
		return SOLVE_TIMEOUT;
	}
	solve_problem_restore(t->stage.solver->pool, p);
	return SOLVE_SAT;
}

static enum solve_answer check(struct z3 *t, struct problem *p)
{
	switch (Z3_solver_check(t->ctx, t->solver)) {
	case Z3_L_TRUE: return found(t, p);
	case Z3_L_FALSE: return t->failed ? SOLVE_TIMEOUT : SOLVE_UNSAT;
	default: return SOLVE_TIMEOUT;
	}
}

static enum solve_answer z3_ask(struct stage *stage, struct problem *p)
{
	struct z3 *t = (struct z3 *)stage;
	enum solve_answer a = SOLVE_TIMEOUT;
	double start = now_seconds();
	current = t;
	t->failed = false;
	t->stack.n = 0;
	stage->solver->stats.z3++;
	open_context(t);
	Z3_solver_push(t->ctx, t->solver);
	if (assert_all(t, p))
		a = check(t, p);
	Z3_solver_pop(t->ctx, t->solver, 1);
	if (t->failed)
		close_context(t);
	stage->solver->stats.z3_seconds += now_seconds() - start;
	current = NULL;
	return a;
}

static void z3_stop(struct stage *stage)
{
	struct z3 *t = (struct z3 *)stage;
	close_context(t);
	VEC_FREE(&t->term);
	VEC_FREE(&t->stack);
}

bool solve_available(void)
{
	return true;
}

const struct stage_ops solve_stage_z3 = {
	.name = "z3",
	.size = sizeof(struct z3),
	.ask = z3_ask,
	.stop = z3_stop,
};
