/* SPDX-License-Identifier: BSD-3-Clause */
/* From a trace to a history: system calls that failed because they were to, and what a sync that failed leaves behind. */
#include <sys/syscall.h>

#include "crash/build.h"

/* Of unsynced data that is kept in order with sizes. */
void crash_build_append(struct build *b, uint32_t file, uint64_t off, const uint8_t *src,
			uint64_t n)
{
	uint32_t unit = b->h->file.p[file].unit;
	for (uint64_t done = 0, len; done < n; done += len) {
		uint32_t line = crash_build_find_line(b->h, file, off + done);
		uint32_t lo = line == NO_LINE ? 0 : b->unit.p[line].lo;
		len = unit - (off + done) % unit;
		len = len < n - done ? len : n - done;
		crash_build_write(b, file, off + done, src + done, len, MODEL_PERSISTS);
		line = crash_build_find_line(b->h, file, off + done);
		VEC_PUSH(&b->appended, ((struct appended){ line, lo, file }));
	}
}

void crash_build_appended_synced(struct build *b, uint32_t file)
{
	size_t left = 0;
	for (size_t i = 0; i < b->appended.n; i++)
		if (file != CRASH_NO_FILE && b->appended.p[i].file != file)
			b->appended.p[left++] = b->appended.p[i];
	b->appended.n = left;
}

/* The file of a node, mapped or not. */
static uint32_t file_of_node(const struct build *b, uint64_t node)
{
	uint32_t file = node < trace_nodes(b->defs) ? b->h->of_node[node] : CRASH_NO_FILE;
	for (uint32_t i = 0; file == CRASH_NO_FILE && i < trace_tree_things(b->h->tree); i++) {
		const struct trace_thing *g = trace_tree_thing(b->h->tree, i);
		if (g->node == node && g->file < b->h->npm)
			return g->file;
	}
	return file;
}

/*
 * A sync that failed promises nothing, and the kernel takes what it could not write for clean: later syncs do not
 * bring it to disk, unless it is written again. So it is no longer dirty here. What was appended may be missing below
 * a size that is there.
 */
static void sync_failed(struct build *b, uint32_t file)
{
	size_t left = 0;
	for (size_t i = 0; i < b->appended.n; i++)
		if (b->appended.p[i].file == file)
			crash_build_lower(b, b->appended.p[i].line, b->appended.p[i].lo);
	crash_build_appended_synced(b, file);
	for (size_t i = 0; i < b->dirty.n; i++) {
		uint32_t line = b->dirty.p[i];
		if (b->h->line.p[line].file == file)
			b->listed.p[line] = 0;
		else
			b->dirty.p[left++] = line;
	}
	b->dirty.n = left;
}

void crash_build_fault(struct build *b)
{
	const struct trace_event *e = b->ev;
	struct crash_fault f = { .event = e->num,
				 .place = b->where,
				 .file = file_of_node(b, e->arg[0]),
				 .call = (uint32_t)e->arg[1],
				 .error = (int)e->arg[2],
				 .bytes = e->arg[3] };
	bool sync = f.call == SYS_fsync || f.call == SYS_fdatasync;
	VEC_PUSH(&b->h->fault, f);
	if (sync && f.error && f.file != CRASH_NO_FILE)
		sync_failed(b, f.file);
}
