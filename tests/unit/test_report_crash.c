/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports of crashes, and findings that are kept as JSON and read back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include "report_sample.h"

#include <cmocka.h>

#include "report_golden.h"

static struct sample checks, crashes;

static int setup(void **state)
{
	(void)state;
	golden_enter();
	sample_make(&checks, false);
	sample_make_crashes(&crashes);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	finding_set_free(&checks.set);
	finding_set_free(&crashes.set);
	return golden_leave();
}

static void test_text(void **state)
{
	(void)state;
	text_to("crash.txt", &crashes.report);
	expect_golden("crash.txt", "crash.txt");
}

static void test_json(void **state)
{
	struct err err;
	(void)state;
	assert_int_equal(report_json(&crashes.report, "crash.json", &err), 0);
	expect_golden("crash.json", "crash.json");
}

static void test_sarif(void **state)
{
	struct err err;
	(void)state;
	assert_int_equal(report_sarif(&crashes.report, "crash.sarif", &err), 0);
	expect_golden("crash.sarif", "crash.sarif");
}

static void test_html(void **state)
{
	struct err err;
	(void)state;
	assert_int_equal(report_html(&crashes.report, "crash.html", &err), 0);
	char *text = slurp("crash.html");
	assert_non_null(strstr(text, "\"says\":\"crashed with signal 11 (SIGSEGV)\""));
	assert_null(strstr(text, "<b>list"));
	free(text);
}

static void expect_verdict(const char *verdict, int status, const char *want)
{
	struct finding *f = sample_hung(&crashes);
	char *text = NULL;
	size_t n = 0;
	free(f->crash->verdict);
	f->crash->verdict = xstrdup(verdict);
	f->crash->status = status;
	FILE *out = open_memstream(&text, &n);
	report_show(f, out);
	fclose(out);
	if (!strstr(text, want))
		fail_msg("no '%s' in:\n%s", want, text);
	free(text);
	finding_free(f);
}

static void test_verdicts(void **state)
{
	(void)state;
	expect_verdict("failed", 3, "recovery   failed with exit status 3\n");
	expect_verdict("failed", 0, "failed with exit status 0: its output says so\n");
	expect_verdict("crashed", 6, "crashed with signal 6 (SIGABRT)\n");
	expect_verdict("crashed", 900, "crashed with signal 900\n");
	expect_verdict("hung", 0, "hung: it did not end in time\n");
	expect_verdict("flooded", 0, "flooded: it wrote more output than is allowed\n");
}

/* A long output is shown from its end, a long backtrace from its beginning; long lines are cut. */
static void test_long_output(void **state)
{
	struct finding *f = sample_hung(&crashes);
	struct buf lines = { 0 };
	char *text = NULL;
	size_t n = 0;
	(void)state;
	for (int i = 0; i < 1000; i++)
		buf_printf(&lines, "line %d%*s.\n", i, i == 995 ? 500 : 0, "");
	buf_puts(&lines, "the end");
	buf_add(&lines, "", 1);
	f->crash->output = xstrdup(lines.p);
	f->crash->backtrace = lines.p;
	FILE *out = open_memstream(&text, &n);
	report_show(f, out);
	fclose(out);
	assert_non_null(strstr(text, "| … 991 more …\n      | line 991.\n"));
	assert_non_null(strstr(text, "| the end\n"));
	assert_non_null(strstr(text, "| line 11.\n      | … 989 more …\n"));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) < 200);
	free(text);
	finding_free(f);
}

/* --- kept findings --- */

static void expect_same_place(const struct finding_place *a, const struct finding_place *b)
{
	assert_int_equal(a->n, b->n);
	for (size_t i = 0; i < a->n; i++) {
		const struct srcloc_frame *f = &a->frame[i], *g = &b->frame[i];
		assert_ptr_equal(f->function, g->function); /* interned */
		assert_ptr_equal(f->file, g->file);
		assert_ptr_equal(f->module, g->module);
		assert_int_equal(f->line, g->line);
		assert_int_equal(f->column, g->column);
		assert_int_equal(f->offset, g->offset);
		assert_int_equal(f->kind, g->kind);
		assert_int_equal(f->inlined, g->inlined);
	}
}

