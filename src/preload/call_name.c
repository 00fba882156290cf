/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that make, move and remove names. */
#undef _FILE_OFFSET_BITS

#include "preload/internal.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

EXPORT int __xmknod(int version, const char *path, mode_t mode, dev_t *dev);
EXPORT int __xmknodat(int version, int dirfd, const char *path, mode_t mode, dev_t *dev);

static int fail(int code)
{
	errno = code;
	return -1;
}

/* ---- new names ---- */

EXPORT int mkdirat(int dirfd, const char *path, mode_t mode)
{
	struct way w;
	if (preload_see(&w, dirfd, path, SEE_NAME | SEE_CREATE | SEE_NEW))
		return -1;
	bool was_gone = w.unhidden;
	int r = (int)preload_seen(&w, preload_sys(SYS_mkdirat, w.dirfd, w.path, mode));
	return r || !was_gone ? r : preload_hide_lower(&w.place);
}

EXPORT int mkdir(const char *path, mode_t mode)
{
	return mkdirat(AT_FDCWD, path, mode);
}

EXPORT int mknodat(int dirfd, const char *path, mode_t mode, dev_t dev)
{
	struct way w;
	if (preload_see(&w, dirfd, path, SEE_NAME | SEE_CREATE | SEE_NEW | SEE_FILE))
		return -1;
	return (int)preload_seen(&w, preload_sys(SYS_mknodat, w.dirfd, w.path, mode, dev));
}

EXPORT int mknod(const char *path, mode_t mode, dev_t dev)
{
	return mknodat(AT_FDCWD, path, mode, dev);
}

EXPORT int __xmknod(int version, const char *path, mode_t mode, dev_t *dev)
{
	(void)version;
	return mknodat(AT_FDCWD, path, mode, *dev);
}

EXPORT int __xmknodat(int version, int dirfd, const char *path, mode_t mode, dev_t *dev)
{
	(void)version;
	return mknodat(dirfd, path, mode, *dev);
}

EXPORT int mkfifo(const char *path, mode_t mode)
{
	return mknodat(AT_FDCWD, path, mode | S_IFIFO, 0);
}

EXPORT int mkfifoat(int dirfd, const char *path, mode_t mode)
{
	return mknodat(dirfd, path, mode | S_IFIFO, 0);
}

EXPORT int symlinkat(const char *target, int dirfd, const char *path)
{
	struct way w;
	if (preload_see(&w, dirfd, path, SEE_NAME | SEE_CREATE | SEE_NEW | SEE_FILE))
		return -1;
	return (int)preload_seen(&w, preload_sys(SYS_symlinkat, target, w.dirfd, w.path));
}

EXPORT int symlink(const char *target, const char *path)
{
	return symlinkat(target, AT_FDCWD, path);
}

/* A name in a covered folder and one outside are never of the same file. */
EXPORT int linkat(int fromfd, const char *from, int tofd, const char *to, int flags)
{
	struct way old, new;
	unsigned how = SEE_CHANGE | (flags & AT_SYMLINK_FOLLOW ? 0 : SEE_LINK);
	if (preload_see(&old, fromfd, from, how) ||
	    preload_see(&new, tofd, to, SEE_NAME | SEE_CREATE | SEE_NEW | SEE_FILE))
		return -1;
	bool named = *from && strncmp(old.path, "/proc/", 6) != 0; /* not by a descriptor */
	if (named && old.ours != new.ours)
		return (int)preload_seen(&new, -EXDEV);
	return (int)preload_seen(
		&new, preload_sys(SYS_linkat, old.dirfd, old.path, new.dirfd, new.path, flags));
}

