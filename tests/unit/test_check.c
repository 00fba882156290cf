/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The universal oracles on small histories, written as one string each:
 *
 *   sA@X    plain store of 8 bytes at slot A (64 bytes apart) by the statement X
 *   zA@X    … of nothing but zeros   xA@X  an atomic one
 *   nA@X    non-temporal store       fA@X  clwb       cA@X  clflush
 *   F@X     sfence                   M@X   mfence     L@X   what a LOCK prefix implies
 *   yA@X    msync and wait           aA@X  … without waiting
 *   lA@X    atomic store of 1 in 4 bytes   uA@X  plain one of 0   wA@X  plain one to the 4 bytes behind
 *   vA@X    clwb of volatile memory  ( ) operation begins, ends    U  unmap    S  signal
 *   2sA@X   by thread 2
 *
 * and what must be found, in order: "kind@X kind@Y".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <cmocka.h>

#include "check/check.h"
#include "trace/internal.h"

#define BASE 0x10000000ull
#define SIZE 65536u

static struct trace_defs defs;
static uint64_t value; /* each store has another */

/* A statement is a letter; its site's id holds the letter and what it does. */
static uint32_t site(char letter, enum trace_site class)
{
	uint32_t id = (uint32_t) class * 128 + (uint32_t)letter;
	struct trace_site_def d = { .ip = 0x400000 + (uint64_t)letter,
				    .class = (uint8_t) class,
				    .size = 8 };
	assert_int_not_equal(trace_defs_site(&defs, 0, id, &d), DEFS_BAD);
	return id;
}

static int setup(void **state)
{
	struct trace_process_def p = {
		.pid = 1, .parent_index = TRACE_NO_PROCESS, .command = (char *)"x", .command_len = 2
	};
	struct trace_file_def f = { .dev = 1, .ino = 2, .size = SIZE, .path = (char *)"/pool" };
	(void)state;
	trace_defs_process(&defs, &p);
	trace_defs_file(&defs, &f);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	trace_defs_free(&defs);
	return 0;
}

static struct trace_event map_event(void)
{
	struct trace_event e = { .kind = TRACE_MAP, .flags = TRACE_F_PM, .thread = 1, .nargs = 6 };
	e.arg[0] = BASE;
	e.arg[1] = SIZE;
	return e;
}

/* What a verb does otherwise than its kind. */
static void adjust(struct trace_event *e, char verb)
{
	static const uint8_t zeros[8], one[8] = { 1 };
	if (strchr("luw", verb))
		e->size = 4;
	if (verb == 'w')
		e->arg[0] += 4;
	if (verb == 'z' || verb == 'u')
		e->data = zeros;
	if (verb == 'l')
		e->data = one;
	if (verb == 'v')
		e->arg[0] = 0x7000;
}

/* Reads one step of a history; returns the rest. */
static const char *parse(const char *p, struct trace_event *e)
{
	static const char verbs[] = "sncfvFML()USzxyaluw";
	static const uint8_t kind[] = { TRACE_STORE,    TRACE_STORE,  TRACE_FLUSH, TRACE_FLUSH,
					TRACE_FLUSH,    TRACE_FENCE,  TRACE_FENCE, TRACE_FENCE,
					TRACE_OP_BEGIN, TRACE_OP_END, TRACE_UNMAP, TRACE_SIGNAL,
					TRACE_STORE,    TRACE_STORE,  TRACE_SYNC,  TRACE_SYNC,
					TRACE_STORE,    TRACE_STORE,  TRACE_STORE };
	static const uint8_t class[] = {
		TRACE_SITE_STORE,  TRACE_SITE_NT_STORE, TRACE_SITE_CLFLUSH, TRACE_SITE_CLWB,
		TRACE_SITE_CLWB,   TRACE_SITE_SFENCE,   TRACE_SITE_MFENCE,  TRACE_SITE_ATOMIC,
		TRACE_SITE_OTHER,  TRACE_SITE_OTHER,    TRACE_SITE_SYSCALL, TRACE_SITE_OTHER,
		TRACE_SITE_STORE,  TRACE_SITE_ATOMIC,   TRACE_SITE_SYSCALL, TRACE_SITE_SYSCALL,
		TRACE_SITE_ATOMIC, TRACE_SITE_STORE,    TRACE_SITE_STORE
	};
	*e = (struct trace_event){ .thread = 1, .data = (const uint8_t *)&value };
	value += 0x10001;
	if (*p >= '1' && *p <= '9')
		e->thread = (uint32_t)(*p++ - '0');
	const char *v = strchr(verbs, *p);
	assert_non_null(v);
	char verb = *p++, letter = '-';
	e->kind = kind[v - verbs];
	e->arg[0] = BASE;
	if (*p >= 'A' && *p <= 'Z')
		e->arg[0] += (uint64_t)(*p++ - 'A') * 64;
	if (*p == '@')
		letter = p[1], p += 2;
	e->site = site(letter, (enum trace_site) class[v - verbs]);
	e->ip = 0x400000 + (uint64_t)letter;
	e->flags = verb == 'n'           ? TRACE_F_NT
		   : strchr("Lxl", verb) ? TRACE_F_ATOMIC
		   : verb == 'v'         ? TRACE_F_VOLATILE
					 : 0;
	e->size = e->kind == TRACE_STORE ? 8 : 0;
	adjust(e, verb);
	if (verb == 'U')
		e->arg[1] = SIZE;
	if (e->kind == TRACE_SYNC) {
		e->arg[1] = 64;
		e->arg[2] = verb == 'y' ? MS_SYNC : MS_ASYNC;
	}
	while (*p == ' ')
		p++;
	return p;
}

