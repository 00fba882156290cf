/* SPDX-License-Identifier: BSD-3-Clause */
/* The option parser: every type, every spelling, operands, and what is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/cli.h"

struct opts {
	bool flag, other;
	const char *text, *choice, *joined, *file[3];
	struct cli_list list;
	uint64_t number;
	struct cli_range range;
	struct cli_list words;
};

static const char *word_at(size_t i, const char **about)
{
	static const char *const table[][2] = {
		{ "one", "the first" },
		{ "two", "the second" },
		{ "three", "the third" },
	};
	*about = i < 3 ? table[i][1] : NULL;
	return i < 3 ? table[i][0] : NULL;
}
static const struct cli_choices choices_one = { word_at, .normal = 1 };
static const struct cli_choices choices_joined = { word_at, .joined = true };

static const struct cli_option options[] = {
	{ "flag", 'f', CLI_FLAG, NULL, offsetof(struct opts, flag), "a flag" },
	{ "other", 'g', CLI_FLAG, NULL, offsetof(struct opts, other), "another" },
	{ "text", 't', CLI_TEXT, "TEXT", offsetof(struct opts, text), "a text" },
	{ "choice", 0, CLI_CHOICE, NULL, offsetof(struct opts, choice), "a choice", &choices_one },
	{ "joined", 0, CLI_CHOICE, NULL, offsetof(struct opts, joined), "some", &choices_joined },
	{ "out", 0, CLI_FILES, "FILE", offsetof(struct opts, file), "", &choices_one },
	{ "list", 'l', CLI_LIST, "WORD", offsetof(struct opts, list), "a list" },
	{ "number", 'n', CLI_NUMBER, "N", offsetof(struct opts, number), "a number" },
	{ "range", 'r', CLI_RANGE, "FROM..TO", offsetof(struct opts, range), "a range" },
	{ "words", 0, CLI_WORDS, "A B C", offsetof(struct opts, words), "three words" },
	{ NULL },
};
static struct cli_verb verb = {
	.name = "test", .usage = "", .about = "", .summary = "", .options = options
};

static struct opts got;
static int argc;
static char *words[16], **argv;

/* Parses the words, separated by blanks. */
static int parse(const char *line)
{
	static char copy[256];
	snprintf(copy, sizeof copy, "test %s", line);
	argc = 0;
	for (char *w = strtok(copy, " "); w; w = strtok(NULL, " "))
		words[argc++] = w;
	words[argc] = NULL;
	argv = words;
	free(got.list.p);
	free(got.words.p);
	memset(&got, 0, sizeof got);
	return cli_parse(&verb, &got, &argc, &argv);
}

static void several_words(void **state)
{
	(void)state;
	assert_int_equal(parse("--words 1 -2 x rest"), CLI_GO);
	assert_int_equal(got.words.n, 3);
	assert_string_equal(got.words.p[1], "-2");
	assert_string_equal(got.words.p[2], "x");
	assert_int_equal(argc, 1);
	assert_string_equal(argv[0], "rest");
	/* the last ones count */
	assert_int_equal(parse("--words 1 2 3 --words 4 5 6"), CLI_GO);
	assert_int_equal(got.words.n, 3);
	assert_string_equal(got.words.p[0], "4");
	assert_int_equal(parse("--words 1 2"), EXIT_USAGE);
	assert_int_equal(parse("--words=1 2 3"), EXIT_USAGE);
}

static void spellings(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"-t x", "-tx", "--text x", "--text=x", "-ft x", "-gtx"
	};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		assert_int_equal(parse(lines[i]), CLI_GO);
		assert_string_equal(got.text, "x");
		assert_int_equal(argc, 0);
	}
	assert_int_equal(parse("-fg --text="), CLI_GO);
	assert_true(got.flag && got.other);
	assert_string_equal(got.text, "");
}

