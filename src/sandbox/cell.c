/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cell: what a program sees of the file system. It finds all that is there, may change any of it
 * in the covered folders, and nothing of that lasts. The view does what differs from view to view.
 *
 * Everything that a cell is made of lies in its private folder, its base:
 *
 *    img/0 …       the images; they are linked into upper folders, so a program that unlinks one
 *                  does not lose it for us
 *    l0 u0 w0 …    what the rows of the plan need: see struct row
 */
#include "sandbox/internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static void add_folder(struct sandbox_cell *c, const char *dir, bool optional)
{
	struct stat st;
	char *real = realpath(dir, NULL);
	if (real && !stat(real, &st) && S_ISDIR(st.st_mode))
		VEC_PUSH(&c->folder, ((struct folder){ real, optional }));
	else
		free(real);
}

static void add_place(struct sandbox_cell *c, const struct sandbox_place *p)
{
	struct stat st;
	char *dir = xstrdup(p->path), *slash = strrchr(dir, '/');
	bool is = !stat(p->path, &st);
	if (is && S_ISDIR(st.st_mode)) {
		add_folder(c, p->path, p->optional);
	} else if (slash) {
		slash[slash == dir] = '\0';
		add_folder(c, dir, p->optional);
	}
	if (is && S_ISREG(st.st_mode) && (st.st_uid != geteuid() || st.st_gid != getegid()) &&
	    !access(p->path, R_OK | W_OK))
		VEC_PUSH(&c->foreign, realpath(p->path, NULL));
	free(dir);
}

struct sandbox_cell *sandbox_cell_new(const struct sandbox_opts *o)
{
	struct sandbox_cell *c = xcalloc(1, sizeof *c);
	mode_t mask = umask(0);
	umask(mask);
	c->view = o->view;
	c->base = -1;
	c->mode = (0666 & ~mask) | 0600;
	c->cwd = getcwd(NULL, 0);
	c->replayed = o->replayed;
	c->nfile = o->nfile;
	c->file = xcalloc(o->nfile, sizeof *c->file);
	for (size_t i = 0; i < o->nfile; i++)
		c->file[i] = (struct shown){ .home = xstrdup(o->file[i]),
					     .optional = o->optional && o->optional[i] };
	for (size_t i = 0; i < o->nplace; i++)
		add_place(c, &o->place[i]);
	return c;
}

int sandbox_cell_open(struct sandbox_cell *c, struct err *err)
{
	if (c->view->ops->make(c, err))
		return -1;
	if (mkdirat(c->base, "img", 0700))
		return err_errno(err, EXIT_PROGRAM, "cannot make a private folder");
	return 0;
}

