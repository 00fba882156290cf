/* SPDX-License-Identifier: BSD-3-Clause */
/* `auto`: who gets a turn when; what is recent; and which visits of a call path are taken. */
#include "crash_util.h"

#define PATHS 12u
#define MOST_LINES_OPEN 3u

struct bench {
	struct batch batch;
	struct crash_points points;
	struct crash_world world;
	unsigned settled;
};

static bool settle(void *arg)
{
	struct bench *b = arg;
	b->settled++;
	return true;
}

static void open_bench(struct bench *b)
{
	open_batch(&b->batch);
	b->world.h = b->batch.h;
	b->world.points = &b->points;
	b->world.settle = settle;
	b->world.settle_arg = b;
	crash_cursor_init(&b->world.cursor, b->batch.h);
}

static void tear_down(struct bench *b)
{
	crash_points_free(&b->points);
	crash_cursor_free(&b->world.cursor);
	free_batch(&b->batch);
}

/* Three lines are open at each of PATHS points, each with a call path of its own. */
static void open_paths(struct bench *b)
{
	struct tale *t;
	*b = (struct bench){ .batch = { .model = model_find("adr") } };
	t = add_tale(&b->batch, MOST_LINES_OPEN);
	for (unsigned i = 0; i < PATHS; i++) {
		for (unsigned k = 0; k < MOST_LINES_OPEN; k++)
			add_store(t, k * 64, 8, (uint8_t)(i + 1));
		for (unsigned k = 0; k < MOST_LINES_OPEN; k++)
			add_persist(t, k * 64);
	}
	open_bench(b);
	for (unsigned i = 0; i < PATHS; i++)
		VEC_PUSH(&b->points.v,
			 ((struct crash_point){ .event = t->first + i * 9 + 3, .place = i }));
}

static size_t part_of(const char *name)
{
	static const char *const parts[] = { "prefix", "lost", "behind", "ahead", "random" };
	for (size_t i = 0; i < 5; i++)
		if (!strcmp(parts[i], name))
			return i;
	return 5; /* by a plan of its own */
}

/* Everybody has begun everywhere before anybody has made many. */
static void everybody_begins_everywhere(void **state)
{
	unsigned made[PATHS][6] = { 0 }, begun = 0, most = 0;
	struct crash_state none = { 0 };
	struct crash_progress p;
	struct bench b;
	(void)state;
	open_paths(&b);
	struct crash_gen *gen = crash_gen_new(&b.world, "auto");
	for (; crash_gen_next(gen, &none) && begun < PATHS * 5; none.at.n = 0) {
		crash_gen_progress(gen, &p);
		size_t part = part_of(p.strategy);
		unsigned *n = &made[p.point][part];
		begun += !*n && part < 5;
		most = ++*n > most && part < 5 ? *n : most;
		crash_gen_learn(gen, p.ticket, &(struct crash_news){ 0 });
	}
	assert_int_equal(begun, PATHS * 5);
	assert_true(most <= 8);
	assert_true(b.settled >= 2);
	crash_gen_free(gen);
	crash_state_free(&none);
	tear_down(&b);
}

/* Random states of all points, when `lucky` finds something with each of its first states. */
static void count_turns(struct bench *b, unsigned lucky, unsigned turns[PATHS], uint64_t *digest)
{
	struct crash_state s = { 0 };
	struct crash_progress p;
	unsigned n = 0;
	b->world.wishes.budget = true;
	struct crash_gen *gen = crash_gen_new(&b->world, "auto");
	for (*digest = 0; n < 600 && crash_gen_next(gen, &s); n++, s.at.n = 0) {
		crash_gen_progress(gen, &p);
		turns[p.point] += part_of(p.strategy) < 5;
		*digest = hash_mix(*digest, crash_gen_image(gen, &s));
		crash_gen_learn(gen, p.ticket,
				&(struct crash_news){ .causes = p.point == lucky && n < 200 });
	}
	crash_gen_free(gen);
	crash_state_free(&s);
}

static void who_finds_something_gets_more(void **state)
{
	unsigned turns[PATHS] = { 0 }, again[PATHS] = { 0 }, others[PATHS] = { 0 };
	uint64_t digest, same, different;
	struct bench b;
	(void)state;
	open_paths(&b);
	count_turns(&b, 5, turns, &digest);
	count_turns(&b, 5, again, &same);
	count_turns(&b, 7, others, &different);
	for (unsigned i = 0; i < PATHS; i++)
		if (i != 5) {
			assert_true(turns[5] * 10 > turns[i] * 11);
			assert_true(turns[i] > 15); /* the unlucky get their share */
		}
	assert_true(digest == same && digest != different);
	tear_down(&b);
}