static void operands(void **state)
{
	(void)state;
	assert_int_equal(parse("a -f b - -- -g --flag"), CLI_GO);
	assert_int_equal(argc, 5);
	assert_string_equal(argv[0], "a");
	assert_string_equal(argv[1], "b");
	assert_string_equal(argv[2], "-");
	assert_string_equal(argv[3], "-g");
	assert_string_equal(argv[4], "--flag");
	assert_null(argv[5]);
	assert_true(got.flag && !got.other);
}

static void operands_of_a_command(void **state)
{
	(void)state;
	verb.command = true;
	assert_int_equal(parse("-f prog -g -- x"), CLI_GO);
	assert_true(got.flag && !got.other);
	assert_int_equal(argc, 4);
	assert_string_equal(argv[1], "-g");
	assert_string_equal(argv[2], "--");
	assert_int_equal(parse("-f -- --prog -g"), CLI_GO);
	assert_int_equal(argc, 2);
	assert_string_equal(argv[0], "--prog");
	verb.command = false;
}

static void lists_keep_their_order(void **state)
{
	(void)state;
	assert_int_equal(parse("-l a --list b --list=c"), CLI_GO);
	assert_int_equal(got.list.n, 3);
	assert_string_equal(got.list.p[0], "a");
	assert_string_equal(got.list.p[2], "c");
}

static void choices(void **state)
{
	(void)state;
	assert_int_equal(parse("--choice two"), CLI_GO);
	assert_string_equal(got.choice, "two");
	assert_int_equal(parse("--choice three"), CLI_GO);
	static const char *const wrong[] = { "tw", "twoo", "one|two", "|", "four", "one+two" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		char line[64];
		snprintf(line, sizeof line, "--choice %s", wrong[i]);
		assert_int_equal(parse(line), EXIT_USAGE);
	}
	assert_int_equal(parse("--choice="), EXIT_USAGE);
	assert_int_equal(parse("--choice"), EXIT_USAGE);
}

static void joined_choices(void **state)
{
	(void)state;
	assert_int_equal(parse("--joined two"), CLI_GO);
	assert_int_equal(parse("--joined two+one+three"), CLI_GO);
	assert_string_equal(got.joined, "two+one+three");
	static const char *const wrong[] = { "two+", "+two", "+", "one++two", "one+tw", "one,two" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		char line[64];
		snprintf(line, sizeof line, "--joined %s", wrong[i]);
		assert_int_equal(parse(line), EXIT_USAGE);
	}
}

/* A row that stands for an option for each word of a table. */
static void files(void **state)
{
	(void)state;
	assert_int_equal(parse("--three x --one=y rest"), CLI_GO);
	assert_string_equal(got.file[0], "y");
	assert_null(got.file[1]);
	assert_string_equal(got.file[2], "x");
	assert_int_equal(parse("--two"), EXIT_USAGE);
	assert_int_equal(parse("--out x"), EXIT_USAGE);
}

static char *text_of(void (*print)(FILE *, const struct cli_verb *))
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	print(out, &verb);
	fclose(out);
	return text;
}

static void choices_are_explained(void **state)
{
	(void)state;
	char *help = text_of(cli_help_verb), *man = text_of(cli_man);
	assert_non_null(strstr(help, "--choice one|two|three\n"));
	assert_non_null(strstr(help, "one    the first\n"));
	assert_non_null(strstr(help, "two    the second (the default)\n"));
	assert_non_null(strstr(help, "--three FILE          the third\n"));
	assert_null(strstr(help, "--out "));
	assert_non_null(strstr(man, "\n.B two\nthe second\n(the default)\n"));
	assert_non_null(strstr(man, "\\-\\-three FILE\nthe third\n"));
	free(help);
	free(man);
}

