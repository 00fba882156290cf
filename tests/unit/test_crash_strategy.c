/* SPDX-License-Identifier: BSD-3-Clause */
/* What each strategy generates; and that the reduction of `exhaustive` loses nothing. */
#include "crash_util.h"

/* ---- a history and a generator ---- */

struct bench {
	struct batch batch;
	struct crash_points points;
	struct crash_world world;
};

static void set_up(struct bench *b, const char *model)
{
	*b = (struct bench){ .batch = { .model = model_find(model) } };
	b->world.wishes.few = 256;
	b->world.points = &b->points;
}

static void open_bench(struct bench *b)
{
	open_batch(&b->batch);
	b->world.h = b->batch.h;
	crash_cursor_init(&b->world.cursor, b->batch.h);
}

static void tear_down(struct bench *b)
{
	VEC_FREE(&b->points.v);
	crash_cursor_free(&b->world.cursor);
	free_batch(&b->batch);
}

static void only_at_end(struct bench *b)
{
	tale_points(b->batch.tale.p[0], SIZE_MAX / 2, &b->points);
	b->points.v.p[0] = b->points.v.p[1];
	b->points.v.n = 1;
}

/* States as they came. */
struct seen {
	VEC(struct crash_state) state;
	size_t most; /* 0: all */
};

static bool see(void *arg, const struct crash_state *s)
{
	struct seen *seen = arg;
	struct crash_state copy = { 0 };
	crash_state_copy(&copy, s);
	VEC_PUSH(&seen->state, copy);
	return seen->state.n != seen->most;
}

static void forget_seen(struct seen *seen)
{
	for (size_t i = 0; i < seen->state.n; i++)
		crash_state_free(&seen->state.p[i]);
	VEC_FREE(&seen->state);
}

static uint64_t run(struct bench *b, const char *name, struct seen *seen)
{
	return run_strategy(name, &b->world, seen ? see : NULL, seen);
}

/* The version of a tale's line in a state. */
static uint32_t version(struct bench *b, const struct crash_state *s, unsigned line)
{
	crash_cursor_move(&b->world.cursor, s->event);
	return crash_state_get(s, &b->world.cursor, b->batch.tale.p[0]->id[line]);
}

/* ---- by hand ---- */

