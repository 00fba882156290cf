/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/reference.h"

#include <stdlib.h>
#include <string.h>

/*
 * What something is after: 'd' dirty, 'p' pending until the same thread fences, 'g' guaranteed;
 * '-' as before. A clflush is complete when it retires; the other flushes are ordered by fences
 * only. A fence, and a sync, complete what there is to complete under every model.
 */
static const struct rules {
	const char *name;
	uint32_t unit;
	char store, nt_store, clflush, other_flush, file_write;
} rules[] = {
	{ "adr", 64, 'd', 'p', 'g', 'p', 'g' },     { "eadr", 64, 'g', 'p', 'g', 'p', 'g' },
	{ "msync", 4096, 'd', 'd', '-', '-', 'd' }, { "posix", 512, 'd', 'd', '-', '-', 'd' },
	{ "ext4", 4096, 'd', 'd', '-', '-', 'd' },  { "xfs", 4096, 'd', 'd', '-', '-', 'd' },
	{ "btrfs", 4096, 'd', 'd', '-', '-', 'd' },
};

struct byte {
	bool open, ever;
	uint64_t flushed_by; /* threads, a bit each */
};
/* A unit's stores persist in order: of n stores the first lo are guaranteed, … */
struct unit {
	uint32_t n, lo;
	uint32_t flushed[MODEL_REFERENCE_THREADS]; /* … and so many once the thread fences */
};

struct reference {
	struct rules rules;
	const struct trace_defs *defs;
	uint64_t base;
	size_t size;
	uint32_t unit_size;
	struct byte *byte;
	struct unit *unit;
};

struct reference *model_reference_new(const char *model, const struct trace_defs *defs,
				      uint64_t base, size_t size, uint32_t unit)
{
	struct reference *r;
	size_t i = 0;
	while (i < sizeof rules / sizeof *rules && strcmp(rules[i].name, model) != 0)
		i++;
	if (i == sizeof rules / sizeof *rules)
		return NULL;
	unit = unit ? unit : rules[i].unit;
	r = xcalloc(1, sizeof *r);
	*r = (struct reference){ rules[i], defs, base, size, unit, NULL, NULL };
	r->byte = xcalloc(size, sizeof *r->byte);
	r->unit = xcalloc(size / unit + 1, sizeof *r->unit);
	return r;
}

void model_reference_free(struct reference *r)
{
	free(r->byte);
	free(r->unit);
	free(r);
}

/* ---- what becomes of a byte, of a unit ---- */

static void byte_is(struct byte *b, char state, uint64_t thread)
{
	if (state == 'g') {
		b->ever |= b->open;
		b->open = false;
		b->flushed_by = 0;
	} else if (state == 'p' && b->open) {
		b->flushed_by |= thread;
	}
}

static void unit_is(struct unit *u, char state, uint32_t thread)
{
	if (state == 'g')
		u->lo = u->n;
	else if (state == 'p')
		u->flushed[thread] = u->n;
}

/* ---- events ---- */

/* Bytes [from, to) are stored; in a unit they are stored `grain` by `grain`. */
static void store(struct reference *r, size_t from, size_t to, char state, uint32_t thread,
		  uint32_t grain)
{
	for (size_t i = from; i < to; i++) {
		struct unit *u = &r->unit[i / r->unit_size];
		r->byte[i].open = true;
		r->byte[i].flushed_by = 0;
		byte_is(&r->byte[i], state, 1ull << thread);
		if (i == from || i % grain == 0) {
			u->n++;
			unit_is(u, state, thread);
		}
	}
}

/* What is not stored through the mapping is nobody's to persist: nothing is known of it. */
static void write_file(struct reference *r, size_t from, size_t to, uint32_t thread)
{
	if (r->rules.file_write != 'g') {
		store(r, from, to, r->rules.file_write, thread, r->unit_size);
		return;
	}
	for (size_t i = from; i < to; i++) {
		struct unit *u = &r->unit[i / r->unit_size];
		r->byte[i] = (struct byte){ false, r->byte[i].ever, 0 };
		if (i == from || i % r->unit_size == 0)
			u->lo = ++u->n;
	}
}

/* Bytes [from, to), which are whole units, or lines of one. */
static void cover(struct reference *r, size_t from, size_t to, char state, uint32_t thread)
{
	for (size_t i = from; i < to && i < r->size; i++) {
		byte_is(&r->byte[i], state, 1ull << thread);
		unit_is(&r->unit[i / r->unit_size], state, thread);
	}
}

static void flush(struct reference *r, const struct trace_event *e)
{
	size_t line = (size_t)(e->arg[0] - r->base) / 64 * 64;
	bool at_once = trace_site(r->defs, e->process, e->site)->class == TRACE_SITE_CLFLUSH;
	cover(r, line, line + 64, at_once ? r->rules.clflush : r->rules.other_flush, e->thread);
}

static void fence(struct reference *r, uint32_t thread)
{
	for (size_t i = 0; i < r->size; i++)
		if (r->byte[i].open && r->byte[i].flushed_by >> thread & 1)
			byte_is(&r->byte[i], 'g', 0);
	for (size_t i = 0; i < r->size / r->unit_size; i++) {
		struct unit *u = &r->unit[i];
		if (u->flushed[thread] > u->lo)
			u->lo = u->flushed[thread];
		u->flushed[thread] = 0;
	}
}

static void sync_range(struct reference *r, const struct trace_event *e)
{
	size_t from = (size_t)(e->arg[0] - r->base) / 4096 * 4096;
	size_t to = (size_t)(e->arg[0] + e->arg[1] - r->base + 4095) / 4096 * 4096;
	if (e->arg[2] & 4) /* MS_SYNC */
		cover(r, from, to, 'g', e->thread);
}

void model_reference_feed(struct reference *r, const struct trace_event *e)
{
	char how = e->flags & TRACE_F_NT ? r->rules.nt_store : r->rules.store;
	switch (e->kind) {
	case TRACE_STORE:
		store(r, e->arg[0] - r->base, e->arg[0] - r->base + e->size, how, e->thread, 8);
		break;
	case TRACE_FLUSH: flush(r, e); break;
	case TRACE_FENCE: fence(r, e->thread); break;
	case TRACE_SYNC: sync_range(r, e); break;
	case TRACE_FILE_SYNC:
		if (e->arg[1] == 0 || e->arg[1] == 1) /* fsync, fdatasync */
			cover(r, 0, r->size, 'g', e->thread);
		break;
	case TRACE_FILE_WRITE: write_file(r, e->arg[1], e->arg[1] + e->size, e->thread); break;
	default: break;
	}
}

/* ---- questions ---- */

uint32_t model_reference_unit(const struct reference *r)
{
	return r->unit_size;
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

uint32_t model_reference_hi(const struct reference *r, size_t offset)
{
	return r->unit[offset / r->unit_size].n;
}

uint32_t model_reference_lo(const struct reference *r, size_t offset)
{
	return r->unit[offset / r->unit_size].lo;
}

char model_reference_unit_state(const struct reference *r, size_t offset)
{
	const struct unit *u = &r->unit[offset / r->unit_size];
	if (u->lo == u->n)
		return u->n ? 'g' : '-';
	for (uint32_t t = 0; t < MODEL_REFERENCE_THREADS; t++)
		if (u->flushed[t] == u->n)
			return 'p';
	return 'd';
}
