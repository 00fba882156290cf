/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports: the sample's text, JSON, SARIF and page, files, the baseline. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include "report_sample.h"

#include <cmocka.h>

#include "report_golden.h"

static struct sample sample;

static int setup(void **state)
{
	(void)state;
	golden_enter();
	sample_make(&sample, false);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	finding_set_free(&sample.set);
	return golden_leave();
}

static void test_text(void **state)
{
	(void)state;
	text_to("report.txt", &sample.report);
	expect_golden("report.txt", "report.txt");
}

static void expect_summary(const struct report *r, const char *want)
{
	text_to("summary.txt", r);
	char *got = slurp("summary.txt");
	assert_string_equal(got, want);
	free(got);
}

static void test_text_summary(void **state)
{
	struct sample s;
	(void)state;
	sample_make(&s, true);
	expect_summary(&s.report, "nothing found\n");
	s.report.incomplete = "killed by signal 9";
	expect_summary(&s.report, "incomplete: killed by signal 9\nnothing found\n");
	struct finding *f = sample_simple(&s, finding_kind_info(FINDING_REDUNDANT_FENCE), 10);
	f->suppressed = true;
	finding_add(&s.set, f);
	s.report.incomplete = NULL;
	expect_summary(&s.report, "nothing found (1 suppressed)\n");
	finding_set_free(&s.set);
}

/* A path of 100 frames is cut, a column far to the right has no caret. */
static void test_text_long(void **state)
{
	struct sample s;
	struct srcloc_frame path[100];
	(void)state;
	sample_make(&s, true);
	for (size_t i = 0; i < 100; i++)
		path[i] = sample_frame(&s, i % 2 ? "ping" : "pong", "list.c", 1, 3000, "prog");
	struct finding *f = finding_new(finding_kind_info(FINDING_REDUNDANT_FENCE));
	f->place = sample_place(path, 100);
	finding_add(&s.set, f);
	text_to("long.txt", &s.report);
	char *text = slurp("long.txt");
	assert_non_null(strstr(text, "… 70 more …"));
	assert_null(strstr(text, "^"));
	free(text);
	finding_set_free(&s.set);
}

static void test_text_color_on_a_terminal(void **state)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);
	char text[512] = "";
	struct sample s;
	(void)state;
	sample_make(&s, true);
	unsetenv("NO_COLOR");
	setenv("TERM", "xterm", 1);
	if (terminal < 0 || grantpt(terminal) || unlockpt(terminal))
		skip();
	FILE *f = fopen(ptsname(terminal), "w");
	assert_non_null(f);
	report_text(&s.report, f);
	assert_true(read(terminal, text, sizeof text - 1) > 0);
	assert_non_null(strstr(text, "\033[32mnothing found\033[0m"));
	fclose(f);
	close(terminal);
}

static void test_json(void **state)
{
	struct err err;
	(void)state;
	assert_int_equal(report_json(&sample.report, "report.json", &err), 0);
	expect_golden("report.json", "report.json");
}

static void test_sarif(void **state)
{
	struct err err;
	(void)state;
	sample.report.incomplete = "the program was killed by signal 9";
	assert_int_equal(report_sarif(&sample.report, "report.sarif", &err), 0);
	sample.report.incomplete = NULL;
	expect_golden("report.sarif", "report.sarif");
}

/* The formats for editors and CI. What counts for the status is a failed test case. */
static void expect_format(const char *name, const char *golden_name)
{
	const struct report_format *f = NULL;
	struct err err;
	for (size_t i = 0; report_format_at(i); i++)
		if (!strcmp(report_format_at(i)->name, name))
			f = report_format_at(i);
	assert_non_null(f);
	assert_int_equal(f->write(&sample.report, golden_name, &err), 0);
	expect_golden(golden_name, golden_name);
}

static void test_formats(void **state)
{
	(void)state;
	sample.report.fails = FINDING_PERFORMANCE + 1;
	sample.report.incomplete = "the program was killed by signal 9";
	sample.report.broken = true;
	expect_format("gcc", "report.gcc");
	expect_format("junit", "report.junit.xml");
	expect_format("markdown", "report.md");
	expect_format("code-quality", "report.quality.json");
	sample.report.incomplete = NULL;
	sample.report.broken = false;
	sample.report.fails = 0;
}

/* Words are the default; a name that cannot be printed is no choice. */
static void test_printed(void **state)
{
	const char *about;
	(void)state;
	assert_string_equal(report_printed_at(0, &about), "text");
	assert_int_not_equal(name_find(report_printed_at, "gcc", 3), SIZE_MAX);
	assert_int_equal(name_find(report_printed_at, "html", 4), SIZE_MAX);
}

