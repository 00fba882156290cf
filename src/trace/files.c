/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests about files. The producer waits for the answer, so the file is as it was when
 * the record was written.
 *
 * DEF_FILE: a file is about to be mapped for the first time in that process. A file is known
 * by device, inode and, where the file system tells, time of birth: inode numbers are used
 * again after a file is deleted. The first process that announces it makes the trace keep
 * its contents; the others only get the same id. A process that announces the same path
 * and inode under a new number says that it is another file.
 *
 * DEF_RANGE: the contents changed in a way that has no event of its own (copy_file_range,
 * sendfile…); what is there now goes into the trace as FILE_WRITE events.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/ring.h"

#define MAX_FD (1u << 24)

static bool usable(int fd)
{
	struct stat st;
	return !fstat(fd, &st) && (S_ISREG(st.st_mode) || S_ISCHR(st.st_mode));
}

/* The program's own descriptor, for a file that nobody may open (PMDK makes pools with mode 0). */
static struct opened borrow(uint32_t pid, int fd)
{
	struct opened o = { -1, -1 };
	int process = pidfd_open((pid_t)pid, 0);
	if (process < 0)
		return o;
	o.fd = pidfd_getfd(process, fd, 0);
	close(process);
	if (o.fd >= 0)
		o.offset = lseek(o.fd, 0, SEEK_CUR);
	return o;
}

void trace_live_close(struct opened o)
{
	if (o.fd < 0)
		return;
	if (o.offset >= 0) /* the program waits for our answer, and shares the offset */
		lseek(o.fd, o.offset, SEEK_SET);
	close(o.fd);
}

/* Whose descriptors a request is about: a fork server's children write into its slot. */
static uint32_t asking(const struct trace_live *l, const struct slot *s)
{
	return l->mark.marked ? l->ring->slot[s - l->slot].pid : s->pid;
}

struct opened trace_live_open(const struct trace_live *l, const struct slot *s, uint64_t fd,
			      const char *path, uint64_t ino)
{
	uint32_t pid = asking(l, s);
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	struct opened o = { -1, -1 };
	char proc[64];
	struct stat st;
	if (fd < MAX_FD) {
		snprintf(proc, sizeof proc, "/proc/%u/fd/%u", pid, (unsigned)fd);
		o.fd = open(proc, flags);
		if (o.fd < 0)
			o = borrow(pid, (int)fd);
		if (o.fd >= 0 && usable(o.fd))
			return o;
	}
	trace_live_close(o);
	o = (struct opened){ open(path, flags), -1 };
	if (o.fd >= 0 && usable(o.fd) && !fstat(o.fd, &st) && st.st_ino == ino)
		return o;
	trace_live_close(o);
	return (struct opened){ -1, -1 };
}

uint64_t trace_live_born(int fd)
{
	struct statx x;
	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &x) || !(x.stx_mask & STATX_BTIME))
		return 0;
	return (uint64_t)x.stx_btime.tv_sec * 1000000000u + x.stx_btime.tv_nsec;
}

/* Does the process call that file by another number already? */
static bool has_other_name(const struct live_process *p, uint64_t id, uint32_t file)
{
	for (size_t i = 0; i < p->file.cap; i++)
		if (p->file.used[i] && p->file.val[i] == file && p->file.key[i] != id)
			return true;
	return false;
}

static uint32_t known_file(struct trace_live *l, const struct slot *s, uint64_t id,
			   const struct live_file *f, const char *path)
{
	const struct live_file *old;
	uint64_t file;
	if (!hmap_get(&l->file_of, hash_mix(f->dev, f->ino), &file))
		return TRACE_NO_FILE;
	old = &l->file.p[file];
	if (old->dev != f->dev || old->ino != f->ino ||
	    (old->born && f->born && old->born != f->born))
		return TRACE_NO_FILE;
	if (has_other_name(&l->process.p[s->process], id, (uint32_t)file) &&
	    !strcmp(trace_file(&l->defs, (uint32_t)file)->path, path))
		return TRACE_NO_FILE;
	return (uint32_t)file;
}

static enum taken new_file(struct trace_live *l, const struct slot *s, const struct live_file *f,
			   char *path, const struct opened *o, struct err *err)
{
	int fd = o->fd;
	struct trace_file_def def = {
		.dev = f->dev, .ino = f->ino, .process = s->process, .path = path
	};
	uint32_t id = trace_files(&l->defs);
	def.size = fd >= 0 ? trace_fd_size(fd) : 0;
	def.has_snapshot = l->writer && fd >= 0;
	if (trace_defs_file(&l->defs, &def) == DEFS_BAD)
		return TAKEN_BAD;
	VEC_PUSH(&l->file, *f);
	hmap_put(&l->file_of, hash_mix(f->dev, f->ino), id);
	if (l->verify)
		trace_verify_file(l->verify, fd, o->offset < 0);
	if (!l->writer)
		return TAKEN;
	return trace_live_written(l, trace_put_file(l->writer, &def, fd, &id, err));
}

