/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of pieces by two numbers each is that of the graph with all edges; and the histories of SQUINT's figures and
 * listings (Neal, chapter 4) have its subgraphs, epochs and groups.
 */
#include "crash_util.h"
#include "crash/order.h"
#include "infer/behaviour.h"

/* ---- the graph, edge by edge ---- */

struct graph {
	const struct crash_history *h;
	size_t n;
	bool *edge; /* [x * n + y] */
};

/* What is guaranteed just before a piece is stored has an edge to it; what is earlier in its line, too. */
static void add_edges(struct graph *g, struct crash_cursor *at, size_t y)
{
	struct crash_piece to = crash_piece_at(g->h, y);
	crash_cursor_move(at, to.event);
	for (size_t x = 0; x < y; x++) {
		struct crash_piece from = crash_piece_at(g->h, x);
		g->edge[x * g->n + y] = crash_number_of(g->h, (uint32_t)x) <= at->lo[from.line] ||
					from.line == to.line;
	}
}

/* Follows all paths. */
static void close_graph(struct graph *g)
{
	for (size_t via = 0; via < g->n; via++)
		for (size_t x = 0; x < g->n; x++)
			for (size_t y = 0; g->edge[x * g->n + via] && y < g->n; y++)
				g->edge[x * g->n + y] |= g->edge[via * g->n + y];
}

static void order_is_that_of_the_graph(void **state)
{
	uint64_t before = 0, pairs = 0;
	(void)state;
	for (unsigned round = 0; round < 60; round++) {
		struct batch b = { .model = model_at(round % 3) };
		struct crash_order order;
		struct crash_cursor at;
		random_tale(&b, 1 + round % 5, 40, 30 + round % 50);
		random_tale(&b, 2, 30, 60);
		open_batch(&b);
		crash_order_init(&order, b.h);
		crash_cursor_init(&at, b.h);
		struct graph g = { b.h, b.h->pieces, xcalloc(b.h->pieces * b.h->pieces + 1, 1) };
		for (size_t y = 0; y < g.n; y++)
			add_edges(&g, &at, y);
		close_graph(&g);
		for (uint32_t x = 0; x < g.n; x++) {
			assert_true(order.stored[x] < order.persisted[x]);
			for (uint32_t y = x + 1; y < g.n; y++, pairs++) {
				assert_int_equal(crash_before(&order, x, y), g.edge[x * g.n + y]);
				before += crash_before(&order, x, y);
			}
		}
		free(g.edge);
		crash_cursor_free(&at);
		crash_order_free(&order);
		free_batch(&b);
	}
	assert_true(before * 10 > pairs && before * 10 < pairs * 9);
}

/* A piece is persisted at the first event after which the line's guarantee holds it. */
static void persisted_at_is_the_first_guarantee(void **state)
{
	struct batch b = { .model = model_find("adr") };
	struct crash_order order;
	struct crash_cursor at;
	uint64_t never = 0;
	(void)state;
	for (unsigned i = 0; i < 40; i++)
		random_tale(&b, 1 + i % 4, 30, 50);
	open_batch(&b);
	crash_order_init(&order, b.h);
	crash_cursor_init(&at, b.h);
	for (uint32_t i = 0; i < b.h->pieces; i++) {
		struct crash_piece p = crash_piece_at(b.h, i);
		uint32_t number = crash_number_of(b.h, i);
		uint64_t event = crash_persisted_at(&order, i);
		never += event == UINT64_MAX;
		crash_cursor_move(&at, event == UINT64_MAX ? b.h->events : event);
		assert_true(at.lo[p.line] < number);
		if (event != UINT64_MAX) {
			crash_cursor_move(&at, event + 1);
			assert_true(at.lo[p.line] >= number);
		}
	}
	assert_true(never < b.h->pieces);
	crash_cursor_free(&at);
	crash_order_free(&order);
	free_batch(&b);
}

/* ---- the figures ---- */

/* A history of stores to fields, each on a line of its own, unless `lines` says otherwise; and what is found in it. */
struct figure {
	struct batch batch;
	struct tale *t;
	struct crash_order order;
	struct infer_behaviours found;
	struct infer_updates updates;
	VEC(struct infer_part) part; /* of each store, up to two: type INFER_NO_TYPE: none */
	VEC(struct epoch {
		uint32_t type;
		uint64_t base;
		VEC(uint32_t) update;
	})
	epoch;
};

