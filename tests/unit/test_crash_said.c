/* SPDX-License-Identifier: BSD-3-Clause */
/* What is said, and in which way it is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "crash/internal.h"
#include "crash/shuffled.h"

static struct crash_verdict differ(const char *was, const char *before, const char *after)
{
	struct crash_verdict v = { .verdict = RUNNER_DIFFERS, .status = CRASH_HALF, .where = 1 };
	crash_said_differ(was, before, after, &v);
	return v;
}

static void test_line_and_class(void **state)
{
	static const struct {
		const char *was, *before, *after;
		uint32_t line;
		int how;
	} rows[] = {
		{ "a\nb\n", "a\n", "a\nc\n", 2, CRASH_CHANGED },
		{ "a\n", "a\nb\n", "a\nc\n", 2, CRASH_MISSING },
		{ "a\nb\nc\n", "a\nb\n", "a\n", 3, CRASH_EXTRA },
		{ "", "a\n", "b\n", 1, CRASH_MISSING },
		{ "x\n", "", "", 1, CRASH_EXTRA },
		{ "a\nb\nx\n", "a\nb\nc\n", "z\n", 3, CRASH_CHANGED }, /* as far as either goes */
		{ "a\nb", "a\n", "a\nbc\n", 2, CRASH_CHANGED },
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct crash_verdict v = differ(rows[i].was, rows[i].before, rows[i].after);
		assert_int_equal(v.line, rows[i].line);
		assert_int_equal(v.how, rows[i].how);
	}
}

static void test_same_way(void **state)
{
	struct crash_verdict a = differ("a\nx\n", "a\nb\n", "a\nc\n");
	struct crash_verdict other = differ("x\nb\n", "a\nb\n", "a\nc\n");
	struct crash_verdict missing = differ("a\n", "a\nb\n", "a\nc\n");
	(void)state;
	assert_true(crash_same_way(&a, &a));
	assert_false(crash_same_way(&a, &other)); /* another line */
	assert_false(crash_same_way(&a, &missing));
	other.where = 2; /* between other operations lines have other numbers */
	assert_true(crash_same_way(&a, &other));
	missing.where = 2;
	assert_false(crash_same_way(&a, &missing));
	other.status = CRASH_LOST;
	assert_false(crash_same_way(&a, &other));
	struct crash_verdict failed = { .verdict = RUNNER_FAILED, .status = 1 }, again = failed;
	assert_true(crash_same_way(&failed, &again));
	again.status = 2;
	assert_false(crash_same_way(&failed, &again));
}

static void expect(const char *text, const char *begin)
{
	if (strncmp(text, begin, strlen(begin)) != 0)
		fail_msg("'%s' does not begin with '%s'", text, begin);
}

static void test_words(void **state)
{
	char *text = crash_said_compare("a\nx\n", "a\n", "a\nb\n", true);
	(void)state;
	expect(text,
	       "line 2 is 'x'; it should be 'b' if the operation happened, or no such line if it "
	       "did not\nall that was printed:\na\nx\n");
	free(text);
	text = crash_said_compare("a\n" RUNNER_THEN "1\nx\n", "a\n" RUNNER_THEN "1\n2\n",
				  "a\n" RUNNER_THEN "1\n2\n", false);
	expect(text,
	       "line 2 of what --continue prints is 'x'; it should be '2'\nall that was printed:\na\n"
	       "(with the operations that follow:)\n1\nx\n");
	free(text);
	text = crash_said_compare("x\n" RUNNER_THEN "1\n", "a\n" RUNNER_THEN "1\n",
				  "b\n" RUNNER_THEN "1\n", false);
	expect(text, "line 1 is 'x'; it should be 'b'");
	free(text);
	text = crash_said_compare("2\na\n", "1\na\n", "2\na\nb\n", true);
	expect(text, "line 1 is '2', as if the operation had happened, and line 3 is no such line, "
		     "as if it had not\n");
	free(text);
}

/* Of a long text, what is near the line. */
static void test_long_text(void **state)
{
	struct buf was = { 0 }, should = { 0 };
	(void)state;
	for (int i = 1; i <= 100000; i++) {
		buf_printf(&was, "line number %d%s\n", i, i == 70000 ? "?" : "");
		buf_printf(&should, "line number %d\n", i);
	}
	buf_add(&was, "", 1);
	buf_add(&should, "", 1);
	char *text = crash_said_compare(was.p, should.p, should.p, false);
	expect(text, "line 70000 is 'line number 70000?'; it should be 'line number 70000'\n"
		     "some that was printed:\nline number 69995\n");
	assert_true(strlen(text) < 8192);
	free(text);
	buf_free(&was);
	buf_free(&should);
}

