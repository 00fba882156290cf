/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A layer: one folder of the file system with an overlay on it.
 *
 *    the command sees    /home/u/pm/        pool   notes   new
 *    upper  (tmpfs)      u0/                pool           new     ours and the command's
 *    lower  (as it is)   /home/u/pm/        pool   notes           never written
 *
 * The upper folder should hold the entries that were filled in and nothing else. The overlay
 * must not be mounted when it is filled, or the kernel would remember what was there.
 */
#include "runner/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

int runner_remove_tree(int dirfd, const char *name)
{
	if (!unlinkat(dirfd, name, 0) || errno == ENOENT)
		return 0;
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == EACCES && !fchmodat(dirfd, name, 0700, 0))
		fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	fchmod(fd, 0700);
	for (struct dirent *e; (e = readdir(dir));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			runner_remove_tree(fd, e->d_name);
	closedir(dir);
	return unlinkat(dirfd, name, AT_REMOVEDIR);
}

void runner_layer_add(struct layer *l, const char *rel, enum entry_kind kind, unsigned image,
		      const struct stat *like)
{
	for (size_t i = 0; i < l->entry.n; i++)
		if (!strcmp(l->entry.p[i].rel, rel))
			return;
	struct entry e = { .rel = xstrdup(rel), .kind = kind, .image = image };
	if (like) {
		e.like = xmalloc(sizeof *like);
		*e.like = *like;
	}
	VEC_PUSH(&l->entry, e);
}

/* Owners that do not exist in a user namespace cannot be kept. */
static void take_after(int dirfd, const char *name, const struct stat *like)
{
	int ignored = fchownat(dirfd, name, like->st_uid, like->st_gid, AT_SYMLINK_NOFOLLOW);
	(void)ignored;
	fchmodat(dirfd, name, like->st_mode & 07777, 0);
}

static int make_entry(const struct entry *e, int upper, const struct view *v)
{
	char image[32];
	switch (e->kind) {
	case ENTRY_FOLDER: return *e->rel ? mkdirat(upper, e->rel, 0755) : 0;
	case ENTRY_GONE: return mknodat(upper, e->rel, S_IFCHR, 0);
	case ENTRY_IMAGE:
		snprintf(image, sizeof image, "img/%u", e->image);
		fchmodat(v->base, image, v->mode, 0);
		return linkat(v->base, image, upper, e->rel, 0);
	}
	return -1;
}

static int fill(struct layer *l, int upper, const struct view *v, struct err *err)
{
	for (size_t i = 0; i < l->entry.n; i++) {
		struct entry *e = &l->entry.p[i];
		const char *name = *e->rel ? e->rel : ".";
		struct stat st;
		if (make_entry(e, upper, v))
			return err_errno(err, EXIT_PROGRAM, "cannot put %s/%s there", l->dir, name);
		if (e->like)
			take_after(upper, name, e->like);
		if (fstatat(upper, name, &st, AT_SYMLINK_NOFOLLOW))
			return err_errno(err, EXIT_INTERNAL, "cannot look at %s", name);
		e->ino = st.st_ino;
		e->mode = st.st_mode;
	}
	return 0;
}

static void folder_names(const struct layer *l, char upper[16], char work[16])
{
	snprintf(upper, 16, "u%u", l->id);
	snprintf(work, 16, "w%u", l->id);
}

void runner_layer_wipe(const struct layer *l, const struct view *v)
{
	char upper[16], work[16];
	folder_names(l, upper, work);
	runner_remove_tree(v->base, upper);
	runner_remove_tree(v->base, work);
}

