/* SPDX-License-Identifier: BSD-3-Clause */
/* What is installed. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "doctor/internal.h"
#include "launch/launch.h"
#include "source/source.h"

/* A path that was found, or why there is none. */
static bool path_or(char *path, const struct err *err, char **found)
{
	*found = path ? path : xstrdup(err->text);
	return path != NULL;
}

bool doctor_valgrind(const char *program, char **found)
{
	struct err err;
	(void)program;
	return path_or(launch_find_valgrind(&err), &err, found);
}

bool doctor_tracer(const char *program, char **found)
{
	struct err err;
	(void)program;
	return path_or(launch_find_libexec(&err), &err, found);
}

static int ignore(void *arg, const struct trace_event *e, struct err *err)
{
	(void)arg, (void)e, (void)err;
	return 0;
}

/* With nothing on its streams: what it says is not ours. */
static int run_it(const char *path, struct launch_result *res, struct err *err)
{
	const char *argv[] = { path, NULL };
	struct launch_opts lo = { .argv = argv, .stdin_path = "/dev/null" };
	struct trace_live *live = trace_live_new(NULL, ignore, NULL, err);
	struct launch *l = live ? launch_new(&lo, err) : NULL;
	int bad = !l || launch_run(l, live, res, err);
	launch_free(l);
	trace_live_free(live);
	return bad;
}

bool doctor_record(const char *program, char **found)
{
	struct launch_result res = { 0 };
	struct err err = { 0 };
	double begun = now_seconds();
	char *path = find_program("true");
	(void)program;
	if (!path) {
		*found = xstrdup("there is no 'true' on PATH to try it with");
		return false;
	}
	bool bad = run_it(path, &res, &err) || res.status;
	if (!bad)
		*found = xasprintf("%s, in %.1f s", path, now_seconds() - begun);
	else
		*found = *err.text ? xstrdup(err.text)
				   : xasprintf("%s ended with status %d", path, res.status);
	free(path);
	return !bad;
}

bool doctor_gdb(const char *program, char **found)
{
	struct err err = { EXIT_PROGRAM, "it is not on PATH" };
	(void)program;
	return path_or(find_program("gdb"), &err, found);
}

bool doctor_libclang(const char *program, char **found)
{
	bool there = source_available();
	(void)program;
	*found = xstrdup(there ? "it can be loaded"
			       : "holdfast was built without it, or it cannot be loaded");
	return there;
}
