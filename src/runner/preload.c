/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into the command, where needed:
 *  - a fork server: the program stops before main, and a child goes on for each run;
 *  - PM files are mapped at the addresses they had when recorded, for programs that keep
 *    absolute pointers in them.
 * Nothing here may end or disturb a program: what cannot be done is left as it is.
 */
#undef _FILE_OFFSET_BITS /* mmap and mmap64 are both to be defined */

#include "runner/fast.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef int main_fn(int, char **, char **);
typedef int start_fn(main_fn *, int, char **, void (*)(void), void (*)(void), void (*)(void),
		     void *);
EXPORT int __libc_start_main(main_fn *, int, char **, void (*)(void), void (*)(void),
			     void (*)(void), void *);

static main_fn *real_main;

static int tell(int what, int value)
{
	struct fast_msg m = { what, value };
	return send(FAST_FD, &m, sizeof m, MSG_NOSIGNAL) == sizeof m ? 0 : -1;
}

/* Only this program is to be a server, not what it starts. */
static void forget(void)
{
	Dl_info self;
	unsetenv(FAST_ENV);
	const char *list = getenv("LD_PRELOAD");
	if (getenv(FAST_MAP) || !list || !dladdr((void *)tell, &self))
		return;
	size_t n = strlen(self.dli_fname);
	if (strncmp(list, self.dli_fname, n) != 0)
		return;
	if (list[n] == ':')
		setenv("LD_PRELOAD", list + n + 1, 1);
	else if (!list[n])
		unsetenv("LD_PRELOAD");
}

/* One run. Returns 0 in the child, which is to go on. */
static int serve_one(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		close(FAST_FD);
		setsid();
		return 0;
	}
	int status = 0;
	if (pid < 0 || tell(FAST_CHILD, pid))
		_exit(1);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			_exit(1);
	if (tell(FAST_END, status))
		_exit(1);
	return 1;
}

static int stop_before_main(int argc, char **argv, char **envp)
{
	char byte;
	forget();
	if (!tell(FAST_HELLO, 0))
		do
			if (recv(FAST_FD, &byte, 1, 0) != 1)
				_exit(0);
		while (serve_one());
	return real_main(argc, argv, envp);
}

EXPORT int __libc_start_main(main_fn *main, int argc, char **argv, void (*init)(void),
			     void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
	start_fn *next = (start_fn *)dlsym(RTLD_NEXT, "__libc_start_main");
	if (getenv(FAST_ENV)) {
		real_main = main;
		main = stop_before_main;
	}
	return next(main, argc, argv, init, fini, rtld_fini, stack_end);
}

/* The address that the file should have, NULL: any. */
static char *wanted(const struct stat *st)
{
	const char *list = getenv(FAST_MAP);
	char path[4096];
	while (list && *list) {
		char *end;
		struct stat at;
		unsigned long long addr = strtoull(list, &end, 16);
		size_t n = strcspn(end, "\n");
		if (*end == '=' && n - 1 < sizeof path) {
			memcpy(path, end + 1, n - 1);
			path[n - 1] = '\0';
			if (!stat(path, &at) && at.st_dev == st->st_dev && at.st_ino == st->st_ino)
				return (char *)(uintptr_t)addr;
		}
		list = end + n + (end[n] == '\n');
	}
	return NULL;
}

static void *map(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	int type = flags & MAP_TYPE, saved = errno;
	struct stat st;
	if (fd >= 0 && !(flags & (MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_ANONYMOUS)) &&
	    (type == MAP_SHARED || type == MAP_SHARED_VALIDATE) && getenv(FAST_MAP) &&
	    !fstat(fd, &st)) {
		char *to = wanted(&st);
		long p = to ? syscall(SYS_mmap, to + off, len, prot, flags | MAP_FIXED_NOREPLACE,
				      fd, off)
			    : -1;
		if (p != -1 && (char *)p == to + off)
			return (void *)p;
		if (p != -1) /* a kernel that does not know the flag */
			syscall(SYS_munmap, p, len);
	}
	errno = saved;
	return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, off);
}

EXPORT void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	return map(addr, len, prot, flags, fd, off);
}

EXPORT void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off64_t off)
{
	return map(addr, len, prot, flags, fd, off);
}
