/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions: the chain against Z3 alone, each decorator, limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "solve/internal.h"
#include "solve_util.h"

static struct pool *pool;

static int setup(void **state)
{
	(void)state;
	pool = solve_pool_new();
	return 0;
}
static int teardown(void **state)
{
	(void)state;
	solve_pool_free(pool);
	return 0;
}

static expr binary(enum expr_op op, expr a, expr b)
{
	unsigned aw = EXPR_W(solve_pool_word(pool, a));
	return solve_pool_node(pool, EXPR_WORD(op, op >= EXPR_EQ && op <= EXPR_SLE ? 1 : aw, aw, 0),
			       a, b, 0);
}
static expr k(unsigned w, uint64_t v)
{
	return solve_pool_const(pool, w, v);
}
static expr in(uint32_t byte)
{
	return solve_pool_input(pool, byte);
}
static expr zext(expr a, unsigned w)
{
	return solve_pool_node(pool, EXPR_WORD(EXPR_ZEXT, w, EXPR_W(solve_pool_word(pool, a)), 0),
			       a, 0, 0);
}
/* Bytes first … first + n - 1 as a little-endian number. */
static expr word_at(uint32_t first, unsigned n)
{
	expr e = in(first);
	for (unsigned i = 1; i < n; i++)
		e = solve_pool_node(pool, EXPR_WORD(EXPR_CONCAT, 8 * (i + 1), 8, 0), in(first + i),
				    e, 0);
	return e;
}

struct question {
	expr must[64];
	size_t nmust;
	uint8_t input[64], out[64];
	size_t n;
};

static enum solve_answer ask(struct solver *s, struct question *q, expr goal)
{
	struct solve_query sq = { q->must, q->nmust, goal, q->input, q->n };
	enum solve_answer a = solve_solver_ask(s, &sq, q->out);
	if (a == SOLVE_SAT) {
		assert_int_equal(solve_pool_eval(pool, goal, q->out, q->n), 1);
		for (size_t i = 0; i < q->nmust; i++)
			assert_int_equal(solve_pool_eval(pool, q->must[i], q->out, q->n), 1);
	}
	return a;
}

/* ---- against Z3 ---- */

/* Given what the operands are, can the result be another than expr_apply says? */
static void test_z3_knows_every_op(void **state)
{
	struct solve_opts opts = { .validate = true, .timeout_ms = 600000 };
	struct solver *s = solve_solver_new(pool, &opts);
	(void)state;
	for (unsigned op = EXPR_NOT; op < EXPR_OPS_COUNT; op++)
		for (unsigned round = 0; round < 24; round++) {
			struct question q = { .n = 24 };
			struct terms g;
			struct sample t;
			uint32_t word;
			expr x[3] = { 0 };
			uint64_t v[3] = { 0 }, r;
			enum solve_answer a;
			terms_begin(&g, pool, 1, 64);
			if (op == EXPR_TABLE) {
				t = some_table(&g);
				q.input[0] = g.input[0][0];
				q.must[q.nmust++] = solve_pool_eq(pool, in(0), k(8, q.input[0]));
				ask(s, &q,
				    solve_pool_not(pool, solve_pool_eq(pool, t.e, k(t.w, t.v[0]))));
				terms_end(&g);
				continue;
			}
			word = some_word(&g, op);
			for (unsigned i = 0; i < 3; i++) {
				unsigned w = expr_operand_width(word, i);
				if (!w)
					continue;
				v[i] = some_value(w);
				x[i] = word_at(8 * i, 8);
				memcpy(q.input + 8 * i, &v[i], 8);
				if (w < 64)
					x[i] = solve_pool_node(pool,
							       EXPR_WORD(EXPR_EXTRACT, w, 64, 0),
							       x[i], 0, 0);
				q.must[q.nmust++] = solve_pool_eq(pool, x[i], k(w, v[i]));
			}
			r = expr_apply(word, v[0], v[1], v[2]);
			x[0] = solve_pool_node(pool, word, x[0], x[1], x[2]);
			x[0] = solve_pool_not(pool, solve_pool_eq(pool, x[0], k(EXPR_W(word), r)));
			a = ask(s, &q, x[0]);
			assert_true(a == SOLVE_UNSAT || (a == SOLVE_TIMEOUT && !solve_available()));
			assert_int_equal(solve_solver_stats(s)->wrong, 0);
			terms_end(&g);
		}
	assert_int_equal(solve_solver_stats(s)->wrong, 0);
	solve_solver_free(s);
}

