/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The view that needs nothing: the images are in a folder of their own, and the command is told
 * where. The machinery is the same as with mounts, but for these.
 */
#include "sandbox/internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int sandbox_make_folder(struct sandbox_cell *c, struct err *err)
{
	const char *tmp = getenv("TMPDIR");
	const char *const where[] = { "/dev/shm", tmp && *tmp == '/' ? tmp : "/tmp", "/tmp" };
	for (size_t i = 0; i < sizeof where / sizeof *where; i++) {
		c->home = xasprintf("%s/holdfast-XXXXXX", where[i]);
		if (mkdtemp(c->home)) {
			c->base = open(c->home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			return c->base < 0 ? err_errno(err, EXIT_PROGRAM, "cannot open %s", c->home)
					   : 0;
		}
		free(c->home);
		c->home = NULL;
	}
	return err_errno(err, EXIT_PROGRAM, "cannot make a folder in /dev/shm or /tmp");
}

/* The files of the first one's folder together, others in folders by number. */
static int plan(struct sandbox_cell *c, struct err *err)
{
	struct row r = { .kind = ROW_OVERLAY, .path = xasprintf("%s/u0", c->home) };
	const char *first = c->nfile ? c->file[0].home : "/";
	(void)err;
	sandbox_row_add(&r, "", ENTRY_FOLDER, 0, NULL);
	for (size_t i = 0; i < c->nfile; i++) {
		struct shown *f = &c->file[i];
		if (!f->path)
			continue;
		const char *name = strrchr(f->path, '/') + 1, *slash = strrchr(first, '/');
		size_t n = (size_t)(slash - first) + 1;
		bool beside = n == (size_t)(name - f->path) && !strncmp(first, f->path, n);
		char *rel = beside ? xstrdup(name) : xasprintf("%zu/%s", i, name);
		f->seen = xasprintf("%s/%s", r.path, rel);
		sandbox_plan_parents(c, &r, rel);
		sandbox_row_add(&r, rel, ENTRY_IMAGE, (unsigned)i, NULL);
		free(rel);
	}
	VEC_PUSH(&c->row, r);
	return 0;
}

const struct sandbox_ops sandbox_ops_subst = { .make = sandbox_make_folder, .plan = plan };
