/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places as compilers give them: random statements are compiled, and whatever line and column the debug information has
 * for the instructions of a statement must lead to its store. And flags from debug information.
 */
#include "srcloc/fixture.h"

#include "source/source.h"

#define STATEMENTS 120
#define BIAS 0x7f1234560000ull

static const char head[] =
	"#include <string.h>\n"
	"struct in { int x, y; };\n"
	"struct s { int a; long b; unsigned f : 3, g : 5; struct s *next; long arr[8]; struct in in, many[4];\n"
	"\tchar name[16]; char *buf; short h; _Bool ok; double d; };\n"
	"extern int num(int);\n"
	"#define SET(l, v) ((l) = (v))\n";

static const char *pick(uint64_t *r, const char *const *from, size_t n)
{
	return from[splitmix64(r) % n];
}
#define PICK(r, list) pick(r, list, sizeof(list) / sizeof *(list))

/* A statement with one store to memory; `to` is the lvalue. */
static char *statement(uint64_t *r, const char **to)
{
	static const char *const lvalues[] = {
		"p->a",    "p->b",         "p->arr[c]",     "p->arr[c & 3]",
		"p->in.y", "p->many[c].x", "p->next->a",    "p->h",
		"p->d",    "p->ok",        "(*p).b",        "p[c].a",
		"*p->buf", "p->buf[c]",    "*(p->buf + c)", "p->next->many[2].y"
	};
	static const char *const values[] = { "c",        "c + 1",        "num(c)", "q->a",
					      "q->a * 3", "c ? 1 : 2",    "(c, 3)", "0",
					      "!c",       "num(q->a) + c" };
	static const char *const around[] = { "%s",
					      "if (c) %s",
					      "if (!c) num(1); else %s",
					      "while (c--) %s",
					      "{ %s }",
					      "for (int i = 0; i < c; i++) %s",
					      "switch (c) { case 1: %s break; default: num(2); }",
					      "num(3); %s",
					      "do %s while (num(4));" };
	const char *l = *to = PICK(r, lvalues), *v = PICK(r, values);
	char *inner;
	switch (splitmix64(r) % 6) {
	case 0:
	case 1: inner = xasprintf("%s = %s;", l, v); break;
	case 2: inner = xasprintf("%s += %s;", l, v); break;
	case 3: inner = xasprintf(strcmp(l, "p->ok") ? "++%s;" : "%s = 1;", l); break;
	case 4: inner = xasprintf("SET(%s, %s);", l, v); break;
	default: *to = "p->name"; inner = xasprintf("memcpy(p->name, q->name, (size_t)c);");
	}
	const char *a = PICK(r, around), *at = strstr(a, "%s");
	char *all = xasprintf("%.*s%s%s", (int)(at - a), a, inner, at + 2);
	free(inner);
	return all;
}

/* All places of the function's instructions that are in the line. */
static size_t check_function(struct srcloc *l, struct source *s, uint64_t from, uint64_t to,
			     uint32_t line, const char *want, const char *code)
{
	size_t found = 0;
	uint32_t last = UINT32_MAX;
	for (uint64_t a = from; a < to; a++) {
		struct srcloc_where w = srcloc_at(l, BIAS + a);
		const struct srcloc_frame *f = &w.frame[0];
		struct source_place p = { f->file, f->line, f->column };
		struct source_store st;
		struct err err;
		if (f->line != line || f->column == last)
			continue;
		last = f->column;
		if (source_store_at(s, &p, 0, &st, &err) < 0)
			fail_msg("column %u of %s: %s", f->column, code, err.text);
		if (strcmp(st.lvalue, want) != 0)
			fail_msg("column %u of %s: %s", f->column, code, st.lvalue);
		found++;
	}
	return found;
}

static void check_compiled(const char *options, uint64_t seed)
{
	uint64_t r = seed;
	char *code[STATEMENTS];
	const char *to[STATEMENTS];
	struct err err;
	char *path = xasprintf("%s/gen.c", fixture_dir),
	     *object = xasprintf("%s/gen.so", fixture_dir);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(head, f);
	for (size_t i = 0; i < STATEMENTS; i++) {
		code[i] = statement(&r, &to[i]);
		fprintf(f,
			"void f%zu(struct s *p, struct s *q, int c);void f%zu(struct s *p, struct s *q, int c) { (void)p; (void)q; (void)c;\n"
			"\t%s\n}\n",
			i, i, code[i]);
	}
	fprintf(f, "void f%d(void) {}\n", STATEMENTS);
	assert_int_equal(fclose(f), 0);
	run("gcc -w -g -shared -fPIC -fno-toplevel-reorder -fno-reorder-functions %s gen.c -o gen.so",
	    options);
	struct srcloc *l = srcloc_new();
	uint64_t addr, len, off;
	mapped_part("gen.so", BIAS, &addr, &len, &off);
	srcloc_map(l, addr, len, off, object, NULL, 0);
	struct source *s = source_open(&(struct source_options){ .root = fixture_dir }, &err);
	assert_non_null(s);
	size_t found = 0;
	uint64_t from = symbol("gen.so", "f0");
	for (size_t i = 0; i < STATEMENTS; i++) {
		char name[16];
		snprintf(name, sizeof name, "f%zu", i + 1);
		uint64_t next = symbol("gen.so", name);
		found += check_function(l, s, from, next, 8 + 3 * (uint32_t)i, to[i], code[i]);
		from = next;
		free(code[i]);
	}
	assert_true(found >= STATEMENTS);
	source_close(s);
	srcloc_free(l);
	free(path);
	free(object);
}

