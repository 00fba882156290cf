/* SPDX-License-Identifier: BSD-3-Clause */
/* What insertions look like, word for word; calls, functions, loops and copies; and files that are odd. */
#include "source/one.h"

#include <sys/stat.h>
#include <sys/time.h>

static void lines_and_braces(void **state)
{
	static const struct {
		const char *text, *mark, *want;
	} rows[] = {
		{ "void f(struct s *p)\n{\n\tp->a = 1; /* one */\n\tp->b = 2;\n}\n", "= 1",
		  "void f(struct s *p)\n{\n\tp->a = 1; /* one */\n\tF(&p->a, sizeof(p->a));\n\tp->b = 2;\n}\n" },
		{ "void f(struct s *p) {\n  p->a = 1; p->b = 2;\n}\n", "= 1",
		  "void f(struct s *p) {\n  p->a = 1; F(&p->a, sizeof(p->a)); p->b = 2;\n}\n" },
		{ "void f(struct s *p) { p->a = 1; }\n", "= 1",
		  "void f(struct s *p) { p->a = 1; F(&p->a, sizeof(p->a)); }\n" },
		{ "void f(struct s *p)\n{\n\tif (p->b) // why\n\t\tp->a = 1;\n}\n", "= 1",
		  "void f(struct s *p)\n{\n\tif (p->b) { // why\n\t\tp->a = 1;\n\t\tF(&p->a, sizeof(p->a));\n\t}\n}\n" },
		{ "void f(struct s *p)\n{\n\tif (p->b)\n\t\tp->a = 1;\n\telse\n\t\tp->a = 2;\n}\n",
		  "= 1",
		  "void f(struct s *p)\n{\n\tif (p->b) {\n\t\tp->a = 1;\n\t\tF(&p->a, sizeof(p->a));\n\t} else\n\t\tp->a = 2;\n}\n" },
		{ "void f(struct s *p)\n{\n\tif (p->b)\n\t\tp->a = 1;\n\telse\n\t\tp->a = 2;\n}\n",
		  "= 2",
		  "void f(struct s *p)\n{\n\tif (p->b)\n\t\tp->a = 1;\n\telse {\n\t\tp->a = 2;\n\t\tF(&p->a, sizeof(p->a));\n\t}\n}\n" },
		{ "void f(struct s *p)\n{\n\tdo\n\t\tp->a = 1;\n\twhile (p->b);\n}\n", "= 1",
		  "void f(struct s *p)\n{\n\tdo {\n\t\tp->a = 1;\n\t\tF(&p->a, sizeof(p->a));\n\t} while (p->b);\n}\n" },
		{ "void f(struct s *p)\r\n{\r\n\tp->a = 1;\r\n}\r\n", "= 1",
		  "void f(struct s *p)\r\n{\r\n\tp->a = 1;\r\n\tF(&p->a, sizeof(p->a));\r\n}\r\n" },
		{ "void f(struct s *p) {\n\tp->a = 1; }", "= 1",
		  "void f(struct s *p) {\n\tp->a = 1; F(&p->a, sizeof(p->a)); }" },
		{ "void f(struct s *p, int i)\n{\n\tp->arr[i++] = 1;\n\tp->n = i;\n}\n", "= 1",
		  "void f(struct s *p, int i)\n{\n\tint *stored_at = &p->arr[i++];\n\t*stored_at = 1;\n"
		  "\tF(stored_at, sizeof(*stored_at));\n\tp->n = i;\n}\n" },
		{ "int f(struct s *p)\n{\n\treturn p->a = 1;\n}\n", "= 1",
		  "int f(struct s *p)\n{\n\tint result = p->a = 1;\n\tF(&p->a, sizeof(p->a));\n\treturn result;\n}\n" },
		{ "int f(struct s *p)\n{\n\tif (p)\n\t\treturn p->a = 1;\n\treturn 0;\n}\n", "= 1",
		  "int f(struct s *p)\n{\n\tif (p) {\n\t\tint result = p->a = 1;\n\t\tF(&p->a, sizeof(p->a));\n"
		  "\t\treturn result;\n\t}\n\treturn 0;\n}\n" },
		{ "void f(struct s *p)\n{\n\tp->a =\n\t\tp->b +\n\t\t3;\n}\n", "=\n",
		  "void f(struct s *p)\n{\n\tp->a =\n\t\tp->b +\n\t\t3;\n\tF(&p->a, sizeof(p->a));\n}\n" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct one o = open_one("a name.c", rows[i].text);
		flush_at(&o, rows[i].mark);
		flush_at(&o, rows[i].mark); /* a second time changes nothing */
		expect(&o, rows[i].want);
		close_one(&o);
	}
}

static const char calls_text[] = "static void update(struct s *p, int v);\n"
				 "static void update(struct s *p, int v)\n{\n\tp->a = v;\n}\n"
				 "struct ops { void (*put)(struct s *); };\n"
				 "int modify(struct s *p, int v, struct ops *o)\n{\n"
				 "\tupdate(p->next, v++);\n\to->put(p);\n\tif (v)\n\t\treturn 1;\n"
				 "\tupdate(p, 1); update(p, 2);\n\treturn 0;\n}\n"
				 "void last(struct s *p) { update(p, 3); }\n";

static void calls(void **state)
{
	struct one o = open_one("calls.c", calls_text);
	struct source_call c;
	(void)state;
	struct source_place p = at(&o, "update(p->next");
	assert_int_equal(source_call_at(o.s, &p, "update", &c, &o.err), 0);
	assert_string_equal(c.callee, "update");
	assert_false(c.indirect || c.conditional);
	assert_int_equal(c.arguments, 2);
	assert_string_equal(c.argument[0].text, "p->next");
	assert_string_equal(c.argument[0].type, "struct s *");
	assert_true(c.argument[0].pointer && c.argument[0].again);
	assert_string_equal(c.argument[1].text, "v++");
	assert_false(c.argument[1].pointer || c.argument[1].again);
	p = at(&o, "o->put");
	assert_int_equal(source_call_at(o.s, &p, "update", &c, &o.err), 0);
	assert_true(c.indirect);
	assert_null(c.callee);
	p = at(&o, "update(p, 2)");
	assert_int_equal(source_call_at(o.s, &p, "update", &c, &o.err), 0);
	assert_string_equal(c.argument[1].text, "2");
	p.column = 0;
	assert_int_equal(source_call_at(o.s, &p, "update", &c, &o.err), -1);
	assert_non_null(strstr(o.err.text, "2 calls"));
	close_one(&o);
}

/* What follows a call in a condition, or a return. */
static void behind_calls(void **state)
{
	static const struct {
		const char *text, *want; /* NULL: refused */
	} rows[] = {
		{ "\tif (g(p) < 0) /* bad */\n\t\treturn 1;",
		  "\tint result = g_pm(p);\n\tDRAIN();\n\tif (result < 0) /* bad */\n\t\treturn 1;" },
		{ "\tif (!p)\n\t\treturn 2;\n\telse if (g(p))\n\t\treturn 1;",
		  "\tif (!p)\n\t\treturn 2;\n\telse { int result = g_pm(p); DRAIN(); if (result)\n\t\treturn 1; }" },
		{ "\treturn g(p) + 1;",
		  "\tint result = g_pm(p) + 1;\n\tDRAIN();\n\treturn result;" },
		{ "\tint k = g(p);\n\treturn k;", "\tint k = g_pm(p);\n\tDRAIN();\n\treturn k;" },
		{ "\tswitch (g(p)) {\n\tdefault: return 1;\n\t}",
		  "\tint result = g_pm(p);\n\tDRAIN();\n\tswitch (result) {\n\tdefault: return 1;\n\t}" },
		{ "\tif (p && g(p))\n\t\treturn 1;",
		  "\tint result;\n\tif (p && (result = g_pm(p), DRAIN(), result))\n\t\treturn 1;" },
		{ "\t(void)(p && g(p));",
		  "\tint result;\n\t(void)(p && (result = g_pm(p), DRAIN(), result));" },
		{ "\tif (h() + g(p))\n\t\treturn 1;",
		  "\tint result;\n\tif (h() + (result = g_pm(p), DRAIN(), result))\n\t\treturn 1;" },
		{ "\twhile (g(p))\n\t\treturn 1;",
		  "\tint result;\n\twhile ((result = g_pm(p), DRAIN(), result))\n\t\treturn 1;" },
		{ "\twhile (MACRO(g(p)))\n\t\treturn 1;", NULL },
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		static const char frame[] =
			"#define MACRO(x) (x)\nint h(void);\nint g(struct s *);\nint g_pm(struct s *);\nint f(struct s *p)\n{\n%s\n\treturn 0;\n}\n";
		char *text = xasprintf(frame, rows[i].text);
		struct one o = open_one("a.c", text);
		struct source_place p = at(&o, "g(p)");
		struct source_call c;
		assert_int_equal(source_call_at(o.s, &p, "g", &c, &o.err), 0);
		int rc = source_insert_after(o.s, &c.statement, "DRAIN();", &o.e, &o.err);
		if (rows[i].want) {
			char *want = xasprintf(frame, rows[i].want);
			assert_int_equal(rc, 0);
			source_replace(o.s, c.statement.file, c.name.from, 1, "g_pm", &o.e, &o.err);
			expect(&o, want);
			free(want);
		} else if (rc == 0) {
			fail_msg("%s", rows[i].text);
		}
		close_one(&o);
		free(text);
	}
}

static void function_and_copy(void **state)
{
	struct one o = open_one("calls.c", calls_text);
	struct source_function f, g;
	struct source_edits inside = { 0 };
	struct source_store st;
	(void)state;
	struct source_place p = at(&o, "p->a = v");
	assert_int_equal(source_function_at(o.s, &p, NULL, &f, &o.err), 0);
	assert_string_equal(f.name, "update");
	assert_true(f.is_static && f.falls);
	assert_null(f.no_copy);
	assert_int_equal(f.parameters, 2);
	assert_string_equal(f.parameter[0].type, "struct s *");
	assert_int_equal(f.prototypes, 1);
	assert_int_equal(source_store_at(o.s, &p, 4, &st, &o.err), 0);
	assert_int_equal(source_insert_store(o.s, &st, "F(&p->a, sizeof(p->a));", &inside, &o.err),
			 0);
	assert_int_equal(source_insert_copy(o.s, &f, "update_pm", &inside, &o.e, &o.err), 0);
	struct source_place named = { o.name, 0, 0 };
	assert_int_equal(source_function_at(o.s, &named, "modify", &g, &o.err), 0);
	assert_int_equal(g.calls, 4);
	assert_int_equal(g.exits, 2);
	assert_false(g.falls);
	const struct source_call *c = &g.call[0];
	assert_int_equal(source_replace(o.s, g.file, c->name.from, c->name.to - c->name.from,
					"update_pm", &o.e, &o.err),
			 0);
	assert_int_equal(source_insert_after(o.s, &c->statement, "DRAIN();", &o.e, &o.err), 0);
	assert_int_equal(source_insert_exits(o.s, &g, "DRAIN();", &o.e, &o.err), 0);
	named.line = 0;
	assert_int_equal(source_function_at(o.s, &named, "last", &g, &o.err), 0);
	assert_int_equal(source_insert_exits(o.s, &g, "DRAIN();", &o.e, &o.err), 0);
	expect(&o,
	       "static void update(struct s *p, int v);\nstatic void update_pm(struct s *p, int v);\n"
	       "static void update(struct s *p, int v)\n{\n\tp->a = v;\n}\n\n"
	       "static void update_pm(struct s *p, int v)\n{\n\tp->a = v;\n\tF(&p->a, sizeof(p->a));\n}\n"
	       "struct ops { void (*put)(struct s *); };\n"
	       "int modify(struct s *p, int v, struct ops *o)\n{\n"
	       "\tupdate_pm(p->next, v++);\n\tDRAIN();\n\to->put(p);\n\tif (v) {\n\t\tDRAIN();\n\t\treturn 1;\n\t}\n"
	       "\tupdate(p, 1); update(p, 2);\n\tDRAIN();\n\treturn 0;\n}\n"
	       "void last(struct s *p) { update(p, 3); DRAIN(); }\n");
	source_edits_free(&inside);
	close_one(&o);
}

/* A copy of a function that calls itself calls the copy. */
static void copy_of_recursion(void **state)
{
	struct one o = open_one(
		"a.c", "void f(struct s *p)\n{\n\tp->a = 1;\n\tif (p->next)\n\t\tf(p->next);\n}\n");
	struct source_function f;
	struct source_place p = { o.name, 0, 0 };
	(void)state;
	assert_int_equal(source_function_at(o.s, &p, "f", &f, &o.err), 0);
	assert_int_equal(source_insert_copy(o.s, &f, "f_pm", NULL, &o.e, &o.err), 0);
	expect(&o,
	       "void f(struct s *p)\n{\n\tp->a = 1;\n\tif (p->next)\n\t\tf(p->next);\n}\n\n"
	       "void f_pm(struct s *p)\n{\n\tp->a = 1;\n\tif (p->next)\n\t\tf_pm(p->next);\n}\n");
	close_one(&o);
}

static void no_copies(void **state)
{
	static const struct {
		const char *name, *text, *why;
	} rows[] = {
		{ "a.c", "void f(struct s *p)\n{\n\tstatic int n;\n\tp->a = n++;\n}\n",
		  "static variable, n" },
		{ "a.c", "void f(struct s *p)\n{\n\tp->a = __func__[0];\n}\n", "its own name" },
		{ "a.c",
		  "void f(struct s *p)\n{\n\tvoid *l = &&out;\n\tp->a = 1;\n\tgoto *l;\nout:;\n}\n",
		  "label" },
		{ "a.c",
		  "void f(struct s *);\nvoid run(void (*)(struct s *));\nvoid f(struct s *p)\n{\n\tp->a = 1;\n\trun(f);\n}\n",
		  "its own address" },
		{ "a.c", "#define DEF(n) void n(struct s *p) { p->a = 1; }\nDEF(f) // p->a\n",
		  "macro" },
		{ "a.cc", "struct t { virtual void f(struct s *p) { p->a = 1; } };\n", "virtual" },
		{ "a.cc", "template <class T> void f(T *p) { p->a = 1; }\n", "template" },
		{ "a.cc", "struct t { int a; void f(t *p) { p->a = 1; } };\n", "method" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct one o = open_one(rows[i].name, rows[i].text);
		struct source_function f;
		struct source_place p = { o.name, 0, 0 };
		if (source_function_at(o.s, &p, "f", &f, &o.err) < 0)
			fail_msg("%s: %s", rows[i].text, o.err.text);
		assert_non_null(f.no_copy);
		if (!strstr(f.no_copy, rows[i].why))
			fail_msg("%s: %s", rows[i].text, f.no_copy);
		assert_int_equal(source_insert_copy(o.s, &f, "f_pm", NULL, &o.e, &o.err), -1);
		close_one(&o);
	}
}

struct row {
	const char *text, *base, *bytes, *guard, *why;
};

static const struct row loop_rows[] = {
	{ "for (i = 0; i < n; i++)\n\t\tp->arr[i] = 0;", "p->arr", "n * sizeof(p->arr[0])", "n > 0",
	  NULL },
	{ "for (int k = 1; k <= 7; k += 1) {\n\t\tp->arr[k] = 0;\n\t}", "&p->arr[1]",
	  "(7 - 1 + 1) * sizeof(p->arr[0])", NULL, NULL },
	{ "for (i = 0; i < p->n; ++i)\n\t\tp[i].a = 0;", "p", "p->n * sizeof(p[0])", "p->n > 0",
	  NULL },
	{ "for (i = 0; i < p->n; ++i)\n\t\tp[i].n = 0;", NULL, NULL, NULL, "may change" },
	{ "for (i = 0; i < n; i++)\n\t\tp->arr[i] = MIX(n);", "p->arr", "n * sizeof(p->arr[0])",
	  "n > 0", NULL },
	{ "for (i = 0; i < n; i++)\n\t\t*(volatile int *)&p->arr[i] = n;", "p->arr",
	  "n * sizeof(p->arr[0])", "n > 0", NULL },
	{ "for (i = 0; i < n; i++)\n\t\tSTORE(&p->arr[i], n);", "p->arr", "n * sizeof(p->arr[0])",
	  "n > 0", NULL },
	{ "for (i = n; i > 0; i--)\n\t\tp->arr[i] = 0;", NULL, NULL, NULL, "count up" },
	{ "for (i = 0; i < n; i++)\n\t\tif (i & 1)\n\t\t\tp->arr[i] = 0;", NULL, NULL, NULL,
	  "not every round" },
	{ "for (i = 0; i < n; i++) {\n\t\tp->arr[i] = 0;\n\t\tif (p->b)\n\t\t\tbreak;\n\t}", NULL,
	  NULL, NULL, "break" },
	{ "for (i = 0; i < n; i++)\n\t\tp->arr[0] = 0;", NULL, NULL, NULL, "no array" },
	{ "for (i = 0; i < n; i++, p++)\n\t\tp->arr[i] = 0;", NULL, NULL, NULL, "count up" },
	{ "while (n--)\n\t\tp->arr[n] = 0;", NULL, NULL, NULL, "count up" },
};

#define LOOP_BEGIN                                                                                 \
	"static inline int MIX(int k) { return k * 3; }\n"                                         \
	"#define STORE(d, v) do { int *d_ = (d); *(volatile int *)d_ = (v); } while (0)\n"         \
	"void f(struct s *p, int n)\n{\n\tint i;\n\t(void)i, (void)n, (void)MIX;\n\t"

static void check_range(struct one *o, const struct row *r, const struct source_loop *l)
{
	if (!l->base)
		fail_msg("%s: %s", r->text, l->why);
	assert_string_equal(l->base, r->base);
	assert_string_equal(l->bytes, r->bytes);
	assert_true(!l->guard == !r->guard && (!l->guard || !strcmp(l->guard, r->guard)));
	char *code = l->guard ? xasprintf("if (%s)\n\tF(%s, %s);", l->guard, l->base, l->bytes)
			      : xasprintf("F(%s, %s);", l->base, l->bytes);
	assert_int_equal(source_insert_after(o->s, &l->statement, code, &o->e, &o->err), 0);
	char *want = l->guard ? xasprintf(LOOP_BEGIN "%s\n\tif (%s)\n\t\tF(%s, %s);\n}\n", r->text,
					  l->guard, l->base, l->bytes)
			      : xasprintf(LOOP_BEGIN "%s\n\tF(%s, %s);\n}\n", r->text, l->base,
					  l->bytes);
	expect(o, want);
	free(want);
	free(code);
}

static void loops(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof loop_rows / sizeof *loop_rows; i++) {
		const struct row *r = &loop_rows[i];
		char *text = xasprintf(LOOP_BEGIN "%s\n}\n", r->text);
		struct one o = open_one("loop.c", text);
		struct source_store st;
		struct source_loop l;
		struct source_place p = at(&o, strstr(r->text, "STORE")     ? "STORE(&"
					       : strstr(r->text, "*(v")     ? "*(volatile int *)&"
					       : strstr(r->text, "p->arr[") ? "p->arr["
									    : "p[i]");
		assert_int_equal(source_store_at(o.s, &p, 4, &st, &o.err), 0);
		assert_int_equal(source_loop_around(o.s, &p, &st, &l, &o.err), 0);
		if (!r->why)
			check_range(&o, r, &l);
		else if (l.base || !strstr(l.why, r->why))
			fail_msg("%s: %s", r->text, l.base ? l.base : l.why);
		close_one(&o);
		free(text);
	}
}

static void odd_files(void **state)
{
	struct one o = open_one("a.c", "void f(struct s *p)\n{\n\tp->a = 1;\n}\n");
	struct source_store st;
	struct source_place p = { "/build/elsewhere/a.c", 999, 0 };
	const struct source_file *f;
	(void)state;
	assert_int_equal(source_store_at(o.s, &p, 4, &st, &o.err), -1);
	assert_non_null(strstr(o.err.text, "not the source that was compiled"));
	p.line = 6, p.column = 200;
	assert_int_equal(source_store_at(o.s, &p, 4, &st, &o.err), -1);
	assert_non_null(strstr(o.err.text, "no column 200"));
	p.column = 0;
	assert_int_equal(source_store_at(o.s, &p, 4, &st, &o.err), 0);
	assert_null(st.statement.file->refused);
	p.file = "nowhere.c";
	assert_int_equal(source_store_at(o.s, &p, 4, &st, &o.err), -1);
	assert_non_null(strstr(o.err.text, "not to be found"));
	assert_int_equal(source_file_at(o.s, "/usr/include/stdio.h", &f, &o.err), 0);
	assert_non_null(strstr(f->refused, "not below"));
	fixture_write(o.dir, "x.y", "%%\n", 3);
	p = (struct source_place){ "x.y", 1, 0 };
	assert_int_equal(source_store_at(o.s, &p, 4, &st, &o.err), -1);
	assert_non_null(strstr(o.err.text, "neither C nor C++"));
	static const char bad[] =
		"#include \"gone.h\"\nstruct s { int a; };\nvoid f(struct s *p)\n{\n\tp->a = 1;\n}\n";
	fixture_write(o.dir, "bad.c", bad, sizeof bad - 1);
	p = (struct source_place){ "bad.c", 5, 0 };
	assert_int_equal(source_store_at(o.s, &p, 4, &st, &o.err), 0);
	assert_non_null(strstr(st.statement.file->broken, "gone.h"));
	close_one(&o);
}

/* What was compiled is not skipped: the macros that it needs are defined. */
static void conditions(void **state)
{
	struct one o = open_one(
		"a.c",
		"#define KNOWN 1\n"
		"void f(struct s *p)\n{\n#ifdef BUG_A\n\tp->a = 1;\n#else\n\tp->b = 2;\n#endif\n"
		"#if defined(BUG_B) /* why */\n#ifndef OFF\n\tp->n = 2;\n#else\n\tp->n = 3;\n#endif\n#endif\n"
		"#if KNOWN > 2\n\tp->a = 4;\n#endif\n}\n");
	struct source_store st;
	static const char *const marks[] = { "p->n = 3", "p->a = 1" };
	(void)state;
	struct source_place p = at(&o, "p->b = 2");
	assert_int_equal(source_store_at(o.s, &p, 4, &st, &o.err), 0);
	for (size_t i = 0; i < 2; i++) {
		p = at(&o, marks[i]);
		if (source_store_at(o.s, &p, 4, &st, &o.err) < 0)
			fail_msg("%s: %s", marks[i], o.err.text);
		assert_memory_equal(st.lvalue, marks[i], 4);
	}
	p = at(&o, "p->a = 4");
	assert_int_equal(source_store_at(o.s, &p, 4, &st, &o.err), -1);
	close_one(&o);
}

/* Newer than the object that was run, or read-only: questions are answered, edits are not made. */
static void refused_files(void **state)
{
	struct one o = open_one("a.c", "void f(struct s *p)\n{\n\tp->a = 1;\n}\n");
	char *object = xasprintf("%s/program", o.dir), *path = xasprintf("%s/a.c", o.dir);
	const char *objects[] = { object };
	struct source_options options = { .root = o.dir, .object = objects, .objects = 1 };
	struct source_store st;
	struct source_place p = { "a.c", 6, 0 };
	struct timeval old[2] = { { 1000, 0 }, { 1000, 0 } };
	(void)state;
	fixture_write(o.dir, "program", "x", 1);
	assert_int_equal(utimes(object, old), 0);
	struct source *s = source_open(&options, &o.err);
	assert_non_null(s);
	assert_int_equal(source_store_at(s, &p, 4, &st, &o.err), 0);
	assert_int_equal(source_insert_store(s, &st, "F();", &o.e, &o.err), -1);
	assert_non_null(strstr(o.err.text, "changed after the program was built"));
	assert_int_equal(o.e.edit.n, 0);
	source_close(s);
	assert_int_equal(chmod(path, 0444), 0);
	options.changed = true;
	s = source_open(&options, &o.err);
	assert_int_equal(source_store_at(s, &p, 4, &st, &o.err), 0);
	assert_int_equal(source_insert_store(s, &st, "F();", &o.e, &o.err), -1);
	assert_non_null(strstr(o.err.text, "read-only"));
	source_close(s);
	close_one(&o);
	free(object);
	free(path);
}

static void overlaps_and_top(void **state)
{
	struct one o = open_one(
		"a.c", "#ifdef X\n#include <x.h>\n#endif\nvoid f(struct s *p)\n{\n\tp->a = 1;\n}");
	const struct source_file *f;
	struct source_edits two = { 0 };
	(void)state;
	assert_int_equal(source_file_at(o.s, "a.c", &f, &o.err), 0);
	assert_int_equal(source_replace(o.s, f, 3, 5, "x", &two, &o.err), 0);
	assert_int_equal(source_replace(o.s, f, 6, 5, "y", &two, &o.err), 0);
	assert_int_equal(source_edits_check(&two, &o.err), -1);
	assert_non_null(strstr(o.err.text, "overlap"));
	source_edits_free(&two);
	/* The last line has no newline, and gets longer. */
	assert_int_equal(source_replace(o.s, f, f->size, 0, "\n/* end */", &o.e, &o.err), 0);
	expect(&o,
	       "#ifdef X\n#include <x.h>\n#endif\nvoid f(struct s *p)\n{\n\tp->a = 1;\n}\n/* end */");
	close_one(&o);
	o.dir = fixture_new();
	static const char text[] =
		"/* h */\n#ifndef A_H\n#define A_H\n#include <stddef.h>\n#ifdef Y\n#include <y.h>\n#endif\n\nint x;\n#endif\n";
	fixture_write(o.dir, "a.h", text, sizeof text - 1);
	o = (struct one){ .dir = o.dir, .name = "a.h", .s = fixture_open(o.dir) };
	assert_int_equal(source_file_at(o.s, "a.h", &f, &o.err), 0);
	assert_int_equal(source_insert_top(o.s, f, "int y;", &o.e, &o.err), 0);
	size_t n;
	char *got = source_edits_apply(&o.e, f, &n);
	assert_string_equal(
		got,
		"/* h */\n#ifndef A_H\n#define A_H\n#include <stddef.h>\n#ifdef Y\n#include <y.h>\n#endif\n\nint y;\n\nint x;\n#endif\n");
	free(got);
	close_one(&o);
}

/* What stands in the edited file was somewhere before, or is new. */
static void origins(void **state)
{
	struct one o = open_one("was.c", "int f(struct s *p, int c)\n{\n\tif (c)\n\t\tp->a = 1;\n"
					 "\treturn p->b = p->n = 2;\n}\nint end;\n");
	static const char *const marks[] = { "if (c)",   "= 1;", "a = 1", "p->b =",
					     "p->n = 2", "end;", "int f(" };
	const struct source_file *f;
	size_t n;
	(void)state;
	flush_at(&o, "= 1;");
	flush_at(&o, "= 2;");
	assert_int_equal(source_edits_check(&o.e, &o.err), 0);
	assert_int_equal(source_file_at(o.s, "was.c", &f, &o.err), 0);
	char *text = source_edits_apply(&o.e, f, &n);
	struct source_file new = { .text = text, .size = n };
	for (size_t i = 0; i < sizeof marks / sizeof *marks + 1; i++) {
		const char *mark = i < sizeof marks / sizeof *marks ? marks[i] : "F(&p->a";
		const char *in = strstr(new.text + strlen(head), mark);
		struct source_place edited = { .line = 1, .column = 1 }, was, want;
		for (const char *p = new.text; p < in; p++, edited.column++)
			if (*p == '\n')
				edited.line++, edited.column = 0;
		assert_int_equal(source_edits_origin(&o.e, f, &edited, &was), 0);
		if (!strcmp(mark, "F(&p->a")) {
			assert_int_equal(was.column, 0);
			continue;
		}
		want = at(&o, mark);
		assert_int_equal(was.line, want.line);
		assert_int_equal(was.column, want.column);
	}
	assert_int_equal(source_edits_origin(&o.e, f, &(struct source_place){ .line = 99 },
					     &(struct source_place){ 0 }),
			 -1);
	free(text);
	close_one(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_and_braces),
		cmocka_unit_test(calls),
		cmocka_unit_test(behind_calls),
		cmocka_unit_test(function_and_copy),
		cmocka_unit_test(no_copies),
		cmocka_unit_test(copy_of_recursion),
		cmocka_unit_test(loops),
		cmocka_unit_test(odd_files),
		cmocka_unit_test(origins),
		cmocka_unit_test(refused_files),
		cmocka_unit_test(conditions),
		cmocka_unit_test(overlaps_and_top),
	};
	return fixture_main(tests, sizeof tests / sizeof *tests);
}
