/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An input as files, and `run`, a script that runs the program with it:
 *
 *   stdin, file-NAME, pm-NAME   what the program reads there; a pool is whole
 *   arg3, env-NAME              the text
 *   packet-001, …               what is sent to it, one by one
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "explore/native.h"

static int open_new(const char *dir, const char *name, int mode, struct err *err)
{
	char *path = xasprintf("%s/%s", dir, name);
	unlink(path);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	if (fd < 0)
		err_errno(err, EXIT_USAGE, "cannot write %s", path);
	free(path);
	return fd;
}

static int finish(int fd, bool bad, const char *dir, const char *name, struct err *err)
{
	if (bad)
		err_errno(err, EXIT_INTERNAL, "cannot write %s/%s", dir, name);
	if (close(fd) && !bad)
		return err_errno(err, EXIT_INTERNAL, "cannot write %s/%s", dir, name);
	return bad ? -1 : 0;
}

static int put_file(const char *dir, const char *name, const void *bytes, size_t n, int mode,
		    struct err *err)
{
	int fd = open_new(dir, name, mode, err);
	return fd < 0 ? -1 : finish(fd, write_all(fd, bytes, n), dir, name, err);
}

/* A file or pool as the program sees it with this input. */
static int put_whole(const struct explore_plan *p, size_t i, const struct symbolic_input *in,
		     const char *dir, struct err *err)
{
	const struct sym_source *s = &p->source.p[i];
	int from = open(s->path, O_RDONLY | O_CLOEXEC);
	int fd = open_new(dir, p->about.p[i].name, 0666, err);
	off_t end = from < 0 ? 0 : lseek(from, 0, SEEK_END);
	bool bad = fd < 0 || (from >= 0 && copy_sparse(from, fd));
	if (!bad)
		bad = write_all_at(fd, in->byte + s->first, in->now[i], s->off);
	if (!bad && (uint64_t)end <= s->off + s->len)
		bad = ftruncate(fd, (off_t)(s->off + in->now[i]));
	if (from >= 0)
		close(from);
	return fd < 0 ? -1 : finish(fd, bad, dir, p->about.p[i].name, err);
}

static int put_packets(const struct explore_plan *p, size_t i, const struct symbolic_input *in,
		       const char *dir, struct err *err)
{
	const uint8_t *at = in->byte + p->source.p[i].first;
	for (size_t k = 0; k < p->packet.n; at += p->packet.p[k++]) {
		char name[32];
		snprintf(name, sizeof name, "packet-%03zu", k + 1);
		if (put_file(dir, name, at, p->packet.p[k], 0666, err))
			return -1;
	}
	return 0;
}

static int put_source(const struct explore_plan *p, size_t i, const struct symbolic_input *in,
		      const char *dir, struct err *err)
{
	const struct sym_source *s = &p->source.p[i];
	if (s->kind == SYM_SRC_FILE)
		return put_whole(p, i, in, dir, err);
	if (s->kind == SYM_SRC_SOCKET)
		return put_packets(p, i, in, dir, err);
	return put_file(dir, p->about.p[i].name, in->byte + s->first,
			explore_input_length(p, i, in), 0666, err);
}

int explore_files(const struct explore_program *how, const struct explore_plan *p,
		  const struct symbolic_input *in, const char *dir, struct err *err)
{
	size_t n;
	if (make_folders(dir, err))
		return -1;
	for (size_t i = 0; i < p->source.n; i++)
		if (put_source(p, i, in, dir, err))
			return -1;
	char *text = explore_script(how, p, in, &n);
	int bad = put_file(dir, "run", text, n, 0777, err);
	free(text);
	return bad;
}
