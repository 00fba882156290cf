/* SPDX-License-Identifier: BSD-3-Clause */
/* One image looked at: a backtrace, the command on a terminal, what something else says of it. */
#include "runner/caller.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE 20u /* what else is run may be slower than recovery */

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
	bool fine = !runner_judge_init(&j, r->opts, &ignored) && j.fine[status];
	runner_judge_free(&j);
	return fine;
}

int runner_interactive(struct runner *r, unsigned cell, bool gdb, const char *command,
		       struct runner_result *out, struct err *err)
{
	struct inside in = { .command = command, .gdb = gdb, .ms = r->opts->timeout_ms };
	/* They come from the terminal, and are meant for the command. */
	struct sigaction ignore = { .sa_handler = SIG_IGN }, interrupt, quit;
	sigaction(SIGINT, &ignore, &interrupt);
	sigaction(SIGQUIT, &ignore, &quit);
	int bad = runner_inside(r, cell, &in, out, err);
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGQUIT, &quit, NULL);
	bool ended = in.end == INSIDE_ENDED;
	int sig = ended ? runner_end_signal(in.status, in.shell) : 0;
	out->status = !ended ? 0 : sig ? sig : WEXITSTATUS(in.status);
	out->verdict = !ended                   ? RUNNER_HUNG
		       : sig                    ? RUNNER_CRASHED
		       : judged(r, out->status) ? RUNNER_OK
						: RUNNER_FAILED;
	return bad;
}

char *runner_all_of(int fd, size_t *size)
{
	off_t end = lseek(fd, 0, SEEK_END);
	char *bytes = xmalloc((size_t)(end > 0 ? end : 0) + 1);
	ssize_t n = end > 0 ? pread(fd, bytes, (size_t)end, 0) : 0;
	*size = n > 0 ? (size_t)n : 0;
	bytes[*size] = 0;
	return bytes;
}

static char *output_of(struct runner *r, unsigned cell, struct inside *in, size_t *n,
		       struct err *err)
{
	struct runner_result result;
	char *bytes = NULL;
	in->ms = r->opts->timeout_ms * PATIENCE;
	double left = r->until - now_seconds();
	if (r->until > 0 && left * 1000 < in->ms)
		in->ms = left > 0 ? (unsigned)(left * 1000) + 1 : 1;
	in->out = memfd_create("holdfast output", MFD_CLOEXEC);
	if (in->out <= 0) {
		err_errno(err, EXIT_INTERNAL, "cannot make a file in memory");
		return NULL;
	}
	if (!runner_inside(r, cell, in, &result, err)) {
		if (in->end == INSIDE_LATE)
			err_set(err, EXIT_PROGRAM, "it did not end in time");
		else if (in->end == INSIDE_INTERRUPTED)
			err_set(err, EXIT_PROGRAM, "interrupted");
		else if (in->call && in->status)
			err_set(err, EXIT_PROGRAM, "it failed in the sandbox");
		else
			bytes = runner_all_of(in->out, n);
		runner_result_free(&result);
	}
	close(in->out);
	return bytes;
}

char *runner_capture(struct runner *r, unsigned cell, const char *command, struct err *err)
{
	struct inside in = { .command = command };
	size_t n;
	return output_of(r, cell, &in, &n, err);
}

bool runner_calls(const struct runner *r)
{
	return !r->opts->client && !(r->space.view->flags & SANDBOX_MOVED);
}

void *runner_call(struct runner *r, unsigned cell, runner_function *call, void *arg, size_t *n,
		  struct err *err)
{
	struct inside in = { .call = call, .arg = arg };
	if (runner_calls(r))
		return output_of(r, cell, &in, n, err);
	err_set(err, EXIT_PROGRAM, "a function cannot be called in this view");
	return NULL;
}
