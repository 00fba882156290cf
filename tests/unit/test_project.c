/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader of holdfast.toml: every form of value, every mistake with its line, and where the file is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "project/project.h"

static const char *text_of(const struct project *p, const char *table, const char *key)
{
	const struct project_key *k = project_key(project_table(p, table), key);
	assert_non_null(k);
	assert_int_equal(k->value.text.n, 1);
	return k->value.text.p[0];
}

static void values(void **state)
{
	struct project p;
	struct err err;
	(void)state;
	assert_int_equal(project_parse("f",
				       "\xef\xbb\xbf# comment\n" /* as editors on Windows write */
				       "model = \"adr\" # and more\r\n"
				       "\n"
				       "[run.smoke]\n"
				       "  budget='5m'\n"
				       "jobs = 12\n"
				       "notes = true\n"
				       "fresh = false\n"
				       "esc = \"a\\\"b\\\\\\n\\u00e9#\"\n"
				       "\"quoted key\" = ''\n"
				       "program = [ \"./app\",  # the first\n"
				       "\t'run\\x', \n"
				       "]\n"
				       "none = []\n"
				       "[ run . \"x y\" ]\n",
				       &p, &err),
			 0);
	assert_int_equal(p.table.n, 3);
	assert_string_equal(text_of(&p, "", "model"), "adr");
	assert_string_equal(text_of(&p, "run.smoke", "budget"), "5m");
	assert_string_equal(text_of(&p, "run.smoke", "jobs"), "12");
	assert_string_equal(text_of(&p, "run.smoke", "esc"), "a\"b\\\n\xc3\xa9#");
	assert_string_equal(text_of(&p, "run.smoke", "quoted key"), "");
	const struct project_table *t = project_table(&p, "run.smoke");
	assert_int_equal(project_key(t, "jobs")->value.type, PROJECT_NUMBER);
	assert_true(project_key(t, "notes")->value.truth);
	assert_false(project_key(t, "fresh")->value.truth);
	assert_int_equal(project_key(t, "fresh")->value.type, PROJECT_BOOL);
	const struct project_key *program = project_key(t, "program");
	assert_int_equal(program->value.type, PROJECT_ARRAY);
	assert_int_equal(program->value.text.n, 2);
	assert_string_equal(program->value.text.p[1], "run\\x");
	assert_int_equal(program->line, 11);
	assert_int_equal(project_key(t, "none")->line, 14);
	assert_int_equal(project_key(t, "none")->value.text.n, 0);
	assert_string_equal(project_run_name(t), "smoke");
	assert_string_equal(project_run_name(project_table(&p, "run.x y")), "x y");
	assert_null(project_run_name(project_table(&p, "")));
	assert_null(project_table(&p, "run"));
	assert_null(project_key(t, "jobz"));
	project_free(&p);
}

static void nothing_is_a_project(void **state)
{
	struct project p;
	struct err err;
	(void)state;
	assert_int_equal(project_parse("f", "", &p, &err), 0);
	assert_int_equal(p.table.n, 1);
	project_free(&p);
}

static void mistakes_have_their_line(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "a", "f:1: '=' is missing after 'a'" },
		{ "\na =", "f:2: a value is missing" },
		{ "a = # x", "f:1: a value is missing" },
		{ "= 1", "f:1: a name is missing" },
		{ "a = 1 2", "f:1: '2' was not expected" },
		{ "a = \"x", "f:1: a string does not end" },
		{ "a = \"x\ny\"", "f:1: a string does not end" },
		{ "a = 'x", "f:1: a string does not end" },
		{ "a = \"\\q\"", "f:1: unknown escape" },
		{ "a = \"\\", "f:1: unknown escape" },
		{ "a = \"\\u12\"", "hex digits" },
		{ "a = \"\\ud800\"", "hex digits" },
		{ "a = \"\\U00110000\"", "hex digits" },
		{ "a = \"\\u0000\"", "hex digits" },
		{ "a = \"\"\"x\"\"\"", "several lines are not supported" },
		{ "a = 1.5", "'1.5' is no value" },
		{ "a = -1", "'-1' is no value" },
		{ "a = 007", "'007' is no value" },
		{ "a = yes", "'yes' is no value" },
		{ "a = 1979-05-27", "is no value" },
		{ "a = [1]", "an array holds strings" },
		{ "a = [\n\"x\"\n\"y\"]", "f:3: a comma is missing" },
		{ "a = [\n\n\"x\",\n", "f:4: an array does not end" },
		{ "a = [\"x\"] y", "'y' was not expected" },
		{ "a = {x = 1}", "not supported" },
		{ "a.b = 1", "keys with dots are not supported" },
		{ "a = 1\n\na = 2", "f:3: 'a' is there already, in line 1" },
		{ "[t]\n[t]\n", "f:2: [t] is there already, in line 1" },
		{ "[t", "']' is missing" },
		{ "[t.]", "a name is missing" },
		{ "[]", "a name is missing" },
		{ "[[t]]", "arrays of tables" },
		{ "[t] x = 1", "'x = 1' was not expected" },
		{ "\xff\xfe", "is no name" },
		{ "[run.\xc3\xa4]\nx = 1", "f:1: '\xc3\xa4' is no name" },
	};
	struct project p;
	struct err err;
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(project_parse("f", bad[i].text, &p, &err), -1);
		assert_int_equal(err.status, EXIT_USAGE);
		if (!strstr(err.text, bad[i].says) || strncmp(err.text, "f:", 2) != 0)
			fail_msg("'%s': '%s' is not in '%s'", bad[i].text, bad[i].says, err.text);
	}
}

