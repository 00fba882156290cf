/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Putting back what a command did to an image. Both the image and the truth are sparse, and
 * only what either of them holds is looked at:
 *
 *    truth   data   hole   data   hole
 *    image   data   data   hole   hole
 *            ─────  ─────  ─────  ─────
 *            compare  zero  copy   -
 *
 * A page that is a hole in the image costs memory as soon as it is read through a mapping, so
 * it never is; and it is written with a system call: a mapping would answer a full tmpfs with a
 * signal.
 */
#include "runner/internal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096u

static uint64_t page_up(uint64_t x)
{
	return (x + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

bool runner_image_extent(int fd, uint64_t pos, uint64_t size, uint64_t *lo, uint64_t *hi)
{
	off_t data = pos < size ? lseek(fd, (off_t)pos, SEEK_DATA) : -1;
	if (data < 0)
		return false;
	off_t hole = lseek(fd, data, SEEK_HOLE);
	*lo = (uint64_t)data;
	*hi = hole < 0 || (uint64_t)hole > size ? size : (uint64_t)hole;
	return *lo < *hi;
}

void runner_image_unmap(struct image *im)
{
	if (im->map)
		munmap(im->map, im->mapped);
	if (im->want)
		munmap(im->want, im->mapped);
	im->map = im->want = NULL;
	im->mapped = 0;
}

static uint8_t *map_file(int fd, size_t size, int prot)
{
	void *p = mmap(NULL, size, prot, MAP_SHARED, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

static int map_both(struct image *im, uint64_t size, struct err *err)
{
	size = page_up(size);
	if (size <= im->mapped)
		return 0;
	runner_image_unmap(im);
	im->mapped = (size_t)size;
	im->map = map_file(im->fd, im->mapped, PROT_READ | PROT_WRITE);
	im->want = map_file(im->truth, im->mapped, PROT_READ);
	if (im->map && im->want)
		return 0;
	err_errno(err, EXIT_PROGRAM, "cannot map an image");
	runner_image_unmap(im);
	return -1;
}

/* Where a file has data, step by step. */
struct cursor {
	int fd;
	uint64_t size, lo, hi;
};

/* Is there data at pos? Until where is that so? */
static bool at(struct cursor *c, uint64_t pos, uint64_t *until)
{
	if (pos >= c->hi && !runner_image_extent(c->fd, pos, c->size, &c->lo, &c->hi))
		c->lo = c->hi = c->size;
	*until = pos < c->lo ? c->lo : c->hi;
	return pos >= c->lo && pos < c->hi;
}

static void compare(struct image *im, uint64_t lo, uint64_t hi)
{
	for (uint64_t p = lo; p < hi; p += PAGE)
		if (memcmp(im->map + p, im->want + p, PAGE) != 0)
			memcpy(im->map + p, im->want + p, PAGE);
}

static void zero(struct image *im, uint64_t lo, uint64_t hi)
{
	static const uint8_t zeros[PAGE];
	for (uint64_t p = lo; p < hi; p += PAGE)
		if (memcmp(im->map + p, zeros, PAGE) != 0)
			memset(im->map + p, 0, PAGE);
}

static int put_back(struct image *im, uint64_t size, uint64_t keep, struct err *err)
{
	struct cursor is = { .fd = im->fd, .size = size }, want = { .fd = im->truth, .size = size };
	uint64_t zeros = 0;
	for (uint64_t pos = 0, end; pos < size; pos = end) {
		uint64_t until_is, until_want;
		bool has = at(&is, pos, &until_is), should = at(&want, pos, &until_want);
		end = until_is < until_want ? until_is : until_want;
		if (has && should) {
			compare(im, pos, end);
		} else if (should) {
			if (write_all_at(im->fd, im->want + pos, end - pos, pos))
				return err_errno(err, EXIT_PROGRAM, "cannot put an image back");
		} else if (has) {
			zeros += end - pos;
			if (zeros > keep &&
			    !fallocate(im->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				       (off_t)pos, (off_t)(end - pos)))
				continue;
			zero(im, pos, end);
		}
	}
	return 0;
}

int runner_image_restore(struct image *im, uint64_t keep, bool *resized, struct err *err)
{
	struct stat is, want;
	if (fstat(im->fd, &is) || fstat(im->truth, &want))
		return err_errno(err, EXIT_INTERNAL, "cannot look at an image");
	if (is.st_size != want.st_size) {
		*resized = true;
		if (ftruncate(im->fd, want.st_size))
			return err_errno(err, EXIT_PROGRAM, "cannot put back an image's size");
	}
	if (map_both(im, (uint64_t)want.st_size, err))
		return -1;
	return put_back(im, (uint64_t)want.st_size, keep, err);
}
