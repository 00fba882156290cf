/* SPDX-License-Identifier: BSD-3-Clause */
/* One run of the command in a cell: start, judge, put back. */
#include "runner/internal.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ZEROS_KEPT (32u << 20) /* in an image; the next run is likely to want them again */

void runner_broken(struct runner_result *r, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	r->verdict = RUNNER_BROKEN;
	vsnprintf(r->why, sizeof r->why, fmt, ap);
	va_end(ap);
}

void runner_cell_gone(struct cell *c)
{
	runner_proc_kill_all(c);
	sandbox_cell_end(c->box);
	_exit(0);
}

char **runner_cell_argv(const struct cell *c, const struct command *cmd)
{
	size_t n = c->opts->nfile;
	const char **path = xcalloc(n, sizeof *path);
	for (size_t i = 0; i < n; i++)
		path[i] = sandbox_cell_path(c->box, i);
	char *dir = sandbox_cell_dir(c->box);
	char **argv = runner_command_argv(cmd, &(struct names){ path, n, dir, OPS_PATH });
	free(dir);
	free(path);
	return argv;
}

int runner_cell_start(struct cell *c, struct proc *p, const struct command *cmd, int fast,
		      struct err *err)
{
	char **argv = runner_cell_argv(c, cmd);
	struct env env = runner_env_new(c, fast >= 0);
	int errors = runner_cell_hears(c, cmd) ? c->errors : -1;
	if (errors >= 0)
		(void)!ftruncate(errors, 0);
	int bad = runner_proc_start(c, p, &(struct spawn){ argv, env.p, fast, errors }, err);
	runner_env_free(&env);
	runner_command_argv_free(argv);
	return bad;
}

int runner_end_signal(int status, bool shell)
{
	if (WIFSIGNALED(status))
		return WTERMSIG(status);
	int sig = WEXITSTATUS(status) - 128;
	bool fatal =
		sig == SIGSEGV || sig == SIGABRT || sig == SIGBUS || sig == SIGFPE || sig == SIGILL;
	return shell && fatal ? sig : 0;
}

/* The beginning and the end of a long one. */
static void keep_output(const struct buf *text, struct runner_result *r)
{
	static const char gap[] = "\n[...]\n";
	size_t half = (OUTPUT_KEPT - sizeof gap) / 2;
	struct buf b = { 0 };
	if (text->n <= OUTPUT_KEPT) {
		buf_add(&b, text->p, text->n);
	} else {
		buf_add(&b, text->p, half);
		buf_puts(&b, gap);
		buf_add(&b, text->p + text->n - half, half);
	}
	free(r->output);
	r->output = b.p;
	r->noutput = b.n;
}

bool runner_cell_hears(const struct cell *c, const struct command *cmd)
{
	const struct runner_opts *o = c->opts;
	const struct command *main = o->client ? &c->client : &c->command;
	bool own = o->own || (!o->probe && !o->next);
	return o->listen && (cmd == main ? own : cmd == &c->probe || cmd == &c->next);
}

/* What the one who is listened to said, after what others said; where that is no use, with its complaints. */
static void hear(const struct cell *c, const struct proc *p, struct runner_result *r)
{
	struct buf text = runner_judge_heard(&c->judge, &p->text);
	if (r->verdict == RUNNER_OK) {
		uint64_t hash = hash_bytes(text.p, text.n);
		struct buf all = { 0 };
		if (r->said) {
			buf_add(&all, r->output, r->noutput);
			buf_puts(&all, all.n && all.p[all.n - 1] != '\n' ? "\n" RUNNER_THEN
									 : RUNNER_THEN);
		}
		buf_add(&all, text.p, text.n);
		buf_free(&text);
		free(r->output);
		r->output = all.p;
		r->noutput = all.n;
		r->said = (r->said ? hash_mix(r->said, hash) : hash) | 1;
		return;
	}
	char chunk[4096];
	off_t at = 0;
	r->said = 0;
	for (ssize_t n; (n = pread(c->errors, chunk, sizeof chunk, at)) > 0; at += n)
		buf_add(&text, chunk, (size_t)n);
	keep_output(&text, r);
	buf_free(&text);
}

static void decide(const struct cell *c, const struct command *cmd, const struct proc *p,
		   enum pump how, struct runner_result *r)
{
	int sig = how == PUMP_ENDED ? runner_end_signal(p->status, !cmd->word) : 0;
	r->status = 0;
	if (how == PUMP_TIMEOUT) {
		r->verdict = RUNNER_HUNG;
	} else if (how == PUMP_FLOODED || p->flooded) {
		r->verdict = RUNNER_FLOODED;
	} else if (sig) {
		r->verdict = RUNNER_CRASHED;
		r->status = sig;
	} else {
		r->status = WEXITSTATUS(p->status);
		bool bad = !c->judge.fine[r->status & 255] ||
			   (c->judge.has_regex && runner_regex_in(&c->judge.regex, &p->text));
		r->verdict = bad ? RUNNER_FAILED : RUNNER_OK;
	}
}

void runner_cell_judge(const struct cell *c, const struct command *cmd, const struct proc *p,
		       enum pump how, struct runner_result *r)
{
	decide(c, cmd, p, how, r);
	if (runner_cell_hears(c, cmd))
		hear(c, p, r);
	else
		keep_output(&p->text, r);
}

