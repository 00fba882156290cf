/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that open files. */
#undef _FILE_OFFSET_BITS

#include "preload/internal.h"

#include <fcntl.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

EXPORT int __open_2(const char *path, int flags);
EXPORT int __openat_2(int dirfd, const char *path, int flags);

static bool needs_mode(int flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

static unsigned how_to_open(int flags)
{
	unsigned how = 0;
	if ((flags & O_NOFOLLOW) || (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
		how |= SEE_LINK;
	if (flags & O_PATH)
		return how;
	if ((flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC))
		how |= SEE_CHANGE;
	if (flags & O_TRUNC)
		how |= SEE_EMPTY;
	if (flags & O_CREAT)
		how |= SEE_CREATE | SEE_FILE | (flags & O_EXCL ? SEE_NEW : 0);
	return how;
}

int preload_open(int dirfd, const char *path, int flags, mode_t mode)
{
	struct way w;
	if (preload_see(&w, dirfd, path, how_to_open(flags)))
		return -1;
	return (int)preload_seen(&w, preload_sys(SYS_openat, w.dirfd, w.path, flags, mode));
}

static mode_t mode_of(int flags, va_list ap)
{
	return needs_mode(flags) ? va_arg(ap, mode_t) : 0;
}

EXPORT int open(const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	mode_t mode = mode_of(flags, ap);
	va_end(ap);
	return preload_open(AT_FDCWD, path, flags, mode);
}
ALSO(open64, open);
ALSO(__open, open);
ALSO(__open64, open);

EXPORT int openat(int dirfd, const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	mode_t mode = mode_of(flags, ap);
	va_end(ap);
	return preload_open(dirfd, path, flags, mode);
}
ALSO(openat64, openat);

EXPORT int __open_2(const char *path, int flags)
{
	return preload_open(AT_FDCWD, path, flags, 0);
}
ALSO(__open64_2, __open_2);

EXPORT int __openat_2(int dirfd, const char *path, int flags)
{
	return preload_open(dirfd, path, flags, 0);
}
ALSO(__openat64_2, __openat_2);

EXPORT int creat(const char *path, mode_t mode)
{
	return preload_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}
ALSO(creat64, creat);

/* ---- streams ---- */

static int flags_of(const char *mode)
{
	bool plus = strchr(mode, '+') != NULL;
	int flags = plus ? O_RDWR : *mode == 'r' ? O_RDONLY : O_WRONLY;
	if (*mode == 'w')
		flags |= O_CREAT | O_TRUNC;
	else if (*mode == 'a')
		flags |= O_CREAT;
	return flags | (strchr(mode, 'x') ? O_EXCL : 0);
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
	struct way w;
	if (preload_see(&w, AT_FDCWD, path, how_to_open(flags_of(mode))))
		return NULL;
	FILE *f = NEXT(fopen)(w.path, mode);
	if (!f)
		preload_seen(&w, -errno);
	return f;
}
ALSO(fopen64, fopen);

EXPORT FILE *freopen(const char *path, const char *mode, FILE *old)
{
	struct way w;
	if (preload_see(&w, AT_FDCWD, path, how_to_open(flags_of(mode)))) {
		int saved = errno;
		fclose(old);
		errno = saved;
		return NULL;
	}
	FILE *f = NEXT(freopen)(w.path, mode, old);
	if (!f)
		preload_seen(&w, -errno);
	return f;
}
ALSO(freopen64, freopen);

/* ---- temporary names ---- */

typedef int make_fn(const char *path, int flags);

static int make_file(const char *path, int flags)
{
	return preload_open(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | flags, 0600);
}

static int make_dir(const char *path, int flags)
{
	(void)flags;
	return mkdir(path, 0700);
}

static int make_temporary(char *template, int suffix, int flags, make_fn *make)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	size_t n = strlen(template);
	if (suffix < 0 || n < 6 + (size_t)suffix ||
	    strncmp(template + n - 6 - (size_t)suffix, "XXXXXX", 6) != 0) {
		errno = EINVAL;
		return -1;
	}
	char *at = template + n - 6 - (size_t)suffix;
	for (int tries = 0; tries < 1000; tries++) {
		unsigned char random[6];
		if (preload_sys(SYS_getrandom, random, sizeof random, 0) != sizeof random)
			break;
		for (int i = 0; i < 6; i++)
			at[i] = letters[random[i] % (sizeof letters - 1)];
		int fd = make(template, flags);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	errno = EEXIST;
	return -1;
}

EXPORT int mkostemps(char *template, int suffix, int flags)
{
	return make_temporary(template, suffix, flags & ~O_ACCMODE, make_file);
}
ALSO(mkostemps64, mkostemps);

EXPORT int mkostemp(char *template, int flags)
{
	return mkostemps(template, 0, flags);
}
ALSO(mkostemp64, mkostemp);

EXPORT int mkstemps(char *template, int suffix)
{
	return mkostemps(template, suffix, 0);
}
ALSO(mkstemps64, mkstemps);

EXPORT int mkstemp(char *template)
{
	return mkostemps(template, 0, 0);
}
ALSO(mkstemp64, mkstemp);

EXPORT char *mkdtemp(char *template)
{
	return make_temporary(template, 0, 0, make_dir) ? NULL : template;
}

/* ---- shared memory and semaphores ---- */

static int shm_path(char out[VIEW_PATH], const char *prefix, const char *name)
{
	name += strspn(name, "/");
	if (!*name || strchr(name, '/') || strlen(name) > NAME_MAX - strlen(prefix)) {
		errno = EINVAL;
		return -1;
	}
	strcpy(out, "/dev/shm/");
	strcat(out, prefix);
	strcat(out, name);
	return 0;
}

EXPORT int shm_open(const char *name, int flags, mode_t mode)
{
	char path[VIEW_PATH];
	if (shm_path(path, "", name))
		return -1;
	return preload_open(AT_FDCWD, path, flags | O_NOFOLLOW | O_CLOEXEC, mode);
}

EXPORT int shm_unlink(const char *name)
{
	char path[VIEW_PATH];
	return shm_path(path, "", name) ? -1 : unlink(path);
}

static sem_t *map_semaphore(int fd)
{
	void *p = fd < 0 ? MAP_FAILED
			 : mmap(NULL, sizeof(sem_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		preload_sys(SYS_close, fd);
	return p == MAP_FAILED ? SEM_FAILED : p;
}

/* Made under another name: whoever finds it finds it ready. */
static int make_semaphore(const char *path, mode_t mode, unsigned value)
{
	char temp[] = "/dev/shm/sem.XXXXXX";
	sem_t s;
	int fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return -1;
	memset(&s, 0, sizeof s);
	bool ok = !sem_init(&s, 1, value) && write(fd, &s, sizeof s) == sizeof s &&
		  !fchmod(fd, mode) && !link(temp, path);
	int saved = errno;
	unlink(temp);
	if (!ok)
		preload_sys(SYS_close, fd);
	errno = saved;
	return ok ? fd : -1;
}

/* Each call gives another address, which POSIX allows only for different semaphores; what is
 * done through one is seen through all. */
EXPORT sem_t *sem_open(const char *name, int flags, ...)
{
	char path[VIEW_PATH];
	va_list ap;
	va_start(ap, flags);
	mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	unsigned value = flags & O_CREAT ? va_arg(ap, unsigned) : 0;
	va_end(ap);
	if (!preload_on())
		return flags & O_CREAT ? NEXT(sem_open)(name, flags, mode, value)
				       : NEXT(sem_open)(name, flags);
	if (shm_path(path, "sem.", name))
		return SEM_FAILED;
	for (;;) {
		int fd = (flags & O_CREAT) && (flags & O_EXCL)
				 ? -1
				 : preload_open(AT_FDCWD, path, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0);
		if (fd >= 0)
			return map_semaphore(fd);
		if (!(flags & O_CREAT) || (!(flags & O_EXCL) && errno != ENOENT))
			return SEM_FAILED;
		fd = make_semaphore(path, mode, value);
		if (fd >= 0 || errno != EEXIST || (flags & O_EXCL))
			return map_semaphore(fd);
	}
}

EXPORT int sem_close(sem_t *s)
{
	if (!preload_on())
		return NEXT(sem_close)(s);
	return munmap(s, sizeof *s);
}

EXPORT int sem_unlink(const char *name)
{
	char path[VIEW_PATH];
	return shm_path(path, "sem.", name) ? -1 : unlink(path);
}