static void table_has_them_all(void **state)
{
	const char *name, *about;
	size_t n = 0;
	(void)state;
	for (; (name = crash_strategy_at(n, &about)); n++) {
		assert_string_equal(crash_strategy_find(name)->name, name);
		assert_non_null(about);
	}
	assert_true(n >= 7);
	assert_string_equal(crash_strategy_find(NULL)->name, "auto");
	assert_non_null(crash_strategy_find("lost+auto+lost"));
	static const char *const wrong[] = { "", "los", "lost+", "+lost", "lost++ahead", "lost+x" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_null(crash_strategy_find(wrong[i]));
}

/* Three pieces on one line, two on the next, and one on a third that changes nothing. */
static void open_three_lines(struct bench *b)
{
	struct tale *t;
	set_up(b, "adr");
	t = add_tale(&b->batch, 3);
	add_store(t, 0, 8, 9);
	add_persist(t, 0);
	add_store(t, 8, 8, 1);
	add_store(t, 64, 16, 2);
	add_store(t, 128, 4, 0);
	add_store(t, 16, 16, 3);
	open_bench(b);
	only_at_end(b);
}

static void counts_are_as_expected(void **state)
{
	struct bench b;
	(void)state;
	open_three_lines(&b);
	assert_int_equal(run(&b, "prefix", NULL), 1);
	assert_int_equal(run(&b, "lost", NULL), 1);
	assert_int_equal(run(&b, "ahead", NULL), 3 + 2 + 1);
	assert_int_equal(run(&b, "behind", NULL), 3 + 2);
	assert_int_equal(run(&b, "random", NULL), 32);
	b.world.wishes.random = 7;
	assert_int_equal(run(&b, "random", NULL), 7);
	assert_int_equal(run(&b, "exhaustive", NULL), 4 * 3);
	tear_down(&b);
}

static void assert_versions(struct bench *b, const struct seen *seen, const unsigned (*want)[3],
			    size_t n)
{
	assert_int_equal(seen->state.n, n);
	for (size_t i = 0; i < n; i++)
		for (unsigned line = 0; line < 3; line++)
			assert_int_equal(version(b, &seen->state.p[i], line), want[i][line]);
}

static void prefix_and_lost_are_the_extremes(void **state)
{
	static const unsigned want[][3] = { { 4, 2, 1 }, { 1, 0, 0 } };
	struct seen seen = { 0 };
	struct bench b;
	(void)state;
	open_three_lines(&b);
	run(&b, "prefix", &seen);
	run(&b, "lost", &seen);
	assert_versions(&b, &seen, want, 2);
	assert_int_equal(seen.state.p[0].at.n, 0);
	assert_int_equal(seen.state.p[1].at.n, 3);
	forget_seen(&seen);
	tear_down(&b);
}

static void ahead_and_behind_are_one_line_off(void **state)
{
	static const unsigned ahead[][3] = { { 4, 0, 0 }, { 1, 2, 0 }, { 2, 0, 0 },
					     { 3, 0, 0 }, { 1, 1, 0 }, { 4, 2, 0 } };
	static const unsigned behind[][3] = {
		{ 1, 2, 1 }, { 4, 0, 1 }, { 2, 2, 1 }, { 3, 2, 1 }, { 4, 1, 1 }
	};
	struct seen seen = { 0 };
	struct bench b;
	(void)state;
	open_three_lines(&b);
	run(&b, "ahead", &seen);
	assert_versions(&b, &seen, ahead, 6);
	forget_seen(&seen);
	run(&b, "behind", &seen);
	assert_versions(&b, &seen, behind, 5);
	forget_seen(&seen);
	tear_down(&b);
}

/* `auto` makes what five of them make, side by side, and `representative`. */
static void auto_is_all_of_them(void **state)
{
	static const struct {
		const char *name;
		size_t states;
	} parts[] = {
		{ "prefix", 1 }, { "lost", 1 }, { "ahead", 6 }, { "behind", 5 }, { "random", 32 }
	};
	size_t made[5] = { 0 }, n = 0, rest = 0;
	struct crash_state none = { 0 };
	struct crash_progress p;
	struct crash_gen *gen;
	struct bench b;
	(void)state;
	open_three_lines(&b);
	gen = crash_gen_new(&b.world, "auto");
	for (; crash_gen_next(gen, &none); none.at.n = 0, n++) {
		crash_gen_progress(gen, &p);
		for (size_t i = 0; i < 5; i++)
			made[i] += !strcmp(p.strategy, parts[i].name);
		rest += !strcmp(p.strategy, "representative");
		assert_true(n >= 12 || made[4] < 8); /* random is not before the others */
	}
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(made[i], parts[i].states);
	assert_int_equal(rest, run(&b, "representative", NULL));
	assert_int_equal(n, 45 + rest);
	crash_gen_free(gen);
	crash_state_free(&none);
	tear_down(&b);
}

/* a+b: a state of each as long as there is one, each as if it worked alone. */
static void joined_strategies_take_turns(void **state)
{
	static const unsigned want[][3] = { { 1, 0, 0 }, { 1, 2, 1 }, { 4, 2, 1 }, { 4, 0, 1 },
					    { 2, 2, 1 }, { 3, 2, 1 }, { 4, 1, 1 } };
	struct seen seen = { 0 };
	struct bench b;
	(void)state;
	open_three_lines(&b);
	run(&b, "lost+behind+prefix", &seen);
	assert_versions(&b, &seen, want, 7);
	forget_seen(&seen);
	assert_int_equal(run(&b, "random+random", NULL), 64);
	assert_int_equal(run(&b, "auto+exhaustive", NULL), run(&b, "auto", NULL) + 12);
	tear_down(&b);
}

/* Of a line with many open pieces some versions are picked, between stores, evenly. */
static void long_lines_are_thinned_out(void **state)
{
	struct seen ahead = { 0 }, behind = { 0 };
	struct bench b;
	struct tale *t;
	(void)state;
	set_up(&b, "adr");
	t = add_tale(&b.batch, 1);
	for (unsigned i = 0; i < 20; i++)
		add_store(t, i % 4 * 16, 16, (uint8_t)(i + 1));
	open_bench(&b);
	only_at_end(&b);
	run(&b, "ahead", &ahead);
	run(&b, "behind", &behind);
	assert_int_equal(ahead.state.n, 8);
	assert_int_equal(behind.state.n, 8);
	assert_int_equal(version(&b, &ahead.state.p[0], 0), 40); /* the extreme first */
	assert_int_equal(version(&b, &behind.state.p[0], 0), 0);
	for (size_t i = 0; i < 8; i++) {
		assert_int_equal(version(&b, &ahead.state.p[i], 0) % 2, 0);
		assert_int_equal(version(&b, &behind.state.p[i], 0) % 2, 0);
		if (i)
			assert_int_equal(version(&b, &ahead.state.p[i], 0), i * 20 / 8 * 2);
	}
	forget_seen(&ahead);
	forget_seen(&behind);
	tear_down(&b);
}

#define PAIR_LINES 19u

static void pairs_are_bounded_and_neighbours_first(void **state)
{
	struct seen seen = { 0 };
	struct bench b;
	struct tale *t;
	(void)state;
	set_up(&b, "adr");
	t = add_tale(&b.batch, PAIR_LINES);
	for (unsigned i = 0; i < PAIR_LINES; i++)
		add_store(t, i * 7 % PAIR_LINES * 64, 8, 1);
	open_bench(&b);
	only_at_end(&b);
	run(&b, "ahead", &seen);
	assert_int_equal(seen.state.n, PAIR_LINES + 64);
	for (unsigned i = 0; i + 1 < PAIR_LINES; i++) {
		const struct crash_state *s = &seen.state.p[PAIR_LINES + i];
		assert_int_equal(s->at.n, PAIR_LINES - 2);
		assert_int_equal(version(&b, s, i * 7 % PAIR_LINES), 1);
		assert_int_equal(version(&b, s, (i + 1) * 7 % PAIR_LINES), 1);
	}
	forget_seen(&seen);
	tear_down(&b);
}

/* Of very many open lines a few are taken for each place that stored to them. */
static void many_lines_are_thinned_out(void **state)
{
	struct seen seen = { 0 };
	struct bench b;
	struct tale *t;
	(void)state;
	set_up(&b, "adr");
	t = add_tale(&b.batch, MOST_LINES);
	for (unsigned i = 0; i < MOST_LINES; i++)
		add_store(t, i * 64, 8, 1);
	open_bench(&b);
	only_at_end(&b);
	run(&b, "behind", &seen);
	assert_int_equal(seen.state.n, 3);
	assert_int_equal(version(&b, &seen.state.p[0], 0), 0);
	assert_int_equal(version(&b, &seen.state.p[2], MOST_LINES - 1), 0);
	forget_seen(&seen);
	tear_down(&b);
}

/* Only points before something becomes guaranteed, or a file changes, and the end. */
static void exhaustive_leaves_out_covered_points(void **state)
{
	struct seen seen = { 0 };
	struct bench b;
	struct tale *t;
	struct act *a;
	(void)state;
	set_up(&b, "adr");
	t = add_tale(&b.batch, 2);
	add_store(t, 0, 8, 1);
	add_store(t, 64, 8, 1);
	add_persist(t, 0); /* flush: 2, fence: 3 */
	add_store(t, 8, 8, 1);
	a = add_act(t, TRACE_FILE_RENAME, 0); /* 5 */
	a->len = 2;
	memcpy(a->data, "/x", 2);
	add_store(t, 16, 8, 1);
	open_bench(&b);
	tale_points(t, 1, &b.points);
	run(&b, "exhaustive", &seen);
	assert_int_equal(seen.state.n, 4 + 4 + 6);
	for (size_t i = 0; i < seen.state.n; i++)
		assert_int_equal(seen.state.p[i].event - t->first, i < 4 ? 3 : i < 8 ? 5 : 7);
	forget_seen(&seen);
	tear_down(&b);
}

/* ---- random ---- */

static uint64_t digest(const struct seen *seen)
{
	uint64_t hash = seen->state.n;
	for (size_t i = 0; i < seen->state.n; i++) {
		const struct crash_state *s = &seen->state.p[i];
		hash = hash_mix(hash, s->event);
		for (size_t k = 0; k < s->at.n; k++)
			hash = hash_mix(hash, (uint64_t)s->at.p[k].line << 32 | s->at.p[k].version);
	}
	return hash;
}

static uint64_t random_digest(struct bench *b, uint64_t seed)
{
	struct seen seen = { 0 };
	uint64_t hash;
	b->world.seed = seed;
	run(b, "random", &seen);
	hash = digest(&seen);
	forget_seen(&seen);
	return hash;
}

static void random_is_reproducible(void **state)
{
	struct bench b;
	(void)state;
	set_up(&b, "adr");
	random_tale(&b.batch, 4, 60, 70);
	open_bench(&b);
	tale_points(b.batch.tale.p[0], 5, &b.points);
	assert_true(random_digest(&b, 1) == random_digest(&b, 1));
	assert_true(random_digest(&b, 1) != random_digest(&b, 2));
	tear_down(&b);
}

/* With a budget it goes round and round. */
static void random_is_endless_with_a_budget(void **state)
{
	struct seen seen = { .most = 5000 };
	uint64_t at_first = 0;
	struct bench b;
	(void)state;
	set_up(&b, "adr");
	random_tale(&b.batch, 4, 80, 100);
	open_bench(&b);
	tale_points(b.batch.tale.p[0], 10, &b.points);
	b.world.wishes.budget = true;
	assert_int_equal(run(&b, "random", &seen), 5000);
	for (size_t i = 0; i < seen.state.n; i++)
		at_first += seen.state.p[i].event == b.points.v.p[1].event;
	assert_true(at_first >= 5000 / b.points.v.n - 100);
	b.world.wishes.random = 3;
	assert_int_equal(run(&b, "random", NULL), 3 * (b.points.v.n - 1)); /* none at the start */
	forget_seen(&seen);
	tear_down(&b);
}

static void random_ends_when_there_is_nothing_more(void **state)
{
	struct seen seen = { 0 };
	struct hmap distinct = { 0 };
	struct bench b;
	(void)state;
	open_three_lines(&b);
	b.world.wishes.budget = true;
	run(&b, "random", &seen);
	for (size_t i = 0; i < seen.state.n; i++)
		hmap_put(&distinct, crash_state_hash(&seen.state.p[i], &b.world.cursor), 1);
	assert_int_equal(distinct.n, 12);
	b.points.v.p[0].event = b.batch.tale.p[0]->first;
	assert_int_equal(run(&b, "random", NULL), 0);
	hmap_free(&distinct);
	forget_seen(&seen);
	tear_down(&b);
}

/* ---- all of them ---- */

struct disturb {
	struct bench *b;
	struct seen seen;
};

static bool see_and_disturb(void *arg, const struct crash_state *s)
{
	struct disturb *d = arg;
	see(&d->seen, s);
	crash_cursor_move(&d->b->world.cursor, rnd() % (d->b->batch.h->events + 1));
	return true;
}

/* Other parts may move the cursor between two states. */
static void same_if_disturbed(struct bench *b, const char *name)
{
	struct disturb d = { .b = b };
	struct seen seen = { 0 };
	run(b, name, &seen);
	crash_cursor_move(&b->world.cursor, b->batch.h->events);
	run_strategy(name, &b->world, see_and_disturb, &d);
	assert_true(digest(&seen) == digest(&d.seen));
	forget_seen(&seen);
	forget_seen(&d.seen);
}

/* run_strategy checks each state against the cursor. */
static void states_are_allowed_whatever_happens(void **state)
{
	const char *name, *about;
	(void)state;
	for (size_t m = 0; model_at(m); m++) {
		struct bench b;
		set_up(&b, model_at(m)->name);
		for (unsigned i = 0; i < 100; i++)
			random_tale(&b.batch, 1 + i % 4, 24, 20 + i % 60);
		open_bench(&b);
		b.world.wishes.random = 9;
		for (unsigned i = 0; i < 100; i++) {
			tale_points(b.batch.tale.p[i], 12, &b.points);
			b.world.wishes.narrow = i > 0; /* auto goes without representative, then */
			for (size_t k = 0; (name = crash_strategy_at(k, &about)); k++)
				/* the last one does not go by the points */
				if (strcmp(name, "exhaustive") != 0 &&
				    (!i || strcmp(name, "representative") != 0))
					same_if_disturbed(&b, name);
			same_if_disturbed(&b, "behind+random+ahead");
		}
		tear_down(&b);
	}
}

/* ---- the reduction ---- */

/*
 * A recovery that reads lines in an order that depends on what it has read, stops sooner or
 * later, and fails now and then. Its behaviour is all that it has seen, as a number.
 */
struct recovery {
	struct bench *b;
	const struct tale *t;
	uint64_t salt;
	bool coy;              /* it does not always say what it read */
	bool reduced;          /* the point has more states than are not worth reducing */
	VEC(uint64_t) failed;  /* behaviours that fail, with the event */
	struct hmap behaviour; /* all that was seen */
	uint64_t runs, repeated;
};

static uint64_t recover(const struct recovery *r, const struct crash_state *s, uint32_t *read,
			size_t *n)
{
	uint64_t seen = hash_mix(r->salt, s->event), line = r->salt % r->t->lines;
	*n = 0;
	for (unsigned i = 0; i < r->t->lines + 2; i++) {
		uint32_t id = r->t->id[line];
		if (id != NO_LINE) {
			uint32_t v = crash_state_get(s, &r->b->world.cursor, id);
			seen = hash_mix(seen, crash_contents_hash(r->b->batch.h, id, v));
			read[(*n)++] = id;
		}
		if (seen % 4 == 0)
			break;
		line = (line + 1 + seen / 4 % 2) % r->t->lines;
	}
	return seen;
}

static bool reads(void *arg, const struct crash_state *s, uint32_t **out, size_t *n)
{
	const struct recovery *r = arg;
	uint32_t *read = xmalloc((r->t->lines + 2) * sizeof *read);
	uint64_t seen = recover(r, s, read, n);
	if (r->coy && crash_state_hash(s, &r->b->world.cursor) % 3 == 0) {
		free(read);
		return false;
	}
	crash_cursor_move(&r->b->world.cursor, s->event - seen % 4); /* it may */
	crash_cursor_move(&r->b->world.cursor, s->event);
	*out = read;
	return true;
}

static bool judge(void *arg, const struct crash_state *s)
{
	struct recovery *r = arg;
	uint32_t read[MOST_LINES + 2];
	size_t n;
	uint64_t seen = recover(r, s, read, &n), unused;
	r->runs++;
	r->repeated += hmap_get(&r->behaviour, seen, &unused);
	hmap_put(&r->behaviour, seen, 1);
	if (seen / 8 % 5 == 0)
		VEC_PUSH(&r->failed, seen);
	return true;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void make_set(struct recovery *r)
{
	size_t kept = 0;
	if (!r->failed.n)
		return;
	qsort(r->failed.p, r->failed.n, sizeof *r->failed.p, by_value);
	for (size_t i = 1; i < r->failed.n; i++)
		if (r->failed.p[i] != r->failed.p[kept])
			r->failed.p[++kept] = r->failed.p[i];
	r->failed.n = kept + 1;
}

static void campaign(struct bench *b, struct recovery *r, bool reduce)
{
	b->world.wishes.no_reduce = !reduce;
	b->world.reads = reads;
	b->world.reads_arg = r;
	run_strategy("exhaustive", &b->world, judge, r);
	make_set(r);
}

/* Distinct states at a point, by brute force. */
static uint64_t states_at(struct bench *b, uint64_t event)
{
	uint64_t product = 1;
	crash_cursor_move(&b->world.cursor, event);
	for (size_t i = 0; i < b->world.cursor.open.n; i++) {
		uint32_t line = b->world.cursor.open.p[i], n = 0;
		for (uint32_t v = b->world.cursor.lo[line]; v <= b->world.cursor.hi[line]; v++) {
			uint32_t w = b->world.cursor.lo[line];
			while (crash_contents_hash(b->batch.h, line, w) !=
			       crash_contents_hash(b->batch.h, line, v))
				w++;
			n += w == v;
		}
		product *= n;
	}
	return product;
}

struct totals {
	uint64_t tales, reduced, full_runs, runs, failing;
};

static void same_failures(struct bench *b, const struct tale *t, struct totals *total)
{
	uint64_t end = t->first + t->act.n, states = states_at(b, end);
	struct recovery full = { .b = b, .t = t, .salt = rnd() }, less = full, coy = full;
	if (states > 3000)
		return;
	b->points.v.n = 0;
	VEC_PUSH(&b->points.v, ((struct crash_point){ end, 0 }));
	coy.coy = true;
	campaign(b, &full, false);
	campaign(b, &less, true);
	campaign(b, &coy, true);
	assert_int_equal(full.runs, states);
	assert_int_equal(full.failed.n, less.failed.n);
	assert_int_equal(full.failed.n, coy.failed.n);
	assert_int_equal(full.behaviour.n, less.behaviour.n);
	for (size_t i = 0; i < full.failed.n; i++)
		assert_true(full.failed.p[i] == less.failed.p[i] &&
			    full.failed.p[i] == coy.failed.p[i]);
	assert_true(less.runs <= full.runs && coy.runs <= full.runs);
	total->tales++;
	total->failing += full.failed.n;
	if (states > 256) {
		assert_int_equal(less.repeated, 0);
		total->reduced++;
		total->full_runs += full.runs;
		total->runs += less.runs;
	}
	hmap_free(&full.behaviour);
	hmap_free(&less.behaviour);
	hmap_free(&coy.behaviour);
	VEC_FREE(&full.failed);
	VEC_FREE(&less.failed);
	VEC_FREE(&coy.failed);
}

static void reduction_finds_the_same_failures(void **state)
{
	struct totals total = { 0 };
	(void)state;
	for (int batch = 0; batch < 60; batch++) {
		struct bench b;
		set_up(&b, batch % 4 ? "adr" : "msync");
		for (int i = 0; i < 100; i++)
			random_tale(&b.batch, 4 + (unsigned)(rnd() % 3), 8 + (unsigned)(rnd() % 10),
				    90);
		open_bench(&b);
		for (int i = 0; i < 100; i++)
			same_failures(&b, b.batch.tale.p[i], &total);
		tear_down(&b);
	}
	if (getenv("VERBOSE"))
		print_message("%lu tales, %lu reduced: %lu runs, then %lu; %lu failures\n",
			      (unsigned long)total.tales, (unsigned long)total.reduced,
			      (unsigned long)total.full_runs, (unsigned long)total.runs,
			      (unsigned long)total.failing);
	assert_true(total.tales > 3000 && total.reduced > 1000);
	assert_true(total.failing > 10000);
	assert_true(total.runs * 3 < total.full_runs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_has_them_all),
		cmocka_unit_test(counts_are_as_expected),
		cmocka_unit_test(prefix_and_lost_are_the_extremes),
		cmocka_unit_test(ahead_and_behind_are_one_line_off),
		cmocka_unit_test(auto_is_all_of_them),
		cmocka_unit_test(joined_strategies_take_turns),
		cmocka_unit_test(long_lines_are_thinned_out),
		cmocka_unit_test(pairs_are_bounded_and_neighbours_first),
		cmocka_unit_test(many_lines_are_thinned_out),
		cmocka_unit_test(exhaustive_leaves_out_covered_points),
		cmocka_unit_test(random_is_reproducible),
		cmocka_unit_test(random_is_endless_with_a_budget),
		cmocka_unit_test(random_ends_when_there_is_nothing_more),
		cmocka_unit_test(states_are_allowed_whatever_happens),
		cmocka_unit_test(reduction_finds_the_same_failures),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
