/* SPDX-License-Identifier: BSD-3-Clause */
/* syscall(): system calls that a program names by number. */
#undef _FILE_OFFSET_BITS

#include "preload/internal.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>

#define P(i) ((const char *)a[i])
#define I(i) ((int)a[i])

/* Files that are looked at or opened; false: another call. */
static bool look(long number, const long *a, long *r)
{
	switch (number) {
	case SYS_open: *r = preload_open(AT_FDCWD, P(0), I(1), (mode_t)a[2]); break;
	case SYS_openat: *r = preload_open(I(0), P(1), I(2), (mode_t)a[3]); break;
	case SYS_creat: *r = creat(P(0), (mode_t)a[1]); break;
	case SYS_stat: *r = stat(P(0), (struct stat *)a[1]); break;
	case SYS_lstat: *r = lstat(P(0), (struct stat *)a[1]); break;
	case SYS_newfstatat: *r = fstatat(I(0), P(1), (struct stat *)a[2], I(3)); break;
	case SYS_statx: *r = statx(I(0), P(1), I(2), (unsigned)a[3], (struct statx *)a[4]); break;
	case SYS_access: *r = access(P(0), I(1)); break;
	case SYS_faccessat: *r = faccessat(I(0), P(1), I(2), 0); break;
	case SYS_faccessat2: *r = faccessat(I(0), P(1), I(2), I(3)); break;
	case SYS_readlink: *r = readlink(P(0), (char *)a[1], (size_t)a[2]); break;
	case SYS_readlinkat: *r = readlinkat(I(0), P(1), (char *)a[2], (size_t)a[3]); break;
	case SYS_chdir: *r = chdir(P(0)); break;
	case SYS_execve: *r = execve(P(0), (char *const *)a[1], (char *const *)a[2]); break;
	case SYS_execveat:
		*r = execveat(I(0), P(1), (char *const *)a[2], (char *const *)a[3], I(4));
		break;
	case SYS_shmget: *r = shmget(I(0), (size_t)a[1], I(2)); break;
	case SYS_semget: *r = semget(I(0), I(1), I(2)); break;
	case SYS_msgget: *r = msgget(I(0), I(1)); break;
	case SYS_bind: *r = bind(I(0), (void *)a[1], (socklen_t)a[2]); break;
	case SYS_connect: *r = connect(I(0), (void *)a[1], (socklen_t)a[2]); break;
	default: return false;
	}
	return true;
}

/* Names and files that are changed. */
static bool change(long number, const long *a, long *r)
{
	switch (number) {
	case SYS_mkdir: *r = mkdir(P(0), (mode_t)a[1]); break;
	case SYS_mkdirat: *r = mkdirat(I(0), P(1), (mode_t)a[2]); break;
	case SYS_mknod: *r = mknod(P(0), (mode_t)a[1], (dev_t)a[2]); break;
	case SYS_mknodat: *r = mknodat(I(0), P(1), (mode_t)a[2], (dev_t)a[3]); break;
	case SYS_symlink: *r = symlink(P(0), P(1)); break;
	case SYS_symlinkat: *r = symlinkat(P(0), I(1), P(2)); break;
	case SYS_link: *r = link(P(0), P(1)); break;
	case SYS_linkat: *r = linkat(I(0), P(1), I(2), P(3), I(4)); break;
	case SYS_unlink: *r = unlink(P(0)); break;
	case SYS_unlinkat: *r = unlinkat(I(0), P(1), I(2)); break;
	case SYS_rmdir: *r = rmdir(P(0)); break;
	case SYS_rename: *r = rename(P(0), P(1)); break;
	case SYS_renameat: *r = renameat(I(0), P(1), I(2), P(3)); break;
	case SYS_renameat2: *r = renameat2(I(0), P(1), I(2), P(3), (unsigned)a[4]); break;
	case SYS_truncate: *r = truncate(P(0), a[1]); break;
	case SYS_chmod: *r = chmod(P(0), (mode_t)a[1]); break;
	case SYS_fchmodat: *r = fchmodat(I(0), P(1), (mode_t)a[2], 0); break;
	case SYS_fchmod: *r = fchmod(I(0), (mode_t)a[1]); break;
	case SYS_chown: *r = chown(P(0), (uid_t)a[1], (gid_t)a[2]); break;
	case SYS_lchown: *r = lchown(P(0), (uid_t)a[1], (gid_t)a[2]); break;
	case SYS_fchownat: *r = fchownat(I(0), P(1), (uid_t)a[2], (gid_t)a[3], I(4)); break;
	case SYS_utimensat: *r = utimensat(I(0), P(1), (const void *)a[2], I(3)); break;
	default: return false;
	}
	return true;
}

EXPORT long syscall(long number, ...)
{
	long a[6], r;
	va_list ap;
	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (preload_on() && (look(number, a, &r) || change(number, a, &r)))
		return r;
	return preload_result(preload_sys(number, a[0], a[1], a[2], a[3], a[4], a[5]));
}
