/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places, and the frame of a place that people think of.
 *
 * The instruction that an oracle blames is often deep inside a helper: the clwb of pm_flush(),
 * the store of an inlined memcpy, the sfence in libpmem. People look for the statement that
 * used the helper. So the main frame is the first one with source, walking from the innermost
 * outwards, that is none of these:
 *
 *   - a function from a system header (_mm_clwb),
 *   - a function in a library that exists to persist, copy or run programs (libpmem, libc),
 *   - a function of the program that is marked as a helper, for what it does (helper.c).
 *
 * A frame that is blamed is it in any case: who wants to know what libraries do asks for that. Otherwise the walk
 * ends at main, and the last frame with source is taken if all of them are helpers.
 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "finding/internal.h"
#include "preload/preload.h"

static const char *const system_headers[] = { "/usr/include/*",
					      "/usr/local/include/*",
					      "/usr/lib/gcc/*",
					      "/usr/lib/llvm-*/lib/clang/*",
					      "/usr/lib/clang/*",
					      "/rustc/*",
					      "*/rustlib/src/*",
					      "*/.cargo/registry/*",
					      NULL };
static const char *const library_modules[] = {
	"libpmem*.so*",    "libc.so*",    "libc-*.so",     "libm.so*",      "ld-linux*",
	"libpthread*.so*", "vgpreload_*", "libstdc++.so*", PRELOAD_LIBRARY, NULL
};
bool finding_match_any(const char *const *globs, const char *word)
{
	for (; word && *globs; globs++)
		if (!fnmatch(*globs, word, 0))
			return true;
	return false;
}

const char *finding_basename(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	return slash ? slash + 1 : path;
}

const char *finding_intern(const char *text)
{
	struct entry {
		struct entry *next;
		char text[];
	};
	static struct hmap table; /* hash of the text -> first of a list */
	uint64_t first = 0;
	if (!text)
		return NULL;
	size_t n = strlen(text) + 1;
	uint64_t hash = hash_bytes(text, n);
	hmap_get(&table, hash, &first);
	for (struct entry *e = (struct entry *)(uintptr_t)first; e; e = e->next)
		if (!strcmp(e->text, text))
			return e->text;
	struct entry *e = xmalloc(sizeof *e + n);
	e->next = (struct entry *)(uintptr_t)first;
	memcpy(e->text, text, n);
	hmap_put(&table, hash, (uintptr_t)e);
	return e->text;
}

/* "/b/../src/x.c" is "/src/x.c", unless a symbolic link makes that another file. */
static const char *clean_path(const char *path)
{
	if (!path || *path != '/' || (!strstr(path, "/.") && !strstr(path, "//")))
		return finding_intern(path);
	char *out = xmalloc(strlen(path) + 2);
	size_t n = 0;
	for (const char *p = path; *p;) {
		size_t skip = strspn(p, "/"), len = strcspn(p + skip, "/");
		const char *part = p + skip;
		p = part + len;
		if (len == 2 && !memcmp(part, "..", 2)) {
			while (n > 0 && out[--n] != '/')
				;
		} else if (len && !(len == 1 && *part == '.')) {
			out[n++] = '/';
			memcpy(out + n, part, len);
			n += len;
		}
	}
	out[n] = '\0';
	bool other = access(path, F_OK) == 0 && access(out, F_OK) != 0;
	const char *kept = finding_intern(other ? path : out);
	free(out);
	return kept;
}

struct finding_place finding_place_copy(struct srcloc_where path)
{
	struct finding_place place = { xcalloc(path.n ? path.n : 1, sizeof *place.frame), path.n };
	for (size_t i = 0; i < path.n; i++) {
		place.frame[i] = path.frame[i];
		place.frame[i].function = finding_intern(path.frame[i].function);
		place.frame[i].file = clean_path(path.frame[i].file);
		place.frame[i].module = finding_intern(path.frame[i].module);
	}
	return place;
}

struct finding_place finding_place_clone(const struct finding_place *place)
{
	struct finding_place copy = { xcalloc(place->n ? place->n : 1, sizeof *copy.frame),
				      place->n };
	memcpy(copy.frame, place->frame, place->n * sizeof *copy.frame);
	return copy;
}

bool finding_is_library(const struct srcloc_frame *f)
{
	return f->plt || finding_match_any(system_headers, f->file) ||
	       finding_match_any(library_modules, finding_basename(f->module));
}

static bool is_same(const struct srcloc_frame *a, const struct srcloc_frame *b, bool exact)
{
	if (a->line != b->line)
		return false;
	if (exact)
		return a->offset == b->offset;
	return a->function == b->function && a->file == b->file &&
	       (a->file || a->offset == b->offset);
}

bool finding_same_path(const struct finding_place *a, const struct finding_place *b, bool exact)
{
	bool same = a->n == b->n;
	for (size_t i = 0; same && i < a->n; i++)
		same = is_same(&a->frame[i], &b->frame[i], exact);
	return same;
}

const struct srcloc_frame *finding_main_frame(const struct finding_place *place)
{
	struct srcloc_where path =
		srcloc_path_trim((struct srcloc_where){ place->frame, place->n });
	const struct srcloc_frame *last = NULL, *named = NULL;
	for (size_t i = 0; i < path.n; i++) {
		const struct srcloc_frame *f = &path.frame[i];
		bool helper = f->helper || finding_is_library(f);
		if (f->blamed)
			return f;
		if (f->file && f->line) {
			last = f;
			if (!helper)
				return f;
		}
		if (!named && !helper && f->module && f->kind == SRCLOC_CODE)
			named = f;
	}
	if (named) /* the program's own code without source says more than a helper with it */
		return named;
	return last ? last : path.n ? path.frame : NULL;
}
