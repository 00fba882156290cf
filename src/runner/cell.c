/* SPDX-License-Identifier: BSD-3-Clause */
/* A cell's process: it answers requests until its caller is gone, and then leaves nothing. */
#include "runner/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define TEXT_MAX (64u << 10)

static void send_reply(struct cell *c, struct runner_result *r)
{
	struct reply reply = { .result = *r,
			       .slow = c->opts->fast && !c->fast,
			       .unusable = c->unusable,
			       .worn = c->worn };
	reply.heard = r->said && c->heard >= 0 && !ftruncate(c->heard, 0) &&
		      !write_all_at(c->heard, r->output, r->noutput, 0);
	reply.output = reply.heard ? 0 : (uint32_t)r->noutput;
	reply.trace = r->trace ? (uint32_t)strlen(r->trace) : 0;
	struct iovec iov[] = {
		{ &reply, sizeof reply },
		{ r->output, reply.output },
		{ r->trace, reply.trace },
	};
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 3 };
	while (sendmsg(c->sock, &m, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			runner_cell_gone(c);
	runner_result_free(r);
}

static int compare_ints(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Only what is ours stays open: our caller's end of a socket must not live on in us. */
static void close_others(const struct cell_args *a, size_t nfile, int devnull)
{
	VEC(int) keep = { 0 };
	VEC_PUSH(&keep, a->sock);
	VEC_PUSH(&keep, devnull);
	if (a->ops >= 0)
		VEC_PUSH(&keep, a->ops);
	if (a->before >= 0)
		VEC_PUSH(&keep, a->before);
	if (a->heard >= 0)
		VEC_PUSH(&keep, a->heard);
	for (size_t i = 0; i < nfile; i++)
		VEC_PUSH(&keep, a->truth[i]);
	qsort(keep.p, keep.n, sizeof *keep.p, compare_ints);
	unsigned from = 3;
	for (size_t i = 0; i < keep.n; i++) {
		if (keep.p[i] > (int)from)
			close_range(from, (unsigned)keep.p[i] - 1, 0);
		from = (unsigned)keep.p[i] + 1;
	}
	close_range(from, ~0u, 0);
	VEC_FREE(&keep);
}

static void detach(const struct cell_args *a, struct cell *c)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGPIPE };
	sigset_t none;
	setsid();
	if (a->space.view->flags & SANDBOX_PIDS)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	else /* has to clean up, and adopts what is left behind */
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Above FAST_FD: a child moves its descriptors about. */
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	c->devnull = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FAST_FD + 1);
	close_others(a, a->opts->nfile, c->devnull);
	for (int i = 0; i < 3; i++)
		dup2(c->devnull, i);
}

/* What the command changes in these folders is its own, besides those with PM files. */
static int open_box(struct cell *c, const struct sandbox_view *view, struct err *err)
{
	const char *home = getenv("HOME"), *run = getenv("XDG_RUNTIME_DIR");
	const struct sandbox_place place[] = {
		{ ".", true },
		{ "/tmp", true },
		{ "/var", true },
		{ "/var/tmp", true },
		{ "/etc", true },
		{ "/dev/shm", true },
		{ "/run", true },
		{ home && *home == '/' ? home : "/tmp", true },
		{ run && *run == '/' ? run : "/tmp", true },
	};
	const struct runner_opts *o = c->opts;
	const char **file = xcalloc(o->nfile, sizeof *file);
	bool *beside = xcalloc(o->nfile + 1, sizeof *beside);
	for (size_t i = 0; i < o->nfile; i++) {
		file[i] = o->file[i].path;
		beside[i] = o->file[i].beside;
	}
	c->box = sandbox_cell_new(&(struct sandbox_opts){ .view = view,
							  .file = file,
							  .optional = beside,
							  .nfile = o->nfile,
							  .place = place,
							  .nplace = sizeof place / sizeof *place });
	free(file);
	free(beside);
	return sandbox_cell_open(c->box, err);
}

static int prepare(struct cell *c, const struct cell_args *a, struct err *err)
{
	const struct runner_opts *o = a->opts;
	const char *stop = o->stop ? o->stop : "TERM";
	if (sandbox_space_setup(&a->space, err) || open_box(c, a->space.view, err))
		return -1;
	c->leaks = sandbox_leaks_new(&a->space, c->box);
	if (runner_command_parse(&c->command, o->command, err) ||
	    (o->client && runner_command_parse(&c->client, o->client, err)) ||
	    (o->probe && runner_command_parse(&c->probe, o->probe, err)) ||
	    (o->next && runner_command_parse(&c->next, o->next, err)) ||
	    runner_judge_init(&c->judge, o, err) ||
	    !(c->ready = sandbox_ready_new(o->port, o->ready, 0, err)))
		return -1;
	c->errors = o->listen ? memfd_create("errors", MFD_CLOEXEC) : -1;
	if (c->errors >= 0)
		fcntl(c->errors, F_SETFL, O_APPEND);
	c->stop_signal = sandbox_signal_named(stop);
	if (!c->stop_signal && runner_command_parse(&c->stop, stop, err))
		return -1;
	c->image = xcalloc(o->nfile, sizeof *c->image);
	for (size_t i = 0; i < o->nfile; i++) {
		c->image[i].truth = a->truth[i];
		c->image[i].fd = sandbox_cell_image(c->box, i, err);
		if (c->image[i].fd < 0)
			return -1;
	}
	return 0;
}

