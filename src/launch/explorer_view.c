/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an explored program sees of the file system: all that is there, but what it changes is
 * its own and gone with it. There are overlays over its working directory, the folders that its
 * arguments and the symbolic files are in, /tmp, /var/tmp and /dev/shm; a symbolic file is a file
 * of ours that is mounted where the program looks for it.
 *
 * Everything that this is made of lies in one tmpfs, the view. It is mounted beneath /proc, where
 * no path leads to. The tool has a descriptor of it: each child of the fork server makes the
 * same mounts again in a namespace of its own (tracer/world/view.c).
 *
 *   view/  l0  u0  w0    the folder as it is, what the program changes, overlayfs's own
 *          s1            a symbolic file, or what is mounted below one of the folders
 *          c             for the children
 */
#include "launch/explorer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct plan {
	struct explorer_plan want;
	struct sym_control *control;
	bool user; /* in a user namespace */
};

static void *fail(struct err *err, const char *what, const char *path)
{
	err_errno(err, EXIT_PROGRAM, "%s%s%s", what, path ? " " : "", path ? path : "");
	return NULL;
}

/* ---- namespaces ---- */

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t n = write(fd, text, strlen(text));
	close(fd);
	return n < 0 ? -1 : 0;
}

static int map_ids(uid_t uid, gid_t gid)
{
	char text[64];
	prctl(PR_SET_DUMPABLE, 1);
	put("/proc/self/setgroups", "deny");
	snprintf(text, sizeof text, "%u %u 1", uid, uid);
	if (put("/proc/self/uid_map", text))
		return -1;
	snprintf(text, sizeof text, "%u %u 1", gid, gid);
	return put("/proc/self/gid_map", text);
}

/* The tool makes mounts for its children; the right to do so must survive exec. The tool does
 * not let the program use it (tracer/world/view.c). */
static int keep_mounting(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	static const int needed[] = { CAP_SYS_ADMIN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_CHOWN };
	struct __user_cap_data_struct d[2] = { 0 };
	if (syscall(SYS_capget, &h, d))
		return -1;
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		d[0].inheritable |= 1u << needed[i];
	if (syscall(SYS_capset, &h, d))
		return -1;
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, needed[i], 0, 0))
			return -1;
	return 0;
}

static bool has_socket(const struct launch_explorer *e)
{
	for (size_t i = 0; i < e->opts.nsource; i++)
		if (e->opts.source[i].kind == SYM_SRC_SOCKET)
			return true;
	return false;
}

static int enter_namespaces(const struct launch_explorer *e, bool *user, struct err *err)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int net = has_socket(e) ? CLONE_NEWNET : 0;
	*user = uid != 0 || unshare(CLONE_NEWNS | net);
	if (*user &&
	    (unshare(CLONE_NEWUSER | CLONE_NEWNS | net) || map_ids(uid, gid) || keep_mounting()))
		return err_errno(err, EXIT_PROGRAM,
				 "runs cannot be kept apart: no namespaces are allowed here");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return err_errno(err, EXIT_PROGRAM, "cannot make the mounts private");
	if (net)
		loopback_up();
	return 0;
}

static bool is_covered(const struct plan *p, const char *dir)
{
	for (uint32_t i = 0; i < p->control->nmounts; i++) {
		const struct sym_mount *m = &p->control->mount[i];
		if (m->kind == SYM_OVERLAY && path_below(dir, m->path) &&
		    !launch_explorer_mount_between(&p->want, m->path, dir))
			return true;
	}
	return false;
}

/* ---- mounts; the working directory is the view ---- */

