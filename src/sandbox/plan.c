/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan of a cell: which folders get an overlay, and what belongs into each. It is data only;
 * the views perform it.
 *
 * Folders are covered from the outside inwards, so that one overlay serves all that is below it,
 * up to the next mount point. What is mounted below a covered folder would be hidden, and gets a
 * row that shows it again.
 */
#include "sandbox/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct wish {
	char *dir;
	bool optional;
	bool file; /* for a file that is directly in it */
};
struct planning {
	struct sandbox_cell *cell;
	struct sandbox_strings mounts;
	VEC(struct wish) wish;
};

/* The nearest folder above path that exists, as it is really called; *rest: the way down. */
char *sandbox_existing(const char *path, const char **rest)
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

char *sandbox_joined(const char *dir, const char *rel)
{
	return xasprintf("%s/%s", strcmp(dir, "/") ? dir : "", rel);
}

/* What is ours now, and was somebody else's, gives us no more rights than that did. */
static mode_t mode_like(const struct sandbox_cell *c, const char *path, mode_t mode)
{
	if (!c->view->ops->spaces && geteuid() != 0) /* no rights that others would lack */
		return mode | 0700;
	if (!sandbox_is_user(c))
		return mode;
	return (mode & ~0700u) | (access(path, R_OK) ? 0 : 0400) | (access(path, W_OK) ? 0 : 0200) |
	       (access(path, X_OK) ? 0 : 0100);
}

/* ---- rows ---- */

/* The root cannot be covered; device files and the kernel's own do not work in an overlay. */
static bool not_covered(const char *dir)
{
	return !strcmp(dir, "/") || sandbox_path_below(dir, "/proc") ||
	       sandbox_path_below(dir, "/sys") ||
	       (sandbox_path_below(dir, "/dev") && !sandbox_path_below(dir, "/dev/shm"));
}

/*
 * In a user namespace what is mounted below a folder cannot be left away, and an overlay over that
 * folder is refused; folders further inside can be covered. Where all have to be covered, it is
 * tried nevertheless.
 */
static bool is_hindered(const struct planning *p, const char *dir)
{
	bool any = false;
	for (size_t i = 0; i < p->mounts.n; i++) {
		const char *m = sandbox_path_below(p->mounts.p[i], dir);
		any = any || (m && *m);
	}
	return any && sandbox_is_user(p->cell) && !p->cell->replayed;
}

/* The row that a file, or else a folder, is in. One without an overlay has no folders. */
struct row *sandbox_plan_covering(struct planning *p, const char *path, bool file)
{
	for (size_t i = p->cell->row.n; i-- > 0;) {
		struct row *r = &p->cell->row.p[i];
		const char *rel = sandbox_path_below(path, r->path);
		if (r->kind != ROW_OVERLAY || !rel ||
		    sandbox_mount_between(&p->mounts, r->path, path))
			continue;
		if (!r->singly || (file ? !strchr(rel, '/') : !*rel))
			return r;
	}
	return NULL;
}

static void add_submounts(struct planning *p, size_t over, bool optional)
{
	struct sandbox_cell *c = p->cell;
	for (size_t i = 0; i < p->mounts.n; i++) {
		struct stat st;
		if (!sandbox_mount_outermost(&p->mounts, i, c->row.p[over].path) ||
		    stat(p->mounts.p[i], &st)) /* nobody gets there */
			continue;
		struct row r = { .kind = ROW_AGAIN,
				 .path = xstrdup(p->mounts.p[i]),
				 .over = over,
				 .optional = optional };
		VEC_PUSH(&c->row, r);
	}
}

