/* SPDX-License-Identifier: BSD-3-Clause */
/* An image's beginning and what is asked of it; image.c has what events do to it. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/image.h"

/* Takes in one PAGES chunk (see snapshot.c); -1 if it makes no sense. */
static int load_pages(void *arg, const uint8_t *raw, size_t n)
{
	struct trace_image *im = arg;
	struct cursor in = { .p = raw, .end = raw + n };
	uint64_t owner = get_varint(&in), first = get_varint(&in), entries = get_varint(&in);
	uint64_t index = 0, fresh = 0;
	struct cursor list = in;
	uint8_t *block;
	struct image_file *of = NULL;
	if (owner < TRACE_OF_NODE)
		of = image_of(im, (uint32_t)owner);
	else if (owner >= PAGES_NODE && owner - PAGES_NODE < TRACE_OF_NODE)
		of = image_of(im, TRACE_OF_NODE | (uint32_t)(owner - PAGES_NODE));
	if (in.bad || !of || first != im->page.n || entries > cursor_left(&in) / 2)
		return -1;
	for (uint64_t i = 0; i < entries; i++) {
		get_varint(&in);
		fresh += get_varint(&in) == 0;
	}
	if (in.bad || fresh > CHUNK_MAX_PAGES || cursor_left(&in) != fresh * CHUNK_PAGE)
		return -1;
	block = xmalloc(fresh * CHUNK_PAGE);
	memcpy(block, in.p, fresh * CHUNK_PAGE);
	VEC_PUSH(&im->block, block);
	for (uint64_t i = 0; i < fresh; i++)
		VEC_PUSH(&im->page, block + i * CHUNK_PAGE);
	for (uint64_t i = 0; i < entries; i++) {
		uint64_t number, ref;
		index += get_varint(&list);
		ref = get_varint(&list);
		number = ref ? ref - 1 : first++;
		if (number >= im->page.n || index > INT64_MAX / CHUNK_PAGE)
			return -1;
		hmap_put(&of->page, index, (uintptr_t)im->page.p[number]);
	}
	return 0;
}

struct trace_image *trace_image_new(struct trace_reader *r, struct err *err)
{
	struct trace_image *im = xcalloc(1, sizeof *im);
	const struct trace_defs *defs = trace_defs(r);
	im->reader = r;
	if (trace_reader_defs(r, err)) {
		trace_image_free(im);
		return NULL;
	}
	for (uint32_t i = 0; i < trace_files(defs); i++)
		VEC_PUSH(&im->file, ((struct image_file){ .size = trace_file(defs, i)->size }));
	for (uint32_t i = 0; i < trace_nodes(defs); i++)
		VEC_PUSH(&im->node, ((struct image_file){ .size = trace_node(defs, i)->size }));
	im->maps = trace_maps_new(defs);
	if (trace_reader_pages(r, load_pages, im, err)) {
		trace_image_free(im);
		return NULL;
	}
	return im;
}

static void free_pages(struct image_file *f)
{
	struct hmap *m = &f->page;
	for (size_t k = 0; k < m->cap; k++)
		if (m->used[k] && (m->val[k] & PAGE_BITS) == OWNED)
			free((void *)(uintptr_t)(m->val[k] - OWNED));
	hmap_free(m);
	free(f->direct);
}

void trace_image_clear(struct trace_image *im)
{
	for (size_t i = 0; i < im->file.n; i++)
		free_pages(&im->file.p[i]);
	for (size_t i = 0; i < im->node.n; i++)
		free_pages(&im->node.p[i]);
	trace_maps_free(im->maps);
	for (size_t i = 0; i < im->block.n; i++)
		free(im->block.p[i]);
	VEC_FREE(&im->file);
	VEC_FREE(&im->node);
	VEC_FREE(&im->block);
	VEC_FREE(&im->page);
}

void trace_image_free(struct trace_image *im)
{
	if (im)
		trace_image_clear(im);
	free(im);
}

int trace_image_run(struct trace_image *im, uint64_t end, struct err *err)
{
	struct trace_event ev;
	if (end < im->next)
		return err_set(err, EXIT_INTERNAL, "an image cannot go back to event %" PRIu64,
			       end);
	if (trace_seek(im->reader, im->next, err))
		return -1;
	while (im->next < end) {
		int got = trace_next(im->reader, &ev, err);
		if (got <= 0)
			return got;
		if (trace_image_apply(im, &ev, err))
			return -1;
		im->next = ev.num + 1;
	}
	return 0;
}

const struct trace_defs *trace_image_defs(const struct trace_image *im)
{
	return trace_defs(im->reader);
}

uint64_t trace_image_size(const struct trace_image *im, uint32_t file)
{
	const struct image_file *f = image_of(im, file);
	return f ? f->size : 0;
}

/* Like reading a file: at most what is there. Returns 0, or -1 if the range is not there. */
int trace_image_read(const struct trace_image *im, uint32_t file, uint64_t off, void *buf,
		     size_t len)
{
	const struct image_file *f = image_of(im, file);
	uint8_t *to = buf;
	if (!f || off > f->size || len > f->size - off)
		return -1;
	while (len) {
		size_t in = off % CHUNK_PAGE, n = CHUNK_PAGE - in < len ? CHUNK_PAGE - in : len;
		const uint8_t *page = image_page(f, off / CHUNK_PAGE);
		if (page)
			memcpy(to, page + in, n);
		else
			memset(to, 0, n);
		to += n;
		off += n;
		len -= n;
	}
	return 0;
}

static int write_page(int fd, const uint8_t *page, uint64_t off, uint64_t size)
{
	size_t n = off < size ? (size - off < CHUNK_PAGE ? (size_t)(size - off) : CHUNK_PAGE) : 0;
	return write_all_at(fd, page, n, off);
}

int trace_image_write_file(const struct trace_image *im, uint32_t file, const char *path,
			   struct err *err)
{
	const struct image_file *f = image_of(im, file);
	int fd, bad;
	if (!f)
		return err_set(err, EXIT_USAGE, "the trace has no file %u", file);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return err_errno(err, EXIT_USAGE, "cannot create %s", path);
	bad = ftruncate(fd, (off_t)f->size);
	for (size_t i = 0; !bad && i < f->page.cap; i++) {
		uint64_t at = f->page.used[i] ? f->page.key[i] : 0;
		const uint8_t *page = f->page.used[i] ? image_page(f, at) : NULL;
		if (page)
			bad = write_page(fd, page, at * CHUNK_PAGE, f->size);
	}
	if (bad)
		err_errno(err, EXIT_INTERNAL, "cannot write %s", path);
	if (close(fd) && !bad)
		bad = err_errno(err, EXIT_INTERNAL, "cannot write %s", path);
	return bad ? -1 : 0;
}