static int open_view(struct err *err)
{
	int proc = open_tree(AT_FDCWD, "/proc", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	bool ok = proc >= 0 && !mount("holdfast", "/proc", "tmpfs", 0, NULL);
	int view = ok ? open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	ok = ok && view >= 0 && !move_mount(proc, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH);
	if (!ok || fchdir(view) || mkdir("c", 0700)) {
		fail(err, "cannot make a private tmpfs", NULL);
		return -1;
	}
	close(proc);
	return view;
}

static struct sym_mount *new_mount(struct plan *p, enum sym_mount_kind kind, const char *path,
				   unsigned *id, struct err *err)
{
	*id = p->control->nmounts;
	if (*id >= SYM_MAX_MOUNTS || strlen(path) >= SYM_MAX_PATH) {
		err_set(err, EXIT_PROGRAM, "too much to be mounted, at %s", path);
		return NULL;
	}
	struct sym_mount *m = &p->control->mount[p->control->nmounts++];
	*m = (struct sym_mount){ .kind = kind, .user = p->user };
	strcpy(m->path, path);
	return m;
}

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

/* What is mounted at path must be seen again when an overlay is over it. */
static int keep_mount(struct plan *p, const char *path, struct err *err)
{
	char name[16];
	unsigned id;
	struct stat st;
	if (stat(path, &st)) /* nobody gets there */
		return 0;
	if (!new_mount(p, SYM_BIND, path, &id, err))
		return -1;
	snprintf(name, sizeof name, "s%u", id);
	if (make_target(name, S_ISDIR(st.st_mode)) ||
	    mount(path, name, NULL, MS_BIND | MS_REC, NULL))
		return fail(err, "cannot keep what is mounted at", path), -1;
	return 0;
}

/* The outermost mounts below dir. */
static int keep_submounts(struct plan *p, const char *dir, struct err *err)
{
	const struct mount_points *all = &p->want.mounts;
	for (size_t i = 0; i < all->n; i++) {
		const char *m = path_below(all->p[i], dir);
		bool known = !m || !*m;
		for (size_t j = 0; !known && j < all->n; j++) {
			const char *other = path_below(all->p[j], dir);
			known = other && *other && path_below(all->p[i], all->p[j]) &&
				(j < i || strcmp(all->p[i], all->p[j]) != 0);
		}
		if (!known && keep_mount(p, all->p[i], err))
			return -1;
	}
	return 0;
}

/* Again what the newest overlay hides. */
static int show_again(const struct plan *p, uint32_t from, struct err *err)
{
	for (uint32_t i = from; i < p->control->nmounts; i++) {
		char name[16];
		const struct sym_mount *m = &p->control->mount[i];
		snprintf(name, sizeof name, "s%u", i);
		if (mount(name, m->path, NULL, MS_BIND | MS_REC, NULL))
			return fail(err, "cannot show again what is mounted at", m->path), -1;
	}
	return 0;
}

/* ---- what an overlay begins with ---- */

static int copy_file(const char *from, int to)
{
	struct stat st;
	int fd = open(from, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	int bad = fstat(fd, &st) || copy_sparse(fd, to);
	fchmod(to, st.st_mode & 07777);
	close(fd);
	return bad ? -1 : 0;
}

/* What is ours now, and was somebody else's, gives us no more rights than that did. */
static mode_t mode_like(const struct plan *p, const char *path, mode_t mode)
{
	if (!p->user)
		return mode & 07777;
	return (mode & 07077) | (access(path, R_OK) ? 0 : 0400) | (access(path, W_OK) ? 0 : 0200) |
	       (access(path, X_OK) ? 0 : 0100);
}

static void take_after(const struct plan *p, const char *name, const char *path)
{
	struct stat st;
	if (stat(path, &st))
		return;
	mode_t mode = mode_like(p, path, st.st_mode);
	int ignored = chown(name, st.st_uid, st.st_gid);
	(void)ignored;
	chmod(name, mode);
}

/*
 * The folders on the way from `dir` down to `rel`, in the upper folder: the kernel makes them
 * there when something below them is changed, but in a user namespace it cannot do so if their
 * owner or group is not in it.
 */
static void make_way(const struct plan *p, const char *upper, const char *dir, const char *rel)
{
	for (size_t n = 0; rel[n];) {
		n += strcspn(rel + n, "/");
		char *name = xasprintf("%s/%.*s", upper, (int)n, rel);
		char *path = xasprintf("%s/%.*s", dir, (int)n, rel);
		if (!mkdir(name, 0755))
			take_after(p, name, path);
		free(name);
		free(path);
		n += rel[n] == '/';
	}
}

/* The same for a file that is not ours, but may be written by us. */
static void bring_file(const struct plan *p, const char *upper, const char *dir, const char *path)
{
	const char *rel = path_below(path, dir), *slash = strrchr(rel, '/');
	if (slash) {
		char *way = xasprintf("%.*s", (int)(slash - rel), rel);
		make_way(p, upper, dir, way);
		free(way);
	}
	char *name = xasprintf("%s/%s", upper, rel);
	int to = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to >= 0 && copy_file(path, to))
		unlink(name);
	else if (to >= 0)
		take_after(p, name, path);
	if (to >= 0)
		close(to);
	free(name);
}

static void fill_upper(const struct plan *p, const char *upper, const char *dir)
{
	take_after(p, upper, dir);
	for (size_t i = 0; p->user && i < p->want.dirs.n; i++) {
		const char *inner = p->want.dirs.p[i], *rel = path_below(inner, dir);
		if (rel && !launch_explorer_mount_between(&p->want, dir, inner))
			make_way(p, upper, dir, rel);
	}
	for (size_t i = 0; p->user && i < p->want.foreign.n; i++) {
		const char *path = p->want.foreign.p[i];
		if (path && path_below(path, dir) &&
		    !launch_explorer_mount_between(&p->want, dir, path))
			bring_file(p, upper, dir, path);
	}
}

static int cover(struct plan *p, const char *dir, struct err *err)
{
	char lower[16], upper[16], work[16], opts[128];
	unsigned id;
	if (is_covered(p, dir))
		return 0;
	if (!new_mount(p, SYM_OVERLAY, dir, &id, err))
		return -1;
	snprintf(lower, sizeof lower, "l%u", id);
	snprintf(upper, sizeof upper, "u%u", id);
	snprintf(work, sizeof work, "w%u", id);
	snprintf(opts, sizeof opts, "lowerdir=%s,upperdir=%s,workdir=%s%s", lower, upper, work,
		 p->user ? ",userxattr" : "");
	if (mkdir(lower, 0755) || mkdir(upper, 0755) || mkdir(work, 0755) ||
	    mount(dir, lower, NULL, MS_BIND | (p->user ? MS_REC : 0), NULL))
		return fail(err, "cannot keep runs apart in", dir), -1;
	fill_upper(p, upper, dir);
	if (keep_submounts(p, dir, err))
		return -1;
	if (mount("holdfast", dir, "overlay", 0, opts))
		return fail(err, "cannot keep runs apart: no overlay is possible over", dir), -1;
	return show_again(p, id + 1, err);
}

/* ---- symbolic files ---- */

static int show_file(struct plan *p, const char *path, int *fd, struct err *err)
{
	char name[16], *real = realpath(path, NULL), *at = real ? real : xstrdup(path);
	unsigned id;
	int bad = -1, there = real ? 0 : open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (there < 0) {
		err_errno(err, EXIT_PROGRAM, "cannot make %s", path);
	} else if (new_mount(p, SYM_BIND, at, &id, err)) {
		snprintf(name, sizeof name, "s%u", id);
		*fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
		if (*fd < 0 || copy_file(at, *fd) || mount(name, at, NULL, MS_BIND, NULL))
			err_errno(err, EXIT_PROGRAM, "cannot show a symbolic file as %s", path);
		else
			bad = 0;
	}
	if (there > 0)
		close(there);
	free(at);
	return bad;
}

static int show_files(struct plan *p, const struct launch_explorer *e, const char *cwd,
		      struct explorer_files *files, struct err *err)
{
	for (size_t i = 0; i < e->opts.nsource; i++) {
		const char *path = e->opts.source[i].path;
		files->fd[i] = -1;
		if (e->opts.source[i].kind != SYM_SRC_FILE)
			continue;
		char *at = *path == '/' ? xstrdup(path) : xasprintf("%s/%s", cwd, path);
		int bad = show_file(p, at, &files->fd[i], err);
		free(at);
		if (bad)
			return -1;
	}
	return 0;
}

int launch_explorer_view_enter(const struct launch_explorer *e, struct explorer_files *files,
			       struct err *err)
{
	struct plan p = { .control = e->control };
	char *cwd = getcwd(NULL, 0);
	if (!cwd)
		return err_errno(err, EXIT_PROGRAM, "the working directory is gone");
	launch_explorer_plan(&p.want, e);
	if (enter_namespaces(e, &p.user, err))
		return -1;
	p.control->nmounts = 0;
	int view = open_view(err);
	if (view < 0)
		return -1;
	for (size_t i = 0; i < p.want.dirs.n; i++)
		if (cover(&p, p.want.dirs.p[i], err))
			return -1;
	if (show_files(&p, e, cwd, files, err))
		return -1;
	if (chdir(cwd))
		return err_errno(err, EXIT_PROGRAM, "cannot enter %s", cwd);
	return view; /* memory is not given back: the process will be another in a moment */
}
