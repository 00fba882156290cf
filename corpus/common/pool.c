/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/corpus.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE ((size_t)4096)

static int is_complete(int fd, size_t size, uint64_t magic)
{
	struct stat st;
	uint64_t first;

	return fstat(fd, &st) == 0 && (size_t)st.st_size == size &&
	       pread(fd, &first, sizeof(first), 0) == (ssize_t)sizeof(first) && first == magic;
}

void *corpus_pool_map(const char *path, size_t size, uint64_t magic, void *hint, int *fresh)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	int flags = MAP_SHARED | (hint ? MAP_FIXED_NOREPLACE : 0);
	void *base;

	if (fd < 0)
		return NULL;
	size = (size + PAGE - 1) / PAGE * PAGE;
	*fresh = !is_complete(fd, size, magic);
	if (*fresh && (ftruncate(fd, 0) != 0 || ftruncate(fd, (off_t)size) != 0)) {
		close(fd);
		return NULL;
	}
	base = mmap(hint, size, PROT_READ | PROT_WRITE, flags, fd, 0);
	close(fd);
	if (base == MAP_FAILED)
		return NULL;
	if (hint && base != hint) {
		munmap(base, size);
		errno = EEXIST;
		return NULL;
	}
	return base;
}

void corpus_pool_unmap(void *base, size_t size)
{
	munmap(base, size);
}
