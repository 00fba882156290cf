/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of checks is complete, and what a row says is what its test found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "doctor/doctor.h"

static void rows_are_complete(void **state)
{
	const struct doctor_row *row, *other;
	(void)state;
	for (size_t i = 0; (row = doctor_row_at(i)); i++) {
		assert_true(row->name && *row->name && row->what && row->test);
		assert_true(row->cost && *row->cost && row->mend && *row->mend);
		for (size_t k = 0; k < i && (other = doctor_row_at(k)); k++)
			assert_string_not_equal(row->name, other->name);
	}
}

struct seen {
	size_t machine, program, missing;
	bool brief_ok; /* an ok row came although only others should */
	const char *missing_name;
};

static void see(void *arg, const struct doctor_result *r)
{
	struct seen *s = arg;
	s->machine += !r->row->program;
	s->program += r->row->program;
	s->missing += r->state == DOCTOR_MISSING;
	s->brief_ok |= r->state == DOCTOR_OK;
	if (r->state == DOCTOR_MISSING)
		s->missing_name = r->row->name;
	assert_true(*r->found);
	if (r->state == DOCTOR_MISSING)
		assert_true(r->row->needed);
	if (r->state == DOCTOR_LESS)
		assert_false(r->row->needed);
}

static void a_program_has_rows_of_its_own(void **state)
{
	struct seen without = { 0 }, with = { 0 };
	(void)state;
	setenv("HOLDFAST_VALGRIND", "/nonexistent/valgrind", 1); /* so that nothing slow is run */
	assert_false(doctor_look(NULL, see, &without));
	assert_int_equal(without.program, 0);
	assert_false(doctor_look("/nonexistent/program", see, &with));
	assert_int_equal(with.machine, without.machine);
	assert_true(with.program >= 3);
	assert_int_equal(with.missing, without.missing + 1);
	assert_string_equal(with.missing_name, "program");
}

static void brief_is_only_what_lacks(void **state)
{
	struct seen seen = { 0 };
	(void)state;
	setenv("HOLDFAST_VALGRIND", "/nonexistent/valgrind", 1);
	doctor_brief(see, &seen);
	assert_false(seen.brief_ok);
	assert_true(seen.missing >= 1);
	assert_int_equal(seen.program, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_complete),
		cmocka_unit_test(a_program_has_rows_of_its_own),
		cmocka_unit_test(brief_is_only_what_lacks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
