/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One machine, three who drive it: what check, crash and explore make of the same random
 * histories is what the slow twin makes of them, under every model of the table.
 *
 *   check      every byte: open or not, whose fence it waits for, ever guaranteed
 *   crash      every unit: lo and hi
 *   explore    every unit: the state of its newest store; part of the history is the prefix
 */
#include "crash_util.h"
#include "model/reference.h"
#include "symbolic/internal.h"

#define BATCHES 6u
#define TALES 40u

struct drivers {
	struct model *model;
	struct crash_cursor cursor;
	struct behave before, run;
	struct reference *whole, *lines; /* by the model's units; by those that explore follows */
	uint64_t base;                   /* where the file's first byte would be */
};

static struct drivers start(const struct batch *b, const struct tale *t, size_t number)
{
	const struct trace_defs *defs = trace_defs(b->reader);
	struct drivers d = { .base = tale_addr(number) - t->map };
	d.model = model_new(b->model, defs, NULL);
	model_rest_after(d.model,
			 (uint32_t)(number % 4)); /* lines go to rest and wake up all the time */
	symbolic_behave_init(&d.before, b->model, NULL);
	d.whole = model_reference_new(b->model->name, defs, d.base, t->size, 0);
	d.lines = model_reference_new(b->model->name, defs, d.base, t->size, d.before.unit);
	assert_non_null(d.whole); /* a model that reference.c has not been taught? */
	assert_int_equal(model_reference_unit(d.whole), b->model->unit);
	crash_cursor_init(&d.cursor, b->h);
	return d;
}

static void stop(struct drivers *d)
{
	model_free(d->model);
	crash_cursor_free(&d->cursor);
	symbolic_behave_free(&d->run);
	symbolic_behave_free(&d->before);
	model_reference_free(d->whole);
	model_reference_free(d->lines);
}

static void feed(struct drivers *d, const struct batch *b, const struct trace_event *e, bool prefix)
{
	model_feed(d->model, e);
	model_reference_feed(d->whole, e);
	model_reference_feed(d->lines, e);
	symbolic_behave_event(prefix ? &d->before : &d->run, e,
			      model_effect(b->model, e, model_class(trace_defs(b->reader), e)));
}

/* ---- comparison ---- */

static void same_bytes(const struct drivers *d, uint64_t off)
{
	struct model *m = d->model;
	const struct model_line *l = model_line_at(m, 0, d->base + off);
	for (unsigned i = 0; i < TRACE_LINE; i++) {
		uint64_t bit = 1ull << i;
		char state = !l || !(l->open & bit) ? 'g' : model_pending(m, l) & bit ? 'p' : 'd';
		assert_int_equal(state, model_reference_state(d->whole, off + i));
		assert_int_equal(l && l->ever & bit, model_reference_ever(d->whole, off + i));
		for (uint32_t id = 0; l && id < THREADS; id++)
			assert_int_equal((model_pending_by(m, l, id) & bit) != 0,
					 model_reference_pending_by(d->whole, off + i,
								    model_thread(m, id)->thread));
	}
}

static void same_bounds(const struct drivers *d, const struct tale *t, unsigned line)
{
	uint64_t off = t->start + line * t->unit;
	uint32_t id = t->id[line];
	assert_int_equal(id == NO_LINE ? 0 : d->cursor.lo[id], model_reference_lo(d->whole, off));
	assert_int_equal(id == NO_LINE ? 0 : d->cursor.hi[id], model_reference_hi(d->whole, off));
}

static void same_state(const struct drivers *d, const struct behave *b, uint64_t off)
{
	static const char name[] = { [MODEL_UNKNOWN] = '-',
				     [MODEL_DIRTY] = 'd',
				     [MODEL_PENDING] = 'p',
				     [MODEL_PERSISTENT] = 'g' };
	enum model_state state = MODEL_UNKNOWN;
	uint64_t i;
	if (hmap_get(&b->by_line, (d->base + off) / b->unit, &i))
		state = model_unit_state(&b->line.p[i].unit);
	else if (b->before && hmap_get(&b->before->by_line, (d->base + off) / b->unit, &i))
		state = model_unit_state(&b->before->line.p[i].unit);
	assert_int_equal(name[state], model_reference_unit_state(d->lines, off));
}

