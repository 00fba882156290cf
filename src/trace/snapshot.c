/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The initial contents of a file, so that any later image can be rebuilt from the trace
 * alone. Holes are skipped without reading them and pages of zeros are left out; a page
 * that some file of the trace had before is stored as its number only.
 *
 *   PAGES chunk:  file or 2^32 + node, number of the first new page, entries
 *                 { page index - previous index, 0 = new | number + 1 } …
 *                 new pages, 4096 bytes each
 *
 * Two pages are taken to be the same when two 64-bit hashes with different seeds agree.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "trace/internal.h"

#define BLOCK (CHUNK_MAX_PAGES * CHUNK_PAGE)
#define MAX_ENTRIES 4096u
#define SEED 0x686f6c6466617374u

struct pages {
	struct trace_writer *w;
	uint64_t owner;
	uint64_t last; /* page index of the last entry */
	unsigned entries, fresh;
	uint64_t first_fresh; /* number of the first new page */
	uint8_t *list, *list_end;
	uint8_t *bytes; /* new pages */
};

static int write_pages(struct pages *s, struct err *err)
{
	uint8_t head[3 * VARINT_MAX], *p = head;
	struct trace_column col[3] = { { .p = head },
				       { s->list, (size_t)(s->list_end - s->list) },
				       { s->bytes, (size_t)s->fresh * CHUNK_PAGE } };
	if (!s->entries)
		return 0;
	p = put_varint(p, s->owner);
	p = put_varint(p, s->first_fresh);
	p = put_varint(p, s->entries);
	col[0].n = (size_t)(p - head);
	s->entries = s->fresh = 0;
	s->last = 0;
	s->list_end = s->list;
	return trace_writer_chunk(s->w, CHUNK_PAGES, col, 3, err);
}

/* The page's number if the trace has one like it already. */
static bool seen_before(struct trace_writer *w, uint64_t h1, uint64_t h2, uint64_t *number)
{
	return hmap_get(&w->page_of, h1, number) && w->page_hash.p[*number] == h2;
}

static int add_page(void *arg, uint64_t index, const uint8_t *page, struct err *err)
{
	struct pages *s = arg;
	uint64_t h1 = hash_bytes(page, CHUNK_PAGE), h2 = hash_seeded(page, CHUNK_PAGE, SEED);
	uint64_t number;
	if (!s->entries)
		s->first_fresh = s->w->page_hash.n;
	s->list_end = put_varint(s->list_end, index - s->last);
	s->last = index;
	s->entries++;
	if (seen_before(s->w, h1, h2, &number)) {
		s->list_end = put_varint(s->list_end, number + 1);
	} else {
		s->list_end = put_varint(s->list_end, 0);
		memcpy(s->bytes + (size_t)s->fresh++ * CHUNK_PAGE, page, CHUNK_PAGE);
		hmap_put(&s->w->page_of, h1, s->w->page_hash.n);
		VEC_PUSH(&s->w->page_hash, h2);
	}
	if (s->fresh == CHUNK_MAX_PAGES || s->entries == MAX_ENTRIES)
		return write_pages(s, err);
	return 0;
}

static bool all_zero(const uint8_t *p, size_t n)
{
	return !p[0] && !memcmp(p, p + 1, n - 1);
}

/* Like pread, but through a mapping where a device has no read. */
ssize_t trace_fd_read(int fd, uint8_t *to, size_t n, uint64_t off)
{
	ssize_t got = pread(fd, to, n, (off_t)off);
	uint64_t base = off & ~(uint64_t)((2u << 20) - 1);
	char *m;
	if (got >= 0 || (errno != EINVAL && errno != ENODEV && errno != ENXIO))
		return got;
	m = mmap(NULL, off - base + n, PROT_READ, MAP_SHARED, fd, (off_t)base);
	if (m == MAP_FAILED)
		return -1;
	memcpy(to, m + (off - base), n);
	munmap(m, off - base + n);
	return (ssize_t)n;
}

struct walk {
	int fd;
	trace_page_use *use;
	void *arg;
};

/* Pages of [off, end), both page-aligned; a file that has become shorter ends it early. */
static int walk_data(const struct walk *w, uint64_t off, uint64_t end, struct err *err)
{
	uint8_t *block = xmalloc(BLOCK);
	int bad = 0;
	while (!bad && off < end) {
		size_t want = end - off < BLOCK ? (size_t)(end - off) : BLOCK, have = 0;
		while (have < want) {
			ssize_t got = trace_fd_read(w->fd, block + have, want - have, off + have);
			if (got < 0 && errno == EINTR)
				continue;
			if (got < 0)
				bad = err_errno(err, EXIT_INTERNAL, "cannot read a PM file");
			if (got <= 0)
				break;
			have += (size_t)got;
		}
		memset(block + have, 0, want - have);
		for (size_t at = 0; !bad && at < have; at += CHUNK_PAGE)
			if (!all_zero(block + at, CHUNK_PAGE))
				bad = w->use(w->arg, (off + at) / CHUNK_PAGE, block + at, err);
		if (have < want)
			break;
		off += want;
	}
	free(block);
	return bad;
}

static uint64_t page_up(uint64_t v)
{
	return (v + CHUNK_PAGE - 1) / CHUNK_PAGE * CHUNK_PAGE;
}

/* A device's size is in sysfs; it has no st_size. */
static uint64_t device_size(dev_t dev)
{
	char path[64];
	unsigned long long size = 0;
	FILE *f;
	snprintf(path, sizeof path, "/sys/dev/char/%u:%u/size", major(dev), minor(dev));
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%llu", &size) != 1 || size > INT64_MAX)
		size = 0;
	fclose(f);
	return size;
}

uint64_t trace_fd_size(int fd)
{
	struct stat st;
	if (fstat(fd, &st))
		return 0;
	if (S_ISCHR(st.st_mode))
		return device_size(st.st_rdev);
	return st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

int trace_fd_pages(int fd, trace_page_use *use, void *arg, struct err *err)
{
	struct walk w = { fd, use, arg };
	uint64_t at = 0, size = trace_fd_size(fd);
	while (at < size) {
		off_t data = lseek(fd, (off_t)at, SEEK_DATA), hole;
		uint64_t end = size;
		if (data < 0 && errno == ENXIO)
			return 0; /* nothing but a hole up to the end */
		if (data < 0)
			data = (off_t)at; /* cannot tell: everything is data */
		hole = lseek(fd, data, SEEK_HOLE);
		if (hole > data)
			end = page_up((uint64_t)hole);
		at = (uint64_t)data / CHUNK_PAGE * CHUNK_PAGE;
		if (walk_data(&w, at, end < page_up(size) ? end : page_up(size), err))
			return -1;
		at = end;
	}
	return 0;
}

int trace_snapshot(struct trace_writer *w, uint64_t owner, int fd, struct err *err)
{
	struct pages s = { .w = w, .owner = owner };
	int bad;
	if (trace_writer_defs(w, err)) /* the file's own definition comes first */
		return -1;
	s.bytes = xmalloc(BLOCK);
	s.list = s.list_end = xmalloc(MAX_ENTRIES * 2 * VARINT_MAX);
	bad = trace_fd_pages(fd, add_page, &s, err) || write_pages(&s, err);
	free(s.bytes);
	free(s.list);
	return bad ? -1 : 0;
}
