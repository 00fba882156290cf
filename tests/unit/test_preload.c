/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The view of the preloaded library. Programs (preload/ *.c) are run in it, and reality must be as
 * before; ops.c also without it on a copy, where it must say the same.
 */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"
#include "preload/preload.h"

#define SEEDS 12
#define OPS 250

static char dir[] = "/tmp/holdfast-preload-XXXXXX";
static char base[] = "/dev/shm/holdfast-XXXXXX";
static char *library;

__attribute__((format(printf, 1, 2))) static int shell(const char *fmt, ...)
{
	char cmd[4 * PATH_MAX];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(cmd, sizeof cmd, fmt, ap);
	va_end(ap);
	int status = system(cmd);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* __FILE__ is relative to the build folder, two levels above this program's. */
static char *beside_source(const char *self, const char *name)
{
	char *from =
		*__FILE__ == '/' ? xstrdup(__FILE__) : xasprintf("%s/../../%s", self, __FILE__);
	*strrchr(from, '/') = '\0';
	char *path = xasprintf("%s/preload/%s", from, name);
	free(from);
	return path;
}

static int setup(void **state)
{
	static const char *const programs[] = { "ops", "calls" };
	char self[PATH_MAX] = "";
	(void)state;
	if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0 || !mkdtemp(dir) ||
	    !mkdtemp(base) || chmod(dir, 0755) || chdir(dir))
		return -1;
	*strrchr(self, '/') = '\0';
	library = xasprintf("%s/../../src/preload/" PRELOAD_LIBRARY, self);
	for (size_t i = 0; i < 2; i++) {
		char *name = xasprintf("%s.c", programs[i]), *from = beside_source(self, name);
		assert_int_equal(
			shell("cc -D_GNU_SOURCE -g -pthread -o %s '%s'", programs[i], from), 0);
		free(from);
		free(name);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(library);
	return shell("cd / && rm -rf %s %s", dir, base);
}

/* real/1/2/3/4/w, its copy, and what it was before; four levels, so that ".." stays inside. */
static void make_tree(void)
{
	assert_int_equal(
		shell("rm -rf real copy before %s/* && mkdir -p real/1/2/3/4/w %s/u0 && "
		      "(cd real/1/2/3/4/w && mkdir -p a/b c b && echo a1 > a/a && echo ab > a/b/c && "
		      "echo cc > c/d && echo dd > d && ln -s a link && ln -s ../d c/link && "
		      "ln -s nowhere b/link && head -c 5000 /dev/zero > b/a) && "
		      "cp -a real copy && cp -a real before",
		      base, base),
		0);
}

/* Runs a program of ours in the view; `bases` as in HOLDFAST_VIEW. */
static int in_view(const char *bases, const char *where, const char *command)
{
	return shell("cd %s && HOLDFAST_VIEW='%s\n0+ %s/real\n1+ /dev/shm' LD_PRELOAD='%s' %s",
		     where, bases, dir, library, command);
}

static void same(unsigned seed, const char *a, const char *b)
{
	if (shell("diff -r --no-dereference %s %s | head -20 | sed 's/^/# /'; "
		  "diff -qr --no-dereference %s %s > /dev/null",
		  a, b, a, b))
		fail_msg("seed %u: %s and %s differ", seed, a, b);
}

static void as_without(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		char command[200];
		make_tree();
		snprintf(command, sizeof command, "%s/ops %u %u > %s/said", dir, seed, OPS, dir);
		assert_int_equal(in_view(base, "real/1/2/3/4/w", command), 0);
		assert_int_equal(
			shell("cd copy/1/2/3/4/w && %s/ops %u %u > %s/says", dir, seed, OPS, dir),
			0);
		same(seed, "said", "says");
		same(seed, "real", "before");
	}
}

