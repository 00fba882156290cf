/* SPDX-License-Identifier: BSD-3-Clause */
/* dlopen of a library that the program made or changed. */
#include "preload/internal.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>

/*
 * libc looks at who calls it, for a search path and for a namespace; where there is nothing to
 * be done it must not see us: the call is made a jump.
 */
#if defined(__clang__)
#define JUMP(call) __attribute__((musttail)) return call
#define AS_JUMP
#else
#define JUMP(call) return call
#define AS_JUMP __attribute__((optimize("O2", "optimize-sibling-calls")))
#endif

typedef void *open_fn(const char *, int);

static open_fn *next_dlopen(void)
{
	return NEXT(dlopen);
}

/* Does the path lead to a file of our own layers? Then its real path is in `out`. */
__attribute__((noinline)) static bool is_own(const char *file, char out[VIEW_PATH])
{
	struct way w;
	int saved = errno;
	bool own = file && strchr(file, '/') && preload_on() &&
		   !preload_see(&w, AT_FDCWD, file, 0) && w.ours &&
		   preload_layer(&w.place) < preload_state.base.n;
	errno = saved;
	if (own)
		strcpy(out, w.path);
	return own;
}

__attribute__((noinline)) static void *open_own(const char *file, int flags)
{
	char path[VIEW_PATH];
	return is_own(file, path) ? next_dlopen()(path, flags) : NULL;
}

__attribute__((noinline)) static bool leads_inside(const char *file)
{
	char path[VIEW_PATH];
	return is_own(file, path);
}

AS_JUMP EXPORT void *dlopen(const char *file, int flags)
{
	if (leads_inside(file))
		return open_own(file, flags);
	open_fn *next = next_dlopen();
	JUMP(next(file, flags));
}
