/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that only look. */
#undef _FILE_OFFSET_BITS

#include "preload/internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* What programs call that were linked with an older libc, or with its run-time checks. */
EXPORT int __xstat(int version, const char *path, struct stat *st);
EXPORT int __lxstat(int version, const char *path, struct stat *st);
EXPORT int __fxstatat(int version, int dirfd, const char *path, struct stat *st, int flags);
EXPORT ssize_t __readlink_chk(const char *path, char *buf, size_t n, size_t room);
EXPORT ssize_t __readlinkat_chk(int dirfd, const char *path, char *buf, size_t n, size_t room);
EXPORT char *__realpath_chk(const char *path, char *out, size_t room);
EXPORT char *__getcwd_chk(char *buf, size_t n, size_t room);

static unsigned last(int flags)
{
	return flags & AT_SYMLINK_NOFOLLOW ? SEE_LINK : 0;
}

EXPORT int fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	struct way w;
	if (preload_see(&w, dirfd, path, last(flags)))
		return -1;
	return (int)preload_result(preload_sys(SYS_newfstatat, w.dirfd, w.path, st, flags));
}
ALSO(fstatat64, fstatat);

EXPORT int stat(const char *path, struct stat *st)
{
	return fstatat(AT_FDCWD, path, st, 0);
}
ALSO(stat64, stat);

EXPORT int lstat(const char *path, struct stat *st)
{
	return fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}
ALSO(lstat64, lstat);

EXPORT int __xstat(int version, const char *path, struct stat *st)
{
	(void)version;
	return fstatat(AT_FDCWD, path, st, 0);
}
ALSO(__xstat64, __xstat);

EXPORT int __lxstat(int version, const char *path, struct stat *st)
{
	(void)version;
	return fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}
ALSO(__lxstat64, __lxstat);

EXPORT int __fxstatat(int version, int dirfd, const char *path, struct stat *st, int flags)
{
	(void)version;
	return fstatat(dirfd, path, st, flags);
}
ALSO(__fxstatat64, __fxstatat);

EXPORT int statx(int dirfd, const char *path, int flags, unsigned mask, struct statx *st)
{
	struct way w;
	if (preload_see(&w, dirfd, path, last(flags)))
		return -1;
	return (int)preload_result(preload_sys(SYS_statx, w.dirfd, w.path, flags, mask, st));
}

EXPORT int faccessat(int dirfd, const char *path, int mode, int flags)
{
	struct way w;
	if (preload_see(&w, dirfd, path, last(flags)))
		return -1;
	long r = flags ? preload_sys(SYS_faccessat2, w.dirfd, w.path, mode, flags)
		       : preload_sys(SYS_faccessat, w.dirfd, w.path, mode);
	return (int)preload_result(r);
}

EXPORT int access(const char *path, int mode)
{
	return faccessat(AT_FDCWD, path, mode, 0);
}

EXPORT int euidaccess(const char *path, int mode)
{
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS);
}
ALSO(eaccess, euidaccess);

EXPORT int statfs(const char *path, struct statfs *st)
{
	struct way w;
	if (preload_see(&w, AT_FDCWD, path, 0))
		return -1;
	return (int)preload_result(preload_sys(SYS_statfs, w.path, st));
}
ALSO(statfs64, statfs);

EXPORT int statvfs(const char *path, struct statvfs *st)
{
	struct way w;
	return preload_see(&w, AT_FDCWD, path, 0) ? -1 : NEXT(statvfs)(w.path, st);
}
ALSO(statvfs64, statvfs);

EXPORT long pathconf(const char *path, int name)
{
	struct way w;
	return preload_see(&w, AT_FDCWD, path, 0) ? -1 : NEXT(pathconf)(w.path, name);
}

EXPORT int inotify_add_watch(int fd, const char *path, uint32_t mask)
{
	struct way w;
	if (preload_see(&w, AT_FDCWD, path, mask & IN_DONT_FOLLOW ? SEE_LINK : 0))
		return -1;
	return (int)preload_result(preload_sys(SYS_inotify_add_watch, fd, w.path, mask));
}

EXPORT ssize_t getxattr(const char *path, const char *name, void *value, size_t n)
{
	struct way w;
	if (preload_see(&w, AT_FDCWD, path, 0))
		return -1;
	return preload_result(preload_sys(SYS_getxattr, w.path, name, value, n));
}

EXPORT ssize_t lgetxattr(const char *path, const char *name, void *value, size_t n)
{
	struct way w;
	if (preload_see(&w, AT_FDCWD, path, SEE_LINK))
		return -1;
	return preload_result(preload_sys(SYS_lgetxattr, w.path, name, value, n));
}

