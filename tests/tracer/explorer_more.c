/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Explored programs that start others, remove their input or say why they end; and an ordinary
 * user's, where folders and files belong to others.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../others.h"
#include "explorer_rig.h"

static void another_program(void **state)
{
	struct test t = { 0 };
	(void)state;
	add(&t, SYM_SRC_STDIN, 4, NULL);
	assert_true(begin(&t, "becomes", NULL));
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(run_with(&t, "eeee"), 7);
		assert_false(t.run.hung);
		assert_int_equal(t.h.taken, 4);
		assert_true(t.h.branches > 0);
		assert_int_equal(t.h.ends, 0);
		assert_int_equal(run_with(&t, "nnnn"), 'n' & 7);
		assert_int_equal(t.h.ends, 1);
		assert_int_equal(run_with(&t, "aaaa"), 'a' & 7);
	}
	assert_true(launch_explorer_forks(t.e, NULL));
	end(&t);
}

static void program_with_children(void **state)
{
	struct test t = { 0 };
	(void)state;
	add(&t, SYM_SRC_STDIN, 4, NULL);
	assert_true(begin(&t, "children", "shared"));
	unsigned before = 0;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(run_with(&t, "ab  "), 'b' & 7);
		assert_int_equal(t.h.ends, 1);
		assert_false(t.run.dirtied);
		if (before)
			assert_int_equal(t.h.events, before);
		before = t.h.events;
	}
	assert_true(launch_explorer_forks(t.e, NULL));
	end(&t);
	assert_int_equal(access("shared", F_OK), -1);
}

/* The shell starts the program in its own place, or as a child. */
static void through_a_shell(void **state)
{
	(void)state;
	for (unsigned child = 0; child < 2; child++) {
		struct test t = { 0 };
		char command[PATH_MAX + 64];
		snprintf(command, sizeof command, "%s%s pool p%s", child ? "" : "exec ", program,
			 child ? "; exit $?" : "");
		add(&t, SYM_SRC_STDIN, 4, NULL);
		t.o.run.follow_forks = child;
		const char *argv[] = { "/bin/sh", "-c", command, NULL };
		assert_true(begin_as(&t, argv));
		for (unsigned i = 0; i < 2; i++) {
			assert_int_equal(run_with(&t, "aaaa"), 'a' & 7);
			assert_int_equal(t.h.taken, 4);
			assert_int_equal(run_with(&t, "cccc"), 'c' & 7);
		}
		end(&t);
	}
}

static void input_is_removed(void **state)
{
	(void)state;
	for (unsigned fresh = 0; fresh < 2; fresh++) {
		struct test t = { .o = { .fresh = fresh } };
		put("input", "<abcd>");
		add(&t, SYM_SRC_FILE, 6, "input");
		assert_true(begin(&t, "removes", "input"));
		for (unsigned i = 0; i < 2; i++) {
			assert_int_equal(run_with(&t, "axxxxx"), 0);
			assert_int_equal(t.h.taken, 1);
			assert_true(t.h.branches > 0);
			assert_int_equal(run_with(&t, "fxxxxx"), 1);
		}
		end(&t);
		expect_text("input", "<abcd>");
		assert_int_equal(access("other", F_OK), -1);
	}
}

static void input_is_cut(void **state)
{
	struct test t = { 0 };
	(void)state;
	put("input", "<abcd>");
	add(&t, SYM_SRC_FILE, 2, "input");
	t.source[0].off = 1;
	assert_true(begin(&t, "cut", "input"));
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(run_with(&t, "ax"), 0);
		assert_int_equal(run_with(&t, "fx"), 1);
	}
	end(&t);
	expect_text("input", "<abcd>");
}

static void last_words(void **state)
{
	struct test t = { 0 };
	(void)state;
	add(&t, SYM_SRC_STDIN, 4, NULL);
	assert_false(begin(&t, "says", "early"));
	assert_int_equal(launch_explorer_status(t.e), 4);
	assert_string_equal(launch_explorer_said(t.e), "before\nno pool");
	end(&t);

	assert_true(begin(&t, "says", "late"));
	assert_string_equal(launch_explorer_said(t.e), "before");
	assert_int_equal(run_with(&t, "abcd"), 0);
	assert_string_equal(launch_explorer_said(t.e), "before\ngot abcd");
	assert_int_equal(run_with(&t, "\1\1\1x"), 0);
	assert_string_equal(launch_explorer_said(t.e), "before\ngot ???x");
	end(&t);
}

