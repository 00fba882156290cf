/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole writes, copies of sparse files, and words for a shell. */
#include <errno.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/base.h"

#define COPY_BLOCK 65536

/* off < 0: at the position of the descriptor, which a pipe has, too. */
static int put_all(int fd, const char *p, size_t n, off_t off)
{
	while (n) {
		ssize_t put = off < 0 ? write(fd, p, n) : pwrite(fd, p, n, off);
		if (put < 0 && errno == EINTR)
			continue;
		if (put == 0)
			errno = ENOSPC;
		if (put <= 0)
			return -1;
		p += put;
		n -= (size_t)put;
		off += off < 0 ? 0 : put;
	}
	return 0;
}

int write_all(int fd, const void *data, size_t n)
{
	return put_all(fd, data, n, -1);
}

int write_all_at(int fd, const void *data, size_t n, uint64_t off)
{
	return put_all(fd, data, n, (off_t)off);
}

static bool is_zero(const char *p, size_t n)
{
	return !p[0] && !memcmp(p, p + 1, n - 1);
}

int copy_sparse(int from, int to)
{
	char block[COPY_BLOCK];
	off_t at = 0, size = lseek(from, 0, SEEK_END);
	if (size < 0 || ftruncate(to, size))
		return -1;
	while ((at = lseek(from, at, SEEK_DATA)) >= 0) {
		ssize_t n = pread(from, block, sizeof block, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return (int)n;
		if (!is_zero(block, (size_t)n) && write_all_at(to, block, (size_t)n, (uint64_t)at))
			return -1;
		at += n;
	}
	return errno == ENXIO ? 0 : -1;
}

/* No shell has a meaning for any of these, anywhere in a word. */
static bool is_plain(char c)
{
	char lower = (char)(c | 32);
	return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') ||
	       (c && strchr("_@%+=:,./-", c));
}

void shell_quote(struct buf *b, const char *word, size_t n)
{
	size_t plain = 0;
	while (plain < n && is_plain(word[plain]))
		plain++;
	if (n && plain == n) {
		buf_add(b, word, n);
		return;
	}
	buf_puts(b, "'");
	for (size_t i = 0; i < n; i++)
		word[i] == '\'' ? buf_puts(b, "'\\''") : buf_add(b, word + i, 1);
	buf_puts(b, "'");
}