EXPORT int link(const char *from, const char *to)
{
	return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* ---- names that go ---- */

static int remove_file(struct place *p)
{
	char path[VIEW_PATH];
	if (!p->layers)
		return fail(ENOENT);
	if (preload_is_folder(p))
		return fail(EISDIR);
	if (p->slash)
		return fail(ENOTDIR);
	if (preload_may_change(p))
		return -1;
	if (preload_is_below(p))
		return preload_hide(p);
	if (preload_in_layer(p, 0, path))
		return -1;
	return (int)preload_result(preload_sys(SYS_unlinkat, AT_FDCWD, path, 0));
}

static int remove_folder(struct place *p)
{
	if (p->dots)
		return fail(p->dots == 2 ? ENOTEMPTY : EINVAL);
	if (!p->layers)
		return fail(ENOENT);
	if (!preload_is_folder(p))
		return fail(ENOTDIR);
	if (p->n == p->folder->n)
		return fail(EBUSY);
	if (preload_may_change(p))
		return -1;
	int empty = preload_is_empty(p);
	if (empty <= 0)
		return empty ? -1 : fail(ENOTEMPTY);
	bool below = preload_is_below(p);
	if ((p->layers & 1) && preload_remove_folder(p))
		return -1;
	return below ? preload_hide(p) : 0;
}

EXPORT int unlinkat(int dirfd, const char *path, int flags)
{
	struct way w;
	if (preload_see(&w, dirfd, path, SEE_NAME | SEE_ANY))
		return -1;
	if (!w.ours)
		return (int)preload_result(preload_sys(SYS_unlinkat, w.dirfd, w.path, flags));
	return flags & AT_REMOVEDIR ? remove_folder(&w.place) : remove_file(&w.place);
}

EXPORT int unlink(const char *path)
{
	return unlinkat(AT_FDCWD, path, 0);
}

EXPORT int rmdir(const char *path)
{
	return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

EXPORT int remove(const char *path)
{
	int saved = errno;
	if (!unlink(path))
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -1;
	errno = saved;
	return rmdir(path);
}

/* ---- names that change ---- */

static bool is_inside(const struct place *p, const struct place *folder)
{
	return p->n > folder->n && !memcmp(p->path, folder->path, folder->n) &&
	       p->path[folder->n] == '/';
}

/* Can the new name be taken by what has the old one? */
static int check_target(const struct place *new, bool folder)
{
	if (!new->layers)
		return 0;
	if (preload_is_folder(new) != folder)
		return fail(folder ? ENOTDIR : EISDIR);
	int empty = folder ? preload_is_empty(new) : 1;
	return empty > 0 ? 0 : empty ? -1 : fail(ENOTEMPTY);
}

/* A folder takes the place of nothing: not of an empty folder, nor of the sign. */
static int clear_target(const struct place *new)
{
	if (new->layers & 1)
		return preload_remove_folder(new);
	return new->gone ? preload_unhide(new) : 0;
}

static int exchange(struct place *old, struct place *new)
{
	char from[VIEW_PATH], to[VIEW_PATH];
	if (!new->layers)
		return fail(ENOENT);
	if ((preload_is_folder(old) && preload_is_below(old)) ||
	    (preload_is_folder(new) && preload_is_below(new)))
		return fail(EXDEV);
	if (preload_bring(old, true) || preload_bring(new, true) ||
	    preload_in_layer(old, 0, from) || preload_in_layer(new, 0, to))
		return -1;
	return (int)preload_result(
		preload_sys(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE));
}

/* Both are ours. A folder that is not all our own cannot be moved: programs then copy it. */
static int move(struct place *old, struct place *new)
{
	char from[VIEW_PATH], to[VIEW_PATH];
	bool folder = preload_is_folder(old);
	if (!folder && (old->slash || new->slash))
		return fail(ENOTDIR);
	if (!strcmp(old->path, new->path))
		return 0;
	if (is_inside(old, new))
		return fail(ENOTEMPTY);
	if (folder && is_inside(new, old))
		return fail(EINVAL);
	if (folder && preload_is_below(old))
		return fail(EXDEV);
	if (check_target(new, folder))
		return -1;
	bool left = preload_is_below(old), over = new->gone || preload_is_below(new);
	if (preload_bring(old, true) || preload_make_way(new) || (folder && clear_target(new)) ||
	    preload_in_layer(old, 0, from) || preload_in_layer(new, 0, to))
		return -1;
	long r = preload_sys(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
	if (r < 0)
		return (int)preload_result(r);
	if (folder && over && preload_hide_lower(new))
		return -1;
	/* Two names of one file are left as they are. */
	struct stat st;
	bool stays = preload_sys(SYS_newfstatat, AT_FDCWD, from, &st, AT_SYMLINK_NOFOLLOW) == 0;
	return left && !stays ? preload_hide(old) : 0;
}

EXPORT int renameat2(int fromfd, const char *from, int tofd, const char *to, unsigned flags)
{
	struct way old, new;
	unsigned layers;
	do { /* the second may be the input, and with it comes a layer */
		layers = preload_layers();
		if (preload_see(&old, fromfd, from, SEE_NAME | SEE_ANY) ||
		    preload_see(&new, tofd, to, SEE_NAME | SEE_ANY))
			return -1;
	} while (layers != preload_layers());
	if (!old.ours && !new.ours)
		return (int)preload_result(preload_sys(SYS_renameat2, old.dirfd, old.path,
						       new.dirfd, new.path, flags));
	if (old.place.dots || new.place.dots)
		return fail(EBUSY);
	if (old.ours && !old.place.layers)
		return fail(ENOENT);
	if (!old.ours || !new.ours)
		return fail(EXDEV);
	if ((flags & RENAME_NOREPLACE) && new.place.layers)
		return fail(EEXIST);
	if (preload_may_change(&old.place) || preload_may_change(&new.place))
		return -1;
	if (flags & RENAME_EXCHANGE)
		return exchange(&old.place, &new.place);
	return move(&old.place, &new.place);
}

EXPORT int renameat(int fromfd, const char *from, int tofd, const char *to)
{
	return renameat2(fromfd, from, tofd, to, 0);
}

EXPORT int rename(const char *from, const char *to)
{
	return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}
