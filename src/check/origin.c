/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who executed an atomic instruction. On the processor it orders the flushes before it; but a lock
 * that the C library takes inside exit() or malloc() is not there to do so, and may be gone in the next
 * version. So for `check` only the atomic instructions of the program and of its own libraries
 * complete a flush. Crash states are what the hardware allows, and know nothing of this.
 *
 * The runtime is known by its modules; an allocator that replaces malloc, by the exported
 * functions through which it is entered.
 */
#include <fnmatch.h>

#include "check/internal.h"

static const char *const modules[] = { "libc.so*",      "libc-*.so",       "ld-linux*",
				       "ld-*.so",       "libpthread*.so*", "libstdc++.so*",
				       "libc++.so*",    "libm.so*",        "libgcc_s*",
				       "libc++abi.so*", "libdl.so*",       "libdl-*.so",
				       "librt.so*",     "vgpreload_*",     NULL };
static const char *const allocators[] = { "malloc",           "calloc",   "realloc",
					  "reallocarray",     "free",     "aligned_alloc",
					  "posix_memalign",   "memalign", "operator new*",
					  "operator delete*", NULL };

enum { RUNTIME = 1, NO_RUNTIME = 2 };

bool check_named(const char *const *globs, const char *word)
{
	for (; word && *globs; globs++)
		if (!fnmatch(*globs, word, 0))
			return true;
	return false;
}

bool check_in_module(const struct srcloc_frame *f, const char *const *globs)
{
	const char *slash = f->module ? strrchr(f->module, '/') : NULL;
	return check_named(globs, slash ? slash + 1 : f->module);
}

/* The frame through which the runtime was entered; the number of frames: it was not. */
static size_t entry_of(const struct finding_place *p)
{
	size_t i = 0;
	while (i < p->n && check_in_module(&p->frame[i], modules))
		i++;
	if (i)
		return i - 1;
	for (i = 0; i < p->n; i++)
		if (p->frame[i].module && p->frame[i].module == p->frame[0].module &&
		    check_named(allocators, p->frame[i].function))
			return i;
	return p->n;
}

bool check_is_runtime(struct check *c, model_where w)
{
	while (c->flags.n <= w)
		VEC_PUSH(&c->flags, 0);
	if (!c->flags.p[w]) {
		const struct finding_place *p = check_place(c, w);
		c->flags.p[w] = p->n && entry_of(p) < p->n ? RUNTIME : NO_RUNTIME;
		VEC_PUSH(&c->wanted, w);
	}
	return c->flags.p[w] == RUNTIME;
}

const char *check_runtime_text(struct check *c, model_where w, char *buf, size_t size)
{
	const struct finding_place *p = check_place(c, w);
	size_t i = entry_of(p);
	const char *name = i < p->n ? p->frame[i].function : NULL;
	snprintf(buf, size, "%s%s", name ? name : "the C library",
		 name && !strchr(name, '(') ? "()" : "");
	return buf;
}
