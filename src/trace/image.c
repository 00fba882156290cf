/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files as the trace knows them: initial contents plus what events did to them.
 *
 * A file is a size and a hash table from page index to page. Initial pages are shared (the
 * trace has equal ones once) and copied when first written; a page that is not in the
 * table is zero, so a sparse file of any size costs what is in it.
 *
 * A STORE goes to an address, so the image also follows the mappings of each process: an
 * interval map from addresses to (file, offset). A fork starts with its parent's mappings
 * as they were at the FORK event, or, if the child's events come before that, as they are
 * when the child appears.
 */
#include <linux/falloc.h>
#include <stdlib.h>

#include "trace/image.h"

/* --- pages --- */

static uint8_t *writable(struct image_file *f, uint64_t index)
{
	uint64_t v = 0;
	uint8_t *copy;

	if (hmap_get(&f->page, index, &v) && v & OWNED)
		return (uint8_t *)(uintptr_t)(v - OWNED);
	copy = xmalloc(CHUNK_PAGE);
	if (v)
		memcpy(copy, (const void *)(uintptr_t)v, CHUNK_PAGE);
	else
		memset(copy, 0, CHUNK_PAGE);
	hmap_put(&f->page, index, (uintptr_t)copy | OWNED);
	return copy;
}

/* Bytes to a file; src NULL: zeros. */
static void put_bytes(struct image_file *f, uint64_t off, const uint8_t *src, uint64_t n)
{
	while (n) {
		uint64_t in = off % CHUNK_PAGE, len = CHUNK_PAGE - in < n ? CHUNK_PAGE - in : n;

		if (src) {
			memcpy(writable(f, off / CHUNK_PAGE) + in, src, len);
			src += len;
		} else if (image_page(f, off / CHUNK_PAGE)) {
			memset(writable(f, off / CHUNK_PAGE) + in, 0, len);
		}
		off += len;
		n -= len;
	}
}

static void zero_page(struct image_file *f, size_t slot)
{
	uint64_t v = f->page.val[slot];

	if (v & OWNED)
		free((void *)(uintptr_t)(v - OWNED));
	f->page.val[slot] = 0;
}

/* Zeroes [lo, hi), which may be most of the address space: walks the table, not the range. */
static void zero_range(struct image_file *f, uint64_t lo, uint64_t hi)
{
	uint64_t first = lo / CHUNK_PAGE + (lo % CHUNK_PAGE != 0), last = hi / CHUNK_PAGE;

	if (lo >= hi)
		return;
	if (first > last) { /* inside one page */
		put_bytes(f, lo, NULL, hi - lo);
		return;
	}
	put_bytes(f, lo, NULL, first * CHUNK_PAGE - lo);
	put_bytes(f, last * CHUNK_PAGE, NULL, hi - last * CHUNK_PAGE);
	for (size_t i = 0; i < f->page.cap; i++)
		if (f->page.used[i] && f->page.key[i] >= first && f->page.key[i] < last)
			zero_page(f, i);
}

/* --- what events do to a file --- */

static void truncate_file(struct image_file *f, uint64_t size)
{
	if (size < f->size)
		zero_range(f, size, f->size);
	f->size = size;
}

static void write_file(struct image_file *f, uint64_t off, const uint8_t *src, uint64_t n)
{
	put_bytes(f, off, src, n);
	if (off + n > f->size)
		f->size = off + n;
}

/*
 * A store through a mapping does not make the file longer: what falls behind its end in the
 * last page is lost. A store to a page behind the end would have been SIGBUS; if it was
 * not, the file is longer than the trace says.
 */
static void store_file(struct image_file *f, uint64_t off, const uint8_t *src, uint64_t n)
{
	uint64_t end = f->size / CHUNK_PAGE * CHUNK_PAGE + (f->size % CHUNK_PAGE ? CHUNK_PAGE : 0);

	if (off + n > f->size && off < end)
		n = off < f->size ? f->size - off : 0;
	write_file(f, off, src, n);
}