static int cover(struct planning *p, const struct wish *w, struct err *err)
{
	struct sandbox_cell *c = p->cell;
	struct row *over = sandbox_plan_covering(p, w->dir, false);
	struct stat st;
	if (over) {
		over->optional = over->optional && w->optional;
		return 0;
	}
	bool singly = not_covered(w->dir) || is_hindered(p, w->dir);
	if (singly && (w->optional || !w->file))
		return 0;
	if (stat(w->dir, &st))
		return w->optional ? 0 : err_errno(err, EXIT_PROGRAM, "cannot open %s", w->dir);
	struct row r = { .kind = ROW_OVERLAY,
			 .path = xstrdup(w->dir),
			 .singly = singly,
			 .optional = w->optional };
	st.st_mode = mode_like(c, w->dir, st.st_mode);
	sandbox_row_add(&r, "", ENTRY_FOLDER, 0, &st);
	VEC_PUSH(&c->row, r);
	if (!singly)
		add_submounts(p, c->row.n - 1, !c->replayed);
	return 0;
}

/* ---- entries ---- */

void sandbox_plan_parents(const struct sandbox_cell *c, struct row *r, const char *rel)
{
	char *way = xstrdup(rel);
	for (char *slash = way; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		struct stat st;
		char *real = sandbox_joined(r->path, way);
		bool is = !stat(real, &st) && S_ISDIR(st.st_mode);
		if (is)
			st.st_mode = mode_like(c, real, st.st_mode);
		sandbox_row_add(r, way, ENTRY_FOLDER, 0, is ? &st : NULL);
		free(real);
		*slash = '/';
	}
	free(way);
}

static int add_image(struct planning *p, size_t i, struct err *err)
{
	const struct shown *f = &p->cell->file[i];
	struct row *r = sandbox_plan_covering(p, f->seen, true);
	struct stat st;
	if (!r && f->optional)
		return 0;
	if (!r)
		return err_set(err, EXIT_PROGRAM,
			       "%s cannot be shown there: its folder does not exist", f->path);
	const char *rel = sandbox_path_below(f->seen, r->path);
	sandbox_plan_parents(p->cell, r, rel);
	bool is = !lstat(f->seen, &st) && S_ISREG(st.st_mode);
	if (is)
		st.st_mode |= 0600;
	sandbox_row_add(r, rel, ENTRY_IMAGE, (unsigned)i, is ? &st : NULL);
	return 0;
}

/* What recording left at a file's own path is not part of the image. */
static void hide_leftover(struct planning *p, const char *path)
{
	const char *rest;
	char *dir = sandbox_existing(path, &rest);
	struct stat st;
	char *seen = dir ? sandbox_joined(dir, rest) : NULL;
	struct row *r = seen && !lstat(seen, &st) ? sandbox_plan_covering(p, seen, true) : NULL;
	if (r) {
		const char *rel = sandbox_path_below(seen, r->path);
		sandbox_plan_parents(p->cell, r, rel);
		sandbox_row_add(r, rel, ENTRY_GONE, 0, NULL);
	}
	free(seen);
	free(dir);
}

/*
 * The kernel copies a file or folder to the upper folder when it, or something below it, is
 * changed. In a user namespace it cannot do so if the owner or group is not in it, so what is
 * likely to be changed is there from the beginning.
 */
static void bring(struct planning *p, const char *path, enum entry_kind kind)
{
	struct row *r = sandbox_plan_covering(p, path, kind != ENTRY_FOLDER);
	const char *rel = r ? sandbox_path_below(path, r->path) : NULL;
	struct stat st;
	if (!rel || !*rel || r->singly || stat(path, &st))
		return;
	sandbox_plan_parents(p->cell, r, rel);
	st.st_mode = mode_like(p->cell, path, st.st_mode);
	sandbox_row_add(r, rel, kind, 0, &st);
}

/* ---- files that are mounted over their paths ---- */

/* A file that is not there yet; its folder is. */
static int add_empty(struct planning *p, const struct shown *f, struct err *err)
{
	struct row *r = sandbox_plan_covering(p, f->seen, true);
	struct stat st, like = { .st_uid = geteuid(), .st_gid = getegid(), .st_mode = 0644 };
	char *dir = xasprintf("%.*s", (int)(strrchr(f->seen, '/') - f->seen), f->seen);
	int bad = !r || stat(dir, &st);
	free(dir);
	if (bad)
		return err_errno(err, EXIT_PROGRAM, "cannot make %s", f->path);
	const char *rel = sandbox_path_below(f->seen, r->path);
	sandbox_plan_parents(p->cell, r, rel);
	sandbox_row_add(r, rel, ENTRY_COPY, 0, &like); /* of nothing */
	return 0;
}

