/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of one program from one snapshot: does each of them get its input, and nothing of the
 * others? explored.c is the program; it notices what it should not see.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "explorer_rig.h"

static void same_story_each_time(void **state)
{
	struct test t = { 0 };
	(void)state;
	add(&t, SYM_SRC_STDIN, 4, NULL);
	assert_true(begin(&t, "pool", "made-by-the-program"));
	assert_true(launch_explorer_forks(t.e, NULL));
	assert_int_equal(t.h.ready, 1);
	assert_int_equal(t.h.stores, 1);
	uint64_t prefix = launch_explorer_prefix(t.e);
	assert_int_equal(prefix, t.h.events);
	unsigned before = 0;
	for (unsigned i = 0; i < 20; i++) {
		char in[] = "aaaa";
		in[0] = (char)('a' + i);
		assert_int_equal(run_with(&t, in), in[0] & 7);
		assert_int_equal(t.h.first, prefix);
		assert_int_equal(t.h.last, prefix + t.h.events - 1);
		assert_int_equal(t.h.stores, in[0] == 'q' ? 2 : 1);
		assert_int_equal(t.h.taken, 4);
		assert_int_equal(t.h.ends, 1);
		assert_true(t.h.branches > 0);
		if (before && in[0] != 'q' && in[0] != 'r')
			assert_int_equal(t.h.events, before);
		before = t.h.events;
	}
	end(&t);
	assert_int_equal(access("made-by-the-program", F_OK), -1);
}

static void shorter_input(void **state)
{
	struct test t = { 0 };
	(void)state;
	add(&t, SYM_SRC_STDIN, 4, NULL);
	assert_true(begin(&t, "pool", "p"));
	assert_int_equal(run_with(&t, "abc"), 80);
	assert_int_equal(t.h.taken, 3);
	assert_true(t.h.end_met);
	assert_int_equal(run_with(&t, "abcd"), 'a' & 7);
	assert_false(t.h.end_met);
	end(&t);
}

static void files_are_private(void **state)
{
	struct test t = { 0 };
	(void)state;
	put("kept", "here");
	add(&t, SYM_SRC_STDIN, 4, NULL);
	assert_true(begin(&t, "changes", NULL));
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(run_with(&t, "aaaa"), 0);
		assert_false(t.run.dirtied);
	}
	end(&t);
	expect_text("kept", "here");
	assert_int_equal(access("before", F_OK), -1);
}

static void descriptors_are_put_back(void **state)
{
	struct test t = { 0 };
	(void)state;
	add(&t, SYM_SRC_STDIN, 4, NULL);
	assert_true(begin(&t, "logs", "append"));
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(run_with(&t, "aaaa"), 0);
		assert_false(t.run.dirtied);
	}
	end(&t);
}

/* Three times the server is started anew; then each run is a process of its own. */
static void what_cannot_be_put_back(void **state)
{
	struct test t = { 0 };
	(void)state;
	add(&t, SYM_SRC_STDIN, 4, NULL);
	assert_true(begin(&t, "logs", "change"));
	unsigned prefix = t.h.events;
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(run_with(&t, "aaaa"), 0);
		assert_int_equal(t.run.dirtied, i < 3);
		assert_int_equal(t.h.taken, 4);
		assert_int_equal(t.h.first, i < 3 ? prefix : 0);
		assert_int_equal(launch_explorer_forks(t.e, NULL), i < 3);
	}
	end(&t);
}

static void bad_ends(void **state)
{
	struct test t = { 0 };
	(void)state;
	t.o.timeout = 5;
	add(&t, SYM_SRC_STDIN, 4, NULL);
	assert_true(begin(&t, "crash", NULL));
	assert_int_equal(run_with(&t, "none"), 0);
	assert_int_equal(t.run.signal, 0);
	assert_int_equal(run_with(&t, "segv"), 128 + SIGSEGV);
	assert_int_equal(t.run.signal, SIGSEGV);
	assert_int_equal(t.h.ends, 1);
	assert_int_equal(run_with(&t, "abrt"), 128 + SIGABRT);
	run_with(&t, "hang");
	assert_true(t.run.hung);
	assert_int_equal(t.run.signal, SIGKILL);
	assert_int_equal(run_with(&t, "none"), 0);
	assert_false(t.run.hung);
	end(&t);
}

static void arguments_and_environment(void **state)
{
	struct test t = { 0 };
	(void)state;
	add(&t, SYM_SRC_ARG, 2, NULL);
	t.source[0].index = 2;
	add(&t, SYM_SRC_ENV, 3, "HOLDFAST_TEST");
	assert_true(begin(&t, "arguments", "x"));
	assert_int_equal(run_with(&t, "xyz"), 0);
	assert_int_equal(run_with(&t, "xycd"), 2);
	assert_int_equal(run_with(&t, "xycde"), 0);
	assert_int_equal(run_with(&t, "ab"), 1);
	assert_int_equal(run_with(&t, "a"), 0);
	end(&t);
}

static void file_in_the_middle(void **state)
{
	struct test t = { 0 };
	(void)state;
	put("input", "<abcd>");
	add(&t, SYM_SRC_FILE, 4, "input");
	t.source[0].off = 1;
	assert_true(begin(&t, "file", "input"));
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(run_with(&t, "wxyz"), 0);
		assert_int_equal(run_with(&t, "fxyz"), 1);
	}
	end(&t);
	expect_text("input", "<abcd>");
}