static void listen_to(struct cell *c, const struct command *cmd, struct proc *server,
		      struct runner_result *r)
{
	struct proc p, *list[] = { &p, server };
	struct err err;
	double start = now_seconds();
	if (r->verdict != RUNNER_OK || !cmd->text || !c->opts->listen)
		return;
	if (runner_cell_start(c, &p, cmd, -1, &err)) {
		runner_broken(r, "%s", err.text);
		return;
	}
	enum pump how =
		runner_proc_pump(c, list, server ? 2 : 1, runner_deadline_after(c->patience), NULL);
	runner_cell_judge(c, cmd, &p, how, r);
	r->spent += now_seconds() - start;
	runner_proc_close(&p);
}

void runner_cell_listen(struct cell *c, struct proc *server, struct runner_result *r)
{
	listen_to(c, &c->probe, server, r);
	listen_to(c, &c->next, server, r);
}

/* A command with the operations that come before, in silence. */
static void run_silent(struct cell *c, const struct command *cmd, struct runner_result *r)
{
	struct proc p, *list[] = { &p };
	struct err err;
	if (r->verdict != RUNNER_OK || !cmd->text)
		return;
	c->given = c->before;
	if (runner_cell_start(c, &p, cmd, -1, &err)) {
		runner_broken(r, "%s", err.text);
	} else {
		enum pump how =
			runner_proc_pump(c, list, 1, runner_deadline_after(c->patience), NULL);
		decide(c, cmd, &p, how, r);
		runner_proc_close(&p);
	}
	c->given = c->ops;
}

/* What comes before: the command that goes on, with other operations; or, for the second run on an image, all. */
static void run_before(struct cell *c, bool again, struct runner_result *r)
{
	if (again) {
		run_silent(c, &c->command, r);
		run_silent(c, &c->probe, r);
		run_silent(c, &c->next, r);
	} else if (c->before >= 0 && lseek(c->before, 0, SEEK_END) > 0) {
		run_silent(c, c->next.text ? &c->next : &c->command, r);
	}
}

static void plain_run(struct cell *c, struct runner_result *r)
{
	struct proc p, *list[] = { &p };
	struct err err;
	double start = now_seconds();
	if (runner_cell_start(c, &p, &c->command, -1, &err)) {
		runner_broken(r, "%s", err.text);
		return;
	}
	enum pump how = runner_proc_pump(c, list, 1, runner_deadline_after(c->patience), NULL);
	r->spent = now_seconds() - start;
	runner_cell_judge(c, &c->command, &p, how, r);
	r->strays = runner_proc_kill_all(c) && how == PUMP_ENDED;
	runner_proc_close(&p);
}

int runner_cell_show(struct cell *c, struct err *err)
{
	if (sandbox_cell_show(c->box, err))
		return -1;
	int bad = sandbox_leaks_begin(c->leaks, !c->server, err);
	c->worn = c->worn || bad;
	return bad;
}

/* What the run has left besides files and processes. */
static void clean(struct cell *c)
{
	struct err err;
	unsigned left = sandbox_leaks_look(c->leaks, c->server);
	if (!left)
		return;
	runner_fast_stop(c);
	c->worn = c->worn || sandbox_leaks_undo(c->leaks, left, &err);
}

static int put_back(struct cell *c, struct runner_result *r, struct err *err)
{
	bool resized = false;
	bool changed = sandbox_cell_changed(c->box, &r->replaced);
	if (changed) { /* first, as it makes room */
		runner_fast_stop(c);
		sandbox_cell_hide(c->box);
		sandbox_cell_reset(c->box);
	}
	uint64_t keep = sandbox_cell_full(c->box) ? 0 : ZEROS_KEPT;
	for (size_t i = 0; i < c->opts->nfile; i++)
		if (runner_image_restore(&c->image[i], keep, &resized, err))
			return -1;
	if (resized) {
		runner_fast_stop(c);
		sandbox_cell_hide(c->box);
	}
	return 0;
}

int runner_cell_restore(struct cell *c, struct runner_result *r, struct err *err)
{
	if (c->server && !runner_proc_alone())
		runner_fast_stop(c);
	if (!c->server && runner_proc_kill_all(c))
		r->strays = true;
	clean(c);
	int bad = put_back(c, r, err);
	c->unusable = c->unusable || bad;
	return bad;
}

void runner_cell_run(struct cell *c, bool again, struct runner_result *r)
{
	struct err err;
	if (runner_cell_show(c, &err)) {
		runner_broken(r, "%s", err.text);
		return;
	}
	run_before(c, again && !c->opts->client, r);
	if (r->verdict != RUNNER_OK)
		;
	else if (c->opts->client)
		runner_serve_run(c, r);
	else if (!c->fast || !runner_fast_run(c, r))
		plain_run(c, r);
	if (!c->opts->client)
		runner_cell_listen(c, NULL, r);
	if (r->verdict != RUNNER_OK && sandbox_cell_full(c->box))
		runner_broken(r, "the tmpfs that holds the images is full");
	char *refused = sandbox_cell_refused(c->box);
	if (refused)
		runner_broken(r,
			      "%s, and cannot be shown the image %s; {pool} in the command "
			      "would be the path of a copy",
			      refused, sandbox_cell_view(c->box)->text);
	free(refused);
	if (runner_cell_restore(c, r, &err))
		runner_broken(r, "%s", err.text);
}
