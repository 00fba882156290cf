/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which files are plug-ins: one that is named with --oracle, by its path or by its name, and those in the
 * folders for plug-ins, HOLDFAST_ORACLES first and then where the shipped ones are. A name stands for
 * NAME.so, or for all of NAME-*.so; the first folder that has a file of some name wins.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <unistd.h>

#include "check/internal.h"

/* In the build tree oracles/ is beside holdfast; installed, lib is beside bin. */
static char *shipped(bool installed)
{
	const char *libdir = CHECK_LIBDIR;
	if (!installed)
		return xasprintf("%s/oracles", own_folder());
	return *libdir == '/' ? xasprintf("%s/holdfast/oracles", libdir)
			      : xasprintf("%s/../%s/holdfast/oracles", own_folder(), libdir);
}

static bool has_name(const check_files *files, const char *name)
{
	for (size_t i = 0; i < files->n; i++)
		if (!strcmp(strrchr(files->p[i], '/') + 1, name))
			return true;
	return false;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void add_matching(check_files *files, const char *dir, const char *glob)
{
	struct dirent **entry;
	int n = scandir(dir, &entry, NULL, by_name);
	for (int i = 0; i < n; i++) {
		const char *name = entry[i]->d_name;
		if (*name != '.' && !fnmatch(glob, name, 0) && !has_name(files, name))
			VEC_PUSH(files, xasprintf("%s/%s", dir, name));
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
}

/* In all folders; `*.so` is all there are. */
static void find(check_files *files, const char *glob)
{
	const char *set = getenv("HOLDFAST_ORACLES");
	char *copy = xstrdup(set ? set : ""), *rest = copy, *dir;
	while ((dir = strsep(&rest, ":")))
		if (*dir)
			add_matching(files, dir, glob);
	free(copy);
	for (int installed = 0; installed < 2; installed++) {
		dir = shipped(installed);
		add_matching(files, dir, glob);
		free(dir);
	}
}

check_files check_find_all(void)
{
	check_files files = { 0 };
	find(&files, "*.so");
	return files;
}

check_files check_find(const char *word)
{
	check_files files = { 0 };
	size_t len = strlen(word);
	bool whole = len > 3 && !strcmp(word + len - 3, ".so");
	if (strchr(word, '/')) {
		VEC_PUSH(&files, xstrdup(word));
		return files;
	}
	if (whole && access(word, F_OK)) {
		find(&files, word);
	} else if (!whole) {
		char *glob = xasprintf("%s.so", word), *group = xasprintf("%s-*.so", word);
		find(&files, glob);
		if (!files.n)
			find(&files, group);
		free(glob);
		free(group);
	}
	if (!files.n && !access(word, F_OK))
		VEC_PUSH(&files, xasprintf("./%s", word));
	return files;
}

void check_files_free(check_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		free(files->p[i]);
	VEC_FREE(files);
}

const struct holdfast_oracle *check_find_open(const char *path, void **handle, struct err *err)
{
	const struct holdfast_oracle *o;
	if (check_attempt(path, err))
		return NULL;
	*handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!*handle) {
		err_set(err, EXIT_USAGE, "cannot load the oracle %s: %s", path, dlerror());
		return NULL;
	}
	o = dlsym(*handle, "holdfast_oracle");
	if (o && o->api >= 1 && o->api <= HOLDFAST_ORACLE_API)
		return o;
	if (!o)
		err_set(err, EXIT_USAGE, "%s is no oracle: it defines no holdfast_oracle", path);
	else
		err_set(err, EXIT_USAGE,
			"the oracle %s is made for version %u of the interface, this is version %u",
			path, o->api, HOLDFAST_ORACLE_API);
	dlclose(*handle);
	return NULL;
}
