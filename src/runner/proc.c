/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes of a cell: start one, collect its output, wait for its end, end everything. */
#include "runner/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 2 /* how often `done` is asked */

double runner_deadline_after(unsigned ms)
{
	return ms ? now_seconds() + ms / 1e3 : INFINITY;
}

static void set_limit(int what, uint64_t value)
{
	struct rlimit r;
	if (getrlimit(what, &r))
		return;
	r.rlim_cur = value < r.rlim_max ? value : r.rlim_max;
	r.rlim_max = r.rlim_cur;
	setrlimit(what, &r);
}

/* In the child, which still shares our memory. */
static void become(const struct cell *c, const struct spawn *s, int out)
{
	static const int ours[] = { SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD };
	static const uint64_t plain[4]; /* the kernel's sigaction: default, no flags */
	sigset_t none;
	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(c->devnull, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(s->errors >= 0 ? s->errors : out, STDERR_FILENO);
	if (s->fast >= 0)
		dup2(s->fast, FAST_FD);
	if (c->given >= 0)
		dup2(c->given, OPS_FD);
	close_range(3, c->given >= 0 ? OPS_FD - 1 : OPS_FD, 0);
	close_range(s->fast >= 0 ? FAST_FD + 1 : FAST_FD, ~0u, 0);
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		signal(ours[i], SIG_DFL);
	/* libc keeps these two to itself, but who started us may have them ignored */
	for (int i = 32; i < 34; i++)
		syscall(SYS_rt_sigaction, i, &plain, NULL, sizeof(uint64_t));
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	runner_descriptors_as_before();
	set_limit(RLIMIT_CORE, 0);
	if (c->opts->memory && !c->unlimited)
		set_limit(RLIMIT_DATA, c->opts->memory);
}

static pid_t spawn(const struct cell *c, const struct spawn *s, int out, int *failed)
{
	volatile int error = 0;
	pid_t pid = vfork();
	if (pid == 0) {
		become(c, s, out);
		const char *cwd = sandbox_cell_cwd(c->box);
		if (!cwd || !chdir(cwd))
			execvpe(s->argv[0], s->argv, s->envp);
		error = errno;
		_exit(127);
	}
	*failed = pid < 0 ? errno : error;
	return pid;
}

int runner_proc_start(struct cell *c, struct proc *p, const struct spawn *s, struct err *err)
{
	int fds[2], failed;
	*p = (struct proc){ .pidfd = -1, .out = -1, .report = -1 };
	if (pipe2(fds, O_CLOEXEC))
		return err_errno(err, EXIT_INTERNAL, "cannot make a pipe");
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	p->out = fds[0];
	p->pid = spawn(c, s, fds[1], &failed);
	close(fds[1]);
	if (p->pid > 0 && !failed)
		p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	if (p->pidfd >= 0)
		return 0;
	errno = failed ? failed : errno;
	err_errno(err, EXIT_PROGRAM, "cannot run %s", s->argv[0]);
	if (p->pid > 0) {
		kill(p->pid, SIGKILL);
		waitpid(p->pid, NULL, 0);
	}
	runner_proc_close(p);
	return -1;
}

void runner_proc_close(struct proc *p)
{
	if (p->pidfd >= 0)
		close(p->pidfd);
	if (p->out >= 0)
		close(p->out);
	if (p->report >= 0)
		close(p->report);
	p->pidfd = p->out = p->report = -1;
	buf_free(&p->text);
}

/* What it has written so far. */
static void take_output(const struct cell *c, struct proc *p)
{
	char chunk[1 << 16];
	while (p->out >= 0 && !p->flooded) {
		ssize_t n = read(p->out, chunk, sizeof chunk);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			close(p->out);
			p->out = -1;
			return;
		}
		size_t room = c->opts->output_cap ? c->opts->output_cap - p->text.n : SIZE_MAX;
		p->flooded = (size_t)n > room;
		buf_add(&p->text, chunk, p->flooded ? room : (size_t)n);
	}
}

