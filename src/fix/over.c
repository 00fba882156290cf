/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The copy in the place of the source: folders of CMake and other tools have absolute paths in them, by which a build in a copy would build the
 * source again. In a mount namespace of its own a command sees the copy where the source is, and nobody else does.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fix/proof.h"

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));
	if (fd >= 0)
		close(fd);
	return n == (ssize_t)strlen(text);
}

/* An ordinary user may mount in a user namespace, in which they stay who they are. */
static bool own_users(uid_t uid, gid_t gid)
{
	char users[64], groups[64];
	snprintf(users, sizeof users, "%u %u 1", (unsigned)uid, (unsigned)uid);
	snprintf(groups, sizeof groups, "%u %u 1", (unsigned)gid, (unsigned)gid);
	return !unshare(CLONE_NEWUSER) && put("/proc/self/setgroups", "deny") &&
	       put("/proc/self/uid_map", users) && put("/proc/self/gid_map", groups);
}

bool fix_put_over(const struct fix_over *o)
{
	if (unshare(CLONE_NEWNS) && (!own_users(geteuid(), getegid()) || unshare(CLONE_NEWNS)))
		return false;
	return !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount(o->copy, o->root, NULL, MS_BIND | MS_REC, NULL);
}

static bool is_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);
	return !strncmp(path, folder, n) && (path[n] == '/' || !path[n]);
}

/* What the copy would hide must not be needed: the folder that it is in. */
bool fix_can_put_over(const struct fix_over *o)
{
	char *copy = realpath(o->copy, NULL);
	bool apart = copy && !is_below(copy, o->root) && strcmp(o->root, "/") != 0;
	free(copy);
	pid_t pid = apart ? fork() : -1;
	int status = 1;
	if (pid == 0)
		_exit(fix_put_over(o) ? 0 : 1);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}
