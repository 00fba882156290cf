/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of a repair: the listings of HIPPOCRATES as data, reduction, hoisting, its limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "repair/repair.h"

#define BOTH (REPAIR_FLUSH | REPAIR_FENCE)
#define AT(fn, ln)                                                                                 \
	{                                                                                          \
		.file = "a.c", .function = fn, .line = ln                                          \
	}

static struct repair_plan make(const struct repair_bug *b, size_t n)
{
	struct repair_plan p;
	repair_make(b, n, NULL, &p);
	return p;
}

static void is_fix(const struct repair_fix *f, enum repair_form form, unsigned acts, uint32_t line)
{
	assert_int_equal(f->form, form);
	assert_int_equal(f->acts, acts);
	assert_int_equal(f->at.line, line);
}

static void one_fix(const struct repair_bug *b, enum repair_form form, unsigned acts, uint32_t line)
{
	struct repair_plan p = make(b, 1);
	assert_int_equal(p.fix.n, 1);
	is_fix(&p.fix.p[0], form, acts, line);
	repair_free(&p);
}

/* 3.1: a store with neither, in one function. */
static void listing_1(void **state)
{
	struct repair_site s[] = { { .at = AT("f", 2) } };
	(void)state;
	one_fix(&(struct repair_bug){ "1", BOTH, s, 1, 0 }, REPAIR_STORE, BOTH, 2);
}

/* 3.2: memcpy is nobody's to change, but its arguments say what it writes. */
static void listing_2(void **state)
{
	struct repair_site s[] = {
		{ .at = { .function = "memcpy" }, .no_edit = "memcpy has no source" },
		{ .at = AT("f", 2), .pointers = true, .range = true },
	};
	(void)state;
	one_fix(&(struct repair_bug){ "1", BOTH, s, 2, 1 }, REPAIR_RANGE, BOTH, 2);
	s[1].range = false;
	struct repair_plan p = make(&(struct repair_bug){ "1", BOTH, s, 2, 1 }, 1);
	assert_int_equal(p.fix.n, 0);
	assert_string_equal(p.none.p[0].why, "memcpy has no source");
	repair_free(&p);
}

/* 3.3: flushed, not fenced; 3.4: fenced, not flushed. */
static void listings_3_and_4(void **state)
{
	struct repair_site s[] = { { .at = AT("foo", 2) } };
	struct repair_bug b = { "1", REPAIR_FENCE, s, 1, 0, .flush = AT("foo", 3) };
	(void)state;
	one_fix(&b, REPAIR_FLUSHED, REPAIR_FENCE, 3);
	b.until = (struct repair_place)AT("foo", 7);
	one_fix(&b, REPAIR_BEFORE, REPAIR_FENCE, 7);
	b.until = (struct repair_place)AT("bar",
					  9); /* one fence there, however often foo is called */
	one_fix(&b, REPAIR_BEFORE, REPAIR_FENCE, 9);
	b = (struct repair_bug){ "1", REPAIR_FLUSH, s, 1, 0 };
	one_fix(&b, REPAIR_STORE, REPAIR_FLUSH, 2);
}

/* 3.5 and 3.6: update is called by modify, that by foo, once with PM and often without. */
static struct repair_site hoisted[] = {
	{ .at = AT("update", 2), .counts = { true, 1, 0, 1000 } },
	{ .at = AT("modify", 6), .counts = { true, 1, 0, 1000 }, .pointers = true },
	{ .at = AT("foo", 25), .counts = { true, 1, 0, 0 }, .pointers = true },
	{ .at = AT("main", 40), .counts = { true, 1, 0, 0 }, .pointers = true },
};

static void listings_5_and_6(void **state)
{
	struct repair_bug b = { "1", BOTH, hoisted, 4, 2 };
	(void)state;
	struct repair_plan p = make(&b, 1);
	is_fix(&p.fix.p[0], REPAIR_COPY, BOTH, 25);
	assert_int_equal(p.fix.p[0].site, 2);
	assert_int_equal(p.fix.p[0].rejected.n, 2);
	repair_free(&p);
	struct repair_opts o = { .no_hoist = true };
	repair_make(&b, 1, &o, &p);
	is_fix(&p.fix.p[0], REPAIR_STORE, BOTH, 2);
	repair_free(&p);
}

/* Whoever calls the function that holds I is never taken, and what ends the walk does. */
static void limits(void **state)
{
	struct repair_site s[4];
	(void)state;
	memcpy(s, hoisted, sizeof s);
	one_fix(&(struct repair_bug){ "1", BOTH, s, 4, 1 }, REPAIR_STORE, BOTH, 2);
	s[1].indirect = true;
	one_fix(&(struct repair_bug){ "1", BOTH, s, 4, 2 }, REPAIR_STORE, BOTH, 2);
	s[1].indirect = false;
	s[1].pointers = false;
	one_fix(&(struct repair_bug){ "1", BOTH, s, 4, 2 }, REPAIR_STORE, BOTH, 2);
	memcpy(s, hoisted, sizeof s);
	s[2].no_copy = "it has a static variable";
	one_fix(&(struct repair_bug){ "1", BOTH, s, 4, 2 }, REPAIR_STORE, BOTH, 2);
	s[2].range = true;
	one_fix(&(struct repair_bug){ "1", BOTH, s, 4, 2 }, REPAIR_RANGE, BOTH, 25);
	s[2].counts.known = false;
	one_fix(&(struct repair_bug){ "1", BOTH, s, 4, 2 }, REPAIR_STORE, BOTH, 2);
}