static void take_report(struct proc *p)
{
	struct fast_msg m;
	ssize_t n = recv(p->report, &m, sizeof m, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != sizeof m) { /* its process will have ended too */
		close(p->report);
		p->report = -1;
	} else if (m.what == FAST_HELLO) {
		p->hello = true;
	} else if (m.what == FAST_CHILD) {
		p->child = m.value;
	} else {
		p->ended = true;
		p->status = m.value;
		p->child = 0;
	}
}

static void take_end(struct proc *p)
{
	int status;
	if (waitpid(p->pid, &status, WNOHANG) != p->pid)
		return;
	close(p->pidfd);
	p->pidfd = -1;
	p->lost = p->hello;
	p->ended = true;
	p->status = status;
}

static void take(struct cell *c, struct proc *const *p, size_t n, const struct pollfd *fd)
{
	for (size_t i = 0; i < n; i++, fd += 3) {
		if (fd[2].revents)
			take_report(p[i]);
		if (fd[1].revents)
			take_end(p[i]);
		if (fd[0].revents || p[i]->ended)
			take_output(c, p[i]);
	}
}

static int poll_timeout(double deadline, bool ask)
{
	double ms = ceil((deadline - now_seconds()) * 1e3);
	if (ask && ms > TICK_MS)
		return TICK_MS;
	return ms < 0 ? 0 : ms > 1e6 ? 1000000 : (int)ms;
}

enum pump runner_proc_pump(struct cell *c, struct proc *const *p, size_t n, double deadline,
			   pump_done *done)
{
	for (;;) {
		struct pollfd fd[1 + 3 * 2] = { { .fd = c->sock, .events = POLLRDHUP } };
		for (size_t i = 0; i < n; i++) {
			fd[1 + 3 * i] = (struct pollfd){ .fd = p[i]->out, .events = POLLIN };
			fd[2 + 3 * i] = (struct pollfd){ .fd = p[i]->pidfd, .events = POLLIN };
			fd[3 + 3 * i] = (struct pollfd){ .fd = p[i]->report, .events = POLLIN };
			if (p[i]->flooded)
				return PUMP_FLOODED;
		}
		if (p[0]->ended)
			return PUMP_ENDED;
		if (done && done(c, p[0]))
			return PUMP_DONE;
		int ms = poll_timeout(deadline, done != NULL);
		if (ms == 0 && now_seconds() >= deadline)
			return PUMP_TIMEOUT;
		if (poll(fd, 1 + 3 * n, ms) < 0)
			continue;
		if (fd[0].revents)
			runner_cell_gone(c);
		take(c, p, n, fd + 1);
	}
}

/* Our children, also those that lost their parents; -1: cannot tell. */
static int children(pid_t *pid, int max)
{
	FILE *f = fopen("/proc/thread-self/children", "re");
	int n = 0;
	if (!f)
		return -1;
	while (n < max && fscanf(f, "%d", &pid[n]) == 1)
		n++;
	fclose(f);
	return n;
}

bool runner_proc_alone(void)
{
	pid_t pid[2];
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return children(pid, 2) <= 1;
}

/* Without a pid namespace: those that we adopt because they have lost their parents, and so on. */
void runner_proc_kill_adopted(void)
{
	pid_t pid[64];
	for (int n; (n = children(pid, 64)) > 0;) {
		for (int i = 0; i < n; i++) {
			kill(-pid[i], SIGKILL);
			kill(pid[i], SIGKILL);
		}
		for (int i = 0; i < n; i++)
			waitpid(pid[i], NULL, 0);
	}
}

bool runner_proc_kill_all(struct cell *c)
{
	pid_t pid;
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		;
	if (pid < 0 && errno == ECHILD)
		return false;
	if (sandbox_cell_view(c->box)->flags & SANDBOX_PIDS)
		kill(-1, SIGKILL);
	else
		runner_proc_kill_adopted();
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	return true;
}
