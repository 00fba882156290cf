/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock, programs on PATH, and where this one is. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"

#define DEFAULT_PATH "/bin:/usr/bin"

double now_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool is_runnable(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

char *find_program(const char *name)
{
	const char *dir = getenv("PATH");
	if (strchr(name, '/'))
		return is_runnable(name) ? xstrdup(name) : NULL;
	if (!dir)
		dir = DEFAULT_PATH;
	for (;;) {
		size_t len = strcspn(dir, ":");
		char *path =
			len ? xasprintf("%.*s/%s", (int)len, dir, name) : xasprintf("./%s", name);
		if (is_runnable(path))
			return path;
		free(path);
		if (!dir[len])
			return NULL;
		dir += len + 1;
	}
}

const char *own_folder(void)
{
	static char self[PATH_MAX];
	if (!*self) {
		ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
		char *slash = n > 0 ? strrchr(self, '/') : NULL;
		if (slash)
			*slash = '\0';
		else
			*self = '\0';
	}
	return self;
}
