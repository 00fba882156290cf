/* SPDX-License-Identifier: BSD-3-Clause */
/* The caller's side: cells by number, their images, and the queue of results. */
#include "runner/caller.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

const struct sandbox_view *runner_view(const struct runner *r)
{
	return r->space.view;
}

unsigned runner_cells(const struct runner *r)
{
	return r->ncell;
}

bool runner_fast(const struct runner *r)
{
	return r->opts->fast && r->preload && !r->slow;
}

unsigned runner_running(const struct runner *r)
{
	unsigned n = 0;
	for (unsigned i = 0; i < r->ncell; i++)
		n += r->cell[i].state == CELL_RUNS;
	return n;
}

void runner_bury(struct runner_cell *c, struct runner_result *out)
{
	int status = 0;
	c->state = CELL_DEAD;
	if (c->pid > 0) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, &status, 0);
		c->pid = 0;
	}
	if (c->home)
		sandbox_remove_tree(AT_FDCWD, c->home);
	if (out && WIFSIGNALED(status))
		runner_broken(out, "the sandbox was killed by signal %d (%s)", WTERMSIG(status),
			      strsignal(WTERMSIG(status)));
	else if (out)
		runner_broken(out, "the sandbox has ended");
}

int runner_ask(struct runner_cell *c, enum op op, uint32_t file, const char *text)
{
	struct request q = { .op = op, .file = file, .text = text ? (uint32_t)strlen(text) : 0 };
	return runner_send(c, q, text);
}

int runner_send(struct runner_cell *c, struct request q, const char *text)
{
	q.resized = c->resized;
	struct iovec iov[] = { { &q, sizeof q }, { (void *)text, q.text } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t n;
	while ((n = sendmsg(c->sock, &m, MSG_NOSIGNAL)) < 0 && errno == EINTR)
		;
	c->resized = false;
	return n < 0 ? -1 : 0;
}

static char *part(const char *from, size_t len)
{
	char *s = xmalloc(len + 1);
	memcpy(s, from, len);
	s[len] = '\0';
	return s;
}

void runner_answer(struct runner *r, struct runner_cell *c, struct runner_result *out)
{
	ssize_t n;
	struct reply *reply = r->buffer;
	while ((n = recv(c->sock, reply, REPLY_MAX, 0)) < 0 && errno == EINTR)
		;
	*out = (struct runner_result){ 0 };
	if (n < (ssize_t)sizeof *reply ||
	    (size_t)n != sizeof *reply + reply->output + reply->trace) {
		runner_bury(c, out);
		return;
	}
	*out = reply->result;
	const char *text = (const char *)(reply + 1);
	out->noutput = reply->output;
	out->output =
		reply->heard ? runner_all_of(c->heard, &out->noutput) : part(text, reply->output);
	out->trace = reply->trace ? part(text + reply->output, reply->trace) : NULL;
	r->slow = r->slow || reply->slow;
	bool worn = reply->worn;
	if (reply->unusable || (worn && runner_renew(r, c, &(struct err){ 0 })))
		runner_bury(c, NULL);
}

void runner_until(struct runner *r, double when)
{
	r->until = when;
}

/* For poll: milliseconds, -1 for ever. */
static int time_left(const struct runner *r)
{
	double left = r->until - now_seconds();
	if (r->until <= 0)
		return -1;
	return left <= 0 ? 0 : left > 1e6 ? 1000000000 : (int)(left * 1000) + 1;
}

/* Takes in what cells that run have to say. -1: a signal came first, or it takes too long. */
static int collect(struct runner *r, bool block)
{
	struct pollfd *fd = xcalloc(r->ncell, sizeof *fd);
	for (unsigned i = 0; i < r->ncell; i++) {
		bool runs = r->cell[i].state == CELL_RUNS;
		fd[i] = (struct pollfd){ .fd = runs ? r->cell[i].sock : -1, .events = POLLIN };
	}
	int n = poll(fd, r->ncell, block ? time_left(r) : 0);
	if (!n && block) {
		errno = ETIME;
		n = -1;
	}
	for (unsigned i = 0; n > 0 && i < r->ncell; i++) {
		if (!fd[i].revents)
			continue;
		struct done d = { .tag = r->cell[i].tag, .cell = i };
		r->cell[i].state = CELL_IDLE;
		runner_answer(r, &r->cell[i], &d.result);
		VEC_PUSH(&r->done, d);
	}
	free(fd);
	return n < 0 ? -1 : 0;
}

int runner_idle(struct runner *r, struct err *err)
{
	for (;;) {
		bool any = false;
		for (unsigned i = 0; i < r->ncell; i++) {
			if (r->cell[i].state == CELL_IDLE)
				return (int)i;
			any = any || r->cell[i].state == CELL_RUNS;
		}
		if (!any)
			return err_set(err, EXIT_PROGRAM, "no sandbox is left to run '%s' in",
				       r->opts->command);
		if (collect(r, true))
			return err_errno(err, EXIT_PROGRAM, "interrupted");
	}
}

void runner_again(struct runner *r, unsigned cell)
{
	r->cell[cell].again = true;
}

void runner_patience(struct runner *r, unsigned cell, unsigned ms)
{
	r->cell[cell].ms = ms;
}

int runner_start(struct runner *r, unsigned cell, uint64_t tag, struct err *err)
{
	struct runner_cell *c = &r->cell[cell];
	if (c->state != CELL_IDLE)
		return err_set(err, EXIT_INTERNAL, "cell %u is not idle", cell);
	struct request q = { .op = OP_RUN, .file = c->again, .ms = c->ms };
	c->again = false;
	c->ms = 0;
	if (runner_send(c, q, NULL)) {
		runner_bury(c, NULL);
		return err_set(err, EXIT_PROGRAM, "a sandbox has ended");
	}
	c->state = CELL_RUNS;
	c->tag = tag;
	return 0;
}

int runner_wait(struct runner *r, bool block, uint64_t *tag, unsigned *cell,
		struct runner_result *out, struct err *err)
{
	while (r->taken == r->done.n) {
		r->taken = r->done.n = 0;
		if (!runner_running(r))
			return 0;
		if (collect(r, block))
			return err_errno(err, EXIT_PROGRAM, "interrupted");
		if (!block)
			break;
	}
	if (r->taken == r->done.n)
		return 0;
	const struct done *d = &r->done.p[r->taken++];
	*tag = d->tag;
	*cell = d->cell;
	*out = d->result;
	return 1;
}