int runner_layer_fill(struct layer *l, const struct view *v, struct err *err)
{
	char upper[16], work[16];
	folder_names(l, upper, work);
	runner_layer_wipe(l, v);
	int fd = -1;
	if (!mkdirat(v->base, upper, 0755) && !mkdirat(v->base, work, 0755))
		fd = openat(v->base, upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(err, EXIT_PROGRAM, "cannot make a private folder");
	int bad = fill(l, fd, v, err);
	close(fd);
	l->filled = !bad;
	return bad;
}

static const struct entry *find(const struct layer *l, const char *rel)
{
	for (size_t i = 0; i < l->entry.n; i++)
		if (!strcmp(l->entry.p[i].rel, rel))
			return &l->entry.p[i];
	return NULL;
}

static bool as_filled(const struct layer *, int fd, char *rel, size_t len, size_t *count);

/* One entry of the folder fd; rel + len is where its name goes. */
static bool entry_as_filled(const struct layer *l, int fd, const char *name, char *rel, size_t len,
			    size_t *count)
{
	struct stat st;
	int n = snprintf(rel + len, PATH_MAX - len, "%s%s", len ? "/" : "", name);
	if ((size_t)n >= PATH_MAX - len)
		return false;
	const struct entry *e = find(l, rel);
	if (!e || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) || st.st_ino != e->ino ||
	    st.st_mode != e->mode)
		return false;
	++*count;
	if (e->kind != ENTRY_FOLDER)
		return true;
	int sub = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return sub >= 0 && as_filled(l, sub, rel, len + (size_t)n, count);
}

/* Counts the entries that are as they should be; false: one is not. Closes fd. */
static bool as_filled(const struct layer *l, int fd, char *rel, size_t len, size_t *count)
{
	DIR *dir = fdopendir(fd);
	bool same = true;
	if (!dir) {
		close(fd);
		return false;
	}
	for (struct dirent *d; same && (d = readdir(dir));)
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			same = entry_as_filled(l, fd, d->d_name, rel, len, count);
	closedir(dir);
	return same;
}

/* Is an image no longer where the command found it? */
static bool image_moved(const struct layer *l, int upper)
{
	for (size_t i = 0; i < l->entry.n; i++) {
		const struct entry *e = &l->entry.p[i];
		struct stat st;
		if (e->kind == ENTRY_IMAGE &&
		    (fstatat(upper, e->rel, &st, AT_SYMLINK_NOFOLLOW) || st.st_ino != e->ino))
			return true;
	}
	return false;
}

bool runner_layer_changed(const struct layer *l, const struct view *v, bool *replaced)
{
	char upper[16], rel[PATH_MAX] = "";
	struct stat st;
	size_t count = 0;
	snprintf(upper, sizeof upper, "u%u", l->id);
	int fd = openat(v->base, upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return true;
	const struct entry *root = find(l, "");
	if (root && !fstat(fd, &st) && st.st_mode == root->mode)
		count++;
	int again = dup(fd);
	bool same = again >= 0 && as_filled(l, again, rel, 0, &count) && count == l->entry.n;
	if (!same && image_moved(l, fd))
		*replaced = true;
	close(fd);
	return !same;
}

/* A mount below the folder is hidden by the overlay; it is still there, and can be seen again. */
static void show_submounts(const struct layer *l)
{
	char from[64];
	for (size_t i = 0; i < l->sub.n; i++) {
		snprintf(from, sizeof from, "/proc/self/fd/%d", l->sub.p[i].fd);
		mount(from, l->sub.p[i].path, NULL, MS_BIND | MS_REC, NULL);
	}
}

int runner_layer_mount(struct layer *l, const struct view *v, struct err *err)
{
	char options[256];
	/* The folder as it is, whatever is mounted over it; and no need to quote its name. */
	snprintf(options, sizeof options, "lowerdir=/proc/self/fd/%d,upperdir=u%u,workdir=w%u%s",
		 l->lower, l->id, l->id, v->kind == RUNNER_VIEW_USERNS ? ",userxattr" : "");
	if (fchdir(v->base))
		return err_errno(err, EXIT_INTERNAL, "cannot enter a private folder");
	if (mount("holdfast", l->dir, "overlay", 0, options))
		return err_errno(err, EXIT_PROGRAM, "cannot mount over %s", l->dir);
	l->mounted = true;
	show_submounts(l);
	return 0;
}

void runner_layer_unmount(struct layer *l)
{
	if (l->mounted)
		umount2(l->dir, MNT_DETACH);
	l->mounted = false;
}

void runner_layer_free(struct layer *l)
{
	for (size_t i = 0; i < l->entry.n; i++) {
		free(l->entry.p[i].rel);
		free(l->entry.p[i].like);
	}
	VEC_FREE(&l->entry);
	for (size_t i = 0; i < l->sub.n; i++) {
		close(l->sub.p[i].fd);
		free(l->sub.p[i].path);
	}
	VEC_FREE(&l->sub);
	if (l->lower >= 0)
		close(l->lower);
	free(l->dir);
}
