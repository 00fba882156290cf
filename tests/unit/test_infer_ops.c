/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations: by marks, requests, and calls that are made again and again. */
#include "trace_util.h"

#include "infer/infer.h"

/* Contexts of a small program; "A_B" is B as A calls it. */
enum { MAIN = TRACE_CTX_FIRST, OPEN, OPEN_INIT, PUT, PUT_COPY, DEL, CLOSE, CLOSE_FREE, PUT_PUT };

struct story {
	char *dir;
	struct trace_writer *w;
	struct trace_reader *r;
	uint32_t thread;
	uint64_t events;
};

static void ctx(struct story *s, uint32_t id, uint32_t parent, uint64_t call, uint64_t target)
{
	struct trace_ctx_def def = { parent, call, target };
	struct err err = { 0 };
	assert_ok(trace_put_ctx(s->w, 0, id, &def, &err));
}

static void begin(struct story *s)
{
	struct err err = { 0 };
	*s = (struct story){ .dir = new_dir(), .thread = 1 };
	s->w = trace_create(s->dir, &err);
	assert_non_null(s->w);
	put_process(s->w, 100, TRACE_NO_PROCESS, TRACE_BIRTH_START);
	ctx(s, MAIN, TRACE_CTX_ROOT, 0x100, 0x1000);
	ctx(s, OPEN, MAIN, 0x1010, 0x2000);
	ctx(s, OPEN_INIT, OPEN, 0x2010, 0x3000);
	ctx(s, PUT, MAIN, 0x1020, 0x4000);
	ctx(s, PUT_COPY, PUT, 0x4010, 0x5000);
	ctx(s, DEL, MAIN, 0x1030, 0x6000);
	ctx(s, CLOSE, MAIN, 0x1040, 0x7000);
	ctx(s, CLOSE_FREE, CLOSE, 0x7010, 0x8000);
	ctx(s, PUT_PUT, PUT, 0x4020, 0x4000);
}

/* An event; `kept`: the context up to which the calls are still the same, 0: by the paths. Returns its number. */
static uint64_t tell(struct story *s, uint8_t kind, uint32_t where, uint32_t kept, const char *text,
		     const uint64_t arg[4])
{
	struct err err = { 0 };
	struct trace_event e = { .kind = kind,
				 .nargs = (uint8_t)trace_kind_args(kind),
				 .thread = s->thread,
				 .ctx = where,
				 .kept = kept ? kept + 1 : 0,
				 .size = (uint32_t)strlen(text),
				 .data = (const uint8_t *)text };
	memcpy(e.arg, arg, 4 * sizeof *arg);
	assert_ok(trace_put_event(s->w, &e, &err));
	return s->events++;
}

static uint64_t store(struct story *s, uint32_t where, uint32_t kept)
{
	return tell(s, TRACE_STORE, where, kept, "12345678", (uint64_t[4]){ 0x9000 });
}

static uint64_t simple(struct story *s, uint8_t kind, uint32_t where, uint64_t arg)
{
	return tell(s, kind, where, 0, "", (uint64_t[4]){ arg });
}

static uint64_t map(struct story *s, uint32_t where)
{
	struct err err = { 0 };
	struct trace_event e = { .kind = TRACE_MAP,
				 .flags = TRACE_F_PM,
				 .nargs = (uint8_t)trace_kind_args(TRACE_MAP),
				 .thread = s->thread,
				 .ctx = where,
				 .arg = { 0x9000, 4096, TRACE_NO_FILE } };
	assert_ok(trace_put_event(s->w, &e, &err));
	return s->events++;
}

static uint64_t input(struct story *s, const char *text, uint64_t lines)
{
	return tell(s, TRACE_INPUT, MAIN, 0, text, (uint64_t[4]){ 0, strlen(text), lines, 0 });
}

static uint64_t output(struct story *s, const char *text)
{
	return tell(s, TRACE_OUTPUT, MAIN, 0, text, (uint64_t[4]){ 1, strlen(text) });
}

/* Two events in a call of put, the first in what it calls. */
static uint64_t put(struct story *s, uint32_t kept)
{
	store(s, PUT_COPY, kept);
	return store(s, PUT, 0);
}