/* The flush of an object behind a call serves what else the call stores there, but nothing beside it. */
static void covered(void **state)
{
	static const uint64_t stored[] = { 0x108, 0x150, 0x188 };
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct repair_site part[] = { hoisted[0], hoisted[1] },
				   other[] = { hoisted[0], hoisted[1] };
		part[1].counts = other[1].counts = hoisted[2].counts;
		part[1].range = true;
		part[1].from = 0x100;
		part[1].to = 0x180;
		other[0].at.line = 3;
		struct repair_bug b[] = { { "1", REPAIR_FLUSH, part, 2, 1, .stored = 0x100 },
					  { "2", BOTH, other, 2, 1, .stored = stored[i] } };
		struct repair_plan p = make(b, 2);
		assert_int_equal(p.fix.n, i < 2 ? 1 : 2);
		is_fix(&p.fix.p[0], REPAIR_RANGE, i < 2 ? BOTH : REPAIR_FLUSH, 6);
		assert_int_equal(p.fix.p[0].bugs.n, i < 2 ? 2 : 1);
		repair_free(&p);
	}
}

/* Calls that others persist count as much as volatile ones: 10 bugs, 1000 persisted, 500 volatile. */
static void already_persisted(void **state)
{
	struct repair_site s[] = {
		{ .at = AT("set", 2), .counts = { true, 10, 1000, 500 } },
		{ .at = AT("put", 9), .counts = { true, 10, 0, 0 }, .pointers = true },
	};
	(void)state;
	one_fix(&(struct repair_bug){ "1", BOTH, s, 2, 1 }, REPAIR_COPY, BOTH, 9);
	s[1].counts.persisted = 1500;
	one_fix(&(struct repair_bug){ "1", BOTH, s, 2, 1 }, REPAIR_STORE, BOTH, 2);
}

static void reduction(void **state)
{
	struct repair_site s[] = { { .at = AT("f", 2), .block = 5 },
				   { .at = AT("f", 3), .block = 5 } };
	struct repair_bug b[] = { { "1", BOTH, &s[0], 1, 0, .line = 7 },
				  { "2", BOTH, &s[1], 1, 0, .line = 7 } };
	(void)state;
	struct repair_plan p = make(b, 2); /* one line, one block: after the later store */
	assert_int_equal(p.fix.n, 1);
	is_fix(&p.fix.p[0], REPAIR_STORE, BOTH, 3);
	assert_int_equal(p.fix.p[0].bugs.n, 2);
	repair_free(&p);
	s[1].block = 6;
	p = make(b, 2);
	assert_int_equal(p.fix.n, 2);
	repair_free(&p);
	s[1].block = 5;
	b[1].line = 8; /* their order may matter */
	p = make(b, 2);
	assert_int_equal(p.fix.n, 2);
	repair_free(&p);
	b[0].until = b[1].until = (struct repair_place)AT("f", 9); /* … but not before line 9 */
	p = make(b, 2);
	assert_int_equal(p.fix.n, 3);
	is_fix(&p.fix.p[0], REPAIR_STORE, REPAIR_FLUSH, 2);
	is_fix(&p.fix.p[1], REPAIR_BEFORE, REPAIR_FENCE, 9);
	is_fix(&p.fix.p[2], REPAIR_STORE, REPAIR_FLUSH, 3);
	assert_int_equal(p.fix.p[1].bugs.n, 2);
	repair_free(&p);
}

static void idiom_is(const struct repair_idiom *i, unsigned acts, const char *expected)
{
	char *text = repair_idiom_text(i, acts, "&p->x", "sizeof(p->x)");
	assert_string_equal(text, expected);
	free(text);
}

static void idioms(void **state)
{
	struct repair_idiom i = { .flush = xstrdup("fl(%a, %n)"), .fence = xstrdup("fe()") };
	(void)state;
	idiom_is(&i, REPAIR_FLUSH, "fl(&p->x, sizeof(p->x));");
	idiom_is(&i, BOTH, "fl(&p->x, sizeof(p->x));\nfe();");
	i.persist = xstrdup("persist(pop, %a, %n)");
	idiom_is(&i, BOTH, "persist(pop, &p->x, sizeof(p->x));");
	idiom_is(&i, REPAIR_FENCE, "fe();");
	free(i.fence);
	i.fence = NULL;
	idiom_is(&i, REPAIR_FENCE, "");
	repair_idiom_free(&i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listing_1),
		cmocka_unit_test(listing_2),
		cmocka_unit_test(listings_3_and_4),
		cmocka_unit_test(listings_5_and_6),
		cmocka_unit_test(limits),
		cmocka_unit_test(covered),
		cmocka_unit_test(already_persisted),
		cmocka_unit_test(reduction),
		cmocka_unit_test(idioms),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
