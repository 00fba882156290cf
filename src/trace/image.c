/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files as the trace knows them: initial contents plus what events did to them.
 *
 * A file is a size and a hash table from page index to page. Initial pages are shared (the
 * trace has equal ones once) and copied when first written; a page that is not in the
 * table is zero, so a sparse file of any size costs what is in it.
 *
 * A STORE goes to an address, so the image also follows the mappings of each process (maps.c).
 */
#include <linux/falloc.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "trace/image.h"

/* --- pages --- */

#define HUGE_PAGE (2u << 20)

static uint8_t *arena_page(struct trace_image *im)
{
	if (!im->arena.left) {
		im->arena.next = aligned_alloc(HUGE_PAGE, HUGE_PAGE);
		if (!im->arena.next)
			im->arena.next = xmalloc(HUGE_PAGE);
		madvise(im->arena.next, HUGE_PAGE, MADV_HUGEPAGE);
		im->arena.left = HUGE_PAGE / CHUNK_PAGE;
		VEC_PUSH(&im->block, im->arena.next);
	}
	im->arena.left--;
	im->arena.next += CHUNK_PAGE;
	return im->arena.next - CHUNK_PAGE;
}

static uint8_t *own_page(struct trace_image *im, struct image_file *f, uint64_t index)
{
	uint64_t v = 0;
	uint8_t *copy;
	if (hmap_get(&f->page, index, &v) && v & OWNED)
		return (uint8_t *)(uintptr_t)(v & ~PAGE_BITS);
	copy = im->arena.wanted ? arena_page(im) : xmalloc(CHUNK_PAGE);
	if (v)
		memcpy(copy, (const void *)(uintptr_t)v, CHUNK_PAGE);
	else
		memset(copy, 0, CHUNK_PAGE);
	hmap_put(&f->page, index, (uintptr_t)copy | OWNED | (im->arena.wanted ? LENT : 0));
	return copy;
}

uint8_t *trace_image_writable(struct trace_image *im, struct image_file *f, uint64_t index)
{
	if (index >= f->ndirect)
		return own_page(im, f, index);
	if (!f->direct[index].bytes)
		f->direct[index].bytes = own_page(im, f, index);
	f->direct[index].last = im->now;
	return f->direct[index].bytes;
}

/* Bytes to a file; src NULL: zeros. */
static void put_bytes(struct trace_image *im, struct image_file *f, uint64_t off,
		      const uint8_t *src, uint64_t n)
{
	while (n) {
		uint64_t in = off % CHUNK_PAGE, len = CHUNK_PAGE - in < n ? CHUNK_PAGE - in : n;
		if (src) {
			memcpy(trace_image_writable(im, f, off / CHUNK_PAGE) + in, src, len);
			src += len;
		} else if (image_page(f, off / CHUNK_PAGE)) {
			memset(trace_image_writable(im, f, off / CHUNK_PAGE) + in, 0, len);
		}
		off += len;
		n -= len;
	}
}

static void zero_page(struct image_file *f, size_t slot)
{
	uint64_t v = f->page.val[slot];
	if (v & LENT) {
		memset((void *)(uintptr_t)(v & ~PAGE_BITS), 0, CHUNK_PAGE);
		return;
	}
	if (v & OWNED)
		free((void *)(uintptr_t)(v - OWNED));
	f->page.val[slot] = 0;
	if (f->page.key[slot] < f->ndirect)
		f->direct[f->page.key[slot]].bytes = NULL;
}

/* Zeroes [lo, hi), which may be most of the address space: walks the table, not the range. */
static void zero_range(struct trace_image *im, struct image_file *f, uint64_t lo, uint64_t hi)
{
	uint64_t first = lo / CHUNK_PAGE + (lo % CHUNK_PAGE != 0), last = hi / CHUNK_PAGE;
	if (lo >= hi)
		return;
	if (first > last) { /* inside one page */
		put_bytes(im, f, lo, NULL, hi - lo);
		return;
	}
	put_bytes(im, f, lo, NULL, first * CHUNK_PAGE - lo);
	put_bytes(im, f, last * CHUNK_PAGE, NULL, hi - last * CHUNK_PAGE);
	for (size_t i = 0; i < f->page.cap; i++)
		if (f->page.used[i] && f->page.key[i] >= first && f->page.key[i] < last)
			zero_page(f, i);
}

/* --- what events do to a file --- */

static void truncate_file(struct trace_image *im, struct image_file *f, uint64_t size)
{
	if (size < f->size)
		zero_range(im, f, size, f->size);
	f->size = size;
}

static void write_file(struct trace_image *im, struct image_file *f, uint64_t off,
		       const uint8_t *src, uint64_t n)
{
	put_bytes(im, f, off, src, n);
	if (off + n > f->size)
		f->size = off + n;
}

/*
 * A store through a mapping does not make the file longer: what falls behind its end in the
 * last page is lost. A store to a page behind the end would have been SIGBUS; if it was
 * not, the file is longer than the trace says.
 */
