/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores and calls that are a part of a statement: in conditions, headers of loops, behind && and ?, and before a constructor's body. */
#include "source/one.h"

struct row {
	const char *text, *mark, *want;
};

/* Without the function around them, in which p is a struct s * and c an int; num() has effects. */
static const struct row rows[] = {
	{ "\tif (__sync_bool_compare_and_swap(&p->a, c, 1))\n\t\treturn 1;\n", "__sync",
	  "\t_Bool result = __sync_bool_compare_and_swap(&p->a, c, 1);\n\tF(&p->a, sizeof(p->a));\n\tif (result)\n\t\treturn 1;\n" },
	{ "\tif (!(p->a = num()))\n\t\treturn 1;\n", "= num",
	  "\tint result = (p->a = num());\n\tF(&p->a, sizeof(p->a));\n\tif (!result)\n\t\treturn 1;\n" },
	{ "\tif (num() && (p->a = 2))\n\t\treturn 1;\n", "= 2",
	  "\tint result;\n\tif (num() && (result = p->a = 2, F(&p->a, sizeof(p->a)), result))\n\t\treturn 1;\n" },
	{ "\twhile (!__sync_bool_compare_and_swap(&p->a, c, 1))\n\t\tc++;\n", "__sync",
	  "\t_Bool result;\n\twhile (!(result = __sync_bool_compare_and_swap(&p->a, c, 1), F(&p->a, sizeof(p->a)), result))\n\t\tc++;\n" },
	{ "\tdo {\n\t\tc++;\n\t} while (!__sync_bool_compare_and_swap(&p->a, c, 1));\n", "__sync",
	  "\t_Bool result;\n\tdo {\n\t\tc++;\n\t} while (!(result = __sync_bool_compare_and_swap(&p->a, c, 1), F(&p->a, sizeof(p->a)), result));\n" },
	{ "\tfor (p->n = 0; p->n < c; p->n++)\n\t\tnum();\n", "= 0",
	  "\tfor (p->n = 0, F(&p->n, sizeof(p->n)); p->n < c; p->n++)\n\t\tnum();\n" },
	{ "\tfor (p->n = 0; p->n < c; p->n++)\n\t\tnum();\n", "++)",
	  "\tfor (p->n = 0; p->n < c; p->n++, F(&p->n, sizeof(p->n)))\n\t\tnum();\n" },
	/* Stores that a compiler put together where the header compares: whichever it is, it is followed behind the loop. */
	{ "\tfor (p->n = 0; p->n < c; p->n++)\n\t\tnum();\n", "< c;",
	  "\tfor (p->n = 0; p->n < c; p->n++)\n\t\tnum();\n\tF(&p->n, sizeof(p->n));\n" },
	{ "\tfor (; c; c--, p->n++)\n\t\tnum();\n", "++)",
	  "\tfor (; c; c--, p->n++, F(&p->n, sizeof(p->n)))\n\t\tnum();\n" },
	{ "\tfor (; (p->a = num()); c--)\n\t\tnum();\n", "= num",
	  "\tint result;\n\tfor (; (result = p->a = num(), F(&p->a, sizeof(p->a)), result); c--)\n\t\tnum();\n" },
	{ "\tif (c)\n\t\twhile ((p->a = num()))\n\t\t\tc++;\n", "= num",
	  "\tif (c) {\n\t\tint result;\n\t\twhile ((result = p->a = num(), F(&p->a, sizeof(p->a)), result))\n\t\t\tc++;\n\t}\n" },
	{ "\tc && (p->a = 2);\n", "= 2",
	  "\tint result;\n\t(void)(c && (result = p->a = 2, F(&p->a, sizeof(p->a)), result));\n" },
	{ "\tc = c ? (p->a = 2) : 1;\n", "= 2",
	  "\tint result;\n\tc = c ? (result = p->a = 2, F(&p->a, sizeof(p->a)), result) : 1;\n" },
	{ "\treturn c && (p->a = 2);\n", "= 2",
	  "\tint result;\n\treturn c && (result = p->a = 2, F(&p->a, sizeof(p->a)), result);\n" },
	{ "\tint *q = p->arr;\n\twhile ((*q++ = p->b))\n\t\t;\n", "= p->b",
	  "\tint *q = p->arr;\n\tint result;\n\tint *stored_at;\n"
	  "\twhile ((stored_at = q++, result = *stored_at = p->b, F(stored_at, sizeof(*stored_at)), result))\n\t\t;\n" },
	{ "\twhile (p->a < 3 && put(p))\n\t\tc++;\n", "put",
	  "\tint result;\n\twhile (p->a < 3 && (result = put(p), DRAIN(), result))\n\t\tc++;\n" },
};

static const char before[] =
	"int num(void);\nint put(struct s *);\nint f(struct s *p, int c);\nint f(struct s *p, int c)\n{\n";
static const char after[] = "\treturn c;\n}\n";

static char *in_function(const char *text)
{
	return xasprintf("%s%s%s", before, text, strstr(text, "\treturn c &&") ? "}\n" : after);
}

