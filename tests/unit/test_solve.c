/* SPDX-License-Identifier: BSD-3-Clause */
/* Expressions: what the pool makes of them is what expr_apply says, whatever it simplified. */
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

/* ---- values ---- */

static void check_term(struct terms *g, const struct sample *t, struct program *prog)
{
	assert_int_not_equal(t->e, 0);
	assert_int_equal(EXPR_W(solve_pool_word(g->pool, t->e)), t->w);
	solve_program_compile(prog, g->pool, t->e);
	for (unsigned i = 0; i < LANES; i++) {
		if (solve_pool_eval(g->pool, t->e, g->input[i], BYTES) != t->v[i]) {
			struct buf b = { 0 };
			solve_pool_print(g->pool, t->e, &b);
			fail_msg("%s: is %llx, wanted %llx", b.p,
				 (unsigned long long)solve_pool_eval(g->pool, t->e, g->input[i],
								     BYTES),
				 (unsigned long long)t->v[i]);
		}
		assert_int_equal(solve_program_run(prog, g->input[i], BYTES), t->v[i]);
	}
}

static void test_every_op(void **state)
{
	struct program prog = { 0 };
	(void)state;
	for (unsigned op = EXPR_NOT; op < EXPR_OPS_COUNT; op++)
		for (unsigned round = 0; round < 40; round++) {
			struct terms g;
			terms_begin(&g, pool, 4, 64);
			for (unsigned i = 0; i < 12; i++)
				some_term(&g, some_op(&g));
			for (unsigned i = 0; i < 12; i++) {
				struct sample t = some_term(&g, op);
				check_term(&g, &t, &prog);
			}
			terms_end(&g);
		}
	solve_program_free(&prog);
}

static void test_random_dags(void **state)
{
	struct program prog = { 0 };
	(void)state;
	for (unsigned round = 0; round < 4000; round++) {
		struct terms g;
		unsigned n = 4 + below(60);
		terms_begin(&g, pool, 1 + below(BYTES), round % 2 ? 64 : 1 + below(32));
		if (g.max_w < 2)
			g.max_w = 2;
		for (unsigned i = 0; i < n; i++) {
			struct sample t = some_term(&g, some_op(&g));
			check_term(&g, &t, &prog);
		}
		terms_end(&g);
	}
	solve_program_free(&prog);
}

/* Changing one byte of a compiled expression gives what running it anew gives. */
static void test_program_rerun(void **state)
{
	struct program prog = { 0 };
	(void)state;
	for (unsigned round = 0; round < 500; round++) {
		struct terms g;
		uint32_t byte;
		terms_begin(&g, pool, 1 + below(BYTES), 64);
		for (unsigned i = 0; i < 30; i++)
			some_term(&g, some_op(&g));
		byte = below(g.bytes);
		for (unsigned i = 0; i < 5; i++) {
			expr e = g.t.p[g.t.n - 1 - i].e;
			solve_program_compile(&prog, pool, e);
			solve_program_run(&prog, g.input[0], BYTES);
			solve_program_vary(&prog, byte);
			for (unsigned v = 0; v < 256; v += 5) {
				g.input[0][byte] = (uint8_t)v;
				assert_int_equal(solve_program_rerun(&prog, (uint8_t)v),
						 solve_pool_eval(pool, e, g.input[0], BYTES));
			}
		}
		terms_end(&g);
	}
	solve_program_free(&prog);
}

/* ---- forms ---- */

static expr op2(enum expr_op op, expr a, expr b)
{
	unsigned aw = EXPR_W(solve_pool_word(pool, a));
	return solve_pool_node(pool, EXPR_WORD(op, op >= EXPR_EQ && op <= EXPR_SLE ? 1 : aw, aw, 0),
			       a, b, 0);
}
static expr byte_as(uint32_t byte, unsigned w)
{
	return solve_pool_node(pool, EXPR_WORD(EXPR_ZEXT, w, 8, 0), solve_pool_input(pool, byte), 0,
			       0);
}
static expr num(unsigned w, uint64_t v)
{
	return solve_pool_const(pool, w, v);
}

/* Whatever way a word is put together from bytes: comparing it is comparing bytes. */
static void test_words_of_bytes(void **state)
{
	expr b0 = solve_pool_input(pool, 0), b1 = solve_pool_input(pool, 1);
	expr word = solve_pool_node(pool, EXPR_WORD(EXPR_CONCAT, 16, 8, 0), b1, b0, 0);
	expr wide = solve_pool_node(pool, EXPR_WORD(EXPR_ZEXT, 64, 16, 0), word, 0, 0);
	expr shifted = op2(EXPR_SHL, byte_as(1, 64), num(64, 8)), eq;
	(void)state;
	assert_int_equal(op2(EXPR_OR, shifted, byte_as(0, 64)), wide);
	assert_int_equal(op2(EXPR_ADD, byte_as(0, 64), shifted), wide);
	assert_int_equal(op2(EXPR_AND, op2(EXPR_LSHR, wide, num(64, 8)), num(64, 0xff)),
			 byte_as(1, 64));
	eq = op2(EXPR_AND, solve_pool_eq(pool, b1, num(8, 'A')),
		 solve_pool_eq(pool, b0, num(8, 'B')));
	assert_int_equal(solve_pool_eq(pool, wide, num(64, 0x4142)), eq);
	assert_int_equal(solve_pool_eq(pool, wide, num(64, 0x14142)), num(1, 0));
	/* Only the upper byte counts here. */
	assert_int_equal(op2(EXPR_ULT, wide, num(64, 0x300)), op2(EXPR_ULT, b1, num(8, 3)));
	assert_int_equal(op2(EXPR_ULT, num(64, 0x1999999999), wide), num(1, 0));
}

