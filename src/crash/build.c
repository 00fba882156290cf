/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a trace to a history: one pass over the events.
 *
 * A store appends pieces to its lines. A flush by thread T notes how many pieces the line has;
 * T's fence guarantees that many. What writes the file itself (write, truncate) is guaranteed
 * at once, except under a model in which it too needs a sync.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"

#define MS_SYNC 4
#define PAGE 4096u
#define NO_LINE UINT32_MAX
#define RECENT 1024u

/* A flush that waits for its thread's fence. */
struct waiting {
	uint32_t line, upto;
};
struct thread {
	VEC(struct waiting) waiting;
};
struct build {
	struct crash_history *h;
	VEC(struct thread) thread;
	VEC(uint32_t) count, lo; /* per line: pieces so far, and guaranteed ones */
	VEC(uint32_t) dirty;     /* lines with pieces that are not guaranteed, and perhaps others */
	VEC(uint8_t) listed;     /* per line: it is in `dirty` */
	VEC(uint64_t) size;      /* per file, now */
	VEC(char *) name;
	const struct trace_event *ev;
	uint32_t who, where; /* its thread and place */
	struct {             /* those looked up of late */
		uint64_t key;
		uint32_t process, place;
	} recent[RECENT];
	uint64_t last_thread; /* key + 1 */
};

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
	VEC_PUSH(&b->thread, (struct thread){ 0 });
	return (uint32_t)b->thread.n - 1;
}

static uint32_t intern_place(struct crash_history *h, const struct trace_event *e)
{
	uint64_t key = hash_mix((uint64_t)e->site << 32 | e->ctx, e->process), id;

	for (; hmap_get(&h->place_at, key, &id); key++) {
		const struct crash_place *p = &h->place.p[id];
		if (p->process == e->process && p->site == e->site && p->ctx == e->ctx)
			return (uint32_t)id;
	}
	hmap_put(&h->place_at, key, h->place.n);
	VEC_PUSH(&h->place, ((struct crash_place){ e->process, e->site, e->ctx, e->ip }));
	return (uint32_t)h->place.n - 1;
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
	return b->recent[slot].place;
}

static uint64_t line_key(const struct crash_history *h, uint32_t file, uint64_t off)
{
	return (uint64_t)file << 44 | off / h->unit;
}

static uint32_t find_line(const struct crash_history *h, uint32_t file, uint64_t off)
{
	uint64_t id;
	return hmap_get(&h->line_at, line_key(h, file, off), &id) ? (uint32_t)id : NO_LINE;
}

static uint32_t get_line(struct build *b, uint32_t file, uint64_t off)
{
	struct crash_history *h = b->h;
	uint32_t id = find_line(h, file, off);

	if (id != NO_LINE)
		return id;
	id = (uint32_t)h->line.n;
	hmap_put(&h->line_at, line_key(h, file, off), id);
	VEC_PUSH(&h->line, ((struct crash_line){ .off = off / h->unit * h->unit, .file = file }));
	VEC_PUSH(&b->count, 0);
	VEC_PUSH(&b->lo, 0);
	VEC_PUSH(&b->listed, 0);
	return id;
}

/* ---- pieces and guarantees ---- */

static void raise_to(struct build *b, uint32_t line, uint32_t lo)
{
	if (lo <= b->lo.p[line])
		return;
	VEC_PUSH(&b->h->raise, ((struct crash_raise){ b->ev->num, line, lo, b->lo.p[line] }));
	b->lo.p[line] = lo;
}

