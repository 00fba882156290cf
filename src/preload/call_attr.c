/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that change a file without opening it, or that lock it. */
#undef _FILE_OFFSET_BITS

#include "preload/internal.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

static unsigned last(int flags)
{
	return SEE_CHANGE | (flags & AT_SYMLINK_NOFOLLOW ? SEE_LINK : 0);
}

EXPORT int truncate(const char *path, off_t size)
{
	struct way w;
	if (preload_see(&w, AT_FDCWD, path, size ? SEE_CHANGE : SEE_CHANGE | SEE_EMPTY))
		return -1;
	return (int)preload_result(preload_sys(SYS_truncate, w.path, size));
}
ALSO(truncate64, truncate);

EXPORT int fchmodat(int dirfd, const char *path, mode_t mode, int flags)
{
	struct way w;
	struct stat st;
	if (preload_see(&w, dirfd, path, last(flags)))
		return -1;
	if (flags & AT_SYMLINK_NOFOLLOW) {
		long r = preload_sys(SYS_newfstatat, w.dirfd, w.path, &st, AT_SYMLINK_NOFOLLOW);
		if (r == 0 && S_ISLNK(st.st_mode))
			r = -EOPNOTSUPP;
		if (r < 0)
			return (int)preload_result(r);
	}
	return (int)preload_result(preload_sys(SYS_fchmodat, w.dirfd, w.path, mode));
}

EXPORT int chmod(const char *path, mode_t mode)
{
	return fchmodat(AT_FDCWD, path, mode, 0);
}

EXPORT int lchmod(const char *path, mode_t mode)
{
	return fchmodat(AT_FDCWD, path, mode, AT_SYMLINK_NOFOLLOW);
}

EXPORT int fchownat(int dirfd, const char *path, uid_t uid, gid_t gid, int flags)
{
	struct way w;
	if ((flags & AT_EMPTY_PATH) && !*path && preload_own_fd(dirfd))
		return -1;
	if (preload_see(&w, dirfd, path, last(flags)))
		return -1;
	return (int)preload_result(preload_sys(SYS_fchownat, w.dirfd, w.path, uid, gid, flags));
}

EXPORT int chown(const char *path, uid_t uid, gid_t gid)
{
	return fchownat(AT_FDCWD, path, uid, gid, 0);
}

EXPORT int lchown(const char *path, uid_t uid, gid_t gid)
{
	return fchownat(AT_FDCWD, path, uid, gid, AT_SYMLINK_NOFOLLOW);
}

/* Without a path it is about the descriptor. */
static int change_times(int dirfd, const char *path, const struct timespec t[2], int flags)
{
	struct way w;
	if (!path && preload_own_fd(dirfd))
		return -1;
	if (preload_see(&w, dirfd, path, last(flags)))
		return -1;
	return (int)preload_result(preload_sys(SYS_utimensat, w.dirfd, w.path, t, flags));
}

EXPORT int utimensat(int dirfd, const char *path, const struct timespec t[2], int flags)
{
	return change_times(dirfd, path, t, flags);
}

static int set_times(int dirfd, const char *path, const struct timeval t[2], int flags)
{
	struct timespec s[2];
	for (int i = 0; t && i < 2; i++)
		s[i] = (struct timespec){ t[i].tv_sec, t[i].tv_usec * 1000 };
	return change_times(dirfd, path, t ? s : NULL, flags);
}

EXPORT int utimes(const char *path, const struct timeval t[2])
{
	return set_times(AT_FDCWD, path, t, 0);
}

EXPORT int lutimes(const char *path, const struct timeval t[2])
{
	return set_times(AT_FDCWD, path, t, AT_SYMLINK_NOFOLLOW);
}

EXPORT int futimesat(int dirfd, const char *path, const struct timeval t[2])
{
	return set_times(dirfd, path, t, 0);
}

EXPORT int utime(const char *path, const struct utimbuf *t)
{
	struct timeval v[2] = { { t ? t->actime : 0, 0 }, { t ? t->modtime : 0, 0 } };
	return set_times(AT_FDCWD, path, t ? v : NULL, 0);
}

EXPORT int setxattr(const char *path, const char *name, const void *value, size_t n, int flags)
{
	struct way w;
	if (preload_see(&w, AT_FDCWD, path, SEE_CHANGE))
		return -1;
	return (int)preload_result(preload_sys(SYS_setxattr, w.path, name, value, n, flags));
}

EXPORT int lsetxattr(const char *path, const char *name, const void *value, size_t n, int flags)
{
	struct way w;
	if (preload_see(&w, AT_FDCWD, path, SEE_CHANGE | SEE_LINK))
		return -1;
	return (int)preload_result(preload_sys(SYS_lsetxattr, w.path, name, value, n, flags));
}

EXPORT int removexattr(const char *path, const char *name)
{
	struct way w;
	if (preload_see(&w, AT_FDCWD, path, SEE_CHANGE))
		return -1;
	return (int)preload_result(preload_sys(SYS_removexattr, w.path, name));
}

EXPORT int lremovexattr(const char *path, const char *name)
{
	struct way w;
	if (preload_see(&w, AT_FDCWD, path, SEE_CHANGE | SEE_LINK))
		return -1;
	return (int)preload_result(preload_sys(SYS_lremovexattr, w.path, name));
}

/* ---- by descriptors, which may be of a real file that was opened for reading ---- */

EXPORT int fchmod(int fd, mode_t mode)
{
	return preload_own_fd(fd) ? -1 : (int)preload_result(preload_sys(SYS_fchmod, fd, mode));
}

EXPORT int fchown(int fd, uid_t uid, gid_t gid)
{
	return preload_own_fd(fd) ? -1 : (int)preload_result(preload_sys(SYS_fchown, fd, uid, gid));
}

EXPORT int futimens(int fd, const struct timespec t[2])
{
	return change_times(fd, NULL, t, 0);
}

EXPORT int futimes(int fd, const struct timeval t[2])
{
	return set_times(fd, NULL, t, 0);
}

EXPORT int fsetxattr(int fd, const char *name, const void *value, size_t n, int flags)
{
	if (preload_own_fd(fd))
		return -1;
	return (int)preload_result(preload_sys(SYS_fsetxattr, fd, name, value, n, flags));
}

EXPORT int fremovexattr(int fd, const char *name)
{
	return preload_own_fd(fd) ? -1
				  : (int)preload_result(preload_sys(SYS_fremovexattr, fd, name));
}

/* Cells must not wait for each other. */
EXPORT int flock(int fd, int operation)
{
	return preload_own_fd(fd) ? -1 : (int)preload_result(preload_sys(SYS_flock, fd, operation));
}

EXPORT int fcntl(int fd, int command, ...)
{
	va_list ap;
	va_start(ap, command);
	void *arg = va_arg(ap, void *);
	va_end(ap);
	bool lock = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
		    command == F_OFD_SETLKW;
	if (lock && preload_own_fd(fd))
		return -1;
	if (command == F_GETOWN) /* may be negative, which is not an error */
		return NEXT(fcntl)(fd, command, arg);
	return (int)preload_result(preload_sys(SYS_fcntl, fd, command, arg));
}
ALSO(fcntl64, fcntl);

EXPORT int lockf(int fd, int command, off_t n)
{
	return command != F_ULOCK && preload_own_fd(fd) ? -1 : NEXT(lockf)(fd, command, n);
}
ALSO(lockf64, lockf);
