/* SPDX-License-Identifier: BSD-3-Clause */
/* Suppressions by call path and module, comments in the source, and kinds that are switched off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "finding/finding.h"

static char folder[] = "/tmp/holdfast-select.XXXXXX";

static int enter(void **state)
{
	(void)state;
	return mkdtemp(folder) && !chdir(folder) ? 0 : -1;
}

static int leave(void **state)
{
	(void)state;
	unlink("entries");
	return rmdir(folder);
}

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static struct finding *make(enum finding_kind kind, const char *const *function, size_t n,
			    const char *file, uint32_t line)
{
	struct srcloc_frame frame[8] = { 0 };
	struct finding *f = finding_new(finding_kind_info(kind));
	for (size_t i = 0; i < n; i++)
		frame[i] = (struct srcloc_frame){ .function = function[i],
						  .file = file,
						  .line = line,
						  .module = "/opt/lib/libcache.so.1" };
	f->place = finding_place_copy((struct srcloc_where){ frame, n });
	return f;
}

/* insert, called by put, called by work, called by main. */
static const char *const path[] = { "insert", "put", "work", "main" };

static bool suppressed_by(const char *entry)
{
	struct finding_set set = { 0 };
	struct err err;
	finding_add(&set, make(FINDING_MISSING_FLUSH, path, 4, "/nowhere/list.c", 7));
	write_file("entries", entry);
	struct finding_suppressions *s = finding_suppressions_load("entries", &err);
	assert_non_null(s);
	finding_suppressions_apply(s, &set);
	bool is = set.v.p[0]->suppressed;
	finding_suppressions_free(s);
	finding_set_free(&set);
	return is;
}

static void by_callers(void **state)
{
	(void)state;
	assert_true(suppressed_by("missing-flush insert < put\n"));
	assert_true(suppressed_by("missing-flush insert < put < work < main\n"));
	assert_true(suppressed_by("missing-flush insert list.c < p* < ... < main\n"));
	assert_true(suppressed_by("missing-flush insert < ... < put\n")); /* none between them */
	assert_true(suppressed_by("* * < ... < work\n"));
	assert_true(suppressed_by("* * < ...\n"));
	assert_false(suppressed_by("missing-flush insert < work\n"));
	assert_false(suppressed_by("missing-flush insert < put < main\n"));
	assert_false(suppressed_by("missing-flush insert < ... < main < ... < put\n"));
	assert_false(suppressed_by("missing-flush insert < put < work < main < start\n"));
	assert_false(suppressed_by("missing-fence insert < put\n"));
}

static void by_module(void **state)
{
	(void)state;
	assert_true(suppressed_by("missing-flush insert in libcache.so.*\n"));
	assert_true(suppressed_by("* * list.c in lib/libcache.so.1 < put\n"));
	assert_false(suppressed_by("missing-flush insert in libother.so\n"));
	assert_false(suppressed_by("missing-flush insert tree.c in libcache.so.1\n"));
}

/* One way to get there that the entry does not know is to be seen. */
static void all_paths_must_match(void **state)
{
	static const char *const other[] = { "insert", "load", "main" };
	struct finding_set set = { 0 };
	struct err err;
	(void)state;
	struct finding *f =
		finding_add(&set, make(FINDING_MISSING_FLUSH, path, 4, "/nowhere/list.c", 7));
	struct finding *second = make(FINDING_MISSING_FLUSH, other, 3, "/nowhere/list.c", 7);
	finding_add_path(f, &f->place, 1);
	finding_add_path(f, &second->place, 1);
	finding_free(second);
	write_file("entries", "missing-flush insert < put\n");
	struct finding_suppressions *s = finding_suppressions_load("entries", &err);
	finding_suppressions_apply(s, &set);
	assert_false(f->suppressed);
	finding_suppressions_free(s);
	write_file("entries", "missing-flush insert < ... < main\n");
	s = finding_suppressions_load("entries", &err);
	finding_suppressions_apply(s, &set);
	assert_true(f->suppressed);
	finding_suppressions_free(s);
	finding_set_free(&set);
}

static void entries_that_are_wrong(void **state)
{
	static const char *const bad[] = { "a b in\n", "a b <\n", "a b < c d\n", "a b c in d e\n" };
	struct err err;
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		write_file("entries", bad[i]);
		assert_null(finding_suppressions_load("entries", &err));
		assert_int_equal(err.status, EXIT_USAGE);
		assert_non_null(strstr(err.text, "entries:1: "));
	}
}

