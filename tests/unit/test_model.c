/* SPDX-License-Identifier: BSD-3-Clause */
/* The models against their slow twin, and a few histories by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/model.h"
#include "model/reference.h"
#include "trace/internal.h"

#define BASE 0x10000000ull
#define SIZE 8192u
#define THREADS 3u

enum { SITE_STORE = 1, SITE_NT, SITE_CLFLUSH, SITE_CLWB, SITE_SFENCE };

static struct trace_defs defs;

static void add_site(uint32_t id, enum trace_site class)
{
	struct trace_site_def d = { .ip = 0x1000 + id, .class = class, .size = 8 };
	assert_int_not_equal(trace_defs_site(&defs, 0, id, &d), DEFS_BAD);
}

static int setup(void **state)
{
	struct trace_process_def p = { .pid = 1,
				       .parent_index = TRACE_NO_PROCESS,
				       .birth = TRACE_BIRTH_START,
				       .command = (char *)"x",
				       .command_len = 2 };
	struct trace_file_def f = { .dev = 1, .ino = 2, .size = SIZE, .path = (char *)"/pool" };
	(void)state;
	trace_defs_process(&defs, &p);
	trace_defs_file(&defs, &f);
	add_site(SITE_STORE, TRACE_SITE_STORE);
	add_site(SITE_NT, TRACE_SITE_NT_STORE);
	add_site(SITE_CLFLUSH, TRACE_SITE_CLFLUSH);
	add_site(SITE_CLWB, TRACE_SITE_CLWB);
	add_site(SITE_SFENCE, TRACE_SITE_SFENCE);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	trace_defs_free(&defs);
	return 0;
}

/* ---- events ---- */

static uint64_t counter;
static const uint8_t zeros[64];

static struct trace_event event(unsigned kind, uint32_t thread, uint32_t site)
{
	return (struct trace_event){ .num = counter++,
				     .kind = (uint8_t)kind,
				     .thread = thread,
				     .site = site,
				     .data = zeros };
}

static struct trace_event map_event(void)
{
	struct trace_event e = event(TRACE_MAP, 1, 0);
	e.flags = TRACE_F_PM;
	e.arg[0] = BASE;
	e.arg[1] = SIZE;
	return e;
}

static struct trace_event store_event(uint32_t thread, uint64_t off, uint32_t size, bool nt)
{
	struct trace_event e = event(TRACE_STORE, thread, nt ? SITE_NT : SITE_STORE);
	e.flags = nt ? TRACE_F_NT : 0;
	e.arg[0] = BASE + off;
	e.size = size;
	return e;
}

static struct trace_event flush_event(uint32_t thread, uint64_t off, uint32_t site)
{
	struct trace_event e = event(TRACE_FLUSH, thread, site);
	e.arg[0] = BASE + off;
	return e;
}

static struct trace_event random_event(unsigned *seed, unsigned lines)
{
	uint32_t thread = 1 + (unsigned)rand_r(seed) % THREADS;
	uint64_t line = (unsigned)rand_r(seed) % lines * 64u,
		 off = line + (unsigned)rand_r(seed) % 64;
	unsigned what = (unsigned)rand_r(seed) % 100;
	struct trace_event e;
	if (what < 50)
		return store_event(thread, off, 1u << ((unsigned)rand_r(seed) % 6), what < 8);
	if (what < 80)
		return flush_event(thread, off, what < 54 ? SITE_CLFLUSH : SITE_CLWB);
	if (what < 98)
		return event(TRACE_FENCE, thread, SITE_SFENCE);
	e = event(TRACE_SYNC, thread, 0);
	e.arg[0] = BASE + line;
	e.arg[1] = 64;
	e.arg[2] = what == 98 ? 4 : 1;
	return e;
}

/* ---- comparison ---- */

static void compare_byte(struct model *m, const struct reference *r, size_t off)
{
	const struct model_line *l = model_line_at(m, 0, BASE + off);
	uint64_t bit = 1ull << (off % 64);
	char got = !l || !(l->open & bit) ? 'g' : model_pending(m, l) & bit ? 'p' : 'd';
	assert_int_equal(got, model_reference_state(r, off));
	assert_int_equal(l && l->ever & bit, model_reference_ever(r, off));
	for (uint32_t id = 0; l && id < THREADS; id++)
		assert_int_equal((model_pending_by(m, l, id) & bit) != 0,
				 model_reference_pending_by(r, off, model_thread(m, id)->thread));
}

