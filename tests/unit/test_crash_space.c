/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The states that are generated are those that the model allows: all of them and no others.
 *
 * The reference below is written from the definition alone. For each moment it replays the tale
 * from its beginning, keeps each line's stores in a list, and builds every image that prefixes of
 * these lists give, byte by byte; how long they are at least, the model's slow twin says. What the
 * history, its cursor and the exhaustive strategy give must be the same sets of images.
 */
#include "crash_util.h"
#include "model/reference.h"

#define TALES 3600u /* under each model */
#define BATCH 100u
#define MOST_IMAGES 400u

/* cmocka's goes byte by byte. */
static void same_bytes(const void *a, const void *b, size_t n)
{
	if (memcmp(a, b, n) != 0)
		assert_memory_equal(a, b, n);
}

/* ---- sets of images ---- */

/* An image: the bytes of its lines that tales may change, the file's size and its name's hash. */
#define WINDOW (HEAD + TAIL)
#define SPACE_LINES 4u

struct images {
	VEC(uint8_t) bytes;
	size_t each, n;
};

static size_t window(const struct tale *t)
{
	return t->unit == PAGE ? WINDOW : t->unit;
}

static void to_window(const struct tale *t, const uint8_t *line, uint8_t *out)
{
	if (t->unit == PAGE) {
		memcpy(out, line, HEAD);
		memcpy(out + HEAD, line + PAGE - TAIL, TAIL);
	} else {
		memcpy(out, line, t->unit);
	}
}

static uint8_t *new_image(struct images *s)
{
	VEC_RESERVE(&s->bytes, (s->n + 1) * s->each);
	return s->bytes.p + s->n++ * s->each;
}

static int by_bytes(const void *a, const void *b, void *each)
{
	return memcmp(a, b, *(size_t *)each);
}

/* Sorted, and each image once. */
static void make_set(struct images *s)
{
	size_t kept = 0;
	if (!s->n)
		return;
	qsort_r(s->bytes.p, s->n, s->each, by_bytes, &s->each);
	for (size_t i = 1; i < s->n; i++) {
		uint8_t *next = s->bytes.p + i * s->each;
		if (memcmp(s->bytes.p + kept * s->each, next, s->each) != 0)
			memmove(s->bytes.p + ++kept * s->each, next, s->each);
	}
	s->n = kept + 1;
}

static void assert_same_set(struct images *a, struct images *b)
{
	make_set(a);
	make_set(b);
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->each, b->each);
	if (a->n)
		same_bytes(a->bytes.p, b->bytes.p, a->n * a->each);
}

static void clear(struct images *s, const struct tale *t)
{
	s->n = 0;
	s->each = t->lines * window(t) + 16;
}

/* ---- the reference ---- */

struct ref_store {
	uint32_t off, len; /* in the line */
	uint8_t data[WIDEST];
};
struct ref_line {
	VEC(struct ref_store) store;
	size_t lo;
};
struct ref {
	const struct tale *t;
	VEC(uint32_t) lo; /* of its lines, before each act and after the last */
	struct ref_line line[SPACE_LINES];
	uint64_t size, name;
};

static void ref_append(struct ref *r, const struct act *a, uint32_t off, uint32_t len)
{
	struct ref_store s = { .off = off % r->t->unit, .len = len };
	memcpy(s.data, a->data + (off - a->off), len);
	VEC_PUSH(&r->line[off / r->t->unit].store, s);
}

/* Cut byte by byte: a new store begins at each multiple of eight (a write's: of the unit). */
static void ref_store(struct ref *r, const struct act *a)
{
	uint32_t atom = a->kind == TRACE_STORE ? 8 : r->t->unit, from = a->off;
	for (uint32_t at = a->off + 1; at <= a->off + a->len; at++)
		if (at % atom == 0 || at == a->off + a->len) {
			ref_append(r, a, from, at - from);
			from = at;
		}
}

static void ref_act(struct ref *r, const struct act *a)
{
	switch (a->kind) {
	case TRACE_STORE:
	case TRACE_FILE_WRITE: ref_store(r, a); break;
	case TRACE_FILE_RENAME: r->name = hash_bytes(a->data, a->len); break;
	case TRACE_FILE_TRUNCATE: r->size = r->t->size + a->off * PAGE; break;
	default: break;
	}
}

static void ref_bounds(struct ref *r, const struct batch *b)
{
	const struct tale *t = r->t;
	struct reference *twin = model_reference_new(b->model->name, trace_defs(b->reader),
						     tale_addr(t->file) - t->map, t->size, 0);
	assert_non_null(twin);
	r->lo.n = 0;
	for (size_t act = 0; act <= t->act.n; act++) {
		struct trace_event e;
		for (unsigned i = 0; i < t->lines; i++)
			VEC_PUSH(&r->lo, model_reference_lo(twin, t->start + i * t->unit));
		if (act == t->act.n)
			break;
		e = to_event(t, t->file, &t->act.p[act]);
		e.thread = t->act.p[act].thread;
		model_reference_feed(twin, &e);
	}
	model_reference_free(twin);
}

