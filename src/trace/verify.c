/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The self-check: do the files hold what the events say?
 *
 *   announced   pages that are not zero ──▶ spool: a temporary file without a name, mapped
 *   event       changes the image (image.c): a page that is written gets a copy in memory,
 *               and the last event that wrote to it is known
 *   the end     image ◀── compared ──▶ file: its extents of data, and the pages of the image
 *
 * So it costs what a file holds at first, once, and what the program touches; holes cost nothing. A
 * write that no event tells shows as a difference. Files without a name at the end are not
 * compared, nor are those whose initial contents could not be read or kept.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/image.h"
#include "trace/ring.h"

#define MAX_OPEN 64u             /* files that are kept open; the others are found by name */
#define SPOOL_BYTES (1ull << 30) /* initial contents that are kept, of all files */
#define MAX_DIRECT (16ull << 20) /* pages */
#define BATCH (64u * CHUNK_PAGE)

struct verify_file {
	int fd;    /* -1: found by its path */
	bool lost; /* there is nothing to compare it with */
	void *map; /* its pages in the spool */
	size_t len;
};
/*
 * Stores go all over the files, so that most find their place outside of the processor's caches. Each
 * waits for its line in a queue of a few.
 */
#define QUEUE 16u
struct waiting {
	uint8_t *to;
	uint32_t size;
	uint8_t bytes[36];
};
struct live_verify {
	struct trace_image im;
	struct waiting queue[QUEUE];
	unsigned first, queued;
	VEC(struct verify_file) file;
	unsigned open;
	int spool; /* -1: none yet */
	uint64_t spooled;
	bool failed; /* an event could not be applied: nothing can be said */
};

void trace_live_verify(struct trace_live *l)
{
	l->verify = xcalloc(1, sizeof *l->verify);
	l->verify->im.maps = trace_maps_new(&l->defs);
	l->verify->im.arena.wanted = true;
	l->verify->spool = -1;
}

void trace_verify_free(struct live_verify *v)
{
	if (!v)
		return;
	trace_image_clear(&v->im);
	for (size_t i = 0; i < v->file.n; i++) {
		if (v->file.p[i].fd >= 0)
			close(v->file.p[i].fd);
		if (v->file.p[i].len)
			munmap(v->file.p[i].map, v->file.p[i].len);
	}
	VEC_FREE(&v->file);
	if (v->spool >= 0)
		close(v->spool);
	free(v);
}

/* ---- the initial contents ---- */

struct spooling {
	struct live_verify *v;
	VEC(uint64_t) index; /* of the pages in the spool */
	uint8_t batch[BATCH];
	size_t n; /* bytes in it */
};

static int open_spool(void)
{
	const char *dir = getenv("TMPDIR");
	int fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	return fd >= 0 ? fd : memfd_create("holdfast-spool", MFD_CLOEXEC);
}

static int spool_batch(struct spooling *s, struct err *err)
{
	struct live_verify *v = s->v;
	if (v->spool < 0)
		v->spool = open_spool();
	if (v->spool < 0 || v->spooled + s->n > SPOOL_BYTES ||
	    write_all_at(v->spool, s->batch, s->n, v->spooled))
		return err_set(err, EXIT_INTERNAL, "no room for a copy");
	v->spooled += s->n;
	s->n = 0;
	return 0;
}

static int spool_page(void *arg, uint64_t index, const uint8_t *page, struct err *err)
{
	struct spooling *s = arg;
	memcpy(s->batch + s->n, page, CHUNK_PAGE);
	s->n += CHUNK_PAGE;
	VEC_PUSH(&s->index, index);
	return s->n == BATCH ? spool_batch(s, err) : 0;
}

/* The pages of the spool from `from` on are those of the file. */
static int map_spool(struct live_verify *v, struct verify_file *f, struct image_file *image,
		     const struct spooling *s, uint64_t from)
{
	size_t len = s->index.n * CHUNK_PAGE;
	if (!len)
		return 0;
	f->map = mmap(NULL, len, PROT_READ, MAP_SHARED, v->spool, (off_t)from);
	if (f->map == MAP_FAILED)
		return -1;
	f->len = len;
	for (size_t i = 0; i < s->index.n; i++)
		hmap_put(&image->page, s->index.p[i], (uintptr_t)f->map + i * CHUNK_PAGE);
	return 0;
}

