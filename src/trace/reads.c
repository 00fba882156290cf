/* SPDX-License-Identifier: BSD-3-Clause */
/* What is read before it is written: each byte of a line is either known to be written, or not. */
#include <stdlib.h>

#include "trace/internal.h"

struct trace_reads {
	const struct trace_defs *defs;
	struct trace_maps *maps;
	struct hmap written; /* line -> bits of its bytes */
	struct hmap seen;    /* lines that are in the list */
	VEC(struct trace_read) read;
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
	hmap_free(&r->written);
	hmap_free(&r->seen);
	VEC_FREE(&r->read);
	free(r);
}

const struct trace_read *trace_reads_all(const struct trace_reads *r, size_t *n)
{
	*n = r->read.n;
	return r->read.p;
}

static uint64_t bits(uint64_t off, uint64_t n)
{
	return (n >= 64 ? ~0ull : (1ull << n) - 1) << off % TRACE_LINE;
}

static void touch(struct trace_reads *r, uint32_t file, uint64_t off, uint64_t len, bool write)
{
	while (len) {
		uint64_t room = TRACE_LINE - off % TRACE_LINE, n = room < len ? room : len;
		uint64_t key = (uint64_t)file << 44 | off / TRACE_LINE, done = 0;

		hmap_get(&r->written, key, &done);
		if (write) {
			hmap_put(&r->written, key, done | bits(off, n));
		} else if (bits(off, n) & ~done && !hmap_get(&r->seen, key, NULL)) {
			hmap_put(&r->seen, key, 1);
			VEC_PUSH(&r->read,
				 ((struct trace_read){ file, off / TRACE_LINE * TRACE_LINE }));
		}
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