static void compiled_plainly(void **state)
{
	(void)state;
	check_compiled("-O0", 1);
}

static void compiled_optimised(void **state)
{
	(void)state;
	check_compiled("-O2", 2);
}

/* Compiled elsewhere, with folders for headers that nothing names but the debug information. */
static void flags_from_debug_information(void **state)
{
	struct err err;
	struct source_store st;
	(void)state;
	run("mkdir -p tree/deep/inc/sub tree/code && cd tree && "
	    "printf 'struct s { int a; };\\nstatic inline void set(struct s *p)\\n{\\n\\tp->a = 1;\\n}\\n' >deep/inc/sub/s.h && "
	    "printf '#include \"sub/s.h\"\\nint main(void)\\n{\\n\\tstatic struct s s; set(&s);\\n\\treturn 0;\\n}\\n' >code/main.c && "
	    "cd code && gcc -g -std=gnu11 -I../deep/inc main.c -o ../prog && cd .. && touch prog && cd .. && mv tree moved");
	char *root = xasprintf("%s/moved", fixture_dir), *object = xasprintf("%s/prog", root);
	char *header = xasprintf("%s/tree/deep/inc/sub/s.h", fixture_dir);
	const char *objects[] = { object };
	struct source *s = source_open(
		&(struct source_options){ .root = root, .object = objects, .objects = 1 }, &err);
	assert_non_null(s);
	struct source_place p = { header, 4, 0 };
	if (source_store_at(s, &p, 4, &st, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(st.address, "&p->a");
	assert_string_equal(st.statement.file->name, "deep/inc/sub/s.h");
	assert_null(st.statement.file->broken);
	assert_null(st.statement.file->refused);
	size_t units, broken;
	source_counts(s, &units, &broken);
	assert_int_equal(units, 1);
	assert_int_equal(broken, 0);
	source_close(s);
	free(root);
	free(object);
	free(header);
}

/* compile_commands.json under another name, with a macro that decides what is there. */
static void flags_from_commands(void **state)
{
	struct err err;
	struct source_store st;
	(void)state;
	run("mkdir -p cc && cd cc && printf 'struct s { int a; };\\nvoid f(struct s *p)\\n{\\n#if X == 2\\n\\tp->a = Y;\\n#endif\\n}\\n' >a.c && "
	    "printf '[{\"directory\": \"%s/cc\", \"file\": \"a.c\", \"arguments\": [\"cc\", \"-DX=2\", \"-D\", \"Y=3\", \"-c\", \"-o\", \"a.o\", \"-fweird\", \"a.c\"]}]' >mine.json",
	    fixture_dir);
	char *root = xasprintf("%s/cc", fixture_dir), *file = xasprintf("%s/mine.json", root);
	struct source_options o = { .root = root };
	struct source_place p = { "a.c", 5, 0 };
	struct source *s = source_open(&o, &err);
	assert_int_equal(source_store_at(s, &p, 4, &st, &err), -1);
	source_close(s);
	o.compile_commands = file;
	s = source_open(&o, &err);
	if (!s || source_store_at(s, &p, 4, &st, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(st.address, "&p->a");
	source_close(s);
	o.compile_commands = "/nowhere.json";
	assert_null(source_open(&o, &err));
	assert_non_null(strstr(err.text, "/nowhere.json"));
	free(root);
	free(file);
}

/* A macro's use is one statement, whatever it is made of: code can be put before it. */
static void statement_of_a_macro(void **state)
{
	struct err err;
	struct source_statement st;
	(void)state;
	run("mkdir -p mac && printf '#define PUT(to, v) do { int *p_ = (to); *p_ = (v); } while (0)\\n"
	    "void f(int *x)\\n{\\n\\tPUT(x, 1);\\n}\\n' >mac/a.c");
	char *root = xasprintf("%s/mac", fixture_dir);
	struct source_options o = { .root = root };
	struct source_place p = { "a.c", 4, 0 };
	struct source *s = source_open(&o, &err);
	if (!s || source_statement_at(s, &p, &st, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(st.where, SOURCE_IN_BLOCK);
	assert_null(st.no_before);
	source_close(s);
	free(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statement_of_a_macro),
		cmocka_unit_test(compiled_plainly),
		cmocka_unit_test(compiled_optimised),
		cmocka_unit_test(flags_from_debug_information),
		cmocka_unit_test(flags_from_commands),
	};
	if (!source_available()) {
		puts("1..0 # SKIP no libclang");
		return 0;
	}
	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
