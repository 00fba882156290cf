/* SPDX-License-Identifier: BSD-3-Clause */
/* The image's files for other tools, under their names of the moment, in a folder. */
#include "runner/caller.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct exported {
	const struct runner_cell *cell;
	const char *dir;
	char *common; /* the folder that all names have in common, with a slash; NULL: no name yet */
	struct err *err;
};

static int put_file(const struct exported *x, const struct side *s)
{
	char *path = place_below(x->dir, x->common, s->path);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int bad = fd < 0 || copy_sparse(s->truth, fd) ? -1 : 0;
	if (bad)
		err_errno(x->err, EXIT_PROGRAM, "cannot write %s", path);
	if (fd >= 0 && close(fd) && !bad)
		bad = err_errno(x->err, EXIT_PROGRAM, "cannot write %s", path);
	free(path);
	return bad;
}

/* A folder, a link, or a second name of a file. */
static int put_other(const struct exported *x, const struct told *t)
{
	char *path = place_below(x->dir, x->common, t->text);
	const struct side *s = t->q.kind == RUNNER_FILE ? &x->cell->file[t->q.file] : NULL;
	size_t name = strlen(t->text) + 1;
	int bad = 0;
	if (t->q.kind == RUNNER_FOLDER || t->q.kind == RUNNER_OTHER_FOLDER) {
		bad = mkdir(path, 0777) && errno != EEXIST;
	} else if (t->q.kind == RUNNER_LINK) {
		char *target = xasprintf("%.*s", (int)(t->q.text - name), t->text + name);
		unlink(path);
		bad = symlink(target, path);
		free(target);
	} else if (s && s->path) {
		char *first = place_below(x->dir, x->common, s->path);
		unlink(path);
		bad = link(first, path);
		free(first);
	}
	if (bad)
		err_errno(x->err, EXIT_PROGRAM, "cannot make %s", path);
	free(path);
	return bad ? -1 : 0;
}

int runner_export(struct runner *r, unsigned cell, const char *dir, struct err *err)
{
	const struct runner_cell *c = &r->cell[cell];
	struct exported x = { c, dir, NULL, err };
	int bad = 0;
	for (uint32_t i = 0; i < r->opts->nfile; i++)
		if (c->file[i].path)
			common_folder(&x.common, c->file[i].path);
	for (size_t i = 0; i < c->also.n; i++)
		if (c->also.p[i].q.kind != RUNNER_GONE)
			common_folder(&x.common, c->also.p[i].text);
	for (uint32_t i = 0; !bad && i < r->opts->nfile; i++)
		if (c->file[i].path)
			bad = put_file(&x, &c->file[i]);
	for (size_t i = 0; !bad && i < c->also.n; i++)
		if (c->also.p[i].q.kind != RUNNER_GONE)
			bad = put_other(&x, &c->also.p[i]);
	free(x.common);
	return bad;
}
