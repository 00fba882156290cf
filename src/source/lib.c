/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libclang is loaded when source is first asked about, not when holdfast starts: it and LLVM are a hundred
 * megabytes to map and relocate, and most verbs never need them.
 */
#include <dlfcn.h>

#include "source/internal.h"

struct source_lib source_lib;

static void *open_any(void)
{
	static const char *const names[] = { LIBCLANG, "libclang.so.1", "libclang.so" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		void *h = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
		if (h)
			return h;
	}
	return NULL;
}

int source_lib_load(struct err *err)
{
	if (source_lib.handle)
		return 0;
	void *h = open_any();
	if (!h)
		return err_set(err, EXIT_PROGRAM,
			       "libclang cannot be loaded (%s); install the package libclang1",
			       dlerror());
#define LOAD(name)                                                                                 \
	if (!(source_lib.name = (__typeof__(source_lib.name))dlsym(h, "clang_" #name)))            \
		return err_set(err, EXIT_PROGRAM, "libclang is too old: it has no clang_%s", #name);
	SOURCE_CLANG(LOAD)
#undef LOAD
	source_lib.handle = h;
	return 0;
}

bool source_available(void)
{
	struct err err;
	return source_lib_load(&err) == 0;
}