static void expect_same_text(const char *a, const char *b)
{
	assert_int_equal(!a, !b);
	if (a)
		assert_string_equal(a, b);
}

static void expect_same_steps(const struct finding_step *a, size_t n, const struct finding_step *b,
			      size_t m)
{
	assert_int_equal(n, m);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(a[i].what, b[i].what);
		expect_same_text(a[i].text, b[i].text);
		assert_int_equal(a[i].event, b[i].event);
		assert_int_equal(a[i].thread, b[i].thread);
	}
}

static void expect_same_scene(const struct finding_scene *a, const struct finding_scene *b)
{
	assert_int_equal(!a, !b);
	if (!a)
		return;
	assert_int_equal(a->field.n, b->field.n);
	assert_int_equal(a->fields, b->fields);
	for (size_t i = 0; i < a->field.n; i++) {
		const struct finding_field *x = &a->field.p[i], *y = &b->field.p[i];
		expect_same_text(x->data, y->data);
		expect_same_text(x->object, y->object);
		expect_same_text(x->member, y->member);
		expect_same_text(x->type, y->type);
		expect_same_text(x->has, y->has);
		expect_same_text(x->should, y->should);
		expect_same_text(x->at, y->at);
		expect_same_text(x->statement, y->statement);
		assert_int_equal(x->size, y->size);
	}
	assert_int_equal(a->flight.n, b->flight.n);
	for (size_t i = 0; i < a->flight.n; i++) {
		expect_same_text(a->flight.p[i].name, b->flight.p[i].name);
		expect_same_text(a->flight.p[i].input, b->flight.p[i].input);
		assert_int_equal(a->flight.p[i].begin, b->flight.p[i].begin);
		assert_int_equal(a->flight.p[i].id, b->flight.p[i].id);
	}
	assert_int_equal(a->lane.n, b->lane.n);
	for (size_t i = 0; i < a->lane.n; i++) {
		expect_same_text(a->lane.p[i].data, b->lane.p[i].data);
		expect_same_steps(a->lane.p[i].step.p, a->lane.p[i].step.n, b->lane.p[i].step.p,
				  b->lane.p[i].step.n);
	}
	expect_same_steps(a->fence.p, a->fence.n, b->fence.p, b->fence.n);
}

static void expect_same_crash(const struct finding_crash *a, const struct finding_crash *b)
{
	assert_int_equal(!a, !b);
	if (!a)
		return;
	expect_same_text(a->verdict, b->verdict);
	expect_same_text(a->output, b->output);
	expect_same_text(a->backtrace, b->backtrace);
	expect_same_text(a->state, b->state);
	assert_int_equal(a->status, b->status);
	assert_int_equal(a->event, b->event);
	assert_int_equal(a->lines_lost, b->lines_lost);
	assert_int_equal(a->lines_ahead, b->lines_ahead);
	assert_int_equal(a->states, b->states);
	assert_int_equal(a->recoveries, b->recoveries);
	expect_same_scene(a->scene, b->scene);
}

static void expect_same(const struct finding *a, const struct finding *b, bool valid_utf8)
{
	assert_string_equal(a->id, b->id);
	assert_string_equal(a->kind->name, b->kind->name);
	assert_string_equal(a->kind->title, b->kind->title);
	assert_int_equal(a->kind->level, b->kind->level);
	if (a->message && valid_utf8)
		assert_string_equal(a->message, b->message);
	expect_same_text(a->advice, b->advice);
	expect_same_text(a->cause, b->cause);
	expect_same_text(a->data, b->data);
	expect_same_text(a->replay, b->replay);
	assert_string_equal(a->witness, b->witness);
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->event, b->event);
	assert_int_equal(a->suppressed, b->suppressed);
	expect_same_place(&a->place, &b->place);
	assert_int_equal(a->related.n, b->related.n);
	for (size_t i = 0; i < a->related.n; i++) {
		assert_string_equal(a->related.p[i].role, b->related.p[i].role);
		expect_same_text(a->related.p[i].message, b->related.p[i].message);
		assert_int_equal(a->related.p[i].event, b->related.p[i].event);
		expect_same_place(&a->related.p[i].place, &b->related.p[i].place);
	}
	expect_same_steps(a->steps.p, a->steps.n, b->steps.p, b->steps.n);
	expect_same_crash(a->crash, b->crash);
}

