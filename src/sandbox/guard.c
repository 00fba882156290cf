/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that removes the folder of a cell when its owner has ended, however it ended. It
 * waits at a pipe whose other end only the owner has.
 */
#include "sandbox/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRIES 100 /* processes that die with the owner may still write there */
#define PAUSE_NS 20000000

static void wait_and_remove(int fd, const char *home)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGHUP, SIGTERM };
	char byte;
	setsid();
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	dup2(fd, STDIN_FILENO);
	close_range(1, ~0u, 0);
	while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR)
		;
	for (int i = 0; i < TRIES && sandbox_remove_tree(AT_FDCWD, home); i++)
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
	_exit(0);
}

int sandbox_cell_guard(const struct sandbox_cell *c, struct err *err)
{
	int fds[2];
	if (!c->home)
		return err_set(err, EXIT_INTERNAL, "the cell has no folder");
	if (pipe2(fds, O_CLOEXEC))
		return err_errno(err, EXIT_INTERNAL, "cannot make a pipe");
	pid_t pid = fork();
	if (pid == 0) {
		close(fds[1]);
		if (fork() ==
		    0) /* nobody's child: whoever waits for children does not wait for it */
			wait_and_remove(fds[0], c->home);
		_exit(0);
	}
	close(fds[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return fds[1];
}
