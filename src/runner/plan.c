/* SPDX-License-Identifier: BSD-3-Clause */
/* Which folders need a layer, and what belongs into each. */
#include "runner/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct mount_points strings;

static void free_strings(strings *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->p[i]);
	VEC_FREE(s);
}

/* The nearest folder above path that exists, as it is really called; *rest: the way down. */
static char *existing(const char *path, const char **rest)
{
	char *dir = xstrdup(path);
	for (;;) {
		char *slash = strrchr(dir, '/');
		if (!slash)
			break;
		*rest = path + (slash - dir) + 1;
		slash[slash == dir] = '\0';
		struct stat st;
		char *real = realpath(dir, NULL);
		if (real && !stat(real, &st) && S_ISDIR(st.st_mode)) {
			free(dir);
			return real;
		}
		free(real);
		if (!strcmp(dir, "/"))
			break;
	}
	free(dir);
	return NULL;
}

/* A mount point between dir and what is below it: an overlay over dir does not reach it. */
static bool mount_between(const strings *mounts, const char *dir, const char *path)
{
	for (size_t i = 0; i < mounts->n; i++) {
		const char *m = path_below(mounts->p[i], dir);
		if (m && *m && path_below(path, mounts->p[i]))
			return true;
	}
	return false;
}

/* The layer that a file, or else a folder, is in. One without an overlay has no folders. */
static struct layer *covering(struct view *v, const strings *mounts, const char *path, bool file)
{
	for (size_t i = v->layer.n; i-- > 0;) {
		struct layer *l = &v->layer.p[i];
		const char *rel = path_below(path, l->dir);
		if (!rel || mount_between(mounts, l->dir, path))
			continue;
		if (!l->bind || (file ? !strchr(rel, '/') : !*rel))
			return l;
	}
	return NULL;
}

/* The outermost mounts below the layer's folder. */
static void find_submounts(struct layer *l, const strings *mounts)
{
	for (size_t i = 0; i < mounts->n; i++) {
		const char *m = path_below(mounts->p[i], l->dir);
		bool known = !m || !*m;
		for (size_t j = 0; !known && j < mounts->n; j++) {
			const char *other = path_below(mounts->p[j], l->dir);
			known = other && *other && path_below(mounts->p[i], mounts->p[j]) &&
				(j < i || strcmp(mounts->p[i], mounts->p[j]) != 0);
		}
		int fd = known ? -1 : open(mounts->p[i], O_PATH | O_CLOEXEC);
		if (fd >= 0)
			VEC_PUSH(&l->sub, ((struct submount){ xstrdup(mounts->p[i]), fd }));
	}
}

struct wish {
	char *dir;
	bool optional;
};
typedef VEC(struct wish) wishes;

static int by_length(const void *a, const void *b)
{
	const struct wish *x = a, *y = b;
	size_t m = strlen(x->dir), n = strlen(y->dir);
	return m != n ? (m > n) - (m < n) : x->optional - y->optional;
}