static uint32_t add_piece(struct build *b, uint32_t file, uint64_t off, const uint8_t *src,
			  uint16_t len)
{
	struct crash_history *h = b->h;
	uint32_t line = get_line(b, file, off);
	struct crash_piece p = { .event = b->ev->num,
				 .line = line,
				 .place = b->where,
				 .off = (uint16_t)(off % h->unit),
				 .len = len,
				 .thread = b->who };

	if (!src) {
		p.len |= CRASH_ZERO;
	} else if (len <= 8) {
		memcpy(&p.data, src, len);
	} else {
		p.data = h->blob.n;
		VEC_RESERVE(&h->blob, h->blob.n + len);
		memcpy(h->blob.p + h->blob.n, src, len);
		h->blob.n += len;
	}
	VEC_PUSH(&h->piece, p);
	b->count.p[line]++;
	if (!b->listed.p[line]) {
		b->listed.p[line] = 1;
		VEC_PUSH(&b->dirty, line);
	}
	return line;
}

/* A store's bytes: pieces that do not cross a multiple of eight. */
static void store_bytes(struct build *b, uint32_t file, uint64_t off, const uint8_t *src,
			uint64_t n)
{
	const struct model_ops *m = b->h->model;
	bool nt = (b->ev->flags & TRACE_F_NT) != 0;

	while (n) {
		uint64_t room = 8 - off % 8, len = room < n ? room : n;
		uint32_t line = add_piece(b, file, off, src, (uint16_t)len);

		if (nt ? !m->nt_open : !m->stores_open)
			raise_to(b, line, b->count.p[line]);
		else if (nt && m->flushes)
			VEC_PUSH(&b->thread.p[b->who].waiting,
				 ((struct waiting){ line, b->count.p[line] }));
		off += len;
		src += len;
		n -= len;
	}
}

/* What does not go through a mapping: as much of a line as it covers is one piece. */
static void write_bytes(struct build *b, uint32_t file, uint64_t off, const uint8_t *src,
			uint64_t n, bool open)
{
	while (n) {
		uint64_t room = b->h->unit - off % b->h->unit, len = room < n ? room : n;
		uint32_t line = add_piece(b, file, off, src, (uint16_t)len);

		if (!open)
			raise_to(b, line, b->count.p[line]);
		off += len;
		src = src ? src + len : NULL;
		n -= len;
	}
}

/* ---- events on files ---- */

static void change(struct build *b, uint32_t file, uint64_t size, char *name)
{
	struct crash_change c = { b->ev->num, size, b->size.p[file], name, b->name.p[file], file };

	if (size == b->size.p[file] && name == b->name.p[file])
		return;
	VEC_PUSH(&b->h->change, c);
	b->size.p[file] = size;
	b->name.p[file] = name;
}

static void resize(struct build *b, uint32_t file, uint64_t size)
{
	change(b, file, size, b->name.p[file]);
}

static bool zero_at_first(const struct crash_history *h, uint32_t file, uint64_t off, uint64_t n)
{
	uint8_t page[PAGE];

	if (trace_image_read(h->initial, file, off, page, n))
		return true;
	return !page[0] && !memcmp(page, page + 1, n - 1);
}

/* Zeroes a range, where it is not known to be zero: lines that were written, and initial pages. */
static void zero_bytes(struct build *b, uint32_t file, uint64_t from, uint64_t to)
{
	uint64_t size = b->size.p[file];

	to = to < size ? to : size;
	while (from < to) {
		uint64_t room = b->h->unit - from % b->h->unit,
			 len = room < to - from ? room : to - from;
		bool known = find_line(b->h, file, from) != NO_LINE;

		if (known ||
		    (from < b->h->file.p[file].size && !zero_at_first(b->h, file, from, len)))
			write_bytes(b, file, from, NULL, len, false);
		from += len;
	}
}

static int allocate(struct build *b, uint32_t file, struct err *err)
{
	uint64_t mode = b->ev->arg[1], off = b->ev->arg[2], end = off + b->ev->arg[3];

	if (mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE))
		return err_set(err, EXIT_PROGRAM,
			       "%s: the program moves the file's contents with fallocate; such a "
			       "run cannot be crash-tested",
			       b->h->file.p[file].path);
	if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
		zero_bytes(b, file, off, end);
	if (!(mode & FALLOC_FL_KEEP_SIZE) && end > b->size.p[file])
		resize(b, file, end);
	return 0;
}