static void random_history(const struct model_ops *ops, unsigned events, unsigned lines,
			   unsigned every, unsigned seed)
{
	struct model *m = model_new(ops, &defs, NULL);
	struct reference *r = model_reference_new(ops->name, &defs, BASE, SIZE, 0);
	counter = 0;
	struct trace_event e = map_event();
	model_feed(m, &e);
	for (uint32_t t = 1; t <= THREADS; t++) { /* so that every thread is known */
		e = event(TRACE_FENCE, t, SITE_SFENCE);
		model_feed(m, &e);
	}
	for (unsigned i = 0; i < events; i++) {
		e = random_event(&seed, lines);
		model_feed(m, &e);
		model_reference_feed(r, &e);
		if (i % every == 0)
			for (size_t off = 0; off < lines * 64u; off++)
				compare_byte(m, r, off);
	}
	for (size_t off = 0; off < lines * 64u; off++)
		compare_byte(m, r, off);
	model_reference_free(r);
	model_free(m);
}

/* Small histories are compared after every event, a long one now and then. */
static void twins_agree(void **state)
{
	(void)state;
	for (size_t i = 0; model_at(i); i++) {
		for (unsigned seed = 1; seed <= 20; seed++)
			random_history(model_at(i), 300, 2, 1, seed);
		random_history(model_at(i), 1000000, 64, 9973, 99);
	}
}

/* ---- by hand ---- */

static struct model *fresh(const char *name)
{
	struct model *m = model_new(model_find(name), &defs, NULL);
	counter = 0;
	struct trace_event e = map_event();
	model_feed(m, &e);
	return m;
}

static void feed(struct model *m, struct trace_event e)
{
	model_feed(m, &e);
}

static void fence_of_another_thread_does_not_count(void **state)
{
	struct model *m = fresh("adr");
	(void)state;
	feed(m, store_event(1, 0, 8, false));
	feed(m, flush_event(1, 0, SITE_CLWB));
	feed(m, event(TRACE_FENCE, 2, SITE_SFENCE));
	assert_int_equal(model_line_at(m, 0, BASE)->open, 0xff);
	feed(m, event(TRACE_FENCE, 1, SITE_SFENCE));
	assert_int_equal(model_line_at(m, 0, BASE)->open, 0);
	model_free(m);
}

static void store_after_flush_is_dirty_again(void **state)
{
	struct model *m = fresh("adr");
	(void)state;
	feed(m, store_event(1, 0, 8, false));
	feed(m, flush_event(1, 0, SITE_CLWB));
	feed(m, store_event(1, 4, 8, false));
	feed(m, event(TRACE_FENCE, 1, SITE_SFENCE));
	assert_int_equal(model_line_at(m, 0, BASE)->open, 0xff0);
	assert_int_equal(model_line_at(m, 0, BASE)->ever, 0x00f);
	model_free(m);
}

static void eadr_needs_a_fence_for_non_temporal_stores_only(void **state)
{
	struct model *m = fresh("eadr");
	(void)state;
	feed(m, store_event(1, 0, 8, false));
	feed(m, store_event(1, 8, 8, true));
	assert_int_equal(model_line_at(m, 0, BASE)->open, 0xff00);
	feed(m, event(TRACE_FENCE, 1, SITE_SFENCE));
	assert_int_equal(model_line_at(m, 0, BASE)->open, 0);
	model_free(m);
}

static void msync_persists_pages_and_flushes_do_nothing(void **state)
{
	struct model *m = fresh("msync");
	struct trace_event e;
	(void)state;
	feed(m, store_event(1, 100, 8, false));
	feed(m, flush_event(1, 100, SITE_CLWB));
	feed(m, event(TRACE_FENCE, 1, SITE_SFENCE));
	assert_int_not_equal(model_line_at(m, 0, BASE + 100)->open, 0);
	e = event(TRACE_SYNC, 1, 0);
	e.arg[0] = BASE + 3000;
	e.arg[1] = 1;
	e.arg[2] = 4;
	feed(m, e);
	assert_int_equal(model_line_at(m, 0, BASE + 100)->open, 0);
	model_free(m);
}

