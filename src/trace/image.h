/* SPDX-License-Identifier: BSD-3-Clause */
/* What image.c (events) and image_io.c (loading, reading out) share. */
#ifndef HOLDFAST_TRACE_IMAGE_H
#define HOLDFAST_TRACE_IMAGE_H

#include "trace/internal.h"

/* Low bits of a page's value in the table. */
#define OWNED 1u /* it may be written */
#define LENT 2u  /* … and is part of a block */
#define PAGE_BITS ((uint64_t)(OWNED | LENT))

struct image_file {
	uint64_t size;
	struct hmap page; /* index -> address of the page | OWNED, 0: a zero page */
	/* For a live run: pages by index, without the search; and the last event that wrote there. */
	struct image_direct {
		uint8_t *bytes; /* NULL: not written yet */
		uint32_t last;  /* the number's lower half; 0: none, since no run begins with one */
	} * direct;
	uint64_t ndirect;
};
struct trace_image {
	struct trace_reader *reader; /* NULL: events come from a live run */
	struct { /* a live run's pages come from blocks, for the sake of the TLB */
		uint8_t *next;
		size_t left; /* pages */
		bool wanted;
	} arena;
	uint32_t now; /* lower half of the number of the event that is being applied */
	VEC(struct image_file) file;
	VEC(struct image_file) node;
	struct trace_maps *maps;
	VEC(uint8_t *) block;      /* memory of the initial pages */
	VEC(const uint8_t *) page; /* initial pages by number */
	uint64_t next;             /* event that trace_image_run goes on with */
	struct {                   /* where the last store went */
		uint64_t lo, hi, off;
		uint32_t process, file;
	} at;
};

/* A file's, or with TRACE_OF_NODE a node's; NULL: there is none. */
static inline struct image_file *image_of(const struct trace_image *im, uint32_t id)
{
	if (id & TRACE_OF_NODE)
		return (id & ~TRACE_OF_NODE) < im->node.n ? &im->node.p[id & ~TRACE_OF_NODE] : NULL;
	return id < im->file.n ? &im->file.p[id] : NULL;
}
void trace_image_clear(struct trace_image *);
/* The bytes of a page that are about to be changed. */
uint8_t *trace_image_writable(struct trace_image *, struct image_file *, uint64_t index);

static inline const uint8_t *image_page(const struct image_file *f, uint64_t index)
{
	uint64_t v = 0;
	hmap_get(&f->page, index, &v);
	return (const uint8_t *)(uintptr_t)(v & ~PAGE_BITS);
}

#endif
