/* SPDX-License-Identifier: BSD-3-Clause */
/* One image looked at by people: a backtrace, or the command on their terminal. */
#include "runner/caller.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CAPTURE_PATIENCE 20u /* other commands may be slower than recovery */

char *runner_backtrace(struct runner *r, unsigned cell, struct err *err)
{
	struct runner_cell *c = &r->cell[cell];
	struct runner_result result;
	char *gdb = find_program("gdb"), *trace = NULL;
	if (!gdb)
		return NULL;
	free(gdb);
	if (c->state != CELL_IDLE || runner_ask(c, OP_BACKTRACE, 0, NULL)) {
		err_set(err, EXIT_INTERNAL, "cell %u is not idle", cell);
		return NULL;
	}
	runner_answer(r, c, &result);
	if (result.verdict == RUNNER_BROKEN)
		err_set(err, EXIT_PROGRAM, "%s", result.why);
	else
		trace = result.trace, result.trace = NULL;
	runner_result_free(&result);
	return trace;
}

static bool judged(const struct runner *r, int status)
{
	struct judge j;
	struct err ignored;
	bool fine = !runner_judge_init(&j, r->opts->expect_exit, NULL, &ignored) && j.fine[status];
	runner_judge_free(&j);
	return fine;
}

/* The strings up to an empty one; *s moves past it. */
static char **strings(char **s, const char *end)
{
	VEC(char *) v = { 0 };
	while (*s < end && **s) {
		VEC_PUSH(&v, *s);
		*s += strlen(*s) + 1;
	}
	++*s;
	VEC_PUSH(&v, NULL);
	return v.p;
}