static int add_mounted_image(struct planning *p, size_t i, struct err *err)
{
	const struct shown *f = &p->cell->file[i];
	if (access(f->seen, F_OK) && add_empty(p, f, err))
		return -1;
	struct row own = { .kind = ROW_IMAGE, .path = xstrdup(f->seen), .image = (unsigned)i };
	VEC_PUSH(&p->cell->row, own);
	return 0;
}

/* ---- all of it ---- */

static void wish_for(struct planning *p, char *dir, bool optional, bool file)
{
	VEC_PUSH(&p->wish, ((struct wish){ dir, optional, file }));
}

static int wish_for_file(struct planning *p, struct shown *f, struct err *err)
{
	const char *rest, *path = f->path ? f->path : f->home;
	bool replayed = p->cell->replayed;
	char *dir = sandbox_existing(path, &rest);
	if (!dir)
		return err_set(err, EXIT_PROGRAM, "%s: not an absolute path", path);
	if (f->path && replayed)
		f->seen = realpath(path, NULL); /* what is mounted on a link is mounted behind it */
	if (f->path && !f->seen)
		f->seen = sandbox_joined(dir, rest);
	wish_for(p, dir, !f->path || f->optional, !replayed);
	if (f->path && strcmp(f->path, f->home) != 0 && (dir = sandbox_existing(f->home, &rest)))
		wish_for(p, dir, true, false);
	return 0;
}

static int by_length(const void *a, const void *b)
{
	const struct wish *x = a, *y = b;
	size_t m = strlen(x->dir), n = strlen(y->dir);
	return m != n ? (m > n) - (m < n) : x->optional - y->optional;
}

static int plan_rows(struct planning *p, struct err *err)
{
	struct sandbox_cell *c = p->cell;
	for (size_t i = 0; i < c->nfile; i++)
		if (wish_for_file(p, &c->file[i], err))
			return -1;
	for (size_t i = 0; i < c->folder.n; i++)
		wish_for(p, xstrdup(c->folder.p[i].dir), c->folder.p[i].optional, false);
	for (size_t i = 0; i < c->also.n; i++) {
		const char *rest;
		char *dir = sandbox_existing(c->also.p[i].path, &rest);
		if (dir)
			wish_for(p, dir, true, false);
	}
	if (p->wish.n)
		qsort(p->wish.p, p->wish.n, sizeof *p->wish.p, by_length);
	for (size_t i = 0; i < p->wish.n; i++)
		if (cover(p, &p->wish.p[i], err))
			return -1;
	return 0;
}

static int plan_entries(struct planning *p, struct err *err)
{
	struct sandbox_cell *c = p->cell;
	for (size_t i = 0; sandbox_is_user(c) && i < p->wish.n; i++)
		bring(p, p->wish.p[i].dir, ENTRY_FOLDER);
	for (size_t i = 0; sandbox_is_user(c) && i < c->foreign.n; i++)
		bring(p, c->foreign.p[i], ENTRY_COPY);
	for (size_t i = 0; i < c->nfile; i++)
		if (c->file[i].seen &&
		    (c->replayed ? add_mounted_image(p, i, err) : add_image(p, i, err)))
			return -1;
	sandbox_plan_also(p, c);
	for (size_t i = 0; !c->replayed && i < c->nfile; i++)
		if (!c->file[i].optional)
			hide_leftover(p, c->file[i].home);
	return 0;
}

int sandbox_plan(struct sandbox_cell *c, struct err *err)
{
	struct planning p = { .cell = c };
	if (c->view->ops->spaces) /* else nothing is hidden by a mount */
		sandbox_mounts_read(&p.mounts);
	int bad = plan_rows(&p, err) || plan_entries(&p, err);
	sandbox_strings_free(&p.mounts);
	for (size_t i = 0; i < p.wish.n; i++)
		free(p.wish.p[i].dir);
	VEC_FREE(&p.wish);
	return bad ? -1 : 0;
}
