/* SPDX-License-Identifier: BSD-3-Clause */
/* Who stores to PM and elsewhere, and what becomes of it: by places in the source, along call paths. */
#include "infer_util.h"

/* Lines count from the first line of the file, in which MARKS takes one. */
static const char mix_code[] = MARKS "volatile int word;\n"
				     "__attribute__((noinline)) void update(int v) {\n"
				     "  MARK(store); word = v; }\n"
				     "__attribute__((noinline)) void modify(int v) {\n"
				     "  MARK(inner); update(v); }\n"
				     "int main(int argc, char **argv) { (void)argv;\n"
				     "  MARK(first); modify(argc);\n"
				     "  MARK(second); modify(argc);\n"
				     "  return 0; }\n";
enum { STORE_LINE = 4, INNER_LINE = 6, FIRST_LINE = 8, SECOND_LINE = 9 };
enum { MAIN = TRACE_CTX_FIRST, FIRST, FIRST_UPDATE, SECOND, SECOND_UPDATE };

static void ctx(struct script *s, uint32_t id, uint32_t parent, const char *call, const char *to)
{
	struct trace_ctx_def def = { parent, BIAS + symbol(s->program, call),
				     BIAS + symbol(s->program, to) };
	struct err err = { 0 };
	assert_ok(trace_put_ctx(s->w, 0, id, &def, &err));
}

static void begin(struct script *s)
{
	script_begin(s, "mix");
	ctx(s, MAIN, TRACE_CTX_ROOT, "main", "main");
	ctx(s, FIRST, MAIN, "m_first", "modify");
	ctx(s, FIRST_UPDATE, FIRST, "m_inner", "update");
	ctx(s, SECOND, MAIN, "m_second", "modify");
	ctx(s, SECOND_UPDATE, SECOND, "m_inner", "update");
}

static void store_in(struct script *s, uint32_t where, uint32_t off)
{
	put(s, (struct trace_event){ .kind = TRACE_STORE,
				     .site = site_of(s, "m_store", TRACE_SITE_STORE),
				     .ctx = where,
				     .arg = { PM + off },
				     .size = 4,
				     .data = (const uint8_t *)"abcd" });
}

static void elsewhere(struct script *s, uint32_t where, uint64_t count)
{
	put(s, (struct trace_event){ .kind = TRACE_VOLATILE,
				     .site = site_of(s, count ? "m_store" : "", TRACE_SITE_STORE),
				     .arg = { where, count } });
}

static void expect(const struct infer_profile *p, size_t n, uint32_t outer, uint64_t lost,
		   uint64_t persisted, uint64_t other)
{
	char *file = xstrdup(in_dir("mix.c"));
	struct infer_at path[] = { { "update", file, STORE_LINE },
				   { "modify", file, INNER_LINE },
				   { "main", file, outer } };
	struct infer_uses u = infer_profile_uses(p, path, n);
	assert_int_equal(u.lost, lost);
	assert_int_equal(u.persisted, persisted);
	assert_int_equal(u.elsewhere, other);
	free(file);
}

/* Each site on the way sees what comes through it: the call for PM only has nothing in vain. */
static void test_by_path(void **state)
{
	struct script s;
	(void)state;
	begin(&s);
	store_in(&s, SECOND_UPDATE, 0);
	elsewhere(&s, 0, 0);
	elsewhere(&s, FIRST_UPDATE, 1000);
	script_end(&s);
	struct infer_profile *p = infer_profile_read(s.r, model_find("adr"));
	assert_true(infer_profile_counted(p));
	expect(p, 1, 0, 1, 0, 1000);
	expect(p, 2, 0, 1, 0, 1000);
	expect(p, 3, FIRST_LINE, 0, 0, 1000);
	expect(p, 3, SECOND_LINE, 1, 0, 0);
	infer_profile_free(p);
	script_free(&s);
}

/* Persisted by whoever flushes the line; a store that another replaces goes with it; one after the flush is lost. */
static void test_fates(void **state)
{
	struct script s;
	(void)state;
	begin(&s);
	store_in(&s, FIRST_UPDATE, 0);
	store_in(&s, FIRST_UPDATE, 0);
	store_in(&s, SECOND_UPDATE, 8);
	persist(&s, 0);
	store_in(&s, SECOND_UPDATE, 64);
	flush(&s, 64);
	store_in(&s, FIRST_UPDATE, 128);
	script_end(&s);
	struct infer_profile *p = infer_profile_read(s.r, model_find("adr"));
	assert_false(infer_profile_counted(p));
	expect(p, 1, 0, 2, 3, 0);
	expect(p, 3, FIRST_LINE, 1, 2, 0);
	expect(p, 3, SECOND_LINE, 1, 1, 0);
	infer_profile_free(p);
	/* where caches survive, nothing is lost */
	p = infer_profile_read(s.r, model_find("eadr"));
	expect(p, 1, 0, 0, 5, 0);
	infer_profile_free(p);
	script_free(&s);
}

static int setup(void **state)
{
	if (fixture_setup(state))
		return -1;
	write_text("mix.c", mix_code);
	run("cc -O0 -g -fPIE -pie mix.c -o mix");
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_path),
		cmocka_unit_test(test_fates),
	};
	return cmocka_run_group_tests(tests, setup, fixture_teardown);
}
