/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of a cell: names besides the first one of each image. */
#include "sandbox/internal.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

/* Where a path is, without symbolic links on the way; malloc'ed; NULL: nowhere. */
static char *seen_at(const char *path)
{
	const char *rest;
	char *dir = sandbox_existing(path, &rest), *seen = dir ? sandbox_joined(dir, rest) : NULL;
	free(dir);
	return seen;
}

static void add_entry(struct planning *p, struct sandbox_cell *c, const struct also *a,
		      const char *seen)
{
	static const enum entry_kind kinds[] = {
		[SANDBOX_FILE] = ENTRY_IMAGE,          [SANDBOX_FOLDER] = ENTRY_FOLDER,
		[SANDBOX_OTHER_FOLDER] = ENTRY_FOLDER, [SANDBOX_LINK] = ENTRY_LINK,
		[SANDBOX_GONE] = ENTRY_GONE,
	};
	struct row *r = sandbox_plan_covering(p, seen, true);
	const char *rel = r ? sandbox_path_below(seen, r->path) : NULL;
	struct stat st;
	bool is = !lstat(seen, &st);
	/* without an overlay there is no upper folder for what is no image */
	if (!rel || !*rel || (r->singly && a->kind != SANDBOX_FILE) ||
	    (a->kind == SANDBOX_GONE && !is))
		return;
	sandbox_plan_parents(c, r, rel);
	size_t before = r->entry.n;
	bool like = is && S_ISDIR(st.st_mode) && kinds[a->kind] == ENTRY_FOLDER;
	if (like)
		st.st_mode |= 0700;
	sandbox_row_add(r, rel, kinds[a->kind], (unsigned)a->file, like ? &st : NULL);
	if (a->kind == SANDBOX_LINK && r->entry.n > before)
		r->entry.p[before].target = xstrdup(a->target);
}

/* A folder that is not the one which is really there: what that has in it is not to be seen. */
static void empty_folder(struct planning *p, const char *seen)
{
	struct row *r = sandbox_plan_covering(p, seen, false);
	DIR *dir = r && !r->singly ? opendir(seen) : NULL;
	for (struct dirent *d; dir && (d = readdir(dir));) {
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		char *path = sandbox_joined(seen, d->d_name);
		sandbox_row_add(r, sandbox_path_below(path, r->path), ENTRY_GONE, 0, NULL);
		free(path);
	}
	if (dir)
		closedir(dir);
}

void sandbox_plan_also(struct planning *p, struct sandbox_cell *c)
{
	for (size_t i = 0; i < c->also.n; i++) {
		char *seen = seen_at(c->also.p[i].path);
		if (seen)
			add_entry(p, c, &c->also.p[i], seen);
		free(seen);
	}
	for (size_t i = 0; i < c->also.n; i++) {
		char *seen = c->also.p[i].kind == SANDBOX_OTHER_FOLDER ? seen_at(c->also.p[i].path)
								       : NULL;
		if (seen)
			empty_folder(p, seen);
		free(seen);
	}
}
