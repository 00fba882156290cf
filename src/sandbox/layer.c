/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The upper folder of a row: what differs from the folder as it is.
 *
 *    the program sees    /home/u/pm/        pool   notes   new
 *    upper  (private)    u0/                pool           new     ours and the program's
 *    lower  (as it is)   /home/u/pm/        pool   notes           never written
 *
 * It should hold the entries that were filled in and nothing else. The overlay must not be mounted
 * when it is filled, or the kernel would remember what was there.
 */
#include "sandbox/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int sandbox_remove_tree(int dirfd, const char *name)
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
			sandbox_remove_tree(fd, e->d_name);
	closedir(dir);
	return unlinkat(dirfd, name, AT_REMOVEDIR);
}

static const struct entry *find(const struct row *r, const char *rel, size_t n)
{
	uint64_t at;
	if (!hmap_get(&r->at, hash_bytes(rel, n), &at))
		return NULL;
	const struct entry *e = &r->entry.p[at];
	return !strncmp(e->rel, rel, n) && !e->rel[n] ? e : NULL;
}

/* Something above it is there, and is no folder. */
static bool is_in_no_folder(const struct row *r, const char *rel)
{
	for (const char *slash = rel; (slash = strchr(slash, '/')); slash++) {
		const struct entry *e = find(r, rel, (size_t)(slash - rel));
		if (e && e->kind != ENTRY_FOLDER)
			return true;
	}
	return false;
}

void sandbox_row_add(struct row *r, const char *rel, enum entry_kind kind, unsigned image,
		     const struct stat *like)
{
	if (find(r, rel, strlen(rel)) || is_in_no_folder(r, rel))
		return;
	struct entry e = { .rel = xstrdup(rel), .kind = kind, .image = image };
	if (like) {
		e.like = xmalloc(sizeof *like);
		*e.like = *like;
	}
	hmap_put(&r->at, hash_bytes(rel, strlen(rel)), r->entry.n);
	VEC_PUSH(&r->entry, e);
}

/* Owners that do not exist in a user namespace cannot be kept. */
static void take_after(int dirfd, const char *name, const struct stat *like)
{
	int ignored = fchownat(dirfd, name, like->st_uid, like->st_gid, AT_SYMLINK_NOFOLLOW);
	(void)ignored;
	fchmodat(dirfd, name, like->st_mode & 07777, 0);
}