/* States of `ahead` in its first round at the first point, if `same` of them have a known image. */
static unsigned first_turn(struct bench *b, unsigned same)
{
	struct crash_state none = { 0 };
	struct crash_progress p;
	unsigned made = 0, round = 0;
	struct crash_gen *gen = crash_gen_new(&b->world, "auto");
	for (; crash_gen_next(gen, &none) && (!made || round == b->settled); none.at.n = 0) {
		crash_gen_progress(gen, &p);
		bool mine = p.point == 0 && !strcmp(p.strategy, "ahead");
		round = mine && !made ? b->settled : round;
		made += mine;
		crash_gen_learn(gen, p.ticket,
				&(struct crash_news){ .same = mine && made <= same });
	}
	crash_gen_free(gen);
	crash_state_free(&none);
	return made;
}

/* What has the same image as another costs nothing, and another takes its place. */
static void known_images_are_free(void **state)
{
	struct bench b;
	(void)state;
	open_paths(&b);
	assert_int_equal(first_turn(&b, 0), 4);
	assert_int_equal(first_turn(&b, 2), 6);
	tear_down(&b);
}

/* ---- what is recent ---- */

/* A store that nothing ever flushes, then many that are persisted; the point is before the last flush. */
static void open_forgotten(struct bench *b, unsigned persists)
{
	struct tale *t;
	*b = (struct bench){ .batch = { .model = model_find("adr") } };
	t = add_tale(&b->batch, 4);
	add_store(t, 0, 8, 9);
	for (unsigned i = 0; i <= persists; i++) {
		add_store(t, 64, 8, (uint8_t)(i + 1));
		add_store(t, 128, 8, (uint8_t)(i + 1));
		add_persist(t, 64);
		add_persist(t, 128);
	}
	add_store(t, 192, 8, 1); /* nor is this flushed, but it is recent */
	add_store(t, 64, 8, 77);
	uint64_t at = t->act.n;
	add_persist(t, 64);
	for (unsigned i = 0; i <= persists; i++) {
		add_store(t, 64, 8, (uint8_t)(i + 1));
		add_persist(t, 64);
	}
	open_bench(b);
	struct crash_opts o = { .points = "persist", .after = t->first + at };
	struct err err = { 0 };
	assert_int_equal(crash_points_find(b->batch.h, &o, NULL, &b->points, &err), 0);
	b->points.v.n = 1;
}

static unsigned count_lost(struct bench *b, const char *name, enum crash_reach reach, unsigned line,
			   unsigned *states)
{
	struct crash_gen *whole = crash_gen_new(&b->world, "auto");
	struct crash_gen *gen = crash_gen_part_at(whole, name, 0, reach);
	struct crash_state s = { 0 };
	unsigned lost = 0;
	*states = 0;
	for (; crash_gen_next(gen, &s); s.at.n = 0, ++*states) {
		uint32_t id = b->batch.tale.p[0]->id[line];
		lost += crash_state_get(&s, &b->world.cursor, id) < b->world.cursor.hi[id];
	}
	crash_gen_free(gen);
	crash_gen_free(whole);
	crash_state_free(&s);
	return lost;
}

