/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the program's recovery looks at, as evidence. A byte that it reads before it writes it is one
 * that it depends on; one that it writes without having read it may have been anything. It was
 * watched on one image, that of the run's end: on others it may do more.
 */
#include "check/internal.h"

static uint64_t line_key(const char *path, uint64_t off)
{
	return hash_seeded(path, strlen(path), off / TRACE_LINE);
}

void check_recovery_known(struct check *c, const struct trace_use *lines, size_t n)
{
	c->recovery = lines;
	for (size_t i = 0; i < n; i++)
		hmap_put(&c->recovery_at, line_key(lines[i].path, lines[i].off), i);
}

void check_recovery_look(const struct check *c, const struct cause *k, struct check_facts *f)
{
	uint64_t loc = k->key * TRACE_LINE, i, bytes;
	const struct trace_file_def *file =
		trace_file(c->defs, (uint32_t)(loc >> MODEL_FILE_SHIFT) - 1);
	struct trace_use line = { 0 };
	if (!c->recovery || !k->key || !file || !file->path)
		return;
	if (hmap_get(&c->recovery_at, line_key(file->path, loc & ((1ull << MODEL_FILE_SHIFT) - 1)),
		     &i))
		line = c->recovery[i];
	bytes = (k->len >= TRACE_LINE ? ~0ull : (1ull << (k->len ? k->len : 1)) - 1) << k->byte;
	f->recovery_reads = (line.read & bytes) != 0;
	f->recovery_overwrites = (bytes & ~line.written) == 0;
	f->recovery_ignores = !((line.read | line.written) & bytes);
}
