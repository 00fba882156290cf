/* SPDX-License-Identifier: BSD-3-Clause */
/* What image.c (events) and image_io.c (loading, reading out) share. */
#ifndef HOLDFAST_TRACE_IMAGE_H
#define HOLDFAST_TRACE_IMAGE_H

#include "trace/internal.h"

#define OWNED 1u /* low bit of a page's value in the table: it may be written */

struct image_file {
	uint64_t size;
	struct hmap page; /* index -> address of the page | OWNED, 0: a zero page */
};
struct trace_image {
	struct trace_reader *reader;
	VEC(struct image_file) file;
	VEC(struct image_file) node;
	struct trace_maps *maps;
	VEC(uint8_t *) block;      /* memory of the initial pages */
	VEC(const uint8_t *) page; /* initial pages by number */
	uint64_t next;             /* event that trace_image_run goes on with */
};

/* A file's, or with TRACE_OF_NODE a node's; NULL: there is none. */
static inline struct image_file *image_of(const struct trace_image *im, uint32_t id)
{
	if (id & TRACE_OF_NODE)
		return (id & ~TRACE_OF_NODE) < im->node.n ? &im->node.p[id & ~TRACE_OF_NODE] : NULL;
	return id < im->file.n ? &im->file.p[id] : NULL;
}

static inline const uint8_t *image_page(const struct image_file *f, uint64_t index)
{
	uint64_t v = 0;
	hmap_get(&f->page, index, &v);
	return (const uint8_t *)(uintptr_t)(v & ~(uint64_t)OWNED);
}

#endif
