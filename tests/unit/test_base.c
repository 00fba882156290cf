/* SPDX-License-Identifier: BSD-3-Clause */
/* src/base: containers against slow, obvious twins. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

static uint64_t rnd_state = 88172645463325252u;

static uint64_t rnd(void)
{
	rnd_state ^= rnd_state << 13;
	rnd_state ^= rnd_state >> 7;
	rnd_state ^= rnd_state << 17;
	return rnd_state;
}

static void errors_have_text_and_status(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(err_set(&e, EXIT_USAGE, "no %s", "way"), -1);
	assert_string_equal(e.text, "no way");
	assert_int_equal(e.status, EXIT_USAGE);
	errno = ENOENT;
	assert_int_equal(err_errno(&e, EXIT_PROGRAM, "cannot open %d", 7), -1);
	assert_string_equal(e.text, "cannot open 7: No such file or directory");
	assert_int_equal(e.status, EXIT_PROGRAM);
	assert_int_equal(err_set(NULL, EXIT_USAGE, "x"), -1);
}

static void long_errors_are_cut(void **state)
{
	struct err e;
	char big[3000];

	(void)state;
	memset(big, 'x', sizeof big);
	big[sizeof big - 1] = '\0';
	errno = EIO;
	err_errno(&e, EXIT_USAGE, "%s", big);
	assert_int_equal(strlen(e.text), sizeof e.text - 1);
}

static void vectors_grow(void **state)
{
	VEC(uint64_t) v = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 100000; i++)
		VEC_PUSH(&v, i * i);
	assert_int_equal(v.n, 100000);
	for (uint64_t i = 0; i < v.n; i++)
		assert_int_equal(v.p[i], i * i);
	VEC_FREE(&v);
	assert_null(v.p);
}

static void bufs_are_strings(void **state)
{
	struct buf b = { 0 };

	(void)state;
	buf_puts(&b, "one");
	buf_printf(&b, " %d %s", 2, "three");
	buf_add(&b, "\0x", 2);
	assert_int_equal(b.n, strlen("one 2 three") + 2);
	assert_string_equal(b.p, "one 2 three");
	for (int i = 0; i < 10000; i++)
		buf_printf(&b, "%d,", i);
	assert_int_equal(b.p[b.n], '\0');
	buf_free(&b);
}

/* Against an array: keys come from a small set so that they meet again. */
static void hmap_is_a_map(void **state)
{
	enum { KEYS = 700 };
	struct hmap m = { 0 };
	uint64_t want[KEYS] = { 0 }, got;
	size_t n = 0;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		unsigned k = rnd() % KEYS;
		uint64_t key = k * 0x100000000u; /* keys that differ in high bits only */

		if (rnd() % 3) {
			n += !want[k];
			want[k] = rnd() | 1;
			hmap_put(&m, key, want[k]);
		} else {
			assert_int_equal(hmap_del(&m, key), want[k] != 0);
			n -= want[k] != 0;
			want[k] = 0;
		}
		assert_int_equal(m.n, n);
		k = rnd() % KEYS;
		got = 0;
		assert_int_equal(hmap_get(&m, k * 0x100000000u, &got), want[k] != 0);
		assert_int_equal(got, want[k]);
	}
	for (unsigned k = 0; k < KEYS; k++)
		assert_int_equal(hmap_get(&m, k * 0x100000000u, NULL), want[k] != 0);
	hmap_free(&m);
	assert_false(hmap_get(&m, 0, NULL));
}

/* Against one value per address. */
static void imap_is_a_map_of_ranges(void **state)
{
	enum { SPACE = 300 };
	struct imap m = { 0 };
	uint64_t want[SPACE] = { 0 };

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint64_t lo = rnd() % SPACE, hi = lo + rnd() % (SPACE - lo + 1);
		uint64_t val = rnd() % 5 ? rnd() % 100 + 1 : 0;

		if (val)
			imap_set(&m, lo, hi, val);
		else
			imap_clear(&m, lo, hi);
		for (uint64_t a = lo; a < hi; a++)
			want[a] = val;
		for (uint64_t a = 0; a < SPACE; a++) {
			const struct imap_item *it = imap_find(&m, a);

			assert_int_equal(it ? it->val : 0, want[a]);
			assert_true(!it || (it->lo <= a && a < it->hi));
		}
		for (size_t k = 1; k < m.n; k++)
			assert_true(m.p[k - 1].hi <= m.p[k].lo && m.p[k].lo < m.p[k].hi);
	}
	imap_free(&m);
}

static void imap_at_the_edges(void **state)
{
	struct imap m = { 0 };

	(void)state;
	assert_null(imap_find(&m, 0));
	imap_set(&m, 5, 5, 1);
	assert_int_equal(m.n, 0);
	imap_set(&m, 0, UINT64_MAX, 1);
	imap_clear(&m, 10, 20);
	assert_int_equal(m.n, 2);
	assert_null(imap_find(&m, 10));
	assert_non_null(imap_find(&m, 20));
	assert_non_null(imap_find(&m, UINT64_MAX - 1));
	assert_null(imap_find(&m, UINT64_MAX));
	imap_free(&m);
}

static void hashes_spread(void **state)
{
	(void)state;
	assert_int_not_equal(hash_bytes("a", 1), hash_bytes("b", 1));
	assert_int_not_equal(hash_bytes("a", 1), hash_seeded("a", 1, 1));
	assert_int_not_equal(hash_mix(1, 2), hash_mix(2, 1));
	/* The published XXH3-64 of nothing: traces depend on it. */
	assert_true(hash_bytes("", 0) == 0x2d06800538d394c2u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_have_text_and_status),
		cmocka_unit_test(long_errors_are_cut),
		cmocka_unit_test(vectors_grow),
		cmocka_unit_test(bufs_are_strings),
		cmocka_unit_test(hmap_is_a_map),
		cmocka_unit_test(imap_is_a_map_of_ranges),
		cmocka_unit_test(imap_at_the_edges),
		cmocka_unit_test(hashes_spread),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
