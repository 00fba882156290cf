/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plug-in's constructors and destructors run when it is loaded, outside any callback, where nothing
 * could be survived. So it is loaded in a child process first: what crashes, ends or hangs that is
 * named, and is not loaded here.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check/plugin.h"

#define PATIENCE 5 /* seconds */

int check_plugin_patience(void)
{
	const char *limit = getenv("HOLDFAST_ORACLE_TIMEOUT");
	return limit && atoi(limit) > 0 ? atoi(limit) : PATIENCE;
}

/* In the child. That it cannot be loaded is no matter: the parent will see for itself. */
static void load_here(const char *path, int done)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (handle)
		dlclose(handle);
	_exit(write(done, "k", 1) == 1 ? 0 : 1);
}

/* Did it come to its end in time? */
static bool came_to_end(int done, bool *late)
{
	double deadline = now_seconds() + check_plugin_patience();
	struct pollfd p = { .fd = done, .events = POLLIN };
	char byte;
	int n;
	do {
		double left = deadline - now_seconds();
		n = left <= 0 ? 0 : poll(&p, 1, (int)ceil(left * 1e3));
	} while (n < 0 && errno == EINTR);
	*late = n == 0;
	return n > 0 && read(done, &byte, 1) == 1;
}

static int complain(const char *path, bool late, int status, struct err *err)
{
	if (late)
		return err_set(err, EXIT_USAGE,
			       "cannot load the oracle %s: it did not return from loading within "
			       "%d s",
			       path, check_plugin_patience());
	if (WIFSIGNALED(status))
		return err_set(err, EXIT_USAGE,
			       "cannot load the oracle %s: it crashed while it was loaded (%s)",
			       path, strsignal(WTERMSIG(status)));
	return err_set(err, EXIT_USAGE,
		       "cannot load the oracle %s: it called exit(%d) while it was loaded", path,
		       WEXITSTATUS(status));
}

static int attempt(const char *path, struct err *err)
{
	int fds[2], status = 0;
	bool late;
	if (pipe2(fds, O_CLOEXEC))
		return err_errno(err, EXIT_INTERNAL, "cannot make a pipe");
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0)
		load_here(path, fds[1]);
	close(fds[1]);
	bool ok = pid > 0 && came_to_end(fds[0], &late);
	close(fds[0]);
	if (pid < 0)
		return err_errno(err, EXIT_INTERNAL, "cannot start a process");
	if (!ok && late)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return ok ? 0 : complain(path, late, status, err);
}

int check_attempt(const char *path, struct err *err)
{
	static VEC(char *) fine; /* once is enough for this process */
	for (size_t i = 0; i < fine.n; i++)
		if (!strcmp(fine.p[i], path))
			return 0;
	if (access(path, R_OK)) /* it will be said */
		return 0;
	if (attempt(path, err))
		return -1;
	VEC_PUSH(&fine, xstrdup(path));
	return 0;
}