static void random_question(struct solver *s, struct terms *g)
{
	struct question q = { .n = g->bytes };
	expr goal = 0;
	unsigned want = 1 + below(6);
	memcpy(q.input, g->input[0], g->bytes);
	for (unsigned tries = 0; tries < 300 && q.nmust < want; tries++) {
		struct sample t =
			below(3) ? some_term(g, EXPR_EQ + below(5)) : some_term(g, some_op(g));
		uint64_t v;
		expr e = t.e;
		if (t.w != 1 || solve_pool_is_const(pool, e, &v))
			continue;
		q.must[q.nmust++] = t.v[0] ? e : solve_pool_not(pool, e);
	}
	if (!q.nmust)
		return;
	goal = solve_pool_not(pool, q.must[--q.nmust]);
	ask(s, &q, goal);
}

static void test_chain_is_right(void **state)
{
	struct solve_opts opts = { .validate = true, .timeout_ms = 50 };
	struct solver *s = solve_solver_new(pool, &opts);
	const struct solve_stats *st = solve_solver_stats(s);
	(void)state;
	for (unsigned round = 0; round < 2000; round++) {
		struct terms g;
		terms_begin(&g, pool, 1 + below(6), 2 + below(31));
		g.no_product = below(4);
		for (unsigned i = 0; i < 12; i++)
			some_term(&g, some_op(&g));
		random_question(s, &g);
		if (st->wrong)
			fail_msg("round %u", round);
		terms_end(&g);
	}
	print_message("# %llu questions: %llu sat, %llu unsat, %llu timeouts; %llu trivial, "
		      "%llu cached, %llu enumerated, %llu z3 (%.3f s)\n",
		      (unsigned long long)st->queries, (unsigned long long)st->sat,
		      (unsigned long long)st->unsat, (unsigned long long)st->timeouts,
		      (unsigned long long)st->trivial, (unsigned long long)st->cache_hits,
		      (unsigned long long)st->enumerated, (unsigned long long)st->z3,
		      st->z3_seconds);
	assert_true(st->sat > 300 && st->unsat > 300);
	solve_solver_free(s);
}

/* ---- each decorator ---- */

static void test_input_that_fits(void **state)
{
	struct solver *s = solve_solver_new(pool, NULL);
	struct question q = { .n = 4, .input = "abcd" };
	(void)state;
	assert_int_equal(ask(s, &q, solve_pool_eq(pool, in(0), k(8, 'a'))), SOLVE_SAT);
	assert_memory_equal(q.out, q.input, 4);
	assert_int_equal(ask(s, &q, k(1, 0)), SOLVE_UNSAT);
	assert_int_equal(ask(s, &q, k(1, 1)), SOLVE_SAT);
	assert_int_equal(solve_solver_stats(s)->trivial, 3);
	/* The opposite of something that must be. */
	q.must[q.nmust++] = binary(EXPR_ULT, in(0), in(1));
	assert_int_equal(ask(s, &q, solve_pool_not(pool, q.must[0])), SOLVE_UNSAT);
	assert_int_equal(solve_solver_stats(s)->trivial, 4);
	assert_int_equal(solve_solver_stats(s)->z3, 0);
	assert_int_equal(solve_solver_stats(s)->queries, 4);
	solve_solver_free(s);
}