static void old_stores_are_not_lost_again(void **state)
{
	struct bench b;
	unsigned n;
	(void)state;
	open_forgotten(&b, 9);
	assert_int_equal(count_lost(&b, "lost", CRASH_FAR, 0, &n), 1);
	assert_int_equal(count_lost(&b, "lost", CRASH_NEAR, 0, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(count_lost(&b, "behind", CRASH_NEAR, 0, &n), 0);
	assert_int_equal(count_lost(&b, "behind", CRASH_FAR, 0, &n), 1);
	/* what is recent is lost by itself, and not with everything else */
	assert_int_equal(count_lost(&b, "behind", CRASH_NEAR, 3, &n), 1);
	assert_int_equal(n, 2);
	assert_int_equal(count_lost(&b, "lost", CRASH_NEAR, 3, &n), 0);
	assert_int_equal(count_lost(&b, "lost", CRASH_NEAR, 1, &n), 1);
	struct crash_gen *gen = crash_gen_new(&b.world, "auto");
	assert_false(crash_gen_all_near(gen, 0));
	crash_gen_free(gen);
	tear_down(&b);
}

static void declare(struct tale *t, unsigned kind, uint32_t off, uint32_t len)
{
	struct act *a = add_act(t, kind, 0);
	a->off = off;
	a->len = len;
}

/* Bytes that are declared not to be persistent never count as open; what else is in their line does. */
static void declared_volatile_is_not_open(void **state)
{
	static const unsigned kinds[] = { TRACE_MARK_VOLATILE, TRACE_HINT_UNMAP };
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct bench b = { .batch = { .model = model_find("adr") } };
		struct tale *t = add_tale(&b.batch, 3);
		declare(t, kinds[i], 8, 16);
		add_store(t, 8, 16, 1);
		add_store(t, 64, 8, 1);
		add_store(t, 128, 8, 1);
		declare(t, kinds[i], 136, 8);
		add_store(t, 136, 8, 1); /* its line is open already */
		declare(t, TRACE_HINT_MAP, 8, 16);
		open_bench(&b);
		crash_cursor_move(&b.world.cursor, t->first + t->act.n);
		assert_int_equal(b.world.cursor.lo[t->id[0]], 2);
		assert_int_equal(b.world.cursor.open.n, 2);
		assert_int_equal(b.world.cursor.lo[t->id[2]], 0);
		tear_down(&b);
	}
}

/* ---- points ---- */

/* Many visits of one call path, of which one has a store of another place open. */
static void another_shape_is_a_point(void **state)
{
	struct bench b = { .batch = { .model = model_find("adr") } };
	struct tale *t = add_tale(&b.batch, 3);
	struct err err = { 0 };
	uint64_t odd = 0;
	bool taken = false, once = false;
	size_t extra = 0;
	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		add_store(t, 0, 8, (uint8_t)(i + 1));
		if (i == 33) {
			add_store(t, 128, 8, 1);
			t->act.p[t->act.n - 1].site =
				SITE_CLWB; /* the number of a place, no more */
			odd = t->act.n;
		}
		add_persist(t, 0);
	}
	open_bench(&b);
	for (uint64_t max = 8; max; max = max == 8 ? 1 : 0) {
		struct crash_opts o = { .points = "persist", .max_per_path = max };
		crash_points_free(&b.points);
		b.points = (struct crash_points){ 0 };
		assert_int_equal(crash_points_find(b.batch.h, &o, NULL, &b.points, &err), 0);
		extra = 0;
		for (size_t i = 0; i < b.points.v.n; i++) {
			extra += b.points.v.p[i].extra;
			if (b.points.v.p[i].event == t->first + odd)
				*(max == 8 ? &taken : &once) = true;
		}
		assert_true(max == 8 ? extra >= 1 && b.points.v.n < 24 : extra == 0);
	}
	assert_true(taken && !once);
	tear_down(&b);
}

static bool is_point(const struct bench *b, uint64_t event)
{
	for (size_t i = 0; i < b->points.v.n; i++)
		if (b->points.v.p[i].event == event)
			return true;
	return false;
}

/* A hundred visits of one call path, each with a store of its own; the odd one stores to `off` as well. */
static bool odd_one_is_a_point(uint32_t off, uint8_t value, uint8_t others)
{
	struct bench b = { .batch = { .model = model_find("adr") } };
	struct tale *t = add_tale(&b.batch, 20);
	struct crash_opts o = { .points = "persist", .max_per_path = 8 };
	struct err err = { 0 };
	uint64_t odd = 0;
	memset(t->initial, 0, t->size);
	for (unsigned i = 0; i < 100; i++) {
		add_store(t, 64 + 8 * i, 8, others);
		if (i == 33) {
			add_store(t, off, 8, value);
			odd = t->act.n;
			add_persist(t, off);
		}
		add_persist(t, 64 + 8 * i);
	}
	open_bench(&b);
	crash_points_free(&b.points);
	b.points = (struct crash_points){ 0 };
	assert_int_equal(crash_points_find(b.batch.h, &o, NULL, &b.points, &err), 0);
	bool taken = is_point(&b, t->first + odd);
	tear_down(&b);
	return taken;
}

/* What was stored before is missed where it is lost; what stays as it is never is. */
static void what_is_overwritten_is_another_shape(void **state)
{
	(void)state;
	assert_true(odd_one_is_a_point(64, 2, 1));       /* the first one's, again */
	assert_false(odd_one_is_a_point(17 * 64, 2, 1)); /* new, like all others */
	assert_false(odd_one_is_a_point(64, 1, 1));      /* stays */
	assert_true(odd_one_is_a_point(17 * 64, 2, 0));  /* all others change nothing */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everybody_begins_everywhere),
		cmocka_unit_test(who_finds_something_gets_more),
		cmocka_unit_test(known_images_are_free),
		cmocka_unit_test(old_stores_are_not_lost_again),
		cmocka_unit_test(declared_volatile_is_not_open),
		cmocka_unit_test(another_shape_is_a_point),
		cmocka_unit_test(what_is_overwritten_is_another_shape),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
