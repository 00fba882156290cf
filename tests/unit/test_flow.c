/* SPDX-License-Identifier: BSD-3-Clause */
/* Which stores may modify PM, of programs that are compiled here: flow analysis from what runs show. */
#include "binary/fixture.h"

#define BIAS 0x7f1234560000ull

/* STORE(name, place) is a store at the label m_NAME; MARK(name) comes before a call, in its block. */
static const char program[] = MARKS
	"#include <stdlib.h>\n"
	"#include <sys/auxv.h>\n"
	"#include <sys/mman.h>\n"
	"#define STORE(name, to) __asm__ volatile(\".globl m_\" #name \"\\nm_\" #name \": movq %1, %0\" : \"=m\"(to) : \"r\"(1l))\n"
	"#define ALONE __attribute__((noinline, noclone))\n"
	"struct handle { long count; char *name; long *base; };\n"
	"struct node { struct node *next; long value; long table[8]; };\n"
	"static long *global, *other_global;\n"
	"ALONE long *map(void) { MARK(map); long *p = mmap(0, 4096, 3, MAP_SHARED, 3, 0); return p == MAP_FAILED ? 0 : p; }\n"
	"ALONE long *map_other(void) { return mmap(0, 4096, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0); }\n"
	"ALONE void argument(long *p) { STORE(argument, p[3]); }\n"
	"ALONE void volatile_argument(long *p) { STORE(volatile_argument, p[3]); }\n"
	"ALONE void fields(struct handle *h) { STORE(count, h->count); STORE(base, h->base[2]); STORE(name, *(long *)h->name); }\n"
	"ALONE void globals(void) { STORE(global, *global); STORE(other_global, *other_global); }\n"
	"ALONE void list(struct node *n, int i) {\n"
	"  for (; n; n = n->next) STORE(value, n->value);\n"
	"  (void)i; }\n"
	"__attribute__((noinline)) static void scale(long i) { __asm__ volatile(\"\" : : \"r\"(i)); }\n"
	"ALONE void indexed(struct node *n, struct node *dram, long i) {\n"
	"  scale(i); STORE(element, n->next->table[i]); STORE(by_value, dram->table[n->value]); }\n"
	"ALONE void fill(struct handle *h) { h->base = map(); h->name = malloc(9); }\n"
	"ALONE long *foreign(unsigned long n) { return (long *)getauxval(n); }\n"
	"int main(int argc, char **argv) {\n"
	"  struct handle local, *h = malloc(sizeof *h);\n"
	"  fill(h); fill(&local);\n"
	"  fields(h); fields(&local);\n"
	"  global = h->base; other_global = malloc(8); globals();\n"
	"  argument(local.base); volatile_argument(malloc(64));\n"
	"  list((struct node *)h->base, argc);\n"
	"  indexed((struct node *)(h->base + 8), malloc(sizeof(struct node)), argc);\n"
	"  long *q = map_other(); STORE(elsewhere, *q);\n"
	"  long *a = (long *)getauxval(1); STORE(first, a[1]);\n"
	"  if (argc > 5) { long *b = (long *)getauxval(2); STORE(second, b[2]); STORE(third, foreign(3)[1]); }\n"
	"  return argv != 0; }\n";

static enum binary_mark mark(const struct binary_view *v, const char *name, uint64_t bias,
			     const char *label)
{
	return binary_view_mark(v, bias + symbol(name, label));
}

static void expect(const struct binary_view *v, const char *name, uint64_t bias,
		   const char *const *label, enum binary_mark want)
{
	for (; *label; label++)
		if (mark(v, name, bias, *label) != want)
			fail_msg("%s in %s: %d, not %d", *label, name, mark(v, name, bias, *label),
				 want);
}

static void check_program(const char *name, uint64_t bias)
{
	static const char *const yes[] = { "m_argument", "m_base",    "m_global",
					   "m_value",    "m_element", NULL };
	static const char *const no[] = {
		"m_volatile_argument", "m_count",     "m_name", "m_other_global",
		"m_by_value",          "m_elsewhere", NULL
	};
	static const char *const foreign[] = { "m_first", "m_second", "m_third", NULL };
	static const char *const now[] = { "m_second", "m_third", NULL };
	struct binary_view *v = binary_view_new(NULL);
	uint64_t call = bias + symbol(name, "m_map");
	load(v, name, bias);
	binary_view_update(v);
	expect(v, name, bias, yes, BINARY_NOT); /* nothing was seen yet */
	assert_true(binary_view_saw_map(v, &call, 1));
	binary_view_update(v);
	expect(v, name, bias, yes, BINARY_MAY);
	expect(v, name, bias, no, BINARY_NOT);
	expect(v, name, bias, foreign, BINARY_NOT);
	/* A store shows what a function of another file returns, wherever it is called. */
	assert_true(binary_view_saw_pm(v, bias + symbol(name, "m_first")));
	binary_view_update(v);
	assert_int_equal(mark(v, name, bias, "m_first"), BINARY_PM);
	expect(v, name, bias, now, BINARY_MAY);
	expect(v, name, bias, no, BINARY_NOT);
	binary_view_free(v);
}

static void test_compilers(void **state)
{
	static const char *const level[] = { "-O0", "-O1", "-O2", "-O2 -fno-pie -no-pie", "-O3" };
	(void)state;
	write_text("flow.c", program);
	for (size_t i = 0; i < sizeof level / sizeof *level; i++) {
		run("cc %s flow.c -o flow", level[i]);
		check_program("flow", strstr(level[i], "no-pie") ? 0 : BIAS);
	}
}

/* A store that no run has seen counts in the priorities of what leads to it. */
static void test_priority(void **state)
{
	struct binary_view *v = binary_view_new(NULL);
	uint64_t call = BIAS + symbol("flow", "m_map"), at = BIAS + symbol("flow", "argument");
	(void)state;
	load(v, "flow", BIAS);
	binary_view_update(v);
	assert_int_equal(binary_view_priority(v, at), 0);
	binary_view_saw_map(v, &call, 1);
	binary_view_update(v);
	assert_int_equal(binary_view_priority(v, at), 1);
	assert_int_equal(binary_view_pm(v), 0); /* known are those that were seen */
	assert_true(binary_view_saw_pm(v, BIAS + symbol("flow", "m_argument")));
	binary_view_update(v);
	assert_int_equal(binary_view_priority(v, at), 1);
	binary_view_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compilers),
		cmocka_unit_test(test_priority),
	};
	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
