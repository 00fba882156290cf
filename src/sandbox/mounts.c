/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths, and where something is mounted. */
#include "sandbox/internal.h"

#include <stdlib.h>
#include <string.h>

void sandbox_strings_free(struct sandbox_strings *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->p[i]);
	VEC_FREE(s);
}

/* Is path the folder dir or below it? Then what comes after dir and the slash, else NULL. */
const char *sandbox_path_below(const char *path, const char *dir)
{
	size_t n = strcmp(dir, "/") ? strlen(dir) : 0;
	if (strncmp(path, dir, n) != 0)
		return NULL;
	return path[n] == '/' ? path + n + 1 : path[n] ? NULL : path + n;
}

/* mountinfo writes blanks as \040. */
static void unescape(char *s)
{
	char *to = s;
	for (; *s; s++) {
		if (*s == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] && s[3]) {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

char *sandbox_mount_path(const char *line)
{
	char *where;
	if (sscanf(line, "%*d %*d %*s %*s %ms", &where) != 1)
		return NULL;
	unescape(where);
	return where;
}

void sandbox_mounts_read(struct sandbox_strings *out)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, *where;
	size_t cap = 0;
	while (f && getline(&line, &cap, f) > 0)
		if ((where = sandbox_mount_path(line)))
			VEC_PUSH(out, where);
	free(line);
	if (f)
		fclose(f);
}

/* A mount point between dir and what is below it: an overlay over dir does not reach it. */
bool sandbox_mount_between(const struct sandbox_strings *mounts, const char *dir, const char *path)
{
	for (size_t i = 0; i < mounts->n; i++) {
		const char *m = sandbox_path_below(mounts->p[i], dir);
		if (m && *m && sandbox_path_below(path, mounts->p[i]))
			return true;
	}
	return false;
}

bool sandbox_mount_outermost(const struct sandbox_strings *mounts, size_t i, const char *dir)
{
	const char *m = sandbox_path_below(mounts->p[i], dir);
	bool known = !m || !*m;
	for (size_t j = 0; !known && j < mounts->n; j++) {
		const char *other = sandbox_path_below(mounts->p[j], dir);
		known = other && *other && sandbox_path_below(mounts->p[i], mounts->p[j]) &&
			(j < i || strcmp(mounts->p[i], mounts->p[j]) != 0);
	}
	return !known;
}