/* Only the byte that has to change does, also if it is a word that is compared. */
static void test_little_changes(void **state)
{
	struct solver *s = solve_solver_new(pool, NULL);
	struct question q = { .n = 8, .input = "abcdefgh" };
	(void)state;
	assert_int_equal(ask(s, &q, solve_pool_eq(pool, word_at(0, 4), k(32, 0x6463625au))),
			 SOLVE_SAT);
	assert_memory_equal(q.out, "Zbcdefgh", 8);
	assert_int_equal(ask(s, &q, solve_pool_eq(pool, binary(EXPR_ADD, in(4), in(5)), k(8, 1))),
			 SOLVE_SAT);
	assert_memory_equal(q.out, "abcd", 4);
	assert_memory_equal(q.out + 6, "gh", 2);
	assert_true(q.out[4] == 'e' || q.out[5] == 'f');
	solve_solver_free(s);
}

/* A checksum: the bytes that hold it change, not those that it is of, hard as it may be. */
static void test_one_side_of_an_equation(void **state)
{
	struct solver *s = solve_solver_new(pool, NULL);
	struct question q = { .n = 12, .input = "01234567xxxx" };
	expr product = binary(EXPR_MUL, word_at(0, 4), word_at(4, 4));
	uint64_t sum = solve_pool_eval(pool, product, q.input, q.n);
	(void)state;
	assert_int_equal(ask(s, &q, solve_pool_eq(pool, word_at(8, 4), product)), SOLVE_SAT);
	assert_memory_equal(q.out, q.input, 8);
	assert_int_equal(solve_pool_eval(pool, word_at(8, 4), q.out, q.n), sum);
	assert_int_equal(solve_solver_stats(s)->trivial, 1);
	assert_int_equal(solve_solver_stats(s)->enumerated + solve_solver_stats(s)->z3, 0);
	/* Unless something else forbids it: then the other bytes may change, too. */
	q.must[q.nmust++] = solve_pool_not(pool, solve_pool_eq(pool, in(8), k(8, sum & 0xff)));
	assert_int_equal(
		ask(s, &q,
		    solve_pool_eq(pool, zext(in(8), 32), binary(EXPR_AND, product, k(32, 0xff)))),
		SOLVE_SAT);
	assert_true(q.out[8] != (sum & 0xff));
	solve_solver_free(s);
}

static void test_slicing(void **state)
{
	struct solver *s = solve_solver_new(pool, NULL);
	struct question q = { .n = 16, .input = "0123456789abcdef" };
	expr hard = binary(EXPR_MUL, word_at(8, 4), word_at(12, 4));
	(void)state;
	/* A condition that nothing here can solve, but it holds and has other bytes. */
	q.must[q.nmust++] =
		solve_pool_eq(pool, hard, k(32, solve_pool_eval(pool, hard, q.input, q.n)));
	q.must[q.nmust++] = binary(EXPR_ULT, in(0), in(1));
	assert_int_equal(ask(s, &q, binary(EXPR_ULT, in(2), in(1))), SOLVE_SAT);
	assert_memory_equal(q.out + 3, q.input + 3, 13);
	assert_int_equal(solve_solver_stats(s)->z3, 0);
	/* A byte that can have one value only connects nothing. */
	q.must[q.nmust++] = solve_pool_eq(pool, binary(EXPR_XOR, in(8), k(8, 1)), k(8, '9'));
	assert_int_equal(ask(s, &q, binary(EXPR_ULT, in(8), in(2))), SOLVE_SAT);
	assert_int_equal(ask(s, &q, binary(EXPR_ULT, in(8), k(8, 7))), SOLVE_UNSAT);
	assert_int_equal(solve_solver_stats(s)->z3, 0);
	/* … and one with two values can have the other. */
	q.must[1] = binary(EXPR_ULT, k(8, '/'), in(0));
	q.must[2] = binary(EXPR_ULT, in(0), k(8, '2'));
	assert_int_equal(ask(s, &q, solve_pool_eq(pool, in(0), in(1))), SOLVE_SAT);
	assert_int_equal(
		ask(s, &q, solve_pool_eq(pool, binary(EXPR_ADD, in(0), in(0)), k(8, '1' * 2))),
		SOLVE_SAT);
	solve_solver_free(s);
}