static void run(const char *history, const char *model, bool killed, struct finding_set *out,
		struct check **keep)
{
	struct check_opts o = { .model = model_find(model) };
	struct err err;
	struct trace_event e = map_event();
	struct check *c = *keep = check_new(&o, &defs, &err);
	uint64_t num = 0;
	assert_non_null(c);
	check_feed(c, &e);
	for (const char *p = history; *p;) {
		p = parse(p, &e);
		e.num = ++num;
		check_feed(c, &e);
	}
	if (!killed) {
		e = (struct trace_event){
			.kind = TRACE_EXIT, .thread = 1, .num = ++num, .nargs = 2
		};
		check_feed(c, &e);
	}
	check_end(c);
	check_report(c, out);
	finding_sort(out);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void expect_model(const char *history, const char *model, bool killed, const char *want)
{
	struct finding_set set = { 0 };
	struct check *c;
	struct buf got = { 0 };
	char *text[64];
	run(history, model, killed, &set, &c);
	assert_true(set.v.n < 64);
	for (size_t i = 0; i < set.v.n; i++)
		text[i] = xasprintf("%s@%c", set.v.p[i]->kind->name,
				    (char)(set.v.p[i]->place.frame[0].offset & 0x7f));
	qsort(text, set.v.n, sizeof *text, by_text);
	buf_puts(&got, "");
	for (size_t i = 0; i < set.v.n; i++) {
		buf_printf(&got, "%s%s", i ? " " : "", text[i]);
		free(text[i]);
	}
	assert_string_equal(got.n ? got.p : "", want);
	buf_free(&got);
	finding_set_free(&set);
	check_free(c);
}

static void expect(const char *history, const char *want)
{
	expect_model(history, "adr", false, want);
}

/* ---- correct histories ---- */

static void correct_programs_are_left_alone(void **state)
{
	(void)state;
	expect("sA@a fA@b F@c", "");
	expect("sA@a cA@b", "");
	expect("nA@a F@b", "");
	expect("sA@a sB@a fA@b fB@b F@c U", "");
	expect("(sA@a fA@b F@c) (sA@a fA@b F@c)", "");
	expect("sA@a fA@b L@c", "");               /* a compare-and-swap orders the flush */
	expect("M@a M@a", "");                     /* mfence between volatile accesses */
	expect("(sA@a) (sB@a) fA@b fB@b F@c", ""); /* a group commit */
	expect("2sA@a 2fA@b 2F@c", "");
}

/* ---- errors ---- */

static void a_store_that_is_never_flushed(void **state)
{
	(void)state;
	expect("sA@a fA@b F@c sA@d F@e", "missing-flush@d"); /* which explains the fence */
	expect("sA@a fA@b F@c sA@d", "missing-flush-and-fence@d");
	expect("sA@a fA@b F@c sB@a",
	       "missing-flush-and-fence@a"); /* same statement, persisted elsewhere */
}

static void a_flush_that_is_never_fenced(void **state)
{
	(void)state;
	expect("sA@a fA@b F@c sA@d fA@e", "missing-fence@d");
	expect("sA@a fA@b F@c sA@d fA@e U", "missing-fence@d");
}

static void a_fence_of_a_later_operation_does_not_help(void **state)
{
	(void)state;
	expect("(sA@a fA@b F@c) (sA@d) (sB@a fB@b F@c)", "missing-flush-and-fence@d");
	/* completed by a locked instruction after the operation: by accident */
	expect("(sA@a fA@b F@c) (sA@d fA@b) L@x", "missing-fence@d");
}

static void flush_in_one_thread_fence_in_another(void **state)
{
	(void)state;
	expect("1sA@a 1fA@b 1F@c 1sA@d 1fA@e 2F@f", "missing-fence@d redundant-fence@f");
	expect("1sA@a 1fA@b 1F@c 1sA@d 1fA@e 1F@f", "");
}

static void what_a_killed_program_was_doing_is_excused(void **state)
{
	(void)state;
	expect_model("sA@a fA@b F@c sA@d", "adr", true, "");
	expect_model("sA@a fA@b F@c sA@d sB@a fB@b F@c", "adr", true, "missing-flush@d");
	expect("sA@a fA@b F@c sA@d S", ""); /* it exits in a signal's handler */
	expect("sA@a fA@b F@c sA@d S sB@a fB@b F@c", "missing-flush@d");
}

/* ---- warnings ---- */

static void late_only_where_it_is_not_the_habit(void **state)
{
	(void)state;
	expect("(sA@a fA@b F@c) (sA@a fA@b F@c) (sA@a) (fA@b F@c)", "late-persist@a");
	expect("(sA@a) (sA@a) (sA@a fA@b F@c)", "");
	/* It has the value that is persistent. */
	expect("(zA@a fA@b F@c) (zA@a fA@b F@c) (zA@a) (fA@b F@c)", "");
}

/* What is late by habit of one statement only, and not of those who store the same bytes. */
static void late_where_others_are_in_time(void **state)
{
	(void)state;
	expect("(sA@a) (fA@b F@c) (sA@d fA@b F@c)", "late-persist@a");
	expect("(sA@d fA@b F@c) (sA@a) (fA@b F@c)", "late-persist@a");
	expect("(sA@a) (fA@b F@c) (sB@d fB@b F@c)", "");   /* other bytes */
	expect("(sA@a) (fA@b F@c) (sA@d) (fA@b F@c)", ""); /* all are late */
	expect("(sA@a) (fA@b F@c) (sA@d fA@b F@c) (sA@d) (sA@d)"
	       "(fA@b F@c)",
	       ""); /* mostly */
}

/* One word, stored to by K statements, each after each other: K * K pairs. All are late. */
static void judging_who_is_late_takes_less_than_watching(void **state)
{
	enum { K = 400, FIRST = 1000 };
	struct check_opts o = { .model = model_find("adr") };
	struct finding_set set = { 0 };
	struct err err;
	struct trace_event e = map_event();
	struct check *c = check_new(&o, &defs, &err);
	uint64_t num = 0;
	(void)state;
	assert_non_null(c);
	check_feed(c, &e);
	clock_t begin = clock();
	for (int i = 0; i < K * K; i++)
		for (const char *p = i / K == i % K ? "" : "(sA@a) (fA@b F@c) (sA@d) (fA@b F@c)";
		     *p;) {
			p = parse(p, &e);
			e.num = ++num;
			if (e.kind == TRACE_STORE) {
				struct trace_site_def d = { .class = TRACE_SITE_STORE, .size = 8 };
				e.site = FIRST + (uint32_t)(e.ip == 0x400000 + 'a' ? i / K : i % K);
				d.ip = e.ip = 0x500000 + e.site;
				trace_defs_site(&defs, 0, e.site, &d);
			}
			check_feed(c, &e);
		}
	clock_t watched = clock();
	check_report(c, &set);
	clock_t judged = clock();
	assert_int_equal(set.v.n, 0);
	assert_true(judged - watched < watched - begin);
	finding_set_free(&set);
	check_free(c);
}

/* To hand a range to the kernel and not to wait is late, however often it is done. */
static void late_where_nobody_waits(void **state)
{
	(void)state;
	expect_model("(sA@a aA@b) (sA@a aA@b) yA@c", "msync", false, "late-persist@a");
	expect_model("(sA@a) (sA@a) aA@b yA@c", "msync", false, "");
	expect_model("(sA@a aA@b yA@c) (sA@a aA@b yA@c)", "msync", false, "");
}

/* A lock that shares its word with a version is one all the same. */
static void locks_that_share_a_word(void **state)
{
	(void)state;
	expect("(lA@l wA@w fA@b F@c wA@w uA@u) (lA@l wA@w fA@b F@c wA@w uA@u fA@d F@e) "
	       "(lA@l wA@w fA@b F@c uA@u)",
	       "transient-data@u");
}

static void overwriting_again_and_again(void **state)
{
	(void)state;
	expect("sA@a sA@a sA@a sA@a sA@a sA@a fA@b F@c", "dirty-overwrite@a");
	expect("sA@a sA@a fA@b F@c", "");
	expect("(sA@a sA@d fA@b F@c) (sB@a sB@d fB@b F@c) (sC@a sC@d fC@b F@c)",
	       "dirty-overwrite@d");
	/* An atomic instruction reads what it overwrites. */
	expect("(sA@a xA@d fA@b F@c) (sB@a xB@d fB@b F@c) (sC@a xC@d fC@b F@c)", "");
}

/* ---- performance ---- */

static void data_that_is_never_persisted(void **state)
{
	(void)state;
	expect("sA@a sB@b fB@c F@d", "transient-data@a");
	expect("sA@a sB@b", "file-never-persisted@a"); /* once for the file */
}

static void flushes_in_vain(void **state)
{
	(void)state;
	expect("sA@a fA@b F@c fA@d F@e", "redundant-fence@e redundant-flush@d");
	expect("sA@a fA@b fA@d F@c", "redundant-flush@d");
	expect("nA@a fA@d F@c", "redundant-flush@d");
	expect("sA@a fA@b F@c vA@d", "flush-of-volatile@d");
	expect("sA@a fA@b F@c fB@d F@e", "redundant-fence@e redundant-flush@d");
	/* what another thread has flushed is not this one's to wait for */
	expect("1sA@a 1fA@b 2fA@b 1F@c 2F@c", "");
}

static void fences_in_vain(void **state)
{
	(void)state;
	expect("sA@a fA@b F@c F@d", "redundant-fence@d");
	expect("sA@a fA@b M@c M@c", "redundant-fence@c"); /* this mfence does order flushes */
}

/* ---- other models ---- */

static void under_eadr_flushes_are_in_vain(void **state)
{
	(void)state;
	expect_model("sA@a", "eadr", false, "");
	expect_model("sA@a fA@b", "eadr", false, "redundant-flush@b");
	expect_model("nA@a F@b nA@c", "eadr", false, "missing-fence@c");
}

static void under_msync_flushes_do_not_matter(void **state)
{
	(void)state;
	expect_model("sA@a fA@b F@c", "msync", false, "file-never-persisted@a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(correct_programs_are_left_alone),
		cmocka_unit_test(a_store_that_is_never_flushed),
		cmocka_unit_test(a_flush_that_is_never_fenced),
		cmocka_unit_test(a_fence_of_a_later_operation_does_not_help),
		cmocka_unit_test(flush_in_one_thread_fence_in_another),
		cmocka_unit_test(what_a_killed_program_was_doing_is_excused),
		cmocka_unit_test(late_only_where_it_is_not_the_habit),
		cmocka_unit_test(late_where_others_are_in_time),
		cmocka_unit_test(late_where_nobody_waits),
		cmocka_unit_test(judging_who_is_late_takes_less_than_watching),
		cmocka_unit_test(locks_that_share_a_word),
		cmocka_unit_test(overwriting_again_and_again),
		cmocka_unit_test(data_that_is_never_persisted),
		cmocka_unit_test(flushes_in_vain),
		cmocka_unit_test(fences_in_vain),
		cmocka_unit_test(under_eadr_flushes_are_in_vain),
		cmocka_unit_test(under_msync_flushes_do_not_matter),
	};
	return cmocka_run_group_tests_name("check", tests, setup, teardown);
}
