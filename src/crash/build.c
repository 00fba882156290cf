/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a trace to a history: one pass over the events.
 *
 * A store appends pieces to its lines: a line is a unit of the persistency machine
 * (model/machine.h), a piece one of its stores. What the machine guarantees raises the line's lo,
 * and is noted in the history. What cuts a file or zeroes part of it is guaranteed at once.
 */
#include <stdlib.h>
#include <string.h>

#include "crash/build.h"

/* ---- who, where, what ---- */

static uint32_t thread_of(struct build *b, const struct trace_event *e)
{
	uint64_t key = (uint64_t)e->process << 32 | e->thread, id;
	if (b->last_thread == key + 1)
		return b->who;
	b->last_thread = key + 1;
	if (hmap_get(&b->h->thread_at, key, &id))
		return (uint32_t)id;
	hmap_put(&b->h->thread_at, key, b->thread.n);
	VEC_PUSH(&b->thread, (struct model_waits){ 0 });
	return (uint32_t)b->thread.n - 1;
}

uint32_t crash_place_find(const struct crash_history *h, uint32_t process, uint32_t site,
			  uint32_t ctx)
{
	return trace_where_find(&h->where, process, site, ctx);
}

static uint32_t intern_place(struct crash_history *h, const struct trace_event *e)
{
	uint32_t n = trace_where_of(&h->where, e);
	if (n == h->place.n)
		VEC_PUSH(&h->place,
			 ((struct crash_place){ e->process, e->site, e->ctx, false, e->ip }));
	return n;
}

static uint32_t place_of(struct build *b, const struct trace_event *e)
{
	uint64_t key = ((uint64_t)e->ctx << 32 | e->site) + 1;
	unsigned slot = (e->site ^ e->ctx * 31) % RECENT;
	if (b->recent[slot].key != key || b->recent[slot].process != e->process) {
		b->recent[slot].place = intern_place(b->h, e);
		b->recent[slot].key = key;
		b->recent[slot].process = e->process;
	}
	b->h->place.p[b->recent[slot].place].stores |= e->kind == TRACE_STORE;
	return b->recent[slot].place;
}

static uint64_t line_key(const struct crash_history *h, uint32_t file, uint64_t off)
{
	return (uint64_t)file << 44 | off / h->file.p[file].unit;
}

uint32_t crash_build_find_line(const struct crash_history *h, uint32_t file, uint64_t off)
{
	uint64_t id;
	return hmap_get(&h->line_at, line_key(h, file, off), &id) ? (uint32_t)id : NO_LINE;
}

static uint32_t get_line(struct build *b, uint32_t file, uint64_t off)
{
	struct crash_history *h = b->h;
	uint32_t id = crash_build_find_line(h, file, off);
	if (id != NO_LINE)
		return id;
	id = (uint32_t)h->line.n;
	hmap_put(&h->line_at, line_key(h, file, off), id);
	VEC_PUSH(&h->line,
		 ((struct crash_line){ .off = off - off % h->file.p[file].unit, .file = file }));
	VEC_PUSH(&b->unit, (struct model_unit){ 0 });
	VEC_PUSH(&b->listed, 0);
	return id;
}

/* ---- pieces and guarantees ---- */

/* The line's lo was raised. */
static void note_raise(struct build *b, uint32_t line, uint32_t before)
{
	struct crash_history *h = b->h;
	struct crash_raise_row *last = h->raise.n ? &h->raise.p[h->raise.n - 1] : NULL;
	uint32_t lo = b->unit.p[line].lo;
	if (last && last->line == line &&
	    crash_when(&h->raise_when, h->raise.n - 1) == b->ev->num) {
		last->lo = lo;
		return;
	}
	VEC_PUSH(&h->raise, ((struct crash_raise_row){ line, lo, before }));
	crash_when_add(&h->raise_when, b->ev->num);
}

void crash_build_raise(struct build *b, uint32_t line, uint32_t upto)
{
	uint32_t before = b->unit.p[line].lo;
	if (model_unit_raise(&b->unit.p[line], upto))
		note_raise(b, line, before);
}

void crash_build_lower(struct build *b, uint32_t line, uint32_t lo)
{
	uint32_t before = b->unit.p[line].lo;
	if (before <= lo)
		return;
	b->unit.p[line].lo = lo;
	note_raise(b, line, before);
}

