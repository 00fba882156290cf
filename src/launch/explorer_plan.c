/* SPDX-License-Identifier: BSD-3-Clause */
/* Which folders an explored program gets overlays over: explorer_view.c makes them. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/explorer.h"

bool launch_explorer_mount_between(const struct explorer_plan *p, const char *dir, const char *path)
{
	for (size_t i = 0; i < p->mounts.n; i++) {
		const char *m = path_below(p->mounts.p[i], dir);
		if (m && *m && path_below(path, p->mounts.p[i]))
			return true;
	}
	return false;
}

/* The root cannot be covered; device files and the kernel's own do not work in an overlay. */
static bool not_covered(const char *dir)
{
	return !strcmp(dir, "/") || !strcmp(dir, "/dev") || path_below(dir, "/proc") ||
	       path_below(dir, "/sys") || (path_below(dir, "/dev") && !path_below(dir, "/dev/shm"));
}

static void wish(struct explorer_plan *p, const char *dir)
{
	struct stat st;
	char *real = realpath(dir, NULL);
	if (real && !stat(real, &st) && S_ISDIR(st.st_mode) && !not_covered(real))
		VEC_PUSH(&p->dirs, real);
	else
		free(real);
}

/* The folder that a path is in; for a folder, itself. */
static void wish_for(struct explorer_plan *p, const char *path)
{
	struct stat st;
	char *dir = xstrdup(path), *slash = strrchr(dir, '/');
	bool is = !stat(path, &st);
	if (is && S_ISDIR(st.st_mode)) {
		wish(p, path);
	} else if (slash) {
		slash[slash == dir] = '\0';
		wish(p, dir);
	}
	if (is && S_ISREG(st.st_mode) && (st.st_uid != geteuid() || st.st_gid != getegid()) &&
	    !access(path, W_OK))
		VEC_PUSH(&p->foreign, realpath(path, NULL));
	free(dir);
}

static int by_length(const void *a, const void *b)
{
	size_t m = strlen(*(char *const *)a), n = strlen(*(char *const *)b);
	return (m > n) - (m < n);
}

/* Arguments may be paths, also behind a "--name=". */
static void wish_for_arguments(struct explorer_plan *p, const char *const *argv)
{
	for (const char *const *a = argv + 1; *a; a++) {
		const char *equals = strchr(*a, '=');
		wish_for(p, *a);
		if (equals)
			wish_for(p, equals + 1);
	}
}

void launch_explorer_plan(struct explorer_plan *p, const struct launch_explorer *e)
{
	mount_points_read(&p->mounts);
	wish(p, ".");
	wish(p, "/tmp");
	wish(p, "/var/tmp");
	wish(p, "/dev/shm");
	wish_for_arguments(p, e->opts.run.argv);
	for (size_t i = 0; i < e->opts.nsource; i++)
		if (e->opts.source[i].kind == SYM_SRC_FILE)
			wish_for(p, e->opts.source[i].path);
	if (p->dirs.n)
		qsort(p->dirs.p, p->dirs.n, sizeof *p->dirs.p, by_length);
}