/* How it stands just before the act. */
static void ref_replay(struct ref *r, const struct batch *b, const struct tale *t, size_t act)
{
	if (r->t != t) {
		r->t = t;
		ref_bounds(r, b);
	}
	r->size = t->size;
	r->name = hash_bytes(t->path, strlen(t->path));
	for (unsigned i = 0; i < SPACE_LINES; i++)
		r->line[i].store.n = 0;
	for (unsigned i = 0; i < t->lines; i++)
		r->line[i].lo = r->lo.p[act * t->lines + i];
	for (size_t i = 0; i < act; i++)
		ref_act(r, &t->act.p[i]);
}

static void ref_free(struct ref *r)
{
	VEC_FREE(&r->lo);
	for (unsigned i = 0; i < SPACE_LINES; i++)
		VEC_FREE(&r->line[i].store);
}

static uint64_t ref_count(const struct ref *r)
{
	uint64_t product = 1;
	for (unsigned i = 0; i < r->t->lines; i++)
		product *= r->line[i].store.n - r->line[i].lo + 1;
	return product;
}

/* A line with its first v stores. */
static void ref_contents(const struct ref *r, unsigned line, size_t v, uint8_t *out)
{
	const struct ref_line *l = &r->line[line];
	memcpy(out, r->t->initial + r->t->start + line * r->t->unit, r->t->unit);
	for (size_t k = 0; k < v; k++)
		for (uint32_t i = 0; i < l->store.p[k].len; i++)
			out[l->store.p[k].off + i] = l->store.p[k].data[i];
}

/* Adds all images that are allowed. */
static void ref_images(const struct ref *r, struct images *out)
{
	for (uint64_t i = 0, n = ref_count(r); i < n; i++) {
		uint8_t *image = new_image(out), line[PAGE];
		uint64_t rest = i;
		for (unsigned k = 0; k < r->t->lines; k++) {
			uint64_t base = r->line[k].store.n - r->line[k].lo + 1;
			ref_contents(r, k, r->line[k].lo + rest % base, line);
			to_window(r->t, line, image + k * window(r->t));
			rest /= base;
		}
		memcpy(image + out->each - 16, &r->size, 8);
		memcpy(image + out->each - 8, &r->name, 8);
	}
}

/* ---- what holdfast says ---- */

struct space {
	struct batch batch;
	struct crash_cursor cursor;
	struct ref ref;
	struct images expected, got;
	struct hmap by_image, by_hash; /* of a tale: equal contents, and only these, equal hashes */
};

static void hf_line(struct space *s, const struct tale *t, unsigned line, uint32_t version,
		    uint8_t *out)
{
	const uint8_t *initial = t->initial + t->start + line * t->unit;
	uint8_t bytes[PAGE];
	if (t->id[line] == NO_LINE) {
		to_window(t, initial, out);
		return;
	}
	crash_contents(s->batch.h, t->id[line], version, bytes);
	to_window(t, bytes, out);
	if (t->unit == PAGE)
		same_bytes(bytes + HEAD, initial + HEAD, PAGE - WINDOW);
}

static void hf_image(struct space *s, const struct tale *t, const struct crash_state *state)
{
	const struct crash_cursor *c = &s->cursor;
	uint8_t *image = new_image(&s->got);
	uint64_t hash = crash_state_hash(state, c), name, own, other;
	for (unsigned i = 0; i < t->lines; i++) {
		uint32_t v = t->id[i] == NO_LINE ? 0 : crash_state_get(state, c, t->id[i]);
		hf_line(s, t, i, v, image + i * window(t));
	}
	name = hash_bytes(c->name[t->file], strlen(c->name[t->file]));
	memcpy(image + s->got.each - 16, &c->size[t->file], 8);
	memcpy(image + s->got.each - 8, &name, 8);
	own = hash_bytes(image, s->got.each);
	if (hmap_get(&s->by_image, own, &other))
		assert_true(other == hash);
	else
		assert_false(hmap_get(&s->by_hash, hash, &other));
	hmap_put(&s->by_image, own, hash);
	hmap_put(&s->by_hash, hash, own);
}