static void numbers(void **state)
{
	(void)state;
	assert_int_equal(parse("-n 18446744073709551615"), CLI_GO);
	assert_true(got.number == UINT64_MAX);
	static const char *const wrong[] = {
		"-n 18446744073709551616", "-n x", "-n 1x", "-n -1", "--number=", "-n +1"
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_equal(parse(wrong[i]), EXIT_USAGE);
}

static void expect_range(const char *line, uint64_t from, uint64_t to, int operands_left)
{
	assert_int_equal(parse(line), CLI_GO);
	assert_true(got.range.given);
	assert_true(got.range.from == from && got.range.to == to);
	assert_int_equal(argc, operands_left);
}

static void ranges(void **state)
{
	(void)state;
	expect_range("-r", 0, UINT64_MAX, 0);
	expect_range("--range dir", 0, UINT64_MAX, 1);
	expect_range("--range --flag", 0, UINT64_MAX, 0);
	expect_range("dir --range 3..9", 3, 9, 1);
	expect_range("--range 3.. dir", 3, UINT64_MAX, 1);
	expect_range("--range ..9 dir", 0, 9, 1);
	expect_range("--range=7", 7, 7, 0);
	assert_int_equal(parse("x"), CLI_GO);
	assert_false(got.range.given);
	assert_int_equal(parse("--range=9..3"), EXIT_USAGE);
	assert_int_equal(parse("--range=.."), EXIT_USAGE);
	assert_int_equal(parse("--range=a..b"), EXIT_USAGE);
	assert_int_equal(parse("--range=1...3"), EXIT_USAGE);
}

static void wrong_usage(void **state)
{
	(void)state;
	static const char *const lines[] = { "--text", "-t",      "--flag=1", "--nothing",
					     "--fla",  "-z",      "-fz",      "--=x",
					     "-ffft",  "--flagx", "---" };
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		assert_int_equal(parse(lines[i]), EXIT_USAGE);
}

static const char *next_word(const void *arg, size_t i)
{
	const char *const *list = arg;
	return list[i];
}

static void nearest(void **state)
{
	(void)state;
	static const char *const known[] = { "record", "dump", "check", NULL };
	assert_string_equal(cli_nearest("recrod", next_word, known), "record");
	assert_string_equal(cli_nearest("rec", next_word, known) ? "some" : "none", "none");
	assert_string_equal(cli_nearest("dmup", next_word, known), "dump");
	assert_string_equal(cli_nearest("chekc", next_word, known), "check");
	assert_null(cli_nearest("xyzzy", next_word, known));
	assert_null(cli_nearest("", next_word, known));
	char longer[200];
	memset(longer, 'a', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	assert_null(cli_nearest(longer, next_word, known));
}

static void help_is_whole(void **state)
{
	(void)state;
	const struct cli_option *o;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	for (const struct cli_verb *const *v = cli_verbs; *v; v++) {
		cli_help_verb(out, *v);
		cli_man(out, *v);
	}
	cli_help(out);
	cli_man(out, NULL);
	assert_true(cli_completion(out, "bash"));
	assert_true(cli_completion(out, "zsh"));
	assert_true(cli_completion(out, "fish"));
	assert_false(cli_completion(out, "csh"));
	fclose(out);
	for (const struct cli_verb *const *v = cli_verbs; *v; v++)
		for (struct cli_walk w = { 0 }; (o = cli_next_option(*v, &w));)
			assert_non_null(strstr(text, o->name));
	assert_null(strstr(text, "(null)"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(several_words),
		cmocka_unit_test(spellings),
		cmocka_unit_test(operands),
		cmocka_unit_test(operands_of_a_command),
		cmocka_unit_test(lists_keep_their_order),
		cmocka_unit_test(choices),
		cmocka_unit_test(joined_choices),
		cmocka_unit_test(files),
		cmocka_unit_test(choices_are_explained),
		cmocka_unit_test(numbers),
		cmocka_unit_test(ranges),
		cmocka_unit_test(wrong_usage),
		cmocka_unit_test(nearest),
		cmocka_unit_test(help_is_whole),
	};
	int failed = cmocka_run_group_tests_name("cli", tests, NULL, NULL);
	free(got.list.p);
	return failed;
}
