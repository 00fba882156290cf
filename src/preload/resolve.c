/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a path to the layers that have it. Components are taken one by one, because each may be a
 * symbolic link into or out of a covered folder, and in a covered folder each layer has its own
 * idea of it:
 *
 *   layer 0 has    and the next layers then count
 *   nothing        yes
 *   a folder       yes: their contents are seen together
 *   a file, link   no
 *   the sign       no, and nothing is there
 *
 * In this order, `layers` gets a bit for each layer that has the path and counts.
 */
#include "preload/internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINKS 40

static int fail(long code)
{
	errno = (int)-code;
	return -1;
}

unsigned preload_layer(const struct place *p)
{
	return p->layers ? (unsigned)__builtin_ctz(p->layers) : 0;
}

int preload_in_layer(const struct place *p, unsigned layer, char out[VIEW_PATH])
{
	const struct preload_bases *b = &preload_state.base;
	size_t at = 0;
	if (layer < b->n) {
		char digits[PRELOAD_DIGITS];
		at = strlen(b->path[layer]);
		memcpy(out, b->path[layer], at);
		strcpy(out + at, "/u");
		strcpy(out + at + 2, preload_digits(digits, p->folder->id));
		at += strlen(out + at);
	}
	size_t from = layer < b->n ? p->folder->n : 0;
	if (at + (p->n - from) + 2 > VIEW_PATH) {
		return fail(-ENAMETOOLONG);
	}
	memcpy(out + at, p->path + from, p->n - from);
	at += p->n - from;
	if (!at)
		out[at++] = '/';
	out[at] = '\0';
	return 0;
}