void crash_build_cover(struct build *b, uint32_t line, enum model_effect effect)
{
	struct model_unit *u = &b->unit.p[line];
	uint32_t before = u->lo;
	if (model_unit_cover(u, effect, line, &b->thread.p[b->who]))
		note_raise(b, line, before);
}

/* What the event stores to one line, which is returned. `src` NULL: zeros. */
static uint32_t add_record(struct build *b, uint32_t file, uint64_t off, const uint8_t *src,
			   uint64_t len, bool whole)
{
	struct crash_history *h = b->h;
	uint32_t line = get_line(b, file, off);
	struct crash_record r = { .event = b->ev->num,
				  .bytes = src,
				  .line = line,
				  .place = b->where,
				  .thread = b->who,
				  .off = (uint16_t)(off % h->file.p[file].unit),
				  .len = (uint16_t)len,
				  .whole = whole };
	crash_records_add(&h->store, &r);
	h->pieces = h->store.pieces;
	b->unit.p[line].hi += r.pieces;
	if (!b->listed.p[line]) {
		b->listed.p[line] = 1;
		VEC_PUSH(&b->dirty, line);
	}
	return line;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What a store puts where nothing is persistent can be taken to be there; unless its line waits for something else. */
static bool is_volatile(const struct build *b, uint32_t file, uint64_t off, uint64_t len)
{
	uint64_t at = model_file_byte(file, off);
	const struct imap_item *it = imap_find(&b->volatiles, at);
	uint32_t line = it && at + len <= it->hi ? crash_build_find_line(b->h, file, off) : NO_LINE;
	return it && at + len <= it->hi &&
	       (line == NO_LINE || b->unit.p[line].lo == b->unit.p[line].hi);
}

/* A store's bytes: pieces that do not cross a multiple of eight. */
static void store_bytes(struct build *b, uint32_t file, uint64_t off, const uint8_t *src,
			uint64_t n)
{
	while (n) {
		uint32_t unit = b->h->file.p[file].unit;
		uint64_t most = CRASH_MOST_PIECES * 8u - off % 8;
		uint64_t len = least(least(unit - off % unit, most), n);
		enum model_effect effect =
			is_volatile(b, file, off, len) ? MODEL_PERSISTS : b->effect;
		crash_build_cover(b, add_record(b, file, off, src, len, false), effect);
		off += len;
		src += len;
		n -= len;
	}
}

/* What does not go through a mapping: as much of a line as it covers is one piece. */
void crash_build_write(struct build *b, uint32_t file, uint64_t off, const uint8_t *src, uint64_t n,
		       enum model_effect effect)
{
	while (n) {
		uint32_t unit = b->h->file.p[file].unit;
		uint64_t len = least(unit - off % unit, n);
		bool zero = src && len > 8 && !src[0] && !memcmp(src, src + 1, len - 1);
		crash_build_cover(b, add_record(b, file, off, zero ? NULL : src, len, true),
				  effect);
		off += len;
		src = src ? src + len : NULL;
		n -= len;
	}
}

/* ---- events on mappings ---- */

/* How many of n bytes at `off` are in the file: what a store puts behind its end, in the last
 * page, is not. A store to a later page would have been SIGBUS: the file is longer, then. */
static uint64_t inside(struct build *b, uint32_t file, uint64_t off, uint64_t n)
{
	uint64_t size = b->size.p[file], end = (size + MODEL_PAGE - 1) / MODEL_PAGE * MODEL_PAGE;
	if (off + n <= size)
		return n;
	if (off < end)
		return off < size ? size - off : 0;
	crash_build_resize(b, file, off + n);
	return n;
}

static void store_event(struct build *b)
{
	const struct trace_event *e = b->ev;
	uint64_t done = 0;
	while (done < e->size) {
		uint64_t addr = e->arg[0] + done, n = e->size - done, off, len;
		uint32_t file;
		if (!trace_image_locate(b->h->initial, e->process, addr, &file, &off, &len)) {
			done += MODEL_PAGE - addr % MODEL_PAGE; /* perhaps from the next page on */
			continue;
		}
		n = len < n ? len : n;
		store_bytes(b, file, off, e->data + done, inside(b, file, off, n));
		done += n;
	}
}

static void flush_event(struct build *b)
{
	struct crash_history *h = b->h;
	const struct trace_event *e = b->ev;
	struct model_range r = model_covers(e);
	uint64_t off, len;
	uint32_t file, line;
	if (b->effect == MODEL_NOTHING)
		return;
	for (uint64_t at = r.lo; at < r.hi; at += h->unit) {
		if (!trace_image_locate(h->initial, e->process, at, &file, &off, &len) ||
		    (line = crash_build_find_line(h, file, off)) == NO_LINE)
			continue;
		VEC_PUSH(&h->flush, ((struct crash_flush_row){ line, b->where, b->who }));
		crash_when_add(&h->flush_when, e->num);
		crash_build_cover(b, line, b->effect);
	}
}

static void mark(struct build *b)
{
	struct crash_mark_row row = { b->where, b->who, b->ev->kind };
	VEC_PUSH(&b->h->mark, row);
	crash_when_add(&b->h->mark_when, b->ev->num);
}

static void fence_event(struct build *b)
{
	struct model_waits *t = &b->thread.p[b->who];
	mark(b);
	if (b->effect != MODEL_COMPLETES)
		return;
	for (size_t i = 0; i < t->n; i++) {
		struct model_unit *u = &b->unit.p[t->p[i].unit];
		uint32_t before = u->lo;
		if (model_unit_raise(u, t->p[i].upto))
			note_raise(b, t->p[i].unit, before);
	}
	t->n = 0;
}

static void sync_event(struct build *b)
{
	const struct trace_event *e = b->ev;
	struct model_range r = model_covers(e);
	uint64_t off, len;
	uint32_t file;
	mark(b);
	while (r.lo < r.hi && b->effect != MODEL_NOTHING) {
		if (!trace_image_locate(b->h->initial, e->process, r.lo, &file, &off, &len)) {
			r.lo += MODEL_PAGE;
			continue;
		}
		len = len < r.hi - r.lo ? len : r.hi - r.lo;
		crash_build_sync(b, file, (struct model_range){ off, off + len });
		r.lo += len;
	}
}

static void map_event(struct build *b)
{
	const struct trace_event *e = b->ev;
	struct crash_file *f;
	if (!(e->flags & TRACE_F_PM) || e->arg[2] >= b->h->file.n)
		return;
	f = &b->h->file.p[e->arg[2]];
	if (!b->h->start && trace_nodes(b->defs) && !b->meta)
		b->h->start = e->num + 1;
	if (f->addr || e->arg[3])
		return;
	f->addr = e->arg[0];
	f->fixed = (e->flags & TRACE_F_FIXED) != 0;
}

/* A library takes part of a mapping back because it keeps a lock there, and all of it when it closes the pool. */
static void declare_volatile(struct build *b, bool on)
{
	const struct trace_event *e = b->ev;
	uint64_t off, len;
	uint32_t file;
	if (!e->arg[1] ||
	    !trace_image_locate(b->h->initial, e->process, e->arg[0], &file, &off, &len) ||
	    (e->kind == TRACE_HINT_UNMAP && off % MODEL_PAGE == 0 && e->arg[1] >= len))
		return;
	uint64_t from = model_file_byte(file, off), to = from + least(len, e->arg[1]);
	if (on)
		imap_set(&b->volatiles, from, to, 1);
	else
		imap_clear(&b->volatiles, from, to);
}

/* Recordings from before there were nodes have names as the program gave them. */
static int check_rename(const struct build *b, struct err *err)
{
	const struct trace_event *e = b->ev;
	if (trace_nodes(b->defs) || (e->size && e->data[0] == '/'))
		return 0;
	return err_set(
		err, EXIT_PROGRAM,
		"%.*s: a file was renamed to this, and the recording, which is from an earlier "
		"version, does not say in which folder; record the program again",
		(int)e->size, (const char *)e->data);
}

/* Loads and what they lead to change nothing. */
static bool only_reads(struct build *b, const struct trace_event *e)
{
	b->h->dependences |= e->kind == TRACE_FRAME;
	return e->kind == TRACE_LOAD || e->kind == TRACE_FRAME || e->kind == TRACE_DEP ||
	       e->kind == TRACE_BRANCH;
}

static int feed(struct build *b, const struct trace_event *e, struct err *err)
{
	if (only_reads(b, e))
		return 0;
	b->ev = e;
	b->who = thread_of(b, e);
	b->where = place_of(b, e);
	b->effect = model_effect(b->h->model, e, model_class(b->defs, e));
	crash_build_meta_names(b);
	switch (e->kind) {
	case TRACE_STORE: store_event(b); return 0;
	case TRACE_FLUSH: flush_event(b); return 0;
	case TRACE_FENCE: fence_event(b); return 0;
	case TRACE_SYNC: sync_event(b); return 0;
	case TRACE_OP_END:
	case TRACE_TX_END: b->h->operations = true; /* fall through */
	case TRACE_OP_BEGIN:
	case TRACE_TX_BEGIN: mark(b); return 0;
	case TRACE_MAP: map_event(b); return trace_image_apply(b->h->initial, e, err);
	case TRACE_UNMAP:
	case TRACE_FORK: return trace_image_apply(b->h->initial, e, err);
	case TRACE_FILE_SYNC: mark(b); return crash_build_file_event(b, err);
	case TRACE_FILE_WRITE:
	case TRACE_FILE_TRUNCATE:
	case TRACE_FILE_ALLOCATE: return crash_build_file_event(b, err);
	case TRACE_FILE_RENAME: return check_rename(b, err);
	case TRACE_NODE_MOVE:
		mark(b);
		crash_build_meta_replaced(b);
		return 0;
	case TRACE_NODE_SYNC:
		mark(b);
		crash_build_meta_sync(b);
		return 0;
	case TRACE_NODE_WRITE:
	case TRACE_NODE_TRUNCATE:
	case TRACE_NODE_ALLOCATE: return crash_build_node_event(b, err);
	case TRACE_FAULT: crash_build_fault(b); return 0;
	case TRACE_MARK_VOLATILE:
	case TRACE_HINT_UNMAP: declare_volatile(b, true); return 0;
	case TRACE_HINT_MAP: declare_volatile(b, false); return 0;
	default: return 0;
	}
}

static int start(struct build *b, struct err *err)
{
	struct crash_history *h = b->h;
	for (uint32_t i = 0; i < trace_files(b->defs); i++) {
		const struct trace_file_def *f = trace_file(b->defs, i);
		if (!f->has_snapshot)
			return err_set(err, EXIT_PROGRAM,
				       "%s: its initial contents are not in the trace", f->path);
		VEC_PUSH(&h->file,
			 ((struct crash_file){
				 .path = f->path, .size = f->size, .unit = h->unit, .owner = i }));
		VEC_PUSH(&b->size, f->size);
	}
	h->npm = (uint32_t)h->file.n;
	crash_build_nodes(b);
	if (h->model->files != MODEL_FILES_AT_ONCE)
		return crash_build_meta_start(b, err);
	h->tree = trace_tree_new(b->defs);
	return 0;
}

static void stop(struct build *b)
{
	for (size_t i = 0; i < b->thread.n; i++)
		VEC_FREE(&b->thread.p[i]);
	VEC_FREE(&b->thread);
	VEC_FREE(&b->unit);
	VEC_FREE(&b->dirty);
	VEC_FREE(&b->appended);
	VEC_FREE(&b->listed);
	VEC_FREE(&b->size);
	imap_free(&b->volatiles);
	crash_build_meta_stop(b);
}

static int too_long(struct err *err)
{
	return err_set(err, EXIT_PROGRAM, "the run is too long: over %u stores", MOST_PIECES);
}

int crash_history_read(struct crash_history *h, struct srcloc_trace *src, struct err *err)
{
	struct build *b = xcalloc(1, sizeof *b);
	struct trace_event e;
	int more = -1;
	b->h = h;
	b->defs = trace_defs(h->reader);
	if (start(b, err) == 0)
		while ((more = trace_next(h->reader, &e, err)) == 1) {
			/* what is unloaded stays known: places are asked for at the end */
			if (src && e.kind != TRACE_MODULE_UNLOAD)
				srcloc_trace_feed(src, &e);
			if (!b->meta)
				trace_tree_apply(h->tree, &e);
			h->events = e.num + 1;
			if (feed(b, &e, err) || (h->pieces > MOST_PIECES && too_long(err))) {
				more = -1;
				break;
			}
		}
	stop(b);
	free(b);
	return more;
}
