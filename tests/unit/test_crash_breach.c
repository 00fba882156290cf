/* SPDX-License-Identifier: BSD-3-Clause */
/* The states that break what a program relies on: WITCHER's figure 3 (g), and how they are put in order. */
#include "infer_util.h"

#include "crash/internal.h"

#define TOKEN(j) (64u * (j))
#define KEY(j) (4096u + 128u * (j))
#define VALUE(j) (8192u + 128u * (j))
#define L(...) ((const uint32_t[]){ __VA_ARGS__, 0 })

static const char code[] =
	MARKS "volatile int token, key, value;\n"
	      "int query(int k) {\n"
	      "  MARK(token); if (token) {\n"
	      "    MARK(key); if (key == k) {\n"
	      "      MARK(value); return value; } }\n"
	      "  return 0; }\n"
	      "void insert(int k) {\n"
	      "  MARK(ikey); key = k;\n"
	      "  MARK(ivalue); value = k;\n"
	      "  MARK(itoken); token = 1; }\n"
	      "int main(int argc, char **argv) { (void)argv; insert(argc); return query(argc); }\n";

static void insert(struct script *s, uint32_t j, bool ordered)
{
	op_begin(s, j);
	store(s, "m_ikey", KEY(j), j + 1, 8, NULL);
	store(s, "m_ivalue", VALUE(j), j + 1, 8, NULL);
	if (ordered) {
		flush(s, KEY(j));
		persist(s, VALUE(j));
	}
	store(s, "m_itoken", TOKEN(j), 1, 1, NULL);
	if (!ordered) {
		flush(s, KEY(j));
		flush(s, VALUE(j));
		fence(s);
	}
	persist(s, TOKEN(j));
	op_end(s, j);
}

static void query(struct script *s, uint32_t j)
{
	op_begin(s, 100 + j);
	uint32_t token = load_word(s, "m_token", TOKEN(j), 1);
	branch(s, "m_token", L(token));
	uint32_t key = load_word(s, "m_key", KEY(j), 8);
	branch(s, "m_key", L(key));
	load_word(s, "m_value", VALUE(j), 8);
	op_end(s, 100 + j);
}

struct planned {
	struct crash_history *h;
	struct crash_breaches all;
};

static struct planned plan(struct script *s, uint64_t most)
{
	struct err err = { 0 };
	struct planned p = { 0 };
	struct infer_ops *ops = infer_ops_read(s->r, NULL, &err);
	struct infer_beliefs *b = infer_beliefs_read(s->r, ops, model_find(NULL), NULL, &err);
	assert_non_null(b);
	assert_ok(trace_seek(s->r, 0, &err));
	p.h = crash_history_new(s->r, model_find(NULL), NULL, &err);
	assert_non_null(p.h);
	assert_true(p.h->dependences);
	crash_breaches_plan(&p.all, p.h, ops, b, most);
	infer_beliefs_free(b);
	infer_ops_free(ops);
	return p;
}

static void drop(struct planned *p, struct script *s)
{
	crash_history_free(p->h);
	VEC_FREE(&p->all.v);
	script_free(s);
}

/* What is there beside what is guaranteed: offsets in the file, each once. */
static size_t offsets(const struct planned *p, uint64_t *out)
{
	size_t n = 0;
	for (size_t i = 0; i < p->all.v.n; i++) {
		uint64_t off = p->h->line.p[p->all.v.p[i].line].off;
		size_t k = 0;
		while (k < n && out[k] != off)
			k++;
		if (k == n)
			out[n++] = off;
	}
	return n;
}

/* Before the first fence of the insert: the token alone, IMG1, and the key alone, IMG2. */
static void test_figure_3(void **state)
{
	struct script s;
	uint64_t off[16] = { 0 };
	(void)state;
	script_begin(&s, "table");
	frame(&s, 1, 0, NULL);
	insert(&s, 0, false);
	query(&s, 0);
	script_end(&s);
	struct planned p = plan(&s, 0);
	assert_int_equal(offsets(&p, off), 2);
	assert_int_equal(off[0], TOKEN(0)); /* the order that is broken comes first */
	assert_int_equal(off[1], KEY(0));
	for (size_t i = 1; i < p.all.v.n; i++)
		assert_int_equal(p.all.v.p[i].event, p.all.v.p[0].event);
	drop(&p, &s);
}

/* One of each cluster before the second of any; at most as many as are wanted. */
static void test_clusters(void **state)
{
	struct script s;
	(void)state;
	for (uint64_t most = 0; most < 3; most++) {
		script_begin(&s, "table");
		frame(&s, 1, 0, NULL);
		for (uint32_t j = 0; j < 10; j++)
			insert(&s, j, j != 7);
		for (uint32_t j = 0; j < 10; j++)
			query(&s, j);
		script_end(&s);
		struct planned p = plan(&s, most);
		/* only the eighth insert breaks the order: it is the first */
		assert_int_equal(p.all.v.p[0].kind, CRASH_BREACH_ORDER);
		assert_int_equal(p.h->line.p[p.all.v.p[0].line].off, TOKEN(7));
		for (size_t i = 1; i < p.all.v.n; i++) {
			assert_true(p.all.v.p[i].member >= p.all.v.p[i - 1].member);
			assert_true(!most || p.all.v.p[i].member < most);
		}
		assert_int_equal(p.all.v.p[p.all.v.n - 1].member, most ? most - 1 : 9);
		drop(&p, &s);
	}
}

static int setup(void **state)
{
	if (fixture_setup(state))
		return -1;
	write_text("table.c", code);
	run("cc -O0 -g -fPIE -pie table.c -o table");
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_figure_3),
		cmocka_unit_test(test_clusters),
	};
	return cmocka_run_group_tests(tests, setup, fixture_teardown);
}
