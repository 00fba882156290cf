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

static int fill(int fd, const void *data, size_t len, struct err *err)
{
	if (fd >= 0 && (ftruncate(fd, 0) || write_all_at(fd, data, len, 0)))
		return err_errno(err, EXIT_PROGRAM, "cannot write the operations for {ops}");
	return 0;
}

int runner_ops(struct runner *r, unsigned cell, const void *data, size_t len, struct err *err)
{
	return fill(r->cell[cell].ops, data, len, err);
}

int runner_before(struct runner *r, unsigned cell, const void *data, size_t len, struct err *err)
{
	return fill(r->cell[cell].before, data, len, err);
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

static int ended(struct runner_cell *c, struct err *err)
{
	runner_bury(c, NULL);
	return err_set(err, EXIT_PROGRAM, "a sandbox has ended");
}

static struct told told_of(const struct runner_name *n)
{
	const char *target = n->kind == RUNNER_LINK ? n->target : "";
	size_t path = strlen(n->path) + 1, all = path + strlen(target);
	struct told t = { .q = { .op = OP_ALSO,
				 .file = n->kind == RUNNER_FILE ? n->file : 0,
				 .kind = n->kind,
				 .text = (uint32_t)all },
			  .text = xmalloc(all) };
	memcpy(t.text, n->path, path);
	memcpy(t.text + path, target, all - path);
	return t;
}

void runner_forget_names(struct runner_cell *c)
{
	for (size_t i = 0; i < c->also.n; i++)
		free(c->also.p[i].text);
	VEC_FREE(&c->also);
}

int runner_tell_names(struct runner_cell *c)
{
	int bad = 0;
	for (size_t i = 0; !bad && i < c->also.n; i++)
		bad = runner_send(c, c->also.p[i].q, c->also.p[i].text);
	return bad;
}

static bool is_told(const struct runner_cell *c, size_t i, const struct told *t)
{
	const struct told *old = i < c->also.n ? &c->also.p[i] : NULL;
	return old && old->q.kind == t->q.kind && old->q.file == t->q.file &&
	       old->q.text == t->q.text && !memcmp(old->text, t->text, t->q.text);
}

/* The first name of a file is its own, all others are more. */
static int tell_others(struct runner_cell *c, const struct runner_name *name, size_t n,
		       const uint8_t *first, struct err *err)
{
	struct runner_cell new = { 0 };
	bool same = true;
	for (size_t i = 0; i < n; i++)
		if (!first[i]) {
			struct told t = told_of(&name[i]);
			same = same && is_told(c, new.also.n, &t);
			VEC_PUSH(&new.also, t);
		}
	if (same && new.also.n == c->also.n) {
		runner_forget_names(&new);
		return 0;
	}
	runner_forget_names(c);
	c->also.p = new.also.p;
	c->also.n = new.also.n;
	c->also.cap = new.also.cap;
	return runner_ask(c, OP_PLAIN, 0, NULL) || runner_tell_names(c) ? ended(c, err) : 0;
}

int runner_names(struct runner *r, unsigned cell, const struct runner_name *name, size_t n,
		 struct err *err)
{
	const char **path = xcalloc(r->opts->nfile + 1, sizeof *path);
	uint8_t *first = xcalloc(n + 1, 1);
	int bad = 0;
	for (size_t i = 0; i < n; i++)
		if (name[i].kind == RUNNER_FILE && !path[name[i].file]) {
			path[name[i].file] = name[i].path;
			first[i] = 1;
		}
	for (uint32_t i = 0; !bad && i < r->opts->nfile; i++)
		bad = runner_name(r, cell, i, path[i], err);
	if (!bad)
		bad = tell_others(&r->cell[cell], name, n, first, err);
	free(path);
	free(first);
	return bad;
}
