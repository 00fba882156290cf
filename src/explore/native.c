/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program with an input, without the tracer: the script of script.c in a cell of
 * src/runner, where the symbolic files are at their paths and nothing that is written lasts.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "explore/native.h"
#include "runner/runner.h"

#define CAPTURE_PATIENCE 20 /* runner_capture waits this often as long */
#define GDB_SECONDS 30.0
#define TRACER_SECONDS 30.0
#define HOURS_MS (24u * 3600 * 1000)
#define STATUS "\nholdfast-status "

struct cell {
	VEC(struct runner_file) file;
	VEC(char *) text; /* paths that are ours */
	size_t real;      /* files that have contents; the others only stand for their folders */
	struct runner *runner;
};

/* ---- what is private ---- */

static bool within(const char *path, const char *dir)
{
	size_t n = strlen(dir);
	return !strncmp(path, dir, n) && (path[n] == '/' || !path[n]);
}

/* A folder that the program may write to, and that the runner does not cover by itself. */
static bool to_cover(const char *cwd, const char *dir)
{
	const char *const other[] = { cwd, "/tmp", "/proc", "/sys", "/dev", "/run" };
	if (!strcmp(dir, "/") || access(dir, W_OK))
		return false;
	for (size_t i = 0; i < sizeof other / sizeof *other; i++)
		if (within(dir, other[i]))
			return false;
	return true;
}

static void add_file(struct cell *c, char *path)
{
	struct runner_file f = { .path = path };
	VEC_PUSH(&c->file, f);
	VEC_PUSH(&c->text, path);
}

/* A file that is not there stands for the folder. */
static void cover(struct cell *c, const char *cwd, const char *path)
{
	char *own = *path == '/' ? xstrdup(path) : xasprintf("%s/%s", cwd, path);
	char *slash = strrchr(own, '/');
	slash[slash == own] = 0;
	char *dir = realpath(own, NULL);
	free(own);
	if (dir && to_cover(cwd, dir)) {
		char *none = xasprintf("%s/.holdfast-none", dir);
		bool known = false;
		for (size_t i = c->real; i < c->file.n; i++)
			known = known || !strcmp(c->file.p[i].path, none);
		if (known)
			free(none);
		else
			add_file(c, none);
	}
	free(dir);
}

static void plan_files(struct cell *c, const struct explore_stage *stage)
{
	const struct explore_plan *p = stage->plan;
	const char *cwd = stage->program->cwd;
	for (size_t i = 0; i < p->source.n; i++)
		if (p->source.p[i].kind == SYM_SRC_FILE)
			add_file(c, xstrdup(p->source.p[i].path));
	c->real = c->file.n;
	for (size_t i = 1; i < p->argc; i++)
		if (strchr(p->argv[i], '/'))
			cover(c, cwd, p->argv[i]);
	for (uint32_t i = 0; stage->defs && i < trace_files(stage->defs); i++)
		if (trace_file(stage->defs, i)->path)
			cover(c, cwd, trace_file(stage->defs, i)->path);
}

/* The contents, from the input's folder. */
static int fill(struct cell *c, const struct explore_plan *p, const char *dir, struct err *err)
{
	uint32_t file = 0;
	char part[65536];
	for (size_t i = 0; i < p->source.n; i++) {
		if (p->source.p[i].kind != SYM_SRC_FILE)
			continue;
		char *path = xasprintf("%s/%s", dir, p->about.p[i].name);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		free(path);
		off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END), at = 0;
		int bad = size < 0 ? err_errno(err, EXIT_USAGE, "cannot read %s of %s",
					       p->about.p[i].name, dir)
				   : runner_size(c->runner, 0, file, (uint64_t)size, err);
		while (!bad && (at = lseek(fd, at, SEEK_DATA)) >= 0) {
			ssize_t n = pread(fd, part, sizeof part, at);
			if (n <= 0)
				break;
			bad = runner_write(c->runner, 0, file, (uint64_t)at, part, (size_t)n, err);
			at += n;
		}
		if (fd >= 0)
			close(fd);
		if (bad)
			return -1;
		file++;
	}
	return 0;
}

static int cell_open(struct cell *c, const struct explore_stage *stage, const char *dir,
		     double seconds, struct err *err)
{
	const char *cwd = stage->program->cwd;
	*c = (struct cell){ 0 };
	plan_files(c, stage);
	struct runner_opts ro = {
		.command = "true",
		.file = c->file.p,
		.nfile = c->file.n,
		.cells = 1,
		.timeout_ms = seconds * 1000 < HOURS_MS ? (unsigned)(seconds * 1000) + 1 : HOURS_MS,
		.output_cap = 1u << 20,
	};
	int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool bad = chdir(cwd) != 0;
	if (bad)
		err_errno(err, EXIT_PROGRAM, "cannot go to %s", cwd);
	else
		c->runner = runner_new(&ro, err);
	if (here >= 0) {
		if (fchdir(here) && !bad)
			bad = err_errno(err, EXIT_PROGRAM, "cannot return to the current folder");
		close(here);
	}
	return bad || !c->runner || fill(c, stage->plan, dir, err) ? -1 : 0;
}

static void cell_close(struct cell *c)
{
	if (c->runner)
		runner_free(c->runner);
	for (size_t i = 0; i < c->text.n; i++)
		free(c->text.p[i]);
	VEC_FREE(&c->text);
	VEC_FREE(&c->file);
}