static void volatile_ranges_are_left_alone(void **state)
{
	struct model *m = fresh("adr");
	struct trace_event e = event(TRACE_MARK_VOLATILE, 1, 0);
	(void)state;
	e.arg[0] = BASE + 8;
	e.arg[1] = 8;
	feed(m, e);
	feed(m, store_event(1, 0, 32, false));
	assert_int_equal(model_line_at(m, 0, BASE)->open, 0xffff00ff);
	model_free(m);
}

/* Ranges declared volatile and taken back, short and long, by the program and by a library, byte by byte. */
static void volatile_ranges_agree_with_a_byte_array(void **state)
{
	static uint8_t by_program[SIZE], by_library[SIZE];
	struct model *m = fresh("adr");
	unsigned seed = 5;
	(void)state;
	for (int i = 0; i < 3000; i++) {
		unsigned most = rand_r(&seed) % 8 ? 200 : SIZE, what = (unsigned)rand_r(&seed) % 8;
		uint64_t lo = (unsigned)rand_r(&seed) % SIZE,
			 n = 1 + (unsigned)rand_r(&seed) % most;
		n = lo + n > SIZE ? SIZE - lo : n;
		struct trace_event e = event(what == 0   ? TRACE_MARK_VOLATILE
					     : what <= 4 ? TRACE_HINT_UNMAP
							 : TRACE_HINT_MAP,
					     1, 0);
		e.arg[0] = BASE + lo;
		e.arg[1] = n;
		if (what == 0 && i % 50)
			continue;
		if (what <= 4 && lo == 0 && n == SIZE)
			continue; /* the pool is closed: nothing to do with it */
		feed(m, e);
		memset((what ? by_library : by_program) + lo, what <= 4, n);
		feed(m, store_event(1, (unsigned)rand_r(&seed) % (SIZE - 64), 64, false));
		for (unsigned k = 0; k < SIZE; k += i % 100 ? 61 : 1) {
			const struct model_line *l = model_line_at(m, 0, BASE + k);
			bool is = by_program[k] || by_library[k];
			assert_int_equal(model_is_volatile(m, 0, BASE + k), is);
			assert_false(is && l && l->open >> (k % 64) & 1);
		}
	}
	model_free(m);
}

static void an_unlinked_file_has_nothing_to_lose(void **state)
{
	struct model *m = fresh("adr");
	(void)state;
	feed(m, store_event(1, 0, 8, false));
	feed(m, event(TRACE_FILE_UNLINK, 1, 0));
	assert_int_equal(model_line_at(m, 0, BASE)->open, 0);
	model_free(m);
}

/* Stores `n` bytes, one by one or all at once, and persists them if that is wanted. */
static uint64_t put(struct model *m, const char *text, uint32_t n, bool at_once, bool persisted)
{
	for (uint32_t i = 0; i < n; i += at_once ? n : 1) {
		struct trace_event e = store_event(1, 13 + i, at_once ? n : 1, false);
		e.data = (const uint8_t *)text + i;
		feed(m, e);
	}
	if (persisted) {
		feed(m, flush_event(1, 13, SITE_CLWB));
		feed(m, event(TRACE_FENCE, 1, SITE_SFENCE));
	}
	return model_flight(m, model_line_at(m, 0, BASE))->same;
}

static void bytes_that_stay_the_same_are_told_from_others(void **state)
{
	struct model *m = fresh("adr");
	(void)state;
	uint64_t all = 0x7fffull << 13, third = 1ull << 15;
	put(m, "fifteen letters", 15, false, true);
	assert_int_equal(put(m, "fifteen letters", 15, false, false), all);
	assert_int_equal(put(m, "fisteen letters", 15, true, false), all & ~third);
	assert_int_equal(put(m, "fifteen letters", 15, false, false),
			 all & ~third); /* which is guaranteed? */
	put(m, "fifteen letters", 15, false, true);
	assert_int_equal(put(m, "fifteen letters", 15, true, false), all);
	assert_int_equal(put(m, "sixteen lettres", 15, false, false),
			 all & ~(1ull << 13 | third | 3ull << 25));
	model_free(m);
}