enum { X_A, X_B, X_C, X_D, Y_Q };
enum { TYPE_X, TYPE_Y };

static void begin(struct figure *f)
{
	*f = (struct figure){ .batch = { .model = model_find("adr") } };
	f->t = add_tale(&f->batch, 16);
}

static void store_as(struct figure *f, unsigned line, uint32_t type, uint64_t base, uint32_t field)
{
	add_store(f->t, line * TRACE_LINE, 8, (uint8_t)(f->part.n + 1));
	VEC_PUSH(&f->part, ((struct infer_part){ type, field, base }));
	VEC_PUSH(&f->part, ((struct infer_part){ .type = INFER_NO_TYPE }));
}

static void store(struct figure *f, unsigned field)
{
	store_as(f, field, field == Y_Q ? TYPE_Y : TYPE_X, 1, field);
}

static void persist(struct figure *f, unsigned first, unsigned last)
{
	for (unsigned i = first; i <= last; i++) {
		struct act *a = add_act(f->t, TRACE_FLUSH, 0);
		a->site = SITE_CLWB;
		a->off = i * TRACE_LINE;
	}
	add_act(f->t, TRACE_FENCE, 0)->site = SITE_SFENCE;
}

static void ended(void *arg, const struct infer_epoch *e)
{
	struct figure *f = arg;
	struct epoch copy = { .type = e->type, .base = e->base };
	for (size_t i = 0; i < e->update.n; i++)
		VEC_PUSH(&copy.update, e->update.p[i]);
	VEC_PUSH(&f->epoch, copy);
	infer_groups_add(&f->found, e);
}

static void find(struct figure *f)
{
	struct infer_epochs e = { .ended = ended, .arg = f };
	open_batch(&f->batch);
	crash_order_init(&f->order, f->batch.h);
	for (unsigned i = 0; i < 4; i++)
		VEC_PUSH(&f->found.named.type, ((struct infer_type){ 0 }));
	f->updates = (struct infer_updates){ .n = f->batch.h->pieces,
					     .stored = f->order.stored,
					     .persisted = f->order.persisted,
					     .moments = f->order.moment.n };
	infer_epochs_init(&e, &f->updates);
	for (uint32_t i = 0; i < f->updates.n; i++)
		for (unsigned k = 0; k < 2; k++)
			if (f->part.p[2 * i + k].type != INFER_NO_TYPE)
				infer_epochs_add(&e, i, f->order.line[i], i, &f->part.p[2 * i + k]);
	infer_epochs_end(&e);
	infer_groups_end(&f->found);
}

static void end(struct figure *f)
{
	for (size_t i = 0; i < f->epoch.n; i++)
		VEC_FREE(&f->epoch.p[i].update);
	VEC_FREE(&f->epoch);
	VEC_FREE(&f->part);
	infer_groups_free(&f->found);
	VEC_FREE(&f->found.named.type);
	crash_order_free(&f->order);
	free_batch(&f->batch);
}

static bool before(const struct figure *f, uint32_t x, uint32_t y)
{
	return crash_before(&f->order, x, y);
}

/* An epoch of this object has these updates, from the first to the last. */
static bool has_epoch(const struct figure *f, uint32_t type, uint64_t base, uint32_t first,
		      uint32_t last)
{
	for (size_t i = 0; i < f->epoch.n; i++) {
		const struct epoch *e = &f->epoch.p[i];
		if (e->type == type && e->base == base && e->update.p[0] == first &&
		    e->update.p[e->update.n - 1] == last && e->update.n == last - first + 1)
			return true;
	}
	return false;
}

/* Figure 4.3: X.A; PERSIST(X); X.B; X.C; PERSIST(X); and something after it. */
static void figure_3_persistence_graph(void **state)
{
	struct figure f;
	(void)state;
	begin(&f);
	store(&f, X_A);
	persist(&f, X_A, X_C);
	store(&f, X_B);
	store(&f, X_C);
	persist(&f, X_A, X_C);
	store(&f, Y_Q);
	find(&f);
	assert_true(before(&f, 0, 1) && before(&f, 0, 2) && before(&f, 0, 3));
	assert_true(before(&f, 1, 3) && before(&f, 2, 3));
	assert_false(before(&f, 1, 2) || before(&f, 2, 1));
	end(&f);
}