/* Mounts are tried at once, so that a view that is not possible is given up early. */
static int try_view(struct cell *c, struct err *err)
{
	const struct runner_opts *o = c->opts;
	for (size_t i = 0; i < o->nfile; i++)
		sandbox_cell_name(c->box, i, o->file[i].path);
	int bad = sandbox_cell_show(c->box, err);
	for (size_t i = 0; i < o->nfile; i++)
		sandbox_cell_name(c->box, i, NULL);
	return bad;
}

static void add_strings(struct buf *b, char **s, size_t n)
{
	for (size_t i = 0; i < n && s[i]; i++)
		buf_add(b, s[i], strlen(s[i]) + 1);
	buf_add(b, "", 1);
}

static int show(struct cell *c, const struct request *q, const char *text, struct buf *out,
		struct err *err)
{
	static const char *const options[] = { "gdb", "-q", "--args" };
	struct command own = { 0 }, gdb = { 0 };
	const struct command *use = q->text ? &own : &c->command;
	if (q->text && runner_command_parse(&own, text, err)) {
		runner_command_free(&own);
		return -1;
	}
	if (q->file) {
		gdb = runner_gdb_command(use, options, sizeof options / sizeof *options);
		use = &gdb;
	}
	runner_fast_stop(c);
	int bad = runner_cell_show(c, err);
	char **argv = runner_cell_argv(c, use);
	struct env env = runner_env_new(c, false);
	add_strings(out, argv, SIZE_MAX);
	add_strings(out, env.p, env.own);
	runner_env_free(&env);
	runner_command_argv_free(argv);
	runner_command_free(&gdb);
	runner_command_free(&own);
	return bad;
}

static void other_name(struct cell *c, const struct request *q, const char *text)
{
	static const enum sandbox_kind kinds[] = {
		[RUNNER_FILE] = SANDBOX_FILE,
		[RUNNER_FOLDER] = SANDBOX_FOLDER,
		[RUNNER_OTHER_FOLDER] = SANDBOX_OTHER_FOLDER,
		[RUNNER_LINK] = SANDBOX_LINK,
		[RUNNER_GONE] = SANDBOX_GONE,
	};
	runner_fast_stop(c);
	if (q->op == OP_PLAIN)
		sandbox_cell_plain(c->box);
	else
		sandbox_cell_also(c->box, kinds[q->kind], q->file, text, text + strlen(text) + 1);
}

static void handle(struct cell *c, const struct request *q, const char *text)
{
	struct runner_result r = { 0 };
	struct buf out = { 0 };
	struct err err;
	int bad = 0;
	unsigned whole = c->opts->timeout_ms;
	if (q->resized) { /* an overlay remembers sizes */
		runner_fast_stop(c);
		sandbox_cell_hide(c->box);
	}
	switch (q->op) {
	case OP_NAME:
		runner_fast_stop(c);
		sandbox_cell_name(c->box, q->file, q->text ? text : NULL);
		return;
	case OP_PLAIN:
	case OP_ALSO: other_name(c, q, text); return;
	case OP_RUN:
		c->patience = q->ms && q->ms < whole ? q->ms : whole;
		runner_cell_run(c, q->file, &r);
		r.hasty = r.verdict == RUNNER_HUNG && c->patience < whole;
		c->patience = whole;
		break;
	case OP_BACKTRACE: runner_cell_backtrace(c, &r); break;
	case OP_SHOW:
		bad = show(c, q, text, &out, &err);
		r.output = out.p;
		r.noutput = out.n;
		break;
	case OP_RESTORE: bad = runner_cell_restore(c, &r, &err); break;
	default: runner_cell_gone(c);
	}
	if (bad)
		runner_broken(&r, "%s", err.text);
	send_reply(c, &r);
}

void runner_cell_main(const struct cell_args *a)
{
	static char text[TEXT_MAX + 1];
	struct cell c = { .opts = a->opts,
			  .patience = a->opts->timeout_ms,
			  .sock = a->sock,
			  .ops = a->ops,
			  .before = a->before,
			  .given = a->ops,
			  .heard = a->heard,
			  .fast = a->opts->fast && a->preload };
	struct runner_result r = { 0 };
	struct err err;
	detach(a, &c);
	c.preload = a->preload ? xstrdup(a->preload) : NULL;
	int bad = prepare(&c, a, &err) || try_view(&c, &err);
	if (bad)
		runner_broken(&r, "%s", err.text);
	const char *home = c.box ? sandbox_cell_home(c.box) : NULL;
	r.output = xstrdup(home ? home : "");
	r.noutput = strlen(r.output);
	send_reply(&c, &r);
	for (size_t i = 0; !bad && i < a->opts->nfile; i++)
		if (sandbox_send(c.sock, "f", 1, &c.image[i].fd, 1))
			runner_cell_gone(&c);
	for (;;) {
		struct request q;
		struct iovec iov[] = { { &q, sizeof q }, { text, TEXT_MAX } };
		struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };
		ssize_t n = recvmsg(c.sock, &m, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < (ssize_t)sizeof q)
			runner_cell_gone(&c);
		text[(size_t)n - sizeof q] = '\0';
		handle(&c, &q, text);
	}
}