/* Every vector of versions between lo and hi. */
static void hf_images(struct space *s, const struct tale *t, uint64_t count)
{
	const struct crash_cursor *c = &s->cursor;
	struct crash_state state = { .event = c->at };
	for (uint64_t i = 0; i < count; i++) {
		uint64_t rest = i;
		state.at.n = 0;
		for (unsigned k = 0; k < t->lines; k++) {
			uint32_t id = t->id[k], base;
			if (id == NO_LINE)
				continue;
			base = c->hi[id] - c->lo[id] + 1;
			crash_state_set(&state, c, id, c->lo[id] + (uint32_t)(rest % base));
			rest /= base;
		}
		assert_true(rest == 0);
		hf_image(s, t, &state);
	}
	crash_state_free(&state);
}

static void same_bounds(struct space *s, const struct tale *t)
{
	for (unsigned i = 0; i < t->lines; i++) {
		uint32_t id = t->id[i];
		assert_int_equal(id == NO_LINE ? 0 : s->cursor.lo[id], s->ref.line[i].lo);
		assert_int_equal(id == NO_LINE ? 0 : s->cursor.hi[id], s->ref.line[i].store.n);
	}
}

/* Hashes are compared within a tale. */
static void forget_hashes(struct space *s)
{
	hmap_free(&s->by_image);
	hmap_free(&s->by_hash);
}

static void same_space_at(struct space *s, const struct tale *t, size_t act)
{
	uint64_t count;
	ref_replay(&s->ref, &s->batch, t, act);
	crash_cursor_move(&s->cursor, t->first + act);
	same_bounds(s, t);
	count = ref_count(&s->ref);
	if (count > MOST_IMAGES)
		return;
	clear(&s->expected, t);
	clear(&s->got, t);
	ref_images(&s->ref, &s->expected);
	hf_images(s, t, count);
	assert_same_set(&s->expected, &s->got);
}

/* ---- the exhaustive strategy ---- */

struct collect {
	struct space *s;
	const struct tale *t;
	struct hmap seen; /* at the current event */
	uint64_t event;
};

static bool collect_state(void *arg, const struct crash_state *state)
{
	struct collect *c = arg;
	uint64_t hash, unused;
	crash_cursor_move(&c->s->cursor, state->event);
	hash = crash_state_hash(state, &c->s->cursor);
	if (c->event != state->event)
		hmap_free(&c->seen);
	c->event = state->event;
	assert_false(hmap_get(&c->seen, hash, &unused)); /* each once */
	hmap_put(&c->seen, hash, 1);
	hf_image(c->s, c->t, state);
	return true;
}

/* Over all points of a tale, though most points are left out. Not where sizes and names are lost, too, which the reference does not count. */
static void exhaustive_is_all(struct space *s, const struct tale *t)
{
	if (s->batch.h->meta != CRASH_NO_FILE)
		return;
	struct crash_points points = { 0 };
	struct crash_world world = { .h = s->batch.h, .points = &points };
	struct collect c = { s, t, { 0 }, UINT64_MAX };
	uint64_t total = 0;
	tale_points(t, 1 + rnd() % 3, &points);
	clear(&s->expected, t);
	clear(&s->got, t);
	for (size_t i = 0; i < points.v.n && total <= MOST_IMAGES; i++) {
		ref_replay(&s->ref, &s->batch, t, points.v.p[i].event - t->first);
		total += ref_count(&s->ref);
		if (total <= MOST_IMAGES)
			ref_images(&s->ref, &s->expected);
	}
	if (total <= MOST_IMAGES) {
		crash_cursor_init(&world.cursor, s->batch.h);
		assert_true(run_strategy("exhaustive", &world, collect_state, &c) <= total);
		crash_cursor_free(&world.cursor);
		assert_same_set(&s->expected, &s->got);
	}
	hmap_free(&c.seen);
	VEC_FREE(&points.v);
}

/* ---- contents ---- */

static void same_contents(struct space *s, const struct tale *t)
{
	uint8_t a[PAGE], b[PAGE], before[PAGE];
	ref_replay(&s->ref, &s->batch, t, t->act.n);
	for (unsigned i = 0; i < t->lines; i++)
		for (uint32_t v = 0; v <= s->ref.line[i].store.n && t->id[i] != NO_LINE; v++) {
			uint64_t hash = crash_contents_hash(s->batch.h, t->id[i], v);
			crash_contents(s->batch.h, t->id[i], v, a);
			ref_contents(&s->ref, i, v, b);
			same_bytes(a, b, t->unit);
			if (v)
				assert_true(
					(memcmp(a, before, t->unit) == 0) ==
					(crash_contents_hash(s->batch.h, t->id[i], v - 1) == hash));
			memcpy(before, a, t->unit);
		}
}

static void start(struct space *s, const struct model_ops *m)
{
	*s = (struct space){ .batch = { .model = m } };
}