static void drain_at(struct one *o, const char *mark)
{
	struct source_place p = at(o, mark);
	struct source_call c;
	if (source_call_at(o->s, &p, "put", &c, &o->err) < 0 ||
	    source_insert_after(o->s, &c.statement, "DRAIN();", &o->e, &o->err) < 0)
		fail_msg("%s", o->err.text);
}

static void parts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char *text = in_function(rows[i].text), *want = in_function(rows[i].want);
		struct one o = open_one("part.c", text);
		for (int twice = 0; twice < 2; twice++)
			if (!strcmp(rows[i].mark, "put"))
				drain_at(&o, "put(p))");
			else
				flush_at(&o, rows[i].mark);
		expect(&o, want);
		close_one(&o);
		free(text);
		free(want);
	}
}

/* What a macro stands for may be no expression; then it is refused, and nothing changes. */
static void statements_of_macros(void **state)
{
	struct one o = open_one(
		"macro.c", "#define PERSIST(p, n) do { F(p, n); DRAIN(); } while (0)\n"
			   "#define FLUSH(p, n) F(p, n)\n"
			   "#define CLWB(p) __asm__ volatile (\"clwb %0\" : : \"m\" (*(p)))\n"
			   "void f(struct s *p, int c)\n{\n\twhile ((p->a = c))\n\t\tc--;\n}\n");
	struct source_place p = at(&o, "= c");
	struct source_store st;
	(void)state;
	assert_int_equal(source_store_at(o.s, &p, 4, &st, &o.err), 0);
	assert_int_equal(source_insert_store(o.s, &st, "PERSIST(&p->a, 4);", &o.e, &o.err), -1);
	assert_non_null(strstr(o.err.text, "PERSIST is no expression"));
	assert_int_equal(o.e.edit.n, 0);
	assert_int_equal(source_may_follow(o.s, &st.statement, "CLWB (&p->a);", &o.err), -1);
	assert_int_equal(source_may_follow(o.s, &st.statement, "F (&p->a, 4);", &o.err), 0);
	assert_int_equal(source_insert_store(o.s, &st, "FLUSH(&p->a, 4);", &o.e, &o.err), 0);
	close_one(&o);
}

/* A store inside a store: each is followed by its own flush. */
static void nested(void **state)
{
	struct one o = open_one(
		"nested.c",
		"int f(struct s *p, int c)\n{\n\twhile ((p->a = p->b = c))\n\t\tc--;\n\treturn c;\n}\n");
	(void)state;
	flush_at(&o, "= p");
	flush_at(&o, "= c)");
	expect(&o,
	       "int f(struct s *p, int c)\n{\n\tint result;\n\tint result2;\n"
	       "\twhile ((result = p->a = (result2 = p->b = c, F(&p->b, sizeof(p->b)), result2), F(&p->a, sizeof(p->a)), result))\n"
	       "\t\tc--;\n\treturn c;\n}\n");
	close_one(&o);
}

/* Members that a constructor initialises are flushed where its body begins, whatever its parameters are called. */
static void constructors(void **state)
{
	static const struct row all[] = {
		{ "struct n {\n\tlong key;\n\tint b;\n\tn(long key, int c) : key(key), b(c)\n\t{\n\t}\n};\n",
		  "key(key)",
		  "struct n {\n\tlong key;\n\tint b;\n\tn(long key, int c) : key(key), b(c)\n\t{\n"
		  "\t\tF(&this->key, sizeof(this->key));\n\t}\n};\n" },
		{ "struct n {\n\tlong key;\n\tint b;\n\tn(long k, int c) : key(k), b(c) {}\n};\n",
		  "b(c)",
		  "struct n {\n\tlong key;\n\tint b;\n\tn(long k, int c) : key(k), b(c) { F(&this->b, sizeof(this->b)); }\n};\n" },
	};
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct one o = open_one("n.cc", all[i].text);
		flush_at(&o, all[i].mark);
		expect(&o, all[i].want);
		close_one(&o);
	}
}

/* What is declared further down cannot be called here. */
static void declared(void **state)
{
	struct one o = open_one(
		"late.c",
		"#define EARLY(p) F(p, 1)\nvoid g(struct s *p);\nvoid g(struct s *p)\n{\n\tp->a = 1;\n}\n"
		"static void late(struct s *p)\n{\n\tg(p);\n}\n"
		"void h(struct s *p);\nvoid h(struct s *p)\n{\n\tlate(p);\n}\n");
	const struct source_file *f;
	(void)state;
	assert_int_equal(source_file_at(o.s, "late.c", &f, &o.err), 0);
	size_t here = (size_t)(strstr(f->text, "p->a = 1") - f->text);
	assert_int_equal(source_declared(o.s, f, here, "F", &o.err), 0);
	assert_int_equal(source_declared(o.s, f, here, "EARLY", &o.err), 0);
	assert_int_equal(source_declared(o.s, f, here, "late", &o.err), -1);
	assert_int_equal(source_declared(o.s, f, SIZE_MAX, "late", &o.err), 0);
	close_one(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts),        cmocka_unit_test(statements_of_macros),
		cmocka_unit_test(nested),       cmocka_unit_test(declared),
		cmocka_unit_test(constructors),
	};
	return fixture_main(tests, sizeof tests / sizeof *tests);
}