static int add_layer(struct view *v, const struct wish *w, const strings *mounts, struct err *err)
{
	struct layer *over = covering(v, mounts, w->dir, false);
	if (over) {
		over->optional = over->optional && w->optional;
		return 0;
	}
	/* An overlay cannot cover the root, and device files do not work in one. */
	bool bind = !strcmp(w->dir, "/") || !strcmp(w->dir, "/dev");
	if (bind && w->optional)
		return 0;
	struct layer l = { .dir = xstrdup(w->dir),
			   .id = (unsigned)v->layer.n,
			   .bind = bind,
			   .optional = w->optional };
	struct stat st;
	l.lower = open(l.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (l.lower < 0 || fstat(l.lower, &st)) {
		runner_layer_free(&l);
		return w->optional ? 0 : err_errno(err, EXIT_PROGRAM, "cannot open %s", w->dir);
	}
	runner_layer_add(&l, "", ENTRY_FOLDER, 0, &st);
	find_submounts(&l, mounts);
	VEC_PUSH(&v->layer, l);
	return 0;
}

/* Folders on the way down that the overlay shows must be in it, like those they stand for. */
static void add_parents(struct layer *l, const char *rel)
{
	char *way = xstrdup(rel);
	for (char *slash = way; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		struct stat st;
		char *real = xasprintf("%s/%s", l->dir, way);
		bool is = !stat(real, &st) && S_ISDIR(st.st_mode);
		runner_layer_add(l, way, ENTRY_FOLDER, 0, is ? &st : NULL);
		free(real);
		*slash = '/';
	}
	free(way);
}

static int add_file(struct view *v, size_t i, const strings *mounts, struct err *err)
{
	struct shown *f = &v->file[i];
	struct layer *l = covering(v, mounts, f->seen, true);
	struct stat st;
	if (!l)
		return err_set(err, EXIT_PROGRAM,
			       "%s cannot be shown there: its folder does not exist", f->path);
	const char *rel = path_below(f->seen, l->dir);
	add_parents(l, rel);
	bool is = !lstat(f->seen, &st) && S_ISREG(st.st_mode);
	if (is)
		st.st_mode |= 0600;
	runner_layer_add(l, rel, ENTRY_IMAGE, (unsigned)i, is ? &st : NULL);
	return 0;
}

/* What recording left at a file's own path is not part of the image. */
static void hide_leftover(struct view *v, const char *path, const strings *mounts)
{
	const char *rest;
	char *dir = existing(path, &rest);
	struct stat st;
	char *seen = dir ? xasprintf("%s/%s", strcmp(dir, "/") ? dir : "", rest) : NULL;
	struct layer *l = seen && !lstat(seen, &st) ? covering(v, mounts, seen, true) : NULL;
	if (l) {
		add_parents(l, path_below(seen, l->dir));
		runner_layer_add(l, path_below(seen, l->dir), ENTRY_GONE, 0, NULL);
	}
	free(seen);
	free(dir);
}

static void wish_for(wishes *w, const char *dir, bool optional)
{
	char *real = dir ? realpath(dir, NULL) : NULL;
	if (real)
		VEC_PUSH(w, ((struct wish){ real, optional }));
}

static int resolve(struct view *v, wishes *w, struct err *err)
{
	for (size_t i = 0; i < v->nfile; i++) {
		struct shown *f = &v->file[i];
		const char *rest, *path = f->path ? f->path : f->home;
		char *dir = existing(path, &rest);
		if (!dir)
			return err_set(err, EXIT_PROGRAM, "%s: not an absolute path", path);
		if (f->path)
			f->seen = xasprintf("%s/%s", strcmp(dir, "/") ? dir : "", rest);
		VEC_PUSH(w, ((struct wish){ dir, !f->path }));
		if (f->path && strcmp(f->path, f->home) != 0 && (dir = existing(f->home, &rest)))
			VEC_PUSH(w, ((struct wish){ dir, true }));
	}
	wish_for(w, v->cwd, true);
	wish_for(w, "/tmp", true);
	wish_for(w, "/dev/shm", true);
	return 0;
}

static int plan_layers(struct view *v, const wishes *w, const strings *mounts, struct err *err)
{
	for (size_t i = 0; i < w->n; i++)
		if (add_layer(v, &w->p[i], mounts, err))
			return -1;
	for (size_t i = 0; i < v->nfile; i++)
		if (v->file[i].seen && add_file(v, i, mounts, err))
			return -1;
	for (size_t i = 0; i < v->nfile; i++)
		hide_leftover(v, v->file[i].home, mounts);
	return 0;
}

/* Without mounts: the files of the first one's folder together, others in folders by number. */
static void plan_folder(struct view *v)
{
	struct layer l = { .dir = xasprintf("%s/u0", v->home), .lower = -1 };
	runner_layer_add(&l, "", ENTRY_FOLDER, 0, NULL);
	const char *first = v->nfile ? v->file[0].home : "/";
	for (size_t i = 0; i < v->nfile; i++) {
		struct shown *f = &v->file[i];
		if (!f->path)
			continue;
		const char *name = strrchr(f->path, '/') + 1, *slash = strrchr(first, '/');
		size_t n = (size_t)(slash - first) + 1;
		bool beside = n == (size_t)(name - f->path) && !strncmp(first, f->path, n);
		char *rel = beside ? xstrdup(name) : xasprintf("%zu/%s", i, name);
		f->seen = xasprintf("%s/%s", l.dir, rel);
		add_parents(&l, rel);
		runner_layer_add(&l, rel, ENTRY_IMAGE, (unsigned)i, NULL);
		free(rel);
	}
	VEC_PUSH(&v->layer, l);
}

int runner_plan_view(struct view *v, struct err *err)
{
	int bad = 0;
	if (v->kind == RUNNER_VIEW_SUBST) {
		plan_folder(v);
	} else {
		wishes w = { 0 };
		strings mounts = { 0 };
		mount_points_read(&mounts);
		bad = resolve(v, &w, err);
		if (w.n)
			qsort(w.p, w.n, sizeof *w.p, by_length);
		bad = bad || plan_layers(v, &w, &mounts, err);
		free_strings(&mounts);
		for (size_t i = 0; i < w.n; i++)
			free(w.p[i].dir);
		VEC_FREE(&w);
	}
	v->planned = !bad;
	return bad;
}