/* Moves all pages from index `from` on by `by` pages: collapse and insert. */
static void shift_pages(struct image_file *f, uint64_t from, int64_t by)
{
	struct hmap old = f->page;

	memset(&f->page, 0, sizeof f->page);
	for (size_t i = 0; i < old.cap; i++)
		if (old.used[i] && old.val[i])
			hmap_put(&f->page,
				 old.key[i] >= from ? old.key[i] + (uint64_t)by : old.key[i],
				 old.val[i]);
	hmap_free(&old);
}

static int allocate_file(struct image_file *f, uint64_t mode, uint64_t off, uint64_t len,
			 struct err *err)
{
	uint64_t end = off + len;

	if (end < off || end > INT64_MAX)
		return err_set(err, EXIT_USAGE, "fallocate of an impossible range");
	if (mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE)) {
		int64_t pages = (int64_t)(len / CHUNK_PAGE);

		if (off % CHUNK_PAGE || len % CHUNK_PAGE || off >= f->size ||
		    len > INT64_MAX - f->size)
			return err_set(err, EXIT_USAGE, "fallocate moves what it cannot move");
		if (mode & FALLOC_FL_INSERT_RANGE) {
			shift_pages(f, off / CHUNK_PAGE, pages);
			f->size += len;
			return 0;
		}
		if (end > f->size)
			return err_set(err, EXIT_USAGE, "fallocate collapses past the end");
		zero_range(f, off, end);
		shift_pages(f, end / CHUNK_PAGE, -pages);
		f->size -= len;
		return 0;
	}
	if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
		zero_range(f, off, end);
	if (!(mode & FALLOC_FL_KEEP_SIZE) && end > f->size)
		f->size = end;
	return 0;
}

static int file_event(struct trace_image *im, const struct trace_event *ev, struct err *err)
{
	struct image_file *f;

	if (ev->arg[0] >= im->file.n)
		return 0; /* a file that the trace does not know */
	f = &im->file.p[ev->arg[0]];
	switch (ev->kind) {
	case TRACE_FILE_TRUNCATE:
		if (ev->arg[1] > INT64_MAX)
			return err_set(err, EXIT_USAGE, "truncate to an impossible size");
		truncate_file(f, ev->arg[1]);
		return 0;
	case TRACE_FILE_ALLOCATE: return allocate_file(f, ev->arg[1], ev->arg[2], ev->arg[3], err);
	default:
		if (ev->arg[1] > INT64_MAX - TRACE_MAX_PAYLOAD)
			return err_set(err, EXIT_USAGE, "write at an impossible offset");
		write_file(f, ev->arg[1], ev->data, ev->size);
		return 0;
	}
}

/* --- mappings --- */

static void copy_maps(struct maps *to, const struct maps *from)
{
	VEC_RESERVE(&to->range, from->range.n);
	VEC_RESERVE(&to->list, from->list.n);
	if (from->range.n)
		memcpy(to->range.p, from->range.p, from->range.n * sizeof *to->range.p);
	if (from->list.n)
		memcpy(to->list.p, from->list.p, from->list.n * sizeof *to->list.p);
	to->range.n = from->range.n;
	to->list.n = from->list.n;
}

static void map_event(struct trace_image *im, struct maps *m, const struct trace_event *ev)
{
	uint64_t addr = ev->arg[0], end = addr + ev->arg[1];

	if (end < addr)
		return;
	imap_clear(&m->range, addr, end);
	/* those that are not PM count too: they have loads, but no stores */
	if (ev->kind == TRACE_UNMAP || ev->arg[2] >= im->file.n || ev->arg[3] > INT64_MAX ||
	    ev->arg[1] > INT64_MAX)
		return;
	if (!m->range.n)
		m->list.n = 0;
	imap_set(&m->range, addr, end, m->list.n);
	VEC_PUSH(&m->list, ((struct mapping){ addr, ev->arg[3], (uint32_t)ev->arg[2] }));
}