static void become(char **argv, char **env, int capture)
{
	static const int ours[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD };
	sigset_t none;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		signal(ours[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (capture && (dup2(capture, STDOUT_FILENO) < 0 || !freopen("/dev/null", "r", stdin) ||
			!freopen("/dev/null", "w", stderr)))
		_exit(127);
	for (; *env; env++)
		putenv(*env);
	execvp(argv[0], argv);
	_exit(127);
}

/* Without a pid namespace, the process between us and the command ends all that it started. */
static bool ends_all(const struct runner *r)
{
	return !(r->space.view->flags & SANDBOX_PIDS);
}

/* Waits for the end of a child, or of our patience: SIGTERM. */
static bool has_ended(pid_t pid, const sigset_t *news, int *status)
{
	while (waitpid(pid, status, WNOHANG) != pid)
		if (sigwaitinfo(news, NULL) == SIGTERM)
			return false;
	return true;
}

/*
 * Between us and the command: enters the sandbox, so that its child is inside, and tells us how
 * that ended. The command stays in our process group, where the terminal expects it.
 */
static void enter(const struct runner *r, pid_t cell, char **argv, char **env, int tell)
{
	char *cwd = getcwd(NULL, 0);
	int status = 127 << 8;
	pid_t pid = -1;
	bool ends = ends_all(r);
	sigset_t news;
	sigemptyset(&news);
	sigaddset(&news, SIGTERM);
	sigaddset(&news, SIGCHLD);
	sigprocmask(SIG_BLOCK, &news, NULL);
	signal(SIGCHLD, SIG_DFL);
	if (ends)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_PDEATHSIG, ends ? SIGTERM : SIGKILL);
	if (sandbox_space_join(&r->space, cell) && (!cwd || !chdir(cwd)))
		pid = fork();
	if (pid == 0)
		become(argv, env, r->capture);
	bool bad = pid > 0 && has_ended(pid, &news, &status) &&
		   write(tell, &status, sizeof status) != sizeof status;
	if (ends)
		runner_proc_kill_adopted();
	_exit(bad);
}

/* Waits for the status from fd; false: it took too long. */
static bool wait_status(int fd, unsigned ms, int *status)
{
	double deadline = runner_deadline_after(ms);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	for (;;) {
		double left = (deadline - now_seconds()) * 1e3;
		if (left <= 0)
			return false;
		if (poll(&p, 1, left > 1e6 ? 1000000 : (int)left + 1) <= 0)
			continue;
		if (read(fd, status, sizeof *status) != sizeof *status)
			*status = -1;
		return true;
	}
}

static int run_inside(struct runner *r, struct runner_cell *c, char **argv, char **env,
		      struct runner_result *out, struct err *err)
{
	int fds[2], status = -1;
	if (pipe2(fds, O_CLOEXEC))
		return err_errno(err, EXIT_INTERNAL, "cannot make a pipe");
	double start = now_seconds();
	pid_t pid = fork();
	if (pid == 0)
		enter(r, c->pid, argv, env, fds[1]);
	close(fds[1]);
	unsigned ms = r->opts->timeout_ms * (r->capture ? CAPTURE_PATIENCE : 1);
	bool ended = pid > 0 && wait_status(fds[0], ms, &status);
	close(fds[0]);
	if (pid > 0) {
		kill(pid, ends_all(r) ? SIGTERM : SIGKILL);
		waitpid(pid, NULL, 0);
	}
	out->spent = now_seconds() - start;
	if (pid < 0 || (ended && status == -1))
		return err_set(err, EXIT_PROGRAM, "cannot enter the sandbox");
	int sig = ended ? runner_end_signal(status, !strcmp(argv[0], SHELL)) : 0;
	out->status = !ended ? 0 : sig ? sig : WEXITSTATUS(status);
	out->verdict = !ended                   ? RUNNER_HUNG
		       : sig                    ? RUNNER_CRASHED
		       : judged(r, out->status) ? RUNNER_OK
						: RUNNER_FAILED;
	return 0;
}

int runner_interactive(struct runner *r, unsigned cell, bool gdb, const char *command,
		       struct runner_result *out, struct err *err)
{
	struct runner_cell *c = &r->cell[cell];
	struct runner_result shown, restored;
	*out = (struct runner_result){ 0 };
	if (c->state != CELL_IDLE || runner_ask(c, OP_SHOW, gdb, command))
		return err_set(err, EXIT_INTERNAL, "cell %u is not idle", cell);
	runner_answer(r, c, &shown);
	int bad = shown.verdict == RUNNER_BROKEN ? err_set(err, EXIT_PROGRAM, "%s", shown.why) : 0;
	if (!bad) {
		/* They come from the terminal, and are meant for the command. */
		struct sigaction ignore = { .sa_handler = SIG_IGN }, interrupt, quit;
		sigaction(SIGINT, &ignore, &interrupt);
		sigaction(SIGQUIT, &ignore, &quit);
		char *s = shown.output, *end = s + shown.noutput;
		char **argv = strings(&s, end), **env = strings(&s, end);
		bad = run_inside(r, c, argv, env, out, err);
		free(argv);
		free(env);
		sigaction(SIGINT, &interrupt, NULL);
		sigaction(SIGQUIT, &quit, NULL);
	}
	runner_result_free(&shown);
	if (c->state == CELL_IDLE && !runner_ask(c, OP_RESTORE, 0, NULL)) {
		runner_answer(r, c, &restored);
		out->replaced = restored.replaced;
		out->strays = restored.strays;
		runner_result_free(&restored);
	}
	return bad;
}

/* What a memfd holds, ended by a zero byte. */
static char *all_of(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *text = xmalloc((size_t)(size > 0 ? size : 0) + 1);
	ssize_t n = size > 0 ? pread(fd, text, (size_t)size, 0) : 0;
	text[n > 0 ? n : 0] = 0;
	return text;
}

char *runner_capture(struct runner *r, unsigned cell, const char *command, struct err *err)
{
	struct runner_result result;
	char *text = NULL;
	r->capture = memfd_create("holdfast output", MFD_CLOEXEC);
	if (r->capture <= 0) {
		r->capture = 0;
		err_errno(err, EXIT_INTERNAL, "cannot make a file in memory");
		return NULL;
	}
	if (!runner_interactive(r, cell, false, command, &result, err)) {
		if (result.verdict == RUNNER_HUNG)
			err_set(err, EXIT_PROGRAM, "it did not end in time");
		else
			text = all_of(r->capture);
		runner_result_free(&result);
	}
	close(r->capture);
	r->capture = 0;
	return text;
}
