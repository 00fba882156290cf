/* SPDX-License-Identifier: BSD-3-Clause */
/* The namespaces of a process. */
#include "sandbox/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

struct sandbox_space sandbox_space_of(const struct sandbox_view *view, bool net, bool pids)
{
	return (struct sandbox_space){ .view = view,
				       .net = net && view->flags & SANDBOX_NET,
				       .pids = pids && view->flags & SANDBOX_PIDS,
				       .uid = geteuid(),
				       .gid = getegid() };
}

static unsigned long namespaces(const struct sandbox_space *s)
{
	return s->view->ops->spaces | (s->pids ? CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS : 0) |
	       (s->net ? CLONE_NEWNET : 0);
}

/* fork cannot make namespaces, and unshare would put our later children into them too. */
pid_t sandbox_space_fork(const struct sandbox_space *s)
{
	unsigned long flags = namespaces(s);
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

/* The right to make mounts must survive exec. The tracer does not let its program use it. */
static int keep_mounting(struct err *err)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	static const int needed[] = { CAP_SYS_ADMIN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_CHOWN };
	struct __user_cap_data_struct d[2] = { 0 };
	bool bad = syscall(SYS_capget, &h, d);
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		d[0].inheritable |= 1u << needed[i];
	bad = bad || syscall(SYS_capset, &h, d);
	for (size_t i = 0; !bad && i < sizeof needed / sizeof *needed; i++)
		bad = prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, needed[i], 0, 0);
	return bad ? err_errno(err, EXIT_PROGRAM, "cannot keep the right to make mounts") : 0;
}

void sandbox_space_loopback(void)
{
	struct ifreq req = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (!ioctl(fd, SIOCGIFFLAGS, &req)) {
		req.ifr_flags |= IFF_UP | IFF_RUNNING;
		ioctl(fd, SIOCSIFFLAGS, &req);
	}
	close(fd);
}

/*
 * In a plain chroot "/" is a folder like any other of a mount whose root is out of reach, so its
 * propagation cannot be changed. A private copy of all that is below "/" is mounted over /proc,
 * which is a mount of its own nearly everywhere, and becomes our "/".
 */
static int root_as_mount(void)
{
	struct mount_attr private = { .propagation = MS_PRIVATE };
	char *cwd = getcwd(NULL, 0);
	int tree = open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	bool ok =
		tree >= 0 && !mount(NULL, "/proc", NULL, MS_REC | MS_PRIVATE, NULL) &&
		!mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &private, sizeof private) &&
		!move_mount(tree, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH) &&
		!fchdir(tree) && !chroot(".") && cwd && !chdir(cwd);
	if (tree >= 0)
		close(tree);
	free(cwd);
	return ok ? 0 : -1;
}

static int make_private(struct err *err)
{
	if (!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    (errno == EINVAL && !root_as_mount()))
		return 0;
	return err_errno(err, EXIT_PROGRAM, "cannot make the mounts private");
}

int sandbox_space_setup(const struct sandbox_space *s, struct err *err)
{
	unsigned long flags = namespaces(s);
	if (flags & CLONE_NEWUSER && map_ids(s->uid, s->gid, err))
		return -1;
	if (flags & CLONE_NEWUSER && s->keep && keep_mounting(err))
		return -1;
	if (flags & CLONE_NEWNS && make_private(err))
		return -1;
	/* Where it is not allowed, /proc/self still works, but other numbers are the outside's. */
	if (s->pids)
		mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	if (s->net)
		sandbox_space_loopback();
	return 0;
}

int sandbox_space_enter(const struct sandbox_space *s, struct err *err)
{
	if (namespaces(s) && unshare((int)namespaces(s)))
		return err_errno(err, EXIT_PROGRAM, "no namespaces are allowed here");
	return sandbox_space_setup(s, err);
}

bool sandbox_space_join(const struct sandbox_space *s, pid_t pid)
{
	unsigned long flags = namespaces(s);
	char path[32];
	if (!flags)
		return true;
	snprintf(path, sizeof path, "/proc/%d/root", (int)pid);
	int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	bool ok = fd >= 0 && !setns(fd, (int)flags);
	/* It begins at the root of all mounts, also where that process is in a chroot. */
	if (ok && root >= 0 && !fchdir(root))
		ok = !chroot(".");
	if (fd >= 0)
		close(fd);
	if (root >= 0)
		close(root);
	return ok;
}