static void test_html(void **state)
{
	struct err err;
	(void)state;
	assert_int_equal(report_html(&sample.report, "report.html", &err), 0);
	char *text = slurp("report.html");
	assert_null(strstr(text, SAMPLE_NASTY));
	assert_null(strstr(text, "@DATA@"));
	assert_null(strstr(text, "@CSS@"));
	assert_null(strstr(text, "src=\""));
	assert_null(strstr(text, "href"));
	assert_non_null(strstr(text, "\\u003c/script>\\u003cimg"));
	free(text);
}

/* --- files --- */

static unsigned files_here(void)
{
	DIR *dir = opendir(".");
	unsigned n = 0;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void test_files_are_replaced_whole(void **state)
{
	struct err err;
	struct stat st;
	(void)state;
	sample_file("target.json", "old", 1000);
	assert_int_equal(symlink("target.json", "link.json"), 0);
	int old = open("target.json", O_RDONLY);
	unsigned before = files_here();
	mode_t mask = umask(027);
	assert_int_equal(report_json(&sample.report, "link.json", &err), 0);
	umask(mask);
	assert_int_equal(files_here(), before); /* nothing is left beside it */
	char text[4] = "";
	assert_int_equal(read(old, text, 3), 3);
	assert_string_equal(text, "old"); /* the old file was not written to */
	close(old);
	assert_true(!lstat("link.json", &st) && S_ISLNK(st.st_mode));
	assert_true(!stat("target.json", &st) && (st.st_mode & 0777) == 0640);
	assert_int_equal(report_json(&sample.report, "/dev/null", &err), 0);
	assert_true(!stat("/dev/null", &st) && S_ISCHR(st.st_mode));
}

static void test_write_errors(void **state)
{
	struct err err = { 0 };
	unsigned before = files_here();
	(void)state;
	assert_int_equal(report_json(&sample.report, "no/such/folder.json", &err), -1);
	assert_int_equal(err.status, EXIT_USAGE);
	assert_non_null(strstr(err.text, "no/such/folder.json"));
	assert_int_equal(report_html(&sample.report, ".", &err), -1);
	assert_int_equal(report_sarif(&sample.report, "/dev/full", &err), -1);
	assert_int_equal(err.status, EXIT_INTERNAL);
	assert_non_null(strstr(err.text, strerror(ENOSPC)));
	assert_int_equal(files_here(), before);
}

/* --- the baseline --- */

static void test_baseline(void **state)
{
	struct err err;
	char **ids;
	size_t n;
	(void)state;
	assert_int_equal(report_json(&sample.report, "old.json", &err), 0);
	assert_int_equal(report_read_ids("old.json", &ids, &n, &err), 0);
	assert_int_equal(n, sample.set.v.n);
	struct sample again;
	sample_make(&again, false);
	finding_baseline_apply(&again.set, (const char *const *)ids, n);
	assert_int_equal(finding_suppressed(&again.set), n);
	finding_set_free(&again.set);
	report_free_ids(ids, n);
}

static void test_baseline_not_ours(void **state)
{
	static const char *const bad[] = {
		"",
		"{",
		"[]",
		"null",
		"{}",
		"not json",
		"{\"holdfast\":\"1\"}",
		"{\"holdfast\":1,\"schema\":1,\"findings\":[]}",
		"{\"holdfast\":\"1\",\"schema\":2,\"findings\":[]}",
		"{\"holdfast\":\"1\",\"schema\":1}",
		"{\"holdfast\":\"1\",\"schema\":1,\"findings\":{}}",
		"{\"holdfast\":\"1\",\"schema\":1,\"findings\":[1]}",
		"{\"holdfast\":\"1\",\"schema\":1,\"findings\":[{\"id\":\"0123456789abcdef\"},{\"id\":7}]}",
		"{\"version\":\"2.1.0\",\"runs\":[]}",
	};
	struct err err;
	char **ids;
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		sample_file("bad.json", bad[i], 1000);
		assert_int_equal(report_read_ids("bad.json", &ids, &n, &err), -1);
		assert_int_equal(err.status, EXIT_USAGE);
		assert_non_null(strstr(err.text, "bad.json"));
		assert_null(ids);
	}
	assert_int_equal(report_read_ids("missing.json", &ids, &n, &err), -1);
	assert_int_equal(err.status, EXIT_USAGE);
	assert_int_equal(report_read_ids(".", &ids, &n, &err), -1);
	assert_int_equal(err.status, EXIT_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_text_summary),
		cmocka_unit_test(test_text_long),
		cmocka_unit_test(test_text_color_on_a_terminal),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_sarif),
		cmocka_unit_test(test_html),
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_printed),
		cmocka_unit_test(test_files_are_replaced_whole),
		cmocka_unit_test(test_write_errors),
		cmocka_unit_test(test_baseline),
		cmocka_unit_test(test_baseline_not_ours),
	};
	return cmocka_run_group_tests_name("report", tests, setup, teardown);
}