/* Whatever stands there, it ends with a project or a message: no prefix of a file makes it fail otherwise. */
static void every_prefix(void **state)
{
	static const char whole[] = "a = \"x\\u00e9\"\n[run.x]\nb = ['1', \"2\"] # c\nd = true\n";
	struct project p;
	struct err err;
	(void)state;
	for (size_t n = 0; n < sizeof whole; n++) {
		char *part =
			xcalloc(1, n + 1); /* so that a sanitizer sees what is read behind it */
		memcpy(part, whole, n);
		if (!project_parse("f", part, &p, &err))
			project_free(&p);
		free(part);
	}
}

static void found_upwards(void **state)
{
	char top[] = "/tmp/holdfast-project.XXXXXX", *found;
	struct project p;
	struct err err;
	(void)state;
	assert_non_null(mkdtemp(top));
	char *below = xasprintf("%s/a/b", top), *a = xasprintf("%s/a", top);
	char *file = xasprintf("%s/" PROJECT_FILE, top);
	assert_false(mkdir(a, 0777) || mkdir(below, 0777));
	assert_null(project_find(below));
	FILE *f = fopen(file, "w");
	fputs("model = \"msync\"\n", f);
	fclose(f);
	assert_non_null(found = project_find(below));
	assert_string_equal(found, file);
	assert_int_equal(project_read(found, &p, &err), 0);
	assert_string_equal(p.folder, top);
	project_free(&p);
	assert_int_equal(project_read(below, &p, &err), -1);
	unlink(file);
	assert_int_equal(project_read(file, &p, &err), -1);
	assert_false(rmdir(below) || rmdir(a) || rmdir(top));
	free(found);
	free(file);
	free(a);
	free(below);
}

static void quoted_is_read_back(void **state)
{
	static const char nasty[] = "a \"b\" \\ \t\n\x7f'#é";
	struct buf b = { 0 };
	struct project p;
	struct err err;
	(void)state;
	buf_puts(&b, "k = ");
	project_quote(&b, nasty);
	buf_add(&b, "", 1);
	assert_int_equal(project_parse("f", b.p, &p, &err), 0);
	assert_string_equal(text_of(&p, "", "k"), nasty);
	project_free(&p);
	buf_free(&b);
}

static void split(const char *text, const char *joined)
{
	struct project_words w = { 0 };
	struct err err = { 0 };
	struct buf got = { 0 };
	int bad = project_split(text, &w, &err);
	for (size_t i = 0; !bad && i < w.n; i++)
		buf_printf(&got, "[%s]", w.p[i]);
	buf_add(&got, "", 1);
	if (joined)
		assert_string_equal(got.p, joined);
	else
		assert_true(bad && err.status == EXIT_USAGE);
	buf_free(&got);
	project_words_free(&w);
}

static void command_lines(void **state)
{
	(void)state;
	split("", "");
	split("  ./app  run\tpool\n", "[./app][run][pool]");
	split("a 'b c' \"d 'e\" f\\ g x'y'\"z\" ''", "[a][b c][d 'e][f g][xyz][]");
	split("a '$HOME *' \\*", "[a][$HOME *][*]");
	split("a | b", NULL);
	split("a $HOME", NULL);
	split("a \"$HOME\"", NULL);
	split("a *", NULL);
	split("a 'b", NULL);
	split("a \"b", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(nothing_is_a_project),
		cmocka_unit_test(mistakes_have_their_line),
		cmocka_unit_test(every_prefix),
		cmocka_unit_test(found_upwards),
		cmocka_unit_test(quoted_is_read_back),
		cmocka_unit_test(command_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