/* Figure 4.4: stores to an inner struct are in the subgraphs of the inner type and of the outer one, Z in one of its own. */
static void figure_4_composite_types(void **state)
{
	enum { INNER, OUTER, UNRELATED };
	struct figure f;
	(void)state;
	begin(&f);
	for (unsigned i = 0; i < 2; i++) {
		store_as(&f, i, INNER, 10, i);
		f.part.p[2 * i + 1] = (struct infer_part){ OUTER, 10 + i, 8 };
	}
	store_as(&f, 2, OUTER, 8, 20);
	store_as(&f, 3, UNRELATED, 99, 30);
	find(&f);
	assert_int_equal(f.epoch.n, 3);
	assert_true(has_epoch(&f, INNER, 10, 0, 1));
	assert_true(has_epoch(&f, OUTER, 8, 0, 2));
	assert_true(has_epoch(&f, UNRELATED, 99, 3, 3));
	assert_int_equal(f.found.group.n, 3);
	end(&f);
}

/* Figure 4.5: X is updated in full, then in part, and after Y.Q once more. */
static void tell_figure_5(struct figure *f)
{
	begin(f);
	store(f, X_A);
	persist(f, X_A, X_D);
	store(f, X_B);
	store(f, X_C);
	persist(f, X_A, X_D);
	store(f, X_D);
	persist(f, X_A, X_D);
	store(f, X_A); /* 4: epoch 2 */
	persist(f, X_A, X_D);
	store(f, X_B);
	store(f, X_C);
	persist(f, X_A, X_D);
	store(f, Y_Q);
	persist(f, Y_Q, Y_Q);
	store(f, X_D); /* 8: epoch 3 */
	persist(f, X_A, X_D);
	find(f);
}

static void figure_5_epochs(void **state)
{
	struct figure f;
	(void)state;
	tell_figure_5(&f);
	assert_int_equal(f.epoch.n, 4);
	assert_true(has_epoch(&f, TYPE_X, 1, 0, 3));
	assert_true(has_epoch(&f, TYPE_X, 1, 4, 6));
	assert_true(has_epoch(&f, TYPE_Y, 1, 7, 7));
	assert_true(has_epoch(&f, TYPE_X, 1, 8, 8));
	end(&f);
}

/* Figure 4.6: epoch 1 represents all three; epoch 2 does not represent epoch 3. */
static void figure_6_groups(void **state)
{
	struct figure f;
	(void)state;
	tell_figure_5(&f);
	const struct infer_group *g = infer_group_at(&f.found, 0);
	const struct infer_shape *one = infer_shape_at(&f.found, g->shape), *two, *three;
	assert_int_equal(f.found.group.n, 2); /* X's and Y's */
	assert_int_equal(one->fields, 4);
	assert_int_equal(one->edges, 5); /* A before B, C and D; B and C before D */
	assert_int_equal(g->members, 3);
	two = infer_shape_at(&f.found, g->member[1]);
	three = infer_shape_at(&f.found, g->member[2]);
	assert_int_equal(two->fields, 3);
	assert_int_equal(two->edges, 2);
	assert_int_equal(three->fields, 1);
	assert_true(infer_represents(one, two) && infer_represents(one, three));
	assert_false(infer_represents(two, three) || infer_represents(two, one));
	assert_int_equal(infer_group_at(&f.found, 1)->members, 1);
	end(&f);
}

/* Listings 4.1 to 4.3: insert and replace do the same to an entry; both represent insert_ordered. */
static void listings_have_one_representative(void **state)
{
	enum { KEY, VALUE, VALID };
	struct figure f;
	(void)state;
	begin(&f);
	for (unsigned entry = 0; entry < 3; entry++) {
		for (unsigned field = KEY; field <= VALID; field++) {
			store_as(&f, 3 * entry + field, TYPE_X, entry, field);
			if (entry == 2 && field == KEY) /* insert_ordered */
				persist(&f, 3 * entry, 3 * entry);
		}
		if (entry == 1) /* replace: old_entry->valid = false */
			store_as(&f, VALID, TYPE_X, 0, VALID);
		persist(&f, 0, 3 * entry + VALID);
	}
	find(&f);
	const struct infer_group *g = infer_group_at(&f.found, 0);
	const struct infer_shape *insert = infer_shape_at(&f.found, g->shape);
	assert_int_equal(f.found.group.n, 1);
	assert_int_equal(g->members, 3);
	assert_int_equal(insert->fields, 3);
	assert_int_equal(insert->edges, 0);
	assert_int_equal(insert->behaviours, 2); /* insert's and replace's statements */
	assert_int_equal(infer_shape_at(&f.found, g->member[1])->edges, 2);  /* insert_ordered */
	assert_int_equal(infer_shape_at(&f.found, g->member[2])->fields, 1); /* old_entry->valid */
	end(&f);
}

