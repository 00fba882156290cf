/* SPDX-License-Identifier: BSD-3-Clause */
/* What is read before it is written: each byte of a line is either known to be written, or not. */
#include <stdlib.h>

#include "trace/internal.h"

/* Lines, each once, in the order in which they were first met. */
struct lines {
	struct hmap at; /* line -> its index */
	VEC(struct trace_read) v;
};

struct trace_reads {
	const struct trace_defs *defs;
	struct trace_maps *maps;
	struct lines read, written; /* a byte is in one of them at most */
};

struct trace_reads *trace_reads_new(const struct trace_defs *defs)
{
	struct trace_reads *r = xcalloc(1, sizeof *r);
	r->defs = defs;
	r->maps = trace_maps_new(defs);
	return r;
}

void trace_reads_free(struct trace_reads *r)
{
	if (!r)
		return;
	trace_maps_free(r->maps);
	hmap_free(&r->read.at);
	hmap_free(&r->written.at);
	VEC_FREE(&r->read.v);
	VEC_FREE(&r->written.v);
	free(r);
}

const struct trace_read *trace_reads_all(const struct trace_reads *r, size_t *n)
{
	*n = r->read.v.n;
	return r->read.v.p;
}

const struct trace_read *trace_reads_overwritten(const struct trace_reads *r, size_t *n)
{
	*n = r->written.v.n;
	return r->written.v.p;
}

static uint64_t bits(uint64_t off, uint64_t n)
{
	return (n >= 64 ? ~0ull : (1ull << n) - 1) << off % TRACE_LINE;
}

static uint64_t line_key(uint32_t file, uint64_t off)
{
	return (uint64_t)file << 44 | off / TRACE_LINE;
}

static uint64_t bytes_of(const struct lines *l, uint64_t key)
{
	uint64_t i;
	return hmap_get(&l->at, key, &i) ? l->v.p[i].bytes : 0;
}

static void add_bytes(struct lines *l, uint32_t file, uint64_t off, uint64_t bytes)
{
	uint64_t i;
	if (!bytes)
		return;
	if (!hmap_get(&l->at, line_key(file, off), &i)) {
		hmap_put(&l->at, line_key(file, off), i = l->v.n);
		VEC_PUSH(&l->v, ((struct trace_read){ file, off / TRACE_LINE * TRACE_LINE, 0 }));
	}
	l->v.p[i].bytes |= bytes;
}

static void touch(struct trace_reads *r, uint32_t file, uint64_t off, uint64_t len, bool write)
{
	struct lines *to = write ? &r->written : &r->read;
	const struct lines *other = write ? &r->read : &r->written;
	while (len) {
		uint64_t room = TRACE_LINE - off % TRACE_LINE, n = room < len ? room : len;
		add_bytes(to, file, off, bits(off, n) & ~bytes_of(other, line_key(file, off)));
		off += n;
		len -= n;
	}
}

static void access_memory(struct trace_reads *r, const struct trace_event *e, uint64_t len,
			  bool write)
{
	uint64_t done = 0, off, n;
	uint32_t file;
	while (done < len &&
	       trace_maps_locate(r->maps, e->process, e->arg[0] + done, &file, &off, &n)) {
		n = n < len - done ? n : len - done;
		touch(r, file, off, n, write);
		done += n;
	}
}

static void access_file(struct trace_reads *r, const struct trace_event *e, uint64_t len,
			bool write)
{
	if (e->arg[0] < trace_files(r->defs))
		touch(r, (uint32_t)e->arg[0], e->arg[1], len, write);
}

int trace_reads_event(struct trace_reads *r, const struct trace_event *e, struct err *err)
{
	if (trace_maps_apply(r->maps, e, err))
		return -1;
	switch (e->kind) {
	case TRACE_LOAD: access_memory(r, e, e->arg[1], false); break;
	case TRACE_STORE: access_memory(r, e, e->size, true); break;
	case TRACE_FILE_READ: access_file(r, e, e->arg[2], false); break;
	case TRACE_FILE_WRITE: access_file(r, e, e->size, true); break;
	}
	return 0;
}