static void not_the_same_again(void **state)
{
	struct test t = { 0 };
	const char *why = NULL;
	(void)state;
	add(&t, SYM_SRC_STDIN, 4, NULL);
	assert_true(begin(&t, "differs", "p"));
	assert_int_equal(run_with(&t, "aaaa"), 0);
	assert_true(t.run.dirtied);
	assert_true(launch_explorer_forks(t.e, NULL));
	assert_int_equal(run_with(&t, "aaaa"), 0);
	assert_false(launch_explorer_forks(t.e, &why));
	assert_non_null(strstr(why, "before"));
	assert_int_equal(t.h.first, 0);
	end(&t);
}

/* ---- an ordinary user ---- */

#define NOBODY 65534

static char place[PATH_MAX]; /* is the user's, but its group is not */

static void expect_pool_at(const char *path)
{
	struct test t = { 0 };
	add(&t, SYM_SRC_STDIN, 4, NULL);
	assert_true(begin(&t, "pool", path));
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(run_with(&t, "qqqq"), 'q' & 7);
		assert_int_equal(t.h.stores, 2);
	}
	end(&t);
}

static void users_pools(void **state)
{
	char outside[] = "/tmp/holdfast-explorer-XXXXXX";
	(void)state;
	assert_int_not_equal(mkstemp(outside), -1);
	assert_int_equal(unlink(outside), 0);
	expect_pool_at("pool");
	expect_pool_at(outside);
	expect_pool_at("theirs/open/pool");
	expect_pool_at("theirs/pool"); /* a file that is there */
	assert_int_equal(access(outside, F_OK), -1);
	assert_int_equal(access("pool", F_OK), -1);
	assert_int_equal(access("theirs/open/pool", F_OK), -1);
}

static void users_changes(void **state)
{
	struct test t = { 0 };
	(void)state;
	put("kept", "here");
	add(&t, SYM_SRC_STDIN, 4, NULL);
	assert_true(begin(&t, "changes", NULL));
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(run_with(&t, "aaaa"), 0);
		assert_false(t.run.dirtied);
	}
	end(&t);
	expect_text("kept", "here");
}

static void not_the_users(void **state)
{
	struct test t = { 0 };
	(void)state;
	add(&t, SYM_SRC_STDIN, 4, NULL);
	assert_false(begin(&t, "pool", "theirs/new")); /* they would not let us do that */
	assert_int_equal(launch_explorer_status(t.e), 70);
	end(&t);
}

static int enter_place(void **state)
{
	(void)state;
	return chdir(place);
}

static int as_nobody(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(users_pools),           cmocka_unit_test(users_changes),
		cmocka_unit_test(not_the_users),         cmocka_unit_test(input_is_removed),
		cmocka_unit_test(program_with_children),
	};
	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		return 1;
	return cmocka_run_group_tests_name("user", tests, enter_place, NULL);
}

static void make_place(void)
{
	assert_non_null(getcwd(place, sizeof place - 16));
	strcat(place, "/user");
	assert_int_equal(chmod(".", 0755), 0);
	assert_int_equal(mkdir(place, 0755) || chown(place, NOBODY, 0) || chdir(place), 0);
	assert_int_equal(mkdir("theirs", 0755) || mkdir("theirs/open", 0755), 0);
	assert_int_equal(chmod("theirs/open", 0777), 0);
	put("theirs/pool", "");
	assert_int_equal(chmod("theirs/pool", 0666) || truncate("theirs/pool", 8192), 0);
	assert_int_equal(chdir(".."), 0);
}

static void remove_place(void)
{
	static const char *const all[] = { "theirs/pool", "theirs/open", "theirs",
					   "kept",        "input",       "" };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		char *path = xasprintf("%s/%s", place, all[i]);
		assert_int_equal(remove(path), 0);
		free(path);
	}
}

/* In a process of its own, which cannot become root again. */
static void ordinary_user(void **state)
{
	char line[512];
	(void)state;
	if (geteuid() != 0 || !others_reach(NOBODY))
		skip();
	int status, fd = open("log", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	make_place();
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(fd, STDOUT_FILENO);
		dup2(fd, STDERR_FILENO);
		status = as_nobody();
		fflush(NULL);
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	FILE *f = fdopen(fd, "r");
	rewind(f);
	while (status && fgets(line, sizeof line, f))
		print_message("# %s", line);
	fclose(f);
	unlink("log");
	assert_int_equal(status, 0);
	remove_place();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_program),    cmocka_unit_test(program_with_children),
		cmocka_unit_test(through_a_shell),    cmocka_unit_test(input_is_removed),
		cmocka_unit_test(input_is_cut),       cmocka_unit_test(last_words),
		cmocka_unit_test(not_the_same_again), cmocka_unit_test(ordinary_user),
	};
	return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
