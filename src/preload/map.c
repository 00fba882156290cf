/* SPDX-License-Identifier: BSD-3-Clause */
/* PM files at the addresses they had when recorded, for programs that keep pointers in them. */
#undef _FILE_OFFSET_BITS /* mmap and mmap64 are both to be defined */

#include "preload/internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The address that the file should have, NULL: any. */
static char *wanted(const struct stat *st)
{
	const char *list = getenv(FAST_MAP);
	char path[4096];
	while (list && *list) {
		char *end;
		struct stat at;
		unsigned long long addr = strtoull(list, &end, 16);
		size_t n = strcspn(end, "\n");
		if (*end == '=' && n - 1 < sizeof path) {
			memcpy(path, end + 1, n - 1);
			path[n - 1] = '\0';
			if (!stat(path, &at) && at.st_dev == st->st_dev && at.st_ino == st->st_ino)
				return (char *)(uintptr_t)addr;
		}
		list = end + n + (end[n] == '\n');
	}
	return NULL;
}

static void *map(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	int type = flags & MAP_TYPE, saved = errno;
	struct stat st;
	if (fd >= 0 && !(flags & (MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_ANONYMOUS)) &&
	    (type == MAP_SHARED || type == MAP_SHARED_VALIDATE) && getenv(FAST_MAP) &&
	    !fstat(fd, &st)) {
		char *to = wanted(&st);
		long p = to ? preload_sys(SYS_mmap, to + off, len, prot,
					  flags | MAP_FIXED_NOREPLACE, fd, off)
			    : -1;
		if (p >= 0 && (char *)p == to + off)
			return (void *)p;
		if (p >= 0) /* a kernel that does not know the flag */
			preload_sys(SYS_munmap, p, len);
	}
	errno = saved;
	return (void *)preload_result(preload_sys(SYS_mmap, addr, len, prot, flags, fd, off));
}

EXPORT void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	return map(addr, len, prot, flags, fd, off);
}
ALSO(mmap64, mmap);
