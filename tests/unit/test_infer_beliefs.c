/* SPDX-License-Identifier: BSD-3-Clause */
/* Likely invariants: each rule, and WITCHER's own figures, from dependences between accesses. */
#include "infer_util.h"

#define TOKEN(j) (64u * (j))
#define KEY(j) (4096u + 128u * (j))
#define VALUE(j) (8192u + 128u * (j))

#define L(...) ((const uint32_t[]){ __VA_ARGS__, 0 })

/* The flow of control is that of the paper's figure 1; beliefs are told by the numbers of these lines. */
static const char table_code[] = MARKS
	"volatile int token, key, value;\n"
	"__attribute__((noinline)) int same(int k) {\n"
	"  MARK(key); return key == k; }\n"
	"__attribute__((noinline)) int query(int k) {\n"
	"  MARK(token); if (token) {\n"
	"    MARK(call); int r = same(k); MARK(test); if (r) {\n"
	"      MARK(value); return value; } }\n"
	"  return 0; }\n"
	"__attribute__((noinline)) void insert(int k) {\n"
	"  MARK(ikey); key = k;\n"
	"  MARK(ivalue); value = k;\n"
	"  MARK(itoken); token = 1; }\n"
	"__attribute__((noinline)) void update(int k) {\n"
	"  MARK(ukey); key = k;\n"
	"  MARK(uvalue); value = k;\n"
	"  MARK(uold); token = 0;\n"
	"  MARK(unew); token = 1; }\n"
	"__attribute__((noinline)) void rules(void) {\n"
	"  MARK(x); key = 1;\n"
	"  MARK(y); value = 2;\n"
	"  MARK(if); if (token) {\n"
	"    MARK(then); value = 3; }\n"
	"  MARK(behind); value = 4; }\n"
	"int main(int argc, char **argv) { (void)argv; insert(argc); update(argc); rules(); return query(argc); }\n";

static void insert(struct script *s, uint32_t j)
{
	store(s, "m_ikey", KEY(j), j + 1, 8, NULL);
	store(s, "m_ivalue", VALUE(j), j + 1, 8, NULL);
	store(s, "m_itoken", TOKEN(j), 1, 1, NULL);
}

/* R(key) and R(value) are control-dependent on R(token), R(value) on R(key), which is read by another function. */
static void query(struct script *s, uint32_t j)
{
	static uint32_t activation = 100;
	uint32_t mine = activation++, other = activation++, token, key;
	frame(s, mine, 1, NULL);
	token = load_word(s, "m_token", TOKEN(j), 1);
	branch(s, "m_token", L(token));
	frame(s, other, mine, "m_call");
	key = load_word(s, "m_key", KEY(j), 8);
	frame(s, mine, 1, NULL);
	branch(s, "m_test", L(key));
	load_word(s, "m_value", VALUE(j), 8);
	frame(s, 1, 0, NULL);
}

static void begin(struct script *s)
{
	script_begin(s, "table");
	frame(s, 1, 0, NULL);
}

/* Figure 3: the dependences (d) give the invariants I1 to I4 (e), which the insert of (f) breaks. */
static void test_figure_3(void **state)
{
	struct script s;
	(void)state;
	begin(&s);
	op_begin(&s, 1);
	insert(&s, 0);
	flush(&s, KEY(0));
	flush(&s, VALUE(0));
	fence(&s);
	persist(&s, TOKEN(0));
	op_end(&s, 1);
	op_begin(&s, 2);
	query(&s, 0);
	op_end(&s, 2);
	/* AP(token, key); P(key) -> W(token); P(value) -> W(key); P(value) -> W(token) */
	expect_beliefs(&s, "RA1 11 13 0/1; RO3 11 13 0/1; RO3 12 11 0/1; RO3 12 13 0/1");
}

