/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DEF_NODE: the program is about to change a file, a folder or a link, or its name, or has just made
 * it. The producer waits for the answer, so what was there before is kept as the node's initial
 * contents. A node is known like a PM file (files.c), by device, inode and time of birth, unless the
 * producer knows that it is a new one. The same process may know it by one number only.
 *
 * Contents are kept up to a limit, for all nodes together; the answer to what lies beyond is that it
 * failed, and the tracer then says that the node is lost.
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "trace/ring.h"

uint32_t trace_live_node_id(const struct trace_live *l, uint32_t process, uint64_t id)
{
	uint64_t node;
	return hmap_get(&l->process.p[process].node, id, &node) ? (uint32_t)node : TRACE_NO_NODE;
}

void trace_live_node_event(struct trace_live *l, struct trace_event *ev)
{
	static const uint8_t to[] = { [TRACE_NODE_WRITE - TRACE_NODE_WRITE] = TRACE_FILE_WRITE,
				      [TRACE_NODE_TRUNCATE - TRACE_NODE_WRITE] =
					      TRACE_FILE_TRUNCATE,
				      [TRACE_NODE_ALLOCATE - TRACE_NODE_WRITE] =
					      TRACE_FILE_ALLOCATE };
	if (ev->arg[0] >= l->node.n)
		return;
	uint32_t *pm = &l->node.p[ev->arg[0]].pm;
	if (ev->kind == TRACE_NODE_PM && ev->arg[1] < TRACE_NO_FILE)
		*pm = (uint32_t)ev->arg[1] + 1;
	if (ev->kind < TRACE_NODE_WRITE || ev->kind == TRACE_FAULT || !*pm ||
	    (ev->kind == TRACE_NODE_SYNC && ev->arg[3]))
		return;
	ev->kind = ev->kind == TRACE_NODE_SYNC ? TRACE_FILE_SYNC : to[ev->kind - TRACE_NODE_WRITE];
	ev->arg[0] = *pm - 1;
}

static uint32_t known_node(const struct trace_live *l, const struct live_file *f)
{
	const struct live_file *old;
	uint64_t node;
	if (!hmap_get(&l->node_of, hash_mix(f->dev, f->ino), &node))
		return TRACE_NO_NODE;
	old = &l->node.p[node];
	if (old->dev != f->dev || old->ino != f->ino ||
	    (old->born && f->born && old->born != f->born))
		return TRACE_NO_NODE;
	return (uint32_t)node;
}

/* Bytes that its contents take, holes left out. */
static uint64_t weight(int fd)
{
	struct stat st;
	uint64_t size = trace_fd_size(fd), blocks;
	if (fstat(fd, &st))
		return 0;
	blocks = (uint64_t)st.st_blocks * 512;
	return blocks && blocks < size ? blocks : size;
}

static enum taken new_node(struct trace_live *l, struct trace_node_def *def,
			   const struct live_file *f, int fd, struct err *err)
{
	uint32_t id = trace_nodes(&l->defs);
	def->has_snapshot = l->writer && fd >= 0;
	if (trace_defs_node(&l->defs, def) == DEFS_BAD)
		return TAKEN_BAD;
	VEC_PUSH(&l->node, *f);
	hmap_put(&l->node_of, hash_mix(f->dev, f->ino), id);
	if (!l->writer)
		return TAKEN;
	return trace_live_written(l, trace_put_node(l->writer, def, fd, &id, err));
}

/* The contents of a file, unless there is no room for them. */
static enum taken add_node(struct trace_live *l, struct trace_node_def *def,
			   const struct live_file *f, int fd, bool *kept, struct err *err)
{
	uint64_t bytes = fd >= 0 ? weight(fd) : 0;
	*kept = def->kind != TRACE_IS_FILE || (fd >= 0 && bytes <= TRACE_NODE_BYTES - l->kept);
	def->size = fd >= 0 ? trace_fd_size(fd) : 0;
	if (*kept)
		l->kept += bytes;
	return new_node(l, def, f, *kept ? fd : -1, err);
}

enum taken trace_live_node(struct trace_live *l, struct slot *s, const struct trace_event *r,
			   struct err *err)
{
	char *path = trace_live_text(r);
	size_t n = strlen(path);
	uint32_t kind = (uint32_t)r->arg[1] & 15;
	bool contents = kind == TRACE_IS_FILE, kept = true;
	struct opened o = { -1, -1 };
	if (contents)
		o = trace_live_open(l, s, r->arg[4], path, r->arg[3]);
	struct live_file f = { .dev = r->arg[2], .ino = r->arg[3], .born = trace_live_born(o.fd) };
	struct trace_node_def def = { .dev = f.dev,
				      .ino = f.ino,
				      .process = s->process,
				      .kind = (uint8_t)kind,
				      .path = path,
				      .target = n < r->size ? path + n + 1 : path + n };
	uint32_t id = r->arg[1] & TRACE_IS_NEW ? TRACE_NO_NODE : known_node(l, &f);
	enum taken taken = TAKEN;
	bool unknown = id == TRACE_NO_NODE && (r->arg[1] & TRACE_IS_ASKED);
	if (id == TRACE_NO_NODE && !unknown) {
		id = trace_nodes(&l->defs);
		taken = r->arg[1] & TRACE_IS_BARE ? new_node(l, &def, &f, -1, err)
						  : add_node(l, &def, &f, o.fd, &kept, err);
	}
	if (taken != TAKEN_BAD && !unknown)
		hmap_put(&l->process.p[s->process].node, r->arg[0], id);
	trace_live_close(o);
	trace_live_answer(l, s,
			  !kept || unknown || taken != TAKEN ? RING_ANSWER_FAILED
			  : l->node.p[id].pm                 ? RING_ANSWER_PM
							     : RING_ANSWER_OK);
	free(path);
	return taken;
}