enum taken trace_live_file(struct trace_live *l, struct slot *s, const struct trace_event *r,
			   struct err *err)
{
	char *path = trace_live_text(r);
	struct opened o = trace_live_open(l, s, r->arg[3], path, r->arg[2]);
	int fd = o.fd;
	struct live_file f = { .dev = r->arg[1], .ino = r->arg[2], .born = trace_live_born(fd) };
	uint32_t file = known_file(l, s, r->arg[0], &f, path);
	enum taken taken = TAKEN;
	if (file == TRACE_NO_FILE) {
		file = trace_files(&l->defs);
		taken = new_file(l, s, &f, path, &o, err);
	}
	if (taken != TAKEN_BAD)
		hmap_put(&l->process.p[s->process].file, r->arg[0], file);
	trace_live_close(o);
	trace_live_answer(l, s, fd >= 0 && taken == TAKEN ? RING_ANSWER_OK : RING_ANSWER_FAILED);
	free(path);
	return taken;
}

/* What a DEF_RANGE is about. */
struct range {
	uint8_t kind; /* of its events */
	uint32_t id;
	const char *path;
	uint64_t ino;
};

static bool find_range(const struct trace_live *l, const struct slot *s,
		       const struct trace_event *r, struct range *out)
{
	if (r->arg[0] & TRACE_RANGE_NODE) {
		uint32_t id =
			trace_live_node_id(l, s->process, r->arg[0] & ~(uint64_t)TRACE_RANGE_NODE);
		const struct trace_node_def *n = trace_node(&l->defs, id);
		uint32_t pm = n ? l->node.p[id].pm : 0;
		if (n)
			*out = (struct range){ pm ? TRACE_FILE_WRITE : TRACE_NODE_WRITE,
					       pm ? pm - 1 : id, n->path, n->ino };
		return n != NULL;
	}
	uint32_t id = trace_live_file_id(l, s->process, r->arg[0]);
	const struct trace_file_def *f = trace_file(&l->defs, id);
	if (f)
		*out = (struct range){ TRACE_FILE_WRITE, id, f->path, f->ino };
	return f != NULL;
}

/* [off, end) of the file as FILE_WRITE or NODE_WRITE events, as far as the file goes. */
static enum taken copy_range(struct trace_live *l, struct slot *s, const struct trace_event *r,
			     const struct range *at, int fd, struct err *err)
{
	uint8_t *bytes = xmalloc(TRACE_MAX_PAYLOAD);
	uint64_t off = r->arg[2], left = r->arg[3];
	enum taken taken = TAKEN;
	while (left) {
		struct trace_event ev = { .kind = at->kind,
					  .flags = r->flags,
					  .nargs = 2,
					  .site = r->site,
					  .ctx = r->ctx,
					  .data = bytes };
		ssize_t got = pread(fd, bytes, left < TRACE_MAX_PAYLOAD ? left : TRACE_MAX_PAYLOAD,
				    (off_t)off);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		ev.arg[0] = at->id;
		ev.arg[1] = off;
		ev.size = (uint32_t)got;
		if (trace_live_event(l, s, &ev, err) != TAKEN)
			taken = TAKEN_FAILED;
		off += (uint64_t)got;
		left -= (uint64_t)got;
	}
	free(bytes);
	return taken;
}

enum taken trace_live_range(struct trace_live *l, struct slot *s, const struct trace_event *r,
			    struct err *err)
{
	struct range at;
	enum taken taken = TAKEN;
	struct opened o = { -1, -1 };
	if (r->arg[2] > INT64_MAX || r->arg[3] > INT64_MAX - r->arg[2])
		taken = TAKEN_BAD;
	else if (find_range(l, s, r, &at))
		o = trace_live_open(l, s, r->arg[1], at.path, at.ino);
	if (o.fd >= 0) {
		taken = copy_range(l, s, r, &at, o.fd, err);
		trace_live_close(o);
	}
	trace_live_answer(l, s, o.fd >= 0 && taken == TAKEN ? RING_ANSWER_OK : RING_ANSWER_FAILED);
	return taken;
}
