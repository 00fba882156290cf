/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands that a proof runs. What a signal to us interrupts ends with us; nothing is left. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fix/proof.h"

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = sig;
}

void fix_watch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction sa = { .sa_handler = on_signal };
	interrupted = 0;
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		sigaction(signals[i], &sa, NULL);
}

int fix_interrupted(void)
{
	return interrupted;
}

static void child(const char *const *argv, const char *cwd, const char *in, const char *out,
		  const char *both, const struct fix_over *over)
{
	int from = open(in ? in : "/dev/null", O_RDONLY),
	    to = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	int err = both ? open(both, O_WRONLY | O_CREAT | O_TRUNC, 0600) : to;
	if (from < 0 || to < 0 || err < 0 || dup2(from, 0) < 0 || dup2(to, 1) < 0 ||
	    dup2(err, 2) < 0 || (over && !fix_put_over(over)) || (cwd && chdir(cwd)))
		_exit(127);
	execvp(argv[0], (char *const *)argv);
	_exit(127);
}

/* Runs it; -1: it was interrupted, or could not be started. */
int fix_run(const char *const *argv, const char *cwd, const char *in, const char *out,
	    const char *errors, const struct fix_over *over, int *status)
{
	int st;
	pid_t pid = interrupted ? -1 : fork();
	if (pid < 0)
		return -1;
	if (!pid)
		child(argv, cwd, in, out, errors, over);
	while (waitpid(pid, &st, 0) < 0) {
		if (errno != EINTR)
			return -1;
		if (interrupted)
			kill(pid, interrupted);
	}
	*status = WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
	return interrupted ? -1 : 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if (type == FTW_DP || type == FTW_D)
		chmod(path, 0700);
	return remove(path);
}

void fix_remove_tree(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The last lines of a file, for messages. */
char *fix_tail(const char *path, size_t most)
{
	struct buf b = { 0 };
	FILE *f = fopen(path, "re");
	char part[4096];
	size_t n;
	while (f && (n = fread(part, 1, sizeof part, f)) > 0)
		buf_add(&b, part, n);
	if (f)
		fclose(f);
	buf_add(&b, "", 1);
	size_t from = b.n - 1 > most ? b.n - 1 - most : 0;
	char *tail = xstrdup(b.p + from);
	buf_free(&b);
	return tail;
}

bool fix_same_file(const char *a, const char *b)
{
	FILE *f = fopen(a, "re"), *g = fopen(b, "re");
	int c = 0, d = 0;
	while (f && g && c == d && c != EOF) {
		c = getc(f);
		d = getc(g);
	}
	bool same = f && g && c == d;
	if (f)
		fclose(f);
	if (g)
		fclose(g);
	return same;
}
