/* SPDX-License-Identifier: BSD-3-Clause */
/* Known causes in states that are yet to be tested, and what lies beside a window. */
#include "crash_util.h"
#include "crash/window.h"

enum { LOST = SITE_STORE, OPENS = SITE_NT, CLOSES = SITE_CLWB, OTHER = SITE_SFENCE };

struct bench {
	struct batch batch;
	struct tale *tale;
	struct crash c;
	struct crash_state out;
};

static void store(struct bench *b, unsigned site, uint32_t line)
{
	add_store(b->tale, line * 64, 8, 1);
	b->tale->act.p[b->tale->act.n - 1].site = (uint8_t)site;
}

static void set_up(struct bench *b)
{
	*b = (struct bench){ .batch = { .model = model_find("adr") } };
	b->tale = add_tale(&b->batch, 4);
}

/* Every place is a statement of its own. */
static void open_bench(struct bench *b)
{
	open_batch(&b->batch);
	b->c.h = b->batch.h;
	crash_cursor_init(&b->c.searching, b->batch.h);
	for (size_t i = 0; i < b->batch.h->place.n; i++)
		VEC_PUSH(&b->c.statement, i + 1);
}

static void tear_down(struct bench *b)
{
	for (size_t i = 0; i < b->c.cause.n; i++)
		crash_cause_free(&b->c.cause.p[i]);
	VEC_FREE(&b->c.cause);
	VEC_FREE(&b->c.statement);
	crash_state_free(&b->out);
	crash_cursor_free(&b->c.searching);
	free_batch(&b->batch);
}

/* The crash comes before that act, and a line lacks everything. */
static struct crash_state state_at(struct bench *b, size_t act, uint32_t line)
{
	struct crash_state s = { .event = b->tale->first + act };
	VEC_PUSH(&s.at, ((struct crash_at){ b->tale->id[line], 0 }));
	return s;
}

/* The window is between the second store and the third; `persists`: the first is persisted in it. */
static bool leave(struct bench *b, bool persists)
{
	struct crash_cause window = { .prefix = true, .persisted = 1 };
	set_up(b);
	store(b, LOST, 0);
	store(b, OPENS, 1);
	if (persists)
		add_persist(b->tale, 0);
	store(b, CLOSES, 2);
	store(b, OTHER, 3);
	open_bench(b);
	VEC_PUSH(&window.lost, 2);
	struct crash_state s = state_at(b, 2, 0);
	bool left = crash_leave_window(&b->c, &window, &s, &b->out);
	crash_state_free(&s);
	crash_cause_free(&window);
	return left;
}

static void a_window_is_left_where_it_closes(void **state)
{
	struct bench b;
	(void)state;
	assert_true(leave(&b, false));
	assert_int_equal(b.out.event, b.tale->first + 3);
	assert_int_equal(b.out.at.n, 1);
	assert_int_equal(b.out.at.p[0].line, b.tale->id[0]);
	assert_int_equal(b.out.at.p[0].version, 0);
	tear_down(&b);
	assert_false(leave(&b, true)); /* nothing is lost there any more */
	tear_down(&b);
}

/* The state lacks the store that opens the window, and what the same statements store to others; is that told? */
static bool is_apart(unsigned lost)
{
	struct crash_cause window = { .prefix = true, .persisted = 2 };
	struct crash_cause cause = { .persisted = 3 };
	struct bench b;
	set_up(&b);
	store(&b, OPENS, 0);
	store(&b, lost, 1);
	store(&b, OPENS, 2);
	store(&b, OTHER, 3);
	open_bench(&b);
	VEC_PUSH(&window.lost, lost == CLOSES ? 1 : 3);
	VEC_PUSH(&cause.lost, 1);
	VEC_PUSH(&cause.lost, 2);
	cause.state = state_at(&b, 3, 1);
	VEC_PUSH(&cause.state.at, ((struct crash_at){ b.tale->id[2], 0 }));
	bool apart = crash_stands_apart(&b.c, &window, &cause);
	assert_int_equal(cause.apart, 3);
	assert_int_equal(cause.lost.n, apart);
	crash_cause_free(&window);
	crash_cause_free(&cause);
	tear_down(&b);
	return apart;
}