static char *shown(const struct finding *f)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	report_show(f, out);
	fclose(out);
	return text;
}

static void round_trip(const struct finding *f)
{
	struct err err = { 0 };
	char *json = report_finding_json(f), *text = NULL;
	size_t n = 0;
	assert_null(strchr(json, '\n'));
	struct finding *back = report_finding_parse(json, &err);
	assert_non_null(back);
	expect_same(f, back, !f->message || !strchr(f->message, '\xff'));
	char *again = report_finding_json(back);
	assert_string_equal(json, again);
	FILE *out = open_memstream(&text, &n);
	assert_int_equal(report_show_json(json, out, &err), 0);
	fclose(out);
	char *want = shown(f);
	assert_string_equal(text, want);
	free(want);
	free(text);
	free(again);
	free(json);
	finding_free(back);
}

/* A misuse that a crash proved is still the same finding; all three verdicts come back as they were. */
static void test_proofs(void **state)
{
	(void)state;
	for (int proof = 0; proof < FINDING_PROOFS; proof++) {
		struct finding_set set = { 0 };
		struct finding *f = finding_new(finding_kind_info(FINDING_MISSING_FLUSH));
		struct finding_verdict v = { .proof = (enum finding_proof)proof,
					     .states = 5,
					     .stores = 40,
					     .lost = 12,
					     .text = xstrdup("it was tried") };
		struct srcloc_frame frame = { .function = "put", .file = "/p/a.c", .line = 3 };
		char id[17], *text;
		f->message = xstrdup("the store was not flushed");
		f->place = finding_place_copy((struct srcloc_where){ &frame, 1 });
		f = finding_add(&set, f);
		memcpy(id, f->id, sizeof id);
		finding_judge(f, &v);
		if (proof == FINDING_PROVED)
			finding_crash(f)->verdict = xstrdup("failed");
		round_trip(f);
		text = shown(f);
		assert_non_null(strstr(text, proof == FINDING_PROVED ? "proved: it was tried"
					     : proof == FINDING_HARMLESS
						     ? "harmless for this recovery: it was tried"
						     : "open: it was tried"));
		free(text);
		set.v.n = 0;
		hmap_free(&set.by_shape);
		hmap_free(&set.first);
		f = finding_add(&set, f);
		assert_string_equal(f->id, id);
		finding_set_free(&set);
	}
}

static struct finding *of_an_input(void)
{
	struct finding *f = finding_new(finding_kind_info(FINDING_PROGRAM_CRASH));
	struct finding_input *in = finding_input(f);
	memcpy(f->id, "0123456789abcdef", sizeof f->id);
	f->message = xstrdup("the program is ended by signal 11");
	in->text = xstrdup("stdin: 2 bytes, \"P\\x00\"\narg1: 1 byte, \"x\"");
	in->folder = xstrdup("t/findings/0123456789abcdef");
	in->backtrace = xstrdup("#0  walk (p=0x1) at /p/log.c:41\n#1  main () at /p/log.c:60\n");
	in->path = 7;
	in->paths = 3;
	return f;
}

static void test_input(void **state)
{
	struct finding *f = of_an_input();
	struct err err;
	char *json = report_finding_json(f), *text = shown(f);
	struct finding *back = report_finding_parse(json, &err);
	(void)state;
	round_trip(f);
	assert_string_equal(back->witness, "input");
	assert_string_equal(back->input->text, f->input->text);
	assert_string_equal(back->input->folder, f->input->folder);
	assert_string_equal(back->input->backtrace, f->input->backtrace);
	assert_int_equal(back->input->path, 7);
	assert_int_equal(back->input->paths, 3);
	assert_non_null(strstr(text, "  input      stdin: 2 bytes, \"P\\x00\"\n"));
	assert_non_null(strstr(text, "             arg1: 1 byte, \"x\"\n"));
	assert_non_null(strstr(text, "  files      t/findings/0123456789abcdef\n"));
	assert_non_null(strstr(text, "| #0  walk (p=0x1) at /p/log.c:41\n"));
	free(text);
	free(json);
	finding_free(back);
	finding_free(f);
}

