/* SPDX-License-Identifier: BSD-3-Clause */
/* The persistency models, one row each; what a row does not name has no effect. */
#include <string.h>

#include "model/machine.h"

/* A clflush is complete when it retires; the other flushes are ordered by the thread's fence. */
#define FLUSHES_AND_FENCES                                                                         \
	[MODEL_CLFLUSH] = MODEL_PERSISTS, [MODEL_CLFLUSHOPT] = MODEL_WAITS,                        \
	[MODEL_CLWB] = MODEL_WAITS, [MODEL_FENCE] = MODEL_COMPLETES
#define SYNCS [MODEL_MSYNC] = MODEL_PERSISTS, [MODEL_FSYNC] = MODEL_PERSISTS

/* Pages of files, which the kernel writes back when it likes. */
#define WRITTEN_BACK                                                                               \
	[MODEL_STORE] = MODEL_OPENS, [MODEL_NT_STORE] = MODEL_OPENS,                               \
	SYNCS, [MODEL_FILE_WRITE] = MODEL_OPENS

static const struct model_ops models[] = {
	{ "adr", "caches are lost in a crash: stores need a flush and a fence", .unit = TRACE_LINE,
	  .effect = { [MODEL_STORE] = MODEL_OPENS,
		      [MODEL_NT_STORE] = MODEL_WAITS,
		      FLUSHES_AND_FENCES,
		      SYNCS,
		      [MODEL_FILE_WRITE] = MODEL_PERSISTS } },
	{ "eadr", "caches survive: only non-temporal stores need a fence", .unit = TRACE_LINE,
	  .effect = { [MODEL_STORE] = MODEL_PERSISTS,
		      [MODEL_NT_STORE] = MODEL_WAITS,
		      FLUSHES_AND_FENCES,
		      SYNCS,
		      [MODEL_FILE_WRITE] = MODEL_PERSISTS } },
	{ "msync", "files on ordinary disks: stores need msync or fsync", .unit = MODEL_PAGE,
	  .effect = { WRITTEN_BACK } },
	{ "posix", "any files: nothing is on disk, or in order, without fsync", .unit = 512,
	  .effect = { WRITTEN_BACK }, .files = MODEL_FILES_APART },
	{ "ext4", "files on ext4, data=ordered: names in order, data before its size",
	  .unit = MODEL_PAGE, .effect = { WRITTEN_BACK }, .files = MODEL_FILES_JOURNAL,
	  .appended = true, .replaces = true, .datasync = true },
	{ "xfs", "files on XFS: like ext4, but a rename does not wait for data", .unit = MODEL_PAGE,
	  .effect = { WRITTEN_BACK }, .files = MODEL_FILES_JOURNAL, .appended = true },
	{ "btrfs", "files on Btrfs: names in order, but those that are synced come first",
	  .unit = MODEL_PAGE, .effect = { WRITTEN_BACK }, .files = MODEL_FILES_COMMITS,
	  .replaces = true },
};

const struct model_ops *model_at(size_t i)
{
	return i < sizeof models / sizeof *models ? &models[i] : NULL;
}

const struct model_ops *model_find(const char *name)
{
	for (size_t i = 0; name && model_at(i); i++)
		if (strcmp(models[i].name, name) == 0)
			return &models[i];
	return name ? NULL : &models[0];
}

bool model_flushes(const struct model_ops *m)
{
	return m->effect[MODEL_CLFLUSH] || m->effect[MODEL_CLFLUSHOPT] || m->effect[MODEL_CLWB];
}