static void store_event(struct trace_image *im, const struct maps *m, const struct trace_event *ev)
{
	uint64_t addr = ev->arg[0], done = 0;

	if (addr > UINT64_MAX - ev->size)
		return;
	while (done < ev->size) {
		const struct imap_item *it = imap_find(&m->range, addr + done);
		const struct mapping *map;
		uint64_t n = ev->size - done, off;

		if (!it) { /* not persistent here; perhaps from the next page on */
			done += CHUNK_PAGE - (addr + done) % CHUNK_PAGE;
			continue;
		}
		if (it->hi - (addr + done) < n)
			n = it->hi - (addr + done);
		map = &m->list.p[it->val];
		off = map->offset + (addr + done - map->addr);
		if (off <= INT64_MAX - n)
			store_file(&im->file.p[map->file], off, ev->data + done, n);
		done += n;
	}
}

bool trace_image_locate(const struct trace_image *im, uint32_t process, uint64_t addr,
			uint32_t *file, uint64_t *off, uint64_t *len)
{
	const struct imap_item *it;
	const struct mapping *map;

	if (process >= im->process.n || !(it = imap_find(&im->process.p[process].range, addr)))
		return false;
	map = &im->process.p[process].list.p[it->val];
	*file = map->file;
	*off = map->offset + (addr - map->addr);
	*len = it->hi - addr;
	return *off <= INT64_MAX - *len;
}

/* The child's mappings are those of now, if its own events are yet to come. */
static void fork_event(struct trace_image *im, const struct trace_event *ev)
{
	struct maps copy = { 0 };
	uint64_t child;

	if (ev->arg[0] > UINT32_MAX ||
	    !hmap_get(&im->child, (uint64_t)ev->process << 32 | ev->arg[0], &child) ||
	    child < im->process.n || hmap_get(&im->forked, child, NULL))
		return;
	copy_maps(&copy, &im->process.p[ev->process]);
	hmap_put(&im->forked, child, im->fork.n);
	VEC_PUSH(&im->fork, copy);
}

static void add_process(struct trace_image *im, const struct trace_process_def *def)
{
	struct maps maps = { 0 };
	uint64_t at;

	if (hmap_get(&im->forked, im->process.n, &at)) {
		maps = im->fork.p[at];
		memset(&im->fork.p[at], 0, sizeof maps);
	} else if (def->birth == TRACE_BIRTH_FORK && def->parent_index < im->process.n) {
		copy_maps(&maps, &im->process.p[def->parent_index]);
	}
	VEC_PUSH(&im->process, maps);
}

/* Processes that had appeared by event `num`, or are needed for it. */
static void add_processes(struct trace_image *im, uint64_t num, uint32_t process)
{
	const struct trace_defs *defs = trace_defs(im->reader);

	while (im->process.n < trace_processes(defs)) {
		const struct trace_process_def *def = trace_process(defs, (uint32_t)im->process.n);

		if (def->first_event > num && im->process.n > process)
			break;
		add_process(im, def);
	}
}

int trace_image_apply(struct trace_image *im, const struct trace_event *ev, struct err *err)
{
	add_processes(im, ev->num, ev->process);
	if (ev->process >= im->process.n)
		return err_set(err, EXIT_USAGE, "an event of an unknown process");
	switch (ev->kind) {
	case TRACE_STORE: store_event(im, &im->process.p[ev->process], ev); return 0;
	case TRACE_MAP:
	case TRACE_UNMAP: map_event(im, &im->process.p[ev->process], ev); return 0;
	case TRACE_FORK: fork_event(im, ev); return 0;
	case TRACE_FILE_WRITE:
	case TRACE_FILE_TRUNCATE:
	case TRACE_FILE_ALLOCATE: return file_event(im, ev, err);
	default: return 0;
	}
}
