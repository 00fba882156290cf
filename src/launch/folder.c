/* SPDX-License-Identifier: BSD-3-Clause */
/* The folder that a recording goes to: which one, may it be used, and its removal. */
#include "launch/internal.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRACE_FILE "trace" /* the one file in a trace's folder */

bool launch_folder_is(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The first process's arguments, which lie one behind the other, each ended by a zero byte. */
char **launch_command(const struct trace_defs *defs, size_t *n)
{
	const struct trace_process_def *p = trace_process(defs, 0);
	VEC(char *) words = { 0 };
	for (uint32_t i = 0; p && i < p->command_len; i += (uint32_t)strlen(p->command + i) + 1)
		VEC_PUSH(&words, p->command + i);
	*n = words.n;
	return words.p;
}

/* A long name is cut, not within a character of UTF-8, so that there is room for the number. */
static int name_room(const char *name)
{
	size_t room = NAME_MAX - sizeof "-4294967295.hft" + 1, n = strlen(name);
	if (n <= room)
		return (int)n;
	while (room > 1 && ((unsigned char)name[room] & 0xc0) == 0x80)
		room--;
	return (int)room;
}

/* Who makes the folder has the name, however many look for one at the same time. */
char *launch_folder_default(const char *program, struct err *err)
{
	const char *slash = strrchr(program, '/');
	const char *name = slash && slash[1] ? slash + 1 : program;
	for (unsigned n = 0;; n++) {
		char *dir = xasprintf("%.*s-%u.hft", name_room(name), name, n);
		if (!mkdir(dir, 0777))
			return dir;
		if (errno != EEXIST) {
			err_errno(err, EXIT_USAGE, "cannot create the folder %s", dir);
			free(dir);
			return NULL;
		}
		free(dir);
	}
}

/* The folder's entries that are not a trace's; NULL: none. *any: there is something. */
static char *stranger(const char *dir, bool *any)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	char *found = NULL;
	*any = false;
	while (d && !found && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		*any = true;
		if (strcmp(e->d_name, TRACE_FILE) != 0)
			found = xstrdup(e->d_name);
	}
	if (d)
		closedir(d);
	return found;
}

/* Is the file in it a trace, even one that was cut short before its first byte? */
static bool is_trace(const char *dir)
{
	char *path = xasprintf("%s/" TRACE_FILE, dir);
	struct stat st;
	struct err ignored;
	bool empty = !stat(path, &st) && S_ISREG(st.st_mode) && st.st_size == 0;
	free(path);
	if (empty)
		return true;
	struct trace_reader *r = trace_open(dir, &ignored);
	if (r)
		trace_close(r);
	return r != NULL;
}

/* A folder with something in it. */
static int check_full(const char *dir, const char *strange, bool force, struct err *err)
{
	if (!force)
		return err_set(err, EXIT_USAGE, "%s exists; choose another folder, or --force",
			       dir);
	if (strange)
		return err_set(err, EXIT_USAGE, "%s is not replaced: '%s' in it is not a trace",
			       dir, strange);
	if (!is_trace(dir))
		return err_set(err, EXIT_USAGE, "%s is not replaced: it is not a trace", dir);
	return 0;
}

int launch_folder_clear(const char *dir, bool force, bool *existed, struct err *err)
{
	struct stat st;
	bool any;
	*existed = !stat(dir, &st);
	if (!*existed)
		return errno == ENOENT ? 0 : err_errno(err, EXIT_USAGE, "cannot use %s", dir);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, EXIT_USAGE, "%s exists and is not a folder", dir);
	char *strange = stranger(dir, &any);
	int bad = any ? check_full(dir, strange, force, err) : 0;
	free(strange);
	if (!bad && any && launch_folder_remove(dir, false))
		bad = err_errno(err, EXIT_USAGE, "cannot replace %s", dir);
	return bad;
}

int launch_folder_remove(const char *dir, bool itself)
{
	char *path = xasprintf("%s/" TRACE_FILE, dir);
	int bad = unlink(path);
	free(path);
	if (itself)
		bad = rmdir(dir);
	return bad;
}