static void test_cache(void **state)
{
	struct solver *s = solve_solver_new(pool, NULL);
	const struct solve_stats *st = solve_solver_stats(s);
	struct question q = { .n = 8, .input = "01234567" };
	expr sum = binary(EXPR_ADD, in(0), in(1)), both;
	uint64_t hits;
	(void)state;
	/* The same question of another path: another byte differs, and other conditions hold. */
	assert_int_equal(ask(s, &q, solve_pool_eq(pool, sum, k(8, 0))), SOLVE_SAT);
	assert_int_equal(st->cache_hits, 0);
	q.input[5] = 'x';
	q.must[q.nmust++] = solve_pool_eq(pool, in(5), k(8, 'x'));
	assert_int_equal(ask(s, &q, solve_pool_eq(pool, sum, k(8, 0))), SOLVE_SAT);
	assert_int_equal(st->cache_hits, 1);
	assert_int_equal(q.out[5], 'x');
	/* A model fits a weaker question. */
	assert_int_equal(ask(s, &q, binary(EXPR_ULT, sum, k(8, 40))), SOLVE_SAT);
	assert_int_equal(st->cache_hits, 2);
	/* A contradiction stays one with one more condition. */
	q.must[q.nmust++] = binary(EXPR_ULT, in(2), in(3));
	both = binary(EXPR_ULT, in(3), in(2));
	both = binary(EXPR_OR, both,
		      binary(EXPR_ULT, binary(EXPR_XOR, in(3), k(8, 0x80)),
			     binary(EXPR_XOR, in(2), k(8, 0x80))));
	q.must[q.nmust++] = binary(EXPR_ULT, in(2), k(8, 0x80));
	q.must[q.nmust++] = binary(EXPR_ULT, in(3), k(8, 0x80));
	hits = st->cache_hits;
	assert_int_equal(ask(s, &q, both), SOLVE_UNSAT);
	assert_int_equal(st->cache_hits, hits);
	q.must[q.nmust++] = binary(EXPR_ULT, in(3), in(4));
	assert_int_equal(ask(s, &q, both), SOLVE_UNSAT);
	assert_int_equal(st->cache_hits, hits + 1);
	q.must[q.nmust++] = binary(EXPR_ULT, in(2), k(8, 0x40));
	assert_int_equal(ask(s, &q, both), SOLVE_UNSAT);
	assert_int_equal(st->cache_hits, hits + 2);
	/* … but not if bytes have more values. */
	q.must[2] = q.must[3] = q.must[5] = k(1, 1);
	assert_int_equal(ask(s, &q, both), SOLVE_SAT);
	solve_solver_free(s);
}

static void test_ranges(void **state)
{
	uint8_t lo[4], hi[4];
	struct solve_opts opts = { .validate = true, .lo = lo, .hi = hi, .nrange = 4 };
	struct question q = { .n = 6, .input = "abcdef" };
	struct solver *s;
	(void)state;
	memset(lo, 0x20, 4);
	memset(hi, 0x7e, 4);
	hi[3] = lo[3] = 'd';
	s = solve_solver_new(pool, &opts);
	assert_int_equal(ask(s, &q, solve_pool_eq(pool, in(0), k(8, 10))), SOLVE_UNSAT);
	assert_int_equal(ask(s, &q, solve_pool_eq(pool, in(4), k(8, 10))), SOLVE_SAT);
	assert_int_equal(ask(s, &q, solve_pool_not(pool, solve_pool_eq(pool, in(3), k(8, 'd')))),
			 SOLVE_UNSAT);
	assert_int_equal(
		ask(s, &q, solve_pool_eq(pool, binary(EXPR_ADD, in(0), in(1)), k(8, 0x3f))),
		SOLVE_UNSAT);
	assert_int_equal(
		ask(s, &q, solve_pool_eq(pool, binary(EXPR_ADD, in(0), in(1)), k(8, 0x41))),
		SOLVE_SAT);
	assert_in_range(q.out[0], 0x20, 0x7e);
	assert_in_range(q.out[1], 0x20, 0x7e);
	assert_int_equal(
		ask(s, &q, solve_pool_eq(pool, binary(EXPR_ADD, in(0), in(3)), k(8, 0x41))),
		SOLVE_UNSAT);
	/* Bytes behind the end of the input are 0 and stay so. */
	assert_int_equal(ask(s, &q, solve_pool_eq(pool, in(9), k(8, 1))), SOLVE_UNSAT);
	assert_int_equal(ask(s, &q, binary(EXPR_ULT, in(4), in(9))), SOLVE_UNSAT);
	assert_int_equal(solve_solver_stats(s)->wrong, 0);
	solve_solver_free(s);
}

