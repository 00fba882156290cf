/* SPDX-License-Identifier: BSD-3-Clause */
/* The namespaces of a cell. */
#include "runner/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned long namespaces(enum runner_view view, bool net)
{
	if (view == RUNNER_VIEW_SUBST)
		return 0;
	return CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | (net ? CLONE_NEWNET : 0) |
	       (view == RUNNER_VIEW_USERNS ? CLONE_NEWUSER : 0);
}

/* fork cannot make namespaces, and unshare would put our later children into them too. */
pid_t runner_sandbox_fork(enum runner_view view, bool net)
{
	unsigned long flags = namespaces(view, net);
	return flags ? (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0) : fork();
}

static int put(const char *path, const char *text, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(err, EXIT_PROGRAM, "cannot open %s", path);
	ssize_t n = write(fd, text, strlen(text));
	if (n < 0)
		err_errno(err, EXIT_PROGRAM, "cannot write %s", path);
	close(fd);
	return n < 0 ? -1 : 0;
}

/* Users are who they were outside. */
static int map_ids(uid_t uid, gid_t gid, struct err *err)
{
	char text[64];
	prctl(PR_SET_DUMPABLE, 1); /* else, after a setuid, /proc/self is not ours */
	put("/proc/self/setgroups", "deny", NULL);
	snprintf(text, sizeof text, "%u %u 1", uid, uid);
	if (put("/proc/self/uid_map", text, err))
		return -1;
	snprintf(text, sizeof text, "%u %u 1", gid, gid);
	return put("/proc/self/gid_map", text, err);
}

int runner_sandbox_setup(enum runner_view view, bool net, uid_t uid, gid_t gid, struct err *err)
{
	if (view == RUNNER_VIEW_SUBST)
		return 0;
	if (view == RUNNER_VIEW_USERNS && map_ids(uid, gid, err))
		return -1;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return err_errno(err, EXIT_PROGRAM, "cannot make the mounts private");
	/* Where it is not allowed, /proc/self still works, but other numbers are the outside's. */
	mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	if (net)
		loopback_up();
	return 0;
}

bool runner_sandbox_join(pid_t pid, enum runner_view view, bool net)
{
	unsigned long flags = namespaces(view, net);
	if (!flags)
		return true;
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	bool ok = fd >= 0 && !setns(fd, (int)flags);
	if (fd >= 0)
		close(fd);
	return ok;
}