static void sync_file(struct build *b, uint32_t file, uint64_t from, uint64_t to)
{
	size_t left = 0;

	for (size_t i = 0; i < b->dirty.n; i++) {
		uint32_t line = b->dirty.p[i];
		const struct crash_line *l = &b->h->line.p[line];

		if (l->file == file && l->off + b->h->unit > from && l->off < to)
			raise_to(b, line, b->count.p[line]);
		if (b->lo.p[line] < b->count.p[line])
			b->dirty.p[left++] = line;
		else
			b->listed.p[line] = 0;
	}
	b->dirty.n = left;
}

static char *new_name(const struct trace_event *e)
{
	char *s = xmalloc(e->size + 1);
	memcpy(s, e->data, e->size);
	s[e->size] = 0;
	return s;
}

static int file_event(struct build *b, struct err *err)
{
	const struct trace_event *e = b->ev;
	uint32_t file = (uint32_t)e->arg[0];

	if (e->arg[0] >= b->h->file.n)
		return 0;
	switch (e->kind) {
	case TRACE_FILE_WRITE:
		if (e->arg[1] + e->size > b->size.p[file])
			resize(b, file, e->arg[1] + e->size);
		write_bytes(b, file, e->arg[1], e->data, e->size, b->h->model->file_writes);
		break;
	case TRACE_FILE_TRUNCATE:
		if (e->arg[1] < b->size.p[file])
			zero_bytes(b, file, e->arg[1], b->size.p[file]);
		resize(b, file, e->arg[1]);
		break;
	case TRACE_FILE_ALLOCATE: return allocate(b, file, err);
	case TRACE_FILE_SYNC:
		if (e->arg[1] != 2) /* sync_file_range promises nothing */
			sync_file(b, file, 0, UINT64_MAX);
		break;
	case TRACE_FILE_RENAME: change(b, file, b->size.p[file], new_name(e)); break;
	case TRACE_FILE_UNLINK: change(b, file, b->size.p[file], NULL); break;
	default: break;
	}
	return 0;
}

/* ---- events on mappings ---- */

/* How many of n bytes at `off` are in the file: what a store puts behind its end, in the last
 * page, is not. A store to a later page would have been SIGBUS: the file is longer, then. */
static uint64_t inside(struct build *b, uint32_t file, uint64_t off, uint64_t n)
{
	uint64_t size = b->size.p[file], end = (size + PAGE - 1) / PAGE * PAGE;

	if (off + n <= size)
		return n;
	if (off < end)
		return off < size ? size - off : 0;
	resize(b, file, off + n);
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
			done += PAGE - addr % PAGE; /* perhaps from the next page on */
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
	const struct trace_site_def *site = trace_site(trace_defs(h->reader), e->process, e->site);
	uint64_t off, len;
	uint32_t file, line;

	if (!h->model->flushes ||
	    !trace_image_locate(h->initial, e->process, e->arg[0], &file, &off, &len) ||
	    (line = find_line(h, file, off)) == NO_LINE)
		return;
	VEC_PUSH(&h->flush, ((struct crash_flush){ e->num, line, b->where, b->who }));
	if (site && site->class == TRACE_SITE_CLFLUSH)
		raise_to(b, line, b->count.p[line]);
	else if (b->lo.p[line] < b->count.p[line])
		VEC_PUSH(&b->thread.p[b->who].waiting,
			 ((struct waiting){ line, b->count.p[line] }));
}

static void mark(struct build *b)
{
	VEC_PUSH(&b->h->mark, ((struct crash_mark){ b->ev->num, b->where, b->who, b->ev->kind }));
}

static void fence_event(struct build *b)
{
	struct thread *t = &b->thread.p[b->who];

	if (b->h->model->flushes)
		for (size_t i = 0; i < t->waiting.n; i++)
			raise_to(b, t->waiting.p[i].line, t->waiting.p[i].upto);
	t->waiting.n = 0;
	mark(b);
}