static void compare(const struct drivers *d, const struct tale *t, const struct behave *behave)
{
	uint64_t end = t->start + t->lines * t->unit;
	for (uint64_t off = t->start; off < end; off += TRACE_LINE)
		same_bytes(d, off);
	for (unsigned i = 0; i < t->lines; i++)
		same_bounds(d, t, i);
	for (uint64_t off = t->start; off < end; off += behave->unit)
		same_state(d, behave, off);
}

/* ---- histories ---- */

static struct trace_event map_event(const struct tale *t, size_t number)
{
	struct trace_event e = { .kind = TRACE_MAP, .flags = TRACE_F_PM };
	e.arg[0] = tale_addr(number);
	e.arg[1] = t->size - t->map;
	e.arg[2] = t->file;
	e.arg[3] = t->map;
	return e;
}

static void same_tale(const struct batch *b, size_t number)
{
	const struct tale *t = b->tale.p[number];
	struct drivers d = start(b, t, number);
	struct trace_event e = map_event(t, number);
	size_t prefix = rnd() % 2 ? rnd() % (t->act.n + 1) : 0;
	feed(&d, b, &e, true);
	for (uint32_t i = 1; i <= THREADS; i++) { /* so that check knows every thread */
		e = (struct trace_event){ .kind = TRACE_FENCE, .thread = i, .site = SITE_SFENCE };
		feed(&d, b, &e, true);
	}
	for (size_t i = 0; i < t->act.n; i++) {
		if (i == prefix)
			symbolic_behave_init(&d.run, b->model, &d.before);
		e = to_event(t, number, &t->act.p[i]);
		e.thread = t->act.p[i].thread + 1u; /* the twin has few */
		feed(&d, b, &e, i < prefix);
		crash_cursor_move(&d.cursor, t->first + i + 1);
		compare(&d, t, i < prefix ? &d.before : &d.run);
	}
	stop(&d);
}

static void drivers_agree_with_the_twin(void **state)
{
	(void)state;
	for (size_t m = 0; model_at(m); m++)
		for (unsigned k = 0; k < BATCHES; k++) {
			struct batch b = { .model = model_at(m) };
			for (unsigned i = 0; i < TALES; i++)
				random_tale(&b, 2 + (unsigned)(rnd() % 3), 60, 25 + k * 10);
			open_batch(&b);
			for (unsigned i = 0; i < TALES; i++)
				same_tale(&b, i);
			free_batch(&b);
		}
}

/* ---- the table ---- */

static void rows_are_sound(void **state)
{
	(void)state;
	assert_ptr_equal(model_find(NULL), model_at(0));
	assert_null(model_find("no such model"));
	for (size_t i = 0; model_at(i); i++) {
		const struct model_ops *m = model_at(i);
		assert_ptr_equal(model_find(m->name), m);
		assert_non_null(m->about);
		assert_true(m->unit >= 8 && m->unit <= MODEL_PAGE && !(m->unit & (m->unit - 1)));
		assert_true(!model_flushes(m) || TRACE_LINE % m->unit == 0);
		assert_true(!m->effect[MODEL_NO_ACT]);
		for (unsigned act = 0; act < MODEL_ACTS; act++)
			assert_true((m->effect[act] != MODEL_COMPLETES || act == MODEL_FENCE) &&
				    (m->effect[act] != MODEL_WAITS ||
				     m->effect[MODEL_FENCE] == MODEL_COMPLETES));
	}
}

static void acts_cover_lines_pages_and_files(void **state)
{
	struct trace_event e = { .kind = TRACE_FLUSH, .arg = { 0x1234, 10, 4 } };
	(void)state;
	assert_true(model_covers(&e).lo == 0x1200 && model_covers(&e).hi == 0x1240);
	e.kind = TRACE_SYNC;
	assert_true(model_covers(&e).lo == 0x1000 && model_covers(&e).hi == 0x2000);
	assert_int_equal(model_act(&e, 0), MODEL_MSYNC);
	e.arg[2] = 1; /* MS_ASYNC */
	assert_int_equal(model_act(&e, 0), MODEL_NO_ACT);
	e.kind = TRACE_FILE_SYNC;
	assert_true(model_covers(&e).lo == 0 && model_covers(&e).hi == UINT64_MAX);
	e.arg[1] = 2; /* sync_file_range */
	assert_int_equal(model_act(&e, 0), MODEL_NO_ACT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drivers_agree_with_the_twin),
		cmocka_unit_test(rows_are_sound),
		cmocka_unit_test(acts_cover_lines_pages_and_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
