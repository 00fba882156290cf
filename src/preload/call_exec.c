/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that start programs. A program without the library would see, and change, the real
 * files: each one gets it, whatever environment it is given, and those that cannot have it are
 * refused.
 */
#undef _FILE_OFFSET_BITS

#include "preload/internal.h"

#include <alloca.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX (1 << 13)
#define KEPT 3 /* variables */

/* ---- the environment ---- */

static const char *library(void)
{
	static const char *name;
	Dl_info self;
	if (!name && dladdr((void *)library, &self))
		name = self.dli_fname;
	return name;
}

/* Before the program may have changed anything. */
__attribute__((constructor)) static void learn_name(void)
{
	library();
}

static const char *value_of(const char *entry, const char *name)
{
	size_t n = strlen(name);
	return !strncmp(entry, name, n) && entry[n] == '=' ? entry + n + 1 : NULL;
}

static const char *look_up(char *const *env, const char *name)
{
	for (; env && *env; env++)
		if (value_of(*env, name))
			return value_of(*env, name);
	return NULL;
}

struct kept {
	char view[TEXT_MAX];
	char preload[VIEW_PATH * 2];
	char map[TEXT_MAX];
};

static void keep_preload(struct kept *k, char *const *env)
{
	const char *list = look_up(env, "LD_PRELOAD"), *own = library();
	bool there = list && own && strstr(list, own);
	strcpy(k->preload, "LD_PRELOAD=");
	if (there || !own || strlen(own) + (list ? strlen(list) : 0) + 16 > sizeof k->preload) {
		strncat(k->preload, list ? list : "", sizeof k->preload - 16);
		return;
	}
	strcat(k->preload, own);
	if (list && *list) {
		strcat(k->preload, ":");
		strcat(k->preload, list);
	}
}

static size_t count(char *const *list)
{
	size_t n = 0;
	while (list && list[n])
		n++;
	return n;
}

/* The environment, with the library's own variables as they are to be. Room for KEPT more. */
static void fill_environment(char **out, char *const *env, struct kept *k)
{
	const char *map = getenv(FAST_MAP);
	size_t n = 0;
	preload_text(k->view, sizeof k->view);
	keep_preload(k, env);
	out[n++] = k->view;
	out[n++] = k->preload;
	if (map && strlen(map) + sizeof FAST_MAP + 2 < sizeof k->map) {
		strcpy(k->map, FAST_MAP "=");
		strcat(k->map, map);
		out[n++] = k->map;
	}
	for (; env && *env; env++)
		if (!value_of(*env, PRELOAD_VIEW) && !value_of(*env, "LD_PRELOAD") &&
		    (!map || !value_of(*env, FAST_MAP)))
			out[n++] = *env;
	out[n] = NULL;
}

