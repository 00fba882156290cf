/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the command sees the images. In a mount namespace there is an overlay over each folder
 * that has a PM file, over the working directory, /tmp and /dev/shm: the command finds all
 * that is there, may change any of it, and nothing of that lasts. Without namespaces the images
 * are in a folder of their own, with the same machinery but the mounts.
 *
 * Images are linked into the upper folders from img/, so a command that unlinks one does not
 * lose it for us.
 */
#include "runner/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static int private_tmpfs(struct err *err)
{
	int fs = fsopen("tmpfs", FSOPEN_CLOEXEC), fd = -1;
	if (fs >= 0 && !fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		fd = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (fd < 0)
		err_errno(err, EXIT_PROGRAM, "cannot make a private tmpfs");
	if (fs >= 0)
		close(fs);
	return fd;
}

static int private_folder(struct view *v, struct err *err)
{
	const char *tmp = getenv("TMPDIR");
	const char *const where[] = { "/dev/shm", tmp && *tmp == '/' ? tmp : "/tmp", "/tmp" };
	for (size_t i = 0; i < sizeof where / sizeof *where; i++) {
		v->home = xasprintf("%s/holdfast-XXXXXX", where[i]);
		if (mkdtemp(v->home))
			return open(v->home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		free(v->home);
		v->home = NULL;
	}
	return err_errno(err, EXIT_PROGRAM, "cannot make a folder in /dev/shm or /tmp");
}

int runner_view_init(struct view *v, const struct runner_opts *opts, enum runner_view kind,
		     struct err *err)
{
	*v = (struct view){ .kind = kind, .nfile = opts->nfile };
	v->cwd = getcwd(NULL, 0);
	mode_t mask = umask(0);
	umask(mask);
	v->mode = (0666 & ~mask) | 0600;
	v->file = xcalloc(v->nfile, sizeof *v->file);
	for (size_t i = 0; i < v->nfile; i++)
		v->file[i].home = opts->file[i].path;
	v->base = kind == RUNNER_VIEW_SUBST ? private_folder(v, err) : private_tmpfs(err);
	if (v->base < 0)
		return -1;
	if (mkdirat(v->base, "img", 0700))
		return err_errno(err, EXIT_PROGRAM, "cannot make a private folder");
	return 0;
}

int runner_view_open_image(struct view *v, size_t file, struct err *err)
{
	char name[32];
	snprintf(name, sizeof name, "img/%zu", file);
	int fd = openat(v->base, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return err_errno(err, EXIT_PROGRAM, "cannot make an image");
	return fd;
}

static void unplan(struct view *v)
{
	runner_view_hide(v);
	for (size_t i = 0; i < v->layer.n; i++)
		runner_layer_free(&v->layer.p[i]);
	VEC_FREE(&v->layer);
	for (size_t i = 0; i < v->nfile; i++) {
		free(v->file[i].seen);
		v->file[i].seen = NULL;
	}
	v->planned = false;
}

void runner_view_name(struct view *v, size_t file, const char *path)
{
	unplan(v);
	free(v->file[file].path);
	v->file[file].path = path ? xstrdup(path) : NULL;
}

/* A detached tmpfs cannot be mounted from; put it beneath /proc, where nobody sees it. */
static int attach_base(struct view *v, struct err *err)
{
	if (v->attached)
		return 0;
	int proc = open_tree(AT_FDCWD, "/proc", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	bool ok = proc >= 0 &&
		  !move_mount(v->base, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH) &&
		  !move_mount(proc, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH);
	if (!ok)
		err_errno(err, EXIT_PROGRAM, "cannot mount images one by one");
	if (proc >= 0)
		close(proc);
	v->attached = ok;
	return ok ? 0 : -1;
}

static int bind_layer(struct view *v, struct layer *l, struct err *err)
{
	if (attach_base(v, err) || fchdir(v->base))
		return -1;
	for (size_t i = 0; i < l->entry.n; i++) {
		char image[32];
		const struct entry *e = &l->entry.p[i];
		snprintf(image, sizeof image, "img/%u", e->image);
		char *path = xasprintf("%s/%s", strcmp(l->dir, "/") ? l->dir : "", e->rel);
		int bad = 0;
		if (e->kind == ENTRY_IMAGE && mount(image, path, NULL, MS_BIND, NULL))
			bad = err_errno(
				err, EXIT_PROGRAM,
				"no overlay over %s is possible, and %s cannot be mounted over",
				l->dir, path);
		else if (e->kind == ENTRY_GONE)
			bad = err_set(err, EXIT_PROGRAM,
				      "no overlay over %s is possible, and %s cannot be hidden",
				      l->dir, path);
		free(path);
		if (bad)
			return -1;
		l->mounted = l->mounted || e->kind == ENTRY_IMAGE;
	}
	return 0;
}

static void unbind_layer(struct layer *l)
{
	for (size_t i = 0; l->mounted && i < l->entry.n; i++) {
		char *path =
			xasprintf("%s/%s", strcmp(l->dir, "/") ? l->dir : "", l->entry.p[i].rel);
		if (l->entry.p[i].kind == ENTRY_IMAGE)
			umount2(path, MNT_DETACH);
		free(path);
	}
	l->mounted = false;
}

static int mount_all(struct view *v, struct err *err)
{
	for (size_t i = 0; i < v->layer.n; i++) {
		struct layer *l = &v->layer.p[i];
		if (l->failed || (!l->bind && !runner_layer_mount(l, v, err)))
			continue;
		l->failed = l->optional;
		l->bind = !l->optional;
		if (l->bind && bind_layer(v, l, err)) {
			runner_view_hide(v);
			return -1;
		}
	}
	return 0;
}

int runner_view_show(struct view *v, struct err *err)
{
	if (v->mounted)
		return 0;
	if (!v->planned && runner_plan_view(v, err)) {
		unplan(v);
		return -1;
	}
	for (size_t i = 0; i < v->layer.n; i++)
		if (!v->layer.p[i].filled && runner_layer_fill(&v->layer.p[i], v, err))
			return -1;
	v->mounted = true;
	return v->kind == RUNNER_VIEW_SUBST ? 0 : mount_all(v, err);
}

bool runner_view_changed(struct view *v, bool *replaced)
{
	bool changed = false;
	for (size_t i = 0; i < v->layer.n; i++) {
		struct layer *l = &v->layer.p[i];
		if (l->failed || !runner_layer_changed(l, v, replaced))
			continue;
		l->filled = false;
		changed = true;
	}
	return changed;
}

void runner_view_hide(struct view *v)
{
	for (size_t i = v->layer.n; i-- > 0;) {
		if (v->layer.p[i].bind)
			unbind_layer(&v->layer.p[i]);
		else
			runner_layer_unmount(&v->layer.p[i]);
	}
	v->mounted = false;
}

void runner_view_wipe(struct view *v)
{
	for (size_t i = 0; i < v->layer.n; i++)
		if (!v->layer.p[i].filled)
			runner_layer_wipe(&v->layer.p[i], v);
}

bool runner_view_full(const struct view *v)
{
	struct statvfs st;
	return !fstatvfs(v->base, &st) && st.f_blocks && !st.f_bavail;
}

void runner_view_end(struct view *v)
{
	unplan(v);
	if (v->home)
		runner_remove_tree(AT_FDCWD, v->home);
}
