/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The views with a mount namespace: the plan becomes overlays and bind mounts. The private folder
 * is a tmpfs, mounted beneath /proc, where no path leads to.
 */
#include "sandbox/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

bool sandbox_is_user(const struct sandbox_cell *c)
{
	return c->view->ops->spaces & CLONE_NEWUSER;
}

/* ---- the private folder ---- */

static int private_tmpfs(void)
{
	int fs = fsopen("tmpfs", FSOPEN_CLOEXEC), fd = -1;
	if (fs >= 0 && !fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		fd = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (fs >= 0)
		close(fs);
	return fd;
}

/* It has to be mounted somewhere, or nothing could be mounted from it. */
static int make(struct sandbox_cell *c, struct err *err)
{
	int proc = open_tree(AT_FDCWD, "/proc", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	c->base = proc >= 0 ? private_tmpfs() : -1;
	bool ok = c->base >= 0 &&
		  !move_mount(c->base, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH) &&
		  !move_mount(proc, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH);
	if (!ok)
		err_errno(err, EXIT_PROGRAM, "cannot make a private tmpfs");
	if (proc >= 0)
		close(proc);
	return ok ? 0 : -1;
}

/* ---- what rows are made from; the working directory is the private folder ---- */

/* An empty file or folder to mount something on. */
static int make_target(const char *name, bool folder)
{
	if (folder)
		return mkdir(name, 0755);
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : 0;
}

static void source_of(size_t row, enum row_kind kind, char name[24])
{
	snprintf(name, 24, "%c%zu", kind == ROW_OVERLAY ? 'l' : 's', row);
}

static int prepare(const struct sandbox_cell *c, size_t row, struct err *err)
{
	const struct row *r = &c->row.p[row];
	char name[24], image[32];
	struct stat st;
	source_of(row, r->kind, name);
	if (r->kind == ROW_IMAGE) {
		snprintf(image, sizeof image, "img/%u", r->image);
		return link(image, name) ? err_errno(err, EXIT_PROGRAM, "cannot link an image") : 0;
	}
	/* In a user namespace what is mounted below something cannot be left away. */
	unsigned long deep = r->kind == ROW_AGAIN || sandbox_is_user(c) ? MS_REC : 0;
	if (stat(r->path, &st) || make_target(name, S_ISDIR(st.st_mode)) ||
	    mount(r->path, name, NULL, MS_BIND | deep, NULL))
		return err_errno(err, EXIT_PROGRAM, "cannot keep what is at %s", r->path);
	return 0;
}

static void forget(struct sandbox_cell *c)
{
	if (c->base < 0 || fchdir(c->base))
		return;
	for (size_t i = c->row.n; i-- > 0;) {
		char name[24];
		source_of(i, c->row.p[i].kind, name);
		if (!c->row.p[i].prepared)
			continue;
		umount2(name, MNT_DETACH);
		if (unlink(name)) /* it is empty, or something is still mounted there */
			rmdir(name);
	}
}

/* ---- mounts ---- */

static int mount_overlay(const struct sandbox_cell *c, size_t row, struct err *err)
{
	char options[128];
	const char *path = c->row.p[row].path;
	snprintf(options, sizeof options, "lowerdir=l%zu,upperdir=u%zu,workdir=w%zu%s", row, row,
		 row, sandbox_is_user(c) ? ",userxattr" : "");
	if (mount("holdfast", path, "overlay", 0, options))
		return err_errno(err, EXIT_PROGRAM, "cannot mount over %s", path);
	return 0;
}

static char *below(const struct row *r, const struct entry *e)
{
	return xasprintf("%s/%s", strcmp(r->path, "/") ? r->path : "", e->rel);
}

static int mount_singly(struct row *r, struct err *err)
{
	for (size_t i = 0; i < r->entry.n; i++) {
		char image[32];
		const struct entry *e = &r->entry.p[i];
		snprintf(image, sizeof image, "img/%u", e->image);
		char *path = below(r, e);
		int bad = 0;
		if (e->kind == ENTRY_IMAGE && mount(image, path, NULL, MS_BIND, NULL))
			bad = err_errno(
				err, EXIT_PROGRAM,
				"no overlay over %s is possible, and %s cannot be mounted over",
				r->path, path);
		else if (e->kind == ENTRY_GONE)
			bad = err_set(err, EXIT_PROGRAM,
				      "no overlay over %s is possible, and %s cannot be hidden",
				      r->path, path);
		free(path);
		if (bad)
			return -1;
		r->mounted = r->mounted || e->kind == ENTRY_IMAGE;
	}
	return 0;
}

static bool has_image(const struct row *r)
{
	for (size_t i = 0; i < r->entry.n; i++)
		if (r->entry.p[i].kind == ENTRY_IMAGE)
			return true;
	return false;
}

/* A row that cannot be performed may be done without, or in another way. */
static int instead(struct row *r)
{
	r->failed = r->optional;
	r->singly = !r->optional && r->kind == ROW_OVERLAY && has_image(r);
	return r->failed || r->singly ? 0 : -1;
}

static int mount_row(struct sandbox_cell *c, size_t row, struct err *err)
{
	struct row *r = &c->row.p[row];
	char name[24];
	int bad = 0;
	if (r->kind == ROW_AGAIN && !c->row.p[r->over].mounted)
		return 0;
	source_of(row, r->kind, name);
	if (r->kind == ROW_OVERLAY)
		bad = mount_overlay(c, row, err);
	else if (mount(name, r->path, NULL, MS_BIND | (r->kind == ROW_AGAIN ? MS_REC : 0), NULL))
		bad = err_errno(err, EXIT_PROGRAM, "cannot show something at %s", r->path);
	r->mounted = !bad;
	return bad;
}

static void hide(struct sandbox_cell *c)
{
	for (size_t i = c->row.n; i-- > 0;) {
		struct row *r = &c->row.p[i];
		for (size_t j = 0; r->mounted && r->singly && j < r->entry.n; j++) {
			char *path = below(r, &r->entry.p[j]);
			if (r->entry.p[j].kind == ENTRY_IMAGE)
				umount2(path, MNT_DETACH);
			free(path);
		}
		/* What is mounted again below an overlay goes with that. */
		if (r->mounted && !r->singly && r->kind != ROW_AGAIN)
			umount2(r->path, MNT_DETACH);
		r->mounted = false;
	}
}

/* All is prepared first: a mount hides what is below it. */
static int show(struct sandbox_cell *c, struct err *err)
{
	bool bad = fchdir(c->base);
	if (bad)
		return err_errno(err, EXIT_INTERNAL, "cannot enter a private folder");
	for (size_t i = 0; !bad && i < c->row.n; i++) {
		struct row *r = &c->row.p[i];
		if (!r->failed && !r->singly && !r->prepared) {
			r->prepared = true;
			bad = prepare(c, i, err) && instead(r);
		}
	}
	for (size_t i = 0; !bad && i < c->row.n; i++) {
		struct row *r = &c->row.p[i];
		if (!r->failed && !r->singly)
			bad = mount_row(c, i, err) && instead(r);
		if (!bad && r->singly)
			bad = mount_singly(r, err);
	}
	if (bad)
		hide(c);
	return bad ? -1 : 0;
}

/* ---- for others ---- */

int sandbox_cell_rows(const struct sandbox_cell *c, struct mount_row *out, uint32_t max,
		      uint32_t *n, struct err *err)
{
	*n = 0;
	if (mkdirat(c->base, "c", 0700))
		return err_errno(err, EXIT_PROGRAM, "cannot make a private folder");
	for (size_t i = 0; i < c->row.n; i++) {
		const struct row *r = &c->row.p[i];
		if (i >= max || strlen(r->path) >= sizeof out->path)
			return err_set(err, EXIT_PROGRAM, "too much to be mounted, at %s", r->path);
		struct mount_row *m = &out[(*n)++];
		*m = (struct mount_row){ .kind = r->kind == ROW_OVERLAY ? MOUNT_OVERLAY
									: MOUNT_BIND,
					 .user = sandbox_is_user(c) };
		strcpy(m->path, r->path);
	}
	return 0;
}

/* ---- does it work here? ---- */

/* An overlay in the private folder, which is empty. */
static int try_it(const struct sandbox_view *view, struct err *err)
{
	struct sandbox_space space = sandbox_space_of(view, false, false);
	struct sandbox_cell *c = sandbox_cell_new(&(struct sandbox_opts){ .view = view });
	if (sandbox_space_enter(&space, err) || sandbox_cell_open(c, err))
		return -1;
	if (fchdir(c->base) || mkdir("l0", 0755) || mkdir("u0", 0755) || mkdir("w0", 0755))
		return err_errno(err, EXIT_PROGRAM, "cannot make a private folder");
	VEC_PUSH(&c->row, ((struct row){ .path = xstrdup("l0") }));
	int bad = mount_overlay(c, 0, err);
	sandbox_cell_end(c);
	return bad;
}

static int probe(const struct sandbox_view *view, struct err *err)
{
	struct err why = { EXIT_PROGRAM, "the attempt has ended early" };
	int fds[2];
	if (pipe2(fds, O_CLOEXEC))
		return err_errno(err, EXIT_INTERNAL, "cannot make a pipe");
	pid_t pid = fork();
	if (pid == 0) {
		why.status = 0;
		try_it(view, &why);
		_exit(write_all(fds[1], &why, sizeof why) ? 1 : 0);
	}
	close(fds[1]);
	if (pid < 0)
		err_errno(&why, EXIT_INTERNAL, "cannot start a process");
	else if (read(fds[0], &why, sizeof why) < 0)
		err_errno(&why, EXIT_INTERNAL, "cannot read a pipe");
	close(fds[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (why.status)
		*err = why;
	return why.status ? -1 : 0;
}

const struct sandbox_ops sandbox_ops_mount = {
	.spaces = CLONE_NEWNS,
	.probe = probe,
	.make = make,
	.plan = sandbox_plan,
	.show = show,
	.hide = hide,
	.forget = forget,
};
const struct sandbox_ops sandbox_ops_userns = {
	.spaces = CLONE_NEWNS | CLONE_NEWUSER,
	.probe = probe,
	.make = make,
	.plan = sandbox_plan,
	.show = show,
	.hide = hide,
	.forget = forget,
};