static bool is_folder(const char *path)
{
	struct stat st;
	return preload_sys(SYS_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

bool preload_is_folder(const struct place *p)
{
	char path[VIEW_PATH];
	return p->layers && !preload_in_layer(p, preload_layer(p), path) && is_folder(path);
}

static long read_link(const char *path, char out[VIEW_PATH])
{
	long n = preload_sys(SYS_readlinkat, AT_FDCWD, path, out, VIEW_PATH - 1);
	if (n >= 0)
		out[n] = '\0';
	return n;
}

bool preload_is_sign(const char *path)
{
	char link[VIEW_PATH];
	return read_link(path, link) >= 0 && !strcmp(link, PRELOAD_GONE);
}

bool preload_is_below(const struct place *p)
{
	char path[VIEW_PATH], link[VIEW_PATH];
	for (unsigned i = 1; i <= preload_state.base.n; i++) {
		if (!(p->above & 1u << i) || preload_in_layer(p, i, path))
			continue;
		long n = read_link(path, link);
		if (n != -ENOENT && n != -ENOTDIR)
			return n < 0 || strcmp(link, PRELOAD_GONE) != 0;
	}
	return false;
}

/* The layers of a component whose folder has `above`. Returns the length of the link that it is,
 * 0 if it is none, -errno. */
static long look(struct place *p, char link[VIEW_PATH])
{
	char path[VIEW_PATH];
	unsigned real = preload_state.base.n;
	p->above = p->layers;
	p->layers = 0;
	p->gone = false;
	for (unsigned i = 0; i <= real; i++) {
		if (!(p->above & 1u << i))
			continue;
		if (preload_in_layer(p, i, path))
			return -ENAMETOOLONG;
		long n = read_link(path, link);
		if (n == -ENOENT)
			continue;
		if (n == -ENOTDIR)
			return p->layers ? 0 : -ENOTDIR;
		if (n >= 0 && i < real && !strcmp(link, PRELOAD_GONE)) {
			p->gone = i == 0;
			return 0;
		}
		if (p->layers && (n >= 0 || !is_folder(path))) /* behind a folder */
			return 0;
		p->layers |= 1u << i;
		if (n >= 0)
			return n;
	}
	return 0;
}

/* A descriptor that the program may write to, or whose file is ours or has no name any more. */
static bool is_open(const char *path, const char *link)
{
	char own[PRELOAD_DIGITS + 16] = "/proc/", digits[PRELOAD_DIGITS];
	strcat(own, preload_digits(digits, (unsigned)preload_sys(SYS_getpid)));
	strcat(own, "/fd/");
	size_t n = strlen(own), end = strlen(link);
	if (strncmp(path, own, n) != 0)
		return false;
	long flags = preload_sys(SYS_fcntl, atoi(path + n), F_GETFL);
	return (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY) || preload_in_base(link) ||
	       (end > 10 && !strcmp(link + end - 10, " (deleted)"));
}

/* Links in /proc that have no path for a target lead where only the kernel knows. */
static bool is_opaque(const struct place *p, const char *link)
{
	if (strncmp(p->path, "/proc/", 6) != 0 || !strchr(p->path + 6, '/'))
		return false;
	return *link != '/' || is_open(p->path, link);
}

/* Goes one component down. Returns the length of the link that is there, 0 if none is, -errno. */
static long step(struct place *p, const char *name, size_t n, char link[VIEW_PATH])
{
	if (p->n + n + 2 > VIEW_PATH)
		return -ENAMETOOLONG;
	p->path[p->n] = '/';
	memcpy(p->path + p->n + 1, name, n);
	p->n += n + 1;
	p->path[p->n] = '\0';
	const struct preload_folder *f = preload_folder_at(p->path, p->n);
	if (f && !(f->only && p->folder)) {
		p->folder = f;
		p->above = p->layers = (2u << preload_state.base.n) - 1;
		p->gone = false;
		return 0;
	}
	if (p->folder)
		return look(p, link);
	long len = read_link(p->path, link);
	return len < 0 || is_opaque(p, link) ? 0 : len;
}

static void to_root(struct place *p)
{
	p->n = 0;
	*p->path = '\0';
	p->folder = preload_folder_at("", 0);
	p->above = p->layers = p->folder ? (2u << preload_state.base.n) - 1 : 0;
	p->gone = false;
}

static size_t component(const char *s)
{
	return strcspn(s, "/");
}

/* "." and "..": how many; 0: another name. */
static unsigned dots(const char *s, size_t n)
{
	return n <= 2 && !strncmp(s, "..", n) ? (unsigned)n : 0;
}

/* A path without links, from the root on. */
static long again(struct place *p, const char *path)
{
	char link[VIEW_PATH];
	to_root(p);
	for (const char *s = path; *s == '/';) {
		size_t n = component(++s);
		long bad = n ? step(p, s, n, link) : 0;
		if (bad < 0)
			return bad;
		s += n;
	}
	return 0;
}

static long up(struct place *p)
{
	char path[VIEW_PATH];
	char *slash = strrchr(p->path, '/');
	if (!slash)
		return 0;
	*slash = '\0';
	p->n = (size_t)(slash - p->path);
	if (!p->folder)
		return 0;
	p->moved = true;
	memcpy(path, p->path, p->n + 1);
	return again(p, path);
}

int preload_fd_path(int fd, char out[VIEW_PATH])
{
	char name[PRELOAD_DIGITS + 16] = "/proc/self/fd/", digits[PRELOAD_DIGITS];
	strcat(name, preload_digits(digits, (unsigned)fd));
	long n = read_link(name, out);
	return n < 0 || *out != '/' ? fail(n < 0 ? n : -ENOTDIR) : 0;
}

/* Where a relative path begins. */
static int start(struct place *p, int dirfd)
{
	char inside[VIEW_PATH], path[VIEW_PATH];
	if (dirfd == AT_FDCWD) {
		long n = preload_sys(SYS_getcwd, inside, sizeof inside);
		if (n < 0 || *inside != '/')
			return fail(n < 0 ? n : -ENOENT);
	} else if (preload_fd_path(dirfd, inside)) {
		return -1;
	}
	p->moved = preload_outside(inside, path);
	long bad = again(p, p->moved ? path : inside);
	return bad < 0 ? fail(bad) : 0;
}

/* An absolute path mostly begins with one of the folders, which have no links. */
static const char *jump(struct place *p, const char *path)
{
	const struct preload_folder *f = preload_folder_over(path);
	if (!f || !f->n)
		return path;
	memcpy(p->path, f->dir, f->n + 1);
	p->n = f->n;
	p->folder = f;
	p->above = p->layers = (2u << preload_state.base.n) - 1;
	return path + f->n;
}

/* Puts the link in front of what is left of the path. */
static int put_before(char rest[VIEW_PATH], const char *link, const char *left)
{
	size_t n = strlen(link), m = strlen(left);
	if (n + m + 2 > VIEW_PATH)
		return -1;
	memmove(rest + n + 1, left, m + 1);
	memcpy(rest, link, n);
	rest[n] = m ? '/' : '\0';
	return 0;
}

/* Continues where a link leads to. `rest` becomes the whole way, of which `left` was left. */
static long turn(struct place *p, char rest[VIEW_PATH], const char *link, const char *left)
{
	char outside[VIEW_PATH];
	bool slash = p->slash;
	p->moved = p->moved || p->folder;
	if (*link == '/') {
		to_root(p);
		if (preload_outside(link, outside))
			link = outside;
	} else {
		long bad = up(p);
		if (bad < 0)
			return bad;
	}
	if (put_before(rest, link, left))
		return -ENAMETOOLONG;
	if (slash)
		strcat(rest, "/");
	return 0;
}

static int walk(struct place *p, char rest[VIEW_PATH], int follow)
{
	char link[VIEW_PATH];
	unsigned links = 0;
	for (const char *s = rest; *s;) {
		size_t n = component(s), skip = n + strspn(s + n, "/");
		bool last = !s[skip];
		long len = 0;
		p->slash = last && s[n] == '/';
		p->dots = dots(s, n);
		if (p->folder && !p->layers)
			return fail(-ENOENT);
		if (p->dots && p->folder && !preload_is_folder(p))
			return fail(-ENOTDIR);
		if (p->dots == 2)
			len = up(p);
		else if (!p->dots)
			len = step(p, s, n, link);
		s += skip;
		bool turns = !last || follow == FOLLOW || (p->slash && follow != FOLLOW_NEVER);
		if (len > 0 && turns) {
			len = ++links > MAX_LINKS ? -ELOOP : turn(p, rest, link, s);
			s = rest + strspn(rest, "/");
		}
		if (len < 0)
			return fail(len);
	}
	return p->folder ? 1 : 0;
}

/* A covered folder itself: our layers have it only once something was changed in it. */
static void find_root(struct place *p)
{
	char path[VIEW_PATH];
	unsigned real = preload_state.base.n;
	for (unsigned i = 0; i < real; i++)
		if (preload_in_layer(p, i, path) || !is_folder(path))
			p->layers &= ~(1u << i);
}

static int resolve(struct place *p, int dirfd, const char *path, int follow)
{
	char rest[VIEW_PATH], outside[VIEW_PATH];
	p->slash = p->moved = false;
	p->dots = 0;
	to_root(p);
	if (preload_copy(rest, path) + 2 > VIEW_PATH)
		return fail(-ENAMETOOLONG);
	path = rest;
	if (!*path)
		return 0;
	if (*path == '/' && preload_outside(path, outside)) {
		path = outside;
		p->moved = true;
	} else if (*path == '/' && preload_in_base(path)) {
		return 0;
	}
	if (*path != '/' && start(p, dirfd))
		return errno == ENAMETOOLONG ? -1 : 0;
	if (*path == '/')
		path = jump(p, path);
	path += strspn(path, "/");
	memmove(rest, path, strlen(path) + 1);
	int found = walk(p, rest, follow);
	if (found > 0 && p->n == p->folder->n)
		find_root(p);
	return found;
}

/* To look at the input is to use it: a child of the fork server, with a layer of its own, goes on from
 * there, and looks again. */
int preload_resolve(struct place *p, int dirfd, const char *path, int follow)
{
	unsigned layers = preload_layers();
	int found = resolve(p, dirfd, path, follow);
	return layers == preload_layers() ? found : resolve(p, dirfd, path, follow);
}
