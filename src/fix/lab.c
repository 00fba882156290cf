/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The copy of the source tree, in which a patch is tried. The program runs on pools of its own: each file that it
 * had mapped is given anew, with the contents that it had at the beginning. Commands see the copy where the source is; where that
 * is not allowed, the paths of the source in them stand for those in the copy. Those of the pools always do.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fix/proof.h"

#define SAID 4000 /* bytes of a failed command's output that are shown */

static void stand_in(struct fix_lab *l, const char *from, const char *to)
{
	VEC_PUSH(&l->from, xstrdup(from));
	VEC_PUSH(&l->to, xstrdup(to));
}

/* The text with all that stands for something else; xmalloc'ed. */
static char *mapped(const struct fix_lab *l, const char *text)
{
	struct buf b = { 0 };
	while (*text) {
		size_t i = 0, n = 0;
		for (; i < l->from.n; i++)
			if (!strncmp(text, l->from.p[i], n = strlen(l->from.p[i])))
				break;
		if (i < l->from.n) {
			buf_puts(&b, l->to.p[i]);
			text += n;
		} else {
			buf_add(&b, text++, 1);
		}
	}
	buf_add(&b, "", 1);
	return b.p;
}

/* A pool's file as it was before the run. */
static int restore_pools(struct fix_lab *l, struct err *err)
{
	struct trace_reader *r = l->x->o.dir ? trace_open(l->x->o.dir, err) : NULL;
	struct trace_image *image = r ? trace_image_new(r, err) : NULL;
	int bad = l->x->o.dir && !image;
	for (uint32_t i = 0; image && !bad && i < trace_files(trace_defs(r)); i++) {
		const struct trace_file_def *f = trace_file(trace_defs(r), i);
		char *path = xasprintf("%s/pool-%u", l->temp, i);
		unlink(path);
		if (f->has_snapshot && f->size)
			bad = trace_image_write_file(image, i, path, err);
		free(path);
	}
	if (image)
		trace_image_free(image);
	if (r)
		trace_close(r);
	return bad ? -1 : 0;
}

/* Pools by the names that the commands have for them: as they are, and as the words resolve to them. */
static int map_pools(struct fix_lab *l, struct err *err)
{
	struct trace_event e;
	struct trace_reader *r = l->x->o.dir ? trace_open(l->x->o.dir, err) : NULL;
	int more = 1;
	if (!r)
		return l->x->o.dir ? -1 : 0;
	while (more == 1)
		more = trace_next(r, &e, err);
	for (uint32_t i = 0; i < trace_files(trace_defs(r)); i++) {
		const char *path = trace_file(trace_defs(r), i)->path;
		char *to = xasprintf("%s/pool-%u", l->temp, i);
		size_t n = l->o->folder ? strlen(l->o->folder) : 0;
		stand_in(l, path, to);
		if (n && !strncmp(path, l->o->folder, n) && path[n] == '/')
			for (size_t k = 0; k < l->o->ncommand; k++)
				if (!strcmp(l->o->command[k], path + n + 1))
					stand_in(l, path + n + 1, to);
		free(to);
	}
	trace_close(r);
	return more < 0 ? -1 : 0;
}

static int copy_tree(struct fix_lab *l, struct err *err)
{
	char *all = xasprintf("%s/.", l->root), *log = xasprintf("%s/copy.log", l->temp);
	const char *argv[] = { "cp", "-a", "--reflink=auto", "--", all, l->copy, NULL };
	int status = 0,
	    bad = mkdir(l->copy, 0700) || fix_run(argv, NULL, NULL, log, NULL, NULL, &status);
	if (bad || status) {
		char *said = fix_tail(log, SAID);
		err_set(err, EXIT_PROGRAM, "cannot copy %s: %s", l->root, said);
		free(said);
		bad = 1;
	}
	free(all);
	free(log);
	return bad ? -1 : 0;
}

int fix_lab_open(struct fix_lab *l, struct err *err)
{
	const char *tmp = getenv("TMPDIR");
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	l->self = n > 0 ? strndup(self, (size_t)n) : NULL;
	l->root = realpath(l->x->o.root ? l->x->o.root : ".", NULL);
	char *temp = xasprintf("%s/holdfast-fix-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!l->self || !l->root || !mkdtemp(temp)) {
		free(temp);
		return err_errno(err, EXIT_PROGRAM, "cannot make a temporary folder");
	}
	l->temp = temp;
	l->copy = xasprintf("%s/source", temp);
	if (copy_tree(l, err) || map_pools(l, err))
		return -1;
	l->over = (struct fix_over){ l->copy, l->root };
	l->is_over = fix_can_put_over(&l->over);
	if (!l->is_over)
		stand_in(l, l->root, l->copy);
	return 0;
}

