/* SPDX-License-Identifier: BSD-3-Clause */
/* Control dependence: on graphs made by hand, against its definition on random ones, and in compiled code. */
#include "binary/fixture.h"

/* "1: 0; 2: 0 1": what each node depends on; those that depend on nothing are left out. */
static const char *text(const struct binary_control *c, uint32_t n)
{
	static char buf[4096];
	size_t at = 0;
	buf[0] = '\0';
	for (uint32_t i = 0; i < n; i++) {
		if (c->first[i] == c->first[i + 1])
			continue;
		at += (size_t)sprintf(buf + at, "%s%u:", at ? "; " : "", i);
		for (uint32_t k = c->first[i]; k < c->first[i + 1]; k++)
			at += (size_t)sprintf(buf + at, " %u", c->on[k]);
	}
	return buf;
}

#define EXPECT(n, want, ...)                                                                       \
	do {                                                                                       \
		const struct binary_way way[] = { __VA_ARGS__ };                                   \
		struct binary_control c;                                                           \
		binary_control(n, way, sizeof way / sizeof *way, &c);                              \
		assert_string_equal(text(&c, n), want);                                            \
		binary_control_free(&c);                                                           \
	} while (0)

static void test_by_hand(void **state)
{
	(void)state;
	EXPECT(3, "", { 0, 1 }, { 1, 2 });
	EXPECT(4, "1: 0; 2: 0", { 0, 1 }, { 0, 2 }, { 1, 3 }, { 2, 3 }); /* if, else */
	EXPECT(3, "1: 0", { 0, 1 }, { 0, 2 }, { 1, 2 });                 /* if */
	/* if (a && b) 2; 3: 2 depends on b alone, b on a */
	EXPECT(4, "1: 0; 2: 1", { 0, 1 }, { 0, 3 }, { 1, 2 }, { 1, 3 }, { 2, 3 });
	/* if (a || b) 2; 3 */
	EXPECT(4, "1: 0; 2: 0 1", { 0, 2 }, { 0, 1 }, { 1, 2 }, { 1, 3 }, { 2, 3 });
	/* while (1) 2; 3: head and body depend on the head */
	EXPECT(4, "1: 1; 2: 1", { 0, 1 }, { 1, 2 }, { 1, 3 }, { 2, 1 });
	/* early return: all that follows depends on it */
	EXPECT(4, "1: 0; 2: 0; 3: 0", { 0, 1 }, { 0, 2 }, { 2, 3 });
	/* a switch */
	EXPECT(5, "1: 0; 2: 0; 3: 0", { 0, 1 }, { 0, 2 }, { 0, 3 }, { 1, 4 }, { 2, 4 }, { 3, 4 });
	/* a way out of the graph */
	EXPECT(2, "1: 0", { 0, 1 }, { 0, 2 });
}

static void test_without_end(void **state)
{
	(void)state;
	/* the way out that the last one gets is no branch, but looks like one */
	EXPECT(2, "0: 1; 1: 1", { 0, 1 }, { 1, 0 });
	/* for (;;) if (0) 1; else 2 */
	EXPECT(4, "0: 3; 1: 0; 2: 0; 3: 3", { 0, 1 }, { 0, 2 }, { 1, 3 }, { 2, 3 }, { 3, 0 });
	/* no node at all, and one that nothing leads to */
	EXPECT(1, "", { 0, 1 });
	EXPECT(3, "", { 0, 2 }, { 1, 2 });
}

/* ---- against the definition ---- */

#define MOST 9u
struct random_graph {
	uint32_t n;
	size_t ways;
	struct binary_way way[3 * MOST];
};

/* Some path leads from `from` to the exit without `avoid`. */
static bool leaves(const struct random_graph *g, uint32_t from, uint32_t avoid)
{
	uint32_t met = 1u << from;
	if (from == avoid)
		return false;
	for (uint32_t before = 0; before != met;) {
		before = met;
		for (size_t i = 0; i < g->ways; i++)
			if ((met >> g->way[i].from & 1) && g->way[i].to != avoid)
				met |= 1u << g->way[i].to;
	}
	return met >> g->n & 1;
}

/* b is always met from a on: on every path to the exit. */
static bool always(const struct random_graph *g, uint32_t a, uint32_t b)
{
	return !leaves(g, a, b);
}

static bool depends(const struct random_graph *g, uint32_t b, uint32_t a)
{
	bool some = false;
	for (size_t i = 0; i < g->ways; i++)
		some |= g->way[i].from == a && always(g, g->way[i].to, b);
	return some && (a == b || !always(g, a, b));
}

