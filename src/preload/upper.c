/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Our own layer: copies of what is to be changed, and signs for what is not to be seen any more.
 * Several processes and threads may do this at the same time: things are made under a name of
 * their own, and get their place in one step.
 */
#include "preload/internal.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int fail(long code)
{
	errno = (int)-code;
	return -1;
}

/* A name that nobody else uses, in the uppermost base. */
static void temporary(char out[VIEW_PATH])
{
	static unsigned count;
	char digits[PRELOAD_DIGITS];
	strcpy(out, preload_state.base.path[0]);
	strcat(out, "/t");
	strcat(out, preload_digits(digits, (unsigned)preload_sys(SYS_gettid)));
	strcat(out, ".");
	strcat(out, preload_digits(digits, __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED)));
	preload_sys(SYS_unlinkat, AT_FDCWD, out, 0); /* left by one that was killed */
}

/* Owners can be kept by root only. */
static void take_after(const char *name, const struct stat *like)
{
	preload_sys(SYS_fchownat, AT_FDCWD, name, like->st_uid, like->st_gid, AT_SYMLINK_NOFOLLOW);
	if (!S_ISLNK(like->st_mode))
		preload_sys(SYS_fchmodat, AT_FDCWD, name, like->st_mode & 07777);
}

static long look(const char *path, struct stat *st)
{
	return preload_sys(SYS_newfstatat, AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

/* The folder itself in our own layer; p leads to something below the covered folder, or to it. */
static long make_folder(const struct place *p)
{
	char path[VIEW_PATH];
	struct stat st;
	if (preload_in_layer(p, 0, path))
		return -errno;
	long r = preload_sys(SYS_mkdirat, AT_FDCWD, path, 0700);
	if (r == -ENOENT && p->n == p->folder->n) { /* the first change of all */
		preload_sys(SYS_mkdirat, AT_FDCWD, preload_state.base.path[0], 0700);
		r = preload_sys(SYS_mkdirat, AT_FDCWD, path, 0700);
	}
	for (unsigned i = 1; r == 0 && i <= preload_state.base.n; i++) {
		char lower[VIEW_PATH];
		if (!preload_in_layer(p, i, lower) && look(lower, &st) == 0 &&
		    S_ISDIR(st.st_mode)) {
			st.st_mode |= 0700; /* preload_may_change knows what is allowed */
			take_after(path, &st);
			break;
		}
	}
	return r == -EEXIST ? 0 : r;
}

int preload_make_way(const struct place *p)
{
	struct place at = *p;
	const char *end = strrchr(p->path, '/');
	for (const char *s = p->path + p->folder->n; s && s <= end; s = strchr(s + 1, '/')) {
		at.n = (size_t)(s - p->path);
		at.path[at.n] = '\0';
		long r = make_folder(&at);
		if (r < 0)
			return fail(r);
		at.path[at.n] = '/';
	}
	return 0;
}

/* Sparse, as pools often are. */
static long copy_bytes(int from, int to, off_t size)
{
	long r = preload_sys(SYS_ftruncate, to, size);
	for (off_t at = 0; r >= 0 && at < size;) {
		long data = preload_sys(SYS_lseek, from, at, SEEK_DATA);
		if (data == -ENXIO)
			return 0;
		long hole = data < 0 ? -1 : preload_sys(SYS_lseek, from, data, SEEK_HOLE);
		off_t off = data < 0 ? at : data, end = hole < 0 ? size : hole;
		preload_sys(SYS_lseek, to, off, SEEK_SET);
		while (r >= 0 && off < end) {
			r = preload_sys(SYS_sendfile, to, from, &off, end - off);
			if (r == 0) /* it has become shorter */
				return 0;
		}
		at = end;
	}
	return r < 0 ? r : 0;
}

static long copy_file(const char *from, const char *to, const struct stat *st, bool content)
{
	long in = preload_sys(SYS_openat, AT_FDCWD, from, O_RDONLY | O_CLOEXEC);
	if (in < 0)
		return in;
	long out = preload_sys(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			       0600);
	long r = out < 0 || !content ? out : copy_bytes((int)in, (int)out, st->st_size);
	if (r >= 0) {
		const struct timespec t[2] = { st->st_atim, st->st_mtim };
		take_after(to, st);
		preload_sys(SYS_utimensat, out, NULL, t, 0);
	}
	if (out >= 0)
		preload_sys(SYS_close, out);
	preload_sys(SYS_close, in);
	return r < 0 ? r : 0;
}

static long copy_link(const char *from, const char *to, const struct stat *st)
{
	char link[VIEW_PATH];
	long n = preload_sys(SYS_readlinkat, AT_FDCWD, from, link, sizeof link - 1);
	if (n < 0)
		return n;
	link[n] = '\0';
	long r = preload_sys(SYS_symlinkat, link, AT_FDCWD, to);
	if (r == 0)
		take_after(to, st);
	return r;
}

static long copy(const char *from, const char *to, const struct stat *st, bool content)
{
	char temp[VIEW_PATH];
	temporary(temp);
	long r = S_ISLNK(st->st_mode) ? copy_link(from, temp, st)
				      : copy_file(from, temp, st, content);
	if (r == 0) {
		r = preload_sys(SYS_linkat, AT_FDCWD, temp, AT_FDCWD, to, 0);
		r = r == -EEXIST ? 0 : r; /* another one was quicker */
	}
	preload_sys(SYS_unlinkat, AT_FDCWD, temp, 0);
	return r;
}

int preload_bring(struct place *p, bool content)
{
	char from[VIEW_PATH], to[VIEW_PATH];
	struct stat st;
	if (p->layers & 1)
		return 0;
	if (preload_in_layer(p, preload_layer(p), from) || preload_in_layer(p, 0, to))
		return -1;
	long r = look(from, &st);
	if (r < 0)
		return fail(r);
	bool known = S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode);
	if (!known)
		return 1;
	if (preload_make_way(p))
		return -1;
	if (S_ISDIR(st.st_mode))
		r = make_folder(p);
	else if (preload_is_input(from))
		r = preload_sys(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
	else
		r = copy(from, to, &st, content);
	if (r < 0)
		return fail(r);
	p->layers |= 1;
	return 0;
}

/* One after the other, not in one step: the tracer knows what unlink means. */
int preload_hide(struct place *p)
{
	char path[VIEW_PATH];
	if (preload_make_way(p) || preload_in_layer(p, 0, path))
		return -1;
	long r = preload_sys(SYS_unlinkat, AT_FDCWD, path, 0);
	if (r == 0 || r == -ENOENT)
		r = preload_sys(SYS_symlinkat, PRELOAD_GONE, AT_FDCWD, path);
	if (r < 0 && r != -EEXIST)
		return fail(r);
	p->layers = 0;
	p->gone = true;
	return 0;
}

int preload_unhide(const struct place *p)
{
	char path[VIEW_PATH];
	if (preload_in_layer(p, 0, path))
		return -1;
	long r = preload_sys(SYS_unlinkat, AT_FDCWD, path, 0);
	return r < 0 ? fail(r) : 0;
}

int preload_may_change(const struct place *p)
{
	char path[VIEW_PATH];
	size_t n = (size_t)(strrchr(p->path, '/') - p->path);
	if (!(p->above & 1u << preload_state.base.n))
		return 0;
	memcpy(path, p->path, n);
	strcpy(path + n, n ? "" : "/");
	long r = preload_sys(SYS_faccessat2, AT_FDCWD, path, W_OK | X_OK, AT_EACCESS);
	return r == -EACCES ? fail(r) : 0;
}
