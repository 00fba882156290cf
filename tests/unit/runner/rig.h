/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of src/runner share: a folder with PM files, a program to run, and a runner. */
#ifndef HOLDFAST_TESTS_RUNNER_RIG_H
#define HOLDFAST_TESTS_RUNNER_RIG_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"
#include "runner/runner.h"

#ifndef RIG_PROGRAM
#define RIG_PROGRAM "act.c" /* the program to run, beside this */
#endif
#define UNUSED __attribute__((unused)) /* by some of the tests */
#define SIZE (64u << 10)
#define REAL "what is there in reality"

static char dir[] = "/tmp/holdfast-runner-XXXXXX";
static char pool[64], other[64], act[64];
static const struct sandbox_view *view; /* for all that follows; NULL: the best */

static UNUSED const struct sandbox_view *subst(void)
{
	return sandbox_view_named("subst");
}

static UNUSED const struct sandbox_view *preload(void)
{
	return sandbox_view_named("preload");
}

static UNUSED double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((format(printf, 1, 2))) static void shell(const char *fmt, ...)
{
	char cmd[2 * PATH_MAX];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(cmd, sizeof cmd, fmt, ap);
	va_end(ap);
	int status = system(cmd);
	if (status)
		fail_msg("status %d: %s", status, cmd);
}

/* Is there a process with this word on its command line? */
static UNUSED bool runs(const char *word)
{
	DIR *d = opendir("/proc");
	bool found = false;
	for (struct dirent *e; !found && (e = readdir(d));) {
		char path[300], text[4096];
		snprintf(path, sizeof path, "/proc/%s/cmdline", e->d_name);
		int fd = open(path, O_RDONLY);
		ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);
		if (fd >= 0)
			close(fd);
		found = n > 0 && atoi(e->d_name) != getpid() &&
			memmem(text, (size_t)n, word, strlen(word));
	}
	closedir(d);
	return found;
}

/* __FILE__ is relative to the build folder, two levels above this program's. */
static void build_program(void)
{
	char self[PATH_MAX] = "";
	assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
	*strrchr(self, '/') = '\0';
	char *libexec = xasprintf("%s/../../src/preload", self);
	setenv("HOLDFAST_LIBEXEC", libexec, 1);
	free(libexec);
	char *from =
		*__FILE__ == '/' ? xstrdup(__FILE__) : xasprintf("%s/../../%s", self, __FILE__);
	*strrchr(from, '/') = '\0';
	shell("cc -g -O0 %s/" RIG_PROGRAM " -o %s", from, act);
	free(from);
}

static int rig_setup(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(pool, sizeof pool, "%s/pm/pool", dir);
	snprintf(other, sizeof other, "%s/other/pool", dir);
	snprintf(act, sizeof act, "%s/act", dir);
	shell("cd %s && chmod 755 . && mkdir pm other && echo beside > pm/beside && "
	      "printf '" REAL "' > pm/pool",
	      dir);
	build_program();
	return chdir(dir);
}

static int rig_teardown(void **state)
{
	(void)state;
	/* Nothing that any command did may have come out of its cell. */
	shell("cd %s && test \"$(cat pm/pool)\" = '" REAL
	      "' && test \"$(ls pm)\" = 'beside\npool' && "
	      "test \"$(cat pm/beside)\" = beside && test \"$(ls other)\" = '' && "
	      "test \"$(ls)\" = 'act\nother\npm'",
	      dir);
	shell("cd / && rm -r %s", dir);
	return 0;
}

/* A runner for the pool, with defaults for what is not set. */
static struct runner *rig(struct runner_opts o)
{
	struct runner_file file = { .path = pool };
	struct err err = { 0 };
	char *command = o.command ? NULL : xasprintf("%s obey {pool}", act);
	o.command = command ? command : o.command;
	o.file = o.file ? o.file : &file;
	o.nfile = o.nfile ? o.nfile : 1;
	o.cells = o.cells ? o.cells : 1;
	o.view = o.view ? o.view : view;
	o.timeout_ms = o.timeout_ms ? o.timeout_ms
				    : 100000; /* those that hang on purpose say for how long */
	o.output_cap = o.output_cap ? o.output_cap : 1 << 20;
	struct runner *r = runner_new(&o, &err);
	if (!r)
		fail_msg("%s", err.text);
	free(command);
	for (unsigned c = 0; c < runner_cells(r); c++)
		assert_int_equal(runner_size(r, c, 0, SIZE, &err), 0);
	return r;
}

static void put(struct runner *r, unsigned cell, uint64_t off, const char *text)
{
	struct err err;
	if (runner_write(r, cell, 0, off, text, strlen(text) + 1, &err))
		fail_msg("%s", err.text);
}

static struct runner_result result_of(struct runner *r)
{
	struct runner_result result;
	struct err err;
	uint64_t tag;
	unsigned cell;
	assert_int_equal(runner_start(r, 0, 42, &err), 0);
	assert_int_equal(runner_running(r), 1);
	assert_int_equal(runner_wait(r, true, &tag, &cell, &result, &err), 1);
	assert_int_equal(tag, 42);
	assert_int_equal(cell, 0);
	return result;
}

/* The image's text is the command; see obey in act.c. */
static struct runner_result obey(struct runner *r, const char *text)
{
	put(r, 0, 0, text);
	return result_of(r);
}

static void expect(struct runner_result result, enum runner_verdict verdict, int status,
		   const char *output)
{
	if (result.verdict != verdict || result.status != status ||
	    (output && strcmp(result.output, output) != 0))
		fail_msg("%s %d '%s' %s; expected %s %d '%s'", runner_verdict_name(result.verdict),
			 result.status, result.output, result.why, runner_verdict_name(verdict),
			 status, output ? output : "anything");
	runner_result_free(&result);
}

#endif
