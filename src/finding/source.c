/* SPDX-License-Identifier: BSD-3-Clause */
/* Source files, read once and kept: identities and excerpts ask for their lines. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "finding/internal.h"

#define MAX_SOURCE (32u << 20) /* more is not a source file */

struct source {
	char *text;
	VEC(char *) line;
};

static char *read_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	size_t n = 0;
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > (off_t)MAX_SOURCE) {
		close(fd);
		return NULL;
	}
	char *text = xmalloc((size_t)st.st_size + 1);
	while (n < (size_t)st.st_size) {
		ssize_t got = read(fd, text + n, (size_t)st.st_size - n);
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	close(fd);
	text[n] = '\0';
	*size = n;
	return text;
}

static void split(struct source *s, size_t size)
{
	char *end = s->text + size;
	for (char *p = s->text; p < end;) {
		char *newline = memchr(p, '\n', (size_t)(end - p));
		VEC_PUSH(&s->line, p);
		p = newline ? newline + 1 : end;
		if (newline)
			*newline = '\0';
		if (newline && newline > s->text && newline[-1] == '\r')
			newline[-1] = '\0';
	}
}

static const struct source *source_of(const char *file)
{
	static struct hmap sources; /* interned path -> struct source */
	const char *key = finding_intern(file);
	uint64_t known = 0;
	size_t size = 0;
	if (hmap_get(&sources, (uintptr_t)key, &known))
		return (const struct source *)(uintptr_t)known;
	struct source *s = xcalloc(1, sizeof *s);
	s->text = read_file(file, &size);
	if (s->text)
		split(s, size);
	hmap_put(&sources, (uintptr_t)key, (uintptr_t)s);
	return s;
}

const char *finding_source_line(const char *file, uint32_t line)
{
	if (!file || !line)
		return NULL;
	const struct source *s = source_of(file);
	return line <= s->line.n ? s->line.p[line - 1] : NULL;
}

bool finding_source_changed(const char *file, const char *module)
{
	struct stat f, m;
	if (!file || !module || stat(file, &f) || stat(module, &m))
		return false;
	if (f.st_mtim.tv_sec != m.st_mtim.tv_sec)
		return f.st_mtim.tv_sec > m.st_mtim.tv_sec;
	return f.st_mtim.tv_nsec > m.st_mtim.tv_nsec;
}