static void test_one_form(void **state)
{
	expr x = solve_pool_input(pool, 0), y = solve_pool_input(pool, 1), lt = op2(EXPR_ULT, x, y);
	(void)state;
	assert_int_equal(op2(EXPR_ADD, x, y), op2(EXPR_ADD, y, x));
	assert_int_equal(op2(EXPR_ULE, x, num(8, 4)), op2(EXPR_ULT, x, num(8, 5)));
	assert_int_equal(solve_pool_not(pool, lt), op2(EXPR_ULE, y, x));
	assert_int_equal(solve_pool_not(pool, solve_pool_not(pool, lt)), lt);
	assert_int_equal(solve_pool_eq(pool, lt, num(1, 0)), solve_pool_not(pool, lt));
	assert_int_equal(op2(EXPR_XOR, lt, num(1, 1)), solve_pool_not(pool, lt));
	assert_int_equal(solve_pool_eq(pool, op2(EXPR_ADD, x, num(8, 3)), num(8, 1)),
			 solve_pool_eq(pool, x, num(8, 254)));
	assert_int_equal(solve_pool_eq(pool, op2(EXPR_MUL, x, num(8, 3)), num(8, 9)),
			 solve_pool_eq(pool, x, num(8, 3)));
	/* A flag that became a number and is compared again. */
	x = solve_pool_node(pool, EXPR_WORD(EXPR_ITE, 32, 1, 0), lt, num(32, 7), num(32, 9));
	assert_int_equal(solve_pool_eq(pool, op2(EXPR_SUB, x, num(32, 2)), num(32, 5)), lt);
}

static void test_looking(void **state)
{
	expr e = op2(EXPR_ADD, byte_as(5, 32), op2(EXPR_MUL, byte_as(2, 32), byte_as(9, 32)));
	struct buf b = { 0 };
	const uint32_t *in;
	uint64_t v;
	size_t n;
	(void)state;
	in = solve_pool_inputs(pool, e, &n);
	assert_int_equal(n, 3);
	assert_int_equal(in[0], 2);
	assert_int_equal(in[1], 5);
	assert_int_equal(in[2], 9);
	assert_int_equal(EXPR_OP(solve_pool_word(pool, e)), EXPR_ADD);
	assert_int_equal(solve_pool_operand(pool, e, 2), 0);
	assert_false(solve_pool_is_const(pool, e, &v));
	assert_true(solve_pool_is_const(pool, num(12, 0x1fff), &v));
	assert_int_equal(v, 0xfff);
	solve_pool_inputs(pool, num(12, 1), &n);
	assert_int_equal(n, 0);
	e = solve_pool_eq(pool,
			  op2(EXPR_UDIV, solve_pool_input(pool, 3), solve_pool_input(pool, 4)),
			  num(8, 0x41));
	solve_pool_print(pool, e, &b);
	assert_string_equal(b.p, "(eq (udiv in[3] in[4]) 0x41)");
	buf_free(&b);
}

static void test_widths_that_do_not_fit(void **state)
{
	expr x = solve_pool_input(pool, 0), y = byte_as(1, 32);
	(void)state;
	assert_int_equal(op2(EXPR_ADD, x, y), 0);
	assert_int_equal(solve_pool_node(pool, EXPR_WORD(EXPR_ADD, 16, 8, 0), x, x, 0), 0);
	assert_int_equal(solve_pool_node(pool, EXPR_WORD(EXPR_ADD, 8, 8, 0), x, 0, 0), 0);
	assert_int_equal(solve_pool_node(pool, EXPR_WORD(EXPR_EXTRACT, 4, 8, 5), x, 0, 0), 0);
	assert_int_equal(solve_pool_node(pool, EXPR_WORD(EXPR_ZEXT, 8, 8, 0), x, 0, 0), 0);
	assert_int_equal(solve_pool_node(pool, EXPR_WORD(EXPR_ITE, 8, 1, 0), x, x, x), 0);
	assert_int_equal(solve_pool_node(pool, EXPR_WORD(EXPR_CONCAT, 72, 8, 0), x, x, 0), 0);
	assert_int_equal(solve_pool_node(pool, EXPR_WORD(200, 8, 8, 0), x, x, 0), 0);
	assert_int_equal(solve_pool_node(pool, EXPR_WORD(EXPR_NOT, 8, 8, 0), 1000000, 0, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_every_op, setup, teardown),
		cmocka_unit_test_setup_teardown(test_random_dags, setup, teardown),
		cmocka_unit_test_setup_teardown(test_program_rerun, setup, teardown),
		cmocka_unit_test_setup_teardown(test_words_of_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_form, setup, teardown),
		cmocka_unit_test_setup_teardown(test_looking, setup, teardown),
		cmocka_unit_test_setup_teardown(test_widths_that_do_not_fit, setup, teardown),
	};
	return cmocka_run_group_tests_name("solve", tests, NULL, NULL);
}