/* Figure 1: the same with the barrier where it belongs holds; (c) the two tokens of an update are guardians. */
static void test_figure_1(void **state)
{
	struct script s;
	(void)state;
	begin(&s);
	for (uint32_t j = 0; j < 2; j++) {
		op_begin(&s, j);
		store(&s, "m_ikey", KEY(j), j + 1, 8, NULL);
		store(&s, "m_ivalue", VALUE(j), j + 1, 8, NULL);
		flush(&s, KEY(j));
		persist(&s, VALUE(j));
		store(&s, "m_itoken", TOKEN(j), 1, 1, NULL);
		persist(&s, TOKEN(j));
		op_end(&s, j);
	}
	op_begin(&s, 7);
	store(&s, "m_uold", TOKEN(0), 0, 1, NULL);
	store(&s, "m_unew", TOKEN(1), 1, 1, NULL);
	op_end(&s, 7);
	for (uint32_t j = 0; j < 2; j++) {
		op_begin(&s, 8 + j);
		query(&s, j);
		op_end(&s, 8 + j);
	}
	expect_beliefs(&s, "RA1 11 13 0/2; RA1 17 18 0/1; RO3 11 13 2/2; RO3 12 11 0/2; "
			   "RO3 12 13 2/2");
}

/* ---- table 1, a row each ---- */

static void test_ro1(void **state)
{
	struct script s;
	(void)state;
	begin(&s);
	for (uint32_t i = 0; i < 3; i++) {
		op_begin(&s, i);
		store(&s, "m_x", KEY(0), i + 1, 8, NULL);
		if (i < 2)
			persist(&s, KEY(0));
		uint32_t x = load_word(&s, "m_behind", KEY(0), 8);
		store(&s, "m_y", VALUE(0), i + 4, 8, L(x)); /* Y = X + 3 */
		op_end(&s, i);
	}
	expect_beliefs(&s, "RO1 20 21 2/3");
}

static void test_ro2(void **state)
{
	struct script s;
	(void)state;
	begin(&s);
	op_begin(&s, 1);
	store(&s, "m_x", KEY(0), 1, 8, NULL);
	uint32_t x = load_word(&s, "m_if", KEY(0), 8);
	branch(&s, "m_if", L(x));
	store(&s, "m_then", VALUE(0), 3, 8, NULL);   /* if (X) Y = 3 */
	store(&s, "m_behind", TOKEN(0), 4, 8, NULL); /* whatever X is */
	op_end(&s, 1);
	expect_beliefs(&s, "RO2 20 23 0/1");
}

/* if (X) M = N + 3; if (Y) K = J + 3: both guard something. */
static void test_ra1(void **state)
{
	struct script s;
	(void)state;
	begin(&s);
	op_begin(&s, 1);
	store(&s, "m_x", KEY(0), 1, 8, NULL);
	persist(&s, KEY(0));
	store(&s, "m_y", KEY(1), 1, 8, NULL);
	persist(&s, KEY(1));
	op_end(&s, 1);
	for (uint32_t i = 0; i < 2; i++) {
		op_begin(&s, 2 + i);
		uint32_t x = load_word(&s, "m_if", KEY(i), 8);
		branch(&s, "m_if", L(x));
		load_word(&s, "m_then", VALUE(i), 8);
		op_end(&s, 2 + i);
	}
	expect_beliefs(&s, "RA1 20 21 0/1");
}

/* ---- what is none ---- */

/* Both ends lie in one operation; a load before it does not count, nor one of another call. */
static void test_bounds(void **state)
{
	struct script s;
	(void)state;
	begin(&s);
	op_begin(&s, 1);
	store(&s, "m_x", KEY(0), 1, 8, NULL);
	uint32_t x = load_word(&s, "m_if", KEY(0), 8);
	op_end(&s, 1);
	op_begin(&s, 2);
	store(&s, "m_x", KEY(0), 2, 8, NULL);
	store(&s, "m_y", VALUE(0), 4, 8, L(x));
	op_end(&s, 2);
	op_begin(&s, 3);
	frame(&s, 2, 1, "m_call");
	x = load_word(&s, "m_if", KEY(0), 8);
	branch(&s, "m_if", L(x));
	frame(&s, 3, 1, "m_call");
	store(&s, "m_x", KEY(0), 3, 8, NULL);
	store(&s, "m_then", VALUE(0), 3, 8, NULL);
	op_end(&s, 3);
	expect_beliefs(&s, "");
}