static void file_to_its_end(void **state)
{
	struct test t = { 0 };
	(void)state;
	add(&t, SYM_SRC_FILE, 4, "not-there-yet");
	assert_true(begin(&t, "size", "not-there-yet"));
	assert_int_equal(run_with(&t, "ab"), 2);
	assert_int_equal(run_with(&t, "abcd"), 4);
	end(&t);
	assert_int_equal(access("not-there-yet", F_OK), -1);
}

static void named_memory(void **state)
{
	struct test t = { 0 };
	size_t n;
	const uint8_t *first;
	(void)state;
	assert_true(begin(&t, "memory", NULL));
	assert_int_equal(launch_explorer_sources(t.e, &n, &first)->len, 3);
	assert_int_equal(n, 1);
	assert_memory_equal(first, "\1\2\3", 3);
	assert_int_equal(run_with(&t, "\1\2\3"), 0);
	assert_int_equal(run_with(&t, "\11\2\3"), 1);
	launch_explorer_sources(t.e, &n, &first);
	assert_int_equal(n, 2);
	assert_memory_equal(first + 3, "\7\7", 2);
	assert_int_equal(run_with(&t, "\11\2\3\7\10"), 2);
	end(&t);
}

static void cannot_be_forked(void **state)
{
	struct test t = { 0 };
	const char *why = NULL;
	(void)state;
	add(&t, SYM_SRC_STDIN, 4, NULL);
	assert_true(begin(&t, "threads", NULL));
	assert_false(launch_explorer_forks(t.e, &why));
	assert_non_null(strstr(why, "thread"));
	assert_int_equal(launch_explorer_prefix(t.e), 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(run_with(&t, i ? "cccc" : "bbbb"), i ? 3 : 2);
		assert_int_equal(t.h.first, 0);
		assert_int_equal(t.h.taken, 4);
	}
	end(&t);
}

static void input_is_never_used(void **state)
{
	struct test t = { 0 };
	(void)state;
	add(&t, SYM_SRC_STDIN, 4, NULL);
	assert_false(begin(&t, "never", NULL));
	assert_true(t.h.events > 0);
	end(&t);
}

static void clock_is_pinned(void **state)
{
	int status = -1;
	(void)state;
	for (unsigned fresh = 0; fresh < 2; fresh++) {
		struct test t = { .o = { .pin = true, .fresh = fresh } };
		add(&t, SYM_SRC_STDIN, 4, NULL);
		assert_true(begin(&t, "clocks", __builtin_cpu_supports("rdrnd") ? "draws" : NULL));
		for (unsigned i = 0; i < 3; i++) {
			int got = run_with(&t, "aaaa");
			assert_true(got < 64);
			if (status >= 0)
				assert_int_equal(got, status);
			status = got;
		}
		end(&t);
	}
}

static void conversation(void **state)
{
	static const uint32_t packets[] = { 2, 3 };
	struct test t = { .o = { .packet = packets, .npacket = 2 } };
	(void)state;
	add(&t, SYM_SRC_SOCKET, 5, NULL);
	assert_true(begin(&t, "echo", NULL));
	/* Without a network of its own a fork server would keep the port. */
	assert_true(launch_explorer_forks(t.e, NULL) == launch_explorer_beside(t.e));
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(run_with(&t, "ab!cd"), 5);
		assert_int_equal(t.h.taken, 5);
		assert_int_equal(run_with(&t, "!bacd"), 0); /* stopped by us */
		assert_int_equal(t.run.signal, 0);
		assert_true(t.h.end_met);
	}
	end(&t);
}

static void fixed_bytes(void **state)
{
	static const uint8_t fixed[] = { 1, 1, 1, 1 };
	struct test t = { .o = { .fixed = fixed } };
	(void)state;
	add(&t, SYM_SRC_STDIN, 4, NULL);
	assert_true(begin(&t, "pool", "p"));
	assert_int_equal(run_with(&t, "aaaa"), 1);
	assert_int_equal(t.h.taken, 4);
	assert_int_equal(t.h.branches, 0);
	end(&t);
}

static void bad_opts(void **state)
{
	struct err err = { 0 };
	const char *argv[] = { "/no/such/program", NULL };
	struct launch_explorer_opts o = { .run.argv = argv };
	struct sym_source s = { .kind = SYM_SRC_STDIN, .len = SYM_MAX_INPUT + 1 };
	(void)state;
	assert_null(launch_explorer_new(&o, NULL, NULL, NULL, &err));
	assert_int_equal(err.status, EXIT_PROGRAM);
	argv[0] = program;
	o.source = &s;
	o.nsource = 1;
	assert_null(launch_explorer_new(&o, NULL, NULL, NULL, &err));
	assert_int_equal(err.status, EXIT_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_story_each_time),
		cmocka_unit_test(shorter_input),
		cmocka_unit_test(files_are_private),
		cmocka_unit_test(descriptors_are_put_back),
		cmocka_unit_test(what_cannot_be_put_back),
		cmocka_unit_test(bad_ends),
		cmocka_unit_test(arguments_and_environment),
		cmocka_unit_test(file_in_the_middle),
		cmocka_unit_test(file_to_its_end),
		cmocka_unit_test(named_memory),
		cmocka_unit_test(cannot_be_forked),
		cmocka_unit_test(input_is_never_used),
		cmocka_unit_test(clock_is_pinned),
		cmocka_unit_test(conversation),
		cmocka_unit_test(fixed_bytes),
		cmocka_unit_test(bad_opts),
	};
	return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