static void test_table(void **state)
{
	struct solve_opts opts = { .validate = true };
	struct solver *s = solve_solver_new(pool, &opts);
	struct question q = { .n = 4, .input = "abcd" };
	uint8_t entries[512];
	expr t, u;
	(void)state;
	for (unsigned i = 0; i < 256; i++) {
		uint16_t v = (uint16_t)(i * i);
		memcpy(entries + 2 * i, &v, 2);
	}
	t = solve_pool_table(pool, 16, in(0), entries);
	u = solve_pool_table(pool, 16, binary(EXPR_XOR, in(1), in(2)), entries);
	assert_int_equal(ask(s, &q, solve_pool_eq(pool, t, k(16, 169))), SOLVE_SAT);
	assert_int_equal(q.out[0], 13);
	assert_int_equal(ask(s, &q, solve_pool_eq(pool, t, k(16, 170))), SOLVE_UNSAT);
	assert_int_equal(ask(s, &q, solve_pool_eq(pool, binary(EXPR_ADD, t, u), k(16, 25))),
			 SOLVE_SAT);
	assert_int_equal(ask(s, &q, solve_pool_eq(pool, u, k(16, 170))), SOLVE_UNSAT);
	assert_ptr_not_equal(solve_pool_entries(pool, t), entries);
	assert_memory_equal(solve_pool_entries(pool, t), entries, sizeof entries);
	assert_int_equal(solve_solver_stats(s)->wrong, 0);
	solve_solver_free(s);
}

/* Four bytes through a hash: too much for trying, small for Z3. */
static void test_z3_answers(void **state)
{
	struct solve_opts opts = { .timeout_ms = 600000 };
	struct solver *s = solve_solver_new(pool, &opts);
	struct question q = { .n = 8, .input = "abcdefgh" };
	expr h = k(32, 2166136261u);
	(void)state;
	for (unsigned i = 0; i < 4; i++)
		h = binary(EXPR_MUL, binary(EXPR_XOR, h, zext(in(i), 32)), k(32, 16777619));
	if (!solve_available()) {
		assert_int_equal(ask(s, &q, solve_pool_eq(pool, h, k(32, 1))), SOLVE_TIMEOUT);
		solve_solver_free(s);
		return;
	}
	assert_int_equal(ask(s, &q, solve_pool_eq(pool, h, k(32, 0x1c7177e6u))), SOLVE_SAT);
	assert_memory_equal(q.out + 4, "efgh", 4);
	assert_int_equal(solve_solver_stats(s)->z3, 1);
	assert_true(solve_solver_stats(s)->z3_seconds > 0);
	solve_solver_free(s);
}