static struct infer_ops *found(struct story *s, const char *way, size_t n)
{
	struct infer_ops_opts opts = { .way = way };
	struct err err = { 0 };
	size_t have;
	if (s->w)
		assert_ok(trace_finish(s->w, &err));
	s->w = NULL;
	if (!s->r)
		s->r = trace_open(s->dir, &err);
	assert_non_null(s->r);
	struct infer_ops *ops = infer_ops_read(s->r, &opts, &err);
	assert_non_null(ops);
	(void)infer_ops_all(ops, &have);
	assert_int_equal(have, n);
	return ops;
}

static void check(const struct infer_ops *ops, size_t i, uint64_t from, uint64_t to, uint64_t said)
{
	size_t n;
	const struct infer_op *op = infer_ops_all(ops, &n);
	assert_true(i < n);
	assert_int_equal(op[i].begin, from);
	assert_int_equal(op[i].end, to);
	assert_int_equal(op[i].said, said);
	assert_int_equal(op[i].index, i + 1);
}

static void end(struct story *s, struct infer_ops *ops)
{
	infer_ops_free(ops);
	trace_close(s->r);
	drop_dir(s->dir);
}

static void kept_is_written_and_read(void **state)
{
	struct story s;
	struct trace_event e;
	struct err err = { 0 };
	(void)state;
	begin(&s);
	store(&s, PUT, 0);
	store(&s, PUT, MAIN);
	s.thread = 2;
	store(&s, PUT, TRACE_CTX_FIRST);
	store(&s, PUT, 0);
	struct infer_ops *ops = found(&s, "marks", 0);
	assert_ok(trace_seek(s.r, 0, &err));
	static const uint32_t kept[] = { 0, MAIN + 1, TRACE_CTX_FIRST + 1, 0 };
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(trace_next(s.r, &e, &err), 1);
		assert_int_equal(e.kept, kept[i]);
		assert_int_equal(e.thread, i < 2 ? 1 : 2);
	}
	end(&s, ops);
}

static void calls_made_again_and_again_are_operations(void **state)
{
	struct story s;
	(void)state;
	begin(&s);
	map(&s, OPEN);
	for (int i = 0; i < 9; i++)
		store(&s, OPEN_INIT, i ? OPEN : 0); /* opens: no operations */
	uint64_t a = s.events, b, c;
	put(&s, 0);
	simple(&s, TRACE_FENCE, MAIN, 0); /* what persists it may be called behind it */
	b = put(&s, MAIN) - 1;
	c = store(&s, DEL, 0);
	put(&s, 0);
	for (int i = 0; i < 20; i++)
		store(&s, CLOSE_FREE, i ? CLOSE : 0);
	simple(&s, TRACE_UNMAP, CLOSE, 0x9000);
	struct infer_ops *ops = found(&s, NULL, 4);
	assert_string_equal(infer_ops_way(ops)->name, "inferred");
	check(ops, 0, a, b - 1, INFER_NO_END);
	check(ops, 1, b, b + 1, INFER_NO_END);
	check(ops, 2, c, c, INFER_NO_END);
	check(ops, 3, c + 1, c + 2, INFER_NO_END);
	end(&s, ops);
}

static void an_operation_that_calls_itself_is_one(void **state)
{
	struct story s;
	(void)state;
	begin(&s);
	store(&s, PUT, 0);
	store(&s, PUT_PUT, 0);
	store(&s, PUT_PUT, PUT);
	store(&s, PUT, MAIN);
	store(&s, PUT_PUT, 0);
	struct infer_ops *ops = found(&s, "inferred", 2);
	check(ops, 0, 0, 2, INFER_NO_END);
	check(ops, 1, 3, 4, INFER_NO_END);
	end(&s, ops);
}

/* put(); del(); each once: that both are answered tells. */
static void what_is_answered_is_acknowledged(void **state)
{
	struct story s;
	(void)state;
	begin(&s);
	uint64_t a = put(&s, 0), said = output(&s, "new\n");
	uint64_t b = store(&s, DEL, 0), gone = output(&s, "old\n");
	store(&s, CLOSE, 0);
	struct infer_ops *ops = found(&s, "inferred", 2);
	check(ops, 0, a - 1, a, said);
	check(ops, 1, b, b, gone);
	end(&s, ops);
}