#define WITH_VIEW(name, env)                                                                       \
	struct kept kept_##name;                                                                   \
	char **name = alloca((count(env) + KEPT + 1) * sizeof *name);                              \
	fill_environment(name, env, &kept_##name)

/* system and popen use the program's own environment, which it may have emptied. */
static void mend_environment(void)
{
	char view[TEXT_MAX];
	struct kept k;
	if (!preload_on() || (look_up(environ, PRELOAD_VIEW) && look_up(environ, "LD_PRELOAD")))
		return;
	preload_text(view, sizeof view);
	keep_preload(&k, environ);
	setenv(PRELOAD_VIEW, value_of(view, PRELOAD_VIEW), 1);
	setenv("LD_PRELOAD", value_of(k.preload, "LD_PRELOAD"), 1);
}

/* ---- programs that are refused ---- */

static void put(int fd, const char *text)
{
	preload_sys(SYS_write, fd, text, strlen(text));
}

/* Tells people, and the cell, which does not take it for a verdict on the image. */
static int refuse(const char *program, const char *why)
{
	char path[VIEW_PATH];
	put(2, "holdfast: ");
	put(2, program);
	put(2, why);
	put(2, "\n");
	if (!preload_beside(path, preload_state.base.path[0], PRELOAD_REFUSED)) {
		preload_sys(SYS_mkdirat, AT_FDCWD, preload_state.base.path[0], 0700);
		long fd = preload_sys(SYS_openat, AT_FDCWD, path,
				      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (fd >= 0) {
			put((int)fd, program);
			put((int)fd, why);
			preload_sys(SYS_close, fd);
		}
	}
	errno = EPERM;
	return -1;
}

/* A tool of Valgrind is static, and brings the library to the program that it runs. */
static int check(const struct way *w, const char *program, char *const *env)
{
	if (look_up(env, "VALGRIND_LAUNCHER"))
		return 0;
	const char *why = w->dirfd == AT_FDCWD || *w->path == '/' ? preload_refuses(w->path) : NULL;
	return why ? refuse(program, why) : 0;
}

/* ---- exec ---- */

static int run(int dirfd, const char *path, char *const *argv, char *const *env, int flags)
{
	struct way w;
	if (!preload_on())
		return (int)preload_result(
			preload_sys(SYS_execveat, dirfd, path, argv, env, flags));
	if (preload_see(&w, dirfd, path, flags & AT_SYMLINK_NOFOLLOW ? SEE_LINK : 0) ||
	    check(&w, path, env))
		return -1;
	WITH_VIEW(full, env);
	long r = flags || w.dirfd != AT_FDCWD
			 ? preload_sys(SYS_execveat, w.dirfd, w.path, argv, full, flags)
			 : preload_sys(SYS_execve, w.path, argv, full);
	return (int)preload_result(r);
}

EXPORT int execve(const char *path, char *const argv[], char *const env[])
{
	if (!preload_on())
		return (int)preload_result(preload_sys(SYS_execve, path, argv, env));
	return run(AT_FDCWD, path, argv, env, 0);
}

EXPORT int execveat(int dirfd, const char *path, char *const argv[], char *const env[], int flags)
{
	return run(dirfd, path, argv, env, flags);
}

EXPORT int fexecve(int fd, char *const argv[], char *const env[])
{
	return run(fd, "", argv, env, AT_EMPTY_PATH);
}

EXPORT int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

/* What the kernel does not know may be a script without a first line. */
static int run_or_script(const char *path, char *const *argv, char *const *env)
{
	execve(path, argv, env);
	if (errno != ENOEXEC)
		return -1;
	size_t n = count(argv);
	char **words = alloca((n + 3) * sizeof *words);
	words[0] = (char *)"/bin/sh";
	words[1] = (char *)path;
	for (size_t i = 1; i <= n; i++)
		words[i + 1] = argv[i];
	words[n > 1 ? n + 1 : 2] = NULL;
	return execve("/bin/sh", words, env);
}

/* The next folder of a search path; NULL: no more. */
static const char *next_folder(const char *list, const char *file, char out[VIEW_PATH])
{
	size_t n = strcspn(list, ":"), m = strlen(file);
	if (n + m + 2 > VIEW_PATH)
		return list[n] ? list + n + 1 : NULL;
	memcpy(out, list, n);
	if (n)
		out[n++] = '/';
	memcpy(out + n, file, m + 1);
	list += strcspn(list, ":");
	return *list ? list + 1 : NULL;
}

EXPORT int execvpe(const char *file, char *const argv[], char *const env[])
{
	const char *list = getenv("PATH");
	char path[VIEW_PATH];
	bool denied = false;
	if (!*file) {
		errno = ENOENT;
		return -1;
	}
	if (strchr(file, '/'))
		return run_or_script(file, argv, env);
	for (list = list ? list : "/bin:/usr/bin"; list;) {
		*path = '\0';
		list = next_folder(list, file, path);
		run_or_script(path, argv, env);
		denied = denied || errno == EACCES;
		if (errno != ENOENT && errno != ENOTDIR && errno != EACCES && errno != ESTALE &&
		    errno != ENODEV && errno != ETIMEDOUT)
			return -1;
	}
	errno = denied ? EACCES : ENOENT;
	return -1;
}

EXPORT int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

/* The words of execl and its like: counted, then collected. */
#define WORDS(name, first, ap)                                                                     \
	size_t n_##name = 1;                                                                       \
	va_list again_##name;                                                                      \
	va_copy(again_##name, ap);                                                                 \
	while (va_arg(again_##name, char *))                                                       \
		n_##name++;                                                                        \
	va_end(again_##name);                                                                      \
	char **name = alloca((n_##name + 1) * sizeof *name);                                       \
	name[0] = (char *)first;                                                                   \
	for (size_t i_ = 1; i_ <= n_##name; i_++)                                                  \
	name[i_] = va_arg(ap, char *)

EXPORT int execl(const char *path, const char *first, ...)
{
	va_list ap;
	va_start(ap, first);
	WORDS(argv, first, ap);
	va_end(ap);
	return execve(path, argv, environ);
}

EXPORT int execlp(const char *file, const char *first, ...)
{
	va_list ap;
	va_start(ap, first);
	WORDS(argv, first, ap);
	va_end(ap);
	return execvpe(file, argv, environ);
}

EXPORT int execle(const char *path, const char *first, ...)
{
	va_list ap;
	va_start(ap, first);
	WORDS(argv, first, ap);
	char *const *env = va_arg(ap, char *const *);
	va_end(ap);
	return execve(path, argv, env);
}

/* ---- spawn ---- */

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
	struct way w;
	int saved = errno;
	if (!preload_on())
		return NEXT(posix_spawn)(pid, path, actions, attr, argv, env);
	if (preload_see(&w, AT_FDCWD, path, 0) || check(&w, path, env)) {
		int code = errno;
		errno = saved;
		return code;
	}
	WITH_VIEW(full, env);
	return NEXT(posix_spawn)(pid, w.path, actions, attr, argv, full);
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
	const char *list = getenv("PATH");
	char path[VIEW_PATH];
	if (!preload_on())
		return NEXT(posix_spawnp)(pid, file, actions, attr, argv, env);
	if (strchr(file, '/'))
		return posix_spawn(pid, file, actions, attr, argv, env);
	int saved = errno;
	for (list = list ? list : "/bin:/usr/bin"; list;) {
		*path = '\0';
		list = next_folder(list, file, path);
		if (!access(path, X_OK)) {
			errno = saved;
			return posix_spawn(pid, path, actions, attr, argv, env);
		}
	}
	errno = saved;
	return ENOENT;
}

/* The file is opened in the child, but by libc itself. */
EXPORT int posix_spawn_file_actions_addopen(posix_spawn_file_actions_t *actions, int fd,
					    const char *path, int flags, mode_t mode)
{
	struct way w;
	unsigned how = (flags & O_ACCMODE) != O_RDONLY ? SEE_CHANGE : 0;
	int saved = errno;
	if (flags & O_CREAT)
		how |= SEE_CREATE;
	if (preload_see(&w, AT_FDCWD, path, how)) /* the child is to find out */
		w.path = path;
	errno = saved;
	return NEXT(posix_spawn_file_actions_addopen)(actions, fd, w.path, flags, mode);
}

EXPORT int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions,
						const char *path)
{
	struct way w;
	int saved = errno;
	if (preload_see(&w, AT_FDCWD, path, 0))
		w.path = path;
	errno = saved;
	return NEXT(posix_spawn_file_actions_addchdir_np)(actions, w.path);
}

EXPORT int system(const char *command)
{
	mend_environment();
	return NEXT(system)(command);
}

EXPORT FILE *popen(const char *command, const char *type)
{
	mend_environment();
	return NEXT(popen)(command, type);
}
