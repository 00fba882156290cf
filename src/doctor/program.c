/* SPDX-License-Identifier: BSD-3-Clause */
/* What there is to be known of a program. */
#include <stdlib.h>
#include <unistd.h>

#include "doctor/internal.h"
#include "launch/launch.h"
#include "sandbox/sandbox.h"
#include "srcloc/srcloc.h"

bool doctor_program(const char *program, char **found)
{
	struct err err;
	char *path = launch_resolve(program, &err);
	bool bad = !path || launch_check_program(path, &err);
	*found = bad ? xstrdup(err.text) : path;
	if (bad)
		free(path);
	return !bad;
}

bool doctor_program_sandbox(const char *program, char **found)
{
	struct err err;
	const struct sandbox_view *view = doctor_view(&err);
	char *path = launch_resolve(program, &err);
	*found = view && path ? sandbox_view_refuses(view, path) : xstrdup(err.text);
	free(path);
	if (*found)
		return false;
	*found = xasprintf("it does (--view %s)", view->name);
	return true;
}

struct units {
	size_t n, there;
};

static void count(void *arg, const struct srcloc_unit *u)
{
	struct units *units = arg;
	char *path = *u->name == '/' || !u->folder ? xstrdup(u->name)
						   : xasprintf("%s/%s", u->folder, u->name);
	units->n++;
	units->there += !access(path, R_OK);
	free(path);
}

/* Its compilation units; false: none is known, *found says why. */
static bool units_of(const char *program, struct units *units, char **found)
{
	struct err err;
	char *path = launch_resolve(program, &err);
	if (!path)
		*found = xstrdup(err.text);
	else if (!srcloc_units(path, count, units) || !units->n)
		*found = xasprintf("%s has none", path);
	free(path);
	return *found == NULL;
}

bool doctor_debug(const char *program, char **found)
{
	struct units units = { 0 };
	if (!units_of(program, &units, found))
		return false;
	*found = xasprintf("of %zu source files", units.n);
	return true;
}

bool doctor_sources(const char *program, char **found)
{
	struct units units = { 0 };
	if (!units_of(program, &units, found)) {
		free(*found);
		*found = xstrdup("without debug information nobody knows them");
		return false;
	}
	*found = xasprintf("%zu of %zu can be read", units.there, units.n);
	return units.there > 0;
}
