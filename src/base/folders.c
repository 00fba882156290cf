/* SPDX-License-Identifier: BSD-3-Clause */
/* Folders: with their parents, and a tree of files in another place. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base.h"

int make_folders(const char *path, struct err *err)
{
	char *own = xstrdup(path);
	struct stat st;
	int bad = 0;
	for (char *p = own + 1; !bad; p++) {
		char c = *p;
		if (c && c != '/')
			continue;
		*p = 0;
		if (mkdir(own, 0777) && (stat(own, &st) || !S_ISDIR(st.st_mode)))
			bad = err_set(err, EXIT_USAGE, "cannot make the folder %s", own);
		*p = c;
		if (!c)
			break;
	}
	free(own);
	return bad;
}

void common_folder(char **common, const char *path)
{
	size_t n = 0, slash = 0;
	if (!*common) {
		*common = xstrdup(path);
		(*common)[strrchr(path, '/') - path + 1] = '\0';
	}
	for (; (*common)[n] && (*common)[n] == path[n]; n++)
		if (path[n] == '/')
			slash = n;
	(*common)[slash + 1] = '\0';
}

char *place_below(const char *dir, const char *common, const char *path)
{
	char *place = xasprintf("%s/%s", dir, path + strlen(common));
	for (char *slash = place + strlen(dir) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(place, 0777);
		*slash = '/';
	}
	return place;
}