static void messages_are_told_from_entries(void **state)
{
	(void)state;
	static const struct {
		const char *was, *before, *after,
			*first; /* the first message; NULL: there is none */
	} row[] = {
		{ "repaired 3\n1=10\n", "", "1=10\n", "repaired 3\n1=10\n" },
		{ "1=10\nrepaired 3\n", "1=10\n", "1=11\n", "repaired 3\n" },
		{ "1=10\n2=-7\n", "1=10\n", "1=11\n", NULL },     /* an entry */
		{ "repaired 3\n", "1=10\n", "1=11\n", NULL },     /* one is missing */
		{ "repaired\n1=12\n", "1=10\n", "1=11\n", NULL }, /* one is changed */
		{ "repaired\n", "", "", NULL },         /* nobody knows what an entry looks like */
		{ "1=10\n", "1=10\n", "1=11\n", NULL }, /* nothing more is there */
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		const char *more = crash_chatter_in(row[i].was, row[i].before, row[i].after);
		assert_int_equal(!more, !row[i].first);
		if (more)
			assert_string_equal(more, row[i].first);
	}
}

/* Entries in another order are the same entries; values that changed places are not. */
static void the_order_of_entries_is_no_promise(void **state)
{
	(void)state;
	static const struct {
		const char *was, *before, *after;
		bool answers, fine;
	} row[] = {
		{ "n: 4\n22 3 5 40\n", "n: 5\n22 3 5 17 40\n", "n: 4\n22 3 40 5\n", false, true },
		{ "b=2\na=1\nc=3\n", "a=1\nb=2\n", "a=1\nb=2\nc=3\n", false, true },
		{ "k9=1 k10=2\n", "k10=2 k9=1 k3=1\n", "k10=2 k9=1\n", false, true },
		{ "b=1\na=2\n", "a=1\nb=2\n", "a=1\nb=2\n", false, false }, /* exchanged */
		{ "head 7 tail 3\n", "head 3 tail 7\n", "head 3 tail 9\n", false, false },
		{ "1 3\n2 4\n", "1 2\n3 4\n", "1 2\n3 4\n5 6\n", false, false }, /* pairs */
		{ "3 5\n", "3 5 40\n", "3 5 40 17\n", false, false },      /* one is missing */
		{ "3 5 5 40\n", "3 5 40\n", "3 5 40 17\n", false, false }, /* one is there twice */
		{ "\nb\n", "a\nb\n", "b\n", false, false }, /* one has lost its text */
		{ "b\na", "a\nb\n", "a\nb\nc\n", false, true },
		{ "1\n2\nb\na\n", "1\n2\na\nb\n", "1\n2\n", false, true }, /* the same begin */
		{ "12\n3\n", "1\n32\n", "1\n2\n", false, false },
		{ "11\n10\n", "10\n11\n", "10\n12\n", true, false }, /* answers */
		{ "2\n1\n" RUNNER_THEN "7\n8\n", "1\n2\n" RUNNER_THEN "7\n8\n", "1\n", true, true },
		{ "1\n2\n" RUNNER_THEN "8\n7\n", "1\n2\n" RUNNER_THEN "7\n8\n", "1\n", true,
		  false },
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++)
		if (crash_shuffled(row[i].was, row[i].before, row[i].after, row[i].answers) !=
		    row[i].fine)
			fail_msg("row %zu", i);
}

static void a_program_that_reorders_promises_no_order(void **state)
{
	(void)state;
	static const struct {
		const char *before, *after;
		bool reorders;
	} row[] = {
		{ "3 1 2\n", "1 2 3\n", false }, /* that is all it does */
		{ "n: 3\n3 1 2\n", "n: 4\n1 2 3 7\n", true },
		{ "n: 3\n3 1 2\n", "n: 2\n3 2\n", false },
		{ "a=1\nb=2\nc=3\n", "c=3\na=1\n", true },
		{ "a=1\nb=2\n", "c=3\na=1\nb=2\n", false },
		{ "", "a=1\n", false },
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++)
		if (crash_reorders(row[i].before, row[i].after) != row[i].reorders)
			fail_msg("row %zu", i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_order_of_entries_is_no_promise),
		cmocka_unit_test(a_program_that_reorders_promises_no_order),
		cmocka_unit_test(messages_are_told_from_entries),
		cmocka_unit_test(test_line_and_class),
		cmocka_unit_test(test_same_way),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_long_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
