/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program's output on its way through us, for the line that says that it is ready.
 *
 * A thread copies both streams from pipes, as they come, and shows them around. It goes on until nobody holds the other ends any more. Where our own output is
 * gone, the pipe is closed, so that the program hears of it as it would without us.
 */
#include "launch/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct relay {
	struct sandbox_ready *ready;
	int out[2]; /* pipes: stdout's, stderr's; -1: closed */
	int in[2];  /* their ends for the program */
	pthread_t thread;
	bool running;
	atomic_bool drained;
};

struct relay *launch_relay_new(struct sandbox_ready *ready)
{
	struct relay *r = xcalloc(1, sizeof *r);
	r->ready = ready;
	for (int i = 0; i < 2; i++)
		r->out[i] = r->in[i] = -1;
	return r;
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void launch_relay_free(struct relay *r)
{
	if (!r)
		return;
	launch_relay_finish(r);
	for (int i = 0; i < 2; i++) {
		close_end(&r->in[i]);
		close_end(&r->out[i]);
	}
	free(r);
}

int launch_relay_open(struct relay *r, struct err *err)
{
	for (int i = 0; i < 2; i++) {
		int fds[2];
		if (pipe2(fds, O_CLOEXEC))
			return err_errno(err, EXIT_INTERNAL, "cannot make a pipe");
		r->out[i] = fds[0];
		r->in[i] = fds[1];
	}
	return 0;
}

void launch_relay_become(const struct relay *r)
{
	dup2(r->in[0], STDOUT_FILENO);
	dup2(r->in[1], STDERR_FILENO);
}

static void copy(struct relay *r, int i)
{
	char bytes[16384];
	ssize_t n = read(r->out[i], bytes, sizeof bytes);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0)
		sandbox_ready_saw(r->ready, i, bytes, (size_t)n);
	else
		sandbox_ready_ended(r->ready, i);
	if (n <= 0 || write_all(i ? STDERR_FILENO : STDOUT_FILENO, bytes, (size_t)n))
		close_end(&r->out[i]);
}

static void *work(void *arg)
{
	struct relay *r = arg;
	while (r->out[0] >= 0 || r->out[1] >= 0) {
		struct pollfd p[2] = { { r->out[0], POLLIN, 0 }, { r->out[1], POLLIN, 0 } };
		if (poll(p, 2, -1) < 0)
			continue;
		for (int i = 0; i < 2; i++)
			if (p[i].revents)
				copy(r, i);
	}
	atomic_store(&r->drained, true);
	return NULL;
}

int launch_relay_start(struct relay *r, struct err *err)
{
	sigset_t all, old;
	sigfillset(&all);
	for (int i = 0; i < 2; i++)
		close_end(&r->in[i]);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are the main thread's */
	int bad = pthread_create(&r->thread, NULL, work, r);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (bad) {
		errno = bad;
		return err_errno(err, EXIT_INTERNAL, "cannot start a thread");
	}
	r->running = true;
	return 0;
}

bool launch_relay_drained(const struct relay *r)
{
	return atomic_load(&r->drained);
}

void launch_relay_finish(struct relay *r)
{
	if (r->running)
		pthread_join(r->thread, NULL);
	r->running = false;
}
