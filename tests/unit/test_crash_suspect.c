/* SPDX-License-Identifier: BSD-3-Clause */
/* Which states are chosen to prove that a store is missing a flush or a fence. */
#include "crash_util.h"

#define SUSPECT SITE_STORE
#define OTHER 0 /* a site, too */

struct bench {
	struct batch batch;
	struct tale *tale;
	struct crash_points points;
	struct crash_suspects all;
	struct crash_world world;
};

static void set_up(struct bench *b, unsigned lines)
{
	*b = (struct bench){ .batch = { .model = model_find("adr") } };
	b->tale = add_tale(&b->batch, lines);
}

static void store(struct bench *b, unsigned site, uint32_t off, uint8_t value)
{
	add_store(b->tale, off, 8, value);
	b->tale->act.p[b->tale->act.n - 1].site = (uint8_t)site;
}

/* The event of the n-th act. */
static uint64_t event(const struct bench *b, size_t n)
{
	return b->tale->first + n;
}

/* Suspects all stores of a site; `act` is the one that is named. What the tale's fsync guarantees at the
 * very end is taken back. */
static void plan(struct bench *b, size_t act)
{
	struct crash_history *h;
	struct finding_store all = { .site = SUSPECT };
	open_batch(&b->batch);
	h = b->batch.h;
	while (h->raise.n && crash_raise_at(h, h->raise.n - 1).event >= event(b, b->tale->act.n))
		h->raise.n--;
	tale_points(b->tale, 1, &b->points);
	crash_suspects_add(&b->all, h, &all, 1, event(b, act));
	assert_int_equal(b->all.v.p[0].place.n, 1);
	crash_suspects_plan(&b->all, h, &b->points);
	b->world = (struct crash_world){ .h = h, .points = &b->points, .suspects = &b->all };
	crash_cursor_init(&b->world.cursor, h);
}

static void tear_down(struct bench *b)
{
	crash_suspects_free(&b->all);
	VEC_FREE(&b->points.v);
	crash_cursor_free(&b->world.cursor);
	free_batch(&b->batch);
}

static void assert_state(const struct bench *b, size_t k, uint64_t at, unsigned line,
			 uint32_t version)
{
	assert_true(k < b->all.plan.n);
	const struct crash_state *s = &b->all.plan.p[k].state;
	assert_int_equal(s->event, at);
	assert_int_equal(s->at.n, 1);
	assert_int_equal(s->at.p[0].line, b->tale->id[line]);
	assert_int_equal(s->at.p[0].version, version);
}

/* First where nothing but the store is lost, then at the end, where the line has another one. */
static void alone_comes_first(void **state)
{
	struct bench b;
	(void)state;
	set_up(&b, 2);
	store(&b, OTHER, 0, 1);
	add_persist(b.tale, 0);
	store(&b, SUSPECT, 8, 2); /* act 3 */
	store(&b, OTHER, 64, 3);
	store(&b, OTHER, 16, 4); /* act 5, in the line of the suspect */
	store(&b, OTHER, 72, 5);
	plan(&b, 3);
	assert_int_equal(b.all.v.p[0].stores, 1);
	assert_int_equal(b.all.v.p[0].lost, 1);
	assert_int_equal(b.all.plan.n, 2);
	assert_state(&b, 0, event(&b, 5), 0, 1);
	assert_state(&b, 1, b.batch.h->events, 0, 1);
	assert_int_equal(run_strategy("proof", &b.world, NULL, NULL), 2);
	tear_down(&b);
}

/* Guaranteed in the end, by somebody else's flush: it is lost just before. */
static void before_it_is_guaranteed(void **state)
{
	struct bench b;
	(void)state;
	set_up(&b, 2);
	store(&b, SUSPECT, 0, 1);
	store(&b, OTHER, 64, 2);
	add_persist(b.tale, 64);
	add_persist(b.tale, 0); /* acts 4 and 5 */
	plan(&b, 0);
	assert_int_equal(b.all.v.p[0].stores, 1);
	for (size_t i = 0; i < b.all.plan.n; i++)
		assert_true(b.all.plan.p[i].state.event <= event(&b, 5));
	assert_state(&b, 0, event(&b, 5), 0, 0);
	tear_down(&b);
}

/* One that is not named, and is persisted as it should be, is nobody's loss. */
static void persisted_stores_are_left_alone(void **state)
{
	struct bench b;
	(void)state;
	set_up(&b, 2);
	store(&b, SUSPECT, 0, 1);
	add_persist(b.tale, 0);
	store(&b, SUSPECT, 64, 2); /* act 3: never persisted */
	plan(&b, 3);
	assert_int_equal(b.all.v.p[0].stores, 1);
	assert_int_equal(b.all.plan.n, 1);
	assert_state(&b, 0, b.batch.h->events, 1, 0);
	tear_down(&b);
}

static void what_changes_nothing_is_no_state(void **state)
{
	struct bench b;
	(void)state;
	set_up(&b, 1);
	store(&b, SUSPECT, 0, 0); /* as it was */
	plan(&b, 0);
	assert_int_equal(b.all.v.p[0].stores, 1);
	assert_int_equal(b.all.v.p[0].lost, 0);
	assert_int_equal(b.all.plan.n, 0);
	assert_int_equal(run_strategy("proof", &b.world, NULL, NULL), 0);
	tear_down(&b);
}

