/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that go through folders on their own: libc's would not see what is ours. */
#undef _FILE_OFFSET_BITS

#include "preload/internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- scandir ---- */

typedef int scan_filter(const struct dirent *);
typedef int scan_order(const struct dirent **, const struct dirent **);

static int scan(DIR *dir, struct dirent ***list, scan_filter *filter, scan_order *order)
{
	struct dirent **p = NULL;
	size_t n = 0, room = 0;
	bool ok = dir != NULL;
	for (struct dirent *e; ok && (e = readdir(dir));) {
		if (filter && !filter(e))
			continue;
		if (n == room) {
			room = room ? 2 * room : 16;
			struct dirent **more = realloc(p, room * sizeof *p);
			ok = more != NULL;
			p = more ? more : p;
		}
		struct dirent *copy = ok ? malloc(sizeof *copy) : NULL;
		ok = copy != NULL;
		if (ok)
			p[n++] = memcpy(copy, e, sizeof *copy);
	}
	if (dir)
		closedir(dir);
	if (!ok) {
		while (n)
			free(p[--n]);
		free(p);
		return -1;
	}
	if (order && n)
		qsort(p, n, sizeof *p, (int (*)(const void *, const void *))order);
	*list = p;
	return (int)n;
}

EXPORT int scandir(const char *path, struct dirent ***list, scan_filter *filter, scan_order *order)
{
	return scan(opendir(path), list, filter, order);
}
ALSO(scandir64, scandir);

EXPORT int scandirat(int dirfd, const char *path, struct dirent ***list, scan_filter *filter,
		     scan_order *order)
{
	int fd = preload_open(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	return scan(fd < 0 ? NULL : fdopendir(fd), list, filter, order);
}
ALSO(scandirat64, scandirat);

/* ---- glob ---- */

static void *glob_open(const char *path)
{
	return opendir(path);
}

static struct dirent *glob_read(void *dir)
{
	return readdir(dir);
}

static void glob_close(void *dir)
{
	closedir(dir);
}

EXPORT int glob(const char *pattern, int flags, int (*failed)(const char *, int), glob_t *g)
{
	if (!preload_on() || (flags & GLOB_ALTDIRFUNC))
		return NEXT(glob)(pattern, flags, failed, g);
	g->gl_opendir = glob_open;
	g->gl_readdir = glob_read;
	g->gl_closedir = glob_close;
	g->gl_stat = stat;
	g->gl_lstat = lstat;
	int r = NEXT(glob)(pattern, flags | GLOB_ALTDIRFUNC, failed, g);
	g->gl_flags &= ~GLOB_ALTDIRFUNC;
	return r;
}
ALSO(glob64, glob);

/* ---- nftw ---- */

typedef int walk_fn(const char *, const struct stat *, int, struct FTW *);
typedef int plain_fn(const char *, const struct stat *, int);
struct walk {
	walk_fn *fn;
	plain_fn *plain; /* of ftw */
	int flags;
	dev_t dev;
};

static int visit(const struct walk *w, const char *path, const struct stat *st, int kind, int level)
{
	const char *slash = strrchr(path, '/');
	struct FTW f = { slash && slash[1] ? (int)(slash + 1 - path) : 0, level };
	if (w->plain)
		return w->plain(path, st, kind == FTW_SL ? FTW_NS : kind == FTW_DP ? FTW_D : kind);
	return w->fn(path, st, kind, &f);
}

static int walk_tree(const struct walk *w, const char *path, int level);

static int walk_folder(const struct walk *w, const char *path, const struct stat *st, int level)
{
	DIR *dir = opendir(path);
	bool depth = w->flags & FTW_DEPTH;
	if (!dir)
		return visit(w, path, st, FTW_DNR, level);
	int r = depth ? 0 : visit(w, path, st, FTW_D, level);
	for (struct dirent *e; !r && (e = readdir(dir));) {
		size_t n = strlen(path);
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		char *name = malloc(n + strlen(e->d_name) + 2);
		if (!name) {
			r = -1;
			break;
		}
		memcpy(name, path, n);
		strcpy(name + n, n && path[n - 1] == '/' ? "" : "/");
		strcat(name, e->d_name);
		r = walk_tree(w, name, level + 1);
		free(name);
		if (w->flags & FTW_ACTIONRETVAL && r == FTW_SKIP_SIBLINGS)
			break;
	}
	closedir(dir);
	if (w->flags & FTW_ACTIONRETVAL && (r == FTW_SKIP_SUBTREE || r == FTW_SKIP_SIBLINGS))
		r = 0;
	return r || !depth ? r : visit(w, path, st, FTW_DP, level);
}

static int walk_tree(const struct walk *w, const char *path, int level)
{
	struct stat st;
	int r = w->flags & FTW_PHYS ? lstat(path, &st) : stat(path, &st);
	if (r && !(w->flags & FTW_PHYS) && !lstat(path, &st))
		return visit(w, path, &st, FTW_SLN, level);
	if (r)
		return level ? visit(w, path, &st, FTW_NS, level) : -1;
	if (level && (w->flags & FTW_MOUNT) && st.st_dev != w->dev && !preload_folder_over(path))
		return 0;
	if (S_ISDIR(st.st_mode))
		return walk_folder(w, path, &st, level);
	return visit(w, path, &st, S_ISLNK(st.st_mode) ? FTW_SL : FTW_F, level);
}

/* FTW_CHDIR is left to libc: it sees the real folders then. */
EXPORT int nftw(const char *path, walk_fn *fn, int fds, int flags)
{
	struct stat st;
	if (!preload_on() || (flags & FTW_CHDIR))
		return NEXT(nftw)(path, fn, fds, flags);
	struct walk w = { .fn = fn, .flags = flags };
	if (!stat(path, &st))
		w.dev = st.st_dev;
	return walk_tree(&w, path, 0);
}
ALSO(nftw64, nftw);

EXPORT int ftw(const char *path, plain_fn *fn, int fds)
{
	if (!preload_on())
		return NEXT(ftw)(path, fn, fds);
	struct walk w = { .plain = fn };
	return walk_tree(&w, path, 0);
}
ALSO(ftw64, ftw);