static struct random_graph draw(uint64_t *rng)
{
	struct random_graph g = { .n = 1 + (uint32_t)(splitmix64(rng) % MOST) };
	for (uint32_t i = 0; i < g.n; i++) {
		uint64_t ways = 1 + splitmix64(rng) % 3;
		for (uint64_t k = 0; k < ways; k++)
			g.way[g.ways++] =
				(struct binary_way){ i, (uint32_t)(splitmix64(rng) % (g.n + 1)) };
	}
	return g;
}

static bool all_leave(const struct random_graph *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (!leaves(g, i, UINT32_MAX))
			return false;
	return true;
}

static bool has(const struct binary_control *c, uint32_t node, uint32_t on)
{
	for (uint32_t i = c->first[node]; i < c->first[node + 1]; i++)
		if (c->on[i] == on)
			return true;
	return false;
}

static void test_definition(void **state)
{
	uint64_t rng = 20261116;
	unsigned tried = 0;
	(void)state;
	while (tried < 3000) {
		struct random_graph g = draw(&rng);
		struct binary_control c;
		if (!all_leave(&g))
			continue;
		tried++;
		binary_control(g.n, g.way, g.ways, &c);
		for (uint32_t b = 0; b < g.n; b++)
			for (uint32_t a = 0; a < g.n; a++)
				if (has(&c, b, a) != depends(&g, b, a))
					fail_msg("graph %u: %u on %u is %d", tried, b, a,
						 has(&c, b, a));
		binary_control_free(&c);
	}
}

/* ---- compiled code ---- */

static const char code[] = MARKS
	"volatile int a, b, sum;\n"
	"__attribute__((noinline)) int both(int x) {\n"
	"  MARK(begin); if (a) { MARK(first); if (b) { MARK(second); sum += x; } }\n"
	"  MARK(behind); return x; }\n"
	"__attribute__((noinline)) void loop(int n) {\n"
	"  for (int i = 0; i < n; i++) { MARK(body); sum += i; }\n"
	"  MARK(after); sum++; }\n"
	"__attribute__((noinline)) int table(int x) {\n"
	"  switch (x) { case 0: MARK(zero); sum = 5; break; case 1: MARK(one); sum = 7; break;\n"
	"  case 2: MARK(two); sum = 1; break; case 3: MARK(three); sum = 11; break;\n"
	"  case 4: MARK(four); sum = 2; break; case 5: MARK(five); sum = 8; break; }\n"
	"  MARK(joined); return sum; }\n"
	"int main(int argc, char **argv) { (void)argv; both(argc); loop(argc); return table(argc); }\n";

static size_t controls(struct binary_view *v, const char *name, const char *label, uint64_t *out)
{
	uint64_t block = binary_view_block_number(v, symbol(name, label));
	assert_true(block != BINARY_NO_BLOCK);
	return binary_view_controls(v, block, out, 8);
}

static void check_code(const char *name)
{
	struct binary_view *v = binary_view_new(NULL);
	uint64_t first[8], second[8], zero[8], five[8];
	load(v, name, 0);
	assert_int_equal(controls(v, name, "m_begin", first), 0);
	assert_int_equal(controls(v, name, "m_first", first), 1);
	assert_int_equal(first[0], binary_view_block_number(v, symbol(name, "m_begin")));
	assert_int_equal(controls(v, name, "m_second", second), 1);
	assert_int_equal(second[0], binary_view_block_number(v, symbol(name, "m_first")));
	assert_int_equal(controls(v, name, "m_behind", first), 0);
	assert_true(controls(v, name, "m_body", first) >= 1);
	assert_int_equal(controls(v, name, "m_after", first), 0);
	/* the jump through the table */
	assert_int_equal(controls(v, name, "m_zero", zero), controls(v, name, "m_five", five));
	assert_int_equal(zero[0], five[0]);
	assert_int_equal(controls(v, name, "m_joined", first), 0);
	assert_int_equal(binary_view_block_number(v, 0x12), BINARY_NO_BLOCK);
	assert_int_equal(binary_view_controls(v, (uint64_t)77 << 32, first, 8), 0);
	binary_view_free(v);
}

static void test_code(void **state)
{
	(void)state;
	write_text("c.c", code);
	run("cc -O0 -no-pie -fno-pie c.c -o c0 && cc -O1 -fno-if-conversion -no-pie -fno-pie c.c -o c1");
	check_code("c0");
	check_code("c1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_without_end),
		cmocka_unit_test(test_definition),
		cmocka_unit_test(test_code),
	};
	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