static void what_shares_a_statement_with_a_window_stands_apart(void **state)
{
	(void)state;
	assert_true(is_apart(OPENS)); /* another object */
	assert_true(is_apart(LOST));
	assert_false(is_apart(CLOSES)); /* of the window that the first store has opened */
}

/* Where the first one ends was not found. */
static void a_window_is_one_wherever_its_end_is_known(void **state)
{
	struct crash_cause open = { .prefix = true, .persisted = 0 };
	struct crash_cause whole = { .prefix = true, .persisted = 0, .wrong_order = true };
	struct bench b;
	(void)state;
	set_up(&b);
	store(&b, OPENS, 0);
	store(&b, CLOSES, 1);
	open_bench(&b);
	VEC_PUSH(&whole.lost, 1);
	assert_int_equal(crash_cause_add(&b.c, &open), 0);
	assert_int_equal(crash_cause_add(&b.c, &whole), 0);
	assert_int_equal(b.c.cause.n, 1);
	assert_int_equal(b.c.cause.p[0].lost.n, 1);
	assert_true(b.c.cause.p[0].wrong_order);
	tear_down(&b);
}

/* Established causes are healed, and nothing else is. */
static void what_is_established_is_healed(void **state)
{
	struct crash_cause cause = { .persisted = UINT32_MAX, .sure = 10 };
	struct bench b;
	(void)state;
	set_up(&b);
	store(&b, LOST, 0);
	store(&b, OTHER, 1);
	open_bench(&b);
	VEC_PUSH(&cause.lost, 0);
	VEC_PUSH(&b.c.cause, cause);
	struct crash_state s = state_at(&b, 2, 0);
	VEC_PUSH(&s.at, ((struct crash_at){ b.tale->id[1], 0 }));
	crash_heal_known(&b.c, &s, 10 + CRASH_WINDOW); /* its verdict may not be there yet */
	assert_int_equal(s.at.n, 2);
	struct crash_state soon = state_at(&b, 2, 0);
	VEC_PUSH(&soon.at, ((struct crash_at){ b.tale->id[1], 0 }));
	b.c.certain = 10; /* all before the tenth have been waited for */
	crash_heal_known(&b.c, &soon, 10);
	assert_int_equal(soon.at.n, 1);
	crash_state_free(&soon);
	b.c.certain = 0;
	crash_heal_known(&b.c, &s, 11 + CRASH_WINDOW);
	assert_int_equal(s.at.n, 1);
	assert_int_equal(s.at.p[0].line, b.tale->id[1]);
	crash_heal_known(&b.c, &s, 11 + CRASH_WINDOW);
	assert_int_equal(s.at.n, 1);
	crash_state_free(&s);
	tear_down(&b);
}

/* The third time makes it sure. */
static void three_times_are_sure(void **state)
{
	struct bench b;
	(void)state;
	set_up(&b);
	store(&b, LOST, 0);
	store(&b, OTHER, 1);
	open_bench(&b);
	b.c.settling = 41;
	for (unsigned i = 1; i <= 4; i++) {
		struct crash_cause same = { .persisted = 1, .count = 1 };
		VEC_PUSH(&same.lost, 0);
		assert_int_equal(crash_cause_add(&b.c, &same), 0);
		assert_int_equal(b.c.cause.p[0].count, i);
		assert_int_equal(b.c.cause.p[0].sure, i < 3 ? 0 : 42);
	}
	struct crash_cause other = { .persisted = 1, .count = 1, .verdict = { .status = 3 } };
	VEC_PUSH(&other.lost, 0);
	assert_int_equal(crash_cause_add(&b.c, &other), 1);
	assert_int_equal(b.c.counts.causes, 2);
	tear_down(&b);
}

