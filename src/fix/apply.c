/* SPDX-License-Identifier: BSD-3-Clause */
/* The patch, applied to files, of the source itself or of a copy; and as changes for reports. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fix/internal.h"

int fix_replace_file(const char *path, const char *text, size_t n, struct err *err)
{
	struct stat st;
	char *aside = xasprintf("%s.holdfast-XXXXXX", path);
	int fd = stat(path, &st) ? -1 : mkstemp(aside);
	int bad = fd < 0 || fchmod(fd, st.st_mode & 07777) || write_all(fd, text, n);
	if (fd >= 0 && close(fd))
		bad = 1;
	if (!bad && rename(aside, path))
		bad = 1;
	if (bad) {
		err_errno(err, EXIT_USAGE, "cannot write %s", path);
		if (fd >= 0)
			unlink(aside);
	}
	free(aside);
	return bad ? -1 : 0;
}

int fix_apply_to(const struct fix *x, const char *root, struct err *err)
{
	const struct source_file *last = NULL;
	for (size_t i = 0; i < x->edits.edit.n; i++) {
		const struct source_file *f = x->edits.edit.p[i].file;
		size_t n;
		if (f == last)
			continue;
		last = f;
		char *text = source_edits_apply(&x->edits, f, &n);
		char *path = root ? xasprintf("%s/%s", root, f->name) : xstrdup(f->path);
		int bad = fix_replace_file(path, text, n, err);
		free(path);
		free(text);
		if (bad)
			return -1;
	}
	return 0;
}

int fix_apply(const struct fix *x, struct err *err)
{
	return fix_apply_to(x, NULL, err);
}

static struct report_change change_of(const char *id, const struct source_edit *e)
{
	struct source_place from = source_place_of(e->file, e->at);
	struct source_place to = source_place_of(e->file, e->at + e->remove);
	return (struct report_change){ id,      e->file->path, from.line, from.column,
				       to.line, to.column,     e->text };
}

struct report_change *fix_changes(struct fix *x, size_t *n)
{
	VEC(struct report_change) all = { 0 };
	for (size_t i = 0; i < x->entry.n; i++) {
		struct source_edits e = { 0 };
		struct err ignored; /* what cannot be made alone is in the patch all the same */
		if (x->entry.p[i].state > FIX_PROVED)
			continue;
		if (!fix_entry_edits(x, i, &e, &ignored))
			for (size_t k = 0; k < e.edit.n; k++)
				VEC_PUSH(&all, change_of(x->entry.p[i].f->id, &e.edit.p[k]));
		source_edits_free(&e);
	}
	*n = all.n;
	return all.p;
}
