/* SPDX-License-Identifier: BSD-3-Clause */
/* A folder with a source file, the library over it, and what others make of its patches. */
#ifndef HOLDFAST_TESTS_SOURCE_FIXTURE_H
#define HOLDFAST_TESTS_SOURCE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/source.h"

/* A command of the shell in the folder has to succeed. */
static inline void fixture_run(const char *dir, const char *command)
{
	char *all = xasprintf("cd '%s' && { %s; } >out.log 2>&1 || { cat out.log >&2; false; }",
			      dir, command);
	if (system(all) != 0)
		fail_msg("%s", command);
	free(all);
}

static inline char *fixture_new(void)
{
	char *dir = xstrdup("/tmp/holdfast source-XXXXXX");
	assert_non_null(mkdtemp(dir));
	return dir;
}

static inline void fixture_remove(char *dir)
{
	char *all = xasprintf("rm -rf '%s'", dir);
	assert_int_equal(system(all), 0);
	free(all);
	free(dir);
}

static inline void fixture_write(const char *dir, const char *name, const void *text, size_t n)
{
	char *path = xasprintf("%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
	free(path);
}

static inline struct source *fixture_open(const char *dir)
{
	struct err err;
	struct source_options o = { .root = dir };
	struct source *s = source_open(&o, &err);
	if (!s)
		fail_msg("%s", err.text);
	return s;
}

/* Applies the edits to the file, and to copies by git and patch: all are to be the same. */
static inline void fixture_patch(struct source *s, const char *dir, const char *name,
				 const struct source_edits *e)
{
	const struct source_file *f;
	struct err err;
	struct buf diff = { 0 };
	size_t n;
	assert_int_equal(source_file_at(s, name, &f, &err), 0);
	char *text = source_edits_apply(e, f, &n);
	fixture_write(dir, "expected", text, n);
	free(text);
	source_edits_diff(e, &diff);
	fixture_write(dir, "fix.diff", diff.p, diff.n);
	buf_free(&diff);
	char *command = xasprintf(
		"rm -rf g p && mkdir g p && cp '%s' g && cp '%s' p && "
		"(cd g && GIT_CEILING_DIRECTORIES=\"$PWD/..\" git apply ../fix.diff) && "
		"(cd p && patch --binary -s -p1 <../fix.diff) && cmp 'g/%s' expected && cmp 'p/%s' expected && "
		"cp expected '%s'",
		name, name, name, name, name);
	fixture_run(dir, command);
	free(command);
}

static inline int fixture_main(const struct CMUnitTest *tests, size_t n)
{
	struct err err;
	if (!source_available()) { /* a build without libclang says so, and does nothing else */
		assert_null(source_open(&(struct source_options){ 0 }, &err));
		assert_non_null(strstr(err.text, "libclang"));
		puts("1..0 # SKIP no libclang");
		return 0;
	}
	return _cmocka_run_group_tests("source", tests, n, NULL, NULL);
}

#endif