static void finish(struct space *s)
{
	crash_cursor_free(&s->cursor);
	free_batch(&s->batch);
	ref_free(&s->ref);
	VEC_FREE(&s->expected.bytes);
	VEC_FREE(&s->got.bytes);
	forget_hashes(s);
}

static void same_tale(struct space *s, const struct tale *t)
{
	forget_hashes(s);
	for (int i = 0; i < 3; i++)
		same_space_at(s, t, rnd() % (t->act.n + 1));
	same_space_at(s, t, t->act.n);
	exhaustive_is_all(s, t);
	same_contents(s, t);
}

static void same_batch(const struct model_ops *m)
{
	struct space s;
	start(&s, m);
	for (unsigned i = 0; i < BATCH; i++)
		random_tale(&s.batch, 2 + (unsigned)(rnd() % 3), 4 + (unsigned)(rnd() % 20),
			    20 + (unsigned)(rnd() % 50));
	open_batch(&s.batch);
	crash_cursor_init(&s.cursor, s.batch.h);
	for (unsigned i = 0; i < BATCH; i++)
		same_tale(&s, s.batch.tale.p[i]);
	for (unsigned i = 0; i < BATCH; i++) { /* and in any order */
		forget_hashes(&s);
		same_space_at(&s, s.batch.tale.p[i * 37 % BATCH], i % 5);
	}
	finish(&s);
}

/* ---- tests ---- */

static void space_is_the_model(void **state)
{
	(void)state;
	for (size_t m = 0; model_at(m); m++)
		for (unsigned i = 0; i < TALES; i += BATCH)
			same_batch(model_at(m));
}

/* Lines with more pieces than lie between checkpoints. */
static void long_lines_have_their_contents(void **state)
{
	(void)state;
	for (size_t m = 0; model_at(m); m++) {
		struct space s;
		start(&s, model_at(m));
		for (int i = 0; i < 10; i++)
			random_tale(&s.batch, 2, 400, 95);
		open_batch(&s.batch);
		crash_cursor_init(&s.cursor, s.batch.h);
		size_t longer = 0;
		for (size_t i = 0; i < s.batch.h->line.n; i++)
			longer += s.batch.h->line.p[i].n > CRASH_CHECKPOINT;
		assert_true(longer >= 10);
		for (int i = 0; i < 10; i++)
			same_contents(&s, s.batch.tale.p[i]);
		finish(&s);
	}
}

static void same_cursor(const struct crash_cursor *a, const struct crash_cursor *b)
{
	const struct crash_history *h = a->h;
	assert_true(a->at == b->at && a->hash == b->hash);
	assert_true(a->piece == b->piece && a->raise == b->raise && a->change == b->change);
	same_bytes(a->lo, b->lo, h->line.n * sizeof *a->lo);
	same_bytes(a->hi, b->hi, h->line.n * sizeof *a->hi);
	same_bytes(a->size, b->size, h->file.n * sizeof *a->size);
	for (size_t i = 0; i < h->file.n; i++)
		assert_string_equal(a->name[i], b->name[i]);
	assert_int_equal(a->open.n, b->open.n);
	for (uint32_t i = 0; i < h->line.n; i++) {
		assert_int_equal(a->slot[i] != 0, a->lo[i] < a->hi[i]);
		if (a->slot[i])
			assert_int_equal(a->open.p[a->slot[i] - 1], i);
		assert_int_equal(a->hi[i], crash_version_at(h, i, a->at));
	}
}

static void cursors_move_both_ways(void **state)
{
	(void)state;
	for (size_t m = 0; model_at(m); m++) {
		struct batch b = { .model = model_at(m) };
		struct crash_cursor fresh;
		struct crash_world world = { 0 };
		struct crash_gen gen = { .w = &world };
		uint64_t at = 0;
		for (int i = 0; i < 30; i++)
			random_tale(&b, 4, 30, 40);
		open_batch(&b);
		crash_cursor_init(&world.cursor, b.h);
		for (int i = 0; i < 1200; i++) {
			size_t n;
			at = rnd() % 4 == 0 ? rnd() : rnd() % 2 ? at + rnd() % 9 : at - rnd() % 9;
			at %= b.h->events + 1;
			crash_cursor_init(&fresh, b.h);
			crash_cursor_move(&fresh, at);
			crash_cursor_move(&world.cursor, at);
			if (rnd() % 2)
				crash_gen_open(&gen, &n); /* sorts; it must stay a cursor */
			same_cursor(&world.cursor, &fresh);
			crash_cursor_free(&fresh);
		}
		crash_cursor_free(&world.cursor);
		free_batch(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(space_is_the_model),
		cmocka_unit_test(long_lines_have_their_contents),
		cmocka_unit_test(cursors_move_both_ways),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