/* A run of the explorer: over the changes of the fork server, which stay. */
static void two_bases(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		char command[200], *both = xasprintf("%s/c1:%s", base, base);
		make_tree();
		snprintf(command, sizeof command, "%s/ops %u %u plain > %s/said", dir, seed, OPS,
			 dir);
		assert_int_equal(in_view(base, "real/1/2/3/4/w", command), 0);
		assert_int_equal(shell("rm -rf servers && cp -a %s/u0 servers", base), 0);
		snprintf(command, sizeof command, "%s/ops 77%u %u plain > %s/said", dir, seed, OPS,
			 dir);
		assert_int_equal(in_view(both, "real/1/2/3/4/w", command), 0);
		assert_int_equal(shell("cd copy/1/2/3/4/w && %s/ops %u %u plain > %s/says && "
				       "%s/ops 77%u %u plain > %s/says",
				       dir, seed, OPS, dir, dir, seed, OPS, dir),
				 0);
		same(seed, "said", "says");
		same(seed, "real", "before");
		assert_int_equal(shell("diff -r --no-dereference %s/u0 servers", base), 0);
		free(both);
	}
}

static void calls(void **state)
{
	(void)state;
	assert_int_equal(
		shell("rm -rf real outside %s/* && mkdir -p real/dir outside %s/u0 %s/u1 && "
		      "echo old > real/old && echo deep > real/dir/deep && "
		      "echo held > real/held && echo out > outside/file && "
		      "ln -s %s/real/old outside/link && cp -a real before-calls",
		      base, base, base, dir),
		0);
	int held = open("real/held", O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(held, LOCK_EX), 0);
	char *command = xasprintf("%s/calls %s/outside", dir, dir);
	assert_int_equal(in_view(base, "real", command), 0);
	close(held);
	same(0, "real", "before-calls");
	assert_int_equal(
		shell("test \"$(cat outside/file)\" = out && test ! -e /dev/shm/sem.hf-preload-test"),
		0);
	free(command);
}

/* Paths that are not the folder's: by links from elsewhere, too long, and those of the base. */
static void odd_paths(void **state)
{
	(void)state;
	make_tree();
	assert_int_equal(shell("ln -sfn %s/real/1 %s/into", dir, dir), 0);
	char *command = xasprintf("sh -c 'cd %s/into/2/3/4/w && echo x > d && "
				  "test \"$(cat ../../4/w/d)\" = x && "
				  "! cat \"$(printf %%2000d 1)\" 2> /dev/null'",
				  dir);
	assert_int_equal(in_view(base, "/", command), 0);
	free(command);
	same(0, "real", "before");
	assert_int_equal(shell("test -e %s/u0/1/2/3/4/w/d", base), 0);
}

static void refusals(void **state)
{
	(void)state;
	struct stat st;
	assert_null(preload_refuses("/bin/sh"));
	assert_null(preload_refuses("/no/such/program"));
	assert_int_equal(
		shell("printf 'int main(void) { return 0; }' | cc -static -x c - -o fixed; "
		      "printf '#!%s/fixed\\n' > script; printf '#! /bin/sh -e\\n' > fine; "
		      "printf 'echo\\n' > words; chmod +x script fine words",
		      dir),
		0);
	assert_string_equal(preload_refuses("fixed"), " is statically linked");
	assert_string_equal(preload_refuses("script"), " is statically linked");
	assert_null(preload_refuses("fine"));
	assert_null(preload_refuses("words"));
	if (!stat("/bin/su", &st) && st.st_mode & S_ISUID && getuid() != 0)
		assert_non_null(preload_refuses("/bin/su"));
	/* … which a shell is told, and so is the cell. */
	make_tree();
	char *command = xasprintf("sh -c '%s/fixed'", dir), *note = xasprintf("%s/refused", base);
	assert_int_not_equal(in_view(base, "real", command), 0);
	assert_int_equal(access(note, R_OK), 0);
	free(note);
	free(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_without), cmocka_unit_test(two_bases), cmocka_unit_test(calls),
		cmocka_unit_test(odd_paths),  cmocka_unit_test(refusals),
	};
	return cmocka_run_group_tests_name("preload", tests, setup, teardown);
}