/* In one line, the order of time is an order, whoever persists. */
static void fields_of_one_line_are_ordered(void **state)
{
	struct figure f;
	(void)state;
	begin(&f);
	for (unsigned i = 0; i < 3; i++)
		store_as(&f, 0, TYPE_X, 1, i);
	find(&f);
	assert_int_equal(f.found.shape.n, 1);
	assert_int_equal(f.found.shape.p[0].v.edges, 3);
	end(&f);
}

/* Rule (a) asks for everything that was stored before; without the fence the epoch goes on. */
static void field_again_is_not_enough(void **state)
{
	struct figure f;
	(void)state;
	begin(&f);
	store(&f, X_A);
	store(&f, X_B);
	persist(&f, X_A, X_A);
	store(&f, X_A);
	persist(&f, X_A, X_B);
	store(&f, X_C);
	persist(&f, X_C, X_C);
	store(&f, X_A);
	find(&f);
	assert_int_equal(f.epoch.n, 2);
	assert_true(has_epoch(&f, TYPE_X, 1, 0, 3));
	assert_true(has_epoch(&f, TYPE_X, 1, 4, 4));
	end(&f);
}

/* ---- epochs, by the words of the rules ---- */

/* Some update between two of an object lies between them: the first is persistent before it is stored, and it before the second. */
static bool others_between(const struct crash_order *o, uint32_t u1, uint32_t u2)
{
	for (uint32_t v = u1 + 1; v < u2; v++)
		if (o->persisted[u1] <= o->stored[v] && o->persisted[v] <= o->stored[u2])
			return true;
	return false;
}

/* Does an epoch that began with update `from` end before update i of the same object? */
static bool ends_before(const struct figure *f, uint32_t from, uint32_t i)
{
	const struct infer_part *mine = &f->part.p[2 * i];
	bool persistent = true, again = false;
	uint32_t last = from;
	for (uint32_t k = 0; k < i; k++) {
		const struct infer_part *p = &f->part.p[2 * k];
		if (p->type != mine->type || p->base != mine->base)
			continue;
		persistent &= f->order.persisted[k] <= f->order.stored[i];
		again |= k >= from && p->field == mine->field;
		last = k;
	}
	return (persistent && again) || others_between(&f->order, last, i);
}

/* The first update of the epoch that update i is in. */
static uint32_t epoch_begin(const struct figure *f, uint32_t i)
{
	const struct infer_part *mine = &f->part.p[2 * i];
	uint32_t from = UINT32_MAX;
	for (uint32_t k = 0; k <= i; k++) {
		const struct infer_part *p = &f->part.p[2 * k];
		if (p->type != mine->type || p->base != mine->base)
			continue;
		if (from == UINT32_MAX || ends_before(f, from, k))
			from = k;
	}
	return from;
}

static void epochs_are_those_of_the_rules(void **state)
{
	size_t epochs = 0, updates = 0;
	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		struct figure f;
		begin(&f);
		for (unsigned i = 0; i < 40; i++) {
			unsigned line = (unsigned)(rnd() % 12), object = line / 4;
			if (rnd() % 3)
				store_as(&f, line, object % 2, object, line % 4);
			else
				persist(&f, line, line + (unsigned)(rnd() % 4));
		}
		find(&f);
		for (size_t i = 0; i < f.epoch.n; i++)
			for (size_t k = 0; k < f.epoch.p[i].update.n; k++)
				assert_int_equal(epoch_begin(&f, f.epoch.p[i].update.p[k]),
						 f.epoch.p[i].update.p[0]);
		epochs += f.epoch.n;
		updates += f.updates.n;
		end(&f);
	}
	assert_true(epochs * 6 > updates && epochs * 3 < updates * 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_is_that_of_the_graph),
		cmocka_unit_test(persisted_at_is_the_first_guarantee),
		cmocka_unit_test(figure_3_persistence_graph),
		cmocka_unit_test(figure_4_composite_types),
		cmocka_unit_test(figure_5_epochs),
		cmocka_unit_test(figure_6_groups),
		cmocka_unit_test(listings_have_one_representative),
		cmocka_unit_test(fields_of_one_line_are_ordered),
		cmocka_unit_test(field_again_is_not_enough),
		cmocka_unit_test(epochs_are_those_of_the_rules),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
