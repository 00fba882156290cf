/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel is to get instead of a path that the program gave. */
#include "preload/internal.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int fail(int code)
{
	errno = code;
	return -1;
}

/* "=" folders show some files of ours, and are as they are otherwise. */
static bool is_ours(const struct place *p)
{
	return !p->folder->only || (p->layers & ((1u << preload_state.base.n) - 1)) || p->gone;
}

/* May the program write to the real file? */
static int may_write(const struct place *p)
{
	char path[VIEW_PATH];
	unsigned real = preload_state.base.n;
	if (preload_layer(p) != real || preload_in_layer(p, real, path))
		return 0;
	long r = preload_sys(SYS_faccessat2, AT_FDCWD, path, W_OK, AT_EACCESS);
	return r == -EACCES ? fail(EACCES) : 0;
}

/* What is not there, and is to be made. */
static int prepare_new(struct way *w)
{
	struct place *p = &w->place;
	if (preload_may_change(p) || preload_make_way(p))
		return -1;
	if (p->gone && preload_unhide(p))
		return -1;
	w->unhidden = p->gone;
	return 0;
}

static int prepare(struct way *w, unsigned how)
{
	struct place *p = &w->place;
	if (p->slash && (how & (SEE_FILE | SEE_NAME)) == SEE_FILE)
		return fail(EISDIR);
	if (!p->layers) {
		if ((how & SEE_CREATE) && !(p->slash && (how & SEE_FILE)))
			return prepare_new(w);
		return fail(ENOENT);
	}
	if ((how & SEE_CREATE) && (how & SEE_NEW))
		return fail(EEXIST);
	if (p->slash && !preload_is_folder(p))
		return fail(ENOTDIR);
	if (!(how & SEE_CHANGE))
		return 0;
	if (may_write(p))
		return -1;
	return preload_bring(p, !(how & SEE_EMPTY)) < 0 ? -1 : 0;
}

int preload_see(struct way *w, int dirfd, const char *path, unsigned how)
{
	int saved = errno;
	w->dirfd = dirfd;
	w->path = path;
	w->ours = w->unhidden = false;
	if (!path || !preload_on())
		return 0;
	int follow = how & SEE_NAME ? FOLLOW_NEVER : how & SEE_LINK ? FOLLOW_NOT : FOLLOW;
	int found = preload_resolve(&w->place, dirfd, path, follow);
	unsigned layers = preload_layers();
	if (found > 0 &&
	    how & SEE_ANY) /* the caller will look at it: now, if that brings a layer */
		preload_is_folder(&w->place);
	if (layers != preload_layers())
		found = preload_resolve(&w->place, dirfd, path, follow);
	if (found < 0)
		return -1;
	w->ours = found && is_ours(&w->place);
	if (w->ours && !(how & SEE_ANY) && prepare(w, how))
		return -1;
	errno = saved;
	if (!w->ours && !w->place.moved)
		return 0;
	unsigned layer = w->ours ? preload_layer(&w->place) : preload_state.base.n;
	if (preload_in_layer(&w->place, layer, w->buf))
		return -1;
	if (w->place.slash && w->place.n)
		strcat(w->buf, "/");
	w->dirfd = AT_FDCWD;
	w->path = w->buf;
	return 0;
}

long preload_seen(struct way *w, long result)
{
	if (result < 0 && w->unhidden) {
		preload_hide(&w->place);
		w->unhidden = false;
	}
	return preload_result(result);
}

/* Opens the copy under the number of the original. */
static int exchange(int fd, const char *path)
{
	long flags = preload_sys(SYS_fcntl, fd, F_GETFL),
	     close = preload_sys(SYS_fcntl, fd, F_GETFD);
	long at = preload_sys(SYS_lseek, fd, 0, SEEK_CUR);
	long own =
		preload_sys(SYS_openat, AT_FDCWD, path, (int)flags & ~(O_CREAT | O_EXCL | O_TRUNC));
	if (own < 0)
		return fail((int)-own);
	if (at > 0)
		preload_sys(SYS_lseek, own, at, SEEK_SET);
	preload_sys(SYS_dup3, own, fd, close & FD_CLOEXEC ? O_CLOEXEC : 0);
	preload_sys(SYS_close, own);
	return 0;
}

int preload_own_fd(int fd)
{
	struct place p;
	struct stat st;
	char path[VIEW_PATH];
	int saved = errno;
	if (!preload_on() || preload_fd_path(fd, path) || preload_in_base(path) ||
	    !preload_folder_over(path)) {
		errno = saved;
		return 0;
	}
	/* It may have lost its name, or another file may have it now. */
	struct stat named;
	bool same = preload_sys(SYS_fstat, fd, &st) == 0 &&
		    preload_sys(SYS_newfstatat, AT_FDCWD, path, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_ino == named.st_ino && st.st_dev == named.st_dev;
	if (!same || preload_resolve(&p, AT_FDCWD, path, FOLLOW_NOT) <= 0 || !is_ours(&p) ||
	    !p.layers)
		return 0;
	int other = preload_bring(&p, true);
	if (other || preload_in_layer(&p, 0, path))
		return other < 0 ? -1 : 0;
	return exchange(fd, path);
}
