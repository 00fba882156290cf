/* SPDX-License-Identifier: BSD-3-Clause */
/* What is packed comes out as it went in, from either end, and takes little. */
#include "crash_util.h"

#define RECORDS 5000u
#define LINE 4096u

struct twin {
	struct crash_record r;
	uint8_t bytes[LINE];
	bool zero;
};

/* Mostly small numbers and zeros, as programs store them. */
static void fill(uint8_t *p, size_t n)
{
	memset(p, 0, n);
	for (size_t i = 0; i < n; i++)
		if (i % 8 < rnd() % 9 && rnd() % 2)
			p[i] = (uint8_t)rnd();
}

static struct twin *make(struct crash_records *s)
{
	struct twin *t = xcalloc(RECORDS, sizeof *t);
	uint64_t event = 7;
	for (size_t i = 0; i < RECORDS; i++) {
		bool whole = rnd() % 4 == 0;
		size_t most = whole ? LINE : rnd() % 8 ? 64 : 2040, len = 1 + rnd() % most;
		size_t off = rnd() % (LINE - len + 1);
		off -= !whole && len > 2030 ? off % 8 : 0; /* CRASH_MOST_PIECES */
		event += rnd() % 3 + (rnd() % 500 == 0 ? 1ull << 33 : 0);
		t[i].r = (struct crash_record){ .event = event,
						.line = (uint32_t)(rnd() % 3 ? i / 9 : rnd()),
						.place = (uint32_t)(rnd() % 3 ? 5 : rnd()),
						.thread = (uint32_t)(rnd() % 9 ? 0 : rnd()),
						.off = (uint16_t)off,
						.len = (uint16_t)len,
						.whole = whole };
		t[i].zero = rnd() % 50 == 0;
		if (!t[i].zero)
			fill(t[i].bytes, len);
		t[i].r.bytes = t[i].zero ? NULL : t[i].bytes;
		crash_records_add(s, &t[i].r);
	}
	return t;
}

/* The first k pieces and no more; the pieces are one behind the other, up to multiples of eight. */
static void same_pieces(const struct crash_record *r, const struct twin *t, unsigned k)
{
	uint8_t line[LINE], should[LINE];
	uint16_t off, len, end = r->off;
	for (unsigned i = 0; i < k; i++) {
		crash_record_piece(r, i, &off, &len);
		assert_int_equal(off, end);
		assert_true(len > 0 && (r->whole || off / 8 == (off + len - 1) / 8));
		end = (uint16_t)(off + len);
	}
	memset(line, 0xa5, sizeof line);
	memset(should, 0xa5, sizeof should);
	memcpy(should + r->off, t->bytes, (size_t)(end - r->off));
	crash_record_apply(r, k, line);
	assert_memory_equal(line, should, sizeof line);
	assert_true(k < r->pieces || end == r->off + r->len);
}

static void same_record(const struct crash_records *s, size_t i, const struct twin *t)
{
	const struct crash_record *r = crash_record_at(s, i);
	assert_true(r->event == t->r.event && r->line == t->r.line && r->place == t->r.place);
	assert_true(r->thread == t->r.thread && r->off == t->r.off && r->len == t->r.len);
	assert_true(r->piece == t->r.piece && r->pieces == t->r.pieces);
	assert_true(r->zero == t->zero && (t->zero || r->whole == t->r.whole));
	same_pieces(r, t, r->pieces);
	same_pieces(r, t, (unsigned)(rnd() % (r->pieces + 1u)));
}

static void records_come_out_as_they_went_in(void **state)
{
	struct crash_records s = { 0 };
	struct twin *t = make(&s);
	(void)state;
	assert_int_equal(s.n, RECORDS);
	for (size_t i = 0; i < RECORDS; i++)
		same_record(&s, i, &t[i]);
	for (size_t i = RECORDS; i-- > 0;)
		same_record(&s, i, &t[i]);
	for (size_t i = 0; i < 4 * RECORDS; i++) {
		size_t piece = rnd() % s.pieces, at = crash_record_with(&s, piece);
		assert_true(t[at].r.piece <= piece && piece < t[at].r.piece + t[at].r.pieces);
		same_record(&s, at, &t[at]);
	}
	free(t);
	crash_records_free(&s);
}

/* A store of 32 bytes with a pointer and a count takes 24 bytes, not 176. */
static void records_are_small(void **state)
{
	struct crash_records s = { 0 };
	uint64_t value[4] = { 0, 0x7f0012345678, 0, 3 };
	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		struct crash_record r = { .event = 2ull * i,
					  .bytes = (const uint8_t *)value,
					  .line = i / 2 % 5000,
					  .place = i % 700,
					  .off = i % 2 * 32,
					  .len = 32 };
		crash_records_add(&s, &r);
	}
	assert_true(s.packed.n + s.base.n * sizeof *s.base.p < 24u * s.n);
	crash_records_free(&s);
}

/* Events above what a column's rows can hold. */
static void columns_of_events_do_not_wrap(void **state)
{
	struct crash_when w = { 0 };
	uint64_t event[300];
	(void)state;
	for (size_t i = 0; i < 300; i++) {
		event[i] = (i ? event[i - 1] : 5) +
			   (rnd() % 20 == 0 ? rnd() % (3ull << 33) : rnd() % 4);
		crash_when_add(&w, event[i]);
	}
	assert_true(event[299] >> 32 > 2);
	for (size_t i = 0; i < 300; i++)
		assert_int_equal(crash_when(&w, i), event[i]);
	VEC_FREE(&w.low);
	VEC_FREE(&w.carry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_out_as_they_went_in),
		cmocka_unit_test(records_are_small),
		cmocka_unit_test(columns_of_events_do_not_wrap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
