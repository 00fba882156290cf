/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting and ending the cells of a runner. */
#include "runner/caller.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static char *copy_text(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

static struct runner_opts *copy_opts(const struct runner_opts *from)
{
	struct runner_opts *o = xmalloc(sizeof *o);
	struct runner_file *file = xcalloc(from->nfile, sizeof *file);
	*o = *from;
	for (size_t i = 0; i < from->nfile; i++)
		file[i] = (struct runner_file){ xstrdup(from->file[i].path), from->file[i].addr,
						from->file[i].beside };
	o->file = file;
	o->command = copy_text(from->command);
	o->expect_exit = copy_text(from->expect_exit);
	o->fail_regex = copy_text(from->fail_regex);
	o->probe = copy_text(from->probe);
	o->next = copy_text(from->next);
	o->ignore = copy_text(from->ignore);
	o->client = copy_text(from->client);
	o->ready = copy_text(from->ready);
	o->stop = copy_text(from->stop);
	return o;
}

static void free_opts(struct runner_opts *o)
{
	for (size_t i = 0; i < o->nfile; i++)
		free((char *)o->file[i].path);
	free((struct runner_file *)o->file);
	free((char *)o->command);
	free((char *)o->expect_exit);
	free((char *)o->fail_regex);
	free((char *)o->probe);
	free((char *)o->next);
	free((char *)o->ignore);
	free((char *)o->client);
	free((char *)o->ready);
	free((char *)o->stop);
	free(o);
}

static int check_command(const char *text, struct err *err)
{
	struct command c;
	int bad = runner_command_parse(&c, text, err);
	runner_command_free(&c);
	return bad;
}

int runner_check(const struct runner_opts *o, struct err *err)
{
	struct judge j;
	for (size_t i = 0; i < o->nfile; i++)
		if (*o->file[i].path != '/')
			return err_set(err, EXIT_INTERNAL, "%s: not an absolute path",
				       o->file[i].path);
	if (check_command(o->command, err) || (o->client && check_command(o->client, err)) ||
	    (o->probe && check_command(o->probe, err)) || (o->next && check_command(o->next, err)))
		return -1;
	int bad = runner_judge_init(&j, o, err);
	runner_judge_free(&j);
	if (bad || !o->ready)
		return bad;
	struct sandbox_ready *ready = sandbox_ready_new(o->port, o->ready, 0, err);
	sandbox_ready_free(ready);
	return ready ? 0 : -1;
}

static int greet(struct runner *r, struct runner_cell *c, struct err *err)
{
	struct runner_result result;
	runner_answer(r, c, &result);
	int bad =
		result.verdict == RUNNER_BROKEN ? err_set(err, EXIT_PROGRAM, "%s", result.why) : 0;
	if (!bad && result.noutput)
		c->home = xstrdup(result.output);
	runner_result_free(&result);
	for (size_t i = 0; !bad && i < r->opts->nfile; i++) {
		char byte;
		int fd[SANDBOX_MAX_FDS];
		size_t n;
		if (sandbox_receive(c->sock, &byte, 1, fd, &n) > 0 && n)
			c->file[i].image = fd[0];
		else
			bad = err_set(err, EXIT_PROGRAM, "the sandbox has ended");
	}
	return bad;
}

static int launch(struct runner *r, struct runner_cell *c, int *truth, struct err *err)
{
	int sv[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv))
		return err_errno(err, EXIT_INTERNAL, "cannot make a socket");
	struct cell_args args = { .opts = r->opts,
				  .preload = r->preload,
				  .space = r->space,
				  .sock = sv[1],
				  .ops = c->ops,
				  .before = c->before,
				  .heard = c->heard,
				  .truth = truth };
	pid_t pid = sandbox_space_fork(&r->space);
	if (pid == 0)
		runner_cell_main(&args);
	if (pid < 0)
		err_errno(err, EXIT_PROGRAM, "cannot make a sandbox");
	close(sv[1]);
	c->sock = sv[0];
	c->pid = pid > 0 ? pid : 0;
	return pid < 0 ? -1 : 0;
}