/* All at once, then a few one at a time: the first and the last among them. */
static void many_stores_are_thinned_out(void **state)
{
	struct bench b;
	bool first = false, last = false;
	(void)state;
	set_up(&b, MOST_LINES);
	for (unsigned i = 0; i < MOST_LINES; i++)
		store(&b, SUSPECT, i * 64, 1);
	plan(&b, 0);
	assert_int_equal(b.all.v.p[0].stores, MOST_LINES);
	assert_int_equal(b.all.v.p[0].lost, 12);
	assert_int_equal(b.all.plan.p[0].state.at.n, MOST_LINES);
	for (size_t i = 1; i < b.all.plan.n; i++) {
		assert_int_equal(b.all.plan.p[i].state.at.n, 1);
		first |= b.all.plan.p[i].state.at.p[0].line == b.tale->id[0];
		last |= b.all.plan.p[i].state.at.p[0].line == b.tale->id[MOST_LINES - 1];
	}
	assert_true(first && last);
	tear_down(&b);
}

/* Every suspicion has its first state before any has its second. */
static void suspicions_take_turns(void **state)
{
	struct bench b;
	struct finding_store other = { .site = OTHER };
	(void)state;
	set_up(&b, 3);
	store(&b, SUSPECT, 0, 1);
	store(&b, OTHER, 64, 1);
	store(&b, SUSPECT, 128, 1);
	plan(&b, 0);
	for (size_t i = 0; i < b.all.plan.n; i++)
		crash_state_free(&b.all.plan.p[i].state);
	b.all.plan.n = 0;
	crash_suspects_add(&b.all, b.batch.h, &other, 1, event(&b, 1));
	crash_suspects_plan(&b.all, b.batch.h, &b.points);
	for (size_t i = 1; i < b.all.plan.n; i++)
		assert_true(b.all.plan.p[i - 1].rank <= b.all.plan.p[i].rank);
	assert_int_equal(b.all.v.p[1].lost, 1);
	tear_down(&b);
}

/* Whatever happened: states are possible ones, lose a suspected store in each line, and nothing elsewhere. */
static void states_lose_suspected_stores_only(void **state)
{
	uint64_t states = 0;
	(void)state;
	for (int i = 0; i < 60; i++) {
		struct bench b = { .batch = { .model = model_find(i % 3 ? "adr" : "msync") } };
		b.tale = random_tale(&b.batch, 1 + (unsigned)(rnd() % 6), 60, 70);
		for (size_t k = 0; k < b.tale->act.n; k++)
			if (b.tale->act.p[k].site == SUSPECT && rnd() % 2)
				b.tale->act.p[k].site = OTHER;
		store(&b, SUSPECT, 0, 77);
		plan(&b, b.tale->act.n - 1);
		states += run_strategy("proof", &b.world, NULL, NULL); /* they are possible */
		for (size_t k = 0; k < b.all.plan.n; k++) {
			const struct crash_state *s = &b.all.plan.p[k].state;
			assert_true(s->at.n > 0);
			for (size_t l = 0; l < s->at.n; l++) {
				struct crash_piece lost = crash_piece_of(b.batch.h, s->at.p[l].line,
									 s->at.p[l].version + 1);
				assert_int_equal(lost.place, b.all.v.p[0].place.p[0]);
				assert_true(lost.event < s->event);
			}
		}
		tear_down(&b);
	}
	assert_true(states > 100);
}

/* One walk says the same as a search for each piece. */
static void covers_are_those_of_a_search(void **state)
{
	uint64_t covered = 0;
	(void)state;
	for (int i = 0; i < 60; i++) {
		struct batch b = { .model = model_find(i % 3 ? "adr" : "msync") };
		crash_stores stores = { 0 };
		random_tale(&b, 1 + (unsigned)(rnd() % 6), 80, 60);
		open_batch(&b);
		uint32_t *all = xcalloc(b.h->place.n, sizeof *all);
		memset(all, 1, b.h->place.n * sizeof *all);
		crash_stores_of(b.h, all, &stores);
		for (size_t k = 0; k < stores.n; k++) {
			uint64_t event = crash_piece_at(b.h, stores.p[k].piece).event,
				 first = b.h->events;
			for (uint32_t p = stores.p[k].piece;
			     p < b.h->pieces && crash_piece_at(b.h, p).event == event; p++) {
				uint64_t cover = crash_cover_of(b.h, p);
				first = cover < first ? cover : first;
			}
			assert_int_equal(stores.p[k].cover, first);
			covered += first < b.h->events;
		}
		VEC_FREE(&stores);
		free(all);
		free_batch(&b);
	}
	assert_true(covered > 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone_comes_first),
		cmocka_unit_test(before_it_is_guaranteed),
		cmocka_unit_test(persisted_stores_are_left_alone),
		cmocka_unit_test(what_changes_nothing_is_no_state),
		cmocka_unit_test(many_stores_are_thinned_out),
		cmocka_unit_test(suspicions_take_turns),
		cmocka_unit_test(states_lose_suspected_stores_only),
		cmocka_unit_test(covers_are_those_of_a_search),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
