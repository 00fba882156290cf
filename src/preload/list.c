/* SPDX-License-Identifier: BSD-3-Clause */
/* What is in folders: of one layer, and of all. */
#include "preload/internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

int preload_list(const char *dir, preload_entry *entry, void *arg)
{
	__attribute__((aligned(8))) char buf[2048];
	long got, stop = 0;
	long fd = preload_sys(SYS_openat, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return (int)preload_result(fd);
	while (!stop && (got = preload_sys(SYS_getdents64, fd, buf, sizeof buf)) > 0)
		for (long at = 0; !stop && at < got;) {
			const struct dirent64 *e = (const void *)(buf + at);
			at += e->d_reclen;
			if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
				stop = entry(arg, e);
		}
	preload_sys(SYS_close, fd);
	return (int)stop;
}

int preload_beside(char out[VIEW_PATH], const char *dir, const char *name)
{
	size_t n = strlen(dir), m = strlen(name);
	if (n + m + 2 > VIEW_PATH) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(out, dir, n);
	out[n] = '/';
	memcpy(out + n + 1, name, m + 1);
	return 0;
}

static bool in_layer(const struct place *p, unsigned layer, const char *name, char out[VIEW_PATH])
{
	char dir[VIEW_PATH];
	return p->layers & 1u << layer && !preload_in_layer(p, layer, dir) &&
	       !preload_beside(out, dir, name);
}

bool preload_is_hidden(const struct place *p, unsigned layer, const struct dirent64 *e)
{
	char path[VIEW_PATH];
	struct stat st;
	if ((e->d_type == DT_LNK || e->d_type == DT_UNKNOWN) &&
	    in_layer(p, layer, e->d_name, path) && preload_is_sign(path))
		return true;
	for (unsigned i = 0; i < layer; i++)
		if (in_layer(p, i, e->d_name, path) &&
		    preload_sys(SYS_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	return false;
}

struct search {
	const struct place *place;
	unsigned layer;
};

static int seen(void *arg, const struct dirent64 *e)
{
	const struct search *s = arg;
	return preload_is_hidden(s->place, s->layer, e) ? 0 : 1;
}

int preload_is_empty(const struct place *p)
{
	char dir[VIEW_PATH];
	struct search s = { p, 0 };
	for (; s.layer <= preload_state.base.n; s.layer++) {
		if (!(p->layers & 1u << s.layer))
			continue;
		int r = preload_in_layer(p, s.layer, dir) ? -1 : preload_list(dir, seen, &s);
		if (r)
			return r < 0 ? -1 : 0;
	}
	return 1;
}

static int remove_sign(void *dir, const struct dirent64 *e)
{
	char path[VIEW_PATH];
	if (!preload_beside(path, dir, e->d_name) && preload_is_sign(path))
		preload_sys(SYS_unlinkat, AT_FDCWD, path, 0);
	return 0;
}

int preload_remove_folder(const struct place *p)
{
	char dir[VIEW_PATH];
	if (preload_in_layer(p, 0, dir))
		return -1;
	preload_list(dir, remove_sign, dir);
	return (int)preload_result(preload_sys(SYS_unlinkat, AT_FDCWD, dir, AT_REMOVEDIR));
}

static int put_sign(void *own, const struct dirent64 *e)
{
	char path[VIEW_PATH];
	if (preload_beside(path, own, e->d_name))
		return -1;
	long r = preload_sys(SYS_symlinkat, PRELOAD_GONE, AT_FDCWD, path);
	return r == -EEXIST ? 0 : (int)preload_result(r);
}

int preload_hide_lower(const struct place *p)
{
	char own[VIEW_PATH], lower[VIEW_PATH];
	if (preload_in_layer(p, 0, own))
		return -1;
	for (unsigned i = 1; i <= preload_state.base.n; i++) {
		if (preload_in_layer(p, i, lower))
			return -1;
		int r = preload_list(lower, put_sign, own);
		if (r < 0 && errno != ENOENT && errno != ENOTDIR)
			return -1;
	}
	return 0;
}