/* The truth stays; what the cell holds is made from it. */
static int make_again(struct runner *r, struct runner_cell *c, struct err *err)
{
	struct runner_result result;
	for (size_t i = 0; i < r->opts->nfile; i++)
		if (c->file[i].path && runner_ask(c, OP_NAME, (uint32_t)i, c->file[i].path))
			return err_set(err, EXIT_PROGRAM, "the sandbox has ended");
	if (runner_tell_names(c) || runner_ask(c, OP_RESTORE, 0, NULL))
		return err_set(err, EXIT_PROGRAM, "the sandbox has ended");
	runner_answer(r, c, &result);
	int bad =
		result.verdict == RUNNER_BROKEN ? err_set(err, EXIT_PROGRAM, "%s", result.why) : 0;
	runner_result_free(&result);
	return bad;
}

int runner_renew(struct runner *r, struct runner_cell *c, struct err *err)
{
	size_t n = r->opts->nfile;
	int *truth = xcalloc(n, sizeof *truth);
	runner_bury(c, NULL);
	close(c->sock);
	c->sock = -1;
	free(c->home);
	c->home = NULL;
	for (size_t i = 0; i < n; i++) {
		close(c->file[i].image);
		c->file[i].image = -1;
		truth[i] = c->file[i].truth;
	}
	c->state = CELL_IDLE;
	int bad = launch(r, c, truth, err) || greet(r, c, err) || make_again(r, c, err);
	free(truth);
	return bad;
}

/* Above FAST_FD: a child moves its descriptors about. */
static int make_shared(bool want, const char *name)
{
	int fd = want ? memfd_create(name, MFD_CLOEXEC) : -1;
	int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FAST_FD + 1);
	if (fd >= 0)
		close(fd);
	return high;
}

static int start_cell(struct runner *r, struct runner_cell *c, struct err *err)
{
	size_t n = r->opts->nfile;
	int *truth = xcalloc(n, sizeof *truth), bad = 0;
	c->sock = -1;
	bool ops = runner_has_ops(r->opts->command) ||
		   (r->opts->next && runner_has_ops(r->opts->next));
	c->ops = make_shared(ops, "holdfast-ops");
	c->before = make_shared(ops, "holdfast-before");
	c->heard = make_shared(r->opts->listen, "holdfast-heard");
	c->file = xcalloc(n, sizeof *c->file);
	for (size_t i = 0; i < n; i++)
		c->file[i].image = c->file[i].truth = -1;
	for (size_t i = 0; !bad && i < n; i++) {
		truth[i] = c->file[i].truth = memfd_create("holdfast-image", MFD_CLOEXEC);
		if (truth[i] < 0)
			bad = err_errno(err, EXIT_PROGRAM, "cannot make room for an image");
	}
	bad = bad || launch(r, c, truth, err) || greet(r, c, err);
	free(truth);
	return bad;
}

static void end_cell(const struct runner *r, struct runner_cell *c)
{
	if (c->sock >= 0)
		close(c->sock); /* tells it to end */
	for (size_t i = 0; c->file && i < r->opts->nfile; i++) {
		if (c->file[i].image >= 0)
			close(c->file[i].image);
		if (c->file[i].truth >= 0)
			close(c->file[i].truth);
		free(c->file[i].path);
	}
	if (c->ops >= 0)
		close(c->ops);
	if (c->before >= 0)
		close(c->before);
	if (c->heard >= 0)
		close(c->heard);
	free(c->home);
	free(c->file);
	runner_forget_names(c);
}

static void end_cells(struct runner *r)
{
	for (unsigned i = 0; i < r->ncell; i++)
		end_cell(r, &r->cell[i]);
	for (unsigned i = 0; i < r->ncell; i++)
		while (r->cell[i].pid > 0 && waitpid(r->cell[i].pid, NULL, 0) < 0 && errno == EINTR)
			;
	free(r->cell);
	r->cell = NULL;
	r->ncell = 0;
}