/* The direct table covers the file as far as that is cheap: unused parts of it cost no memory. */
static void grow(struct image_file *f)
{
	uint64_t want = f->size / CHUNK_PAGE + 1, n = f->ndirect ? f->ndirect : 64;
	if (want <= f->ndirect || want > MAX_DIRECT)
		return;
	while (n < want)
		n *= 2;
	struct image_direct *wider = xcalloc(n, sizeof *wider);
	if (f->ndirect)
		memcpy(wider, f->direct, f->ndirect * sizeof *wider);
	free(f->direct);
	f->direct = wider;
	f->ndirect = n;
}

void trace_verify_file(struct live_verify *v, int fd, bool keep)
{
	struct spooling *s = xcalloc(1, sizeof *s);
	struct verify_file f = { .fd = -1 };
	struct image_file image = { .size = fd >= 0 ? trace_fd_size(fd) : 0 };
	uint64_t from = v->spooled;
	struct err ignored;
	s->v = v;
	f.lost = fd < 0 || trace_fd_pages(fd, spool_page, s, &ignored) ||
		 (s->n && spool_batch(s, &ignored)) || map_spool(v, &f, &image, s, from);
	if (!f.lost && keep && v->open < MAX_OPEN)
		f.fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	v->open += f.fd >= 0;
	grow(&image);
	VEC_PUSH(&v->im.file, image);
	VEC_PUSH(&v->file, f);
	VEC_FREE(&s->index);
	free(s);
}

/* ---- events ---- */

/* A file that nobody can name any more: its room on the disk is given back. */
static void unlinked(struct live_verify *v, uint64_t file)
{
	struct verify_file *f = file < v->file.n ? &v->file.p[file] : NULL;
	struct stat st;
	if (!f || f->fd < 0 || fstat(f->fd, &st) || st.st_nlink)
		return;
	close(f->fd);
	v->open--;
	f->fd = -1;
	f->lost = true;
}

static void apply_first(struct live_verify *v)
{
	const struct waiting *w = &v->queue[v->first];
	if (w->size == 8)
		memcpy(w->to, w->bytes, 8);
	else
		memcpy(w->to, w->bytes, w->size);
	v->first = (v->first + 1) % QUEUE;
	v->queued--;
}

/* A store like most: small, in one page, where the last one was mapped too, before the end. */
static bool enqueue(struct live_verify *v, const struct trace_event *ev)
{
	struct trace_image *im = &v->im;
	uint64_t addr = ev->arg[0], off = im->at.off + (addr - im->at.lo);
	if (ev->size > sizeof v->queue->bytes || ev->process != im->at.process ||
	    addr < im->at.lo || addr >= im->at.hi || ev->size > im->at.hi - addr)
		return false;
	struct image_file *f = &im->file.p[im->at.file];
	if (off + ev->size > f->size || off % CHUNK_PAGE + ev->size > CHUNK_PAGE)
		return false;
	if (v->queued == QUEUE)
		apply_first(v);
	struct waiting *w = &v->queue[(v->first + v->queued++) % QUEUE];
	im->now = (uint32_t)ev->num;
	w->to = trace_image_writable(im, f, off / CHUNK_PAGE) + off % CHUNK_PAGE;
	__builtin_prefetch(w->to, 1);
	w->size = ev->size;
	memcpy(w->bytes, ev->data, ev->size);
	return true;
}

void trace_verify_event(struct live_verify *v, const struct trace_event *ev)
{
	struct err ignored;
	if (ev->kind == TRACE_STORE && enqueue(v, ev))
		return;
	if (ev->kind == TRACE_FLUSH || ev->kind == TRACE_FENCE)
		return;
	while (v->queued)
		apply_first(v);
	if (ev->kind == TRACE_FILE_UNLINK)
		unlinked(v, ev->arg[0]);
	else if (!v->failed && trace_image_apply(&v->im, ev, &ignored))
		v->failed = true;
	if (ev->kind == TRACE_MAP && ev->arg[2] < v->im.file.n)
		grow(&v->im.file.p[ev->arg[2]]);
}