/* ---- what is run ---- */

static char *command(const char *dir, const char *under, const char *after)
{
	struct buf b = { 0 };
	char *run = xasprintf("%s/run", dir);
	buf_puts(&b, "HOLDFAST_PLACED=1 HOLDFAST_UNDER=");
	if (under)
		shell_quote(&b, under, strlen(under));
	buf_puts(&b, " /bin/bash ");
	shell_quote(&b, run, strlen(run));
	free(run);
	buf_puts(&b, after);
	buf_add(&b, "", 1);
	return b.p;
}

static void set_status(struct explore_native *n, int status)
{
	n->status = status;
	n->signal = status > 128 && status < 128 + 65 ? status - 128 : 0;
}

static int capture(struct cell *c, const char *text, double limit, struct explore_native *n,
		   struct err *err)
{
	double start = now_seconds();
	n->text = runner_capture(c->runner, 0, text, err);
	if (!n->text && now_seconds() - start >= limit) {
		n->hung = true;
		return 0;
	}
	char *last = n->text ? strstr(n->text, STATUS) : NULL;
	if (!n->text || !last)
		return n->text ? err_set(err, EXIT_PROGRAM,
					 "the program could not be run without the tracer")
			       : -1;
	for (char *more; (more = strstr(last + 1, STATUS));)
		last = more;
	set_status(n, atoi(last + strlen(STATUS)));
	*last = 0;
	if (n->status == 125 || n->status == 126 || n->status == 127)
		return err_set(err, EXIT_PROGRAM,
			       "the program could not be run without the tracer (status %d)",
			       n->status);
	return 0;
}

int explore_native(const struct explore_stage *stage, const char *dir, const char *under,
		   struct explore_native *out, struct err *err)
{
	double limit = stage->program->timeout + (under ? GDB_SECONDS : 0);
	struct cell c;
	*out = (struct explore_native){ 0 };
	char *text =
		command(dir, under,
			under ? " 2>&1 </dev/null | tail -c 1000000; printf '" STATUS "%d\\n' 0"
			      : " >/dev/null 2>&1 </dev/null; printf '" STATUS "%d\\n' $?");
	int bad = cell_open(&c, stage, dir, limit / CAPTURE_PATIENCE, err) ||
		  capture(&c, text, limit, out, err);
	cell_close(&c);
	free(text);
	return bad ? -1 : 0;
}

int explore_native_here(const struct explore_stage *stage, const char *dir, const char *under,
			struct explore_native *out, struct err *err)
{
	struct runner_result r = { 0 };
	struct cell c;
	*out = (struct explore_native){ 0 };
	char *text = command(dir, under, "; exit $?");
	int bad = cell_open(&c, stage, dir, under ? 1e9 : stage->program->timeout, err) ||
		  runner_interactive(c.runner, 0, false, text, &r, err);
	out->hung = r.verdict == RUNNER_HUNG;
	if (r.verdict == RUNNER_CRASHED)
		set_status(out, 128 + r.status);
	else
		set_status(out, r.status);
	runner_result_free(&r);
	cell_close(&c);
	free(text);
	return bad ? -1 : 0;
}

/* ---- a recording ---- */

static char *recorder(const struct launch_opts *o, const char *into)
{
	struct buf b = { 0 };
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	self[n > 0 ? n : 0] = 0;
	explore_quote(&b, self, strlen(self));
	buf_printf(&b, " record -q -o %s", into);
	for (size_t i = 0; i < o->npm; i++) {
		buf_puts(&b, " --pm ");
		explore_quote(&b, o->pm[i], strlen(o->pm[i]));
	}
	if (o->cpu)
		buf_printf(&b, " --cpu %s", o->cpu);
	buf_puts(&b, o->follow_forks ? " --follow-forks" : "");
	buf_puts(&b, o->no_pmem_force ? " --no-pmem-force" : "");
	buf_puts(&b, o->pmemcheck ? " --pmemcheck-requests" : "");
	buf_puts(&b, " --");
	buf_add(&b, "", 1);
	return b.p;
}

int explore_record(const struct explore_stage *stage, const char *dir, const char *trace,
		   struct err *err)
{
	double limit = stage->program->timeout * 2 + TRACER_SECONDS;
	struct explore_native n = { 0 };
	struct cell c = { 0 };
	char into[64];
	/* Without O_CLOEXEC: what is run in the cell has it, too. */
	int fd = open(trace, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (fd < 0)
		return err_errno(err, EXIT_USAGE, "cannot write %s", trace);
	snprintf(into, sizeof into, "/tmp/holdfast-recording-%d", (int)getpid());
	char *under = recorder(&stage->program->run, into);
	char *after = xasprintf(" >/dev/null 2>&1 </dev/null; cat %s/trace >/proc/self/fd/%d && "
				"printf '" STATUS "0\\n'",
				into, fd);
	char *text = command(dir, under, after);
	int bad = cell_open(&c, stage, dir, limit / CAPTURE_PATIENCE, err) ||
		  capture(&c, text, limit, &n, err);
	cell_close(&c);
	close(fd);
	if (!bad && n.hung)
		bad = err_set(err, EXIT_PROGRAM, "the recording did not end in time");
	free(n.text);
	free(under);
	free(after);
	free(text);
	return bad ? -1 : 0;
}
