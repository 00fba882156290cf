/* SPDX-License-Identifier: BSD-3-Clause */
/* The persistency models, one row each. */
#include <string.h>

#include "model/model.h"

static const struct model_ops models[] = {
	{ "adr", "caches are lost in a crash: stores need a flush and a fence", .stores_open = true,
	  .nt_open = true, .flushes = true },
	{ "eadr", "caches survive: only non-temporal stores need a fence", .nt_open = true,
	  .flushes = true },
	{ "msync", "files on ordinary disks: stores need msync or fsync", .stores_open = true,
	  .nt_open = true, .file_writes = true },
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