static void threads_have_their_own(void **state)
{
	struct story s;
	(void)state;
	begin(&s);
	for (int i = 0; i < 3; i++)
		for (s.thread = 1; s.thread <= 2; s.thread++)
			store(&s, PUT, i ? MAIN : 0);
	struct infer_ops *ops = found(&s, NULL, 6);
	size_t n;
	const struct infer_op *op = infer_ops_all(ops, &n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(op[i].thread, i % 2 + 1);
	end(&s, ops);
}

/* A consumer beside a producer; what a third one did before they began is no operation. */
static void threads_do_other_things(void **state)
{
	struct story s;
	(void)state;
	begin(&s);
	s.thread = 3;
	for (int i = 0; i < 3; i++)
		store(&s, CLOSE_FREE, i ? CLOSE : 0);
	for (int i = 0; i < 4; i++)
		for (s.thread = 1; s.thread <= 2; s.thread++)
			store(&s, s.thread == 1 ? PUT : OPEN_INIT,
			      !i              ? 0
			      : s.thread == 1 ? MAIN
					      : OPEN);
	struct infer_ops *ops = found(&s, "inferred", 8);
	size_t n;
	const struct infer_op *op = infer_ops_all(ops, &n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(op[i].thread, i % 2 + 1);
	end(&s, ops);
}

static void requests_are_answered(void **state)
{
	struct story s;
	(void)state;
	begin(&s);
	store(&s, OPEN, 0);
	input(&s, "put 1 2\n# of both\nget 1\nput 3 4", 3);
	uint64_t a = put(&s, 0), said = output(&s, "new\n");
	uint64_t got = output(&s, "2\n");
	uint64_t b = put(&s, MAIN), last = output(&s, "new\n");
	input(&s, "", 0);
	store(&s, CLOSE, 0);
	output(&s, "bye\n");
	struct infer_ops *ops = found(&s, NULL, 3);
	size_t n;
	const struct infer_op *op = infer_ops_all(ops, &n);
	assert_string_equal(infer_ops_way(ops)->name, "requests");
	check(ops, 0, a - 1, a, said);
	check(ops, 1, got, got, got);
	check(ops, 2, b - 1, b, last);
	assert_string_equal(op[0].input, "put 1 2");
	assert_string_equal(op[1].input, "get 1");
	assert_string_equal(op[2].input, "put 3 4");
	assert_string_equal(op[0].output, "new");
	assert_string_equal(infer_op_name(ops, &op[2]), "put");
	char *sentence = infer_ops_sentence(ops);
	assert_non_null(strstr(sentence, "(put 2, get 1)"));
	free(sentence);
	end(&s, ops);
}

/* The thread that answers has another do the work. */
static void others_work_for_who_answers(void **state)
{
	struct story s;
	(void)state;
	begin(&s);
	input(&s, "put 1 2\nput 3 4\n", 2);
	for (int i = 0; i < 2; i++) {
		s.thread = 2;
		put(&s, i ? MAIN : 0);
		s.thread = 1;
		output(&s, "new\n");
	}
	struct infer_ops *ops = found(&s, "requests", 2);
	check(ops, 0, 1, 2, 3);
	check(ops, 1, 4, 5, 6);
	end(&s, ops);
}

/* Two threads answer, each what it has done itself; the one that began first answers last. */
static void those_who_answer_are_in_the_order_of_begins(void **state)
{
	struct story s;
	(void)state;
	begin(&s);
	input(&s, "put 1 2\nput 3 4\n", 2);
	for (s.thread = 1; s.thread <= 2; s.thread++)
		put(&s, 0);
	s.thread = 2;
	output(&s, "new\n");
	s.thread = 1;
	output(&s, "new\n");
	struct infer_ops *ops = found(&s, "requests", 2);
	check(ops, 0, 1, 2, 6);
	check(ops, 1, 3, 4, 5);
	end(&s, ops);
}

/* No way gives more than one: the first that gives any counts. */
static void one_request_is_better_than_none(void **state)
{
	struct story s;
	(void)state;
	begin(&s);
	input(&s, "put 1 2\n", 1);
	put(&s, 0);
	output(&s, "new\n");
	struct infer_ops *ops = found(&s, NULL, 1);
	assert_string_equal(infer_ops_way(ops)->name, "requests");
	assert_string_equal(infer_op_name(ops, infer_ops_all(ops, &(size_t){ 0 })), "put");
	end(&s, ops);
}

/* A program that now and then says how far it is answers nothing. */
static void progress_is_no_answer(void **state)
{
	struct story s;
	(void)state;
	begin(&s);
	input(&s, "1\n2\n3\n4\n5\n6\n", 6);
	for (int i = 0; i < 6; i++) {
		put(&s, i ? MAIN : 0);
		if (i % 3 == 2)
			output(&s, "50 %\n");
	}
	struct infer_ops *ops = found(&s, "requests", 0);
	assert_null(infer_ops_way(ops));
	infer_ops_free(ops);
	ops = found(&s, NULL, 6);
	end(&s, ops);
}

static void marks_nest_and_may_have_no_end(void **state)
{
	struct story s;
	(void)state;
	begin(&s);
	simple(&s, TRACE_OP_END, MAIN, 7);
	simple(&s, TRACE_OP_BEGIN, MAIN, 7);
	simple(&s, TRACE_OP_BEGIN, MAIN, 8);
	simple(&s, TRACE_OP_END, MAIN, 8);
	simple(&s, TRACE_OP_END, MAIN, 7);
	simple(&s, TRACE_OP_BEGIN, MAIN, 9);
	struct infer_ops *ops = found(&s, NULL, 2);
	size_t n;
	assert_int_equal(infer_ops_all(ops, &n)[0].id, 7);
	assert_int_equal(infer_ops_all(ops, &n)[1].id, 9);
	check(ops, 0, 1, 4, 4);
	check(ops, 1, 5, INFER_NO_END, INFER_NO_END);
	end(&s, ops);
}

/* One that is marked says more than many that are not. */
static void one_mark_is_enough(void **state)
{
	(void)state;
	struct story s;
	begin(&s);
	map(&s, OPEN);
	uint64_t from = simple(&s, TRACE_OP_BEGIN, MAIN, 7);
	put(&s, MAIN);
	put(&s, MAIN);
	put(&s, MAIN);
	uint64_t to = simple(&s, TRACE_OP_END, MAIN, 7);
	struct infer_ops *ops = found(&s, NULL, 1);
	check(ops, 0, from, to, to);
	assert_string_equal(infer_ops_way(ops)->name, "marks");
	infer_ops_free(ops);
	ops = found(&s, "inferred", 3);
	end(&s, ops);
}

static void nothing_gives_nothing(void **state)
{
	struct infer_ops_opts no = { .way = "no-such-way" };
	struct err err = { 0 };
	struct story s;
	(void)state;
	begin(&s);
	struct infer_ops *ops = found(&s, NULL, 0);
	assert_null(infer_ops_way(ops));
	assert_null(infer_ops_sentence(ops));
	assert_null(infer_ops_read(s.r, &no, &err));
	assert_int_equal(err.status, EXIT_USAGE);
	no = (struct infer_ops_opts){ .calls = "put" };
	assert_null(infer_ops_read(s.r, &no, &err));
	assert_int_equal(err.status, EXIT_PROGRAM);
	assert_non_null(strstr(err.text, "none does"));
	end(&s, ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept_is_written_and_read),
		cmocka_unit_test(calls_made_again_and_again_are_operations),
		cmocka_unit_test(an_operation_that_calls_itself_is_one),
		cmocka_unit_test(what_is_answered_is_acknowledged),
		cmocka_unit_test(threads_have_their_own),
		cmocka_unit_test(threads_do_other_things),
		cmocka_unit_test(requests_are_answered),
		cmocka_unit_test(others_work_for_who_answers),
		cmocka_unit_test(those_who_answer_are_in_the_order_of_begins),
		cmocka_unit_test(one_request_is_better_than_none),
		cmocka_unit_test(progress_is_no_answer),
		cmocka_unit_test(marks_nest_and_may_have_no_end),
		cmocka_unit_test(one_mark_is_enough),
		cmocka_unit_test(nothing_gives_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
