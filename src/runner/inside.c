/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Something else in a cell's sandbox, on its image: another command, or a function of ours.
 *
 *   we ──fork──▶ a process that joins the sandbox ──fork──▶ the command, or the function
 *    ▲                        │
 *    └──── its status ◀───────┘                     the cell shows the image, and restores it
 */
#include "runner/caller.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

static void be_quiet(int out)
{
	if ((out ? dup2(out, STDOUT_FILENO) < 0 : !freopen("/dev/null", "w", stdout)) ||
	    !freopen("/dev/null", "r", stdin) || !freopen("/dev/null", "w", stderr))
		_exit(127);
}

static void become(const struct inside *in, int ops, char **argv, char **env)
{
	static const int ours[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD };
	sigset_t none;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		signal(ours[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (ops >= 0)
		dup2(ops, OPS_FD);
	if (in->call || in->out)
		be_quiet(in->call ? 0 : in->out);
	for (; *env; env++)
		putenv(*env);
	runner_descriptors_as_before();
	if (in->call)
		_exit(in->call(in->arg, argv, in->out) ? 1 : 0);
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
static void enter(const struct runner *r, const struct runner_cell *c, const struct inside *in,
		  char **argv, char **env, int tell)
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
	if (sandbox_space_join(&r->space, c->pid) && (!cwd || !chdir(cwd)))
		pid = fork();
	if (pid == 0)
		become(in, c->ops, argv, env);
	bool bad = pid > 0 && has_ended(pid, &news, &status) &&
		   write(tell, &status, sizeof status) != sizeof status;
	if (ends)
		runner_proc_kill_adopted();
	_exit(bad);
}

/* Waits for the status from fd. */
static enum inside_end wait_status(const struct inside *in, int fd, int *status)
{
	double deadline = runner_deadline_after(in->ms);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	for (;;) {
		double left = (deadline - now_seconds()) * 1e3;
		if (left <= 0)
			return INSIDE_LATE;
		int n = poll(&p, 1, left > 1e6 ? 1000000 : (int)left + 1);
		if (n < 0 && errno == EINTR && in->call)
			return INSIDE_INTERRUPTED;
		if (n <= 0)
			continue;
		return read(fd, status, sizeof *status) == sizeof *status ? INSIDE_ENDED
									  : INSIDE_NOT;
	}
}

static enum inside_end run(struct runner *r, struct runner_cell *c, struct inside *in, char **argv,
			   char **env)
{
	enum inside_end end = INSIDE_NOT;
	int fds[2];
	if (pipe2(fds, O_CLOEXEC))
		return INSIDE_NOT;
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0)
		enter(r, c, in, argv, env, fds[1]);
	close(fds[1]);
	if (pid > 0) {
		end = wait_status(in, fds[0], &in->status);
		kill(pid, ends_all(r) ? SIGTERM : SIGKILL);
		waitpid(pid, NULL, 0);
	}
	close(fds[0]);
	return end;
}

/* What the cell answered to OP_SHOW: the words of the command, and its part of the environment. */
static enum inside_end run_shown(struct runner *r, struct runner_cell *c, struct inside *in,
				 struct runner_result *shown)
{
	char *s = shown->output, *stop = s + shown->noutput;
	char **argv = strings(&s, stop), **env = strings(&s, stop);
	enum inside_end end = run(r, c, in, argv, env);
	in->shell = argv[0] && !strcmp(argv[0], SHELL);
	free(argv);
	free(env);
	return end;
}

int runner_inside(struct runner *r, unsigned cell, struct inside *in, struct runner_result *out,
		  struct err *err)
{
	struct runner_cell *c = &r->cell[cell];
	struct runner_result shown, restored;
	*out = (struct runner_result){ 0 };
	if (c->state != CELL_IDLE || runner_ask(c, OP_SHOW, in->gdb, in->command))
		return err_set(err, EXIT_INTERNAL, "cell %u is not idle", cell);
	runner_answer(r, c, &shown);
	double start = now_seconds();
	int bad = shown.verdict == RUNNER_BROKEN ? err_set(err, EXIT_PROGRAM, "%s", shown.why) : 0;
	in->end = bad ? INSIDE_NOT : run_shown(r, c, in, &shown);
	if (!bad && in->end == INSIDE_NOT)
		bad = err_set(err, EXIT_PROGRAM, "cannot enter the sandbox");
	out->spent = now_seconds() - start;
	runner_result_free(&shown);
	if (c->state == CELL_IDLE && !runner_ask(c, OP_RESTORE, 0, NULL)) {
		runner_answer(r, c, &restored);
		out->replaced = restored.replaced;
		out->strays = restored.strays;
		runner_result_free(&restored);
	}
	return bad;
}