EXPORT ssize_t listxattr(const char *path, char *list, size_t n)
{
	struct way w;
	if (preload_see(&w, AT_FDCWD, path, 0))
		return -1;
	return preload_result(preload_sys(SYS_listxattr, w.path, list, n));
}

EXPORT ssize_t llistxattr(const char *path, char *list, size_t n)
{
	struct way w;
	if (preload_see(&w, AT_FDCWD, path, SEE_LINK))
		return -1;
	return preload_result(preload_sys(SYS_llistxattr, w.path, list, n));
}

/* ---- names ---- */

/* What /proc says of our own layer's files is what the program knows them by. */
EXPORT ssize_t readlinkat(int dirfd, const char *path, char *buf, size_t n)
{
	struct way w;
	char link[VIEW_PATH], outside[VIEW_PATH];
	if (preload_see(&w, dirfd, path, SEE_LINK))
		return -1;
	long got = preload_sys(SYS_readlinkat, w.dirfd, w.path, link, sizeof link - 1);
	if (!preload_on() || got < 0 || got == sizeof link - 1)
		return preload_result(preload_sys(SYS_readlinkat, w.dirfd, w.path, buf, n));
	link[got] = '\0';
	const char *text = preload_outside(link, outside) ? outside : link;
	size_t len = strlen(text);
	memcpy(buf, text, len < n ? len : n);
	return (ssize_t)(len < n ? len : n);
}

EXPORT ssize_t readlink(const char *path, char *buf, size_t n)
{
	return readlinkat(AT_FDCWD, path, buf, n);
}

EXPORT ssize_t __readlink_chk(const char *path, char *buf, size_t n, size_t room)
{
	return readlinkat(AT_FDCWD, path, buf, n < room ? n : room);
}

EXPORT ssize_t __readlinkat_chk(int dirfd, const char *path, char *buf, size_t n, size_t room)
{
	return readlinkat(dirfd, path, buf, n < room ? n : room);
}

static char *give(const char *text, char *out)
{
	size_t n = strlen(text) + 1;
	if (!out)
		out = malloc(n < PATH_MAX ? PATH_MAX : n);
	return out ? memcpy(out, text, n) : NULL;
}

EXPORT char *realpath(const char *path, char *out)
{
	struct place p;
	struct stat st;
	if (!preload_on() || !path)
		return NEXT(realpath)(path, out);
	int found = preload_resolve(&p, AT_FDCWD, path, FOLLOW);
	if (found < 0)
		return NULL;
	if (!found && !p.moved)
		return NEXT(realpath)(path, out);
	const char *real = *p.path ? p.path : "/";
	if (stat(real, &st))
		return NULL;
	if (p.slash && !S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		return NULL;
	}
	return give(real, out);
}

EXPORT char *__realpath_chk(const char *path, char *out, size_t room)
{
	(void)room;
	return realpath(path, out);
}

EXPORT char *canonicalize_file_name(const char *path)
{
	return realpath(path, NULL);
}

/* ---- the working directory ---- */

EXPORT int chdir(const char *path)
{
	struct way w;
	if (preload_see(&w, AT_FDCWD, path, 0))
		return -1;
	return (int)preload_result(preload_sys(SYS_chdir, w.path));
}

EXPORT char *getcwd(char *buf, size_t n)
{
	char path[PATH_MAX], outside[VIEW_PATH];
	long got = preload_sys(SYS_getcwd, path, sizeof path);
	if (preload_result(got) < 0)
		return NULL;
	if (*path != '/') {
		errno = ENOENT;
		return NULL;
	}
	const char *text = preload_on() && preload_outside(path, outside) ? outside : path;
	size_t need = strlen(text) + 1;
	if (buf ? n < need : n && n < need) {
		errno = buf && !n ? EINVAL : ERANGE;
		return NULL;
	}
	if (!buf)
		buf = malloc(n ? n : need);
	return buf ? memcpy(buf, text, need) : NULL;
}

EXPORT char *__getcwd_chk(char *buf, size_t n, size_t room)
{
	return getcwd(buf, n < room ? n : room);
}

EXPORT char *get_current_dir_name(void)
{
	const char *pwd = getenv("PWD");
	struct stat here, there;
	if (pwd && !stat(".", &here) && !stat(pwd, &there) && here.st_ino == there.st_ino &&
	    here.st_dev == there.st_dev)
		return strdup(pwd);
	return getcwd(NULL, 0);
}
