/* SPDX-License-Identifier: BSD-3-Clause */
/* What edit.c offers inside this folder, with and without libclang. */
#ifndef HOLDFAST_SOURCE_EDITS_H
#define HOLDFAST_SOURCE_EDITS_H

#include "source/source.h"

/* [from, to) of the file with the edits that lie in it. */
void source_edits_text(const struct source_edits *, const struct source_file *, size_t from,
		       size_t to, struct buf *);

#endif
