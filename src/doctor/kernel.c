/* SPDX-License-Identifier: BSD-3-Clause */
/* What the system lets us do; tried in a child, which ends. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor/internal.h"
#include "sandbox/sandbox.h"

#define ROOM_MIB 256 /* in /dev/shm: pools of PMDK's examples take up to 200 */

bool doctor_proc(const char *program, char **found)
{
	bool there = !access("/proc/self/maps", R_OK);
	(void)program;
	*found = xstrdup(there ? "it is mounted" : "it is not mounted");
	return there;
}

/* ---- namespaces ---- */

/* 0, or the errno with which it was refused. */
static int try_unshare(int flags)
{
	int status = 0;
	pid_t pid = fork();
	if (pid < 0)
		return errno;
	if (pid == 0)
		_exit(unshare(flags) ? errno : 0);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}

/* An ordinary user needs a user namespace for the others. */
static bool namespaces(int flags, char **found)
{
	int refused = try_unshare(flags | (geteuid() ? CLONE_NEWUSER : 0));
	*found = refused ? xasprintf("refused: %s", strerror(refused)) : xstrdup("allowed");
	return !refused;
}

bool doctor_user_namespaces(const char *program, char **found)
{
	(void)program;
	if (geteuid() || try_unshare(CLONE_NEWNS))
		return namespaces(CLONE_NEWUSER, found);
	*found = xstrdup("not needed: root can make mount namespaces");
	return true;
}

bool doctor_mount_namespaces(const char *program, char **found)
{
	(void)program;
	return namespaces(CLONE_NEWNS, found);
}

bool doctor_network(const char *program, char **found)
{
	(void)program;
	return namespaces(CLONE_NEWNET, found);
}

bool doctor_overlay(const char *program, char **found)
{
	struct err why = { 0 };
	const struct sandbox_view *v;
	(void)program;
	for (size_t i = 0; (v = sandbox_view_at(i)); i++)
		if ((v->flags & SANDBOX_MOUNTS) && !sandbox_view_works(v, &why)) {
			*found = xstrdup(v->text);
			return true;
		}
	*found = xstrdup(why.text);
	return false;
}

const struct sandbox_view *doctor_view(struct err *why)
{
	const struct sandbox_view *v;
	for (size_t i = 0; (v = sandbox_view_at(i)); i++)
		if (!(v->flags & SANDBOX_MOVED) && !sandbox_view_works(v, why))
			return v;
	return NULL;
}

bool doctor_sandbox(const char *program, char **found)
{
	struct err why = { 0 };
	const struct sandbox_view *v = doctor_view(&why);
	(void)program;
	*found = v ? xasprintf("%s (--view %s)", v->text, v->name) : xstrdup(why.text);
	return v != NULL;
}

/* ---- processes ---- */

bool doctor_ptrace(const char *program, char **found)
{
	int status = 0;
	pid_t pid = fork();
	(void)program;
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(errno);
		raise(SIGSTOP);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, WUNTRACED) < 0 && errno == EINTR)
		;
	bool stopped = pid > 0 && WIFSTOPPED(status);
	if (stopped) {
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	*found = stopped ? xstrdup("allowed")
			 : xasprintf("refused: %s",
				     strerror(WIFEXITED(status) ? WEXITSTATUS(status) : errno));
	return stopped;
}

bool doctor_core_dumps(const char *program, char **found)
{
	char pattern[256] = "";
	int fd = open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, pattern, sizeof pattern - 1);
	(void)program;
	if (fd >= 0)
		close(fd);
	pattern[n > 0 ? n : 0] = '\0';
	pattern[strcspn(pattern, "\n")] = '\0';
	*found = n < 0 ? xstrdup("cannot be told: /proc/sys is not there")
		       : xasprintf("kernel.core_pattern is '%s'", pattern);
	return *pattern != '|';
}

/* ---- room and time ---- */

bool doctor_shm(const char *program, char **found)
{
	struct statvfs fs;
	(void)program;
	if (statvfs("/dev/shm", &fs) || access("/dev/shm", W_OK)) {
		*found = xasprintf("not to be written: %s", strerror(errno));
		return false;
	}
	uint64_t free_mib = (uint64_t)fs.f_bavail * fs.f_frsize >> 20;
	*found = xasprintf("%llu MiB are free, of %llu", (unsigned long long)free_mib,
			   (unsigned long long)((uint64_t)fs.f_blocks * fs.f_frsize >> 20));
	return free_mib >= ROOM_MIB;
}

bool doctor_processors(const char *program, char **found)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
	(void)program;
	*found = xasprintf("%d may be used", n);
	return n > 1;
}