static void test_round_trip(void **state)
{
	(void)state;
	for (size_t i = 0; i < checks.set.v.n; i++)
		round_trip(checks.set.v.p[i]);
	for (size_t i = 0; i < crashes.set.v.n; i++)
		round_trip(crashes.set.v.p[i]);
}

/* What is shown of one is what the whole report has of it. */
static void test_shown_as_in_the_report(void **state)
{
	char *report;
	(void)state;
	text_to("whole.txt", &crashes.report);
	report = slurp("whole.txt");
	for (size_t i = 0; i < crashes.set.v.n; i++) {
		char *one = shown(crashes.set.v.p[i]);
		assert_non_null(strstr(report, one));
		free(one);
	}
	free(report);
}

/* A finding of a report can be read as well; its paths are what the report has. */
static void test_every_frame_kind(void **state)
{
	struct finding *f = finding_new(finding_kind_info(FINDING_REDUNDANT_FENCE));
	struct srcloc_frame path[5];
	(void)state;
	for (uint8_t i = 0; i < 5; i++) {
		path[i] = sample_frame(&checks, "f", "list.c", i + 1u, i, "prog");
		path[i].kind = i;
		path[i].offset = UINT64_MAX - i;
	}
	f->place = sample_place(path, 5);
	struct finding_set set = { 0 };
	finding_add(&set, f);
	round_trip(f);
	finding_set_free(&set);
}

#define ID "\"id\":\"0123456789abcdef\""
#define KIND "\"kind\":\"ordering\",\"level\":\"error\""
#define WITNESS "\"witness\":{\"type\":\"crash\"}"

static void test_damaged(void **state)
{
	static const char *const bad[] = {
		"",
		"{",
		"[]",
		"null",
		"7",
		"{}",
		"{" KIND "," WITNESS "}",
		"{\"id\":\"0123\"," KIND "," WITNESS "}",
		"{\"id\":7," KIND "," WITNESS "}",
		"{" ID "," WITNESS "}",
		"{" ID ",\"kind\":\"mine\",\"level\":\"bad\"," WITNESS "}",
		"{" ID ",\"kind\":7,\"level\":\"error\"," WITNESS "}",
		"{" ID "," KIND "}",
		"{" ID "," KIND ",\"witness\":\"crash\"}",
		"{" ID "," KIND ",\"witness\":{\"type\":7}}",
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		memset(&err, 0, sizeof err);
		assert_null(report_finding_parse(bad[i], &err));
		assert_int_equal(err.status, EXIT_USAGE);
		assert_non_null(strstr(err.text, "damaged"));
		assert_int_equal(report_show_json(bad[i], stdout, &err), -1);
	}
}

/* Fields of the wrong type are as good as absent. */
static void test_odd_fields(void **state)
{
	static const char *const odd[] = {
		"{" ID "," KIND "," WITNESS "}",
		"{" ID "," KIND "," WITNESS ",\"stack\":7,\"related\":\"x\",\"steps\":{}}",
		"{" ID "," KIND "," WITNESS
		",\"stack\":[7,{\"line\":-1,\"offset\":\"zz\",\"how\":7}]}",
		"{" ID "," KIND "," WITNESS
		",\"related\":[7,{}],\"steps\":[null,{\"thread\":1e99}]}",
		"{" ID "," KIND
		",\"witness\":{\"type\":\"crash\",\"verdict\":\"\",\"status\":\"x\"}}",
		"{" ID "," KIND "," WITNESS ",\"count\":-1,\"event\":1e300,\"message\":[]}",
		"{" ID ",\"kind\":\"mine\",\"level\":\"note\"," WITNESS "}",
	};
	struct err err;
	(void)state;
	for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
		struct finding *f = report_finding_parse(odd[i], &err);
		assert_non_null(f);
		char *text = shown(f);
		assert_non_null(strstr(text, "0123456789abcdef"));
		free(text);
		finding_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_sarif),
		cmocka_unit_test(test_html),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_long_output),
		cmocka_unit_test(test_input),
		cmocka_unit_test(test_proofs),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_shown_as_in_the_report),
		cmocka_unit_test(test_every_frame_kind),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_odd_fields),
	};
	return cmocka_run_group_tests_name("report-crash", tests, setup, teardown);
}