void fix_lab_close(struct fix_lab *l)
{
	if (l->temp)
		fix_remove_tree(l->temp);
	for (size_t i = 0; i < l->from.n; i++) {
		free(l->from.p[i]);
		free(l->to.p[i]);
	}
	VEC_FREE(&l->from);
	VEC_FREE(&l->to);
	free(l->temp);
	free(l->copy);
	free(l->root);
	free(l->self);
}

static int shell(struct fix_lab *l, const char *command, const char *what, struct err *err)
{
	char *text = mapped(l, command), *log = xasprintf("%s/shell.log", l->temp);
	const char *argv[] = { "sh", "-c", text, NULL };
	int status = 0, bad = fix_run(argv, l->is_over ? l->root : l->copy, NULL, log, NULL,
				      l->is_over ? &l->over : NULL, &status);
	if (bad) {
		err_set(err, EXIT_PROGRAM, "interrupted");
	} else if (status) {
		char *said = fix_tail(log, SAID);
		msg_error("%s", said);
		err_set(err, EXIT_PROGRAM, "%s ends with status %d: %s", what, status, command);
		free(said);
		bad = 1;
	}
	free(text);
	free(log);
	return bad ? -1 : 0;
}

int fix_lab_build(struct fix_lab *l, struct err *err)
{
	return shell(l, l->o->build, "the build", err);
}

int fix_lab_test(struct fix_lab *l, struct err *err)
{
	return l->o->test ? shell(l, l->o->test, "the test", err) : 0;
}

/* ---- a run ---- */

struct words {
	VEC(const char *) argv;
	VEC(char *) own;
};

static void word(struct words *w, char *text)
{
	VEC_PUSH(&w->own, text);
	VEC_PUSH(&w->argv, text);
}

static void words_free(struct words *w)
{
	for (size_t i = 0; i < w->own.n; i++)
		free(w->own.p[i]);
	VEC_FREE(&w->own);
	VEC_FREE(&w->argv);
}

/* A word of the command: a path in the source is that in the copy, however it is written. */
static char *argument(const struct fix_lab *l, const char *text)
{
	char *whole = *text == '/' || !l->o->folder ? xstrdup(text)
						    : xasprintf("%s/%s", l->o->folder, text);
	char *real = realpath(whole, NULL), *out;
	size_t n = strlen(l->root);
	bool inside = real && !strncmp(real, l->root, n) && real[n] == '/';
	out = inside && !l->is_over ? xasprintf("%s%s", l->copy, real + n) : mapped(l, text);
	free(whole);
	free(real);
	return out;
}

/* Where it ran: in the copy, if that was in the source. */
static char *folder(const struct fix_lab *l)
{
	return l->o->folder ? mapped(l, l->o->folder) : NULL;
}

static int run_self(struct fix_lab *l, struct words *w, const char *dir, const char *name,
		    int *status, struct err *err)
{
	char *out = xasprintf("%s.%s.out", dir, name), *errors = xasprintf("%s.%s.err", dir, name);
	char *cwd = folder(l);
	VEC_PUSH(&w->argv, NULL);
	int bad = fix_run(w->argv.p, cwd, l->o->stdin_path, out, errors,
			  l->is_over ? &l->over : NULL, status);
	if (bad)
		err_set(err, EXIT_PROGRAM, "interrupted");
	else if (strcmp(name, "record") && (*status == EXIT_USAGE || *status == EXIT_INTERNAL)) {
		char *said = fix_tail(errors, SAID);
		bad = err_set(err, EXIT_PROGRAM, "holdfast %s fails on the patched program: %s",
			      name, said);
		free(said);
	}
	words_free(w);
	free(out);
	free(errors);
	free(cwd);
	return bad;
}