/* Bytes for each line of many, of which all are open or all but one are persistent. */
static size_t memory_of_a_line(bool persisted, unsigned size)
{
	struct model *m = fresh("adr");
	const unsigned lines = 100000;
	struct trace_event e = map_event();
	size_t memory;
	e.arg[1] = lines * 64u;
	feed(m, e);
	for (unsigned i = 0; i < lines; i++) {
		feed(m, store_event(1, i * 64u, size, false));
		if (persisted) {
			feed(m, flush_event(1, i * 64u, SITE_CLWB));
			feed(m, event(TRACE_FENCE, 1, SITE_SFENCE));
		}
	}
	assert_int_equal(model_lines(m), lines);
	memory = model_memory(m) / lines;
	model_free(m);
	return memory;
}

static void a_line_costs_less_than_100_bytes(void **state)
{
	(void)state;
	assert_true(memory_of_a_line(false, 8) <= 100);
	assert_true(memory_of_a_line(true, 8) <= 60);
	assert_true(memory_of_a_line(true, 4) <= 80); /* a piece of a word */
}

/* What lies on the stack below, and may so come into what is made there. */
static __attribute__((noinline)) void litter(uint8_t what)
{
	uint8_t stack[8192];
	memset(stack, what, sizeof stack);
	__asm__ volatile("" : : "r"(stack) : "memory");
}

static void feed_on_litter(struct model *m, struct trace_event e, uint8_t litter_of)
{
	litter(litter_of);
	model_feed(m, &e);
}

/* Lines whose open bytes were written by the same places have one set of writers, by whatever way each came to it. */
static void equal_writers_are_one_set(void **state)
{
	(void)state;
	struct model *m = model_new(model_find("adr"), &defs, NULL);
	counter = 0;
	struct trace_event e = map_event();
	model_feed(m, &e);
	for (uint64_t line = 0; line < SIZE; line += 128) {
		uint8_t other = (uint8_t)(line / 128 + 1);
		uint32_t size = 1 + (uint32_t)(line / 128) % 7; /* new steps for each */
		feed_on_litter(m, store_event(1, line, size, false), other);
		feed_on_litter(m, store_event(1, line + 64, 16, false), other);
		feed_on_litter(m, flush_event(1, line + 64, SITE_CLWB), other);
		feed_on_litter(m, store_event(1, line + 64, size, false), other);
		feed_on_litter(m, event(TRACE_FENCE, 1, SITE_SFENCE), (uint8_t)~other);
		const struct model_line *a = model_line_at(m, 0, BASE + line);
		uint32_t set = model_flight(m, a)->writers;
		const struct model_line *b = model_line_at(m, 0, BASE + line + 64);
		assert_int_equal(a->open, b->open);
		assert_int_not_equal(set, 0);
		assert_int_equal(model_flight(m, b)->writers, set);
	}
	model_free(m);
}

#define AUTHORS 24u

/* A line to which many places store by turns, without any flush, keeps all of them, however long that goes on. */
static void all_that_take_turns_are_kept(void **state)
{
	(void)state;
	struct model *m = model_new(model_find("adr"), &defs, NULL);
	uint32_t random = 1;
	counter = 0;
	struct trace_event e = map_event();
	model_feed(m, &e);
	for (uint32_t i = 0; i < 60000; i++) {
		e = store_event(1, 8, 8, false);
		random = random * 1664525u + 1013904223u;
		e.ctx = i < 1000 || i % 1000 == 0 ? 1 + (random >> 16) % AUTHORS : 1 + i % 2;
		model_feed(m, &e);
	}
	size_t n;
	const struct model_writer *w = model_writers(m, model_line_at(m, 0, BASE + 8), &n);
	assert_int_equal(n, AUTHORS);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(w[i].mask, 0xff00);
	model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(twins_agree),
		cmocka_unit_test(fence_of_another_thread_does_not_count),
		cmocka_unit_test(store_after_flush_is_dirty_again),
		cmocka_unit_test(eadr_needs_a_fence_for_non_temporal_stores_only),
		cmocka_unit_test(msync_persists_pages_and_flushes_do_nothing),
		cmocka_unit_test(volatile_ranges_are_left_alone),
		cmocka_unit_test(volatile_ranges_agree_with_a_byte_array),
		cmocka_unit_test(an_unlinked_file_has_nothing_to_lose),
		cmocka_unit_test(bytes_that_stay_the_same_are_told_from_others),
		cmocka_unit_test(equal_writers_are_one_set),
		cmocka_unit_test(all_that_take_turns_are_kept),
		cmocka_unit_test(a_line_costs_less_than_100_bytes),
	};
	return cmocka_run_group_tests_name("model", tests, setup, teardown);
}
