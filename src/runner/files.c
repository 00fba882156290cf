/* SPDX-License-Identifier: BSD-3-Clause */
/* The caller's side of images: what is written goes to the image and to the truth. */
#include "runner/caller.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failed(const struct runner *r, uint32_t file, struct err *err)
{
	const char *path = r->opts->file[file].path;
	if (errno == ENOSPC)
		return err_set(err, EXIT_PROGRAM,
			       "no room for the image of %s: the tmpfs that holds it is full",
			       path);
	return err_errno(err, EXIT_PROGRAM, "cannot write the image of %s", path);
}

int runner_size(struct runner *r, unsigned cell, uint32_t file, uint64_t size, struct err *err)
{
	struct runner_cell *c = &r->cell[cell];
	struct side *s = &c->file[file];
	if (!s->named && runner_name(r, cell, file, r->opts->file[file].path, err))
		return -1;
	if (size == s->size)
		return 0;
	if (ftruncate(s->image, (off_t)size) || ftruncate(s->truth, (off_t)size))
		return failed(r, file, err);
	s->size = size;
	c->resized = true;
	return 0;
}

int runner_write(struct runner *r, unsigned cell, uint32_t file, uint64_t off, const void *data,
		 size_t len, struct err *err)
{
	const struct side *s = &r->cell[cell].file[file];
	if (off > s->size || len > s->size - off)
		return err_set(err, EXIT_INTERNAL, "a write beyond the end of %s",
			       r->opts->file[file].path);
	if (write_all_at(s->image, data, len, off) || write_all_at(s->truth, data, len, off))
		return failed(r, file, err);
	return 0;
}

int runner_name(struct runner *r, unsigned cell, uint32_t file, const char *path, struct err *err)
{
	struct runner_cell *c = &r->cell[cell];
	if (path && *path != '/')
		return err_set(err, EXIT_INTERNAL, "%s: not an absolute path", path);
	if (c->state != CELL_IDLE)
		return err_set(err, EXIT_INTERNAL, "cell %u is not idle", cell);
	struct side *s = &c->file[file];
	s->named = true;
	if (path && s->path ? !strcmp(path, s->path) : path == s->path)
		return 0;
	if (runner_ask(c, OP_NAME, file, path)) {
		runner_bury(c, NULL);
		return err_set(err, EXIT_PROGRAM, "a sandbox has ended");
	}
	free(s->path);
	s->path = path ? xstrdup(path) : NULL;
	return 0;
}

/* Names in the folder; where two files have the same, the later ones get a number. */
static char *export_name(const struct runner *r, uint32_t file)
{
	const char *name = strrchr(r->opts->file[file].path, '/') + 1;
	for (uint32_t i = 0; i < file; i++)
		if (!strcmp(strrchr(r->opts->file[i].path, '/') + 1, name))
			return xasprintf("%s.%u", name, file);
	return xstrdup(name);
}

int runner_export(struct runner *r, unsigned cell, const char *dir, struct err *err)
{
	for (uint32_t i = 0; i < r->opts->nfile; i++) {
		const struct side *s = &r->cell[cell].file[i];
		if (!s->path)
			continue;
		char *name = export_name(r, i), *path = xasprintf("%s/%s", dir, name);
		int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		int bad = fd < 0 || copy_sparse(s->truth, fd);
		if (bad)
			err_errno(err, EXIT_PROGRAM, "cannot write %s", path);
		if (fd >= 0 && close(fd) && !bad)
			bad = err_errno(err, EXIT_PROGRAM, "cannot write %s", path);
		free(path);
		free(name);
		if (bad)
			return -1;
	}
	return 0;
}
