/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports are compared with the files in tests/golden. To accept what has changed, run the test
 * with HOLDFAST_UPDATE_GOLDEN=1 and look at the difference.
 */
#ifndef HOLDFAST_TESTS_REPORT_GOLDEN_H
#define HOLDFAST_TESTS_REPORT_GOLDEN_H

#include "report_sample.h"

static char golden[PATH_MAX];
static char folder[] = "/tmp/holdfast-report-XXXXXX";

/* __FILE__ is relative to the build folder, which is somewhere above this program. */
static void find_golden(void)
{
	char up[PATH_MAX], tried[2 * PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", up, sizeof up - 1);
	up[n > 0 ? n : 0] = '\0';
	for (const char *file = __FILE__;;) {
		snprintf(tried, sizeof tried, "%s/%s", *file == '/' ? "" : up, file);
		if (realpath(tried, golden))
			break;
		char *slash = strrchr(up, '/');
		assert_non_null(slash);
		*slash = '\0';
	}
	for (int i = 0; i < 2; i++)
		*strrchr(golden, '/') = '\0';
	strcat(golden, "/golden");
}

/* Goes into a fresh folder, and out of it. */
static void golden_enter(void)
{
	find_golden();
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
}

static int golden_leave(void)
{
	char command[128];
	snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command);
}

static char *slurp(const char *path)
{
	FILE *f = fopen(path, "r");
	struct buf out = { 0 };
	char part[4096];
	size_t n;
	if (!f)
		return xstrdup("");
	while ((n = fread(part, 1, sizeof part, f)) > 0)
		buf_add(&out, part, n);
	fclose(f);
	buf_add(&out, "", 1);
	return out.p;
}

/* The text with every `old` replaced. */
static char *replaced(char *text, const char *old, const char *new)
{
	struct buf out = { 0 };
	const char *p = text;
	for (const char *hit; (hit = strstr(p, old)); p = hit + strlen(old)) {
		buf_add(&out, p, (size_t)(hit - p));
		buf_puts(&out, new);
	}
	buf_puts(&out, p);
	buf_add(&out, "", 1);
	free(text);
	return out.p;
}

static void expect_golden(const char *made, const char *name)
{
	char path[2 * PATH_MAX];
	char *got = replaced(replaced(slurp(made), folder, "/tmp/sample"),
			     "\"" HOLDFAST_VERSION "\"", "\"VERSION\"");
	snprintf(path, sizeof path, "%s/%s", golden, name);
	if (getenv("HOLDFAST_UPDATE_GOLDEN")) {
		FILE *f = fopen(path, "w");
		assert_non_null(f);
		fputs(got, f);
		fclose(f);
	}
	char *want = slurp(path);
	if (strcmp(got, want))
		fail_msg("differs from tests/golden/%s:\n%s", name, got);
	free(got);
	free(want);
}

static void text_to(const char *path, const struct report *r)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	report_text(r, f);
	fclose(f);
}

#endif