/* What is written as an entry by path, without its comment sign, suppresses the finding. */
static void generated_path_entry(void **state)
{
	struct finding_set set = { 0 };
	char *text = NULL;
	size_t n;
	(void)state;
	finding_add(&set, make(FINDING_MISSING_FLUSH, path, 4, "/nowhere/list.c", 7));
	FILE *mem = open_memstream(&text, &n);
	finding_suppressions_write(&set, mem);
	fclose(mem);
	assert_non_null(strstr(text, "# in insert, /nowhere/list.c:7\n"));
	assert_non_null(strstr(text, "called by main"));
	char *entry = strstr(text, "# missing-flush insert");
	assert_non_null(entry);
	char *line = xasprintf("%.*s\n", (int)strcspn(entry + 2, "\n"), entry + 2);
	assert_string_equal(line, "missing-flush insert < put < work < main\n");
	assert_true(suppressed_by(line));
	free(line);
	free(text);
	finding_set_free(&set);
}

/* ---- comments ---- */

static const char *const source[] = {
	"a = 1; /* holdfast: ignore missing-flush - known */", /* 1 */
	"b = 2;",
	"// holdfast: ignore missing-fence, missing-flush: both",
	"c = 3;",
	"/* holdfast: ignore missing-* — a cache,", /* 5 */
	" * rebuilt at open",
	" */",
	"d = 4;",
	"/* holdfast: ignore late-persist */",
	"e = 5;", /* 10 */
	"/* holdfast: ignore missing-flush */",
	"",
	"f = 6;",
	"g = \"holdfast: ignore missing-flush\";",
	"h = 8; /* holdfast: ignored missing-flush */", /* 15 */
	"i = 9; // holdfast: ignore missing-flush*/",
	"/* missing-flush */",
	"j = 10; /* holdfast: ignore */",
};

static bool excused(uint32_t line)
{
	static const char *const function[] = { "f" };
	struct finding_set set = { 0 };
	char *file = xasprintf("%s/source.c", folder);
	struct finding *f = finding_add(&set, make(FINDING_MISSING_FLUSH, function, 1, file, line));
	finding_select_source(&set);
	bool is = f->suppressed;
	assert_int_equal(is, f->in_source);
	finding_set_free(&set);
	free(file);
	return is;
}

static void comments(void **state)
{
	(void)state;
	FILE *f = fopen("source.c", "w");
	for (size_t i = 0; i < sizeof source / sizeof *source; i++)
		fprintf(f, "%s\n", source[i]);
	fclose(f);
	static const struct {
		uint32_t line;
		bool excused;
	} want[] = { { 1, true },   { 2, false },  { 4, true },   { 8, true },  { 10, false },
		     { 13, false }, { 14, false }, { 15, false }, { 16, true }, { 18, false } };
	for (size_t i = 0; i < sizeof want / sizeof *want; i++)
		if (excused(want[i].line) != want[i].excused)
			fail_msg("line %u: %s", want[i].line, source[want[i].line - 1]);
	unlink("source.c");
}

static void kinds_off_and_on(void **state)
{
	static const char *const off[] = { "missing-*" }, *const on[] = { "missing-fence" };
	struct finding_set set = { 0 };
	(void)state;
	struct finding *flush =
		finding_add(&set, make(FINDING_MISSING_FLUSH, path, 4, "/n/l.c", 7));
	struct finding *fence =
		finding_add(&set, make(FINDING_MISSING_FENCE, path, 4, "/n/l.c", 8));
	struct finding *late = finding_add(&set, make(FINDING_LATE_PERSIST, path, 4, "/n/l.c", 9));
	finding_select_kinds(&set, off, 1, on, 1);
	assert_true(flush->suppressed);
	assert_false(fence->suppressed || late->suppressed);
	finding_set_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_callers),           cmocka_unit_test(by_module),
		cmocka_unit_test(all_paths_must_match), cmocka_unit_test(entries_that_are_wrong),
		cmocka_unit_test(generated_path_entry), cmocka_unit_test(comments),
		cmocka_unit_test(kinds_off_and_on),
	};
	return cmocka_run_group_tests(tests, enter, leave);
}