/* What is read between operations tells as much as in one; but no dependence leads from one into it. */
static void test_between(void **state)
{
	struct script s;
	(void)state;
	begin(&s);
	op_begin(&s, 1);
	insert(&s, 0);
	op_end(&s, 1);
	query(&s, 0);
	op_begin(&s, 2);
	store(&s, "m_x", KEY(1), 1, 8, NULL);
	uint32_t x = load_word(&s, "m_if", KEY(1), 8);
	store(&s, "m_y", VALUE(1), 1, 8, NULL);
	op_end(&s, 2);
	store(&s, "m_y", VALUE(1), 2, 8, L(x));
	expect_beliefs(&s, "RA1 11 13 0/1; RO3 11 13 0/1; RO3 12 11 0/1; RO3 12 13 0/1");
}

/* The newest of the branches counts, also if it depends on nothing. */
static void test_newest_branch(void **state)
{
	struct script s;
	(void)state;
	begin(&s);
	op_begin(&s, 1);
	store(&s, "m_x", KEY(0), 1, 8, NULL);
	uint32_t x = load_word(&s, "m_if", KEY(0), 8);
	branch(&s, "m_if", L(x));
	branch(&s, "m_if", NULL);
	store(&s, "m_then", VALUE(0), 3, 8, NULL);
	op_end(&s, 1);
	expect_beliefs(&s, "");
}

static void test_none(void **state)
{
	struct err err = { 0 };
	struct script s;
	(void)state;
	script_begin(&s, "table");
	store(&s, "m_x", KEY(0), 1, 8, NULL);
	script_end(&s);
	struct infer_ops *ops = infer_ops_read(s.r, NULL, &err);
	assert_null(infer_beliefs_read(s.r, ops, model_find(NULL), NULL, &err));
	assert_int_equal(err.status, EXIT_USAGE);
	assert_non_null(strstr(err.text, "--deps"));
	infer_ops_free(ops);
	script_free(&s);
}

/* ---- support ---- */

/* `odd`: the number of the operation that forgets to persist the key before the token. */
static void write_habit(struct script *s, uint32_t ops, uint32_t odd, bool read_back, bool again)
{
	begin(s);
	for (uint32_t i = 0; i < ops; i++) {
		op_begin(s, i);
		store(s, "m_ikey", KEY(i), i + 1, 8, NULL);
		if (i != odd)
			persist(s, KEY(i));
		store(s, "m_itoken", TOKEN(again ? 0 : i), 1, 1, NULL);
		flush(s, KEY(i));
		persist(s, TOKEN(again ? 0 : i));
		op_end(s, i);
	}
	for (uint32_t i = 0; i < ops; i++) {
		if (!read_back && i == odd)
			continue;
		op_begin(s, 100 + i);
		uint32_t token = load_word(s, "m_if", TOKEN(again ? 0 : i), 1);
		branch(s, "m_if", L(token));
		load_word(s, "m_then", KEY(i), 8);
		op_end(s, 100 + i);
	}
	script_end(s);
}

static uint64_t count_odd(struct script *s)
{
	struct infer_beliefs *b = believe(s);
	uint64_t odd = 0;
	size_t n;
	const struct infer_belief *all = infer_beliefs_all(b, &n);
	for (size_t i = 0; i < n; i++)
		odd += all[i].odd;
	infer_beliefs_free(b);
	script_free(s);
	return odd;
}

static void test_odd(void **state)
{
	struct script s;
	(void)state;
	write_habit(&s, 24, 13, true, false);
	assert_int_equal(count_odd(&s), 1);
	write_habit(&s, 24, UINT32_MAX, true, false); /* all are alike */
	assert_int_equal(count_odd(&s), 0);
	write_habit(&s, 12, 7, true, false); /* no habit yet */
	assert_int_equal(count_odd(&s), 0);
	write_habit(&s, 24, 13, false, false); /* nobody reads these words in that way */
	assert_int_equal(count_odd(&s), 0);
	write_habit(&s, 24, 13, true, true); /* the token had this value before */
	assert_int_equal(count_odd(&s), 0);
}

static int setup(void **state)
{
	if (fixture_setup(state))
		return -1;
	write_text("table.c", table_code);
	run("cc -O0 -g -fPIE -pie table.c -o table");
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_figure_3), cmocka_unit_test(test_figure_1),
		cmocka_unit_test(test_ro1),      cmocka_unit_test(test_ro2),
		cmocka_unit_test(test_ra1),      cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_between),  cmocka_unit_test(test_newest_branch),
		cmocka_unit_test(test_none),     cmocka_unit_test(test_odd),
	};
	return cmocka_run_group_tests(tests, setup, fixture_teardown);
}