/* ---- the end ---- */

struct comparing {
	const struct image_file *image;
	int fd;
	uint64_t size; /* up to the end of the shorter one */
	struct trace_difference *d;
};

static void differ_at(struct trace_difference *d, uint64_t off, uint64_t len, uint64_t bytes)
{
	if (!d->bytes || off < d->off) {
		d->off = off;
		d->len = len;
	}
	d->bytes += bytes;
}

/* Compares one page; NULL: it is all zeros. */
static void compare_page(const struct comparing *c, uint64_t index, const uint8_t *built,
			 const uint8_t *real)
{
	static const uint8_t zero[CHUNK_PAGE];
	uint64_t off = index * CHUNK_PAGE, first = 0, len = 0, bytes = 0;
	size_t n = c->size <= off ? 0 : c->size - off < CHUNK_PAGE ? c->size - off : CHUNK_PAGE;
	built = built ? built : zero;
	if (!memcmp(built, real, n))
		return;
	for (size_t i = 0; i < n; i++) {
		if (built[i] == real[i])
			continue;
		if (!bytes)
			first = i;
		if (first + len == i)
			len++;
		bytes++;
	}
	differ_at(c->d, off + first, len, bytes);
}

/* A page of the file that is not zero, and of which no event and no copy knows. */
static int only_real(void *arg, uint64_t index, const uint8_t *page, struct err *err)
{
	const struct comparing *c = arg;
	(void)err;
	if (!image_page(c->image, index))
		compare_page(c, index, NULL, page);
	return 0;
}

static int compare_known(const struct comparing *c)
{
	const struct hmap *m = &c->image->page;
	for (size_t i = 0; i < m->cap; i++) {
		uint8_t page[CHUNK_PAGE] = { 0 };
		if (!m->used[i] || !m->val[i] || m->key[i] * CHUNK_PAGE >= c->size)
			continue;
		if (trace_fd_read(c->fd, page, CHUNK_PAGE, m->key[i] * CHUNK_PAGE) < 0)
			return -1;
		compare_page(c, m->key[i], image_page(c->image, m->key[i]), page);
	}
	return 0;
}

/* By its path, if it still is that file; -1: it is not. */
static int reopen(const struct trace_file_def *def)
{
	int fd = open(def->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	if (fd < 0 || (!fstat(fd, &st) && st.st_dev == def->dev && st.st_ino == def->ino))
		return fd;
	close(fd);
	return -1;
}

static void find_last(const struct live_verify *v, struct trace_difference *d)
{
	const struct image_file *f = &v->im.file.p[d->file];
	if (d->off / CHUNK_PAGE < f->ndirect)
		d->event = f->direct[d->off / CHUNK_PAGE].last;
}

static bool compare(const struct live_verify *v, uint32_t file, int fd, struct trace_difference *d)
{
	const struct image_file *image = &v->im.file.p[file];
	struct err ignored;
	*d = (struct trace_difference){ .file = file,
					.built_size = image->size,
					.real_size = trace_fd_size(fd) };
	struct comparing c = { image, fd,
			       d->real_size < d->built_size ? d->real_size : d->built_size, d };
	if (compare_known(&c) || trace_fd_pages(fd, only_real, &c, &ignored))
		return false;
	if (d->bytes)
		find_last(v, d);
	return d->bytes || d->real_size != d->built_size;
}

bool trace_live_differs(const struct trace_live *l, struct trace_difference *d)
{
	const struct live_verify *v = l->verify;
	bool found = false;
	for (uint32_t i = 0; v && !v->failed && !found && i < v->file.n; i++) {
		int fd = v->file.p[i].fd;
		struct stat st;
		if (v->file.p[i].lost)
			continue;
		if (fd < 0)
			fd = reopen(trace_file(&l->defs, i));
		if (fd < 0)
			continue;
		found = !fstat(fd, &st) && st.st_nlink && compare(v, i, fd, d);
		if (fd != v->file.p[i].fd)
			close(fd);
	}
	return found;
}
