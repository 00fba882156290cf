/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/reference.h"

#include <stdlib.h>

struct byte {
	bool open, ever;
	uint64_t flushed_by; /* threads, a bit each */
};

struct reference {
	const struct model_ops *ops;
	const struct trace_defs *defs;
	uint64_t base;
	size_t size;
	struct byte *byte;
};

struct reference *model_reference_new(const struct model_ops *ops, const struct trace_defs *defs,
				      uint64_t base, size_t size)
{
	struct reference *r = xcalloc(1, sizeof *r);
	*r = (struct reference){ ops, defs, base, size, xcalloc(size, sizeof *r->byte) };
	return r;
}

void model_reference_free(struct reference *r)
{
	free(r->byte);
	free(r);
}

static void guarantee(struct byte *b)
{
	if (b->open)
		b->ever = true;
	b->open = false;
	b->flushed_by = 0;
}

static void store(struct reference *r, const struct trace_event *e, uint64_t thread)
{
	bool nt = (e->flags & TRACE_F_NT) != 0;
	for (size_t i = 0; i < e->size; i++) {
		struct byte *b = &r->byte[e->arg[0] - r->base + i];
		b->open = true;
		b->flushed_by = nt && r->ops->flushes ? thread : 0;
		if (nt ? !r->ops->nt_open : !r->ops->stores_open)
			guarantee(b);
	}
}

static void flush(struct reference *r, const struct trace_event *e, uint64_t thread)
{
	size_t line = (size_t)(e->arg[0] - r->base) / TRACE_LINE * TRACE_LINE;
	bool at_once = trace_site(r->defs, e->process, e->site)->class == TRACE_SITE_CLFLUSH;
	for (size_t i = line; i < line + TRACE_LINE && r->ops->flushes; i++) {
		if (at_once)
			guarantee(&r->byte[i]);
		else if (r->byte[i].open)
			r->byte[i].flushed_by |= thread;
	}
}

static void fence(struct reference *r, uint64_t thread)
{
	for (size_t i = 0; i < r->size; i++)
		if (r->byte[i].open && r->byte[i].flushed_by & thread)
			guarantee(&r->byte[i]);
}

static void sync_range(struct reference *r, const struct trace_event *e)
{
	uint64_t from = (e->arg[0] - r->base) & ~4095ull;
	uint64_t to = (e->arg[0] + e->arg[1] - r->base + 4095) & ~4095ull;
	for (uint64_t i = from; i < to && i < r->size && e->arg[2] & 4; i++)
		guarantee(&r->byte[i]);
}

void model_reference_feed(struct reference *r, const struct trace_event *e)
{
	uint64_t thread = 1ull << e->thread;
	switch (e->kind) {
	case TRACE_STORE: store(r, e, thread); break;
	case TRACE_FLUSH: flush(r, e, thread); break;
	case TRACE_FENCE: fence(r, thread); break;
	case TRACE_SYNC: sync_range(r, e); break;
	default: break;
	}
}

char model_reference_state(const struct reference *r, size_t offset)
{
	const struct byte *b = &r->byte[offset];
	return !b->open ? 'g' : b->flushed_by ? 'p' : 'd';
}

bool model_reference_pending_by(const struct reference *r, size_t offset, uint32_t thread)
{
	return r->byte[offset].open && r->byte[offset].flushed_by >> thread & 1;
}

bool model_reference_ever(const struct reference *r, size_t offset)
{
	return r->byte[offset].ever;
}