static void sync_event(struct build *b)
{
	const struct trace_event *e = b->ev;
	uint64_t at = e->arg[0] & ~(uint64_t)(PAGE - 1), end = e->arg[0] + e->arg[1], off, len;
	uint32_t file;

	mark(b);
	if (!(e->arg[2] & MS_SYNC))
		return;
	end = (end + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	while (at < end) {
		if (!trace_image_locate(b->h->initial, e->process, at, &file, &off, &len)) {
			at += PAGE;
			continue;
		}
		len = len < end - at ? len : end - at;
		sync_file(b, file, off, off + len);
		at += len;
	}
}

static void map_event(struct build *b)
{
	const struct trace_event *e = b->ev;
	struct crash_file *f;

	if (!(e->flags & TRACE_F_PM) || e->arg[2] >= b->h->file.n)
		return;
	f = &b->h->file.p[e->arg[2]];
	if (f->addr || e->arg[3])
		return;
	f->addr = e->arg[0];
	f->fixed = (e->flags & TRACE_F_FIXED) != 0;
}

static int feed(struct build *b, const struct trace_event *e, struct err *err)
{
	b->ev = e;
	b->who = thread_of(b, e);
	b->where = place_of(b, e);
	switch (e->kind) {
	case TRACE_STORE: store_event(b); return 0;
	case TRACE_FLUSH: flush_event(b); return 0;
	case TRACE_FENCE: fence_event(b); return 0;
	case TRACE_SYNC: sync_event(b); return 0;
	case TRACE_OP_BEGIN:
	case TRACE_OP_END:
	case TRACE_TX_BEGIN:
	case TRACE_TX_END: mark(b); return 0;
	case TRACE_MAP: map_event(b); return trace_image_apply(b->h->initial, e, err);
	case TRACE_UNMAP:
	case TRACE_FORK: return trace_image_apply(b->h->initial, e, err);
	case TRACE_FILE_SYNC: mark(b); return file_event(b, err);
	case TRACE_FILE_WRITE:
	case TRACE_FILE_TRUNCATE:
	case TRACE_FILE_ALLOCATE:
	case TRACE_FILE_RENAME:
	case TRACE_FILE_UNLINK: return file_event(b, err);
	default: return 0;
	}
}

static int start(struct build *b, struct err *err)
{
	struct crash_history *h = b->h;
	const struct trace_defs *defs = trace_defs(h->reader);

	for (uint32_t i = 0; i < trace_files(defs); i++) {
		const struct trace_file_def *f = trace_file(defs, i);

		if (!f->has_snapshot)
			return err_set(err, EXIT_PROGRAM,
				       "%s: its initial contents are not in the trace", f->path);
		VEC_PUSH(&h->file, ((struct crash_file){ .path = f->path, .size = f->size }));
		VEC_PUSH(&b->size, f->size);
		VEC_PUSH(&b->name, f->path);
	}
	return 0;
}

static void stop(struct build *b)
{
	for (size_t i = 0; i < b->thread.n; i++)
		VEC_FREE(&b->thread.p[i].waiting);
	VEC_FREE(&b->thread);
	VEC_FREE(&b->count);
	VEC_FREE(&b->lo);
	VEC_FREE(&b->dirty);
	VEC_FREE(&b->listed);
	VEC_FREE(&b->size);
	VEC_FREE(&b->name);
}

int crash_history_read(struct crash_history *h, struct srcloc_trace *src, struct err *err)
{
	struct build *b = xcalloc(1, sizeof *b);
	struct trace_event e;
	int more = -1;

	b->h = h;
	if (start(b, err) == 0)
		while ((more = trace_next(h->reader, &e, err)) == 1) {
			/* what is unloaded stays known: places are asked for at the end */
			if (src && e.kind != TRACE_MODULE_UNLOAD)
				srcloc_trace_feed(src, &e);
			h->events = e.num + 1;
			if (feed(b, &e, err)) {
				more = -1;
				break;
			}
		}
	stop(b);
	free(b);
	return more;
}