int sandbox_cell_image(struct sandbox_cell *c, size_t file, struct err *err)
{
	char name[32];
	snprintf(name, sizeof name, "img/%zu", file);
	int fd = openat(c->base, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return err_errno(err, EXIT_PROGRAM, "cannot make an image");
	return fd;
}

void sandbox_cell_unplan(struct sandbox_cell *c)
{
	sandbox_cell_hide(c);
	if (c->view->ops->forget)
		c->view->ops->forget(c);
	for (size_t i = 0; i < c->row.n; i++)
		sandbox_row_free(&c->row.p[i]);
	VEC_FREE(&c->row);
	for (size_t i = 0; i < c->nfile; i++) {
		free(c->file[i].seen);
		c->file[i].seen = NULL;
	}
	c->planned = false;
}

void sandbox_cell_name(struct sandbox_cell *c, size_t file, const char *path)
{
	sandbox_cell_unplan(c);
	free(c->file[file].path);
	c->file[file].path = path ? xstrdup(path) : NULL;
}

void sandbox_cell_also(struct sandbox_cell *c, enum sandbox_kind kind, size_t file,
		       const char *path, const char *target)
{
	struct also a = { kind, file, xstrdup(path), xstrdup(target) };
	sandbox_cell_unplan(c);
	VEC_PUSH(&c->also, a);
}

void sandbox_cell_plain(struct sandbox_cell *c)
{
	sandbox_cell_unplan(c);
	for (size_t i = 0; i < c->also.n; i++) {
		free(c->also.p[i].path);
		free(c->also.p[i].target);
	}
	VEC_FREE(&c->also);
}

int sandbox_cell_show(struct sandbox_cell *c, struct err *err)
{
	if (c->shown)
		return 0;
	if (!c->planned && c->view->ops->plan(c, err)) {
		sandbox_cell_unplan(c);
		return -1;
	}
	c->planned = true;
	for (size_t i = 0; i < c->row.n; i++)
		if (c->row.p[i].kind == ROW_OVERLAY && !c->row.p[i].filled &&
		    sandbox_row_fill(c, i, err))
			return -1;
	c->shown = !c->view->ops->show || !c->view->ops->show(c, err);
	return c->shown ? 0 : -1;
}

bool sandbox_cell_changed(struct sandbox_cell *c, bool *replaced)
{
	bool changed = false;
	for (size_t i = 0; i < c->row.n; i++) {
		struct row *r = &c->row.p[i];
		if (r->kind != ROW_OVERLAY || r->failed || !sandbox_row_changed(c, i, replaced))
			continue;
		r->filled = false;
		changed = true;
	}
	return changed;
}

void sandbox_cell_hide(struct sandbox_cell *c)
{
	if (c->view->ops->hide)
		c->view->ops->hide(c);
	c->shown = false;
}

void sandbox_cell_reset(struct sandbox_cell *c)
{
	for (size_t i = 0; i < c->row.n; i++)
		if (c->row.p[i].kind == ROW_OVERLAY && !c->row.p[i].filled)
			sandbox_row_wipe(c, i);
}

bool sandbox_cell_full(const struct sandbox_cell *c)
{
	struct statvfs st;
	return !fstatvfs(c->base, &st) && st.f_blocks && !st.f_bavail;
}

void sandbox_cell_end(struct sandbox_cell *c)
{
	sandbox_cell_plain(c);
	if (c->base >= 0 && c->view->ops->clean)
		c->view->ops->clean(c);
	if (c->home)
		sandbox_remove_tree(AT_FDCWD, c->home);
	if (c->base >= 0)
		close(c->base);
	for (size_t i = 0; i < c->nfile; i++) {
		free(c->file[i].home);
		free(c->file[i].path);
	}
	for (size_t i = 0; i < c->folder.n; i++)
		free(c->folder.p[i].dir);
	VEC_FREE(&c->folder);
	sandbox_strings_free(&c->foreign);
	free(c->file);
	free(c->home);
	free(c->cwd);
	free(c);
}

/* ---- what is known of it ---- */

const struct sandbox_view *sandbox_cell_view(const struct sandbox_cell *c)
{
	return c->view;
}

const char *sandbox_cell_cwd(const struct sandbox_cell *c)
{
	return c->cwd;
}

const char *sandbox_cell_home(const struct sandbox_cell *c)
{
	return c->home;
}

int sandbox_cell_base(const struct sandbox_cell *c)
{
	return c->base;
}

const char *sandbox_cell_seen(const struct sandbox_cell *c, size_t file)
{
	return c->file[file].seen;
}

const char *sandbox_cell_path(const struct sandbox_cell *c, size_t file)
{
	return c->view->flags & SANDBOX_MOVED ? c->file[file].seen : c->file[file].path;
}

char *sandbox_cell_dir(const struct sandbox_cell *c)
{
	if (c->view->flags & SANDBOX_MOVED)
		return xasprintf("%s/u0", c->home);
	char *dir = xstrdup(c->nfile ? c->file[0].home : "/");
	if (strrchr(dir, '/') != dir)
		*strrchr(dir, '/') = '\0';
	return dir;
}

void sandbox_cell_env(const struct sandbox_cell *c, struct sandbox_strings *out)
{
	if (c->view->ops->env)
		c->view->ops->env(c, out);
}

char *sandbox_cell_refused(const struct sandbox_cell *c)
{
	return c->view->ops->refused ? c->view->ops->refused(c) : NULL;
}