/* The window is between the second store and the third, and recovery hangs there; the crash comes before act `at`. */
static bool hangs(size_t at, uint32_t lost, bool again)
{
	struct crash_cause window = { .prefix = true, .persisted = 1, .sure = 1 };
	struct bench b;
	window.verdict.verdict = RUNNER_HUNG;
	set_up(&b);
	store(&b, LOST, 0);
	store(&b, OPENS, 1);
	if (again)
		store(&b, OPENS, 1);
	store(&b, CLOSES, 2);
	store(&b, OTHER, 3);
	open_bench(&b);
	VEC_PUSH(&window.lost, again ? 3 : 2);
	VEC_PUSH(&b.c.cause, window);
	struct crash_state s = state_at(&b, at, lost);
	bool hang = crash_contains_hang(&b.c, &s, 2 + CRASH_WINDOW);
	crash_state_free(&s);
	tear_down(&b);
	return hang;
}

/* A recovery that hangs in a window does so whatever else is lost there: it costs a timeout each time, and shows nothing. */
static void a_window_that_hangs_is_left_out(void **state)
{
	(void)state;
	assert_true(hangs(2, 0, false));
	assert_false(hangs(2, 1, false)); /* it is not open */
	assert_false(hangs(1, 0, false)); /* not yet */
	assert_false(hangs(3, 0, false)); /* no longer */
	assert_false(hangs(2, 0, true));  /* the first need not be a window at all */
	assert_true(hangs(3, 0, true));
}

/* The window is between the second store and the third; something is lost, and where the window was proved to be open, it is
 * tried at its end. */
static void a_window_that_is_proved_is_left(void **state)
{
	struct crash_cause window = { .prefix = true, .persisted = 1 };
	struct bench b;
	uint32_t opens;
	(void)state;
	set_up(&b);
	store(&b, LOST, 0);
	store(&b, OPENS, 1);
	store(&b, CLOSES, 2);
	store(&b, OTHER, 3);
	open_bench(&b);
	VEC_PUSH(&window.lost, 2);
	VEC_PUSH(&b.c.cause, window);
	struct crash_state s = state_at(&b, 2, 0), not_open = state_at(&b, 2, 1);
	assert_true(crash_window_open(&b.c, &b.c.cause.p[0], &s, &opens));
	assert_int_equal(opens, 1);
	assert_false(crash_window_open(&b.c, &b.c.cause.p[0], &not_open, &opens));
	assert_int_equal(opens, 1);
	crash_heal_known(&b.c, &s, 100 + CRASH_WINDOW);
	assert_int_equal(s.event, b.tale->first + 2); /* it is not known to be open */
	b.c.settling = 10;
	crash_window_proved(&b.c, 0, s.event);
	crash_heal_known(&b.c, &s, 11 + CRASH_WINDOW); /* the verdict may not be there yet */
	assert_int_equal(s.event, b.tale->first + 2);
	crash_heal_known(&b.c, &not_open, 12 + CRASH_WINDOW);
	assert_int_equal(not_open.event, b.tale->first + 2);
	crash_heal_known(&b.c, &s, 12 + CRASH_WINDOW);
	assert_int_equal(s.event, b.tale->first + 3);
	assert_int_equal(s.at.n, 1);
	crash_state_free(&s);
	crash_state_free(&not_open);
	hmap_free(&b.c.window);
	tear_down(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_that_hangs_is_left_out),
		cmocka_unit_test(a_window_is_left_where_it_closes),
		cmocka_unit_test(what_shares_a_statement_with_a_window_stands_apart),
		cmocka_unit_test(a_window_is_one_wherever_its_end_is_known),
		cmocka_unit_test(what_is_established_is_healed),
		cmocka_unit_test(a_window_that_is_proved_is_left),
		cmocka_unit_test(three_times_are_sure),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
