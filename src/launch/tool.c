/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the tracer is, where Valgrind is, and do they fit together? */
#include "launch/internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the build tree libexec/ is beside holdfast, installed it is beside bin/. */
static const char *const places[] = { "libexec/holdfast", "../libexec/holdfast" };

static bool has_tool(const char *dir)
{
	char *tool = xasprintf("%s/" LAUNCH_TOOL, dir);
	bool found = !access(tool, X_OK);
	free(tool);
	return found;
}

char *launch_find_libexec(struct err *err)
{
	const char *set = getenv("HOLDFAST_LIBEXEC");
	if (set && *set) {
		if (has_tool(set))
			return xstrdup(set);
		err_set(err, EXIT_PROGRAM,
			"no tracer in HOLDFAST_LIBEXEC: %s/" LAUNCH_TOOL " is missing", set);
		return NULL;
	}
	const char *self = own_folder();
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		char *dir = xasprintf("%s/%s", self, places[i]);
		if (has_tool(dir))
			return dir;
		free(dir);
	}
	err_set(err, EXIT_PROGRAM,
		"cannot find the tracer, " LAUNCH_TOOL
		", beside %s; HOLDFAST_LIBEXEC can name its folder",
		self);
	return NULL;
}

/*
 * Debian's valgrind is a script that changes LD_LIBRARY_PATH and then runs valgrind.bin;
 * the program's environment is to stay as it is, so use what the script runs.
 */
static char *launcher(char *path)
{
	char *real = xasprintf("%s.bin", path);
	if (access(real, X_OK)) {
		free(real);
		return path;
	}
	free(path);
	return real;
}

static void run_version(const char *valgrind, int out)
{
	dup2(out, STDOUT_FILENO);
	unsetenv("VALGRIND_LIB");
	unsetenv("VALGRIND_OPTS");
	execl(valgrind, valgrind, "--version", (char *)NULL);
	_exit(127);
}

/* What `valgrind --version` prints, without the newline; "" if nothing. */
static int version(const char *valgrind, char *buf, size_t size, struct err *err)
{
	int fds[2];
	if (pipe(fds))
		return err_errno(err, EXIT_INTERNAL, "cannot make a pipe");
	pid_t pid = fork();
	if (pid < 0) {
		close(fds[0]);
		close(fds[1]);
		return err_errno(err, EXIT_INTERNAL, "cannot start %s", valgrind);
	}
	if (pid == 0)
		run_version(valgrind, fds[1]);
	close(fds[1]);
	size_t len = 0;
	ssize_t n;
	while ((n = read(fds[0], buf + len, size - 1 - len)) > 0)
		len += (size_t)n;
	close(fds[0]);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	buf[len] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

static char *find_valgrind(struct err *err)
{
	const char *set = getenv("HOLDFAST_VALGRIND");
	struct err ignored;
	char *path = set && *set ? xstrdup(set) : launch_resolve("valgrind", &ignored);
	if (path && !access(path, X_OK))
		return launcher(path);
	if (path)
		err_set(err, EXIT_PROGRAM, "cannot run valgrind: HOLDFAST_VALGRIND=%s", path);
	else
		err_set(err, EXIT_PROGRAM,
			"valgrind is not installed, or not on PATH; install " LAUNCH_VALGRIND_VERSION
			" (on Debian: apt install valgrind)");
	free(path);
	return NULL;
}

/* `path`, if it is the version that the tracer is linked with; frees it otherwise. */
static char *of_our_version(char *path, struct err *err)
{
	char has[64];
	if (version(path, has, sizeof has, err)) {
		free(path);
		return NULL;
	}
	if (!strcmp(has, LAUNCH_VALGRIND_VERSION))
		return path;
	err_set(err, EXIT_PROGRAM,
		"%s is %s, but the tracer was built for " LAUNCH_VALGRIND_VERSION
		"; install that, or build holdfast again, which accepts " LAUNCH_VALGRIND_ACCEPTED,
		path, *has ? has : "not a working valgrind");
	free(path);
	return NULL;
}

/* The one on PATH, or that which the tracer was linked with, which need not be on it. */
char *launch_find_valgrind(struct err *err)
{
	const char *set = getenv("HOLDFAST_VALGRIND");
	struct err ignored;
	char *found = find_valgrind(err);
	found = found ? of_our_version(found, err) : NULL;
	if (found || (set && *set))
		return found;
	char *linked = xstrdup(LAUNCH_VALGRIND_PREFIX "/bin/valgrind");
	if (!access(linked, X_OK))
		return of_our_version(launcher(linked), &ignored);
	free(linked);
	return NULL;
}