static int record(struct fix_lab *l, const char *dir, int *status, struct err *err)
{
	struct words w = { 0 };
	if (restore_pools(l, err))
		return -1;
	word(&w, xstrdup(l->self));
	word(&w, xstrdup("record"));
	word(&w, xstrdup("--quiet"));
	word(&w, xstrdup("-o"));
	word(&w, xstrdup(dir));
	for (size_t i = 0; i < l->o->nrecord; i++)
		word(&w, mapped(l, l->o->record[i]));
	word(&w, xstrdup("--"));
	for (size_t i = 0; i < l->o->ncommand; i++)
		word(&w, argument(l, l->o->command[i]));
	if (run_self(l, &w, dir, "record", status, err))
		return -1;
	char *trace = xasprintf("%s/trace", dir), *errors = xasprintf("%s.record.err", dir);
	bool none = access(trace, F_OK) != 0;
	if (none) {
		char *said = fix_tail(errors, SAID);
		err_set(err, EXIT_PROGRAM, "the recorded command cannot be run again: %s", said);
		free(said);
	}
	free(trace);
	free(errors);
	return none ? -1 : 0;
}

static int look(struct fix_lab *l, const char *verb, const char *dir, struct report_read *to,
		struct err *err)
{
	struct words w = { 0 };
	char *json = xasprintf("%s.%s.json", dir, verb);
	int status;
	word(&w, xstrdup(l->self));
	word(&w, xstrdup(verb));
	word(&w, xstrdup("--json"));
	word(&w, xstrdup(json));
	for (size_t i = 0; !strcmp(verb, "crash") && i < l->o->ncrash; i++)
		word(&w, mapped(l, l->o->crash[i]));
	if (!strcmp(verb, "check") && l->x->o.model) {
		word(&w, xstrdup("--model"));
		word(&w, xstrdup(l->x->o.model));
	}
	word(&w, xstrdup(dir));
	int bad = run_self(l, &w, dir, verb, &status, err);
	if (!bad && status == EXIT_PROGRAM && access(json, R_OK)) {
		char *errors = xasprintf("%s.%s.err", dir, verb), *said = fix_tail(errors, SAID);
		bad = err_set(err, EXIT_PROGRAM, "holdfast %s cannot judge the patched program: %s",
			      verb, said);
		free(errors);
		free(said);
	}
	if (!bad)
		bad = report_read(json, to, err);
	free(json);
	return bad;
}

/* Not one of the instructions that are a fence besides, as a lock is. */
static bool is_fence(const struct trace_defs *defs, const struct trace_event *e)
{
	const struct trace_site_def *site = trace_site(defs, e->process, e->site);
	return !site || site->class != TRACE_SITE_ATOMIC;
}

static int count(const char *dir, struct fix_trial *t, struct err *err)
{
	struct trace_reader *r = trace_open(dir, err);
	struct trace_event e;
	int more = -1;
	while (r && (more = trace_next(r, &e, err)) == 1) {
		t->flushes += e.kind == TRACE_FLUSH || e.kind == TRACE_SYNC;
		t->fences += e.kind == TRACE_FENCE && is_fence(trace_defs(r), &e);
	}
	if (r)
		trace_close(r);
	return more;
}

int fix_lab_run(struct fix_lab *l, struct fix_trial *t, struct err *err)
{
	*t = (struct fix_trial){ .dir = xasprintf("%s/run-%u", l->temp, l->trials++) };
	return record(l, t->dir, &t->status, err);
}

int fix_lab_try(struct fix_lab *l, bool crash, struct fix_trial *t, struct err *err)
{
	if (fix_lab_run(l, t, err) || count(t->dir, t, err) ||
	    look(l, "check", t->dir, &t->check, err))
		return -1;
	return crash && l->o->ncrash ? look(l, "crash", t->dir, &t->crash, err) : 0;
}

void fix_trial_free(struct fix_trial *t)
{
	report_read_free(&t->check);
	report_read_free(&t->crash);
	free(t->dir);
	*t = (struct fix_trial){ 0 };
}

/* ---- the patch ---- */

/* Files that any fix touches are put back, then the patch as it is now is applied. */
int fix_lab_restore(struct fix_lab *l, struct err *err)
{
	for (size_t i = 0; i < l->x->touched.n; i++) {
		const struct source_file *f = l->x->touched.p[i];
		char *path = xasprintf("%s/%s", l->copy, f->name);
		int bad = fix_replace_file(path, f->text, f->size, err);
		free(path);
		if (bad)
			return -1;
	}
	return fix_apply_to(l->x, l->copy, err);
}
