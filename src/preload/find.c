/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the library to preload is: beside the tracer. */
#include "preload/preload.h"
#include "base/base.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *in(const char *dir, const char *below, const char *library)
{
	char *path = xasprintf("%s/%s%s", dir, below, library);
	if (!access(path, R_OK) && !strpbrk(path, " :")) /* which LD_PRELOAD cannot name */
		return path;
	free(path);
	return NULL;
}

char *preload_find(const char *library, struct err *err)
{
	/* In the build tree libexec/ is beside holdfast, installed it is beside bin/. */
	static const char *const places[] = { "libexec/holdfast/", "../libexec/holdfast/" };
	const char *set = getenv("HOLDFAST_LIBEXEC");
	const char *self = own_folder();
	char *found = NULL;
	if (set && *set)
		found = in(set, "", library);
	for (size_t i = 0; !found && i < sizeof places / sizeof *places; i++)
		found = in(self, places[i], library);
	if (!found)
		err_set(err, EXIT_PROGRAM,
			"cannot find %s beside %s; HOLDFAST_LIBEXEC can name its folder", library,
			self);
	return found;
}