static void store_file(struct trace_image *im, struct image_file *f, uint64_t off,
		       const uint8_t *src, uint64_t n)
{
	uint64_t end = f->size / CHUNK_PAGE * CHUNK_PAGE + (f->size % CHUNK_PAGE ? CHUNK_PAGE : 0);
	if (off + n > f->size && off < end)
		n = off < f->size ? f->size - off : 0;
	if (n)
		write_file(im, f, off, src, n);
}

/* Moves all pages from index `from` on by `by` pages, over what is there: collapse and insert. */
static void shift_pages(struct image_file *f, uint64_t from, int64_t by)
{
	struct hmap old = f->page;
	memset(&f->page, 0, sizeof f->page);
	if (f->ndirect)
		memset(f->direct, 0, f->ndirect * sizeof *f->direct);
	for (size_t i = 0; i < old.cap; i++) {
		bool moved = old.used[i] && old.key[i] >= from;
		bool gone = by < 0 && !moved && old.key[i] >= from + (uint64_t)by;
		if (old.used[i] && old.val[i] && !gone)
			hmap_put(&f->page, moved ? old.key[i] + (uint64_t)by : old.key[i],
				 old.val[i]);
	}
	hmap_free(&old);
}

static int allocate_file(struct trace_image *im, struct image_file *f, uint64_t mode, uint64_t off,
			 uint64_t len, struct err *err)
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
		zero_range(im, f, off, end);
		shift_pages(f, end / CHUNK_PAGE, -pages);
		f->size -= len;
		return 0;
	}
	if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
		zero_range(im, f, off, end);
	if (!(mode & FALLOC_FL_KEEP_SIZE) && end > f->size)
		f->size = end;
	return 0;
}

static int file_event(struct trace_image *im, const struct trace_event *ev, struct err *err)
{
	bool node = trace_node_arg(ev->kind);
	struct image_file *f = NULL;
	if (ev->arg[0] < TRACE_OF_NODE)
		f = image_of(im, (uint32_t)ev->arg[0] | (node ? TRACE_OF_NODE : 0));
	if (!f)
		return 0; /* a file that the trace does not know */
	switch (ev->kind) {
	case TRACE_NODE_TRUNCATE:
	case TRACE_FILE_TRUNCATE:
		if (ev->arg[1] > INT64_MAX)
			return err_set(err, EXIT_USAGE, "truncate to an impossible size");
		truncate_file(im, f, ev->arg[1]);
		return 0;
	case TRACE_NODE_ALLOCATE:
	case TRACE_FILE_ALLOCATE:
		return allocate_file(im, f, ev->arg[1], ev->arg[2], ev->arg[3], err);
	default:
		if (ev->arg[1] > INT64_MAX - TRACE_MAX_PAYLOAD)
			return err_set(err, EXIT_USAGE, "write at an impossible offset");
		write_file(im, f, ev->arg[1], ev->data, ev->size);
		return 0;
	}
}

/* --- stores --- */

static void store_event(struct trace_image *im, const struct trace_event *ev)
{
	uint64_t addr = ev->arg[0], done = 0, off, n;
	uint32_t file;
	if (addr > UINT64_MAX - ev->size)
		return;
	if (ev->process == im->at.process && addr >= im->at.lo && addr + ev->size <= im->at.hi) {
		store_file(im, &im->file.p[im->at.file], im->at.off + (addr - im->at.lo), ev->data,
			   ev->size);
		return;
	}
	while (done < ev->size) {
		if (!trace_maps_locate(im->maps, ev->process, addr + done, &file, &off, &n)) {
			/* not persistent here; perhaps from the next page on */
			done += CHUNK_PAGE - (addr + done) % CHUNK_PAGE;
			continue;
		}
		im->at.lo = addr + done;
		im->at.hi = im->at.lo + n;
		im->at.off = off;
		im->at.process = ev->process;
		im->at.file = file;
		if (ev->size - done < n)
			n = ev->size - done;
		store_file(im, &im->file.p[file], off, ev->data + done, n);
		done += n;
	}
}

bool trace_image_locate(const struct trace_image *im, uint32_t process, uint64_t addr,
			uint32_t *file, uint64_t *off, uint64_t *len)
{
	return trace_maps_locate(im->maps, process, addr, file, off, len);
}

int trace_image_apply(struct trace_image *im, const struct trace_event *ev, struct err *err)
{
	if (trace_maps_apply(im->maps, ev, err))
		return -1;
	im->now = (uint32_t)ev->num;
	switch (ev->kind) {
	case TRACE_STORE: store_event(im, ev); return 0;
	case TRACE_MAP:
	case TRACE_UNMAP: im->at.hi = 0; return 0;
	case TRACE_NODE_WRITE:
	case TRACE_NODE_TRUNCATE:
	case TRACE_NODE_ALLOCATE:
	case TRACE_FILE_WRITE:
	case TRACE_FILE_TRUNCATE:
	case TRACE_FILE_ALLOCATE: return file_event(im, ev, err);
	default: return 0;
	}
}
