/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Listing folders. Where a folder is covered, its entries in all layers are put together when it
 * is opened; the program's DIR is libc's own, so that dirfd and closedir work, and the entries
 * are kept beside it.
 */
#undef _FILE_OFFSET_BITS

#include "preload/internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct listing {
	struct listing *next;
	DIR *dir;
	struct dirent **entry;
	size_t n, room, at;
};
static struct listing *listings;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct gather {
	struct listing *to;
	const struct place *place;
	unsigned layer;
};

static int add(struct listing *l, const struct dirent64 *e)
{
	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 32;
		struct dirent **more = realloc(l->entry, room * sizeof *more);
		if (!more)
			return -1;
		l->entry = more;
		l->room = room;
	}
	struct dirent *copy = malloc(sizeof *copy);
	if (!copy)
		return -1;
	memcpy(copy, e, e->d_reclen < sizeof *copy ? e->d_reclen : sizeof *copy);
	copy->d_reclen = sizeof *copy;
	copy->d_off = (off_t)l->n + 1;
	l->entry[l->n++] = copy;
	return 0;
}

static int gather_entry(void *arg, const struct dirent64 *e)
{
	const struct gather *g = arg;
	bool cell = g->layer == preload_state.base.n && preload_is_cell(g->place->path, e->d_name);
	return cell || preload_is_hidden(g->place, g->layer, e) ? 0 : add(g->to, e);
}

static int add_dots(struct listing *l)
{
	static const char *const name[] = { ".", ".." };
	for (int i = 0; i < 2; i++) {
		struct dirent64 e = { .d_ino = 1, .d_reclen = sizeof e, .d_type = DT_DIR };
		strcpy(e.d_name, name[i]);
		if (add(l, &e))
			return -1;
	}
	return 0;
}

static void empty(struct listing *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->entry[i]);
	free(l->entry);
	l->entry = NULL;
	l->n = l->room = l->at = 0;
}

static int fill(struct listing *l, const struct place *p)
{
	char dir[VIEW_PATH];
	struct gather g = { l, p, 0 };
	if (add_dots(l))
		return -1;
	for (; g.layer <= preload_state.base.n; g.layer++)
		if (p->layers & 1u << g.layer &&
		    (preload_in_layer(p, g.layer, dir) || preload_list(dir, gather_entry, &g)))
			return -1;
	return 0;
}

/* Does the folder need a listing of its own? Only if a layer above the real one has it. */
static bool needs_listing(const char *path, struct place *p)
{
	unsigned real = preload_state.base.n;
	return preload_resolve(p, AT_FDCWD, path, FOLLOW) > 0 && p->layers &&
	       (p->layers & ((1u << real) - 1));
}

/* The folder of a descriptor, as the program knows it. */
static bool folder_of(int fd, struct place *p)
{
	char path[VIEW_PATH];
	int saved = errno;
	bool is = !preload_fd_path(fd, path) && needs_listing(path, p);
	errno = saved;
	return is;
}

static DIR *with_listing(DIR *dir)
{
	struct place p;
	if (!dir || !preload_on() || !folder_of(dirfd(dir), &p))
		return dir;
	struct listing *l = calloc(1, sizeof *l);
	if (!l)
		return dir;
	l->dir = dir;
	if (fill(l, &p)) {
		empty(l);
		free(l);
		return dir;
	}
	pthread_mutex_lock(&lock);
	l->next = listings;
	listings = l;
	pthread_mutex_unlock(&lock);
	return dir;
}

static struct listing *find(DIR *dir)
{
	if (!listings)
		return NULL;
	pthread_mutex_lock(&lock);
	struct listing *l = listings;
	while (l && l->dir != dir)
		l = l->next;
	pthread_mutex_unlock(&lock);
	return l;
}

EXPORT DIR *opendir(const char *path)
{
	struct way w;
	return preload_see(&w, AT_FDCWD, path, 0) ? NULL : with_listing(NEXT(opendir)(w.path));
}

EXPORT DIR *fdopendir(int fd)
{
	return with_listing(NEXT(fdopendir)(fd));
}

EXPORT struct dirent *readdir(DIR *dir)
{
	struct listing *l = find(dir);
	if (!l)
		return NEXT(readdir)(dir);
	return l->at < l->n ? l->entry[l->at++] : NULL;
}
ALSO(readdir64, readdir);

EXPORT int readdir_r(DIR *dir, struct dirent *entry, struct dirent **result)
{
	struct listing *l = find(dir);
	if (!l) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
		return NEXT(readdir_r)(dir, entry, result);
#pragma GCC diagnostic pop
	}
	struct dirent *e = readdir(dir);
	*result = e ? memcpy(entry, e, sizeof *e) : NULL;
	return 0;
}
ALSO(readdir64_r, readdir_r);

EXPORT void rewinddir(DIR *dir)
{
	struct listing *l = find(dir);
	struct place p;
	if (!l) {
		NEXT(rewinddir)(dir);
	} else if (folder_of(dirfd(dir), &p)) {
		empty(l);
		fill(l, &p);
	} else {
		l->at = 0;
	}
}

EXPORT long telldir(DIR *dir)
{
	struct listing *l = find(dir);
	return l ? (long)l->at : NEXT(telldir)(dir);
}

EXPORT void seekdir(DIR *dir, long at)
{
	struct listing *l = find(dir);
	if (l)
		l->at = (size_t)at;
	else
		NEXT(seekdir)(dir, at);
}

EXPORT int closedir(DIR *dir)
{
	struct listing *l = find(dir);
	if (l) {
		pthread_mutex_lock(&lock);
		struct listing **at = &listings;
		while (*at && *at != l)
			at = &(*at)->next;
		if (*at)
			*at = l->next;
		pthread_mutex_unlock(&lock);
		empty(l);
		free(l);
	}
	return NEXT(closedir)(dir);
}