int sandbox_copy_file(const char *from, int to)
{
	struct stat st;
	int fd = open(from, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	int bad = fstat(fd, &st) || copy_sparse(fd, to);
	fchmod(to, st.st_mode & 07777);
	close(fd);
	return bad ? -1 : 0;
}

static int make_copy(const struct row *r, const char *rel, int upper)
{
	char *from = xasprintf("%s/%s", r->path, rel);
	int to = openat(upper, rel, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int bad = to < 0 || sandbox_copy_file(from, to);
	if (to >= 0)
		close(to);
	free(from);
	return bad ? -1 : 0;
}

static int make_entry(const struct sandbox_cell *c, const struct row *r, const struct entry *e,
		      int upper)
{
	char image[32];
	switch (e->kind) {
	case ENTRY_FOLDER: return *e->rel ? mkdirat(upper, e->rel, 0755) : 0;
	case ENTRY_GONE:
		return c->view->ops->sign ? c->view->ops->sign(upper, e->rel)
					  : mknodat(upper, e->rel, S_IFCHR, 0);
	case ENTRY_COPY: return make_copy(r, e->rel, upper);
	case ENTRY_LINK: return symlinkat(e->target, upper, e->rel);
	case ENTRY_IMAGE:
		snprintf(image, sizeof image, "img/%u", e->image);
		fchmodat(c->base, image, c->mode, 0);
		return linkat(c->base, image, upper, e->rel, 0);
	}
	return -1;
}

static int fill(const struct sandbox_cell *c, struct row *r, int upper, struct err *err)
{
	for (size_t i = 0; i < r->entry.n; i++) {
		struct entry *e = &r->entry.p[i];
		const char *name = *e->rel ? e->rel : ".";
		struct stat st;
		if (make_entry(c, r, e, upper))
			return err_errno(err, EXIT_PROGRAM, "cannot put %s/%s there", r->path,
					 name);
		if (e->like)
			take_after(upper, name, e->like);
		if (fstatat(upper, name, &st, AT_SYMLINK_NOFOLLOW))
			return err_errno(err, EXIT_INTERNAL, "cannot look at %s", name);
		e->ino = st.st_ino;
		e->mode = st.st_mode;
	}
	return 0;
}

static void folder_names(size_t row, char upper[24], char work[24])
{
	snprintf(upper, 24, "u%zu", row);
	snprintf(work, 24, "w%zu", row);
}

void sandbox_row_wipe(const struct sandbox_cell *c, size_t row)
{
	char upper[24], work[24];
	folder_names(row, upper, work);
	sandbox_remove_tree(c->base, upper);
	sandbox_remove_tree(c->base, work);
}

int sandbox_row_fill(struct sandbox_cell *c, size_t row, struct err *err)
{
	char upper[24], work[24];
	struct row *r = &c->row.p[row];
	folder_names(row, upper, work);
	sandbox_row_wipe(c, row);
	int fd = -1;
	if (!mkdirat(c->base, upper, 0755) && !mkdirat(c->base, work, 0755))
		fd = openat(c->base, upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(err, EXIT_PROGRAM, "cannot make a private folder");
	int bad = fill(c, r, fd, err);
	close(fd);
	r->filled = !bad;
	return bad;
}

static bool as_filled(const struct row *, int fd, char *rel, size_t len, size_t *count);

/* One entry of the folder fd; rel + len is where its name goes. */
static bool entry_as_filled(const struct row *r, int fd, const char *name, char *rel, size_t len,
			    size_t *count)
{
	struct stat st;
	int n = snprintf(rel + len, PATH_MAX - len, "%s%s", len ? "/" : "", name);
	if ((size_t)n >= PATH_MAX - len)
		return false;
	const struct entry *e = find(r, rel, strlen(rel));
	if (!e || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) || st.st_ino != e->ino ||
	    st.st_mode != e->mode)
		return false;
	++*count;
	if (e->kind != ENTRY_FOLDER)
		return true;
	int sub = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return sub >= 0 && as_filled(r, sub, rel, len + (size_t)n, count);
}

/* Counts the entries that are as they should be; false: one is not. Closes fd. */
static bool as_filled(const struct row *r, int fd, char *rel, size_t len, size_t *count)
{
	DIR *dir = fdopendir(fd);
	bool same = true;
	if (!dir) {
		close(fd);
		return false;
	}
	for (struct dirent *d; same && (d = readdir(dir));)
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			same = entry_as_filled(r, fd, d->d_name, rel, len, count);
	closedir(dir);
	return same;
}

/* Is an image no longer where the command found it? */
static bool image_moved(const struct row *r, int upper)
{
	for (size_t i = 0; i < r->entry.n; i++) {
		const struct entry *e = &r->entry.p[i];
		struct stat st;
		if (e->kind == ENTRY_IMAGE &&
		    (fstatat(upper, e->rel, &st, AT_SYMLINK_NOFOLLOW) || st.st_ino != e->ino))
			return true;
	}
	return false;
}

bool sandbox_row_changed(const struct sandbox_cell *c, size_t row, bool *replaced)
{
	char upper[24], work[24], rel[PATH_MAX] = "";
	const struct row *r = &c->row.p[row];
	struct stat st;
	size_t count = 0;
	folder_names(row, upper, work);
	int fd = openat(c->base, upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return true;
	const struct entry *root = find(r, "", 0);
	if (root && !fstat(fd, &st) && st.st_mode == root->mode)
		count++;
	int again = dup(fd);
	bool same = again >= 0 && as_filled(r, again, rel, 0, &count) && count == r->entry.n;
	if (!same && image_moved(r, fd))
		*replaced = true;
	close(fd);
	return !same;
}

void sandbox_row_free(struct row *r)
{
	for (size_t i = 0; i < r->entry.n; i++) {
		free(r->entry.p[i].rel);
		free(r->entry.p[i].like);
		free(r->entry.p[i].target);
	}
	VEC_FREE(&r->entry);
	hmap_free(&r->at);
	free(r->path);
}
