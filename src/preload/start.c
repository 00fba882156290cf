/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fork server: the program stops before main, and a child continues for each run. What cannot
 * be done is left as it is: nothing here may end or disturb a program.
 */
#include "preload/internal.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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
	if (preload_on() || getenv(FAST_MAP) || !list || !dladdr((void *)tell, &self))
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
	start_fn *next = (start_fn *)preload_next("__libc_start_main");
	if (getenv(FAST_ENV)) {
		real_main = main;
		main = stop_before_main;
	}
	return next(main, argc, argv, init, fini, rtld_fini, stack_end);
}