static void test_timeout(void **state)
{
	struct solve_opts opts = { .timeout_ms = 10 };
	struct solver *s = solve_solver_new(pool, &opts);
	struct question q = { .n = 8, .input = "abcdefgh" };
	expr product = binary(EXPR_MUL, zext(word_at(0, 4), 64), zext(word_at(4, 4), 64));
	(void)state;
	q.must[q.nmust++] = binary(EXPR_ULT, k(32, 1), word_at(0, 4));
	q.must[q.nmust++] = binary(EXPR_ULT, k(32, 1), word_at(4, 4));
	/* Two primes near 2^32. */
	assert_int_equal(ask(s, &q, solve_pool_eq(pool, product, k(64, 4294967291u * 4294967279u))),
			 SOLVE_TIMEOUT);
	assert_memory_equal(q.out, q.input, 8);
	assert_int_equal(solve_solver_stats(s)->timeouts, 1);
	/* It goes on answering. */
	assert_int_equal(ask(s, &q, binary(EXPR_ULT, word_at(4, 4), word_at(0, 4))), SOLVE_SAT);
	solve_solver_free(s);
}

static void test_long_chain(void **state)
{
	struct solve_opts opts = { .timeout_ms = 20 };
	struct solver *s = solve_solver_new(pool, &opts);
	struct question q = { .n = 64 };
	expr e = zext(in(0), 32), goal;
	uint32_t want = 0;
	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		e = binary(EXPR_MUL, binary(EXPR_XOR, e, zext(in(i % 64), 32)), k(32, 16777619));
		want = (want ^ q.input[i % 64]) * 16777619;
	}
	assert_true(solve_pool_count(pool) > 200000);
	assert_int_equal(solve_pool_eval(pool, e, q.input, q.n), want);
	goal = solve_pool_eq(pool, e, k(32, 1));
	assert_int_not_equal(ask(s, &q, goal), SOLVE_UNSAT);
	solve_solver_free(s);
}

/* A sum of many bytes: its sets of bytes must not take the square of that. */
static void test_long_sum(void **state)
{
	struct solver *s = solve_solver_new(pool, NULL);
	uint8_t *input = xcalloc(2, 60000), *out = input + 60000;
	struct solve_query q = { .input = input, .ninput = 60000 };
	expr e = zext(in(0), 32);
	size_t n;
	(void)state;
	for (unsigned i = 1; i < 60000; i++)
		e = binary(EXPR_ADD, e, zext(in(i), 32));
	assert_true(solve_pool_memory(pool) < 64u << 20);
	assert_int_equal(solve_pool_inputs(pool, e, &n)[59999], 59999);
	assert_int_equal(n, 60000);
	q.goal = solve_pool_eq(pool, e, k(32, 77));
	assert_int_equal(solve_solver_ask(s, &q, out), SOLVE_SAT);
	assert_int_equal(solve_pool_eval(pool, e, out, 60000), 77);
	free(input);
	solve_solver_free(s);
}

/* A million nodes, and Z3's terms for them, in 2 GiB. */
static void test_memory(void **state)
{
	struct solve_opts opts = { .timeout_ms = 1 };
	struct solver *s = solve_solver_new(pool, &opts);
	struct question q = { .n = 64 };
	(void)state;
	for (unsigned i = 0; solve_pool_count(pool) < 1000000; i++) {
		expr e = binary(EXPR_MUL, word_at(i % 60, 4), word_at((i * 7) % 60, 4));
		for (unsigned j = 0; j < 100; j++)
			e = binary(j % 2 ? EXPR_SUB : EXPR_XOR, e,
				   binary(EXPR_ADD, word_at((i + j) % 60, 4),
					  k(32, i * 1000003 + j * 97)));
		if (i % 250 == 0)
			ask(s, &q, solve_pool_eq(pool, e, k(32, i)));
	}
	assert_true(solve_pool_memory(pool) < 200u << 20);
	solve_solver_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_z3_knows_every_op, setup, teardown),
		cmocka_unit_test_setup_teardown(test_chain_is_right, setup, teardown),
		cmocka_unit_test_setup_teardown(test_input_that_fits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_little_changes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_side_of_an_equation, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slicing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cache, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ranges, setup, teardown),
		cmocka_unit_test_setup_teardown(test_table, setup, teardown),
		cmocka_unit_test_setup_teardown(test_z3_answers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_timeout, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_chain, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_sum, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
	};
	return cmocka_run_group_tests_name("solve_ask", tests, NULL, NULL);
}