static int start_cells(struct runner *r, const struct sandbox_view *view, struct err *err)
{
	unsigned want = r->opts->cells ? r->opts->cells : 1;
	r->space = sandbox_space_of(view, true, true);
	if (r->opts->client && !r->space.net)
		want = 1; /* two servers could not both have the port */
	want = runner_descriptors_for(want, r->opts->nfile);
	r->cell = xcalloc(want, sizeof *r->cell);
	while (r->ncell < want) {
		int bad = start_cell(r, &r->cell[r->ncell], err);
		r->ncell++;
		if (bad) {
			end_cells(r);
			return -1;
		}
	}
	return 0;
}

static bool has_pool(const struct runner_opts *o)
{
	return runner_command_has_pool(o->command) ||
	       (o->client && runner_command_has_pool(o->client));
}

#define POOL_ADVICE                                                                                \
	"Write {pool} for the path in the command, and it will be given the path of a copy"

/* Can all programs be run in it that are known yet? */
static int check_programs(const struct runner_opts *o, const struct sandbox_view *v,
			  struct err *err)
{
	char *why = runner_command_refused(o->command, v);
	if (!why && o->client)
		why = runner_command_refused(o->client, v);
	int bad = why ? err_set(err, EXIT_PROGRAM, "%s", why) : 0;
	free(why);
	return bad;
}

/* Cells are started in the best view that works: that is the surest way to find out. */
static int start_anyhow(struct runner *r, struct err *err)
{
	const struct sandbox_view *want = r->opts->view, *v;
	struct err why = { 0 };
	bool pool = has_pool(r->opts);
	if (want && want->flags & SANDBOX_MOVED && !pool)
		return err_set(err, EXIT_USAGE,
			       "the command has no {pool}, which would be the copy's path");
	if (want && check_programs(r->opts, want, &why))
		return err_set(err, EXIT_PROGRAM,
			       "%s, and cannot be shown the image %s. " POOL_ADVICE, why.text,
			       want->text);
	if (want && start_cells(r, want, &why))
		return err_set(
			err, why.status,
			"the image cannot be shown %s, as --view %s asks: %s. Without --view the "
			"best way that works here is taken",
			want->text, want->name, why.text);
	if (want)
		return 0;
	for (size_t i = 0; (v = sandbox_view_at(i)); i++) {
		bool moved = v->flags & SANDBOX_MOVED;
		if (moved && pool)
			return start_cells(r, v, err);
		if (!moved && !check_programs(r->opts, v, &why) && !start_cells(r, v, &why))
			return 0;
	}
	return err_set(err, EXIT_PROGRAM, "a crash image cannot be shown at %s: %s. " POOL_ADVICE,
		       r->opts->nfile ? r->opts->file[0].path : "its path", why.text);
}

struct runner *runner_new(const struct runner_opts *opts, struct err *err)
{
	if (runner_check(opts, err))
		return NULL;
	struct runner *r = xcalloc(1, sizeof *r);
	bool addr = false;
	r->opts = copy_opts(opts);
	r->buffer = xmalloc(REPLY_MAX);
	for (size_t i = 0; i < opts->nfile; i++)
		addr = addr || opts->file[i].addr;
	if (addr || opts->fast)
		r->preload = preload_find(PRELOAD_LIBRARY, NULL);
	if (!start_anyhow(r, err))
		return r;
	runner_free(r);
	return NULL;
}

void runner_free(struct runner *r)
{
	if (!r)
		return;
	end_cells(r);
	for (size_t i = r->taken; i < r->done.n; i++)
		runner_result_free(&r->done.p[i].result);
	VEC_FREE(&r->done);
	free(r->preload);
	free(r->buffer);
	free_opts(r->opts);
	free(r);
}
